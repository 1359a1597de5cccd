//! What every readable format says, in words and formatted figures.

use serde::Serialize;

use super::fleet;
use super::imported;
use super::load;
use super::number::{self, MISSING, or_missing};
use crate::analysis::{Figures, Finding, LatencySummary, Outcome, ResultAnalysis, RunAnalysis, Source};
use crate::plan::{Plan, RunPlan};
use crate::stats::device::DeviceRates;

/// One row of the headline table: a run, or a result that has none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct HeadlineRow {
    pub device: String,
    pub instances: String,
    pub threads: String,
    /// Transactions that were to arrive in a second at each instance; empty in a closed loop.
    pub rate: String,
    pub tps: String,
    pub avg_ms: String,
    pub p95_ms: String,
    pub p99_ms: String,
    /// The 99th percentile; where a log has another one instead, that one with its name.
    pub tail_ms: String,
    pub peak_ms: String,
    pub errors: String,
    /// A stretch of the run in the row above, in place of its figures or beside them.
    pub is_segment: bool,
    /// `complete`, or another outcome in capitals.
    pub outcome: String,
    /// The outcome's name, for a style.
    pub state: &'static str,
    /// How many findings hold and do not, such as `7 yes, 1 NO`.
    pub findings: String,
    /// Whether a finding does not hold.
    pub alarming: bool,
}

/// The headline table of these results, a row a run.
pub(super) fn headline(results: &[ResultAnalysis]) -> Vec<HeadlineRow> {
    let named = workloads_differ(results);
    let rows = results.iter().flat_map(|result| {
        let device = device_label(result);
        let of_run = |run: &RunAnalysis| {
            let mut label = imported::run_label(result, run).unwrap_or_else(|| device.clone());
            if named && !label.ends_with(&run.workload) {
                label += &format!(", {}", run.workload);
            }
            std::iter::once(run_row(&label, run)).chain(fleet::segment_rows(run))
        };
        let runs = result.runs.iter().flat_map(of_run).collect::<Vec<_>>();
        if runs.is_empty() {
            return vec![row_without_run(&device, result, result.planned_runs().first())];
        }
        let begun = |number: &usize| result.runs.iter().any(|run| run.number == *number);
        let needed = result.ramp.as_ref().and_then(|ramp| ramp.last_run).unwrap_or(usize::MAX);
        let missing = (0..result.planned_runs().len()).filter(|number| !begun(number) && *number <= needed);
        let missing = missing.map(|number| {
            let row = row_without_run(&device, result, result.planned_runs().get(number));
            HeadlineRow { outcome: "NOT RUN".to_owned(), state: "failed", ..row }
        });
        runs.into_iter().chain(missing).collect()
    });
    rows.collect()
}

fn run_row(device: &str, run: &RunAnalysis) -> HeadlineRow {
    let figures = run.headline_figures();
    let latency = |value| or_missing(value, latency_format(run));
    let named = run.imported.as_ref().and_then(imported::other_percentile);
    HeadlineRow {
        device: device.to_owned(),
        instances: fleet::instances_label(run),
        threads: run.threads.to_string(),
        rate: rate_label(run.rate_per_s, run.instances),
        tps: or_missing(figures.tps, |tps| number::decimals(tps, 2)),
        avg_ms: latency(figures.avg_ms),
        p95_ms: latency(figures.p95_ms),
        p99_ms: latency(figures.p99_ms),
        tail_ms: named.unwrap_or_else(|| latency(figures.p99_ms)),
        peak_ms: latency(figures.peak_ms),
        errors: count_or_missing(figures.errors),
        is_segment: false,
        outcome: match &run.imported {
            None => fleet::outcome_label(run),
            Some(_) => imported::outcome_label(run),
        },
        state: run.outcome.name(),
        findings: match &run.imported {
            None => tally(&run.findings),
            Some(_) => imported::TALLY.to_owned(),
        },
        alarming: run.findings.iter().any(|finding| finding.holds == Some(false)),
    }
}

