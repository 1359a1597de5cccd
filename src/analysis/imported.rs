//! An imported log as a result: what it tells, and nothing that it does not.

use std::path::Path;

use super::source::{HeadlineFigures, ImportedRun, ImportedSource, Source};
use super::{LoadAnalysis, Outcome, ResultAnalysis, RunAnalysis, SecondPoint, ThreadFairness};
use crate::result::import::Import;
use crate::sysbench::{Dialect, Interval, Summary, SysbenchRun};

/// How exact the percentiles of 1.x are: 1,024 buckets whose bounds grow by 1.8 %.
const NOTE_1: &str = "sysbench files latencies in 1,024 logarithmic buckets from 0.001 to 100,000 ms, so its \
                      percentiles carry an error of up to 1 %, may exceed the maximum, and stop at 100 s.";
/// Of those before: 100,000 buckets whose bounds grow by 0.03 %.
const NOTE_0: &str = "sysbench before 1.0 files latencies in 100,000 logarithmic buckets from 1 ns to 10,000 s, so \
                      its percentiles carry an error of up to 0.02 % and may exceed the maximum.";

/// The conclusions from an imported log.
pub fn conclude(result: &Path, import: Import) -> ResultAnalysis {
    let runs: Vec<RunAnalysis> = import.log.runs.iter().enumerate().map(analyze_run).collect();
    let incomplete = runs.iter().find(|run| run.outcome != Outcome::Complete);
    ResultAnalysis {
        path: result.display().to_string(),
        started: None,
        outcome: incomplete.map_or(Outcome::Complete, |run| run.outcome),
        reason: incomplete.and_then(|run| run.reason.clone()),
        source: Source::Imported(ImportedSource {
            name: import.name,
            device: import.device,
            file: import.file,
            imported: import.imported,
        }),
        environment: Vec::new(),
        dataset: None,
        runs,
        ramp: None,
        notes: import.log.notes,
    }
}

fn analyze_run((number, run): (usize, &SysbenchRun)) -> RunAnalysis {
    let (outcome, reason) = outcome(run);
    let summary = run.summary.as_ref();
    let in_intervals = run.intervals.iter().find_map(|interval| interval.percentile);
    let percentile = summary.and_then(|summary| summary.percentile).or(in_intervals);
    let reported = summary.map(of_summary);
    // A report that ends early may not have come to the rate.
    let from_intervals = !run.intervals.is_empty() && reported.is_none_or(|figures| figures.tps.is_none());
    let imported = ImportedRun {
        figures: reported.filter(|_| !from_intervals).unwrap_or_else(|| of_intervals(run)),
        percentile: percentile.map(|percentile| f64::from(percentile.rank)),
        percentile_ms: summary.and_then(|summary| summary.percentile).map(|percentile| percentile.ms),
        percentile_note: match run.dialect {
            Dialect::V0_4 | Dialect::V0_5 => NOTE_0,
            Dialect::V1_0 | Dialect::V1_1 => NOTE_1,
        },
        from_intervals,
        facts: facts(run),
    };
    RunAnalysis {
        number,
        outcome,
        reason,
        workload: run.test.clone().unwrap_or_else(|| "unknown workload".to_owned()),
        threads: run.threads,
        rate_per_s: rate(run),
        instances: 1,
        instances_present: 1,
        figures: None,
        device_name: None,
        series: begins(run).zip(&run.intervals).map(|(begin, interval)| point(interval, begin)).collect(),
        percentiles: Vec::new(),
        segments: Vec::new(),
        per_instance: Vec::new(),
        observers: Vec::new(),
        fairness: None,
        others_print: None,
        load: LoadAnalysis { threads: fairness(run), ..LoadAnalysis::default() },
        wear: None,
        findings: Vec::new(),
        imported: Some(imported),
    }
}

/// The rate that the head names: `Target transaction rate: 100/sec`.
fn rate(run: &SysbenchRun) -> Option<u32> {
    let told = run.remarks.iter().find_map(|remark| remark.strip_prefix("Target transaction rate: "))?;
    told.strip_suffix("/sec")?.parse().ok()
}

