//! What the load threads did, in words and formatted figures.

use super::document::count_or_missing;
use super::grid::Grid;
use super::number::{self, MISSING, or_missing};
use crate::analysis::{LoadAnalysis, Outcome, RampStep, ResultAnalysis, RunAnalysis, StatementLatency};

/// Kinds of statements that a terminal shows.
const MOST_SHOWN: usize = 6;

/// `1 × 32 threads`, with the rate of an open loop.
pub(super) fn label(run: &RunAnalysis) -> String {
    let each = if run.is_fleet() { " each" } else { "" };
    let rate = run.rate_per_s.map(|rate| format!(", {} a second{each}", number::count(u64::from(rate))));
    format!("{} × {}{}", run.instances, number::threads(run.threads), rate.unwrap_or_default())
}

/// What a run counted, with its rate over the interval, as sysbench does: label, count, per second.
fn counts(run: &RunAnalysis) -> Vec<(&'static str, Option<u64>, Option<f64>)> {
    let figures = run.headline_figures();
    let queries = figures.queries();
    let rows = [
        ("Transactions", figures.transactions),
        ("Queries", queries),
        ("Reads", figures.reads),
        ("Writes", figures.writes),
        ("Other", figures.other),
        ("Ignored errors", figures.errors),
        ("Reconnects", figures.reconnects),
    ];
    let seconds = figures.seconds.filter(|seconds| *seconds > 0.0);
    let per_second = |count: Option<u64>| Some(count? as f64 / seconds?);
    // A log's own rate is the one of the headline; a log need not have every count.
    let told = figures.tps.filter(|_| run.imported.is_some());
    let rate = |label: &str, count| told.filter(|_| label == "Transactions").or_else(|| per_second(count));
    let rows = rows.into_iter().filter(|(_, count)| run.imported.is_none() || count.is_some());
    rows.map(|(label, count)| (label, count, rate(label, count))).collect()
}

/// `queries`, or `query` when there was one.
fn noun(label: &str, count: Option<u64>) -> String {
    let plural = label.to_lowercase();
    match (count, plural.strip_suffix("ies")) {
        (Some(1), Some(stem)) => format!("{stem}y"),
        (Some(1), None) => plural.trim_end_matches('s').to_owned(),
        _ => plural,
    }
}

/// The same in a sentence.
pub(super) fn counts_text(run: &RunAnalysis) -> Option<String> {
    let told = |(label, count, rate): (&str, Option<u64>, Option<f64>)| {
        format!("{} {} ({} per s)", count_or_missing(count), noun(label, count), rate_text(rate))
    };
    let all = counts(run).into_iter().filter(|(label, ..)| !["Reads", "Writes", "Other"].contains(label));
    run.headline_figures().transactions?;
    let mut text = format!("As sysbench counts: {}", all.map(told).collect::<Vec<_>>().join(", "));
    if let Some(rows) = rows_added(&run.load) {
        let more = if run.load.rows_added.is_some_and(|added| added < 0) { "fewer" } else { "more" };
        text += &format!("; the dataset has {rows} rows {more} than before, warm-up included");
    }
    Some(text)
}

/// The same as a table; `None` without figures.
pub(super) fn counts_grid(run: &RunAnalysis) -> Option<Grid> {
    run.headline_figures().transactions?;
    let row = |(label, count, rate): (&str, Option<u64>, Option<f64>)| {
        vec![label.to_owned(), count_or_missing(count), rate_text(rate)]
    };
    let mut rows: Vec<Vec<String>> = counts(run).into_iter().map(row).collect();
    let more = if run.load.rows_added.is_some_and(|added| added < 0) { "removed" } else { "added" };
    rows.extend(
        rows_added(&run.load)
            .map(|rows| vec![format!("Rows {more}, warm-up included"), rows, MISSING.to_owned()]),
    );
    Some(Grid {
        title: "Counts, as sysbench makes them".to_owned(),
        hint: "Other: BEGIN, COMMIT, and writes that found no row.",
        headers: vec!["", "Number", "Per second"],
        rows,
        labels: 1,
    })
}

fn rate_text(rate: Option<f64>) -> String {
    or_missing(rate, |rate| number::decimals(rate, 2))
}

/// Growth of the dataset, when there was any.
fn rows_added(load: &LoadAnalysis) -> Option<String> {
    load.rows_added.filter(|rows| *rows != 0).map(|rows| number::count(rows.unsigned_abs()))
}

/// How evenly threads were served, as sysbench prints it.
pub(super) fn fairness(run: &RunAnalysis) -> Option<String> {
    let told = run.load.threads?;
    let waiting = if run.load.open_loop.is_some() { " with waiting" } else { "" };
    Some(format!(
        "Threads fairness (avg/stddev): events {}/{}, execution time{waiting} {}/{} s",
        number::decimals(told.events_avg, 2),
        number::decimals(told.events_stddev, 2),
        number::decimals(told.busy_avg_s, 4),
        number::decimals(told.busy_stddev_s, 2)
    ))
}

