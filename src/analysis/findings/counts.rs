//! Whether the numbers agree with each other and with the server's.

use super::{Checked, Evidence, InFlight, unknown};
use crate::analysis::{Finding, RunAnalysis};
use crate::protocol::event::LOST_CONNECTION;
use crate::protocol::event::StatementCount;

/// A closed loop's identity holds within this, or within `BETWEEN_MS` a transaction if that is more.
const LOOP_TOLERANCE: f64 = 0.01;
/// Time that a load thread may spend between two transactions, ms.
const BETWEEN_MS: f64 = 0.002;
/// Of shorter transactions the time between two is no longer nothing.
const SHORTEST_MS: f64 = 0.01;
/// More restarts than this for a transaction change what is measured.
const MOST_RESTARTS: f64 = 0.01;
/// Transactions in flight may raise the 99th percentile by this much before it is uncertain.
const RAISED: f64 = 0.01;

/// Why there are no figures to check.
pub(super) const NO_HEADLINE: &str = "all instances together measured less than half of the planned time";

/// Our transactions are the server's, from the first statement to the last: the statement that ends them is counted
/// by both.
pub fn commits_match(evidence: &Evidence) -> Checked {
    let (id, title) = ("commits_match", "Transactions match the server's");
    let Some(ended) = &evidence.instance.ended else {
        return unknown(id, title, "the load did not live to count its commits").into();
    };
    let StatementCount { counter, ours, server } = &ended.counted;
    let Some((before, after)) = server else {
        let why = format!("the server could not be asked for {counter} at both ends of the load");
        return unknown(id, title, why).into();
    };
    let (ours, theirs) = (i128::from(*ours), i128::from(*after) - i128::from(*before));
    if theirs < 0 {
        return unknown(id, title, format!("the server was started anew on the way, and {counter} with it"))
            .into();
    }
    if evidence.figures.errors_by_code.contains_key(&LOST_CONNECTION) {
        let why = format!(
            "connections were lost on the way: {ours} {} were answered, and {counter} grew by {theirs}",
            statement_of(counter)
        );
        return unknown(id, title, why).into();
    }
    let what = statement_of(counter);
    let text = format!("the load executed {ours} {what}, warm-up included; {counter} grew by {theirs}");
    let finding = Finding { id, title, holds: Some(ours == theirs), text };
    Checked::by(finding, ours as f64, 0, "statements counted by load and server alike")
}

/// `Com_insert` → `INSERT statements`.
fn statement_of(counter: &str) -> String {
    format!("{} statements", counter.strip_prefix("Com_").unwrap_or(counter).to_uppercase())
}

/// In a closed loop every thread always has one transaction: TPS × average latency = threads.
///
/// Transactions that span an end of the interval are cut there, so that the identity is exact but for
/// the time between two transactions of a thread.
pub fn closed_loop(analysis: &RunAnalysis, in_flight: Option<&InFlight>) -> Finding {
    let (id, title) = ("closed_loop", "TPS × average latency = threads");
    let Some(figures) = &analysis.figures else { return unknown(id, title, NO_HEADLINE) };
    let Some(latency) = figures.latency else { return unknown(id, title, "nothing completed") };
    // Of bulk_insert one in thousands sends what the others have put into a buffer.
    if latency.p50_ms < SHORTEST_MS {
        let why = format!(
            "half of the transactions took at most {:.2} µs each; the time that a load thread spends between two of them is \
             no longer small beside that, and the product cannot reach the number of threads",
            latency.p50_ms * 1000.0
        );
        return unknown(id, title, why);
    }
    let Some(InFlight { unfinished, carried_in_ns }) = in_flight else {
        let why = match analysis.instances {
            1 => "the load did not live to say what was in flight at the ends",
            _ => "what was in flight at the ends of these seconds is not known of every instance",
        };
        return unknown(id, title, why);
    };
    let threads = f64::from(analysis.threads) * f64::from(analysis.instances);
    let product = figures.tps * latency.avg_ms / 1000.0;
    let window_ns = figures.seconds * 1e9;
    let cut_at_end = unfinished.iter().map(|own| (own.age_ns as f64).min(window_ns) * own.count as f64);
    let in_flight_ns: f64 = cut_at_end.sum();
    let cut = product + (in_flight_ns - carried_in_ns) / window_ns;
    let difference = cut / threads - 1.0;
    // Rounded first, so that nothing reads as minus nothing.
    let percent = (difference * 10_000.0).round() / 100.0 + 0.0;
    let allowed = LOOP_TOLERANCE.max(BETWEEN_MS / latency.avg_ms);
    let holds = difference.abs() <= allowed;
    let mut text = format!(
        "{:.2} × {} ms = {product:.2}; with transactions cut at the interval's ends {cut:.2} for {threads:.0} {} \
         ({percent:+.2} %",
        figures.tps,
        short_ms(latency.avg_ms),
        if threads == 1.0 { "thread" } else { "threads" },
    );
    text += &match allowed > LOOP_TOLERANCE {
        true => {
            format!("; {:.0} µs between two transactions explain {:.2} %)", BETWEEN_MS * 1e3, allowed * 100.0)
        }
        false => ")".to_owned(),
    };
    text += match (holds, difference < 0.0) {
        (true, _) => "",
        (false, true) => {
            "; load threads spent the rest outside transactions: they were kept from running, or were connecting \
             anew, and the server could have done more"
        }
        (false, false) => {
            "; more time was counted than the threads had: figures of this run contradict each other"
        }
    };
    Finding { id, title, holds: Some(holds), text }
}

