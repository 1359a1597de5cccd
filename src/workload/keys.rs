//! Key distributions, as sysbench defines them.

use serde::{Deserialize, Serialize};

use super::random::WorkloadRng;

/// How ids are picked from `1..=table_size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyDistribution {
    /// Every id is as likely as any other.
    Uniform,
    /// sysbench's `special`: 75 % of picks fall on the 1 % of ids in the middle of the table,
    /// uniformly; the rest follow the mean of twelve uniforms over the whole table.
    Special,
}

/// Uniforms that `special` averages (sysbench's `--rand-spec-iter`).
const SPECIAL_ITERATIONS: u64 = 12;
/// Share of ids that are hot, in percent (`--rand-spec-pct`).
const SPECIAL_HOT_IDS_PCT: u64 = 1;
/// Share of picks that go to hot ids, in percent (`--rand-spec-res`).
const SPECIAL_HOT_PICKS_PCT: u64 = 75;

impl KeyDistribution {
    /// Every distribution, for messages that list the choices.
    pub const ALL: [KeyDistribution; 2] = [KeyDistribution::Uniform, KeyDistribution::Special];

    /// sysbench's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KeyDistribution::Uniform => "uniform",
            KeyDistribution::Special => "special",
        }
    }

    /// One id from `1..=table_size`.
    pub fn pick(self, rng: &mut WorkloadRng, table_size: u64) -> u64 {
        match self {
            KeyDistribution::Uniform => rng.between(1, table_size),
            KeyDistribution::Special => pick_special(rng, table_size),
        }
    }

    /// The probability that a pick falls on the lowest `share` (0–1) of the ids.
    ///
    /// The normal approximation of the mean of twelve uniforms is within 0.3 % everywhere.
    #[must_use]
    pub fn cumulative(self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        match self {
            KeyDistribution::Uniform => share,
            KeyDistribution::Special => {
                let (low, high) = Self::hot_range();
                let hot = ((share - low) / (high - low)).clamp(0.0, 1.0);
                let hot_picks = SPECIAL_HOT_PICKS_PCT as f64 / 100.0;
                hot_picks * hot + (1.0 - hot_picks) * mean_of_twelve_cdf(share)
            }
        }
    }

    /// Where, as shares of the id range, the density jumps: a grid must have edges there.
    #[must_use]
    pub fn breakpoints(self) -> Vec<f64> {
        match self {
            KeyDistribution::Uniform => vec![],
            KeyDistribution::Special => {
                let (low, high) = Self::hot_range();
                vec![low, high]
            }
        }
    }

    fn hot_range() -> (f64, f64) {
        let half = SPECIAL_HOT_IDS_PCT as f64 / 200.0;
        (0.5 - half, 0.5 + half)
    }
}

fn pick_special(rng: &mut WorkloadRng, table_size: u64) -> u64 {
    if rng.between(1, 100) <= SPECIAL_HOT_PICKS_PCT {
        let hot = (table_size * SPECIAL_HOT_IDS_PCT / 100).max(1);
        let first = (table_size - hot) / 2 + 1;
        return rng.between(first, first + hot - 1);
    }
    let sum: u128 = (0..SPECIAL_ITERATIONS).map(|_| u128::from(rng.between(1, table_size))).sum();
    u64::try_from(sum / u128::from(SPECIAL_ITERATIONS)).unwrap_or(table_size)
}

/// Cumulative distribution of the mean of twelve uniforms on 0–1: normal, mean ½, variance 1/144.
fn mean_of_twelve_cdf(x: f64) -> f64 {
    let z = (x - 0.5) * 12.0;
    0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2))
}

/// Error function, Abramowitz and Stegun 7.1.26; absolute error below 1.5 × 10⁻⁷.
fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let poly = t
        * (0.254_829_592
            + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    (1.0 - poly * (-x * x).exp()).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws `n` picks and compares the share in each of ten bins with the stated distribution.
    fn assert_follows_cdf(keys: KeyDistribution) {
        let (n, size) = (200_000_u64, 100_000_u64);
        let mut rng = WorkloadRng::new(11, 3);
        let edges = [0.0, 0.3, 0.4, 0.45, 0.495, 0.5, 0.505, 0.55, 0.6, 0.7, 1.0];
        let mut counts = [0_u64; 10];
        for _ in 0..n {
            let id = keys.pick(&mut rng, size);
            assert!((1..=size).contains(&id));
            let x = (id as f64 - 0.5) / size as f64;
            counts[edges.iter().rposition(|&e| x >= e).unwrap().min(9)] += 1;
        }
        let chi_square: f64 = (0..10)
            .map(|i| {
                let expected = n as f64 * (keys.cumulative(edges[i + 1]) - keys.cumulative(edges[i]));
                (counts[i] as f64 - expected).powi(2) / expected.max(1.0)
            })
            .sum();
        // 9 degrees of freedom: 40 is beyond the 0.001 % point; the seed is fixed.
        assert!(chi_square < 40.0, "{keys:?}: chi² {chi_square}, counts {counts:?}");
    }

    #[test]
    fn uniform_follows_its_cdf() {
        assert_follows_cdf(KeyDistribution::Uniform);
    }

    #[test]
    fn special_follows_its_cdf() {
        assert_follows_cdf(KeyDistribution::Special);
    }

    #[test]
    fn tiny_tables_stay_in_range() {
        let mut rng = WorkloadRng::new(1, 1);
        for size in 1..30 {
            for keys in KeyDistribution::ALL {
                for _ in 0..50 {
                    assert!((1..=size).contains(&keys.pick(&mut rng, size)));
                }
            }
        }
    }
}
