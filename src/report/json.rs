//! The JSON report. Its shape is a promise: a change that breaks readers raises [`SCHEMA`].

use std::collections::BTreeMap;

use serde::Serialize;

use super::ReportError;
use crate::analysis::{
    CpuShares, DatasetAnalysis, Fairness, Finding, HeadlineFigures, ImportedRun, ImportedSource,
    InstanceAnalysis, IoAnatomy, LoadAnalysis, ObserverAnalysis, OthersPrint, Outcome, RampAnalysis,
    ResultAnalysis, RunAnalysis, SecondPoint, SegmentAnalysis, Source, WearAnalysis,
};
use crate::plan::Plan;
use crate::stats::device::DeviceRates;

/// Version of the shape.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    drivestone: &'static str,
    results: Vec<ResultEntry<'a>>,
}

#[derive(Serialize)]
struct ResultEntry<'a> {
    path: &'a str,
    started: Option<&'a str>,
    outcome: Outcome,
    reason: Option<&'a str>,
    notes: &'a [String],
    environment: Vec<Labelled<'a>>,
    dataset: Option<&'a DatasetAnalysis>,
    /// Null when the result was imported.
    plan: Option<&'a Plan>,
    /// Null when it was measured.
    imported: Option<&'a ImportedSource>,
    /// The verdict of a ramp; null when the runs were no steps of one.
    ramp: Option<&'a RampAnalysis>,
    runs: Vec<RunEntry<'a>>,
}

/// A pair whose order matters, which an object would lose.
#[derive(Serialize)]
struct Labelled<'a> {
    label: &'a str,
    text: &'a str,
}

/// One run. Its figures, `seconds` to `anatomy`, are those of all planned instances together; all are
/// null when they were never together for half of the planned time, latencies also when nothing
/// completed. An imported run has those that its log tells.
#[derive(Serialize)]
struct RunEntry<'a> {
    /// Its place in the plan, which is the order in which runs are made, from 1.
    number: usize,
    outcome: Outcome,
    reason: Option<&'a str>,
    workload: &'a str,
    threads: u32,
    rate_per_s: Option<u32>,
    instances: u32,
    instances_present: usize,
    seconds: Option<f64>,
    transactions: Option<u64>,
    tps: Option<f64>,
    avg_ms: Option<f64>,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    p999_ms: Option<f64>,
    peak_ms: Option<f64>,
    min_ms: Option<f64>,
    oldest_in_flight_ms: Option<f64>,
    p99_with_in_flight_ms: Option<f64>,
    errors: Option<u64>,
    errors_by_code: Option<&'a BTreeMap<u16, u64>>,
    reads: Option<u64>,
    writes: Option<u64>,
    other: Option<u64>,
    reconnects: Option<u64>,
    per_second: PerSecond,
    device_name: Option<&'a str>,
    device: Option<DeviceRates>,
    cpu: Option<CpuShares>,
    anatomy: Option<IoAnatomy>,
    segments: &'a [SegmentAnalysis],
    per_instance: &'a [InstanceAnalysis],
    fairness: Option<&'a Fairness>,
    others_print: Option<&'a OthersPrint>,
    observers: &'a [ObserverAnalysis],
    load: &'a LoadAnalysis,
    /// Drives and processors before and after; null when nobody asked them.
    wear: Option<&'a WearAnalysis>,
    findings: &'a [Finding],
    /// The result's plan with this run alone.
    plan: Option<Plan>,
    /// What a log tells beside these figures.
    imported: Option<ToldByLog<'a>>,
    percentiles: &'a [(f64, f64)],
    series: &'a [SecondPoint],
}

/// sysbench's counts over the length of the interval.
#[derive(Serialize)]
struct PerSecond {
    queries: Option<f64>,
    reads: Option<f64>,
    writes: Option<f64>,
    other: Option<f64>,
    errors: Option<f64>,
    reconnects: Option<f64>,
}

#[derive(Serialize)]
struct ToldByLog<'a> {
    percentile: Option<f64>,
    percentile_ms: Option<f64>,
    percentile_note: &'a str,
    /// The figures are means of interval lines.
    from_intervals: bool,
    log: Vec<Labelled<'a>>,
}

/// Everything that the analyses hold, on one line. A float that is not finite is null.
pub(super) fn render(results: &[ResultAnalysis]) -> Result<String, ReportError> {
    let results = results.iter().map(result_entry).collect();
    let report = Report { schema: SCHEMA, drivestone: env!("CARGO_PKG_VERSION"), results };
    let mut text = serde_json::to_string(&report)?;
    text.push('\n');
    Ok(text)
}

fn result_entry(result: &ResultAnalysis) -> ResultEntry<'_> {
    let environment = result.environment.iter().map(|(label, text)| Labelled { label, text });
    let runs = result.runs.iter().map(|run| run_entry(result, run));
    ResultEntry {
        path: &result.path,
        started: result.started.as_deref(),
        outcome: result.outcome,
        reason: result.reason.as_deref(),
        notes: &result.notes,
        environment: environment.collect(),
        dataset: result.dataset.as_ref(),
        plan: result.plan(),
        imported: match &result.source {
            Source::Measured(_) => None,
            Source::Imported(source) => Some(source),
        },
        ramp: result.ramp.as_ref(),
        runs: runs.collect(),
    }
}