/// What an open loop's figures mean, and what was left when it ended.
pub(super) fn open_loop(run: &RunAnalysis) -> Option<String> {
    let told = run.load.open_loop?;
    let left = match (told.unserved, told.oldest_wait_ms) {
        (None, _) => "What was due and not begun at the end is not known".to_owned(),
        (Some(0), _) | (Some(_), None) => "None was due and not begun at the end".to_owned(),
        (Some(unserved), Some(wait_ms)) => format!(
            "{} were due and not begun at the end, the oldest for {} ms",
            number::count(unserved),
            number::ms(wait_ms)
        ),
    };
    let queue = told
        .longest_queue
        .map(|longest| format!("; the longest queue at the end of a second was {}", number::count(longest)));
    Some(format!(
        "Open loop: {} transactions a second were to arrive. Latency counts from the moment at which each was due, so \
         that waiting is part of it. {left}{}.",
        number::decimals(told.asked_per_s, 0),
        queue.unwrap_or_default()
    ))
}

/// Every kind of statement, in the order of a transaction; `None` unless there are several.
pub(super) fn statements(run: &RunAnalysis) -> Option<Grid> {
    let all = &run.load.statements;
    (all.len() > 1).then(|| Grid {
        title: "Statements".to_owned(),
        hint: "Those that succeeded, over all that was measured, within 1 %. Time: share of the time that they took; failed attempts, rollbacks and outages are not in it.",
        headers: vec!["Statement", "Count", "Avg ms", "p99 ms", "Max ms", "Time"],
        rows: all.iter().map(statement_row).collect(),
        labels: 1,
    })
}

/// What latencies stand for where a transaction is no more than one statement.
pub(super) fn one_statement(run: &RunAnalysis) -> Option<&'static str> {
    let statements = &run.load.statements;
    if run.imported.is_some() || run.figures.is_none() || statements.len() > 1 {
        return None;
    }
    if run.workload == "bulk_insert" {
        return Some(
            "bulk_insert collects rows: most transactions send nothing, and one in many sends an INSERT of all. \
             Percentiles are therefore mostly of collecting.",
        );
    }
    let figures = run.headline_figures();
    let only =
        statements.len() == 1 || figures.queries().is_some_and(|all| Some(all) == figures.transactions);
    only.then_some("A transaction is one statement: its latency is the transaction's.")
}

/// Those that took most of the time, the longest first.
pub(super) fn longest_statements(run: &RunAnalysis) -> Option<Grid> {
    let mut all = run.load.statements.clone();
    all.sort_by(|a, b| b.time_share.total_cmp(&a.time_share));
    all.truncate(MOST_SHOWN);
    let rows = all.iter().map(statement_row).collect();
    Some(Grid { title: "Statements that took most of the time".to_owned(), rows, ..statements(run)? })
}

fn statement_row(own: &StatementLatency) -> Vec<String> {
    vec![
        own.kind.name().to_owned(),
        number::count(own.count),
        number::ms(own.avg_ms),
        number::ms(own.p99_ms),
        number::ms(own.max_ms),
        number::percent(own.time_share),
    ]
}

/// In what state each run of several found the servers; `None` when nobody waited for that.
pub(super) fn settled(result: &ResultAnalysis) -> Option<Grid> {
    let goal = result.plan().map(|plan| plan.load.settle).map(|goal| {
        format!(
            " (goal: at most {} dirty pages and {} undo logs, waited for up to {} s)",
            number::count(goal.dirty_pages),
            number::count(goal.history),
            number::count(goal.patience_s)
        )
    });
    let mut rows = Vec::new();
    let loaded = result.dataset.as_ref().filter(|dataset| !dataset.reused);
    let loaded = loaded.map(|dataset| dataset.file_bytes as f64);
    let mut before = std::collections::BTreeMap::new();
    for run in &result.runs {
        for (place, own) in run.load.settled.iter().enumerate() {
            let settled = own.settled;
            let bytes = settled.file_bytes as f64;
            let grown = before.insert(&own.host, bytes).or(loaded).map(|before| bytes - before);
            let label = if place == 0 { label(run) } else { String::new() };
            rows.push(vec![
                if place == 0 { (run.number + 1).to_string() } else { String::new() },
                label,
                own.host.clone(),
                number::decimals(settled.waited_ms as f64 / 1e3, 1),
                number::count(settled.dirty_pages),
                count_or_missing(settled.history),
                number::bytes(bytes),
                or_missing(grown, number::bytes),
            ]);
        }
    }
    (!rows.is_empty()).then(|| Grid {
        title: format!("Before each run{}", goal.unwrap_or_default()),
        hint: "The server wrote its dirty pages and purged its undo logs first. Growth: of the dataset's files since the run before, or since loading; of a dataset that was there before, the first run knows none.",
        headers: vec!["Run", "Load", "Instance", "Waited s", "Dirty", "Undo logs", "Files", "Growth"],
        rows,
        labels: 3,
    })
}

