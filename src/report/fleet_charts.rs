//! Charts of several instances: heat maps, the scaling curve, and what observers saw.

use super::chart::heat::{HeatMap, HeatRow, Shade};
use super::chart::{Axis, Chart, Colour, Scale, Series, Size, Style};
use super::fleet::scaling_points;
use super::run_charts;
use crate::analysis::{InstanceSecond, ResultAnalysis, RunAnalysis, SecondPoint};

/// Instance × second by TPS and by 99th percentile; none for one instance.
pub(super) fn heat_maps(run: &RunAnalysis) -> Vec<HeatMap> {
    if !run.is_fleet() || run.per_instance.is_empty() {
        return Vec::new();
    }
    let map = |title: &str, unit: &str, shade, value: fn(&InstanceSecond) -> Option<f64>| HeatMap {
        title: title.to_owned(),
        unit: unit.to_owned(),
        x_label: run_charts::TIME.to_owned(),
        shade,
        rows: run
            .per_instance
            .iter()
            .map(|own| HeatRow {
                name: own.host.clone(),
                cells: own.series.iter().filter_map(|s| Some((s.second, value(s)?))).collect(),
            })
            .collect(),
    };
    vec![
        map("Throughput of each instance", "TPS", Shade::Blues, |s| Some(s.tps)),
        map("99th percentile of each instance", "ms", Shade::Oranges, |s| s.p99_ms),
    ]
}

/// TPS and 99th percentile against instances; none unless a result has two numbers of them.
pub(super) fn scaling(result: &ResultAnalysis) -> Vec<Chart> {
    let points = scaling_points(result);
    if points.len() < 2 {
        return Vec::new();
    }
    let chart = |title: &str, unit: &str, colour, series: Vec<(f64, Option<f64>)>| Chart {
        title: title.to_owned(),
        unit: unit.to_owned(),
        x: Axis {
            label: "Instances".to_owned(),
            bounds: Some((0.0, points.last().map_or(1.0, |point| f64::from(point.0) * 1.05))),
            ..Axis::of(Scale::Whole)
        },
        y: Axis::of(Scale::Linear),
        series: vec![Series { name: unit.to_owned(), points: series, style: Style::Marked, colour }],
        labels: Vec::new(),
        shaded: None,
        size: Size::Half,
        when_empty: "no data: nothing completed".to_owned(),
    };
    let tps = points.iter().map(|(count, tps, _)| (f64::from(*count), Some(*tps))).collect();
    let p99 = points.iter().map(|(count, _, p99)| (f64::from(*count), *p99)).collect();
    vec![
        chart("Throughput by instances", "TPS", Colour::Blue, tps),
        chart("99th percentile by instances", "ms", Colour::Vermilion, p99),
    ]
}

/// Device and processors of each observer, on the run's time axis.
pub(super) fn observers(run: &RunAnalysis) -> Vec<Chart> {
    let mut charts = Vec::new();
    for observer in &run.observers {
        let point = |second: &crate::analysis::ObserverSecond| SecondPoint {
            second: second.second,
            device: second.device,
            cpu: second.cpu,
            ..SecondPoint::default()
        };
        let points: Vec<SecondPoint> = observer.series.iter().map(point).collect();
        for chart in run_charts::observed(&points) {
            charts.push(Chart { title: format!("{}: {}", observer.host, chart.title), ..chart });
        }
    }
    charts
}
