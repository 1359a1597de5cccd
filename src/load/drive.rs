//! A load from its first connection to its last transaction: threads, and the collector beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable as _;

use super::LoadError;
use super::connection::LoadConnection;
use super::recorder::Slot;
use super::worker::{Course, Desk, Worker};
use crate::protocol::clock::{SECOND_NS, monotonic_ns};
use crate::protocol::event::{Event, LoadEndCause, LoadEnded, LoadSecond};
use crate::protocol::job::{LoadJob, StartJob};
use crate::server::access::Access;
use crate::workload::random::Streams;

/// A second is collected this long after it is over, so that threads have filed what completed in it.
const GRACE_NS: i64 = 100_000_000;
/// Longest wait for transactions in flight at the end: a stuck server holds a run no longer.
const DRAIN_NS: i64 = 10 * SECOND_NS;
/// Longest wait for the server's commit counter.
const COUNTER_TIMEOUT: Duration = Duration::from_secs(10);
/// A start later than this is told.
const LATE_NS: i64 = 50_000_000;
/// How often the collector looks whether to stop.
const LOOK: Duration = Duration::from_millis(20);
/// A thread needs little stack; the default of 8 MiB a thread would only cost address space.
const STACK_BYTES: usize = 512 * 1024;

/// Surroundings of a load.
pub struct Drive<'a> {
    /// What the threads do.
    pub job: &'a LoadJob,
    /// The server.
    pub access: &'a Access,
    /// Brings the start, once every thread of every instance is ready.
    pub start: &'a Receiver<StartJob>,
    /// Set when the load is to end now.
    pub stop: &'a AtomicBool,
    /// Takes the events.
    pub emit: &'a dyn Fn(Event),
    /// Called when the interval is over, before transactions in flight are waited for.
    pub interval_over: &'a dyn Fn(),
}

impl Drive<'_> {
    /// Connects, waits for the start, drives the load to its end. Emits `LoadReady`, one `LoadSecond` a
    /// second, and `LoadEnded`.
    ///
    /// # Errors
    /// When threads cannot be set up, or the load was cut short by an error that does not pass (after
    /// its `LoadEnded` was emitted).
    pub fn run(&self) -> Result<(), LoadError> {
        let mut counter = self.connect_counter()?;
        let ready = self.connect_threads()?;
        let streams = (0..self.job.threads).map(|n| self.stream(n)).collect();
        (self.emit)(Event::LoadReady { streams });
        let start = self.wait_for_start()?;

        let com_commit_before = com_commit(&mut counter);
        let course = Arc::new(Course::new(start));
        let first_second = (start.begin_ns - start.t0_ns).div_euclid(SECOND_NS);
        let desks: Vec<Arc<Desk>> = ready.iter().map(|_| Arc::new(Desk::new(first_second))).collect();
        for (thread, (connection, desk)) in (1..).zip(ready.into_iter().zip(&desks)) {
            self.launch(thread, connection, &course, desk).inspect_err(|_| {
                course.end_at(monotonic_ns());
                course.abandon();
            })?;
        }
        // Seen from the plan's start, which may lie a little before the threads'.
        let late_ns = monotonic_ns() - start.begin_ns;
        if late_ns > LATE_NS {
            let text = format!("load threads started {} ms late", late_ns / 1_000_000);
            (self.emit)(Event::Warning { text });
        }
        let mut collector = Collector {
            course: &course,
            desks: &desks,
            total: Slot::new(first_second),
            next: first_second,
            told_start: false,
            filed_late: 0,
            saturated: 0,
            drive: self,
        };
        collector.collect_until_end();
        (self.interval_over)();
        collector.drain();
        collector.collect_last();
        let com_commit = com_commit_before.zip(com_commit(&mut counter));
        (self.emit)(Event::LoadEnded(collector.ended(com_commit)));
        match course.take_failure() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Streams are distinct for every thread of every instance.
    fn stream(&self, thread: u32) -> u64 {
        (u64::from(self.job.instance) << 32) | u64::from(thread + 1)
    }

    /// A connection of its own for reading the server's commit counter. The counter lies outside the
    /// threads' transactions, so it does not count itself.
    fn connect_counter(&self) -> Result<Conn, LoadError> {
        let options = self.access.impatient_options(COUNTER_TIMEOUT);
        Conn::new(options).map_err(|source| LoadError::Connect { thread: 0, what: "connect", source })
    }

    /// Opens all connections at once: preparing hundreds of statements on each takes a while.
    fn connect_threads(&self) -> Result<Vec<LoadConnection>, LoadError> {
        let threads = self.job.threads;
        thread::scope(|scope| {
            let mut opening = Vec::new();
            for number in 1..=threads {
                let open = || LoadConnection::open(self.access, &self.job.workload);
                let handle = thread::Builder::new()
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, open)
                    .map_err(|source| LoadError::Thread { thread: number, source })?;
                opening.push((number, handle));
            }
            let mut ready = Vec::new();
            for (thread, handle) in opening {
                let what = "connect and prepare its statements";
                match handle.join() {
                    Ok(Ok(connection)) => ready.push(connection),
                    Ok(Err(source)) => return Err(LoadError::Connect { thread, what, source }),
                    Err(_) => {
                        let source = std::io::Error::other("it panicked");
                        return Err(LoadError::Thread { thread, source });
                    }
                }
            }
            Ok(ready)
        })
    }

    fn wait_for_start(&self) -> Result<StartJob, LoadError> {
        loop {
            match self.start.recv_timeout(LOOK) {
                Ok(start) => return Ok(start),
                Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Stopped),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Acquire) => {
                    return Err(LoadError::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Starts one thread. Threads are detached: one that hangs in a stuck server must not hold us.
    fn launch(
        &self,
        thread: u32,
        connection: LoadConnection,
        course: &Arc<Course>,
        desk: &Arc<Desk>,
    ) -> Result<(), LoadError> {
        let (course, desk, workload) = (Arc::clone(course), Arc::clone(desk), self.job.workload);
        let streams = Streams::new(self.job.seed, self.stream(thread - 1), self.job.generation);
        thread::Builder::new()
            .name(format!("load-{thread}"))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                sleep_until(course.start.begin_ns);
                desk.begin();
                Worker { thread, connection, workload, streams, course: &course, desk: &desk }.run();
            })
            .map(drop)
            .map_err(|source| LoadError::Thread { thread, source })
    }
}

