//! One load thread: transactions back to back until the interval is over.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use super::LoadError;
use super::connection::{FailedStatement, LoadConnection};
use super::recorder::{Completed, Recorder, StatementCounts};
use crate::protocol::clock::monotonic_ns;
use crate::protocol::job::StartJob;
use crate::workload::oltp::OltpReadWrite;
use crate::workload::random::Streams;

/// Errors that sysbench ignores by default: deadlock, lock-wait time-out, record changed. The
/// transaction starts again inside the same latency.
const RESTARTING: [u16; 3] = [1213, 1205, 1020];
/// A deadlock has rolled the transaction back already; after the others it is still open.
const ROLLED_BACK: u16 = 1213;

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
    /// The first error that does not pass.
    failure: Mutex<Option<LoadError>>,
}

impl Course {
    /// The course of a load that starts as told.
    #[must_use]
    pub fn new(start: StartJob) -> Self {
        Self {
            start,
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

    fn fail(&self, error: LoadError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.end_at(monotonic_ns());
    }

    /// Whether a transaction that completed at `at_ns` belongs to what is filed. An interval bounded by
    /// events ends with the latest of them, which need not be the one that is counted last.
    fn admits(&self, at_ns: i64) -> bool {
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

/// What a thread leaves for the collector.
#[derive(Debug)]
pub struct Desk {
    /// Finished transactions.
    pub recorder: Recorder,
    /// When the thread began; 0 before.
    began_ns: AtomicI64,
    /// When the transaction in flight began; 0 between transactions.
    in_flight_since_ns: AtomicI64,
    /// When the transaction began that completed after the interval; 0 if none did.
    outlasting_since_ns: AtomicI64,
    /// What the transaction in flight at T0 had taken by then; 0 if none was.
    carried_in_ns: AtomicU64,
    /// Commits from first to last.
    commits: AtomicU64,
    /// When the thread ended; 0 while it runs.
    finished_ns: AtomicI64,
}

impl Desk {
    /// A desk whose recording starts with `first_second`.
    #[must_use]
    pub fn new(first_second: i64) -> Self {
        Self {
            recorder: Recorder::new(first_second),
            began_ns: AtomicI64::new(0),
            in_flight_since_ns: AtomicI64::new(0),
            outlasting_since_ns: AtomicI64::new(0),
            carried_in_ns: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            finished_ns: AtomicI64::new(0),
        }
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

    /// Commits so far.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
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

/// A connected thread that waits for its start.
pub struct Worker<'a> {
    /// Number, from 1.
    pub thread: u32,
    /// Its connection.
    pub connection: LoadConnection,
    /// Its transactions.
    pub workload: OltpReadWrite,
    /// Its random numbers.
    pub streams: Streams,
    /// What it shares.
    pub course: &'a Course,
    /// What it leaves.
    pub desk: &'a Desk,
}

impl Worker<'_> {
    /// Runs until the interval is over or an error does not pass.
    pub fn run(mut self) {
        if let Err(error) = self.transactions() {
            self.course.fail(error);
        }
        self.desk.finished_ns.store(monotonic_ns(), Ordering::Release);
    }

    fn transactions(&mut self) -> Result<(), LoadError> {
        let mut statements = Vec::new();
        let mut errors = Vec::new();
        loop {
            let began_ns = monotonic_ns();
            if began_ns >= self.course.end_ns() {
                return Ok(());
            }
            self.desk.in_flight_since_ns.store(began_ns, Ordering::Release);
            errors.clear();
            let mut counts = StatementCounts::default();
            loop {
                self.workload.next_transaction(&mut self.streams, &mut statements);
                match self.connection.transaction(&statements, &mut counts) {
                    Ok(()) => break,
                    Err(failed) => errors.push(self.restart_after(failed)?),
                }
                if self.course.abandon.load(Ordering::Acquire) {
                    return Ok(());
                }
            }
            self.desk.commits.fetch_add(1, Ordering::AcqRel);
            self.file(began_ns, counts, &errors);
        }
    }

    /// Makes ready for another attempt, or says why there is none.
    fn restart_after(&mut self, failed: FailedStatement) -> Result<u16, LoadError> {
        let FailedStatement { text, source } = failed;
        let code = match &source {
            mysql::Error::MySqlError(error) if RESTARTING.contains(&error.code) => error.code,
            _ => return Err(self.stopped_at(text, source)),
        };
        if code != ROLLED_BACK {
            self.connection.roll_back().map_err(|error| self.stopped_at("ROLLBACK".to_owned(), error))?;
        }
        Ok(code)
    }

    fn stopped_at(&self, statement: String, source: mysql::Error) -> LoadError {
        LoadError::Statement { thread: self.thread, statement, source }
    }

    fn file(&self, began_ns: i64, counts: StatementCounts, errors: &[u16]) {
        let ended_ns = monotonic_ns();
        let t0_ns = self.course.start.t0_ns;
        if self.course.admits(ended_ns) {
            if let (true, Ok(carried_in)) = (ended_ns >= t0_ns, u64::try_from(t0_ns - began_ns)) {
                self.desk.carried_in_ns.store(carried_in, Ordering::Release);
            }
            self.desk.recorder.file(&Completed {
                at_ns: ended_ns - t0_ns,
                latency_ns: u64::try_from(ended_ns - began_ns).unwrap_or(0),
                counts,
                errors,
            });
        } else {
            // The first one only: the end may not be known yet, and another may begin after it.
            let outlasting = &self.desk.outlasting_since_ns;
            let _ = outlasting.compare_exchange(0, began_ns, Ordering::AcqRel, Ordering::Acquire);
        }
        self.desk.in_flight_since_ns.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(end_ns: Option<i64>, events: Option<u64>) -> Course {
        Course::new(StartJob { begin_ns: 0, t0_ns: 1_000, end_ns, events })
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