/// A run is complete when its final report is there, as far as the latencies, and nothing was fatal. Interval
/// lines may well end before.
fn outcome(run: &SysbenchRun) -> (Outcome, Option<String>) {
    let reported = run.summary.as_ref().is_some_and(|summary| {
        // Before 1.0 the sum comes first, and since then the maximum.
        summary.seconds.is_some() && summary.max_ms.is_some() && summary.sum_ms.is_some()
    });
    let reason = match (&run.fatal, reported) {
        (None, true) => return (Outcome::Complete, None),
        (Some(fatal), true) => format!("sysbench met a fatal error: {fatal}"),
        (Some(fatal), false) => {
            format!("sysbench ended with a fatal error and without its final report: {fatal}")
        }
        (None, false) if run.summary.is_some() => "the log ends within sysbench's final report".to_owned(),
        (None, false) => "the log has no final report of the whole run".to_owned(),
    };
    let measured = reported || !run.intervals.is_empty() || run.summary.is_some();
    (if measured { Outcome::Partial } else { Outcome::Failed }, Some(reason))
}

fn of_summary(summary: &Summary) -> HeadlineFigures {
    let percentile = |rank| summary.percentile.filter(|own| own.rank == rank).map(|own| own.ms);
    let transactions = summary.transactions.or(summary.events);
    let computed = || transactions.zip(summary.seconds).filter(|(_, seconds)| *seconds > 0.0);
    HeadlineFigures {
        seconds: summary.seconds,
        transactions,
        tps: summary.tps.or_else(|| computed().map(|(count, seconds)| count as f64 / seconds)),
        avg_ms: summary.avg_ms,
        p50_ms: percentile(50),
        p95_ms: percentile(95),
        p99_ms: percentile(99),
        p999_ms: None,
        peak_ms: summary.max_ms,
        min_ms: summary.min_ms,
        errors: summary.ignored_errors,
        reconnects: summary.reconnects,
        reads: summary.reads,
        writes: summary.writes,
        other: summary.other,
    }
}

/// The mean of the time that interval lines cover.
fn of_intervals(run: &SysbenchRun) -> HeadlineFigures {
    let lengths = begins(run).zip(&run.intervals).map(|(begin, interval)| interval.second - begin);
    let weighted = lengths.zip(&run.intervals).map(|(length, interval)| (length as f64, interval.tps));
    let (covered, transactions) =
        weighted.fold((0.0, 0.0), |(covered, sum), (length, tps)| (covered + length, sum + length * tps));
    match covered > 0.0 {
        true => HeadlineFigures {
            seconds: Some(covered),
            tps: Some(transactions / covered),
            ..HeadlineFigures::default()
        },
        false => HeadlineFigures::default(),
    }
}

/// How evenly threads were served.
fn fairness(run: &SysbenchRun) -> Option<ThreadFairness> {
    let summary = run.summary.as_ref()?;
    let ((events_avg, events_stddev), (busy_avg_s, busy_stddev_s)) =
        summary.events_fairness.zip(summary.time_fairness_s)?;
    let threads = usize::try_from(run.threads).ok()?;
    Some(ThreadFairness { threads, events_avg, events_stddev, busy_avg_s, busy_stddev_s })
}

/// When each interval began. A line counts from the one before, which may have come late; where one is
/// missing, it is taken to be as long as the others.
fn begins(run: &SysbenchRun) -> impl Iterator<Item = u64> {
    let usual = run.report_interval_s.unwrap_or(1);
    let before = std::iter::once(None).chain(run.intervals.iter().map(|interval| Some(interval.second)));
    before.zip(&run.intervals).map(move |(before, interval)| {
        let near = before.filter(|before| interval.second.saturating_sub(*before) < usual.saturating_mul(2));
        near.unwrap_or(interval.second.saturating_sub(usual)).min(interval.second)
    })
}

fn point(interval: &Interval, begin: u64) -> SecondPoint {
    let percentile = |rank| interval.percentile.filter(|own| own.rank == rank).map(|own| own.ms);
    SecondPoint {
        second: i64::try_from(begin).unwrap_or(i64::MAX),
        tps: interval.tps,
        p50_ms: percentile(50),
        p99_ms: percentile(99),
        percentile_ms: interval.percentile.map(|own| own.ms),
        errors_per_s: interval.errors_per_s.unwrap_or_default(),
        ..SecondPoint::default()
    }
}

