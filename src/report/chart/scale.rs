//! How values become places along an axis, and where its ticks stand.

use crate::report::number;

/// Values beyond this are no measurement and are left out: ranges stay finite, and so do loops over them.
const LARGEST: f64 = 1e18;
/// Positive values below this stand at the foot of a logarithmic axis.
const SMALLEST: f64 = 1e-9;
/// Percentiles that get a tick, with their text.
const NINES: [(f64, &str); 8] = [
    (0.0, "0"),
    (50.0, "50"),
    (90.0, "90"),
    (99.0, "99"),
    (99.9, "99.9"),
    (99.99, "99.99"),
    (99.999, "99.999"),
    (99.9999, "99.9999"),
];
/// Steps of a time axis, seconds.
const TIME_STEPS: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0,
    21_600.0, 43_200.0,
];

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal distances for equal differences.
    Linear,
    /// The same for counts: ticks at whole numbers.
    Whole,
    /// The same, with ticks at whole seconds, minutes or hours.
    Seconds,
    /// Equal distances for equal factors; what is not positive has no place.
    Log,
    /// Percentiles: equal distances for each further nine (90, 99, 99.9, …).
    Nines {
        /// Place of 100 %, which would be infinitely far: see [`Scale::nines`].
        end: f64,
    },
}

/// A tick: its place, and its text unless it is a minor one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub at: f64,
    pub label: String,
}

impl Scale {
    /// A scale for these percentiles: 100 stands half a nine behind the last one below it.
    #[must_use]
    pub fn nines(percentiles: impl Iterator<Item = f64>) -> Self {
        let last = percentiles.filter(|p| (0.0..100.0).contains(p)).fold(0.0, f64::max);
        Scale::Nines { end: nines_of(last).clamp(1.0, 9.0) + 0.5 }
    }

    /// Linear, or logarithmic when these values span more than two decades.
    #[must_use]
    pub fn for_spread(values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|v| *v > 0.0 && *v <= LARGEST);
        let (low, high) = positive.fold((f64::INFINITY, 0.0), |(l, h), v| (v.min(l), v.max(h)));
        if high > 100.0 * low { Scale::Log } else { Scale::Linear }
    }

    /// The place of a value; `None` when it has none.
    pub(super) fn place(self, value: f64) -> Option<f64> {
        if !value.is_finite() || value.abs() > LARGEST {
            return None;
        }
        match self {
            Scale::Linear | Scale::Whole | Scale::Seconds => Some(value),
            Scale::Log => (value > 0.0).then(|| value.max(SMALLEST).log10()),
            Scale::Nines { end } => {
                Some(if value >= 100.0 { end } else { nines_of(value.max(0.0)).min(end) })
            }
        }
    }

    /// The range of an axis that shows these places, ends at round values and is never empty.
    pub(super) fn range(self, low: f64, high: f64, from_zero: bool) -> (f64, f64) {
        match self {
            Scale::Linear if from_zero => {
                let (low, high) = (low.min(0.0), high.max(0.0));
                let step = linear_step(high - low, 5.0);
                let top = (high / step).ceil() * step;
                ((low / step).floor() * step, if top > low { top } else { low + step })
            }
            Scale::Linear | Scale::Whole | Scale::Seconds => {
                if high - low > high.abs().max(low.abs()) * 1e-9 {
                    (low, high)
                } else {
                    (low - 0.5, low.abs() * 1e-6 + low + 0.5)
                }
            }
            Scale::Log => {
                let low = round_factor(low, false);
                (low, round_factor(high, true).max(low + 1.0))
            }
            Scale::Nines { end } => (low.min(end - 0.5), end),
        }
    }

    /// Ticks between two places, about so many at most.
    pub(super) fn ticks(self, low: f64, high: f64, most: f64) -> Vec<Tick> {
        match self {
            Scale::Linear => steps(low, high, linear_step(high - low, most)),
            Scale::Whole => steps(low, high, whole_step(high - low, most)),
            Scale::Seconds => steps(low, high, time_step(high - low, most)),
            Scale::Log => decades(low, high),
            Scale::Nines { end } => {
                let below = NINES.iter().map(|(p, label)| (nines_of(*p), *label));
                below
                    .filter(|(at, _)| (low..=end - 0.25).contains(at))
                    .chain([(end, "100")])
                    .map(|(at, label)| Tick { at, label: label.to_owned() })
                    .collect()
            }
        }
    }
}

/// How many nines a percentile has: 90 → 1, 99 → 2.
fn nines_of(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).max(1e-12).log10()
}

/// Counts of hosts are mostly multiples of four.
fn whole_step(span: f64, most: f64) -> f64 {
    let steps = (0..).map(|doublings| 2f64.powi(doublings)).take(60);
    steps.into_iter().find(|step| *step >= span / most).unwrap_or(f64::MAX)
}

fn linear_step(span: f64, most: f64) -> f64 {
    let rough = if span > 0.0 { span / most } else { 1.0 / most };
    let decade = 10f64.powf(rough.log10().floor()).max(1e-12);
    [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .map(|m| m * decade)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * decade)
}

