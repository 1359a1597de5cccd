//! Distributions as densities over the range of ids, for estimating the working set.

use super::{KeyDistribution, stretch_04, zipf};

/// Equal parts of the id range in which a density counts as flat.
const EVEN_PARTS: u32 = 400;
/// Parts for each factor of two towards the low end, where skewed distributions are steep.
const PARTS_PER_OCTAVE: u32 = 4;

/// How picks spread over `size` ids.
#[derive(Debug, Clone, Copy)]
pub struct Density {
    keys: KeyDistribution,
    size: f64,
}

/// The hot ids of `special`.
struct Hot {
    /// Share of the picks that go to them.
    picks: f64,
    /// Their ends, as shares of the range.
    low: f64,
    high: f64,
}

impl Density {
    /// The density of a distribution over `size` ids.
    #[must_use]
    pub fn new(keys: KeyDistribution, size: u64) -> Self {
        Self { keys, size: size.max(1) as f64 }
    }

    /// The probability that a pick falls on the lowest `share` (0–1) of the ids.
    #[must_use]
    pub fn cumulative(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        match self.keys {
            KeyDistribution::Uniform => share,
            KeyDistribution::Special { iterations, .. } | KeyDistribution::Special04 { iterations, .. } => {
                let cold = mean_of_uniforms_cdf(iterations, share);
                self.hot().map_or(cold, |Hot { picks, low, high }| {
                    let hot = ((share - low) / (high - low)).clamp(0.0, 1.0);
                    picks * hot + (1.0 - picks) * cold
                })
            }
            KeyDistribution::Gaussian { iterations } => mean_of_uniforms_cdf(iterations, share),
            KeyDistribution::Pareto { h } => share.powf((1.0 - h).ln() / h.ln()),
            KeyDistribution::Zipfian { exponent } => {
                zipf::weight(exponent, share * self.size) / zipf::weight(exponent, self.size)
            }
        }
    }

    /// Ends of the parts in which the density is near enough to flat, from 0 to 1, ascending. None but the
    /// first is narrower than `narrowest`.
    #[must_use]
    pub fn edges(&self, narrowest: f64) -> Vec<f64> {
        let mut edges: Vec<f64> = (0..=EVEN_PARTS).map(|n| f64::from(n) / f64::from(EVEN_PARTS)).collect();
        match self.keys {
            KeyDistribution::Special { .. } | KeyDistribution::Special04 { .. } => {
                edges.extend(self.hot().into_iter().flat_map(|hot| [hot.low, hot.high]));
            }
            KeyDistribution::Pareto { .. } | KeyDistribution::Zipfian { .. } => {
                let finer = (1..).map(|n| (-f64::from(n) / f64::from(PARTS_PER_OCTAVE)).exp2());
                edges.extend(finer.take_while(|edge| *edge > narrowest.max(1e-12)));
            }
            KeyDistribution::Uniform | KeyDistribution::Gaussian { .. } => {}
        }
        edges.sort_by(f64::total_cmp);
        edges
    }

    /// The hot ids, if there are any.
    fn hot(&self) -> Option<Hot> {
        match self.keys {
            KeyDistribution::Special { hot_ids_pct, hot_picks_pct, .. } => {
                let last = self.size - 1.0;
                let wide = last * f64::from(hot_ids_pct) / 100.0;
                let first = (last - wide) / 2.0;
                let picks = f64::from(hot_picks_pct) / 100.0;
                let place = |uniform: f64| (first + uniform * (wide + 1.0)) / self.size;
                (hot_picks_pct > 0).then(|| Hot { picks, low: place(1.0 - picks), high: place(1.0) })
            }
            KeyDistribution::Special04 { hot_ids_pct, hot_picks_pct, .. } => {
                let half = (f64::from(hot_ids_pct) / 100.0).max(1.0 / self.size).min(1.0) / 2.0;
                let picks = 1.0 - 1.0 / f64::from(stretch_04(hot_picks_pct));
                Some(Hot { picks, low: 0.5 - half, high: 0.5 + half })
            }
            _ => None,
        }
    }

    /// How many of `size` rows, whose values are picks, are expected to hold the value of one more pick.
    #[must_use]
    pub fn rows_of_a_picked_value(&self) -> f64 {
        let edges = self.edges(1.0 / self.size);
        let parts = edges.windows(2).filter(|edge| edge[1] > edge[0]);
        parts
            .map(|edge| (self.cumulative(edge[1]) - self.cumulative(edge[0])).powi(2) / (edge[1] - edge[0]))
            .sum()
    }
}

/// Cumulative distribution of the mean of n uniforms on 0–1: exact (Irwin and Hall) for few, where the sum's terms
/// do not cancel, and normal with mean ½ and variance 1/(12 n) for many.
fn mean_of_uniforms_cdf(iterations: u32, x: f64) -> f64 {
    const MOST_EXACT: u32 = 20;
    if iterations > MOST_EXACT {
        let z = (x - 0.5) * (12.0 * f64::from(iterations)).sqrt();
        return 0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2));
    }
    if x > 0.5 {
        return 1.0 - mean_of_uniforms_cdf(iterations, 1.0 - x);
    }
    let (n, sum) = (f64::from(iterations), f64::from(iterations) * x);
    let mut coefficient = 1.0 / (1..=iterations).map(f64::from).product::<f64>();
    let mut total = 0.0;
    let mut k = 0.0;
    while k < sum {
        total += coefficient * (sum - k).powf(n);
        coefficient *= -(n - k) / (k + 1.0);
        k += 1.0;
    }
    total
}

/// Error function, Abramowitz and Stegun 7.1.26; absolute error below 1.5 × 10⁻⁷.
fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let poly = t
        * (0.254_829_592
            + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    (1.0 - poly * (-x * x).exp()).copysign(x)
}
