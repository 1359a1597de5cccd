//! The figures of a load over an interval: of one instance, or of all of them together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::merging::Totals;
use crate::protocol::event::LOST_CONNECTION;
use crate::protocol::event::LoadEnded;
use crate::stats::cpu::CpuShares;
use crate::stats::device::DeviceRates;
use crate::stats::latency::{LatencyHistogram, MOST_COUNTED};

/// What a load did over an interval, and what its devices and hosts did meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Length of the interval, seconds.
    pub seconds: f64,
    /// Transactions that completed in it.
    pub transactions: u64,
    /// Transactions a second.
    pub tps: f64,
    /// Latency of these transactions; `None` when there are none.
    pub latency: Option<LatencySummary>,
    /// SQL errors that restarted a transaction, without lost connections: as sysbench, `reconnects` tells of those.
    pub errors: u64,
    /// Everything that restarted a transaction by error code, lost connections (2013) among it.
    pub errors_by_code: BTreeMap<u16, u64>,
    /// Connections made in place of lost ones.
    pub reconnects: u64,
    /// Statements that read.
    pub reads: u64,
    /// Statements that wrote at least one row.
    pub writes: u64,
    /// BEGIN, COMMIT, and writes that found no row.
    pub other: u64,
    /// Means of the headline device over the interval; of several, their sum.
    pub device: Option<DeviceRates>,
    /// Processor shares over the interval; of several hosts, their mean.
    pub cpu: Option<CpuShares>,
    /// Where the I/O came from.
    pub anatomy: IoAnatomy,
}

/// Latency of an interval, ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Exact mean.
    pub avg_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// Exact maximum of the completed transactions.
    pub peak_ms: f64,
    /// Exact minimum.
    pub min_ms: f64,
    /// Age of the oldest transaction in flight at the end, or due by then and not begun: the true peak is at
    /// least this.
    pub oldest_in_flight_ms: Option<f64>,
    /// The 99th percentile if every transaction in flight or due at the end had completed at that moment; `None`
    /// where that is not known, as of a segment.
    pub p99_with_in_flight_ms: Option<f64>,
}

/// How the database's work became I/O. A figure whose counter the server lacks is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct IoAnatomy {
    /// Buffer-pool misses a transaction.
    pub misses_per_transaction: Option<f64>,
    /// Share of page requests answered by the pool, 0–1.
    pub pool_hit_ratio: Option<f64>,
    /// Device reads a transaction.
    pub device_reads_per_transaction: Option<f64>,
    /// Device writes a transaction.
    pub device_writes_per_transaction: Option<f64>,
    /// Bytes read from the device by a transaction.
    pub device_read_bytes_per_transaction: Option<f64>,
    /// Bytes written to the device by a transaction.
    pub device_write_bytes_per_transaction: Option<f64>,
    /// Reads among all device reads and writes, 0–1, by count.
    pub read_share: Option<f64>,
    /// The same by bytes.
    pub read_share_bytes: Option<f64>,
    /// fsync and fdatasync calls of InnoDB a transaction.
    pub syncs_per_transaction: Option<f64>,
    /// Redo bytes a transaction.
    pub redo_bytes_per_transaction: Option<f64>,
    /// Pages flushed by a transaction.
    pub pages_flushed_per_transaction: Option<f64>,
    /// Pages through the doublewrite buffer by a transaction.
    pub doublewrite_pages_per_transaction: Option<f64>,
    /// Row-lock waits a transaction.
    pub row_lock_waits_per_transaction: Option<f64>,
}

/// What hosts and servers did over an interval.
pub struct Telemetry<'a> {
    /// The headline device, or the sum of several.
    pub device: Option<DeviceRates>,
    /// Processor shares.
    pub cpu: Option<CpuShares>,
    /// How fast a server counter grew, in units a second.
    pub rate: &'a dyn Fn(&str) -> Option<f64>,
}

/// Transactions that had not completed at the end, all of one age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished {
    /// Since they began, or in an open loop since they were due, ns.
    pub age_ns: u64,
    /// How many.
    pub count: u64,
}

/// Groups into which transactions that nobody had begun are put, by age.
const AGE_GROUPS: u64 = 100;

/// What had not completed when a load ended: in flight, or arrived and not begun. Of the latter the oldest
/// age is known; they arrive evenly, and so are their ages spread.
pub fn unfinished(ended: &LoadEnded) -> Vec<Unfinished> {
    let in_flight = ended.in_flight_ns.iter().map(|&age_ns| Unfinished { age_ns, count: 1 });
    let (waiting, oldest_ns) = ended.unserved.unwrap_or((0, 0));
    let groups = waiting.min(AGE_GROUPS);
    let part = |of: u64, n: u64| {
        u64::try_from(u128::from(of) * u128::from(n) / u128::from(groups.max(1))).unwrap_or(of)
    };
    let group =
        |n: u64| Unfinished { age_ns: part(oldest_ns, n), count: part(waiting, n) - part(waiting, n - 1) };
    in_flight.chain((1..=groups).map(group)).collect()
}

