//! One point a second: what the load did beside what the device, the host and the pool did.

use super::SecondPoint;
use super::gather::{GatheredRun, SecondFigures};
use super::window::Ends;
use crate::protocol::clock::SECOND_NS;
use crate::protocol::sample::{HostSample, ServerSample};
use crate::stats::cpu::cpu_shares;
use crate::stats::device::device_rates;

/// The points of a run, with the rates of the device that has this `major:minor`.
pub fn points(run: &GatheredRun, device: Option<&str>) -> Vec<SecondPoint> {
    run.seconds
        .iter()
        .map(|second| {
            let mut point = load_point(second);
            let begin_ns = run.t0_ns.saturating_add(second.second.saturating_mul(SECOND_NS));
            let end_ns = begin_ns.saturating_add(i64::try_from(second.length_ns).unwrap_or(SECOND_NS));
            if let Some(ends) = Ends::between(&run.host, begin_ns, end_ns) {
                add_host(&mut point, &ends, device);
            }
            if let Some(ends) = Ends::between(&run.server, begin_ns, end_ns) {
                add_server(&mut point, &ends);
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

fn add_host(point: &mut SecondPoint, ends: &Ends<HostSample>, device: Option<&str>) {
    let disks = device.and_then(|number| ends.disk(number));
    point.device = disks.and_then(|(a, b)| device_rates(a, b, ends.elapsed_ns()));
    point.cpu = cpu_shares(&ends.first.cpu, &ends.last.cpu);
    point.io_some = ends.io_stalled(|pressure| pressure.some_us);
    point.io_full = ends.io_stalled(|pressure| pressure.full_us);
}

fn add_server(point: &mut SecondPoint, ends: &Ends<ServerSample>) {
    let value = |name: &str| ends.last.counters.get(name).copied();
    point.misses_per_s = ends.growth("Innodb_buffer_pool_reads").map(|misses| misses / ends.seconds());
    point.dirty_share = value("Innodb_buffer_pool_pages_dirty")
        .zip(value("Innodb_buffer_pool_pages_total"))
        .filter(|(_, total)| *total > 0)
        .map(|(dirty, total)| dirty as f64 / total as f64);
    point.checkpoint_age_bytes = value("Innodb_checkpoint_age");
}