fn time_step(span: f64, most: f64) -> f64 {
    let longer = TIME_STEPS.into_iter().find(|step| span / step <= most);
    longer.unwrap_or_else(|| linear_step(span, most))
}

fn steps(low: f64, high: f64, step: f64) -> Vec<Tick> {
    let places = usize::try_from((0.0 - step.log10()).ceil() as i64).unwrap_or(0);
    let places = if (step * 10f64.powi(places as i32)).fract() > 1e-6 { places + 1 } else { places };
    let first = (low / step - 1e-6).ceil();
    (0..30)
        .map(|n| (first + f64::from(n)) * step)
        .take_while(|at| *at <= high + step * 1e-6)
        .map(|at| Tick { at, label: number::decimals(at, places) })
        .collect()
}

/// The next 1, 2 or 5 of a decade, upwards or downwards, as a logarithm.
fn round_factor(log: f64, up: bool) -> f64 {
    let decade = log.floor();
    let mut rounds = [0.0, 2f64.log10(), 5f64.log10(), 1.0].map(|factor| decade + factor).into_iter();
    let found = if up {
        rounds.find(|round| *round >= log - 1e-9)
    } else {
        rounds.rfind(|round| *round <= log + 1e-9)
    };
    found.unwrap_or(decade)
}

fn decades(low: f64, high: f64) -> Vec<Tick> {
    let every = ((high - low) / 8.0).ceil().max(1.0) as usize;
    // Few decades have their 2 and 5 labelled, more only where the axis ends there.
    let labelled = |multiple, at: f64| match multiple {
        1 => true,
        2 | 5 => high - low <= 2.0 || (high - low <= 4.0 && (at < low + 1e-9 || at > high - 1e-9)),
        _ => false,
    };
    let mut ticks = Vec::new();
    for decade in (low.floor() as i32..=high as i32).step_by(every) {
        for multiple in if every == 1 { 1..10 } else { 1..2 } {
            let at = f64::from(decade) + f64::from(multiple).log10();
            let value = f64::from(multiple) * 10f64.powi(decade);
            let label = if labelled(multiple, at) { number::significant(value, 1) } else { String::new() };
            ticks.push(Tick { at, label });
        }
    }
    ticks.retain(|tick| low - 1e-9 <= tick.at && tick.at <= high + 1e-9);
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64, most: f64) -> String {
        let ticks = scale.ticks(low, high, most);
        ticks.into_iter().map(|t| t.label).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn golden_ticks() {
        assert_eq!(labels(Scale::Linear, 0.0, 1400.0, 5.0), "0 500 1,000");
        assert_eq!(labels(Scale::Linear, 0.0, 0.25, 5.0), "0.00 0.05 0.10 0.15 0.20 0.25");
        assert_eq!(labels(Scale::Linear, 0.0, 12.5, 5.0), "0.0 2.5 5.0 7.5 10.0 12.5");
        assert_eq!(labels(Scale::Whole, 0.0, 2.1, 8.0), "0 1 2");
        assert_eq!(labels(Scale::Whole, 0.0, 16.8, 8.0), "0 4 8 12 16");
        assert_eq!(labels(Scale::Seconds, -10.0, 60.0, 8.0), "-10 0 10 20 30 40 50 60");
        assert_eq!(labels(Scale::Seconds, -60.0, 3600.0, 8.0), "0 600 1,200 1,800 2,400 3,000 3,600");
        assert_eq!(labels(Scale::Log, -1.0, 3.0, 5.0), "0.1 1 10 100 1,000");
        assert_eq!(labels(Scale::Log, 2f64.log10(), 2.0, 5.0), "2 5 10 20 50 100");
        let percentiles = Scale::nines([50.0, 99.95, 100.0].into_iter());
        let (low, high) = percentiles.range(0.0, 3.3, false);
        assert_eq!(labels(percentiles, low, high, 8.0), "0 50 90 99 99.9 100");
    }

    #[test]
    fn ranges_end_at_round_values() {
        assert_eq!(Scale::Linear.range(3.0, 1330.0, true), (0.0, 1500.0));
        assert_eq!(Scale::Linear.range(0.0, 0.0, true), (0.0, 0.2));
        let (low, high) = Scale::Log.range(76f64.log10(), 6_300f64.log10(), true);
        assert_eq!((10f64.powf(low).round(), 10f64.powf(high).round()), (50.0, 10_000.0));
        let (low, high) = Scale::Seconds.range(7.0, 7.0, false);
        assert!(low < 7.0 && 7.0 < high);
    }

    #[test]
    fn more_than_two_decades_become_logarithmic() {
        assert_eq!(Scale::for_spread([1.0, 100.0].into_iter()), Scale::Linear);
        assert_eq!(Scale::for_spread([0.0, 1.0, 101.0, f64::INFINITY].into_iter()), Scale::Log);
        assert_eq!(Scale::for_spread([f64::NAN].into_iter()), Scale::Linear);
    }
}
