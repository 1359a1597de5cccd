//! From a journal to conclusions: runs with their figures, series and findings.

mod environment;
mod findings;
mod gather;
#[cfg(test)]
mod hostile;
mod outcome;
mod run;
mod series;
mod window;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::plan::Plan;
use crate::result::ResultError;
use crate::result::bundle::{StoredPlan, read_plan};
pub use crate::stats::cpu::CpuShares;
use crate::stats::device::DeviceRates;

/// Everything that a report says about one result.
#[derive(Debug, Clone, Serialize)]
pub struct ResultAnalysis {
    /// Folder of the bundle, as given.
    pub path: String,
    /// When it was started, UTC.
    pub started: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when it is not complete.
    pub reason: Option<String>,
    /// The plan it followed.
    pub plan: Plan,
    /// What was found on the host: label → text, in reading order.
    pub environment: Vec<(String, String)>,
    /// The dataset: how it came to be and its size. `None` when none was completed.
    pub dataset: Option<DatasetAnalysis>,
    /// One for each run that was started.
    pub runs: Vec<RunAnalysis>,
    /// Warnings that were recorded, and what the reader noticed about the journal.
    pub notes: Vec<String>,
}

/// Reads a result, given as its folder or its journal, and draws every conclusion. Touches nothing else.
///
/// # Errors
/// When it is not a result that this version reads. A damaged journal is no error: it is noted, and what
/// stands before the damage counts.
pub fn analyze(result: &Path) -> Result<ResultAnalysis, ResultError> {
    let StoredPlan { plan, crc32 } = read_plan(result)?;
    let gathered = gather::gather(result, &plan, crc32)?;
    let (outcome, reason) = outcome::of_result(&gathered);
    let runs = gathered.runs.iter().map(|run| run::analyze_run(run, &gathered, &plan)).collect();
    Ok(ResultAnalysis {
        path: result.display().to_string(),
        started: gathered.started.clone(),
        outcome,
        reason,
        environment: environment::describe(&gathered),
        dataset: gathered.dataset.clone(),
        runs,
        notes: gathered.notes,
        plan,
    })
}

/// How a result or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As planned.
    Complete,
    /// Cut short by a kill, or by a failure once there was load; what is there was measured.
    Partial,
    /// Ended by a failure before there was any load.
    Failed,
    /// Stopped by its user.
    Interrupted,
}

impl Outcome {
    /// As it is written in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Complete => "complete",
            Outcome::Partial => "partial",
            Outcome::Failed => "failed",
            Outcome::Interrupted => "interrupted",
        }
    }
}

/// The tables that were measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatasetAnalysis {
    /// It was there before this result.
    pub reused: bool,
    /// Runs that had changed it before.
    pub runs_before: u32,
    /// How it was created.
    pub creation: String,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of its files.
    pub file_bytes: u64,
}

/// One measured interval.
#[derive(Debug, Clone, Serialize)]
pub struct RunAnalysis {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when it is not complete.
    pub reason: Option<String>,
    /// sysbench's name of the workload.
    pub workload: String,
    /// Load threads of each instance.
    pub threads: u32,
    /// Instances that ran.
    pub instances: u32,
    /// Measured interval, seconds.
    pub seconds: f64,
    /// Transactions that completed in it.
    pub transactions: u64,
    /// Transactions a second.
    pub tps: f64,
    /// Latency of these transactions; `None` when there are none.
    pub latency: Option<LatencySummary>,
    /// SQL errors that restarted a transaction.
    pub errors: u64,
    /// The same by error code.
    pub errors_by_code: BTreeMap<u16, u64>,
    /// Statements that read.
    pub reads: u64,
    /// Statements that wrote at least one row.
    pub writes: u64,
    /// BEGIN, COMMIT, and writes that found no row.
    pub other: u64,
    /// Name of the device mounted at the data directory.
    pub device_name: Option<String>,
    /// Its means over the whole interval.
    pub device: Option<DeviceRates>,
    /// Host processor shares over the interval.
    pub cpu: Option<CpuShares>,
    /// Where the I/O came from.
    pub anatomy: IoAnatomy,
    /// One point a second, warm-up included.
    pub series: Vec<SecondPoint>,
    /// `(percentile, ms)` for the percentile plot, ascending, ending at 100.
    pub percentiles: Vec<(f64, f64)>,
    /// What may be concluded.
    pub findings: Vec<Finding>,
}

/// Latency of the measured interval, ms.
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
    /// Age of the oldest transaction in flight at the end: the true peak is at least this.
    pub oldest_in_flight_ms: Option<f64>,
    /// The 99th percentile if every transaction in flight at the end had completed at that moment.
    pub p99_with_in_flight_ms: f64,
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

/// One second of a run. `None`: not sampled, or unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SecondPoint {
    /// Second relative to the start of the measured interval; negative in warm-up.
    pub second: i64,
    /// Transactions a second.
    pub tps: f64,
    /// Mean latency, ms. The four latencies are `None` when nothing completed.
    pub avg_ms: Option<f64>,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Maximum.
    pub max_ms: Option<f64>,
    /// SQL errors.
    pub errors: u64,
    /// Rates of the headline device in this second.
    pub device: Option<DeviceRates>,
    /// Processor shares in this second.
    pub cpu: Option<CpuShares>,
    /// Share of the second in which at least one task waited for I/O, 0–1.
    pub io_some: Option<f64>,
    /// Share in which every runnable task waited, 0–1.
    pub io_full: Option<f64>,
    /// Buffer-pool misses a second.
    pub misses_per_s: Option<f64>,
    /// Dirty share of the pool's pages, 0–1.
    pub dirty_share: Option<f64>,
    /// Checkpoint age, bytes.
    pub checkpoint_age_bytes: Option<i64>,
}

/// One checked statement about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Stable name, such as `page_cache_bypassed`.
    pub id: &'static str,
    /// Short title, such as `Page cache bypassed`.
    pub title: &'static str,
    /// It holds, it does not, or it is unknown.
    pub holds: Option<bool>,
    /// What was compared, with the figures.
    pub text: String,
}