/// The verdict of a ramp.
pub(super) fn ramp(result: &ResultAnalysis) -> Option<String> {
    let ramp = result.ramp.as_ref()?;
    let bound = format!("a 99th percentile of at most {} ms", number::ms(ramp.bound_ms));
    let each =
        if result.planned_runs().iter().any(|run| run.instances > 1) { " at each instance" } else { "" };
    let rate = |step: &RampStep| format!("{} a second{each}", number::count(u64::from(step.rate_per_s)));
    let unfinished = result.runs.iter().any(|run| run.outcome != Outcome::Complete)
        || (ramp.last_run.is_none() && result.runs.len() < result.planned_runs().len());
    let cut_short = if unfinished { "The ramp was cut short. " } else { "" };
    let mut text = cut_short.to_owned();
    text += &match (&ramp.held, &ramp.failed) {
        (Some(held), Some(failed)) => format!(
            "Highest rate that held {bound}: {} ({}); {} did not ({}).",
            rate(held),
            step_p99(held),
            rate(failed),
            step_p99(failed)
        ),
        (Some(held), None) => format!(
            "Every rate that was measured held {bound}, up to {} ({}): the highest may lie above.",
            rate(held),
            step_p99(held)
        ),
        (None, Some(failed)) => {
            format!("No rate held {bound}: the lowest, {}, did not ({}).", rate(failed), step_p99(failed))
        }
        (None, None) => format!("No rate was measured to its end, so none is known to hold {bound}."),
    };
    if !ramp.failed_below.is_empty() {
        let below: Vec<String> =
            ramp.failed_below.iter().map(|step| format!("{} ({})", rate(step), step_p99(step))).collect();
        text += &format!(" Yet of the lower rates these did not: {}.", below.join(", "));
    }
    let left_out =
        ramp.last_run.map_or(0, |last| result.planned_runs().len().saturating_sub(last.saturating_add(1)));
    if left_out > 0 {
        text += &format!(" Higher rates of the plan ({left_out}) were not needed.");
    }
    Some(text)
}

fn step_p99(step: &RampStep) -> String {
    let p99 =
        step.p99_ms.map_or_else(|| "nothing completed".to_owned(), |ms| format!("p99 {} ms", number::ms(ms)));
    if step.saturated { format!("{p99}, saturated") } else { p99 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_ramp_that_was_cut_short_says_so() {
        let mut result = sample::ramp();
        assert!(ramp(&result).unwrap().starts_with("Highest rate that held"));
        result.runs.truncate(1);
        let verdict = result.ramp.as_mut().unwrap();
        (verdict.failed, verdict.last_run) = (None, None);
        let text = ramp(&result).unwrap();
        assert!(text.starts_with("The ramp was cut short. Every rate that was measured held"), "{text}");
    }

    #[test]
    fn rows_that_went_are_fewer_and_not_added_with_a_minus() {
        let mut run = sample::complete().runs.remove(0);
        run.load.rows_added = Some(-10_000);
        let text = counts_text(&run).unwrap();
        assert!(text.ends_with("the dataset has 10,000 rows fewer than before, warm-up included"), "{text}");
        let last = counts_grid(&run).unwrap().rows.pop().unwrap();
        assert_eq!(last[..2], ["Rows removed, warm-up included", "10,000"]);
    }

    #[test]
    fn one_of_a_kind_is_told_in_the_singular() {
        let nouns =
            [("Queries", Some(1)), ("Transactions", Some(1)), ("Queries", Some(2)), ("Reconnects", None)];
        assert_eq!(
            nouns.map(|(label, count)| noun(label, count)),
            ["query", "transaction", "queries", "reconnects"]
        );
    }

    #[test]
    fn a_transaction_of_one_statement_says_so() {
        let mut run = sample::complete().runs.remove(0);
        assert_eq!(one_statement(&run), None, "several kinds have a table");
        run.load.statements.truncate(1);
        assert!(one_statement(&run).unwrap().contains("one statement"));
        // A closed loop times the transaction alone.
        run.load.statements.clear();
        assert_eq!(one_statement(&run), None, "its transactions are of several statements");
        let figures = run.figures.as_mut().unwrap();
        (figures.reads, figures.writes, figures.other) = (figures.transactions, 0, 0);
        assert!(one_statement(&run).unwrap().contains("one statement"));
        (run.load.statements, run.workload) = (Vec::new(), "bulk_insert".to_owned());
        assert!(one_statement(&run).unwrap().contains("send nothing"));
    }
}
