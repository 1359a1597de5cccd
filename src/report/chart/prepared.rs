//! A chart worked out: thinned, stacked, and placed along its axes.

use super::thin::{Extremes, Stretches, extremes, middle};
use super::{Axis, Chart, Series, Style};

/// Places to draw and the values behind them.
pub(super) struct Prepared {
    /// Range of places on x.
    pub x: (f64, f64),
    /// Range of places on y.
    pub y: (f64, f64),
    /// First and last x value of each stretch.
    pub stretches: Vec<(f64, f64)>,
    /// In the chart's order.
    pub series: Vec<PreparedSeries>,
}

/// One series.
pub(super) struct PreparedSeries {
    /// Places in each stretch; none is a gap.
    pub places: Vec<Extremes>,
    /// Lowest and highest value of each stretch, not stacked.
    pub values: Vec<Option<(f64, f64)>>,
    /// Of a curve: places in the order given, cut at gaps.
    pub curve: Option<Vec<Vec<(f64, f64)>>>,
}

impl PreparedSeries {
    /// Whether there is anything to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.places.iter().all(Vec::is_empty)
    }

    /// Runs of places without a gap.
    pub(super) fn unbroken(&self) -> Vec<Vec<(f64, f64)>> {
        if let Some(curve) = &self.curve {
            return curve.clone();
        }
        let runs = self.places.split(Vec::is_empty);
        runs.filter(|run| !run.is_empty()).map(<[Extremes]>::concat).collect()
    }
}

impl Prepared {
    /// Works a chart out. Values without a place on an axis become gaps.
    pub(super) fn of(chart: &Chart) -> Self {
        let stretches = Stretches::of(&chart.series, chart.x.scale);
        let mut below = vec![0.0; stretches.bounds().len()];
        let mut series: Vec<PreparedSeries> = Vec::new();
        for one in &chart.series {
            let kept = stretches.values(one, chart.y.scale);
            let values = kept.iter().map(|v| lowest_and_highest(v)).collect();
            let drawn =
                kept.iter().map(|v| if one.style == Style::Stacked { middle(v) } else { extremes(v) });
            let mut places: Vec<Extremes> = drawn.collect();
            if one.style == Style::Stacked {
                for (stretch, below) in places.iter_mut().zip(&mut below) {
                    stretch.iter_mut().for_each(|point| point.1 += *below);
                    *below = stretch.last().map_or(*below, |point| point.1);
                }
            }
            let place = |&(x, y): &(f64, f64)| Some((chart.x.scale.place(x)?, chart.y.scale.place(y)?));
            let places = places.iter().map(|stretch| stretch.iter().filter_map(place).collect()).collect();
            let curve = (one.style == Style::Curve).then(|| in_order(one, place));
            series.push(PreparedSeries { places, values, curve });
        }
        let all = || series.iter().flat_map(|s| s.places.iter().flatten());
        let shown = stretches
            .bounds()
            .into_iter()
            .filter_map(|(first, last)| Some((chart.x.scale.place(first)?, chart.x.scale.place(last)?)));
        let x_spread = shown.fold(None, |spread, (first, last)| widen(widen(spread, first), last));
        let x = range(&chart.x, x_spread, false);
        let y = range(&chart.y, all().fold(None, |spread, point| widen(spread, point.1)), true);
        for one in &mut series {
            let curve = one.curve.iter_mut().flatten().flatten();
            for point in one.places.iter_mut().flatten().chain(curve) {
                *point = (point.0.clamp(x.0, x.1), point.1.clamp(y.0, y.1));
            }
        }
        Self { x, y, stretches: stretches.bounds(), series }
    }
}

/// The places of a curve, cut where there is a gap.
fn in_order(series: &Series, place: impl Fn(&(f64, f64)) -> Option<(f64, f64)>) -> Vec<Vec<(f64, f64)>> {
    let places: Vec<_> = series.points.iter().map(|(x, y)| place(&(*x, (*y)?))).collect();
    let runs = places.split(Option::is_none).filter(|run| !run.is_empty());
    runs.map(|run| run.iter().flatten().copied().collect()).collect()
}

fn lowest_and_highest(values: &[(f64, f64)]) -> Option<(f64, f64)> {
    values.iter().fold(None, |spread, value| widen(spread, value.1))
}

fn widen(spread: Option<(f64, f64)>, value: f64) -> Option<(f64, f64)> {
    Some(spread.map_or((value, value), |(low, high)| (value.min(low), value.max(high))))
}

fn range(axis: &Axis, spread: Option<(f64, f64)>, from_zero: bool) -> (f64, f64) {
    let bounds = axis.bounds.and_then(|(low, high)| Some((axis.scale.place(low)?, axis.scale.place(high)?)));
    match (bounds, spread) {
        (Some((low, high)), _) if low < high => (low, high),
        (_, Some((low, high))) => axis.scale.range(low, high, from_zero),
        (_, None) => axis.scale.range(0.0, 1.0, from_zero),
    }
}
