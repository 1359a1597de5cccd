//! The zipfian distribution, drawn by rejection-inversion (Hörmann and Derflinger, 1996): no table, and
//! little more than one uniform a pick.

use crate::workload::random::WorkloadRng;

/// Ranks 1 to n, rank k in proportion to k to the power −s.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    exponent: f64,
    count: u64,
    /// The integral of the density up to 1.5, less the first rank's weight.
    low: f64,
    /// The integral up to n + ½.
    high: f64,
    /// A candidate this close to its rank is accepted at once.
    near: f64,
}

impl Zipf {
    pub fn new(exponent: f64, count: u64) -> Self {
        let integral = |x: f64| integral(exponent, x);
        Self {
            exponent,
            count,
            low: integral(1.5) - 1.0,
            high: integral(count as f64 + 0.5),
            near: 2.0 - inverse(exponent, integral(2.5) - density(exponent, 2.0)),
        }
    }

    pub fn pick(&self, rng: &mut WorkloadRng) -> u64 {
        loop {
            let area = self.high + rng.unit() * (self.low - self.high);
            let x = inverse(self.exponent, area);
            let rank = ((x + 0.5) as u64).clamp(1, self.count);
            let k = rank as f64;
            let is_in =
                k - x <= self.near || area >= integral(self.exponent, k + 0.5) - density(self.exponent, k);
            if is_in {
                return rank;
            }
        }
    }
}

/// Weight of ranks up to `k`, in units of the first rank's. Ranks after the first by the midpoint rule, which
/// is within 0.5 %.
pub(super) fn weight(exponent: f64, k: f64) -> f64 {
    match k < 1.0 {
        true => k.max(0.0),
        false => 1.0 + integral(exponent, k + 0.5) - integral(exponent, 1.5),
    }
}

fn density(exponent: f64, x: f64) -> f64 {
    (-exponent * x.ln()).exp()
}

/// The integral of x to the power −s, from 1, also where s is 1.
fn integral(exponent: f64, x: f64) -> f64 {
    let log = x.ln();
    let y = (1.0 - exponent) * log;
    log * if y.abs() > 1e-8 { y.exp_m1() / y } else { 1.0 + y / 2.0 }
}

fn inverse(exponent: f64, area: f64) -> f64 {
    let y = (area * (1.0 - exponent)).max(-1.0);
    (area * if y.abs() > 1e-8 { y.ln_1p() / y } else { 1.0 - y / 2.0 }).exp()
}