/// What else a log says, in reading order.
fn facts(run: &SysbenchRun) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |label: &str, text: Option<String>| facts.extend(text.map(|text| (label.to_owned(), text)));
    let generation = match run.dialect {
        Dialect::V0_4 => "0.4",
        Dialect::V0_5 => "0.5",
        Dialect::V1_0 => "1.0",
        Dialect::V1_1 => "1.1",
    };
    add("sysbench", Some(run.version.clone().unwrap_or_else(|| format!("like {generation}"))));
    let options = run.options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
    add("Options", (!options.is_empty()).then(|| options.join(", ")));
    let (random, work): (Vec<&str>, Vec<&str>) =
        run.remarks.iter().map(String::as_str).partition(|remark| remark.contains("andom number generator"));
    add("Work", (!work.is_empty()).then(|| work.join("; ")));
    add("Random numbers", (!random.is_empty()).then(|| random.join("; ")));
    add(
        "Interval lines",
        run.report_interval_s.map(|seconds| format!("{}, one every {seconds} s", run.intervals.len())),
    );
    let summary = run.summary.as_ref();
    add("Minimum latency", summary.and_then(|summary| summary.min_ms).map(|ms| format!("{ms} ms")));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::import::IMPORT_FORMAT;
    use crate::sysbench::parse;

    fn imported(log: &str) -> ResultAnalysis {
        let import = Import {
            format: IMPORT_FORMAT,
            drivestone: "0".into(),
            name: "log".into(),
            device: None,
            file: "a.log".into(),
            imported: "2026-11-30T11:00:00Z".into(),
            log: parse("a.log", log.as_bytes()).unwrap(),
        };
        conclude(Path::new("result"), import)
    }

    #[test]
    fn a_whole_log_is_complete_though_its_intervals_end_early() {
        let result = imported(include_str!("../../tests/fixtures/sysbench/1.1-galera.log"));
        assert_eq!((result.outcome, &result.reason, &result.started), (Outcome::Complete, &None, &None));
        let run = &result.runs[0];
        let figures = run.headline_figures();
        assert_eq!((figures.tps, figures.transactions), (Some(567.21), Some(100_000)));
        assert_eq!((figures.p95_ms, figures.p99_ms, figures.p50_ms), (Some(161.51), None, None));
        assert_eq!((figures.avg_ms, figures.peak_ms, figures.errors), (Some(112.8), Some(818.96), Some(341)));
        let seconds: Vec<i64> = run.series.iter().map(|point| point.second).collect();
        assert_eq!((seconds[..3].to_vec(), seconds.last()), (vec![0, 3, 6], Some(&171)));
        assert_eq!((run.series[0].errors_per_s, run.series[0].p99_ms), (104.25, None));
        assert_eq!((run.findings.len(), run.percentiles.len()), (0, 0));
        assert!(run.imported.as_ref().unwrap().percentile_note.contains("1 %"));
    }

    #[test]
    fn after_a_fatal_error_there_is_what_the_intervals_tell() {
        let result = imported(include_str!("../../tests/fixtures/sysbench/1.0-fatal.log"));
        let run = &result.runs[0];
        assert_eq!((result.outcome, run.outcome), (Outcome::Partial, Outcome::Partial));
        assert!(run.reason.as_ref().unwrap().contains("returned error 2013"), "{:?}", run.reason);
        let figures = run.headline_figures();
        let told = HeadlineFigures { seconds: Some(5.0), tps: figures.tps, ..HeadlineFigures::default() };
        assert_eq!(figures, told, "nothing is made up");
        assert!((figures.tps.unwrap() - 1_016.454).abs() < 1e-9);
        let imported = run.imported.as_ref().unwrap();
        assert!(imported.from_intervals);
        assert_eq!((imported.percentile, imported.percentile_ms), (Some(95.0), None));
    }

    #[test]
    fn a_rate_is_known_from_the_head() {
        let rate = |log| imported(log).runs[0].rate_per_s;
        assert_eq!(rate(include_str!("../../tests/fixtures/sysbench/1.0-rate.log")), Some(100));
        assert_eq!(rate(include_str!("../../tests/fixtures/sysbench/1.0-whole.log")), None);
    }

    #[test]
    fn intervals_weigh_what_they_cover() {
        let line = |second, tps: f64| {
            format!(
                "[ {second}s ] thds: 2 tps: {tps:.2} qps: 1.00 (r/w/o: 1.00/0.00/0.00) lat (ms,95%): 1.00 err/s: 0.00 \
                 reconn/s: 0.00\n"
            )
        };
        // The second line came late, one at 12 is missing, and so is everything before 3.
        let log = [line(6, 10.0), line(10, 20.0), line(12, 30.0), line(18, 40.0)].concat();
        let result = imported(&format!("Report intermediate results every 3 second(s)\n{log}"));
        let run = &result.runs[0];
        assert_eq!(run.series.iter().map(|point| point.second).collect::<Vec<_>>(), [3, 6, 10, 15]);
        let figures = run.headline_figures();
        let expected = (3.0 * 10.0 + 4.0 * 20.0 + 2.0 * 30.0 + 3.0 * 40.0) / 12.0;
        assert_eq!((figures.seconds, figures.tps), (Some(12.0), Some(expected)));
    }

    #[test]
    fn a_run_that_failed_before_any_load_has_failed() {
        let log = "Running the test with following options:\nNumber of threads: 4\n\
                   FATAL: unable to connect to MySQL server on host 'db', port 3306, aborting...\n";
        let result = imported(log);
        assert_eq!(result.outcome, Outcome::Failed);
        assert_eq!(result.runs[0].headline_figures(), HeadlineFigures::default());
    }

    #[test]
    fn a_log_with_a_report_that_ends_early_is_partial() {
        let whole = include_str!("../../tests/fixtures/sysbench/1.0-whole.log");
        let result = imported(whole.split_once("General statistics").unwrap().0);
        assert_eq!(result.outcome, Outcome::Partial);
        let figures = result.runs[0].headline_figures();
        assert_eq!((figures.seconds, figures.transactions, figures.avg_ms), (None, Some(5_286), None));
    }

    #[test]
    fn wherever_a_log_ends_it_has_a_rate_and_is_not_complete() {
        let whole = include_str!("../../tests/fixtures/sysbench/1.0-whole.log");
        let lines: Vec<&str> = whole.lines().collect();
        let last = lines.iter().position(|line| line.contains("sum:")).unwrap();
        for end in 15..=last {
            let result = imported(&lines[..end].join("\n"));
            assert_eq!(result.outcome, Outcome::Partial, "{end} lines");
            let tps = result.runs[0].headline_figures().tps;
            assert!(tps.is_some_and(|tps| (1_000.0..1_100.0).contains(&tps)), "{end} lines: {tps:?}");
        }
        assert_eq!(imported(&lines[..=last].join("\n")).outcome, Outcome::Complete);
    }

    #[test]
    fn what_the_report_counts_is_kept() {
        let result = imported(include_str!("../../tests/fixtures/sysbench/1.0-whole.log"));
        let run = &result.runs[0];
        assert_eq!(run.headline_figures().reconnects, Some(0));
        let threads = run.load.threads.unwrap();
        assert_eq!((threads.threads, threads.events_avg, threads.events_stddev), (4, 1_321.5, 23.55));
        assert_eq!((threads.busy_avg_s, threads.busy_stddev_s), (5.0003, 0.0));
        let facts = &run.imported.as_ref().unwrap().facts;
        let label = facts.iter().find(|(_, text)| text.starts_with("Initializing random")).unwrap();
        assert_eq!(label.0, "Random numbers");
    }

    #[test]
    fn older_generations_file_latencies_more_finely() {
        let result = imported(include_str!("../../tests/fixtures/sysbench/0.4-modes.log"));
        let told: Vec<_> = result.runs.iter().map(|run| (run.workload.as_str(), run.threads)).collect();
        assert_eq!(
            told[2..],
            [("sysbench04_complex", 16), ("sysbench04_simple", 16), ("sysbench04_select", 16)]
        );
        assert_eq!(result.runs[2].headline_figures().errors, Some(373));
        assert!(result.runs[0].imported.as_ref().unwrap().percentile_note.contains("0.02 %"));
    }
}
