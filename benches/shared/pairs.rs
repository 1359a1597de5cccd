//! Ratios of paired measurements, for machines that drift: both of a pair are taken right after each other,
//! and what is told is the median of their ratios with a bound that assumes no distribution.

use std::fmt;

/// The median of ratios, and where the true one lies.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// Lower end of the bound.
    pub low: f64,
    /// Upper end of the bound.
    pub high: f64,
    /// How sure the bound is, 0 to 1: at least 0.95 from six pairs on.
    pub confidence: f64,
    /// Pairs that it rests on.
    pub pairs: usize,
}

impl Ratio {
    /// Of each pair the first over the second.
    ///
    /// The median of *n* values lies between the *k*-th smallest and the *k*-th largest with probability
    /// 1 − 2·P(B < k), B binomial with *n* trials of ½. Taken is the largest *k* with 0.95 or more.
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let mut ratios: Vec<f64> = pairs.iter().map(|(first, second)| first / second).collect();
        ratios.sort_by(f64::total_cmp);
        let n = ratios.len();
        let (mut k, mut outside) = (1, 0.5_f64.powi(n as i32));
        let mut term = outside;
        loop {
            term *= (n + 1 - k) as f64 / k as f64;
            if k + 1 > n.div_ceil(2) || 2.0 * (outside + term) > 0.05 {
                break;
            }
            outside += term;
            k += 1;
        }
        let median = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2.0;
        Self { median, low: ratios[k - 1], high: ratios[n - k], confidence: 1.0 - 2.0 * outside, pairs: n }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, low, high, confidence, pairs } = self;
        write!(f, "{median:.2} ({:.0} %: {low:.2} to {high:.2}; {pairs} pairs)", confidence * 100.0)
    }
}
