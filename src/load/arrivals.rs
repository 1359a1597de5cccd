//! Open loop: transactions that arrive whether or not earlier ones are done.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::protocol::clock::{SECOND_NS, monotonic_ns};
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
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Of the arrivals that nobody has taken.
    moments: Moments,
    /// Of the arrivals that nobody has begun with: as many have been passed as have been begun with.
    waiting: Moments,
    /// The same moments, as far as they have been counted.
    counted: Moments,
    arrived: u64,
    /// Arrivals that a thread had begun with by then.
    begun: u64,
    /// When threads have begun since, in order.
    since: VecDeque<i64>,
}

impl Arrivals {
    /// Arrivals from `begin_ns` on.
    #[must_use]
    pub fn new(rng: WorkloadRng, rate_per_s: u32, begin_ns: i64) -> Self {
        let first = Moments::new(rng, rate_per_s, begin_ns);
        let state = State {
            moments: first.clone(),
            waiting: first.clone(),
            counted: first,
            arrived: 0,
            begun: 0,
            since: VecDeque::new(),
        };
        Self { state: Mutex::new(state) }
    }

    /// The moment of the next arrival, which is now the caller's.
    pub fn take(&self) -> i64 {
        self.lock().moments.take()
    }

    /// The caller begins with what it took, now.
    pub fn begin(&self) {
        let mut state = self.lock();
        // Read under the lock, so that these moments are in order.
        state.since.push_back(monotonic_ns());
        state.waiting.advance();
    }

    /// How many have arrived by a moment and not begun. Moments must not go back.
    pub fn queued_at(&self, moment_ns: i64) -> u64 {
        let mut state = self.lock();
        while state.counted.next_ns < moment_ns as f64 {
            state.counted.advance();
            state.arrived += 1;
        }
        while state.since.front().is_some_and(|began_ns| *began_ns < moment_ns) {
            state.since.pop_front();
            state.begun += 1;
        }
        state.arrived.saturating_sub(state.begun)
    }

    /// The same at the end, with how long the oldest has waited, ns.
    pub fn unserved_at(&self, end_ns: i64) -> (u64, u64) {
        let queued = self.queued_at(end_ns);
        let waited = u64::try_from(end_ns - self.lock().waiting.next_ns as i64).unwrap_or(0);
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
        let begin_ns = monotonic_ns();
        let arrivals = Arrivals::new(WorkloadRng::new(3, 1), 1_000, begin_ns);
        let at = |seconds: i64| begin_ns + seconds * SECOND_NS;
        let second = arrivals.queued_at(at(1));
        assert!((900..1100).contains(&second), "{second}");
        let taken: Vec<i64> = (0..10).map(|_| arrivals.take()).collect();
        (0..10).for_each(|_| arrivals.begin());
        assert_eq!(arrivals.queued_at(at(1)), second - 10);
        let (queued, waited_ns) = arrivals.unserved_at(at(2));
        assert!(queued > second);
        let oldest = at(2) - i64::try_from(waited_ns).unwrap();
        assert!(oldest > taken[9] && oldest < taken[9] + 50_000_000, "{oldest} {taken:?}");
    }

    #[test]
    fn what_begins_after_a_moment_was_queued_then() {
        let begin_ns = monotonic_ns() - 3 * SECOND_NS;
        let arrivals = Arrivals::new(WorkloadRng::new(3, 1), 100, begin_ns);
        (0..50).for_each(|_| arrivals.begin());
        let then = arrivals.queued_at(begin_ns + SECOND_NS);
        assert!((60..140).contains(&then), "{then}");
        assert!(arrivals.queued_at(monotonic_ns()) < then + 200 - 50 + 60);
    }

    #[test]
    fn what_has_begun_does_not_queue() {
        let arrivals = Arrivals::new(WorkloadRng::new(3, 1), 10, monotonic_ns() - SECOND_NS);
        let (queued, waited_ns) = arrivals.unserved_at(monotonic_ns());
        assert!(queued > 1 && waited_ns > 0, "{queued} {waited_ns}");
        (0..queued).for_each(|_| arrivals.begin());
        assert_eq!(arrivals.unserved_at(monotonic_ns()), (0, 0));
    }
}
