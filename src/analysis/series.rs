//! One point a second: what the load did beside what the devices, the hosts and the pools did.

use super::SecondPoint;
use super::fleet::ObserverSecond;
use super::gather_run::{GatheredInstance, GatheredObserver, GatheredRun};
use super::machine::StallShares;
use super::merging::MergedSecond;
use super::samples::{HostMoment, HostSamples};
use super::window::Ends;
use crate::protocol::clock::SECOND_NS;
use crate::protocol::sample::MemorySample;
use crate::stats::cpu::{CpuShares, cpu_shares, mean_of_hosts};
use crate::stats::device::{DeviceRates, device_rates, sum_of_devices};

/// The points of a run: sums over the instances that took part in a second, or means.
pub fn points(run: &GatheredRun) -> Vec<SecondPoint> {
    let seconds = run.merging.seconds.iter();
    seconds
        .map(|second| {
            let mut point = load_point(second);
            let members = || second.members.iter().filter_map(|&place| run.instances.get(place));
            add_hosts(&mut point, members().map(|instance| host_ends(second, instance)).collect());
            let servers = members().map(|instance| {
                let (begin_ns, end_ns) = moments(second.second, second.length_ns, instance.t0_ns);
                Ends::between(&instance.server, begin_ns, end_ns)
            });
            // What one of them lacks, all lack.
            if let Some(servers) = servers.collect::<Option<Vec<_>>>() {
                let misses = servers
                    .iter()
                    .map(|ends| Some(ends.growth("Innodb_buffer_pool_reads")? / ends.seconds()));
                point.misses_per_s = misses.sum();
                let value = |name: &str| servers.iter().map(|ends| Some(ends.last.value(name)? as f64)).sum();
                let dirty: Option<f64> = value("Innodb_buffer_pool_pages_dirty");
                let total: Option<f64> = value("Innodb_buffer_pool_pages_total");
                point.dirty_share =
                    dirty.zip(total.filter(|total| *total > 0.0)).map(|(dirty, total)| dirty / total);
                let ages: Option<Vec<i64>> =
                    servers.iter().map(|ends| ends.last.value("Innodb_checkpoint_age")).collect();
                point.checkpoint_age_bytes = ages.and_then(|ages| mean(&ages));
            }
            point
        })
        .collect()
}

/// The points of an observer, at the seconds of the run.
pub fn observer_points(run: &GatheredRun, observer: &GatheredObserver) -> Vec<ObserverSecond> {
    let seconds = run.merging.seconds.iter();
    seconds
        .map(|second| {
            let (begin_ns, end_ns) = moments(second.second, second.length_ns, observer.t0_ns);
            let ends = Ends::between(&observer.samples.samples, begin_ns, end_ns);
            ObserverSecond {
                second: second.second,
                device: ends.as_ref().and_then(|ends| rates(ends, &observer.samples)),
                cpu: ends.as_ref().and_then(processors),
            }
        })
        .collect()
}

/// Rates of the headline device between two samples.
pub fn rates(ends: &Ends<HostMoment>, samples: &HostSamples) -> Option<DeviceRates> {
    let (first, last) = ends.disk(samples.device.as_deref()?)?;
    device_rates(first, last, ends.elapsed_ns())
}

/// Processor shares between two samples.
pub fn processors(ends: &Ends<HostMoment>) -> Option<CpuShares> {
    cpu_shares(&ends.first.sample.cpu, &ends.last.sample.cpu)
}

/// One device as it is, several as their sum; `None` when one of them is unknown.
pub fn devices_as_one(devices: &[Option<DeviceRates>]) -> Option<DeviceRates> {
    match devices {
        [only] => *only,
        several => sum_of_devices(&several.iter().copied().collect::<Option<Vec<_>>>()?),
    }
}

/// The same for processors: their mean.
pub fn processors_as_one(hosts: &[Option<CpuShares>]) -> Option<CpuShares> {
    match hosts {
        [only] => *only,
        several => mean_of_hosts(&several.iter().copied().collect::<Option<Vec<_>>>()?),
    }
}

fn moments(second: i64, length_ns: u64, t0_ns: i64) -> (i64, i64) {
    let begin_ns = t0_ns.saturating_add(second.saturating_mul(SECOND_NS));
    (begin_ns, begin_ns.saturating_add(i64::try_from(length_ns).unwrap_or(SECOND_NS)))
}

fn load_point(second: &MergedSecond) -> SecondPoint {
    let [avg_ms, p50_ms, p99_ms, max_ms] = second.latency_ms.map_or([None; 4], |figures| figures.map(Some));
    let per_second = |count: u64| count as f64 * 1e9 / second.length_ns.max(1) as f64;
    SecondPoint {
        second: second.second,
        tps: per_second(second.transactions),
        avg_ms,
        p50_ms,
        p99_ms,
        max_ms,
        errors_per_s: per_second(second.errors),
        reconnects_per_s: per_second(second.reconnects),
        queued: second.queued,
        ..SecondPoint::default()
    }
}

/// What a host did in a second.
struct HostSecond {
    device: Option<DeviceRates>,
    cpu: Option<CpuShares>,
    io: Option<StallShares>,
    memory: Option<MemorySample>,
}

fn host_ends(second: &MergedSecond, instance: &GatheredInstance) -> Option<HostSecond> {
    let (begin_ns, end_ns) = moments(second.second, second.length_ns, instance.t0_ns);
    let ends = Ends::between(&instance.samples.samples, begin_ns, end_ns)?;
    Some(HostSecond {
        device: rates(&ends, &instance.samples),
        cpu: processors(&ends),
        io: ends.stalled(|pressure| pressure.io),
        memory: ends.last.sample.memory,
    })
}

fn add_hosts(point: &mut SecondPoint, hosts: Vec<Option<HostSecond>>) {
    let Some(hosts) = hosts.into_iter().collect::<Option<Vec<_>>>() else { return };
    point.device = devices_as_one(&hosts.iter().map(|host| host.device).collect::<Vec<_>>());
    point.cpu = processors_as_one(&hosts.iter().map(|host| host.cpu).collect::<Vec<_>>());
    let sum = |figure: fn(&HostSecond) -> Option<f64>| hosts.iter().map(figure).sum::<Option<f64>>();
    let mean = |share: fn(&HostSecond) -> Option<f64>| Some(sum(share)? / hosts.len() as f64);
    point.io_some = mean(|host| Some(host.io?.some));
    point.io_full = mean(|host| Some(host.io?.full));
    point.page_cache_bytes = sum(|host| Some(host.memory?.page_cache_bytes as f64));
    point.available_bytes = sum(|host| Some(host.memory?.available_bytes as f64));
}

fn mean(values: &[i64]) -> Option<i64> {
    let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
    i64::try_from(sum.checked_div(values.len() as i128)?).ok()
}
