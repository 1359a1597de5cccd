//! Where the figures of a result come from: measured here, or told by another benchmark's log.

use serde::Serialize;

use super::{ResultAnalysis, RunAnalysis};
use crate::plan::{Plan, RunPlan};

/// Where the figures of a result come from.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// drivestone measured them, following this plan.
    Measured(Box<Plan>),
    /// They were read from a log.
    Imported(ImportedSource),
}

/// A log that was imported.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImportedSource {
    /// What it is called: given at import, or made from the file's name.
    pub name: String,
    /// The device under test, in its owner's words, if they were given.
    pub device: Option<String>,
    /// Name of the log's file as it was given; `-` for standard input.
    pub file: String,
    /// When it was imported, UTC. When it was written is not known.
    pub imported: String,
}

/// What a log tells of one run. `None`: it does not say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImportedRun {
    /// Its figures.
    pub figures: HeadlineFigures,
    /// The percentile that the log speaks of, such as 95.
    pub percentile: Option<f64>,
    /// That percentile over the whole run, ms.
    pub percentile_ms: Option<f64>,
    /// How exact the program's percentiles are, for readers.
    pub percentile_note: &'static str,
    /// The figures are means of the intervals: the log has no summary.
    pub from_intervals: bool,
    /// What else it says of itself: label and text, in reading order.
    pub facts: Vec<(String, String)>,
}

/// The figures of a run that any benchmark may tell. `None`: unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct HeadlineFigures {
    /// Length of the interval, seconds.
    pub seconds: Option<f64>,
    /// Transactions that completed in it.
    pub transactions: Option<u64>,
    /// Transactions a second.
    pub tps: Option<f64>,
    /// Mean latency, ms.
    pub avg_ms: Option<f64>,
    /// Median, ms.
    pub p50_ms: Option<f64>,
    /// 95th percentile, ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile, ms.
    pub p999_ms: Option<f64>,
    /// Maximum, ms.
    pub peak_ms: Option<f64>,
    /// Minimum, ms.
    pub min_ms: Option<f64>,
    /// SQL errors that restarted a transaction, without lost connections.
    pub errors: Option<u64>,
    /// Connections made anew.
    pub reconnects: Option<u64>,
    /// Statements that read.
    pub reads: Option<u64>,
    /// Statements that wrote at least one row.
    pub writes: Option<u64>,
    /// BEGIN, COMMIT, and writes that found no row.
    pub other: Option<u64>,
}

impl HeadlineFigures {
    /// Statements of all classes; `None` unless all are known.
    #[must_use]
    pub fn queries(&self) -> Option<u64> {
        Some(self.reads?.saturating_add(self.writes?).saturating_add(self.other?))
    }
}

impl ResultAnalysis {
    /// The plan that was followed; none when the result was imported.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        match &self.source {
            Source::Measured(plan) => Some(plan),
            Source::Imported(_) => None,
        }
    }

    /// Runs that were planned.
    #[must_use]
    pub fn planned_runs(&self) -> &[RunPlan] {
        self.plan().map_or(&[], |plan| &plan.runs)
    }
}

impl RunAnalysis {
    /// The figures of a headline, measured or imported.
    #[must_use]
    pub fn headline_figures(&self) -> HeadlineFigures {
        if let Some(imported) = &self.imported {
            return imported.figures;
        }
        let Some(figures) = &self.figures else { return HeadlineFigures::default() };
        let latency = figures.latency.as_ref();
        HeadlineFigures {
            seconds: Some(figures.seconds),
            transactions: Some(figures.transactions),
            tps: Some(figures.tps),
            avg_ms: latency.map(|l| l.avg_ms),
            p50_ms: latency.map(|l| l.p50_ms),
            p95_ms: latency.map(|l| l.p95_ms),
            p99_ms: latency.map(|l| l.p99_ms),
            p999_ms: latency.map(|l| l.p999_ms),
            peak_ms: latency.map(|l| l.peak_ms),
            min_ms: latency.map(|l| l.min_ms),
            errors: Some(figures.errors),
            reconnects: Some(figures.reconnects),
            reads: Some(figures.reads),
            writes: Some(figures.writes),
            other: Some(figures.other),
        }
    }
}
