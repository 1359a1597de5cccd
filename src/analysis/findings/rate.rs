//! Whether an open loop got the transactions done that arrived.

use super::unknown;
use crate::analysis::{Finding, OpenLoop, RunAnalysis};
use crate::stats::rate::{is_kept, least_kept};

/// A queue at the end that takes longer than this to work off is no chance, seconds.
const LONGEST_QUEUE_S: f64 = 1.0;

/// What was asked for was done, and no queue was left that the threads do not work off in a second.
pub fn rate_held(analysis: &RunAnalysis, open_loop: &OpenLoop) -> Finding {
    let (id, title) = ("rate_held", "Rate held");
    let Some(figures) = &analysis.figures else { return unknown(id, title, super::counts::NO_HEADLINE) };
    let asked = open_loop.asked_per_s * figures.seconds;
    if asked <= 0.0 {
        return unknown(id, title, "nothing was measured");
    }
    let done = figures.transactions as f64;
    let least = least_kept(open_loop.asked_per_s, figures.seconds);
    let kept = is_kept(open_loop.asked_per_s, figures.seconds, figures.transactions);
    let mut text = format!(
        "{:.2} transactions a second of {:.0} asked for ({:.1} %; chance explains down to {:.1} %)",
        figures.tps,
        open_loop.asked_per_s,
        done / asked * 100.0,
        (least / asked * 100.0).max(0.0)
    );
    text += &match (open_loop.unserved, open_loop.oldest_wait_ms) {
        (Some(unserved), Some(wait_ms)) => {
            format!("; {unserved} were due and not begun at the end, the oldest for {wait_ms:.2} ms")
        }
        (Some(_), None) => "; none was due and not begun at the end".to_owned(),
        (None, _) => "; what was due and not begun at the end is not known".to_owned(),
    };
    let queue_is_long = open_loop.unserved.map(|unserved| unserved as f64 > figures.tps * LONGEST_QUEUE_S);
    let holds = match (kept, queue_is_long) {
        (false, _) | (_, Some(true)) => Some(false),
        (true, Some(false)) => Some(true),
        (true, None) => None,
    };
    if holds == Some(false) {
        text.insert_str(0, "saturated: ");
    }
    Finding { id, title, holds, text }
}