/// The rate of an open loop at all instances together, as it stands beside their TPS; nothing in a closed one.
pub(super) fn rate_label(rate_per_s: Option<u32>, instances: u32) -> String {
    rate_per_s.map(|rate| number::count(u64::from(rate) * u64::from(instances))).unwrap_or_default()
}

/// Whether runs of these results differ in their workload, so that a row must name its own.
pub(super) fn workloads_differ(results: &[ResultAnalysis]) -> bool {
    let mut workloads = results.iter().flat_map(|result| &result.runs).map(|run| &run.workload);
    let first = workloads.next();
    workloads.any(|workload| Some(workload) != first)
}

/// How latencies of a run are written.
pub(super) fn latency_format(run: &RunAnalysis) -> fn(f64) -> String {
    if run.imported.is_some() { imported::ms } else { number::ms }
}

/// A latency as text, or that there is none.
pub(super) fn latency_ms(latency: Option<&LatencySummary>, value: fn(&LatencySummary) -> f64) -> String {
    latency.map_or_else(|| MISSING.to_owned(), |latency| number::ms(value(latency)))
}

fn row_without_run(device: &str, result: &ResultAnalysis, planned: Option<&RunPlan>) -> HeadlineRow {
    let missing = || MISSING.to_owned();
    HeadlineRow {
        device: device.to_owned(),
        instances: planned.map_or_else(missing, |run| run.instances.to_string()),
        threads: planned.map_or_else(missing, |run| run.threads.to_string()),
        rate: rate_label(planned.and_then(|run| run.rate_per_s), planned.map_or(1, |run| run.instances)),
        tps: missing(),
        avg_ms: missing(),
        p95_ms: missing(),
        p99_ms: missing(),
        tail_ms: missing(),
        peak_ms: missing(),
        errors: missing(),
        is_segment: false,
        outcome: outcome_word(result.outcome),
        state: result.outcome.name(),
        findings: missing(),
        alarming: false,
    }
}

/// The device as its owner calls it, or the name of the hardware profile or of the imported result.
pub(super) fn device_label(result: &ResultAnalysis) -> String {
    let plan = match &result.source {
        Source::Measured(plan) => plan,
        Source::Imported(source) => return source.device.as_ref().unwrap_or(&source.name).clone(),
    };
    let model = plan.hardware.device.iter().find(|(label, _)| label.eq_ignore_ascii_case("model"));
    model.map_or_else(|| plan.hardware.name.clone(), |(_, text)| text.clone())
}

/// A count as text, or that it is unknown.
pub(super) fn count_or_missing(count: Option<u64>) -> String {
    count.map_or_else(|| MISSING.to_owned(), number::count)
}

/// `complete`; what is not complete is shouted.
pub(super) fn outcome_word(outcome: Outcome) -> String {
    if outcome == Outcome::Complete { outcome.name().to_owned() } else { outcome.name().to_uppercase() }
}

/// Why a result or run is not complete; it is never silent about that.
pub(super) fn reason(reason: Option<&String>) -> &str {
    reason.map_or("no reason was recorded", String::as_str)
}

/// The mark of a finding.
pub(super) fn mark(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "?",
    }
}

