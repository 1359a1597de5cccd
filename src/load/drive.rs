//! A load from its first connection to its last transaction: threads, and the collector beside them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable as _;

use super::LoadError;
use super::arrivals::Arrivals;
use super::collector::Collector;
use super::connection::LoadConnection;
use super::course::Course;
use super::desk::Desk;
use super::worker::Worker;
use crate::protocol::clock::{SECOND_NS, monotonic_ns, sleep_until};
use crate::protocol::event::Event;
use crate::protocol::job::{LoadJob, StartJob};
use crate::server::access::Access;
use crate::server::cpus;
use crate::workload::WorkloadKind;
use crate::workload::random::{Streams, WorkloadRng};
use crate::workload::schema::table_name;
use crate::workload::script::Script;

/// Longest wait for the server's counter.
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
    /// Ids that scripts have chosen in earlier loads of this server, and then in this one.
    pub chosen_ids: &'a Arc<AtomicU64>,
    /// Takes the events.
    pub emit: &'a dyn Fn(Event),
    /// Called when the interval is over, before transactions in flight are waited for.
    pub interval_over: &'a dyn Fn(),
}

impl Drive<'_> {
    /// Connects, waits for the start, drives the load to its end. Emits `LoadReady`, one `LoadSecond` a
    /// second, `LoadStatements` now and then, and `LoadEnded`.
    ///
    /// # Errors
    /// When threads cannot be set up, or the load was cut short by an error that does not pass (after
    /// its `LoadEnded` was emitted).
    pub fn run(&self) -> Result<(), LoadError> {
        let mut counter = self.connect_counter()?;
        let ready = self.connect_threads()?;
        let streams = (0..self.job.threads).map(|n| self.stream(n)).collect();
        let cpus = ready.first().map(|ready| ready.cpus.clone()).unwrap_or_default();
        (self.emit)(Event::LoadReady { streams, cpus });
        let start = self.wait_for_start()?;

        let counter_name = self.counter_name();
        let count_before = read_counter(&mut counter, counter_name);
        let course = Arc::new(Course::new(start, self.arrivals(start)));
        let first_second = (start.begin_ns - start.t0_ns).div_euclid(SECOND_NS);
        let desks: Vec<Arc<Desk>> = ready.iter().map(|_| Arc::new(Desk::new(first_second))).collect();
        for (thread, (ready, desk)) in (1..).zip(ready.into_iter().zip(&desks)) {
            self.launch(thread, ready, &course, desk).inspect_err(|_| {
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
        let mut collector = Collector::new(&course, &desks, first_second, self.stop, self.emit);
        collector.collect_until_end();
        (self.interval_over)();
        collector.drain();
        end_unfinished(&mut counter, &desks);
        collector.collect_last();
        let server = count_before.zip(read_counter(&mut counter, counter_name));
        (self.emit)(Event::LoadEnded(collector.ended(counter_name, server)));
        match course.take_failure() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The server's counter of the statement that ends a transaction.
    fn counter_name(&self) -> &'static str {
        self.job.workload.statements().last().map_or("Com_commit", |(kind, _)| kind.server_counter())
    }

    /// Arrivals have the stream that no thread has.
    fn arrivals(&self, start: StartJob) -> Option<Arrivals> {
        let rng = WorkloadRng::new(self.job.seed, u64::from(self.job.instance) << 32);
        self.job.rate_per_s.map(|rate| Arrivals::new(rng, rate, start.begin_ns))
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
    fn connect_threads(&self) -> Result<Vec<Ready>, LoadError> {
        let threads = self.job.threads;
        thread::scope(|scope| {
            let mut opening = Vec::new();
            for number in 1..=threads {
                let (job, access) = (self.job, self.access);
                let (stream, ids) = (self.stream(number - 1), self.chosen_ids.load(Ordering::Acquire));
                let open = move || open(job, access, number, stream, ids);
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
        ready: Ready,
        course: &Arc<Course>,
        desk: &Arc<Desk>,
    ) -> Result<(), LoadError> {
        let (course, desk, job) = (Arc::clone(course), Arc::clone(desk), self.job.clone());
        let (access, chosen_ids) = (self.access.clone(), Arc::clone(self.chosen_ids));
        let counter = self.counter_name();
        let Ready { connection, script, .. } = ready;
        thread::Builder::new()
            .name(format!("load-{thread}"))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                be_punctual();
                // It was possible when the connection was made.
                let _ = cpus::keep_to(&job.cpus);
                sleep_until(course.start.begin_ns);
                desk.set_connection(connection.id());
                desk.begin();
                let worker = Worker {
                    thread,
                    job: &job,
                    access: &access,
                    connection,
                    script,
                    counter,
                    chosen_ids: &chosen_ids,
                    course: &course,
                    desk: &desk,
                };
                worker.run();
            })
            .map(drop)
            .map_err(|source| LoadError::Thread { thread, source })
    }
}

/// Connects one thread, whose choices have this stream; so many ids have been chosen before.
fn open(job: &LoadJob, access: &Access, thread: u32, stream: u64, ids: u64) -> Result<Ready, mysql::Error> {
    // The load thread will do the same: a processor that is not there shows before the load.
    cpus::keep_to(&job.cpus)?;
    let mut connection = LoadConnection::open(access, &job.workload)?;
    let rows = match job.workload.kind {
        WorkloadKind::BulkInsert => connection.largest_id(&table_name(false, thread))?,
        _ => 0,
    };
    let streams = Streams::new(job.seed, stream, job.generation);
    let script = Script::new(job.workload, thread - 1, job.threads, streams).after(rows, ids);
    Ok(Ready { connection, script, cpus: cpus::allowed(Path::new(cpus::THIS_THREAD)) })
}

/// A thread that is connected.
struct Ready {
    connection: LoadConnection,
    script: Script,
    /// Processors that its thread may use.
    cpus: String,
}

/// Has the kernel wake this thread when asked to, not up to 50 µs later: arrivals wait for nothing.
fn be_punctual() {
    // Where it cannot, sleeps are a little longer, and latencies with them.
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// Has the server end what the drain did not: it would go on beside whatever is measured next.
fn end_unfinished(connection: &mut Conn, desks: &[Arc<Desk>]) {
    for desk in desks.iter().filter(|desk| !desk.is_finished()) {
        match connection.query_drop(format!("KILL CONNECTION {}", desk.connection())) {
            // It may be gone already.
            Ok(()) | Err(mysql::Error::MySqlError(_)) => {}
            // A server that does not answer ends nothing.
            Err(_) => return,
        }
    }
}

fn read_counter(connection: &mut Conn, name: &str) -> Option<i64> {
    let row: Option<(String, i64)> =
        connection.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).ok().flatten();
    row.map(|(_, count)| count)
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
                workload: crate::workload::Workload::new(
                    WorkloadKind::OltpReadWrite,
                    1,
                    1,
                    crate::workload::KeyDistribution::Uniform,
                ),
                threads: 128,
                seed: 1,
                generation: 0,
                instance,
                ignored: crate::protocol::job::IgnoredErrors::sysbenchs(),
                reconnect: false,
                reconnect_every: None,
                rate_per_s: None,
                cpus: Vec::new(),
            };
            let drive = Drive {
                job: &job,
                access: &access,
                start: &start,
                stop: &stop,
                chosen_ids: &Arc::default(),
                emit: &|_| {},
                interval_over: &|| {},
            };
            seen.extend((0..128).map(|n| drive.stream(n)));
        }
        assert_eq!(seen.len(), 16 * 128);
    }
}
