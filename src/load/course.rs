//! What the threads of a load share: when it begins and ends, and why.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::LoadError;
use super::arrivals::Arrivals;
use crate::protocol::clock::monotonic_ns;
use crate::protocol::job::StartJob;

/// How often a thread that waits for an arrival looks whether the interval is over.
const LOOK: Duration = Duration::from_millis(100);

/// What all threads of a load share.
#[derive(Debug)]
pub struct Course {
    /// When the parts begin.
    pub start: StartJob,
    /// When the measured interval ends; moves closer when events are done or a stop is asked for.
    end_ns: AtomicI64,
    /// Measured transactions so far.
    measured: AtomicU64,
    /// When the latest of them completed.
    latest_ns: AtomicI64,
    /// Leave now, whatever is in flight.
    abandon: AtomicBool,
    /// What arrives, in an open loop.
    pub arrivals: Option<Arrivals>,
    /// The first error that does not pass.
    failure: Mutex<Option<LoadError>>,
}

impl Course {
    /// The course of a load that starts as told.
    #[must_use]
    pub fn new(start: StartJob, arrivals: Option<Arrivals>) -> Self {
        Self {
            start,
            arrivals,
            end_ns: AtomicI64::new(start.end_ns.unwrap_or(i64::MAX)),
            measured: AtomicU64::new(0),
            latest_ns: AtomicI64::new(i64::MIN),
            abandon: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// When the measured interval ends, as far as is known now.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.end_ns.load(Ordering::Acquire)
    }

    /// Ends the interval at `at_ns` unless it has ended before.
    pub fn end_at(&self, at_ns: i64) {
        self.end_ns.fetch_min(at_ns, Ordering::AcqRel);
    }

    /// Whether the planned number of events has been measured.
    #[must_use]
    pub fn events_done(&self) -> bool {
        self.start.events.is_some_and(|events| self.measured.load(Ordering::Acquire) >= events)
    }

    /// Tells threads not to start anything again.
    pub fn abandon(&self) {
        self.abandon.store(true, Ordering::Release);
    }

    /// Whether an error that does not pass has ended it.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The first error that did not pass, if any.
    #[must_use]
    pub fn take_failure(&self) -> Option<LoadError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether threads were told not to start anything again.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.abandon.load(Ordering::Acquire)
    }

    /// Notes an error that does not pass, and ends the interval.
    pub fn fail(&self, error: LoadError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.end_at(monotonic_ns());
    }

    /// When the next transaction begins: at once in a closed loop, in an open one when it arrives, which may
    /// be past. `None` once the interval is over.
    #[must_use]
    pub fn next_start(&self) -> Option<i64> {
        let now_ns = monotonic_ns();
        let Some(arrivals) = &self.arrivals else {
            return (now_ns < self.end_ns()).then_some(now_ns);
        };
        let moment_ns = arrivals.take();
        loop {
            let (now_ns, end_ns) = (monotonic_ns(), self.end_ns());
            if now_ns >= end_ns {
                return None;
            }
            // What arrives after the end is waited for until the end, which may move closer meanwhile.
            let Ok(left @ 1..) = u64::try_from(moment_ns.min(end_ns) - now_ns) else {
                arrivals.begin();
                return Some(moment_ns);
            };
            thread::sleep(Duration::from_nanos(left).min(LOOK));
        }
    }

    /// Whether a transaction that completed at `at_ns` belongs to what is filed. An interval bounded by
    /// events ends with the latest of them, which need not be the one that is counted last.
    pub fn admits(&self, at_ns: i64) -> bool {
        if at_ns >= self.end_ns() {
            return false;
        }
        let Some(events) = self.start.events.filter(|_| at_ns >= self.start.t0_ns) else { return true };
        // In this order: whoever counts the last event sees the times of all.
        self.latest_ns.fetch_max(at_ns, Ordering::AcqRel);
        let before = self.measured.fetch_add(1, Ordering::AcqRel);
        if before + 1 == events {
            self.end_at(self.latest_ns.load(Ordering::Acquire) + 1);
        }
        before < events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(end_ns: Option<i64>, events: Option<u64>) -> Course {
        Course::new(StartJob { begin_ns: 0, t0_ns: 1_000, end_ns, events }, None)
    }

    #[test]
    fn events_are_counted_from_t0_and_end_the_interval() {
        let course = course(None, Some(2));
        assert!(course.admits(999), "warm-up does not count");
        assert!(course.admits(1_000) && !course.events_done());
        assert!(course.admits(1_500) && course.events_done());
        assert!(!course.admits(1_400), "one more than asked for, completed at the same moment");
        assert_eq!(course.end_ns(), 1_501);
        // Counted last, completed first.
        let course = self::course(None, Some(2));
        assert!(course.admits(1_800) && course.admits(1_700));
        assert_eq!(course.end_ns(), 1_801);
    }

    #[test]
    fn whichever_bound_comes_first() {
        let course = course(Some(2_000), Some(10));
        assert!(course.admits(1_999));
        assert!(!course.admits(2_000));
        course.end_at(1_500);
        course.end_at(1_800);
        assert_eq!(course.end_ns(), 1_500);
    }
}
