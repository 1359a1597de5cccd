//! Key distributions, as sysbench defines them.

mod density;
mod picker;
mod zipf;

use serde::{Deserialize, Serialize};

pub use density::Density;
pub use picker::KeyPicker;

/// How ids are picked from a range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyDistribution {
    /// Every id is as likely as any other.
    Uniform,
    /// A few ids in the middle are hot; the other picks are gaussian. As sysbench 1.x draws it: one uniform
    /// decides whether a pick is hot and where it falls, so that hot picks reach only the upper
    /// `hot_picks_pct` of the hot ids.
    Special {
        /// Uniforms whose mean makes a gaussian pick (`--rand-spec-iter`).
        iterations: u32,
        /// Share of ids that are hot, percent (`--rand-spec-pct`).
        hot_ids_pct: u32,
        /// Share of picks that go to them, percent (`--rand-spec-res`).
        hot_picks_pct: u32,
    },
    /// The same as sysbench 0.4 draws it: in whole numbers, over all of the hot ids.
    #[serde(rename = "special_04")]
    Special04 {
        /// Uniforms whose mean makes a gaussian pick (`--oltp-dist-iter`).
        iterations: u32,
        /// Share of ids that are hot, percent (`--oltp-dist-pct`).
        hot_ids_pct: u32,
        /// Share of picks that go to them, percent (`--oltp-dist-res`): 75 gives 3 of 4, but 60 gives 1 of 2.
        hot_picks_pct: u32,
    },
    /// The mean of several uniforms: a bell in the middle.
    Gaussian {
        /// Uniforms in the mean (`--rand-spec-iter`).
        iterations: u32,
    },
    /// A share `h` of the ids, the lowest, takes the share `1 - h` of the picks, and so on within it.
    Pareto {
        /// `--rand-pareto-h`, between 0 and 1.
        h: f64,
    },
    /// Id *n* is picked in proportion to *n* to the power −exponent.
    Zipfian {
        /// `--rand-zipfian-exp`, at least 0.
        exponent: f64,
    },
}

impl KeyDistribution {
    /// `special` with sysbench's defaults: 75 % of picks on 1 % of the ids.
    pub const SPECIAL: KeyDistribution =
        KeyDistribution::Special { iterations: 12, hot_ids_pct: 1, hot_picks_pct: 75 };
    /// The same in sysbench 0.4.
    pub const SPECIAL_04: KeyDistribution =
        KeyDistribution::Special04 { iterations: 12, hot_ids_pct: 1, hot_picks_pct: 75 };
    /// `gaussian` with its default.
    pub const GAUSSIAN: KeyDistribution = KeyDistribution::Gaussian { iterations: 12 };
    /// `pareto` with its default: a fifth of the ids takes four fifths of the picks.
    pub const PARETO: KeyDistribution = KeyDistribution::Pareto { h: 0.2 };
    /// `zipfian` with its default.
    pub const ZIPFIAN: KeyDistribution = KeyDistribution::Zipfian { exponent: 0.8 };

    /// sysbench's name (`--rand-type`).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KeyDistribution::Uniform => "uniform",
            KeyDistribution::Special { .. } | KeyDistribution::Special04 { .. } => "special",
            KeyDistribution::Gaussian { .. } => "gaussian",
            KeyDistribution::Pareto { .. } => "pareto",
            KeyDistribution::Zipfian { .. } => "zipfian",
        }
    }

    /// Whether the parameters are of those that sysbench takes.
    #[must_use]
    pub fn is_valid(self) -> bool {
        let iterations = |n: u32| (1..=1000).contains(&n);
        match self {
            KeyDistribution::Uniform => true,
            KeyDistribution::Special { iterations: n, hot_ids_pct, hot_picks_pct }
            | KeyDistribution::Special04 { iterations: n, hot_ids_pct, hot_picks_pct } => {
                iterations(n) && (1..=100).contains(&hot_ids_pct) && hot_picks_pct < 100
            }
            KeyDistribution::Gaussian { iterations: n } => iterations(n),
            KeyDistribution::Pareto { h } => h > 0.0 && h < 1.0,
            KeyDistribution::Zipfian { exponent } => (0.0..=100.0).contains(&exponent),
        }
    }
}

/// sysbench 0.4 stretches the range by this for picks that are hot: a whole number.
fn stretch_04(hot_picks_pct: u32) -> u32 {
    100 / 100_u32.saturating_sub(hot_picks_pct).max(1)
}

#[cfg(test)]
mod tests;
