//! What the load threads tell of a run beside its figures: statements, threads, arrivals, rows.

use std::collections::BTreeMap;

use serde::Serialize;

use super::gather_run::GatheredRun;
use crate::protocol::event::{LatencyRecord, Settled, ThreadTotals};
use crate::stats::latency::{HistogramError, StatementHistogram};
use crate::workload::statement::StatementKind;

/// What the load threads of all instances tell beside the figures, over all that was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LoadAnalysis {
    /// Kinds of statements, in the order of a transaction; empty when a transaction is one statement.
    pub statements: Vec<StatementLatency>,
    /// How evenly load threads were served; `None` when a load did not live to say so.
    pub threads: Option<ThreadFairness>,
    /// Arrivals of an open loop; `None` in a closed one.
    pub open_loop: Option<OpenLoop>,
    /// Rows inserted less rows deleted, warm-up included; `None` when a load did not live to say so.
    pub rows_added: Option<i64>,
    /// The servers when they had come to rest before the run, in the plan's order.
    pub settled: Vec<SettledServer>,
}

/// Latency of one kind of statement, within 1 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StatementLatency {
    /// What it is.
    pub kind: StatementKind,
    /// How many were answered.
    pub count: u64,
    /// Exact mean, ms.
    pub avg_ms: f64,
    /// 99th percentile, ms.
    pub p99_ms: f64,
    /// Exact maximum, ms.
    pub max_ms: f64,
    /// Share of the time that all statements took, 0–1.
    pub time_share: f64,
}

/// How evenly the load threads were served, as sysbench tells it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ThreadFairness {
    /// Load threads of all instances.
    pub threads: usize,
    /// Mean of the transactions of a thread.
    pub events_avg: f64,
    /// Their standard deviation.
    pub events_stddev: f64,
    /// Mean of the time that a thread's transactions took in all, seconds.
    pub busy_avg_s: f64,
    /// Its standard deviation.
    pub busy_stddev_s: f64,
}

/// Transactions that arrived whether or not earlier ones were done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OpenLoop {
    /// Transactions that were to arrive in a second, at all instances together.
    pub asked_per_s: f64,
    /// Longest queue at the end of a measured second.
    pub longest_queue: Option<u64>,
    /// Transactions that had arrived and not begun at the end; `None` when a load did not live to say so.
    pub unserved: Option<u64>,
    /// How long the oldest of them had waited, ms; `None` when there are none.
    pub oldest_wait_ms: Option<f64>,
}

/// A server that had come to rest, or had not in time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettledServer {
    /// Its host.
    pub host: String,
    /// What was left, and the size of its files.
    #[serde(flatten)]
    pub settled: Settled,
}

/// Latencies by kind of statement, merged as they come.
#[derive(Default)]
pub struct StatementTotals(BTreeMap<StatementKind, StatementHistogram>);

impl StatementTotals {
    /// Adds what one instance recorded of one kind.
    ///
    /// # Errors
    /// When it cannot be read; then it is left out.
    pub fn add(&mut self, kind: StatementKind, record: &LatencyRecord) -> Result<(), HistogramError> {
        self.0.entry(kind).or_default().merge_record(record)
    }

    /// What all of them took, ns; `None` when none was recorded.
    pub fn sum_ns(&self) -> Option<f64> {
        self.0.values().map(|latencies| latencies.sum_ns() as f64).reduce(|a, b| a + b)
    }

    /// The figures of each kind.
    fn summarize(&self) -> Vec<StatementLatency> {
        let all_ns = self.sum_ns().unwrap_or(0.0);
        let kinds = self.0.iter();
        kinds
            .filter_map(|(kind, latencies)| {
                Some(StatementLatency {
                    kind: *kind,
                    count: latencies.count(),
                    avg_ms: latencies.mean_ns()? / 1e6,
                    p99_ms: latencies.percentile_ns(99.0)? as f64 / 1e6,
                    max_ms: latencies.max_ns()? as f64 / 1e6,
                    time_share: if all_ns > 0.0 { latencies.sum_ns() as f64 / all_ns } else { 0.0 },
                })
            })
            .collect()
    }
}

