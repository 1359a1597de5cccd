//! Whether the numbers agree with each other and with the server's.

use super::{Evidence, unknown};
use crate::analysis::Finding;

/// A closed loop's identity holds within this.
const LOOP_TOLERANCE: f64 = 0.01;
/// More restarts than this for a transaction change what is measured.
const MOST_RESTARTS: f64 = 0.01;
/// Transactions in flight may raise the 99th percentile by this much before it is uncertain.
const RAISED: f64 = 0.01;

/// Our commits are the server's commits, from the first statement to the last.
pub fn commits_match(evidence: &Evidence) -> Finding {
    let (id, title) = ("commits_match", "Commits match the server's");
    let Some(ended) = &evidence.run.ended else {
        return unknown(id, title, "the load did not live to count its commits");
    };
    let Some((before, after)) = ended.com_commit else {
        return unknown(id, title, "the server could not be asked for Com_commit at both ends of the load");
    };
    let (ours, theirs) = (i128::from(ended.commits), i128::from(after) - i128::from(before));
    let text = format!("the load committed {ours} times, warm-up included; Com_commit grew by {theirs}");
    Finding { id, title, holds: Some(ours == theirs), text }
}

/// In a closed loop every thread always has one transaction: TPS × average latency = threads.
///
/// Transactions that span an end of the interval are cut there, so that the identity is exact but for
/// the time between two transactions of a thread.
pub fn closed_loop(evidence: &Evidence) -> Finding {
    let (id, title) = ("closed_loop", "TPS × average latency = threads");
    let analysis = evidence.analysis;
    let Some(latency) = analysis.latency else { return unknown(id, title, "nothing completed") };
    let Some(ended) = &evidence.run.ended else {
        return unknown(id, title, "the load did not live to say what was in flight at the ends");
    };
    let threads = f64::from(analysis.threads) * f64::from(analysis.instances);
    let product = analysis.tps * latency.avg_ms / 1000.0;
    let window_ns = analysis.seconds * 1e9;
    let in_flight_ns: f64 = ended.in_flight_ns.iter().map(|&age_ns| (age_ns as f64).min(window_ns)).sum();
    let cut = product + (in_flight_ns - ended.carried_in_ns as f64) / window_ns;
    let difference = cut / threads - 1.0;
    // Rounded first, so that nothing reads as minus nothing.
    let percent = (difference * 10_000.0).round() / 100.0 + 0.0;
    let text = format!(
        "{:.2} × {:.2} ms = {product:.2}; with transactions cut at the interval's ends {cut:.2} for {threads:.0} \
         threads ({:+.2} %)",
        analysis.tps, latency.avg_ms, percent
    );
    Finding { id, title, holds: Some(difference.abs() <= LOOP_TOLERANCE), text }
}

/// Few transactions had to start again.
pub fn few_errors(evidence: &Evidence) -> Finding {
    let (id, title) = ("few_errors", "Few transactions restarted");
    let analysis = evidence.analysis;
    if analysis.transactions == 0 {
        return unknown(id, title, "nothing completed");
    }
    let share = analysis.errors as f64 / analysis.transactions as f64;
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
    Finding { id, title, holds: Some(share <= MOST_RESTARTS), text }
}

fn meaning(code: u16) -> &'static str {
    match code {
        1213 => "deadlock",
        1205 => "lock-wait time-out",
        1020 => "record changed",
        _ => "other",
    }
}

/// Transactions in flight at the end would not change the tail.
pub fn in_flight_at_end(evidence: &Evidence) -> Finding {
    let (id, title) = ("in_flight_at_end", "Transactions in flight change nothing");
    let (Some(ended), Some(latency)) = (&evidence.run.ended, evidence.analysis.latency) else {
        return unknown(id, title, "nothing completed, or the load did not live to count what was in flight");
    };
    let Some(oldest_ms) = latency.oldest_in_flight_ms else {
        let text = "nothing was in flight when the interval ended".to_owned();
        return Finding { id, title, holds: Some(true), text };
    };
    let raised = latency.p99_with_in_flight_ms / latency.p99_ms - 1.0;
    let text = format!(
        "in flight: {}, the oldest for {oldest_ms:.2} ms: the true peak is at least {:.2} ms, the true 99th \
         percentile at least {:.2} ms",
        ended.in_flight_ns.len(),
        latency.peak_ms.max(oldest_ms),
        latency.p99_ms.max(latency.p99_with_in_flight_ms)
    );
    Finding { id, title, holds: Some(oldest_ms <= latency.peak_ms && raised <= RAISED), text }
}
