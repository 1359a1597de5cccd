//! What a chart tells at each x: the figures that the page's script shows under the pointer.

use std::ops::Range;

use serde::Serialize;

use super::prepared::Prepared;
use super::{Chart, Scale};
use crate::report::number;

/// Figures by place, in the coordinates of the drawing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Readout {
    /// Left, right, top and bottom of the plot.
    pub plot: [i32; 4],
    /// Horizontal place of each stretch, ascending.
    pub px: Vec<i32>,
    /// What each stretch is, such as `12 s`.
    pub at: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// In the order of the legend.
    pub series: Vec<ReadoutSeries>,
}

/// One series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadoutSeries {
    /// Its name.
    pub name: String,
    /// Its colour in CSS.
    pub colour: String,
    /// Its value in each stretch, `low – high` where several were put together.
    pub text: Vec<String>,
}

impl Readout {
    /// For a chart drawn with its plot at these pixels, `place` giving the pixel of a place on x.
    pub(super) fn of(
        chart: &Chart,
        prepared: &Prepared,
        (across, down): (Range<i32>, Range<i32>),
        place: impl Fn(f64) -> i32,
    ) -> Self {
        let stretches = &prepared.stretches;
        let pixel = |x: f64| chart.x.scale.place(x).map_or(across.start, &place);
        let series = chart.series.iter().zip(&prepared.series).map(|(series, prepared)| ReadoutSeries {
            name: series.name.clone(),
            colour: series.colour.css(),
            text: prepared.values.iter().map(|v| between(*v, figure)).collect(),
        });
        Self {
            plot: [across.start, across.end, down.start, down.end],
            px: stretches.iter().map(|(first, last)| pixel(*first).midpoint(pixel(*last))).collect(),
            at: stretches.iter().map(|bounds| labelled(chart, *bounds)).collect(),
            unit: chart.unit.clone(),
            series: series.collect(),
        }
    }
}

/// A stretch with the labels that stand in it.
fn labelled(chart: &Chart, bounds: (f64, f64)) -> String {
    let within = chart.labels.iter().filter(|(x, _)| (bounds.0..=bounds.1).contains(x));
    let labels: Vec<&str> = within.map(|(_, label)| label.as_str()).collect();
    let at = at(chart.x.scale, bounds);
    if labels.is_empty() { at } else { format!("{}: {at}", labels.join("; ")) }
}

fn at(scale: Scale, bounds: (f64, f64)) -> String {
    match scale {
        Scale::Seconds => format!("{} s", between(Some(bounds), |s| number::decimals(s, 0))),
        Scale::Nines { .. } => format!("{} %", between(Some(bounds), percentile)),
        Scale::Whole => between(Some(bounds), |count| number::decimals(count, 0)),
        Scale::Linear | Scale::Log => between(Some(bounds), figure),
    }
}

/// A percentile with the digits it needs: 99.99 is not 100.
fn percentile(value: f64) -> String {
    let text = number::decimals(value, 4);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn between(bounds: Option<(f64, f64)>, write: impl Fn(f64) -> String) -> String {
    let Some((low, high)) = bounds else { return number::MISSING.to_owned() };
    let (low, high) = (write(low), write(high));
    if low == high { low } else { format!("{low} – {high}") }
}

fn figure(value: f64) -> String {
    number::significant(value, 4)
}
