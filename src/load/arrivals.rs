//! Open loop: transactions that arrive whether or not earlier ones are done.

use std::sync::{Mutex, PoisonError};

use crate::protocol::clock::SECOND_NS;
use crate::workload::random::WorkloadRng;

/// Moments at which transactions arrive: the gaps are exponential, so that a mean of `rate` arrive in a second.
#[derive(Debug, Clone)]
struct Moments {
    rng: WorkloadRng,
    gap_ns: f64,
    /// The next moment, ns; kept with its fraction.
    next_ns: f64,
}

impl Moments {
    fn new(rng: WorkloadRng, rate_per_s: u32, begin_ns: i64) -> Self {
        let gap_ns = SECOND_NS as f64 / f64::from(rate_per_s.max(1));
        let mut moments = Self { rng, gap_ns, next_ns: begin_ns as f64 };
        moments.advance();
        moments
    }

    fn advance(&mut self) {
        self.next_ns -= self.gap_ns * (1.0 - self.rng.unit()).ln();
    }

    fn take(&mut self) -> i64 {
        let moment = self.next_ns as i64;
        self.advance();
        moment
    }
}

/// The queue of one instance. Load threads take arrivals in order; those whose moment has passed have waited.
#[derive(Debug)]
pub struct Arrivals {
    first: Moments,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Of the arrivals that nobody has taken.
    moments: Moments,
    /// Arrivals that a thread has begun with.
    begun: u64,
    /// The same moments, as far as they have been counted.
    counted: Moments,
    arrived: u64,
}

impl Arrivals {
    /// Arrivals from `begin_ns` on.
    #[must_use]
    pub fn new(rng: WorkloadRng, rate_per_s: u32, begin_ns: i64) -> Self {
        let first = Moments::new(rng, rate_per_s, begin_ns);
        let state = State { moments: first.clone(), begun: 0, counted: first.clone(), arrived: 0 };
        Self { first, state: Mutex::new(state) }
    }

    /// The moment of the next arrival, which is now the caller's.
    pub fn take(&self) -> i64 {
        self.lock().moments.take()
    }

    /// The caller begins with what it took.
    pub fn begin(&self) {
        self.lock().begun += 1;
    }

    /// How many have arrived by a moment and not begun. Moments must not go back.
    pub fn queued_at(&self, moment_ns: i64) -> u64 {
        let mut state = self.lock();
        while state.counted.next_ns < moment_ns as f64 {
            state.counted.advance();
            state.arrived += 1;
        }
        state.arrived.saturating_sub(state.begun)
    }

    /// The same at the end, with how long the oldest has waited, ns.
    pub fn unserved_at(&self, end_ns: i64) -> (u64, u64) {
        let queued = self.queued_at(end_ns);
        let begun = self.lock().begun;
        let mut oldest = self.first.clone();
        (0..begun).for_each(|_| oldest.advance());
        let waited = u64::try_from(end_ns - oldest.next_ns as i64).unwrap_or(0);
        (queued, if queued > 0 { waited } else { 0 })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(rate: u32) -> Arrivals {
        Arrivals::new(WorkloadRng::new(3, 1), rate, 1_000)
    }

    #[test]
    fn a_rate_is_kept_on_average_and_gaps_are_exponential() {
        let arrivals = arrivals(1_000);
        let moments: Vec<i64> = (0..100_000).map(|_| arrivals.take()).collect();
        assert!(moments.is_sorted() && moments[0] > 1_000);
        let seconds = *moments.last().unwrap() as f64 / 1e9;
        assert!((99.0..101.0).contains(&seconds), "{seconds}");
        // e⁻¹ of the gaps are longer than the mean.
        let long = moments.windows(2).filter(|pair| pair[1] - pair[0] > 1_000_000).count();
        assert!((36_000..37_600).contains(&long), "{long}");
    }

    #[test]
    fn what_nobody_begins_with_queues() {
        let arrivals = arrivals(1_000);
        let second = arrivals.queued_at(SECOND_NS);
        assert!((900..1100).contains(&second), "{second}");
        let taken: Vec<i64> = (0..10).map(|_| arrivals.take()).collect();
        (0..10).for_each(|_| arrivals.begin());
        assert_eq!(arrivals.queued_at(SECOND_NS), second - 10);
        let (queued, waited_ns) = arrivals.unserved_at(2 * SECOND_NS);
        assert!(queued > second);
        let oldest = 2 * SECOND_NS - i64::try_from(waited_ns).unwrap();
        assert!(oldest > taken[9] && oldest < taken[9] + 50_000_000, "{oldest} {taken:?}");
    }

    #[test]
    fn nothing_queues_that_has_begun() {
        let arrivals = arrivals(10);
        let moment = arrivals.take();
        assert_eq!(arrivals.queued_at(moment), 0);
        arrivals.begin();
        assert_eq!(arrivals.unserved_at(moment + 1), (0, 0));
    }
}
