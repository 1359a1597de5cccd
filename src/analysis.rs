//! From a journal to conclusions: runs with their figures, series and findings.

mod differences;
mod environment;
mod figures;
mod findings;
mod fleet;
mod gather;
mod gather_run;
#[cfg(test)]
pub(crate) mod hostile;
mod imported;
mod layers;
mod load;
mod machine;
mod merging;
mod outcome;
mod ramp;
mod run;
mod samples;
mod series;
mod source;
#[cfg(test)]
mod tests;
mod wear;
mod window;

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::plan::Plan;
use crate::result::ResultError;
use crate::result::bundle::{StoredPlan, read_plan};
use crate::result::import::read_import;
use crate::result::redact::Redaction;
pub use crate::stats::cpu::CpuShares;
use crate::stats::device::DeviceRates;
pub use differences::{EnvironmentComparison, EnvironmentDifference, compare_environments};
pub use figures::{Figures, IoAnatomy, LatencySummary};
pub use fleet::{
    Fairness, InstanceAnalysis, InstanceSecond, ObserverAnalysis, ObserverSecond, OthersPrint,
    SegmentAnalysis,
};
pub use layers::{LayerAnalysis, StackAnalysis};
pub use load::{LoadAnalysis, OpenLoop, SettledServer, StatementLatency, ThreadFairness};
pub use machine::{
    FrequencyFigures, MachineAnalysis, MemoryFigures, NetworkRates, PressureShares, ProcessRates, StallShares,
};
pub use ramp::{RampAnalysis, RampStep};
pub use source::{HeadlineFigures, ImportedRun, ImportedSource, Source};
pub use wear::{Change, DriveWear, Growth, HostHeat, LEAST_UNITS, SilentHost, WearAnalysis};

/// Everything that a report says about one result.
#[derive(Debug, Clone, Serialize)]
pub struct ResultAnalysis {
    /// Folder of the bundle, as given.
    pub path: String,
    /// When it was started, UTC; unknown of an imported one.
    pub started: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when it is not complete.
    pub reason: Option<String>,
    /// The plan it followed, or the log it was imported from.
    pub source: Source,
    /// What was found on the host: label → text, in reading order.
    pub environment: Vec<(String, String)>,
    /// The dataset: how it came to be and its size. `None` when none was completed.
    pub dataset: Option<DatasetAnalysis>,
    /// One for each run that was started.
    pub runs: Vec<RunAnalysis>,
    /// The verdict, when the runs were the steps of a ramp.
    pub ramp: Option<RampAnalysis>,
    /// Warnings that were recorded, and what the reader noticed about the journal.
    pub notes: Vec<String>,
}

/// Reads a result, given as its folder or its journal, and draws every conclusion. Touches nothing else. What
/// was imported is told as the log tells it.
///
/// # Errors
/// When it is not a result that this version reads. A damaged journal is no error: it is noted, and what
/// stands before the damage counts.
pub fn analyze(result: &Path) -> Result<ResultAnalysis, ResultError> {
    analyze_as(result, None)
}

/// The same without the names of hosts and drives; the log of an imported result is not searched for any.
///
/// # Errors
/// Also when what is left without the names cannot be read.
pub fn analyze_redacted(result: &Path, redaction: &Redaction) -> Result<ResultAnalysis, ResultError> {
    let analysis = analyze_as(result, Some(redaction))?;
    Ok(ResultAnalysis { path: redaction.text(&analysis.path), ..analysis })
}

fn analyze_as(result: &Path, redaction: Option<&Redaction>) -> Result<ResultAnalysis, ResultError> {
    if let Some(import) = read_import(result)? {
        return Ok(imported::conclude(result, import));
    }
    let StoredPlan { mut plan, crc32 } = read_plan(result)?;
    if let Some(redaction) = redaction {
        plan = redacted(redaction, &plan, result)?;
    }
    conclude(result, plan, crc32, redaction)
}

/// The conclusions from a journal that followed this plan.
fn conclude(
    result: &Path,
    plan: Plan,
    plan_crc32: u32,
    redaction: Option<&Redaction>,
) -> Result<ResultAnalysis, ResultError> {
    let gathered = gather::gather(result, &plan, plan_crc32, redaction)?;
    let (outcome, reason) = outcome::of_result(&gathered);
    let runs: Vec<RunAnalysis> =
        gathered.runs.iter().map(|run| run::analyze_run(run, &gathered, &plan)).collect();
    let ramp = plan.load.ramp.as_ref().map(|ramp| ramp::analyze_ramp(ramp, &runs, gathered.ramp_ended));
    Ok(ResultAnalysis {
        path: result.display().to_string(),
        started: Some(gathered.started.clone()),
        outcome,
        reason,
        environment: environment::describe(&gathered, &plan),
        dataset: dataset(&gathered, &plan),
        runs,
        ramp,
        notes: gathered.notes,
        source: Source::Measured(Box::new(plan)),
    })
}