fn run_entry<'a>(result: &'a ResultAnalysis, run: &'a RunAnalysis) -> RunEntry<'a> {
    let plan = result
        .plan()
        .map(|plan| Plan { runs: plan.runs.get(run.number).cloned().into_iter().collect(), ..plan.clone() });
    let figures = run.figures.as_ref();
    let latency = figures.and_then(|f| f.latency.as_ref());
    let headline = run.headline_figures();
    RunEntry {
        number: run.number + 1,
        outcome: run.outcome,
        reason: run.reason.as_deref(),
        workload: &run.workload,
        threads: run.threads,
        rate_per_s: run.rate_per_s,
        instances: run.instances,
        instances_present: run.instances_present,
        seconds: headline.seconds,
        transactions: headline.transactions,
        tps: headline.tps,
        avg_ms: headline.avg_ms,
        p50_ms: headline.p50_ms,
        p95_ms: headline.p95_ms,
        p99_ms: headline.p99_ms,
        p999_ms: headline.p999_ms,
        peak_ms: headline.peak_ms,
        min_ms: headline.min_ms,
        oldest_in_flight_ms: latency.and_then(|l| l.oldest_in_flight_ms),
        p99_with_in_flight_ms: latency.and_then(|l| l.p99_with_in_flight_ms),
        errors: headline.errors,
        errors_by_code: figures.map(|f| &f.errors_by_code),
        reads: headline.reads,
        writes: headline.writes,
        other: headline.other,
        reconnects: headline.reconnects,
        per_second: per_second(&headline),
        device_name: run.device_name.as_deref(),
        device: figures.and_then(|f| f.device),
        cpu: figures.and_then(|f| f.cpu),
        anatomy: figures.map(|f| f.anatomy),
        segments: &run.segments,
        per_instance: &run.per_instance,
        fairness: run.fairness.as_ref(),
        others_print: run.others_print.as_ref(),
        observers: &run.observers,
        load: &run.load,
        wear: run.wear.as_ref(),
        findings: &run.findings,
        plan,
        imported: run.imported.as_ref().map(told_by_log),
        percentiles: &run.percentiles,
        series: &run.series,
    }
}

fn per_second(headline: &HeadlineFigures) -> PerSecond {
    let seconds = headline.seconds.filter(|seconds| *seconds > 0.0);
    let rate = |count: Option<u64>| Some(count? as f64 / seconds?);
    let HeadlineFigures { reads, writes, other, errors, reconnects, .. } = *headline;
    PerSecond {
        queries: rate(headline.queries()),
        reads: rate(reads),
        writes: rate(writes),
        other: rate(other),
        errors: rate(errors),
        reconnects: rate(reconnects),
    }
}

fn told_by_log(imported: &ImportedRun) -> ToldByLog<'_> {
    ToldByLog {
        percentile: imported.percentile,
        percentile_ms: imported.percentile_ms,
        percentile_note: imported.percentile_note,
        from_intervals: imported.from_intervals,
        log: imported.facts.iter().map(|(label, text)| Labelled { label, text }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::sample;

    fn parsed(results: &[ResultAnalysis]) -> Value {
        serde_json::from_str(&render(results).unwrap()).unwrap()
    }

    #[test]
    fn golden_report() {
        let mut result = sample::complete();
        result.runs[0].series.truncate(1);
        result.runs[0].percentiles.truncate(2);
        insta::assert_snapshot!(serde_json::to_string_pretty(&parsed(&[result])).unwrap());
    }

    #[test]
    fn nothing_completed_is_null_and_not_zero() {
        let mut result = sample::complete();
        let run = &mut result.runs[0];
        let figures = run.figures.as_mut().unwrap();
        (figures.latency, figures.device, figures.tps) = (None, None, f64::NAN);
        run.series[3].tps = f64::INFINITY;
        let report = parsed(&[result]);
        let run = &report["results"][0]["runs"][0];
        for key in ["tps", "avg_ms", "p50_ms", "p95_ms", "p99_ms", "p999_ms", "peak_ms", "device"] {
            assert_eq!(run.get(key), Some(&Value::Null), "{key}");
        }
        assert_eq!(run["series"][3]["tps"], Value::Null);
    }

    #[test]
    fn an_imported_run_has_what_its_log_tells() {
        let report = parsed(&[sample::imported()]);
        let result = &report["results"][0];
        assert_eq!((&result["plan"], &result["started"]), (&Value::Null, &Value::Null));
        assert_eq!(result["imported"]["file"], "galera.log");
        let run = &result["runs"][0];
        assert_eq!((&run["p95_ms"], &run["p99_ms"]), (&serde_json::json!(161.51), &Value::Null));
        assert_eq!(
            (&run["plan"], &run["device"], &run["anatomy"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
        assert_eq!(run["imported"]["percentile"], 95.0);
        assert_eq!(run["imported"]["log"][0]["label"], "sysbench");
        assert_eq!(run["series"][1]["percentile_ms"], 170.48);
    }

    #[test]
    fn each_run_has_its_own_plan_and_iostat_columns() {
        let mut result = sample::complete();
        let planned = &mut sample::plan_of(&mut result).runs;
        planned.push(planned[0].clone());
        planned[1].threads = 64;
        result.runs.push(result.runs[0].clone());
        result.runs[1].number = 1;
        let report = parsed(&[result, sample::failed()]);
        let runs = &report["results"][0]["runs"];
        assert_eq!(runs[1]["plan"]["runs"].as_array().map(Vec::len), Some(1));
        assert_eq!(runs[1]["plan"]["runs"][0]["threads"], 64);
        assert_eq!(runs[0]["device"]["r_await"], 0.412);
        assert_eq!(runs[0]["findings"][1]["holds"], false);
        assert_eq!(report["results"][1]["outcome"], "failed");
        assert_eq!(report["results"][1]["runs"], serde_json::json!([]));
    }
}