/// A latency with digits enough that short ones are more than zero.
fn short_ms(ms: f64) -> String {
    if ms < 1.0 { format!("{ms:.4}") } else { format!("{ms:.2}") }
}

/// Few transactions had to start again.
pub fn few_errors(evidence: &Evidence) -> Checked {
    let (id, title) = ("few_errors", "Few transactions restarted");
    let analysis = evidence.figures;
    if analysis.transactions == 0 {
        return unknown(id, title, "nothing completed").into();
    }
    let lost = analysis.errors_by_code.get(&LOST_CONNECTION).copied().unwrap_or(0);
    let restarts = analysis.errors.saturating_add(lost);
    let share = restarts as f64 / analysis.transactions as f64;
    let codes: Vec<String> = analysis
        .errors_by_code
        .iter()
        .map(|(code, n)| format!("{n} × {code} ({})", meaning(*code)))
        .collect();
    let text = match codes.is_empty() {
        true => format!("no SQL error in {} transactions", analysis.transactions),
        false => {
            format!("{} in {} transactions ({:.3} %)", codes.join(", "), analysis.transactions, share * 100.0)
        }
    };
    let text = match lost {
        0 => text,
        _ => format!(
            "{text}; while connections were lost nothing completed, and the averages contain that time"
        ),
    };
    let finding = Finding { id, title, holds: Some(share <= MOST_RESTARTS), text };
    Checked::by(finding, share * 100.0, 3, "% restarted")
}

fn meaning(code: u16) -> &'static str {
    match code {
        1213 => "deadlock",
        1205 => "lock-wait time-out",
        1020 => "record changed",
        1062 => "duplicate key",
        LOST_CONNECTION => "connection lost",
        _ => "other",
    }
}

/// Transactions in flight at the end would not change the tail.
pub fn in_flight_at_end(analysis: &RunAnalysis, in_flight: Option<&InFlight>) -> Finding {
    let (id, title) = ("in_flight_at_end", "Transactions in flight change nothing");
    let Some(figures) = &analysis.figures else { return unknown(id, title, NO_HEADLINE) };
    let (Some(in_flight), Some(latency)) = (in_flight, figures.latency) else {
        let why = match analysis.instances {
            1 => "nothing completed, or the load did not live to count what was in flight",
            _ => {
                "nothing completed, or what was in flight at the end of these seconds is not known of every instance"
            }
        };
        return unknown(id, title, why);
    };
    let Some(oldest_ms) = latency.oldest_in_flight_ms else {
        let text = "nothing was in flight when the interval ended".to_owned();
        return Finding { id, title, holds: Some(true), text };
    };
    let count = in_flight.unfinished.iter().fold(0, |sum: u64, own| sum.saturating_add(own.count));
    let with_in_flight_ms = latency.p99_with_in_flight_ms.unwrap_or(latency.p99_ms);
    let raised = with_in_flight_ms / latency.p99_ms - 1.0;
    let text = format!(
        "{}: {count}, the oldest for {oldest_ms:.2} ms: the true peak is at least {:.2} ms, the true 99th \
         percentile at least {:.2} ms",
        if analysis.load.open_loop.is_some() { "in flight, or due and not begun" } else { "in flight" },
        latency.peak_ms.max(oldest_ms),
        latency.p99_ms.max(with_in_flight_ms)
    );
    Finding { id, title, holds: Some(oldest_ms <= latency.peak_ms && raised <= RAISED), text }
}