fn tally(findings: &[Finding]) -> String {
    let parts = [Some(true), Some(false), None].into_iter().filter_map(|holds| {
        let count = findings.iter().filter(|finding| finding.holds == holds).count();
        (count > 0).then(|| format!("{count} {}", mark(holds)))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// iostat's columns and a run's means under them.
pub(super) fn device_columns(rates: &DeviceRates) -> Vec<(&'static str, String)> {
    let (one, two) = (|value: f64| number::decimals(value, 1), |value: f64| number::decimals(value, 2));
    vec![
        ("r/s", one(rates.reads_per_s)),
        ("rkB/s", number::decimals(rates.read_kb_per_s, 0)),
        ("r_await", two(rates.read_await_ms)),
        ("rareq-sz", two(rates.read_size_kb)),
        ("w/s", one(rates.writes_per_s)),
        ("wkB/s", number::decimals(rates.write_kb_per_s, 0)),
        ("w_await", two(rates.write_await_ms)),
        ("wareq-sz", two(rates.write_size_kb)),
        ("f/s", or_missing(rates.flushes_per_s, one)),
        ("f_await", or_missing(rates.flush_await_ms, two)),
        ("aqu-sz", two(rates.queue_size)),
        ("%util", one(rates.util_pct)),
    ]
}

/// What is known beyond the headline when transactions were still in flight at the end and were older
/// than the slowest that completed.
pub(super) fn in_flight(run: &RunAnalysis) -> Option<String> {
    let latency = run.figures.as_ref()?.latency.as_ref()?;
    let oldest = latency.oldest_in_flight_ms.filter(|oldest| *oldest > latency.peak_ms)?;
    let state = if run.load.open_loop.is_some() { "in flight, or due and not begun," } else { "in flight" };
    Some(format!(
        "A transaction {state} at the end was {} ms old: the true peak is at least that, and the 99th percentile \
         up to {} ms.",
        number::ms(oldest),
        number::ms(latency.p99_with_in_flight_ms.unwrap_or(latency.p99_ms))
    ))
}

/// SQL errors by code, such as `6 × 1213, 1 × 1205`; `None` when there were none.
pub(super) fn errors_by_code(run: &RunAnalysis) -> Option<String> {
    let mut codes: Vec<(&u16, &u64)> = run.figures.as_ref()?.errors_by_code.iter().collect();
    codes.sort_by(|a, b| b.1.cmp(a.1));
    let texts: Vec<String> =
        codes.iter().map(|(code, n)| format!("{} × {code}", number::count(**n))).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Text and figure of each part of the I/O anatomy that is known, a transaction unless it says otherwise.
pub(super) fn anatomy(figures: &Figures) -> Vec<(&'static str, String)> {
    let io = &figures.anatomy;
    let device_size =
        |size: fn(&DeviceRates) -> f64| figures.device.as_ref().map(|rates| size(rates) * 1024.0);
    let rows = [
        ("Reads among device I/O, by count", io.read_share.map(number::percent)),
        ("Reads among device I/O, by bytes", io.read_share_bytes.map(number::percent)),
        ("Device reads", io.device_reads_per_transaction.map(number::mean)),
        ("Bytes read", io.device_read_bytes_per_transaction.map(number::bytes)),
        ("Mean size of a read", device_size(|d| d.read_size_kb).map(number::bytes)),
        ("Device writes", io.device_writes_per_transaction.map(number::mean)),
        ("Bytes written", io.device_write_bytes_per_transaction.map(number::bytes)),
        ("Mean size of a write", device_size(|d| d.write_size_kb).map(number::bytes)),
        ("Buffer-pool misses", io.misses_per_transaction.map(number::mean)),
        (
            "InnoDB page requests answered by the pool, inner nodes included",
            io.pool_hit_ratio.map(number::percent),
        ),
        ("Syncs by InnoDB", io.syncs_per_transaction.map(number::mean)),
        ("Redo log", io.redo_bytes_per_transaction.map(number::bytes)),
        ("Pages flushed", io.pages_flushed_per_transaction.map(number::mean)),
        ("Doublewrite pages", io.doublewrite_pages_per_transaction.map(number::mean)),
        ("Row-lock waits", io.row_lock_waits_per_transaction.map(number::mean)),
    ];
    rows.into_iter().map(|(label, figure)| (label, figure.unwrap_or_else(|| MISSING.to_owned()))).collect()
}

/// What was planned, what the arithmetic predicts, and what it uses.
pub(super) fn plan_rows(plan: &Plan) -> Vec<(&'static str, String)> {
    let (contents, estimate) = (&plan.dataset.contents, &plan.estimate);
    let bytes = |value: u64| number::bytes(value as f64);
    let workload = &plan.workload;
    let mut rows = vec![
        ("Profile", format!("{} ({})", plan.profile.name, plan.profile.file)),
        ("Hardware", format!("{} ({})", plan.hardware.name, plan.hardware.file)),
        ("Directory under test", plan.hardware.target.clone()),
        (
            "Workload",
            format!(
                "{} on {} × {} ids, {} keys",
                workload.kind.name(),
                workload.tables,
                number::count(workload.table_size),
                workload.keys.name()
            ),
        ),
        (
            "Dataset",
            format!(
                "{} tables × {} rows = {} rows × {} B = {} (predicted)",
                contents.tables,
                number::count(contents.rows),
                number::count(estimate.rows),
                number::decimals(estimate.bytes_per_row, 1),
                bytes(estimate.dataset_bytes)
            ),
        ),
        (
            "Buffer pool",
            format!(
                "{} ({}): {} of {} leaf pages",
                bytes(plan.server.buffer_pool_bytes),
                plan.server.buffer_pool_origin,
                number::count(estimate.pool_pages),
                number::count(estimate.clustered_pages + estimate.index_pages)
            ),
        ),
        (
            "Predicted misses",
            format!(
                "{} leaf-page visits a transaction × (1 − hit ratio {}) = {} misses a transaction",
                number::decimals(estimate.visits_per_transaction, 1),
                number::percent(estimate.hit_ratio),
                number::decimals(estimate.misses_per_transaction, 2)
            ),
        ),
        ("Space at the end of the load", bytes(estimate.space_bytes)),
        ("Written while loading", bytes(estimate.load_write_bytes)),
    ];
    rows.extend(plan.runs.iter().map(|run| ("Run", planned_run(run))));
    rows.push(("Load as sysbench does it", plan.load.sysbench_prepare.clone()));
    rows.extend(plan.runs.iter().map(|run| ("Run as sysbench does it", run.sysbench_run.clone())));
    rows.extend(fleet::plan_rows(plan));
    rows
}

/// What a run was to be.
fn planned_run(run: &RunPlan) -> String {
    let bounds = [
        run.duration_s.map(|seconds| format!("{} s", number::count(seconds))),
        run.events.map(|events| format!("{} transactions of each instance", number::count(events))),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    let each = if run.instances > 1 { " each" } else { "" };
    let rate = run
        .rate_per_s
        .map(|rate| format!("{} transactions a second{each}, ", number::count(u64::from(rate))));
    format!(
        "{} × {}, {}{} s of warm-up, then {} measured, seed {}",
        run.instances,
        number::threads(run.threads),
        rate.unwrap_or_default(),
        number::count(run.warmup_s),
        bounds.join(" or "),
        run.seed
    )
}

/// A duration with digits enough that a count divided by it gives the rate.
fn seconds_text(seconds: f64) -> String {
    number::decimals(seconds, if seconds < 10.0 { 4 } else { 1 })
}

/// How many transactions a run measured, over what.
pub(super) fn volume(run: &RunAnalysis) -> String {
    let load = format!("{}, {}", run.workload, load::label(run));
    if run.figures.is_none() && run.imported.is_none() {
        return format!("{load}: no figures of all instances together");
    }
    let figures = run.headline_figures();
    if figures.transactions.is_none() {
        let seconds = or_missing(figures.seconds, |seconds| number::decimals(seconds, 0));
        return format!("{load}: {seconds} s, the number of transactions is unknown");
    }
    format!(
        "{load}: {} transactions in {} s ({} reads, {} writes, {} other statements)",
        count_or_missing(figures.transactions),
        or_missing(figures.seconds, seconds_text),
        count_or_missing(figures.reads),
        count_or_missing(figures.writes),
        count_or_missing(figures.other)
    )
}

#[cfg(test)]
mod tests;
