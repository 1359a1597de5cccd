//! The verdict of a ramp: the highest rate that held its bound.

use serde::Serialize;

use super::{Outcome, RunAnalysis};
use crate::plan::RampPlan;

/// What a ramp found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RampAnalysis {
    /// Longest 99th percentile that a rate had to hold, ms.
    pub bound_ms: f64,
    /// The highest rate that held it.
    pub held: Option<RampStep>,
    /// The lowest rate above it that did not.
    pub failed: Option<RampStep>,
    /// Lower rates that did not, in the order of the runs.
    pub failed_below: Vec<RampStep>,
    /// Place in the plan of the last run that was needed; `None` when nobody said that the end was found.
    pub last_run: Option<usize>,
}

/// One step of a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RampStep {
    /// Transactions that were to arrive in a second at each instance.
    pub rate_per_s: u32,
    /// 99th percentile with what was unfinished at the end, ms; `None` when nothing completed.
    pub p99_ms: Option<f64>,
    /// The rate itself was not held.
    pub saturated: bool,
}

impl RampStep {
    /// What a run tells; nothing unless it was measured as planned.
    fn of(run: &RunAnalysis) -> Option<Self> {
        let rate_per_s = run.rate_per_s.filter(|_| run.outcome == Outcome::Complete)?;
        let latency = run.figures.as_ref()?.latency;
        let rate_held = run.findings.iter().find(|finding| finding.id == "rate_held");
        Some(Self {
            rate_per_s,
            p99_ms: latency.map(|latency| latency.p99_with_in_flight_ms.unwrap_or(latency.p99_ms)),
            saturated: rate_held.is_some_and(|finding| finding.holds == Some(false)),
        })
    }

    fn held(&self, bound_ms: f64) -> bool {
        !self.saturated && self.p99_ms.is_some_and(|p99_ms| p99_ms <= bound_ms)
    }
}

/// The verdict over these runs.
pub fn analyze_ramp(plan: &RampPlan, runs: &[RunAnalysis], last_run: Option<usize>) -> RampAnalysis {
    let bound_ms = plan.p99_ns as f64 / 1e6;
    let steps: Vec<RampStep> = runs.iter().filter_map(RampStep::of).collect();
    let rate = |step: &&RampStep| step.rate_per_s;
    let held = steps.iter().filter(|step| step.held(bound_ms)).max_by_key(rate);
    let above = |step: &&RampStep| held.is_none_or(|held| step.rate_per_s > held.rate_per_s);
    let failed = steps.iter().filter(|step| !step.held(bound_ms)).filter(above).min_by_key(rate);
    let below = |step: &&RampStep| held.is_some_and(|held| step.rate_per_s < held.rate_per_s);
    let failed_below = steps.iter().filter(|step| !step.held(bound_ms)).filter(below);
    RampAnalysis {
        bound_ms,
        held: held.copied(),
        failed: failed.copied(),
        failed_below: failed_below.copied().collect(),
        last_run,
    }
}
