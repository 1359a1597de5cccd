//! Whether the instances did the same work at the same moment.

use std::collections::BTreeSet;

use super::unknown;
use crate::analysis::gather::Gathered;
use crate::analysis::gather_run::{GatheredInstance, GatheredRun};
use crate::analysis::{Finding, RunAnalysis};

/// Clocks may differ by this much, bounds included, for a window to be common: a twentieth of a second.
const MOST_APART_MS: f64 = 50.0;

/// Every planned instance took part to its end.
pub fn every_instance_present(run: &GatheredRun, gathered: &Gathered, analysis: &RunAnalysis) -> Finding {
    let (id, title) = ("every_instance_present", "Every instance present");
    let planned = run.plan.instances as usize;
    let mut missing: Vec<String> = Vec::new();
    for (instance, gathered) in analysis.per_instance.iter().zip(&run.instances) {
        let Some(reason) = &instance.lost else {
            if run.was_late(gathered) {
                missing.push(format!("{} {}", instance.host, lateness(gathered)));
            }
            continue;
        };
        let when = match instance.last_second {
            Some(second) => format!("lost after second {}", second.saturating_add(1)),
            None => "measured nothing".to_owned(),
        };
        missing.push(format!("{} {when}: {reason}", instance.host));
    }
    if let Some(never) = planned.checked_sub(run.instances.len()).filter(|&never| never > 0) {
        missing.push(format!("{never} did not begin{}", lost_before(run, gathered)));
    }
    if run.last_second().is_none_or(|second| second < 0) && missing.is_empty() {
        return unknown(id, title, "nothing was measured");
    }
    let present = analysis.instances_present;
    let text = match missing.is_empty() {
        true if run.shortfall.is_none() => {
            format!("all {planned} instances took part as far as the journal goes")
        }
        true => format!("all {planned} instances took part, each to its end"),
        false => {
            format!("{present} of {planned} instances took part all along; {}", missing.join("; "))
        }
    };
    Finding { id, title, holds: Some(missing.is_empty()), text }
}

/// How an instance that stood still at the start took part.
fn lateness(instance: &GatheredInstance) -> String {
    match instance.first_at_work() {
        Some(first) => format!("began in second {}: its host stood still", first.saturating_add(1)),
        None => "ran no load: its host stood still".to_owned(),
    }
}

/// Hosts that were lost and are not part of the run, with their reasons.
fn lost_before(run: &GatheredRun, gathered: &Gathered) -> String {
    let lost = gathered.hosts.iter().filter(|(host, _)| run.member(host).is_none());
    let lost: Vec<String> =
        lost.filter_map(|(host, known)| Some(format!("{host}: {}", known.lost.as_ref()?))).collect();
    if lost.is_empty() { String::new() } else { format!(" ({})", lost.join("; ")) }
}

/// The measured interval began at the same moment everywhere, with every load thread running.
///
/// With warm-up it matters that the threads ran at T0; without, that they began together.
pub fn common_window(run: &GatheredRun) -> Finding {
    let (id, title) = ("common_window", "One window on every clock");
    let Some(uncertain_ms) = uncertainty_ms(&run.instances) else {
        return unknown(id, title, "the clock of an instance was not known when the run began");
    };
    let on_coordinator = |moment: fn(&GatheredInstance) -> Option<i64>| {
        let instances = run.instances.iter();
        instances
            .map(|instance| Some(i128::from(moment(instance)?) - i128::from(instance.clock?.0)))
            .collect::<Option<Vec<i128>>>()
    };
    let Some(starts) = on_coordinator(|instance| Some(instance.t0_ns)) else {
        return unknown(id, title, "the clock of an instance was not known when the run began");
    };
    let skew_ms = spread_ms(&starts);
    let window = format!(
        "T0 of all {} instances lies within {skew_ms:.2} ms on the coordinator's clock, give or take \
         {uncertain_ms:.2} ms",
        starts.len()
    );
    let Some(began) = on_coordinator(|instance| instance.began_ns) else {
        return unknown(id, title, format!("{window}; not every instance said when its load threads began"));
    };
    let apart_ms = spread_ms(&began);
    let late = run.instances.iter().filter(|own| own.began_ns.is_some_and(|began| began > own.t0_ns)).count();
    let running = match (run.plan.warmup_s, late) {
        (0, _) => String::new(),
        (_, 0) => ", all before T0".to_owned(),
        (_, late) => format!(", on {late} after T0"),
    };
    let together = if run.plan.warmup_s > 0 { late == 0 } else { apart_ms + uncertain_ms <= MOST_APART_MS };
    let parted_ms = parted_ms(&run.instances);
    let holds = skew_ms + uncertain_ms <= MOST_APART_MS
        && together
        && parted_ms.is_none_or(|parted_ms| parted_ms <= MOST_APART_MS);
    let mut text = format!("{window}; the load threads began within {apart_ms:.2} ms of each other{running}");
    if let Some(parted_ms) = parted_ms {
        text += &format!("; later the clocks had parted by {parted_ms:.2} ms");
    }
    Finding { id, title, holds: Some(holds), text }
}

/// How far the instances' clocks have parted since the start, ms, as last measured. A machine that was
/// paused or whose clock is steered comes out of step with the others' seconds. An offset is told when a
/// better one is found, so a clock of which none was told counts as not moved; `None` when that is true of all.
fn parted_ms(instances: &[GatheredInstance]) -> Option<f64> {
    if instances.iter().all(|own| own.clock_later.is_none()) {
        return None;
    }
    let moved = |own: &GatheredInstance| {
        let began = own.clock?;
        Some(i128::from(own.clock_later.unwrap_or(began).0) - i128::from(began.0))
    };
    Some(spread_ms(&instances.iter().map(moved).collect::<Option<Vec<_>>>()?))
}

/// How wrong the distance of two clocks may be, ms: the two largest bounds.
fn uncertainty_ms(instances: &[GatheredInstance]) -> Option<f64> {
    let bounds: Option<Vec<i64>> = instances.iter().map(|own| Some(own.clock?.1)).collect();
    let mut bounds = bounds?;
    bounds.sort_unstable_by(|a, b| b.cmp(a));
    Some(bounds.iter().take(2).map(|bound| *bound as f64 / 1e6).sum())
}

fn spread_ms(moments: &[i128]) -> f64 {
    let lowest = moments.iter().min().copied().unwrap_or(0);
    let highest = moments.iter().max().copied().unwrap_or(0);
    (highest - lowest) as f64 / 1e6
}

/// No two load threads of the run draw the same choices.
pub fn seeds_distinct(run: &GatheredRun) -> Finding {
    let (id, title) = ("seeds_distinct", "Every load thread has a seed of its own");
    let planned = run.plan.threads as usize;
    if let Some(silent) = run.instances.iter().find(|instance| instance.streams.len() != planned) {
        let text = format!("{} named {} of {planned} seeds", silent.host, silent.streams.len());
        return unknown(id, title, &text);
    }
    let all = run.instances.iter().flat_map(|instance| &instance.streams);
    let (number, distinct) = (all.clone().count(), all.collect::<BTreeSet<_>>().len());
    let text = match number - distinct {
        0 => format!("{number} threads on {} instances drew from {number} seeds", run.instances.len()),
        _ => format!("{number} threads on {} instances drew from only {distinct} seeds", run.instances.len()),
    };
    Finding { id, title, holds: Some(number == distinct), text }
}