/// What the load threads of a run tell.
pub fn analyze_load(run: &GatheredRun) -> LoadAnalysis {
    let instances = run.instances.iter();
    let all_ended = instances.clone().map(|own| own.ended.as_ref()).collect::<Option<Vec<_>>>();
    let all_ended = all_ended.filter(|ended| ended.len() == run.plan.instances as usize);
    let threads = all_ended.as_ref().map(|ended| ended.iter().flat_map(|own| own.threads.iter().copied()));
    LoadAnalysis {
        statements: run.statements.summarize(),
        threads: threads.and_then(|threads| fairness(&threads.collect::<Vec<_>>())),
        open_loop: run.plan.rate_per_s.map(|rate| open_loop(run, rate)),
        rows_added: all_ended
            .map(|ended| ended.iter().fold(0, |sum: i64, own| sum.saturating_add(own.rows_added))),
        settled: instances
            .filter_map(|own| Some(SettledServer { host: own.host.clone(), settled: own.settled? }))
            .collect(),
    }
}

/// sysbench's figures; `None` without threads.
fn fairness(threads: &[ThreadTotals]) -> Option<ThreadFairness> {
    let of = |value: fn(&ThreadTotals) -> f64| {
        let n = threads.len() as f64;
        let mean = threads.iter().map(value).sum::<f64>() / n;
        let square = threads.iter().map(|own| (value(own) - mean).powi(2)).sum::<f64>() / n;
        (mean, square.sqrt())
    };
    if threads.is_empty() {
        return None;
    }
    let (events_avg, events_stddev) = of(|own| own.events as f64);
    let (busy_avg_s, busy_stddev_s) = of(|own| own.busy_ns as f64 / 1e9);
    Some(ThreadFairness { threads: threads.len(), events_avg, events_stddev, busy_avg_s, busy_stddev_s })
}

fn open_loop(run: &GatheredRun, rate_per_s: u32) -> OpenLoop {
    let measured = run.merging.seconds.iter().filter(|second| second.second >= 0);
    let unserved = run.instances.iter().map(|own| own.ended.as_ref()?.unserved);
    let unserved: Option<Vec<(u64, u64)>> = unserved.collect();
    let unserved = unserved.filter(|all| all.len() == run.plan.instances as usize);
    let oldest_ns =
        unserved.iter().flatten().filter(|(count, _)| *count > 0).map(|(_, waited)| *waited).max();
    OpenLoop {
        asked_per_s: f64::from(rate_per_s) * f64::from(run.plan.instances),
        longest_queue: measured.filter_map(|second| second.queued).max(),
        unserved: unserved.map(|all| all.iter().fold(0, |sum: u64, (count, _)| sum.saturating_add(*count))),
        oldest_wait_ms: oldest_ns.map(|ns| ns as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_thread_fairness() {
        let thread = |events, busy_ns| ThreadTotals { events, busy_ns };
        let all = [2, 4, 4, 4, 5, 5, 7, 9].map(|n| thread(n, n * 1_000_000_000));
        let told = fairness(&all).unwrap();
        // The textbook's example: mean 5, standard deviation 2.
        assert_eq!((told.threads, told.events_avg, told.events_stddev), (8, 5.0, 2.0));
        assert_eq!((told.busy_avg_s, told.busy_stddev_s), (5.0, 2.0));
        assert_eq!(fairness(&[]), None);
    }

    #[test]
    fn golden_statements_of_two_instances() {
        let mut totals = StatementTotals::default();
        let record = |latency_ns, n| {
            let mut latencies = StatementHistogram::new();
            latencies.record_n(latency_ns, n);
            latencies.to_record()
        };
        totals.add(StatementKind::Commit, &record(3_000_000, 100)).unwrap();
        totals.add(StatementKind::PointSelect, &record(100_000, 1_000)).unwrap();
        totals.add(StatementKind::Commit, &record(9_000_000, 100)).unwrap();
        let told = totals.summarize();
        assert_eq!(told[0].kind, StatementKind::PointSelect);
        assert_eq!((told[1].count, told[1].avg_ms, told[1].max_ms), (200, 6.0, 9.0));
        assert!((told[1].p99_ms - 9.0).abs() < 0.09, "{}", told[1].p99_ms);
        assert!((told[1].time_share - 1.2 / 1.3).abs() < 1e-12, "{}", told[1].time_share);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let mut totals = StatementTotals::default();
        let record = LatencyRecord { count: 5, sum_ns: 5, min_ns: 1, max_ns: 1, hdr: "AAAA".into() };
        totals.add(StatementKind::Begin, &record).unwrap_err();
        assert_eq!(totals.summarize(), []);
    }
}
