//! Fewer points for the same picture: the lowest and the highest value of each stretch of x.

use super::{Scale, Series};

/// Stretches of x; each gives at most two points a series.
const STRETCHES: usize = 600;

/// A chart's x values, sorted and cut into stretches of equally many.
pub(super) struct Stretches {
    scale: Scale,
    xs: Vec<f64>,
    per_stretch: usize,
}

/// The points of one series in one stretch, in the order of x: the lowest and the highest value, one
/// point when they are the same, none in a gap.
pub(super) type Extremes = Vec<(f64, f64)>;

impl Stretches {
    /// Over the x values of all series of a chart, as far as they have a place on the axis.
    pub(super) fn of(series: &[Series], scale: Scale) -> Self {
        let points = series.iter().flat_map(|s| &s.points);
        let mut xs: Vec<f64> = points.map(|(x, _)| *x).filter(|x| scale.place(*x).is_some()).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let per_stretch = xs.len().div_ceil(STRETCHES).max(1);
        Self { scale, xs, per_stretch }
    }

    /// First and last x of each.
    pub(super) fn bounds(&self) -> Vec<(f64, f64)> {
        let first_and_last = |xs: &[f64]| Some((*xs.first()?, *xs.last()?));
        self.xs.chunks(self.per_stretch).filter_map(first_and_last).collect()
    }

    /// The values in each stretch, in the order of x. A value without a place on its axis is a gap.
    pub(super) fn values(&self, series: &Series, scale: Scale) -> Vec<Vec<(f64, f64)>> {
        let mut stretches = vec![Vec::new(); self.xs.len().div_ceil(self.per_stretch)];
        for (x, y) in &series.points {
            let Some(y) = y.filter(|y| scale.place(*y).is_some()) else { continue };
            if self.scale.place(*x).is_none() {
                continue;
            }
            let position = self.xs.partition_point(|known| known < x);
            if let Some(stretch) = stretches.get_mut(position / self.per_stretch) {
                stretch.push((*x, y));
            }
        }
        for stretch in &mut stretches {
            stretch.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        stretches
    }
}

/// The extremes of one stretch.
pub(super) fn extremes(values: &[(f64, f64)]) -> Extremes {
    let lowest = values.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let highest = values.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match (lowest, highest) {
        (Some(low), Some(high)) if low.1 == high.1 => vec![*low],
        (Some(low), Some(high)) if low.0 <= high.0 => vec![*low, *high],
        (Some(low), Some(high)) => vec![*high, *low],
        _ => Vec::new(),
    }
}

/// The mean of one stretch, at its middle: stacked series must add up, which extremes do not.
pub(super) fn middle(values: &[(f64, f64)]) -> Extremes {
    let n = values.len() as f64;
    let sum = values.iter().fold((0.0, 0.0), |sum, v| (sum.0 + v.0, sum.1 + v.1));
    if values.is_empty() { Vec::new() } else { vec![(sum.0 / n, sum.1 / n)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::{Colour, Style};

    fn series(points: Vec<(f64, Option<f64>)>) -> Series {
        Series { name: "a".into(), points, style: Style::Line, colour: Colour::Blue }
    }

    #[test]
    fn an_hour_keeps_its_stall_and_its_peak() {
        let value = |s: u32| match s {
            1234 => 0.0,
            2345 => 9_000.0,
            _ => 1_000.0 + f64::from(s % 7),
        };
        let hour = series((0..3600).map(|s| (f64::from(s), Some(value(s)))).collect());
        let stretches = Stretches::of(std::slice::from_ref(&hour), Scale::Seconds);
        let drawn: Vec<_> = stretches.values(&hour, Scale::Linear).iter().flat_map(|v| extremes(v)).collect();
        assert!(drawn.len() <= 2 * STRETCHES, "{}", drawn.len());
        assert!(drawn.contains(&(1234.0, 0.0)));
        assert!(drawn.contains(&(2345.0, 9_000.0)));
        assert!(drawn.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn short_series_stay_whole_and_gaps_stay_gaps() {
        let short = series(vec![(2.0, Some(5.0)), (0.0, Some(1.0)), (1.0, None), (f64::NAN, Some(1.0))]);
        let stretches = Stretches::of(std::slice::from_ref(&short), Scale::Seconds);
        assert_eq!(stretches.bounds(), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]);
        let values = stretches.values(&short, Scale::Linear);
        assert_eq!(values, [vec![(0.0, 1.0)], vec![], vec![(2.0, 5.0)]]);
    }
}
