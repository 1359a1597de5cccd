//! One point a second: what the load did beside what the device, the host and the pool did.

use super::SecondPoint;
use super::gather::{GatheredRun, SecondFigures};
use crate::protocol::sample::{HostSample, ServerSample};
use crate::stats::cpu::cpu_shares;
use crate::stats::device::device_rates;

const SECOND_NS: i64 = 1_000_000_000;
/// Samples lie on the grid of seconds within this.
const ON_GRID_NS: u64 = 500_000_000;

/// The points of a run.
pub fn points(run: &GatheredRun) -> Vec<SecondPoint> {
    run.seconds
        .iter()
        .map(|second| {
            let mut point = load_point(second);
            let begin_ns = run.t0_ns.saturating_add(second.second.saturating_mul(SECOND_NS));
            let end_ns = begin_ns.saturating_add(i64::try_from(second.length_ns).unwrap_or(SECOND_NS));
            if let Some((a, b)) = around(&run.host, |s| s.at_ns, begin_ns, end_ns) {
                add_host(&mut point, a, b);
            }
            if let Some((a, b)) = around(&run.server, |s| s.at_ns, begin_ns, end_ns) {
                add_server(&mut point, a, b);
            }
            point
        })
        .collect()
}

fn load_point(second: &SecondFigures) -> SecondPoint {
    let [avg_ms, p50_ms, p99_ms, max_ms] = second.latency_ms.map_or([None; 4], |figures| figures.map(Some));
    SecondPoint {
        second: second.second,
        tps: second.transactions as f64 * 1e9 / second.length_ns.max(1) as f64,
        avg_ms,
        p50_ms,
        p99_ms,
        max_ms,
        errors: second.errors.values().fold(0, |sum: u64, n| sum.saturating_add(*n)),
        ..SecondPoint::default()
    }
}

fn add_host(point: &mut SecondPoint, a: &HostSample, b: &HostSample) {
    let elapsed_ns = b.at_ns.saturating_sub(a.at_ns);
    point.device = a.disks.first().zip(b.disks.first()).and_then(|(a, b)| device_rates(a, b, elapsed_ns));
    point.cpu = cpu_shares(&a.cpu, &b.cpu);
    if let Some((a, b)) = a.io_pressure.zip(b.io_pressure) {
        let share = |from: u64, to: u64| Some(to.checked_sub(from)? as f64 * 1e3 / elapsed_ns as f64);
        point.io_some = share(a.some_us, b.some_us);
        point.io_full = share(a.full_us, b.full_us);
    }
}

fn add_server(point: &mut SecondPoint, a: &ServerSample, b: &ServerSample) {
    let value = |sample: &ServerSample, name: &str| sample.counters.get(name).copied();
    let seconds = b.at_ns.saturating_sub(a.at_ns) as f64 / 1e9;
    point.misses_per_s = value(a, "Innodb_buffer_pool_reads")
        .zip(value(b, "Innodb_buffer_pool_reads"))
        .filter(|(a, b)| a <= b)
        .map(|(a, b)| b.abs_diff(a) as f64 / seconds);
    point.dirty_share = value(b, "Innodb_buffer_pool_pages_dirty")
        .zip(value(b, "Innodb_buffer_pool_pages_total"))
        .filter(|(_, total)| *total > 0)
        .map(|(dirty, total)| dirty as f64 / total as f64);
    point.checkpoint_age_bytes = value(b, "Innodb_checkpoint_age");
}

/// The samples nearest to two moments, if both are near and differ. Samples are in order.
fn around<T>(samples: &[T], at_ns: impl Fn(&T) -> i64, begin_ns: i64, end_ns: i64) -> Option<(&T, &T)> {
    let nearest = |moment_ns: i64| {
        let after = samples.partition_point(|sample| at_ns(sample) < moment_ns);
        let candidates = samples[after.saturating_sub(1)..].iter().take(2);
        candidates
            .min_by_key(|sample| at_ns(sample).abs_diff(moment_ns))
            .filter(|sample| at_ns(sample).abs_diff(moment_ns) <= ON_GRID_NS)
    };
    let (first, last) = (nearest(begin_ns)?, nearest(end_ns)?);
    (at_ns(first) < at_ns(last)).then_some((first, last))
}
