//! Runs of one result that differ in instances, threads or rate: latency against throughput.

use super::chart::{Axis, Chart, Colour, Scale, Series, Size, Style};
use super::number;
use crate::analysis::{LatencySummary, ResultAnalysis, RunAnalysis};

/// What runs may differ in, with the unit of it.
type Parameter = (&'static str, fn(&RunAnalysis) -> u32);
const PARAMETERS: [Parameter; 3] = [
    ("instances", |run| run.instances),
    ("threads", |run| run.threads),
    ("a second", |run| run.rate_per_s.unwrap_or(0)),
];

/// The throughput–latency curve, a point a run; none unless two runs differ and completed something.
pub(super) fn curve(result: &ResultAnalysis) -> Option<Chart> {
    let mut runs: Vec<(&RunAnalysis, f64, LatencySummary)> = Vec::new();
    for run in &result.runs {
        let figures = run.figures.as_ref();
        runs.extend(figures.and_then(|figures| Some((run, figures.tps, figures.latency?))));
    }
    let first = runs.first()?.0;
    let differ = |(_, of): &Parameter| runs.iter().any(|(run, ..)| of(run) != of(first));
    let varied: Vec<Parameter> = PARAMETERS.into_iter().filter(differ).collect();
    let joined = match varied.as_slice() {
        [] => return None,
        [(_, of)] => {
            runs.sort_by_key(|(run, ..)| of(run));
            true
        }
        // Neighbours differ now in this, now in that.
        _ => false,
    };
    let of = |value: fn(&LatencySummary) -> f64| {
        let mut points: Vec<(f64, Option<f64>)> = Vec::new();
        for (_, tps, latency) in &runs {
            points.push((*tps, Some(value(latency))));
            if !joined {
                points.push((*tps, None));
            }
        }
        points
    };
    let series =
        |name: &str, colour, points| Series { name: name.to_owned(), points, style: Style::Curve, colour };
    let series = vec![
        series("99th percentile", Colour::Vermilion, of(|latency| latency.p99_ms)),
        series("average", Colour::Blue, of(|latency| latency.avg_ms)),
    ];
    let latencies = series.iter().flat_map(|own| own.points.iter().filter_map(|(_, ms)| *ms));
    let highest = runs.iter().map(|(_, tps, _)| *tps).fold(0.0, f64::max);
    Some(Chart {
        title: "Latency by throughput".to_owned(),
        unit: "ms".to_owned(),
        x: Axis {
            label: "Throughput (TPS); one point a run".to_owned(),
            bounds: Some((0.0, highest * 1.05)),
            ..Axis::of(Scale::Linear)
        },
        y: Axis::of(Scale::for_spread(latencies)),
        labels: runs.iter().map(|(run, tps, _)| (*tps, name(run, &varied))).collect(),
        series,
        shaded: None,
        size: Size::Wide,
        when_empty: "no data: nothing completed".to_owned(),
    })
}

/// What tells a run from the others, such as `16 threads`.
fn name(run: &RunAnalysis, varied: &[Parameter]) -> String {
    let told = varied.iter().map(|(unit, of)| {
        let count = of(run);
        let unit = if count == 1 { unit.trim_end_matches('s') } else { unit };
        format!("{} {unit}", number::count(u64::from(count)))
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn swept(points: &[(u32, f64)]) -> ResultAnalysis {
        let mut result = sample::complete();
        let one = result.runs.remove(0);
        for (number, (threads, tps)) in points.iter().enumerate() {
            let mut run = RunAnalysis { number, threads: *threads, ..one.clone() };
            run.figures.as_mut().unwrap().tps = *tps;
            result.runs.push(run);
        }
        result
    }

    #[test]
    fn a_curve_turns_back_where_more_threads_do_less() {
        let chart = curve(&swept(&[(32, 900.0), (1, 100.0), (16, 1_000.0)])).unwrap();
        let told: Vec<f64> = chart.series[0].points.iter().map(|(tps, _)| *tps).collect();
        assert_eq!(told, [100.0, 1_000.0, 900.0], "in the order of threads");
        assert_eq!(chart.labels[2], (900.0, "32 threads".to_owned()));
        assert_eq!(chart.series[0].points[0].1, Some(51.21));
    }

    #[test]
    fn like_runs_are_no_sweep_and_two_parameters_no_line() {
        assert_eq!(curve(&swept(&[(32, 900.0), (32, 910.0)])), None);
        let mut result = swept(&[(8, 500.0), (16, 900.0)]);
        result.runs[1].rate_per_s = Some(2_000);
        let chart = curve(&result).unwrap();
        assert_eq!(chart.labels[1].1, "16 threads, 2,000 a second");
        assert!(chart.series[0].points[1].1.is_none(), "points stand alone");
    }
}
