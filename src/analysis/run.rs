//! The figures of one run.

use std::collections::BTreeMap;

use super::gather::{Gathered, GatheredRun};
use super::window::Ends;
use super::{IoAnatomy, LatencySummary, RunAnalysis, findings, outcome, series};
use crate::plan::Plan;
use crate::protocol::sample::ServerSample;
use crate::stats::cpu::cpu_shares;
use crate::stats::device::{DeviceRates, device_rates};
use crate::stats::latency::LatencyHistogram;

/// Figures, series and findings of a run.
pub fn analyze_run(run: &GatheredRun, gathered: &Gathered, plan: &Plan) -> RunAnalysis {
    let (outcome, reason) = outcome::of_run(run, gathered);
    let seconds = run.measured_ns() as f64 / 1e9;
    let transactions = run.latency.count();
    let mut statements = [0_u64; 3];
    let mut errors_by_code: BTreeMap<u16, u64> = BTreeMap::new();
    for second in run.measured() {
        for (sum, n) in statements.iter_mut().zip(second.statements) {
            *sum = sum.saturating_add(n);
        }
        for (code, n) in &second.errors {
            let sum = errors_by_code.entry(*code).or_default();
            *sum = sum.saturating_add(*n);
        }
    }
    let host = Ends::of_run(&run.host, run);
    let server = Ends::of_run(&run.server, run);
    let disks = host.as_ref().and_then(|ends| ends.disk(headline(run, gathered)?));
    let device = host
        .as_ref()
        .zip(disks)
        .and_then(|(ends, (first, last))| device_rates(first, last, ends.elapsed_ns()));
    let [reads, writes, other] = statements;
    let mut analysis = RunAnalysis {
        outcome,
        reason,
        workload: plan.workload.kind.name().to_owned(),
        threads: run.plan.threads,
        instances: run.plan.instances,
        seconds,
        transactions,
        tps: if seconds > 0.0 { transactions as f64 / seconds } else { 0.0 },
        latency: summarize(run),
        errors: errors_by_code.values().fold(0, |sum, n| sum.saturating_add(*n)),
        errors_by_code,
        reads,
        writes,
        other,
        device_name: disks.map(|(first, _)| first.name.clone()),
        device,
        cpu: host.as_ref().and_then(|ends| cpu_shares(&ends.first.cpu, &ends.last.cpu)),
        anatomy: IoAnatomy::default(),
        series: series::points(run, headline(run, gathered)),
        percentiles: percentiles(&run.latency),
        findings: Vec::new(),
    };
    analysis.anatomy = anatomy(&analysis, server.as_ref());
    analysis.findings = findings::all(&findings::Evidence {
        run,
        gathered,
        plan,
        analysis: &analysis,
        host: host.as_ref(),
        server: server.as_ref(),
    });
    analysis
}

/// Number of the device mounted at the data directory; of the first one sampled, when nobody probed.
pub fn headline<'a>(run: &'a GatheredRun, gathered: &'a Gathered) -> Option<&'a str> {
    let probed = gathered.facts.as_ref().and_then(|facts| facts.target.mount.as_ref()?.device.as_ref());
    let sampled = || run.host.first()?.disks.first().map(|disk| disk.number.as_str());
    probed.map(|device| device.number.as_str()).or_else(sampled)
}

fn summarize(run: &GatheredRun) -> Option<LatencySummary> {
    let latency = &run.latency;
    let in_flight = run.ended.as_ref().map_or(&[][..], |ended| &ended.in_flight_ns);
    let mut with_in_flight = latency.clone();
    in_flight.iter().for_each(|&age_ns| with_in_flight.record(age_ns));
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let percentile = |p: f64| ms(latency.percentile_ns(p));
    Some(LatencySummary {
        avg_ms: latency.mean_ns()? / 1e6,
        p50_ms: percentile(50.0)?,
        p95_ms: percentile(95.0)?,
        p99_ms: percentile(99.0)?,
        p999_ms: percentile(99.9)?,
        peak_ms: ms(latency.max_ns())?,
        min_ms: ms(latency.min_ns())?,
        oldest_in_flight_ms: ms(in_flight.iter().max().copied()),
        // Short ages would lower it; what they become is not known, so it is never below the other.
        p99_with_in_flight_ms: ms(with_in_flight.percentile_ns(99.0).max(latency.percentile_ns(99.0)))?,
    })
}

/// Points for the percentile plot: evenly spread over nines, as far as there are transactions.
fn percentiles(latency: &LatencyHistogram) -> Vec<(f64, f64)> {
    const POINTS_PER_NINE: i32 = 20;
    let nines = (latency.count() as f64).log10();
    let steps = (0..).map(|n| f64::from(n) / f64::from(POINTS_PER_NINE)).take_while(|&x| x <= nines);
    steps
        .map(|x| 100.0 * (1.0 - 10_f64.powf(-x)))
        .chain((latency.count() > 0).then_some(100.0))
        .filter_map(|p| Some((p, latency.percentile_ns(p)? as f64 / 1e6)))
        .collect()
}

fn anatomy(run: &RunAnalysis, server: Option<&Ends<ServerSample>>) -> IoAnatomy {
    if run.transactions == 0 {
        return IoAnatomy::default();
    }
    let growth = |counter: &str| server.and_then(|ends| ends.growth(counter));
    // Samples lie near the interval's ends, not on them: rates are compared, not counts.
    let each = |counter: &str| Some(growth(counter)? / server?.seconds() / run.tps);
    let device_each = |rate: fn(&DeviceRates) -> f64| run.device.map(|device| rate(&device) / run.tps);
    let share = |read: fn(&DeviceRates) -> f64, write: fn(&DeviceRates) -> f64| {
        let device = run.device?;
        let both = read(&device) + write(&device);
        (both > 0.0).then(|| read(&device) / both)
    };
    let pool_hit_ratio = growth("Innodb_buffer_pool_reads")
        .zip(growth("Innodb_buffer_pool_read_requests"))
        .filter(|(_, requests)| *requests > 0.0)
        .map(|(misses, requests)| 1.0 - misses / requests);
    IoAnatomy {
        misses_per_transaction: each("Innodb_buffer_pool_reads"),
        pool_hit_ratio,
        device_reads_per_transaction: device_each(|d| d.reads_per_s),
        device_writes_per_transaction: device_each(|d| d.writes_per_s),
        device_read_bytes_per_transaction: device_each(|d| d.read_kb_per_s * 1024.0),
        device_write_bytes_per_transaction: device_each(|d| d.write_kb_per_s * 1024.0),
        read_share: share(|d| d.reads_per_s, |d| d.writes_per_s),
        read_share_bytes: share(|d| d.read_kb_per_s, |d| d.write_kb_per_s),
        // Innodb_data_fsyncs counts those of the redo log as well.
        syncs_per_transaction: each("Innodb_data_fsyncs"),
        redo_bytes_per_transaction: each("Innodb_os_log_written"),
        pages_flushed_per_transaction: each("Innodb_buffer_pool_pages_flushed"),
        doublewrite_pages_per_transaction: each("Innodb_dblwr_pages_written"),
        row_lock_waits_per_transaction: each("Innodb_row_lock_waits"),
    }
}
