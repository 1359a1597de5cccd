//! Whether the host did its part: memory, processors, and nobody who takes them away.

use super::{Checked, Evidence, tenths, unknown};
use crate::analysis::Finding;
use crate::analysis::machine::frequency;
use crate::analysis::samples::HostMoment;
use crate::analysis::series::processors;
use crate::analysis::window::Ends;

/// More swapped pages a second than this are no leftover of an idle program.
const SWAPPED_PER_S: f64 = 1.0;
/// Share of processor time that a hypervisor may take.
const STOLEN: f64 = 0.01;
/// Share of its quota that a control group may be kept from.
const THROTTLED: f64 = 0.01;
/// Processors that slow down by more than this share are throttled.
const SLOWED: f64 = 0.1;
/// Processors less busy than this run slower because they have nothing to do.
const BUSY: f64 = 0.5;
/// Fewer samples have no quarters from which a frequency could be told.
const LEAST_SAMPLES: usize = 12;

/// Nothing went to swap or came from there.
pub fn no_swapping(evidence: &Evidence) -> Checked {
    let (id, title) = ("no_swapping", "No swapping");
    let swapped = evidence.machine.memory.and_then(|m| m.swapped_in_pages.zip(m.swapped_out_pages));
    let (Some((pages_in, pages_out)), Some(ends)) = (swapped, evidence.host) else {
        return unknown(id, title, "the host's memory was not sampled over the interval").into();
    };
    let per_s = (pages_in as f64 + pages_out as f64) / ends.seconds();
    let text = match pages_in.saturating_add(pages_out) {
        0 => "no page was swapped in or out".to_owned(),
        _ => format!("{pages_in} pages were swapped in and {pages_out} out ({per_s:.2} a second)"),
    };
    let finding = Finding { id, title, holds: Some(per_s < SWAPPED_PER_S), text };
    Checked::by(finding, per_s, 2, "pages a second")
}

/// A hypervisor gave the host the processor time that it asked for.
pub fn no_steal(evidence: &Evidence) -> Checked {
    let (id, title) = ("no_steal", "No processor time stolen");
    let Some(cpu) = evidence.figures.cpu else {
        return unknown(id, title, "the host's processors were not sampled over the interval").into();
    };
    let text = format!("a hypervisor took {:.2} % of the processors' time for others", cpu.steal * 100.0);
    let finding = Finding { id, title, holds: Some(cpu.steal < STOLEN), text };
    Checked::by(finding, cpu.steal * 100.0, 2, "% stolen")
}

/// Neither a control group's quota nor a falling frequency slowed the processors.
pub fn not_throttled(evidence: &Evidence) -> Checked {
    let (id, title) = ("not_throttled", "Processors not throttled");
    let Some(ends) = evidence.host else {
        return unknown(id, title, "the host was not sampled over the interval").into();
    };
    let (by_quota, quota) = by_quota(evidence);
    let (by_pace, pace) = by_pace(ends);
    let holds = match (by_quota, by_pace) {
        (Some(true), _) | (_, Some(true)) => Some(false),
        (Some(false), Some(false)) => Some(true),
        _ => None,
    };
    Finding { id, title, holds, text: format!("{quota}; {pace}") }.into()
}

/// Whether a control group's quota kept the measurement from processors, in words.
fn by_quota(evidence: &Evidence) -> (Option<bool>, String) {
    let limits = evidence.machine.limits.as_ref();
    match (evidence.machine.throttled_share, limits) {
        (Some(share), _) => {
            // The kernel adds up over processors what each of them withheld.
            let quota = limits.and_then(|limits| limits.cpu_quota).unwrap_or(1.0).max(1.0);
            let kept = format!(
                "a quota of {quota:.1} processors kept it from {share:.3} processor-seconds in each second"
            );
            (Some(share >= THROTTLED * quota), kept)
        }
        (None, Some(limits)) if limits.cpu_quota.is_none() => {
            (Some(false), "no control group limits processor time".to_owned())
        }
        (None, _) => (None, "how long a control group kept it from processors is unknown".to_owned()),
    }
}

/// Whether busy processors became slower from the first to the last quarter, in words.
fn by_pace(ends: &Ends<HostMoment>) -> (Option<bool>, String) {
    let Some(busy) = busy(ends.all) else {
        return (None, "how busy processors were is unknown".to_owned());
    };
    if busy < BUSY {
        let why = format!(
            "processors were {:.0} % busy, and below {:.0} % a lower frequency says nothing",
            busy * 100.0,
            BUSY * 100.0
        );
        return (Some(false), why);
    }
    if ends.all.len() < LEAST_SAMPLES {
        return (None, "too few samples to tell whether processors became slower".to_owned());
    }
    let quarter = ends.all.len() / 4;
    let (first, last) = (&ends.all[..=quarter], &ends.all[ends.all.len() - 1 - quarter..]);
    let Some((before, after)) = frequency(first).zip(frequency(last)) else {
        return (None, "the frequency of the processors is unknown".to_owned());
    };
    if self::busy(last).is_none_or(|busy| busy < BUSY) {
        return (Some(false), "processors had little to do in the last quarter".to_owned());
    }
    let (before, after) = (before.mean_mhz, after.mean_mhz);
    let change = if before > 0.0 { after / before - 1.0 } else { 0.0 };
    let text = format!(
        "busy processors ran at {before:.0} MHz in the first quarter and {after:.0} MHz in the last ({:+.1} %)",
        tenths(change * 100.0)
    );
    (Some(change <= -SLOWED), text)
}

/// Share of processor time that was neither idle nor waiting for I/O.
fn busy(moments: &[HostMoment]) -> Option<f64> {
    let (first, last) = (moments.first()?, moments.last()?);
    processors(&Ends { first, last, all: moments }).map(|cpu| 1.0 - cpu.idle - cpu.iowait)
}
