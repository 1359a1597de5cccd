//! Whether drives and processors were well while they were measured.

use super::unknown;
use crate::analysis::{DriveWear, Finding, RunAnalysis, WearAnalysis};

/// No errors of the medium came up, and nothing was slowed down by heat. `None` when nobody was asked.
pub fn drives_healthy(analysis: &RunAnalysis) -> Option<Finding> {
    let (id, title) = ("drives_healthy", "Drives added no errors and stayed cool");
    let wear = analysis.wear.as_ref()?;
    let several = analysis.per_instance.len() + analysis.observers.len() > 1;
    let on = |host: &str| if several { format!(" on {host}") } else { String::new() };
    let name = |drive: &DriveWear| format!("{}{}", drive.device, on(&drive.host));
    let complaints = complaints(wear, &name, &on);
    if !complaints.is_empty() {
        return Some(Finding { id, title, holds: Some(false), text: complaints.join("; ") });
    }
    let is_known = |drive: &&DriveWear| drive.media_errors.growth().is_some();
    let (known, unknown_drives): (Vec<&DriveWear>, Vec<&DriveWear>) = wear.drives.iter().partition(is_known);
    let observed = known.iter().any(|drive| drive.observed);
    // A guest's disk has no health of its own where the drives below it are watched.
    let silent = wear.silent.iter().filter(|silent| silent.observed || !observed);
    let silent = silent.map(|silent| format!("{}{}", silent.device, on(&silent.host)));
    let missing: Vec<String> = unknown_drives.into_iter().map(name).chain(silent).collect();
    let heat = wear.heat.iter().all(|host| host.throttles.growth() == Some(0));
    let heat = if heat { "; processors were not slowed down by heat" } else { "" };
    if known.is_empty() {
        let of = if missing.is_empty() { String::new() } else { format!(": {}", missing.join(", ")) };
        return Some(unknown(id, title, format!("no drive told its media errors at both ends{of}{heat}")));
    }
    let names: Vec<String> = known.iter().map(|drive| name(drive)).collect();
    let cool = known.iter().filter(|drive| drive.throttled_s.growth() == Some(0)).count();
    let throttled = match cool {
        0 => "no media error, and told nothing of heat",
        _ if cool == known.len() => "no media error and no time of being slowed down by heat",
        _ => "no media error, though not all told of heat",
    };
    let mut text = format!("{} added {throttled}{heat}", names.join(", "));
    if !missing.is_empty() {
        text += &format!("; nothing is known of {}", missing.join(", "));
    }
    Some(Finding { id, title, holds: missing.is_empty().then_some(true), text })
}

/// What speaks against it.
fn complaints(
    wear: &WearAnalysis,
    name: &dyn Fn(&DriveWear) -> String,
    on: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let mut complaints = Vec::new();
    for drive in &wear.drives {
        if drive.failing == Some(true) {
            complaints.push(format!("{} judges itself failing", name(drive)));
        }
        if let Some(errors) = drive.media_errors.growth().filter(|errors| *errors > 0) {
            complaints.push(format!("{} counted {errors} more media errors", name(drive)));
        }
        if let Some(seconds) = drive.throttled_s.growth().filter(|seconds| *seconds > 0) {
            complaints.push(format!("{} was slowed down by heat for {seconds} s", name(drive)));
        }
    }
    for host in &wear.heat {
        if let Some(times) = host.throttles.growth().filter(|times| *times > 0) {
            complaints.push(format!("processors{} were slowed down by heat {times} times", on(&host.host)));
        }
    }
    complaints
}