/// Empties the threads' slots second by second.
struct Collector<'a> {
    course: &'a Course,
    desks: &'a [Arc<Desk>],
    total: Slot,
    /// The next second to collect.
    next: i64,
    told_start: bool,
    filed_late: u64,
    saturated: u64,
    drive: &'a Drive<'a>,
}

impl Collector<'_> {
    /// Emits every second that is over, until the one in which the interval ends.
    fn collect_until_end(&mut self) {
        loop {
            if self.drive.stop.load(Ordering::Acquire) {
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
            (self.drive.emit)(Event::LoadStarted { began_ns });
            self.told_start = true;
        }
    }

    /// Emits the second in which the interval ended. Every thread has filed what it completed by then.
    fn collect_last(&mut self) {
        let begin_ns = self.course.start.t0_ns + self.next * SECOND_NS;
        if let Ok(length_ns @ 1..) = u64::try_from(self.course.end_ns() - begin_ns) {
            self.collect();
            for desk in self.desks {
                desk.recorder.collect_late(&mut self.total);
            }
            self.emit(length_ns);
        }
    }

    fn emit_second(&mut self, length_ns: u64) {
        self.collect();
        self.emit(length_ns);
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
        (self.drive.emit)(Event::LoadSecond(LoadSecond {
            second: self.next,
            length_ns,
            threads: u32::try_from(running).unwrap_or(u32::MAX),
            latency: self.total.latency.to_record(),
            reads: self.total.counts.reads,
            writes: self.total.counts.writes,
            other: self.total.counts.other,
            errors: self.total.errors.clone(),
        }));
        self.next += 1;
    }

    /// Waits for transactions in flight, but not for ever.
    fn drain(&self) {
        let deadline = monotonic_ns() + DRAIN_NS;
        while !self.desks.iter().all(|desk| desk.is_finished()) && monotonic_ns() < deadline {
            thread::sleep(LOOK);
        }
        self.course.abandon();
    }

    fn ended(&self, com_commit: Option<(i64, i64)>) -> LoadEnded {
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
            commits: self.desks.iter().map(|desk| desk.commits()).sum(),
            com_commit,
            filed_late: self.filed_late,
            saturated: self.saturated,
        }
    }
}

fn com_commit(connection: &mut Conn) -> Option<i64> {
    let row: Option<(String, i64)> =
        connection.query_first("SHOW GLOBAL STATUS LIKE 'Com_commit'").ok().flatten();
    row.map(|(_, count)| count)
}

/// Sleeps until the monotonic clock reads `at_ns`.
fn sleep_until(at_ns: i64) {
    if let Ok(left) = u64::try_from(at_ns - monotonic_ns()) {
        thread::sleep(Duration::from_nanos(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_distinct_across_threads_and_instances() {
        let (_sender, start) = std::sync::mpsc::channel();
        let stop = AtomicBool::new(false);
        let access = Access::new(crate::server::access::Address::Loopback(1), String::new());
        let mut seen = std::collections::BTreeSet::new();
        for instance in 0..16 {
            let job = LoadJob {
                workload: crate::workload::oltp::OltpReadWrite {
                    tables: 1,
                    table_size: 1,
                    range_size: 1,
                    keys: crate::workload::KeyDistribution::Uniform,
                },
                threads: 128,
                seed: 1,
                generation: 0,
                instance,
            };
            let drive = Drive {
                job: &job,
                access: &access,
                start: &start,
                stop: &stop,
                emit: &|_| {},
                interval_over: &|| {},
            };
            seen.extend((0..128).map(|n| drive.stream(n)));
        }
        assert_eq!(seen.len(), 16 * 128);
    }
}