/// Figures from sums, with what had not completed at the end.
pub fn figures(totals: &Totals, unfinished: Option<&[Unfinished]>, telemetry: &Telemetry) -> Figures {
    let seconds = totals.length_ns as f64 / 1e9;
    let transactions = totals.latency.count();
    let [reads, writes, other] = totals.statements;
    let mut figures = Figures {
        seconds,
        transactions,
        tps: if seconds > 0.0 { transactions as f64 / seconds } else { 0.0 },
        latency: summarize(&totals.latency, unfinished),
        errors: sum_of_errors(&totals.errors),
        errors_by_code: totals.errors.clone(),
        reconnects: totals.reconnects,
        reads,
        writes,
        other,
        device: telemetry.device,
        cpu: telemetry.cpu,
        anatomy: IoAnatomy::default(),
    };
    if transactions > 0 {
        figures.anatomy = anatomy(figures.tps, telemetry);
    }
    figures
}

/// Errors of all codes, without lost connections.
pub fn sum_of_errors(by_code: &BTreeMap<u16, u64>) -> u64 {
    let errors = by_code.iter().filter(|(code, _)| **code != LOST_CONNECTION);
    errors.fold(0, |sum: u64, (_, n)| sum.saturating_add(*n))
}

/// The figures of a distribution, and of what had not completed if that is known; `None` when nothing completed.
pub fn summarize(latency: &LatencyHistogram, unfinished: Option<&[Unfinished]>) -> Option<LatencySummary> {
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let percentile = |p: f64| ms(latency.percentile_ns(p));
    let mut p99_ns = latency.percentile_ns(99.0);
    let known = unfinished.is_some();
    let unfinished = unfinished.unwrap_or_default();
    if !unfinished.is_empty() {
        let mut with_in_flight = latency.clone();
        for group in unfinished {
            let room = MOST_COUNTED.saturating_sub(with_in_flight.count());
            with_in_flight.record_n(group.age_ns, group.count.min(room));
        }
        // Short ages would lower it; what they become is not known, so it is never below the other.
        p99_ns = p99_ns.max(with_in_flight.percentile_ns(99.0));
    }
    Some(LatencySummary {
        avg_ms: latency.mean_ns()? / 1e6,
        p50_ms: percentile(50.0)?,
        p95_ms: percentile(95.0)?,
        p99_ms: percentile(99.0)?,
        p999_ms: percentile(99.9)?,
        peak_ms: ms(latency.max_ns())?,
        min_ms: ms(latency.min_ns())?,
        oldest_in_flight_ms: ms(unfinished.iter().map(|group| group.age_ns).max()),
        p99_with_in_flight_ms: ms(p99_ns.filter(|_| known)),
    })
}

/// Points for the percentile plot: evenly spread over nines, as far as there are transactions.
pub fn percentiles(latency: &LatencyHistogram) -> Vec<(f64, f64)> {
    const POINTS_PER_NINE: i32 = 20;
    let nines = (latency.count() as f64).log10();
    let steps = (0..).map(|n| f64::from(n) / f64::from(POINTS_PER_NINE)).take_while(|&x| x <= nines);
    steps
        .map(|x| 100.0 * (1.0 - 10_f64.powf(-x)))
        .chain((latency.count() > 0).then_some(100.0))
        .filter_map(|p| Some((p, latency.percentile_ns(p)? as f64 / 1e6)))
        .collect()
}

fn anatomy(tps: f64, telemetry: &Telemetry) -> IoAnatomy {
    // Samples lie near the interval's ends, not on them: rates are compared, not counts.
    let each = |counter: &str| Some((telemetry.rate)(counter)? / tps);
    let device_each = |rate: fn(&DeviceRates) -> f64| telemetry.device.map(|device| rate(&device) / tps);
    let share = |read: fn(&DeviceRates) -> f64, write: fn(&DeviceRates) -> f64| {
        let device = telemetry.device?;
        let both = read(&device) + write(&device);
        (both > 0.0).then(|| read(&device) / both)
    };
    let pool_hit_ratio = (telemetry.rate)("Innodb_buffer_pool_reads")
        .zip((telemetry.rate)("Innodb_buffer_pool_read_requests"))
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
