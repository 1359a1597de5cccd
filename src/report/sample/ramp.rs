//! A made-up ramp.

use super::{complete, plan_of, run};
use crate::analysis::{OpenLoop, RampAnalysis, RampStep, ResultAnalysis, RunAnalysis, SettledServer};
use crate::plan::{RampPlan, RunPlan};
use crate::protocol::event::Settled;

/// A ramp of four steps that found its end after three: 400 a second held, 800 and 1,600 did not.
pub(in crate::report) fn ramp() -> ResultAnalysis {
    let mut result = complete();
    let rates = [400, 800, 1_600, 3_200];
    let planned = &mut plan_of(&mut result).runs;
    *planned = rates.iter().map(|rate| RunPlan { rate_per_s: Some(*rate), ..planned[0].clone() }).collect();
    plan_of(&mut result).load.ramp = Some(RampPlan { p99_ns: 60_000_000 });
    result.runs = (0..3).map(|number| step(number, rates[number])).collect();
    let step_of = |run: &RunAnalysis, saturated| RampStep {
        rate_per_s: run.rate_per_s.unwrap_or(0),
        p99_ms: run
            .figures
            .as_ref()
            .and_then(|own| own.latency)
            .and_then(|latency| latency.p99_with_in_flight_ms),
        saturated,
    };
    result.ramp = Some(RampAnalysis {
        bound_ms: 60.0,
        held: Some(step_of(&result.runs[0], false)),
        failed: Some(step_of(&result.runs[1], false)),
        failed_below: Vec::new(),
        last_run: Some(2),
    });
    result
}

fn step(number: usize, rate: u32) -> RunAnalysis {
    let mut run = RunAnalysis { number, rate_per_s: Some(rate), ..run(60) };
    let unserved = if number == 2 { 16_420 } else { 0 };
    run.load.open_loop = Some(OpenLoop {
        asked_per_s: f64::from(rate),
        longest_queue: Some(unserved + 3),
        unserved: Some(unserved),
        oldest_wait_ms: (unserved > 0).then_some(12_640.0),
    });
    let settled = Settled { waited_ms: 1_840, dirty_pages: 12, history: Some(40), file_bytes: 1_996_488_704 };
    let grown = number as u64 * (8 << 20);
    let settled = Settled { file_bytes: settled.file_bytes + grown, ..settled };
    run.load.settled =
        if number > 0 { vec![SettledServer { host: "local".into(), settled }] } else { Vec::new() };
    if let Some(figures) = &mut run.figures {
        figures.tps = f64::from(rate.min(1_284));
        figures.transactions = u64::from(rate.min(1_284)) * 60;
        let slower = number as f64 * 20.0 + 1.0;
        if let Some(latency) = &mut figures.latency {
            latency.avg_ms *= slower;
            latency.p99_ms *= slower;
            latency.p99_with_in_flight_ms = Some(latency.p99_ms);
        }
    }
    for point in &mut run.series {
        point.queued = Some(u64::try_from(point.second).unwrap_or(0) * unserved / 60);
    }
    run
}
