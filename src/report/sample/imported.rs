//! A made-up analysis of a log.

use super::{complete, pairs, run};
use crate::analysis::{
    HeadlineFigures, ImportedRun, ImportedSource, LoadAnalysis, ResultAnalysis, RunAnalysis, SecondPoint,
    Source,
};

/// A result that was read from a log, with one run.
pub(in crate::report) fn imported() -> ResultAnalysis {
    let source = ImportedSource {
        name: "galera".into(),
        device: Some("Galera, three nodes".into()),
        file: "galera.log".into(),
        imported: "2026-11-30T11:00:00Z".into(),
    };
    let points =
        [(458.31, 308.84, 104.25), (582.72, 170.48, 1.33), (615.64, 142.39, 0.0), (625.35, 137.35, 1.33)];
    let series = points.iter().zip(0..).map(|(&(tps, percentile_ms, errors), n)| SecondPoint {
        second: 3 * n,
        tps,
        percentile_ms: Some(percentile_ms),
        errors_per_s: errors,
        ..SecondPoint::default()
    });
    let run = RunAnalysis {
        threads: 64,
        figures: None,
        device_name: None,
        series: series.collect(),
        percentiles: Vec::new(),
        load: LoadAnalysis::default(),
        wear: None,
        findings: Vec::new(),
        imported: Some(imported_run()),
        ..run(0)
    };
    ResultAnalysis {
        path: "reports/runs/20261130T110000Z-imported-galera".into(),
        started: None,
        source: Source::Imported(source),
        environment: Vec::new(),
        dataset: None,
        runs: vec![run],
        notes: Vec::new(),
        ..complete()
    }
}

fn imported_run() -> ImportedRun {
    ImportedRun {
        figures: HeadlineFigures {
            seconds: Some(176.3015),
            transactions: Some(100_000),
            tps: Some(567.21),
            avg_ms: Some(112.80),
            p95_ms: Some(161.51),
            peak_ms: Some(818.96),
            min_ms: Some(4.44),
            errors: Some(341),
            reconnects: Some(0),
            reads: Some(1_404_774),
            writes: Some(136_352),
            other: Some(465_012),
            ..HeadlineFigures::default()
        },
        percentile: Some(95.0),
        percentile_ms: Some(161.51),
        percentile_note: "It carries an error of up to 1 %.",
        from_intervals: false,
        facts: pairs(&[("sysbench", "1.1.0"), ("Report interval", "3 s")]),
    }
}
