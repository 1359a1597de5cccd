//! Drawing ids.

use super::zipf::Zipf;
use super::{KeyDistribution, stretch_04};
use crate::workload::random::WorkloadRng;

/// Draws from `low..=high` by one distribution.
#[derive(Debug, Clone, Copy)]
pub struct KeyPicker {
    low: u64,
    count: u64,
    rule: Rule,
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    Uniform,
    Special { iterations: u32, cold: f64, first_hot: f64, hot: f64 },
    Special04 { iterations: u32, hot: u64, first_hot: u64, stretch: u64 },
    Gaussian { iterations: u32 },
    Power(f64),
    Zipf(Zipf),
}

impl KeyPicker {
    /// A picker for `low..=high`.
    #[must_use]
    pub fn new(keys: KeyDistribution, low: u64, high: u64) -> Self {
        let count = high.saturating_sub(low).saturating_add(1);
        let rule = match keys {
            KeyDistribution::Uniform => Rule::Uniform,
            KeyDistribution::Special { iterations, hot_ids_pct, hot_picks_pct } => {
                let last = count.saturating_sub(1) as f64;
                let hot = last * f64::from(hot_ids_pct) / 100.0;
                let cold = 1.0 - f64::from(hot_picks_pct) / 100.0;
                Rule::Special { iterations, cold, first_hot: (last - hot) / 2.0, hot: hot + 1.0 }
            }
            KeyDistribution::Special04 { iterations, hot_ids_pct, hot_picks_pct } => {
                let share = u128::from(count) * u128::from(hot_ids_pct) / 100;
                let hot = u64::try_from(share).unwrap_or(count).clamp(1, count);
                let stretch = u64::from(stretch_04(hot_picks_pct));
                Rule::Special04 { iterations, hot, first_hot: (count - hot) / 2, stretch }
            }
            KeyDistribution::Gaussian { iterations } => Rule::Gaussian { iterations },
            KeyDistribution::Pareto { h } => Rule::Power(h.ln() / (1.0 - h).ln()),
            KeyDistribution::Zipfian { exponent } => Rule::Zipf(Zipf::new(exponent, count)),
        };
        Self { low, count, rule }
    }

    /// One id.
    pub fn pick(&self, rng: &mut WorkloadRng) -> u64 {
        let last = self.count - 1;
        let place = match self.rule {
            Rule::Uniform => rng.between(0, last),
            Rule::Special { iterations, cold, first_hot, hot } => {
                // One uniform for both, as sysbench does.
                let uniform = rng.unit();
                let place = match uniform < cold {
                    true => mean_of_units(rng, iterations) * last as f64,
                    false => first_hot + uniform * hot,
                };
                (place as u64).min(last)
            }
            Rule::Special04 { iterations, hot, first_hot, stretch } => match rng.between(1, stretch) {
                1 => mean_of_uniforms(rng, iterations, last),
                _ => first_hot + rng.between(0, hot - 1),
            },
            Rule::Gaussian { iterations } => mean_of_uniforms(rng, iterations, last),
            Rule::Power(power) => ((self.count as f64 * rng.unit().powf(power)) as u64).min(last),
            Rule::Zipf(zipf) => zipf.pick(rng) - 1,
        };
        self.low + place
    }
}

fn mean_of_units(rng: &mut WorkloadRng, iterations: u32) -> f64 {
    let sum: f64 = (0..iterations).map(|_| rng.unit()).sum();
    sum / f64::from(iterations.max(1))
}

fn mean_of_uniforms(rng: &mut WorkloadRng, iterations: u32, last: u64) -> u64 {
    let sum: u128 = (0..iterations).map(|_| u128::from(rng.between(0, last))).sum();
    u64::try_from(sum / u128::from(iterations.max(1))).unwrap_or(last)
}
