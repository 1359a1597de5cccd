//! Beside the load threads: gathers what they leave, second by second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::course::Course;
use super::desk::Desk;
use super::recorder::Slot;
use super::statements::StatementLatencies;
use crate::protocol::clock::{SECOND_NS, monotonic_ns};
use crate::protocol::event::{Event, LoadEndCause, LoadEnded, LoadSecond, StatementCount};

/// A second is collected this long after it is over, so that threads have filed what completed in it.
const GRACE_NS: i64 = 100_000_000;
/// Longest wait for transactions in flight at the end: a stuck server holds a run no longer.
const DRAIN_NS: i64 = 10 * SECOND_NS;
/// How often the collector looks whether to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Seconds between latencies by kind of statement.
const STATEMENTS_EVERY_S: i64 = 10;

/// Empties the threads' slots second by second.
pub struct Collector<'a> {
    course: &'a Course,
    desks: &'a [Arc<Desk>],
    total: Slot,
    /// The next second to collect.
    next: i64,
    told_start: bool,
    filed_late: u64,
    saturated: u64,
    statements: StatementLatencies,
    stop: &'a AtomicBool,
    emit: &'a dyn Fn(Event),
}

impl<'a> Collector<'a> {
    /// A collector that begins with `first_second`.
    #[must_use]
    pub fn new(
        course: &'a Course,
        desks: &'a [Arc<Desk>],
        first_second: i64,
        stop: &'a AtomicBool,
        emit: &'a dyn Fn(Event),
    ) -> Self {
        Self {
            course,
            desks,
            total: Slot::new(first_second),
            next: first_second,
            told_start: false,
            filed_late: 0,
            saturated: 0,
            statements: StatementLatencies::default(),
            stop,
            emit,
        }
    }

    /// Emits every second that is over, until the one in which the interval ends.
    pub fn collect_until_end(&mut self) {
        loop {
            if self.stop.load(Ordering::Acquire) {
                self.course.end_at(monotonic_ns());
            }
            self.tell_start();
            let now = monotonic_ns();
            let end_ns = self.course.end_ns();
            let second_end_ns = self.course.start.t0_ns + (self.next + 1) * SECOND_NS;
            if second_end_ns.min(end_ns) + GRACE_NS <= now {
                if second_end_ns >= end_ns {
                    return;
                }
                self.emit_second(SECOND_NS.unsigned_abs());
                continue;
            }
            thread::sleep(LOOK);
        }
    }

    /// Emits the moment at which the last thread began, once it is known.
    fn tell_start(&mut self) {
        if self.told_start {
            return;
        }
        let began: Option<Vec<i64>> = self.desks.iter().map(|desk| desk.began_ns()).collect();
        if let Some(began_ns) = began.and_then(|began| began.into_iter().max()) {
            (self.emit)(Event::LoadStarted { began_ns });
            self.told_start = true;
        }
    }

    /// Emits the second in which the interval ended. Every thread has filed what it completed by then.
    pub fn collect_last(&mut self) {
        let begin_ns = self.course.start.t0_ns + self.next * SECOND_NS;
        if let Ok(length_ns @ 1..) = u64::try_from(self.course.end_ns() - begin_ns) {
            self.collect();
            for desk in self.desks {
                desk.recorder.collect_late(&mut self.total);
            }
            self.emit(length_ns);
        }
        self.emit_statements();
    }

    fn emit_second(&mut self, length_ns: u64) {
        self.collect();
        self.emit(length_ns);
        if self.next > 0 && self.next % STATEMENTS_EVERY_S == 0 {
            self.emit_statements();
        }
    }

    fn emit_statements(&mut self) {
        for desk in self.desks {
            desk.recorder.collect_statements(&mut self.statements);
        }
        let filed = self.statements.take_records();
        if !filed.is_empty() {
            (self.emit)(Event::LoadStatements(filed));
        }
    }

    fn collect(&mut self) {
        self.total.reuse(self.next);
        for desk in self.desks {
            desk.recorder.collect(self.next, &mut self.total);
        }
    }

    fn emit(&mut self, length_ns: u64) {
        self.filed_late += self.total.filed_late;
        self.saturated += self.total.latency.saturated();
        let end_ns =
            self.course.start.t0_ns + self.next * SECOND_NS + i64::try_from(length_ns).unwrap_or(SECOND_NS);
        let running = self.desks.iter().filter(|desk| desk.was_running_at(end_ns)).count();
        (self.emit)(Event::LoadSecond(LoadSecond {
            second: self.next,
            length_ns,
            threads: u32::try_from(running).unwrap_or(u32::MAX),
            latency: self.total.latency.to_record(),
            reads: self.total.counts.reads,
            writes: self.total.counts.writes,
            other: self.total.counts.other,
            errors: self.total.errors.clone(),
            reconnects: self.total.reconnects,
            queued: self.course.arrivals.as_ref().map(|arrivals| arrivals.queued_at(end_ns)),
        }));
        self.next += 1;
    }

    /// Waits for transactions in flight, but not for ever.
    pub fn drain(&self) {
        let deadline = monotonic_ns() + DRAIN_NS;
        while !self.desks.iter().all(|desk| desk.is_finished()) && monotonic_ns() < deadline {
            thread::sleep(LOOK);
        }
        self.course.abandon();
    }

    /// How the load ended. The server's counter was read before and after.
    #[must_use]
    pub fn ended(&self, counter: &str, server: Option<(i64, i64)>) -> LoadEnded {
        let (start, end_ns) = (&self.course.start, self.course.end_ns());
        let cause = if self.course.failed() {
            LoadEndCause::Failed
        } else if self.course.events_done() {
            LoadEndCause::Events
        } else if Some(end_ns) == start.end_ns {
            LoadEndCause::Time
        } else {
            LoadEndCause::Stopped
        };
        LoadEnded {
            cause,
            measured_ns: u64::try_from(end_ns - start.t0_ns).unwrap_or(0),
            in_flight_ns: self.desks.iter().filter_map(|desk| desk.in_flight_at(end_ns)).collect(),
            carried_in_ns: self.desks.iter().map(|desk| desk.carried_in_ns()).sum(),
            counted: StatementCount {
                counter: counter.to_owned(),
                ours: self.desks.iter().map(|desk| desk.counted()).sum(),
                server,
            },
            threads: self.desks.iter().map(|desk| desk.totals()).collect(),
            unserved: self.course.arrivals.as_ref().map(|arrivals| arrivals.unserved_at(end_ns)),
            rows_added: self.desks.iter().map(|desk| desk.rows_added()).sum(),
            filed_late: self.filed_late,
            saturated: self.saturated,
        }
    }
}
