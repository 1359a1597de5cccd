//! What the guests saw of their devices beside what the hosts below them saw.

use super::unknown;
use crate::analysis::{Finding, RunAnalysis};
use crate::stats::device::DeviceRates;

/// Bytes inside and below agree within this.
const TOLERANCE: f64 = 0.1;
/// Fewer bytes than this prove nothing.
const LEAST_BYTES: f64 = 1e6;

/// The bytes that the guests moved are the bytes that the observed devices moved.
pub fn guest_vs_hypervisor(analysis: &RunAnalysis) -> Finding {
    let (id, title) = ("guest_vs_hypervisor", "Guests' bytes are the observed devices' bytes");
    let guests = analysis.per_instance.iter().map(|instance| instance.figures.device);
    let below = analysis.observers.iter().map(|observer| observer.device);
    let seconds = analysis.figures.as_ref().map(|figures| figures.seconds);
    let bytes = |devices: Option<Vec<DeviceRates>>| {
        let devices = devices.filter(|devices| !devices.is_empty())?;
        let sum = |rate: fn(&DeviceRates) -> f64| devices.iter().map(rate).sum::<f64>();
        let scale = 1024.0 * seconds?;
        Some([sum(|d| d.read_kb_per_s) * scale, sum(|d| d.write_kb_per_s) * scale])
    };
    let (Some(guests), Some(below)) = (bytes(guests.collect()), bytes(below.collect())) else {
        return unknown(id, title, "guests and observers were not all sampled over one common interval");
    };
    let inside = guests[0] + guests[1];
    if inside < LEAST_BYTES {
        return unknown(id, title, format!("the guests moved only {inside:.0} bytes, too few to compare"));
    }
    let difference = (below[0] + below[1]) / inside - 1.0;
    let mut text = format!(
        "the guests read {} and wrote {}, the observed devices {} and {} ({:+.1} %)",
        megabytes(guests[0]),
        megabytes(guests[1]),
        megabytes(below[0]),
        megabytes(below[1]),
        difference * 100.0
    );
    if difference > TOLERANCE {
        text += "; more below: replication, parity or metadata, or I/O of others on the same devices";
    } else if difference < -TOLERANCE {
        text +=
            "; less below: a cache in between answered or held back, or not every device below is observed";
    }
    Finding { id, title, holds: Some(difference.abs() <= TOLERANCE), text }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
