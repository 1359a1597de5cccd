//! How a result and its runs ended, from what the journal says and from what it does not.

use super::Outcome;
use super::gather::Gathered;
use super::gather_run::GatheredRun;
use crate::result::Ending;

/// Outcome of the whole result, with the reason when it is not complete.
pub fn of_result(gathered: &Gathered) -> (Outcome, Option<String>) {
    match &gathered.closed {
        Some((Ending::Complete, _)) => {
            let runs = gathered.runs.iter().map(|run| of_run(run, gathered));
            let partial = runs.into_iter().find(|(outcome, _)| *outcome == Outcome::Partial);
            partial.unwrap_or((Outcome::Complete, None))
        }
        Some((Ending::Interrupted, reason)) => (Outcome::Interrupted, reason.clone()),
        Some((Ending::Failed, reason)) => {
            let something = gathered.runs.iter().any(|run| run.last_second().is_some());
            (if something { Outcome::Partial } else { Outcome::Failed }, reason.clone())
        }
        None => (Outcome::Partial, Some(cut_short(gathered))),
    }
}

/// Outcome of one run. One that lost an instance is not complete, whoever said so.
pub fn of_run(run: &GatheredRun, gathered: &Gathered) -> (Outcome, Option<String>) {
    let (outcome, reason) = told(run, gathered);
    let present = run.present();
    if !run.is_fleet() || present == run.plan.instances as usize || outcome == Outcome::Failed {
        return (outcome, reason);
    }
    let label = format!("{present} of {} instances", run.plan.instances);
    let reason = match reason {
        None => label,
        Some(reason) if reason.starts_with(&label) => reason,
        Some(reason) => format!("{label}: {reason}"),
    };
    (if outcome == Outcome::Complete { Outcome::Partial } else { outcome }, Some(reason))
}

/// What the journal says of a run's end.
fn told(run: &GatheredRun, gathered: &Gathered) -> (Outcome, Option<String>) {
    match (&run.shortfall, &gathered.closed) {
        (Some(None), _) => (Outcome::Complete, None),
        (Some(reason), Some((Ending::Interrupted, why))) if !run.went_on_without_some() => {
            // The name of the outcome is no reason for it.
            let told = reason.clone().filter(|reason| reason != Outcome::Interrupted.name());
            (Outcome::Interrupted, told.or_else(|| why.clone()))
        }
        (Some(reason), _) if run.last_second().is_none() => (Outcome::Failed, reason.clone()),
        (Some(reason), _) => (Outcome::Partial, reason.clone()),
        (None, _) => (Outcome::Partial, Some(cut_short(gathered))),
    }
}

/// Where a journal without a last line stops.
fn cut_short(gathered: &Gathered) -> String {
    let place = match gathered.runs.last() {
        Some(run) if run.shortfall.is_none() => match run.last_second() {
            None => "before the first second of load".to_owned(),
            Some(last) if last < 0 => {
                format!("in the warm-up, {} s before the measured interval", last.unsigned_abs() - 1)
            }
            Some(last) => match run.plan.duration_s {
                Some(planned) => format!("after second {} of {planned}", last.saturating_add(1)),
                None => format!("after second {}", last.saturating_add(1)),
            },
        },
        Some(_) => "after the last run".to_owned(),
        None if gathered.hosts.values().any(|host| host.dataset.is_some()) => {
            "before the load started".to_owned()
        }
        None => "before the dataset was complete".to_owned(),
    };
    format!("the journal stops {place} and has no last line: drivestone was killed, or its host or disk lost")
}
