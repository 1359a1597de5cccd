//! Whether an open loop kept up with what arrived.

/// Share of the asked rate that counts as kept.
const KEPT: f64 = 0.99;
/// Standard deviations of a Poisson count that are chance.
const CHANCE: f64 = 4.0;

/// Whether so many transactions completed in `seconds` are what arrives at `rate_per_s`, but for a hundredth and for
/// chance: the number of arrivals has a variance of its own mean.
#[must_use]
pub fn is_kept(rate_per_s: f64, seconds: f64, completed: u64) -> bool {
    completed as f64 >= least_kept(rate_per_s, seconds)
}

/// The fewest transactions that count as kept; below 0 where chance allows for none.
#[must_use]
pub fn least_kept(rate_per_s: f64, seconds: f64) -> f64 {
    let asked = rate_per_s * seconds;
    KEPT * asked - CHANCE * asked.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_allowed_for_and_saturation_is_not() {
        assert!(is_kept(1_000.0, 60.0, 59_800));
        assert!(is_kept(1_000.0, 60.0, 70_000));
        assert!(!is_kept(1_000.0, 60.0, 58_000));
        assert!(is_kept(10.0, 10.0, 70), "few arrivals vary much");
        assert!(!is_kept(10.0, 10.0, 50));
    }
}