/// What is stored in a result, without the names.
fn redacted<T: Serialize + DeserializeOwned>(
    redaction: &Redaction,
    stored: &T,
    result: &Path,
) -> Result<T, ResultError> {
    let failed = |error: serde_json::Error| ResultError::NotRedacted {
        path: result.to_path_buf(),
        reason: error.to_string(),
    };
    redaction.apply(stored).map_err(failed)
}

/// The dataset of the first instance that completed one: all load the same.
fn dataset(gathered: &gather::Gathered, plan: &Plan) -> Option<DatasetAnalysis> {
    let hosts = plan.fleet.instances.iter().map(|instance| &instance.host);
    hosts.filter_map(|host| gathered.hosts.get(host)?.dataset.clone()).next()
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
    /// Rows in all tables, before the first run of this result.
    pub rows: u64,
    /// Rows that earlier runs added or removed, whichever.
    pub rows_changed: u64,
    /// Bytes of its files.
    pub file_bytes: u64,
}

/// One measured interval.
#[derive(Debug, Clone, Serialize)]
pub struct RunAnalysis {
    /// Its place in the plan: runs before it may never have begun.
    pub number: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when it is not complete.
    pub reason: Option<String>,
    /// sysbench's name of the workload.
    pub workload: String,
    /// Load threads of each instance.
    pub threads: u32,
    /// Transactions that were to arrive in a second at each instance; `None` in a closed loop.
    pub rate_per_s: Option<u32>,
    /// Instances that were planned.
    pub instances: u32,
    /// Instances that took part to the end of what was measured.
    pub instances_present: usize,
    /// Figures of all planned instances together, over the headline segment. `None`: they were never
    /// together for half of the planned time, or the run was imported.
    pub figures: Option<Figures>,
    /// Name of the device mounted at the data directory; of several, what they are.
    pub device_name: Option<String>,
    /// One point a second, warm-up included.
    pub series: Vec<SecondPoint>,
    /// `(percentile, ms)` for the percentile plot, ascending, ending at 100.
    pub percentiles: Vec<(f64, f64)>,
    /// The window, cut where instances were lost.
    pub segments: Vec<SegmentAnalysis>,
    /// Each instance that began, in the plan's order.
    pub per_instance: Vec<InstanceAnalysis>,
    /// Hosts that only sampled.
    pub observers: Vec<ObserverAnalysis>,
    /// How evenly instances were served; `None` for one, or without headline.
    pub fairness: Option<Fairness>,
    /// What others print in place of the percentile of all transactions; `None` for one, or without headline.
    pub others_print: Option<OthersPrint>,
    /// Statements, threads, arrivals, and what lay before the run.
    pub load: LoadAnalysis,
    /// Drives and processors before and after; `None` when nobody asked them.
    pub wear: Option<WearAnalysis>,
    /// What may be concluded.
    pub findings: Vec<Finding>,
    /// What a log tells, when the run was imported: it has no figures of drivestone's, no findings.
    pub imported: Option<ImportedRun>,
}

impl RunAnalysis {
    /// Whether several instances were planned.
    #[must_use]
    pub fn is_fleet(&self) -> bool {
        self.instances > 1
    }
}

/// One second of a run, all instances that took part in it together: rates summed, shares averaged. Of an
/// imported run one interval of the log, at the second at which it begins.
/// `None`: not sampled, or unknown.
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
    /// The percentile that an imported log speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentile_ms: Option<f64>,
    /// SQL errors a second, lost connections among them.
    pub errors_per_s: f64,
    /// Connections made in place of lost ones, a second.
    pub reconnects_per_s: f64,
    /// Transactions that had arrived by its end and not begun; nothing in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// Rates of the headline device in this second; of several, their sum.
    pub device: Option<DeviceRates>,
    /// Processor shares in this second.
    pub cpu: Option<CpuShares>,
    /// Share of the second in which at least one task waited for I/O, 0–1.
    pub io_some: Option<f64>,
    /// Share in which every runnable task waited, 0–1.
    pub io_full: Option<f64>,
    /// Page cache at its end, bytes.
    pub page_cache_bytes: Option<f64>,
    /// Memory that could be used without swapping at its end, bytes.
    pub available_bytes: Option<f64>,
    /// Buffer-pool misses a second.
    pub misses_per_s: Option<f64>,
    /// Dirty share of the pool's pages, 0–1.
    pub dirty_share: Option<f64>,
    /// Checkpoint age, bytes; the mean over servers.
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
