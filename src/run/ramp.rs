//! When a ramp of rates is over.

use crate::plan::{RampPlan, RunPlan};
use crate::protocol::event::LoadSecond;
use crate::stats::latency::LatencyHistogram;
use crate::stats::rate;

/// Steps in a row that do not hold. One may be chance.
const ENOUGH: u32 = 2;

/// What a run measured, as far as a ramp asks: all instances together.
#[derive(Default)]
pub(super) struct StepFigures {
    latency: LatencyHistogram,
    /// Length of the longest instance's interval, ns.
    length_ns: u64,
}

impl StepFigures {
    /// Adds what one instance completed in a measured second.
    pub fn add(&mut self, second: &LoadSecond) {
        // What cannot be read is not counted: the step then does not hold.
        let _ = self.latency.merge_record(&second.latency);
        let end_ns = u64::try_from(second.second).unwrap_or(0).saturating_mul(1_000_000_000);
        self.length_ns = self.length_ns.max(end_ns.saturating_add(second.length_ns));
    }

    fn hold(&self, ramp: RampPlan, run: &RunPlan) -> bool {
        let asked = f64::from(run.rate_per_s.unwrap_or(0)) * f64::from(run.instances);
        let kept = rate::is_kept(asked, self.length_ns as f64 / 1e9, self.latency.count());
        kept && self.latency.percentile_ns(99.0).is_some_and(|p99_ns| p99_ns <= ramp.p99_ns)
    }
}

/// A run that was kept.
pub(super) struct Measured {
    /// What was not as planned.
    pub shortfall: Option<String>,
    /// What it measured; nothing outside a ramp.
    pub figures: StepFigures,
}

/// The steps so far.
pub(super) struct Ramp {
    plan: RampPlan,
    not_held: u32,
}

impl Ramp {
    pub fn new(plan: RampPlan) -> Self {
        Self { plan, not_held: 0 }
    }

    /// Takes another step; whether the rest is not needed.
    pub fn is_over_after(&mut self, run: &RunPlan, figures: &StepFigures) -> bool {
        self.not_held = if figures.hold(self.plan, run) { 0 } else { self.not_held + 1 };
        self.not_held >= ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn run(rate: u32) -> RunPlan {
        RunPlan {
            threads: 8,
            rate_per_s: Some(rate),
            instances: 1,
            warmup_s: 0,
            duration_s: Some(10),
            events: None,
            report_interval_s: 1,
            seed: 1,
            sysbench_run: String::new(),
        }
    }

    fn step(each_second: u64, latency_ns: u64) -> StepFigures {
        let mut figures = StepFigures::default();
        for second in 0..10 {
            let mut latency = LatencyHistogram::new();
            latency.record_n(latency_ns, each_second);
            figures.add(&LoadSecond {
                second,
                length_ns: 1_000_000_000,
                threads: 8,
                latency: latency.to_record(),
                reads: 0,
                writes: 0,
                other: 0,
                errors: BTreeMap::new(),
                reconnects: 0,
                queued: Some(0),
            });
        }
        figures
    }

    #[test]
    fn two_steps_in_a_row_end_it() {
        let mut ramp = Ramp::new(RampPlan { p99_ns: 50_000_000 });
        assert!(!ramp.is_over_after(&run(100), &step(100, 10_000_000)));
        assert!(!ramp.is_over_after(&run(200), &step(200, 60_000_000)), "too slow, perhaps by chance");
        assert!(!ramp.is_over_after(&run(300), &step(300, 40_000_000)));
        assert!(!ramp.is_over_after(&run(400), &step(400, 60_000_000)));
        assert!(ramp.is_over_after(&run(500), &step(300, 40_000_000)), "fast, but far from the rate");
    }
}
