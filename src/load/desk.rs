//! What a load thread leaves for the collector.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use super::course::Course;
use super::recorder::{Completed, Recorder};
use crate::protocol::clock::monotonic_ns;
use crate::protocol::event::ThreadTotals;

/// What a thread leaves for the collector.
#[derive(Debug)]
pub struct Desk {
    /// Finished transactions.
    pub recorder: Recorder,
    /// Its connection's number at the server.
    connection: AtomicU32,
    /// When the thread began; 0 before.
    began_ns: AtomicI64,
    /// When the transaction in flight began; 0 between transactions.
    in_flight_since_ns: AtomicI64,
    /// When the transaction began that completed after the interval; 0 if none did.
    outlasting_since_ns: AtomicI64,
    /// What the transaction in flight at T0 had taken by then; 0 if none was.
    carried_in_ns: AtomicU64,
    /// Statements that the server's counter counts as well, from first to last.
    counted: AtomicU64,
    /// Rows inserted less rows deleted, from first to last.
    rows_added: AtomicI64,
    /// Measured transactions.
    events: AtomicU64,
    /// Their latencies, summed, ns.
    busy_ns: AtomicU64,
    /// When the thread ended; 0 while it runs.
    finished_ns: AtomicI64,
}

impl Desk {
    /// A desk whose recording starts with `first_second`.
    #[must_use]
    pub fn new(first_second: i64) -> Self {
        Self {
            recorder: Recorder::new(first_second),
            connection: AtomicU32::new(0),
            began_ns: AtomicI64::new(0),
            in_flight_since_ns: AtomicI64::new(0),
            outlasting_since_ns: AtomicI64::new(0),
            carried_in_ns: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            rows_added: AtomicI64::new(0),
            events: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            finished_ns: AtomicI64::new(0),
        }
    }

    /// Notes the thread's connection.
    pub fn set_connection(&self, id: u32) {
        self.connection.store(id, Ordering::Release);
    }

    /// The thread's connection, by its number at the server.
    #[must_use]
    pub fn connection(&self) -> u32 {
        self.connection.load(Ordering::Acquire)
    }

    /// Notes that the thread begins now.
    pub fn begin(&self) {
        self.began_ns.store(monotonic_ns(), Ordering::Release);
    }

    /// When the thread began, once it has.
    #[must_use]
    pub fn began_ns(&self) -> Option<i64> {
        Some(self.began_ns.load(Ordering::Acquire)).filter(|&at_ns| at_ns != 0)
    }

    /// Statements counted so far that the server's counter counts as well.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.counted.load(Ordering::Acquire)
    }

    /// Rows inserted less rows deleted so far.
    #[must_use]
    pub fn rows_added(&self) -> i64 {
        self.rows_added.load(Ordering::Acquire)
    }

    /// What the thread did in the measured interval so far.
    #[must_use]
    pub fn totals(&self) -> ThreadTotals {
        let (events, busy_ns) = (self.events.load(Ordering::Acquire), self.busy_ns.load(Ordering::Acquire));
        ThreadTotals { events, busy_ns }
    }

    /// A statement has succeeded.
    pub fn count(&self, statements: u64, rows_added: i64) {
        // The thread is the only writer.
        self.counted.store(self.counted.load(Ordering::Relaxed) + statements, Ordering::Release);
        self.rows_added.store(self.rows_added.load(Ordering::Relaxed) + rows_added, Ordering::Release);
    }

    /// A transaction begins; what it is, is not known yet.
    pub fn set_in_flight(&self, since_ns: i64) {
        self.in_flight_since_ns.store(since_ns, Ordering::Release);
    }

    /// The thread ends.
    pub fn finish(&self) {
        self.finished_ns.store(monotonic_ns(), Ordering::Release);
    }

    /// Files a transaction that completed, if it belongs to what is filed.
    pub fn file(&self, course: &Course, began_ns: i64, ended_ns: i64, completed: &Completed) {
        let t0_ns = course.start.t0_ns;
        if course.admits(ended_ns) {
            if ended_ns >= t0_ns {
                if let Ok(carried_in) = u64::try_from(t0_ns - began_ns) {
                    self.carried_in_ns.store(carried_in, Ordering::Release);
                }
                self.events.store(self.events.load(Ordering::Relaxed) + 1, Ordering::Release);
                let busy_ns = self.busy_ns.load(Ordering::Relaxed).saturating_add(completed.latency_ns);
                self.busy_ns.store(busy_ns, Ordering::Release);
            }
            self.recorder.file(completed);
        } else {
            // The first one only: the end may not be known yet, and another may begin after it.
            let outlasting = &self.outlasting_since_ns;
            let _ = outlasting.compare_exchange(0, began_ns, Ordering::AcqRel, Ordering::Acquire);
        }
        self.in_flight_since_ns.store(0, Ordering::Release);
    }

    /// What the transaction in flight at T0 had taken by then, ns.
    #[must_use]
    pub fn carried_in_ns(&self) -> u64 {
        self.carried_in_ns.load(Ordering::Acquire)
    }

    /// Whether its thread has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished_ns.load(Ordering::Acquire) != 0
    }

    /// Whether its thread was running at a moment.
    #[must_use]
    pub fn was_running_at(&self, moment_ns: i64) -> bool {
        let finished_ns = self.finished_ns.load(Ordering::Acquire);
        let began = self.began_ns().is_some_and(|began_ns| began_ns <= moment_ns);
        began && (finished_ns == 0 || finished_ns >= moment_ns)
    }

    /// Age at `end_ns` of the transaction that was in flight then.
    #[must_use]
    pub fn in_flight_at(&self, end_ns: i64) -> Option<u64> {
        let outlasting = self.outlasting_since_ns.load(Ordering::Acquire);
        let since =
            if outlasting != 0 { outlasting } else { self.in_flight_since_ns.load(Ordering::Acquire) };
        u64::try_from(end_ns - since).ok().filter(|&age| since != 0 && age > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_at_the_end_has_an_age() {
        let desk = Desk::new(0);
        assert_eq!(desk.in_flight_at(100), None);
        desk.in_flight_since_ns.store(40, Ordering::Release);
        assert_eq!(desk.in_flight_at(100), Some(60));
        assert_eq!(desk.in_flight_at(40), None, "it began with the end");
        desk.outlasting_since_ns.store(30, Ordering::Release);
        assert_eq!(desk.in_flight_at(100), Some(70));
    }
}
