//! One load thread: transactions one after the other until the interval is over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::LoadError;
use super::connection::LoadConnection;
use super::course::Course;
use super::desk::Desk;
use super::recorder::{Completed, Recorder, StatementCounts};
use crate::protocol::clock::monotonic_ns;
use crate::protocol::event::LOST_CONNECTION;
use crate::protocol::job::LoadJob;
use crate::server::access::Access;
use crate::workload::script::Script;
use crate::workload::statement::{Statement, StatementClass, StatementKind};

/// A deadlock has rolled the transaction back already; after other errors it is still open.
const ROLLED_BACK: u16 = 1213;
/// Answers of a server that ends the connection with them: shutting down, killed, waited too long.
const FAREWELLS: [u16; 4] = [1053, 1077, 1927, 4031];
/// Time between attempts to connect again.
const PAUSE: Duration = Duration::from_millis(100);

/// A connected thread that waits for its start.
pub struct Worker<'a> {
    /// Number, from 1.
    pub thread: u32,
    /// What all threads do.
    pub job: &'a LoadJob,
    /// The server, for connecting again.
    pub access: &'a Access,
    /// Its connection.
    pub connection: LoadConnection,
    /// Its transactions.
    pub script: Script,
    /// The server's counter that is compared with ours.
    pub counter: &'static str,
    /// Ids that scripts have chosen so far, in this load and earlier ones.
    pub chosen_ids: &'a AtomicU64,
    /// What it shares.
    pub course: &'a Course,
    /// What it leaves.
    pub desk: &'a Desk,
}

/// What a transaction came to, all attempts together.
#[derive(Default)]
struct Tally {
    counts: StatementCounts,
    /// Rows that the attempt at hand inserted less those that it deleted.
    rows_added: i64,
    /// How long each statement took; empty where they are not told apart.
    statements: Vec<(StatementKind, u64)>,
}

impl Tally {
    fn clear(&mut self) {
        self.counts = StatementCounts::default();
        self.rows_added = 0;
        self.statements.clear();
    }
}

impl Worker<'_> {
    /// Runs until the interval is over or an error does not pass.
    pub fn run(mut self) {
        if let Err(error) = self.transactions().and_then(|()| self.send_rest()) {
            self.course.fail(error);
        }
        self.chosen_ids.fetch_max(self.script.chosen_ids(), Ordering::AcqRel);
        self.desk.finish();
    }

    fn transactions(&mut self) -> Result<(), LoadError> {
        let mut statements = Vec::new();
        let mut tally = Tally::default();
        let mut done = 0_u64;
        // The one statement of a transaction takes as long as the transaction, unless that has waited first.
        let apart = self.job.workload.statement_count() > 1 || self.job.rate_per_s.is_some();
        while let Some(began_ns) = self.course.next_start() {
            self.desk.set_in_flight(began_ns);
            tally.clear();
            let mut ended_ns = loop {
                self.script.next_transaction(&mut statements);
                match self.attempt(&statements, apart, &mut tally) {
                    Ok(Some(ended_ns)) => break ended_ns,
                    Ok(None) => return Ok(()),
                    Err((failed, error)) => self.make_ready_again(failed, error)?,
                }
                if self.course.is_abandoned() {
                    return Ok(());
                }
            };
            done += 1;
            if self.job.reconnect_every.is_some_and(|every| done.is_multiple_of(u64::from(every))) {
                self.connect_anew()?;
                // As in sysbench, the transaction before pays for it.
                ended_ns = monotonic_ns();
            }
            let completed = Completed {
                at_ns: ended_ns - self.course.start.t0_ns,
                latency_ns: u64::try_from(ended_ns - began_ns).unwrap_or(0),
                counts: tally.counts,
                statements: &tally.statements,
            };
            self.desk.file(self.course, began_ns, ended_ns, &completed);
        }
        Ok(())
    }

    /// What was collected and not sent. It belongs to transactions that are filed, and delays none.
    fn send_rest(&mut self) -> Result<(), LoadError> {
        let mut rest = Vec::new();
        self.script.rest(&mut rest);
        for statement in rest.iter().filter(|_| !self.course.is_abandoned()) {
            let sent = self.execute(statement, &mut Tally::default());
            sent.map_err(|error| self.stopped_at(statement, error))?;
        }
        Ok(())
    }

    /// Executes the statements once; returns when the last was done, `None` if the load was abandoned before.
    fn attempt<'s>(
        &mut self,
        statements: &'s [Statement],
        apart: bool,
        tally: &mut Tally,
    ) -> Result<Option<i64>, (&'s Statement, mysql::Error)> {
        tally.rows_added = 0;
        let mut now_ns = if apart { monotonic_ns() } else { 0 };
        for statement in statements {
            if self.course.is_abandoned() {
                return Ok(None);
            }
            self.execute(statement, tally).map_err(|error| (statement, error))?;
            if apart {
                let done_ns = monotonic_ns();
                tally.statements.push((statement.kind, u64::try_from(done_ns - now_ns).unwrap_or(0)));
                now_ns = done_ns;
            }
        }
        Ok(Some(if apart && !statements.is_empty() { now_ns } else { monotonic_ns() }))
    }

    /// Executes one statement and counts it as sysbench does: a write that touches no row is `other`, but for
    /// sysbench 0.4.
    fn execute(&mut self, statement: &Statement, tally: &mut Tally) -> Result<(), mysql::Error> {
        let is_counted = u64::from(statement.kind.server_counter() == self.counter);
        let rows = self.connection.execute(statement).inspect_err(|error| {
            // The server counts what it refuses as well.
            if lost_or_code(error).is_some() {
                self.desk.count(is_counted, 0);
            }
        })?;
        let counts = &mut tally.counts;
        match statement.kind.class() {
            StatementClass::Read => counts.reads += 1,
            StatementClass::Write if rows > 0 || self.job.workload.kind.is_04() => counts.writes += 1,
            StatementClass::Write | StatementClass::Other => counts.other += 1,
        }
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        tally.rows_added += match statement.kind {
            StatementKind::Insert => rows,
            StatementKind::Delete => -rows,
            _ => 0,
        };
        // What is not committed may be rolled back.
        let is_kept = !self.job.workload.transaction || statement.kind == StatementKind::Commit;
        let rows_added = if is_kept { std::mem::take(&mut tally.rows_added) } else { 0 };
        self.desk.count(is_counted, rows_added);
        Ok(())
    }

    /// Makes ready for another attempt, or says why there is none.
    fn make_ready_again(&mut self, failed: &Statement, error: mysql::Error) -> Result<(), LoadError> {
        match lost_or_code(&error) {
            Some(code) if self.job.ignored.contains(code) => {
                self.note(|recorder, at_ns| recorder.note_error(at_ns, code));
                if code == ROLLED_BACK || !self.job.workload.transaction {
                    return Ok(());
                }
                match self.connection.roll_back() {
                    Ok(()) => Ok(()),
                    Err(error) if lost_or_code(&error).is_none() => self.connect_again(failed, error),
                    Err(error) => Err(self.stopped_at(failed, error)),
                }
            }
            None => self.connect_again(failed, error),
            Some(_) => Err(self.stopped_at(failed, error)),
        }
    }

    /// Connects until it works or the load is abandoned. The outage is part of the transaction's latency.
    fn connect_again(&mut self, failed: &Statement, error: mysql::Error) -> Result<(), LoadError> {
        if self.course.is_abandoned() {
            return Ok(());
        }
        if !self.job.reconnect {
            return Err(self.stopped_at(failed, error));
        }
        self.note(|recorder, at_ns| recorder.note_error(at_ns, LOST_CONNECTION));
        self.connect_until_it_works()
    }

    fn connect_until_it_works(&mut self) -> Result<(), LoadError> {
        while !self.course.is_abandoned() {
            match self.connect() {
                Ok(()) => return Ok(()),
                // A server that is starting refuses, or is not there; nothing is learnt from its words.
                Err(_) => thread::sleep(PAUSE),
            }
        }
        Ok(())
    }

    /// Makes a new connection in place of one that is whole.
    fn connect_anew(&mut self) -> Result<(), LoadError> {
        match self.connect() {
            Ok(()) => Ok(()),
            Err(_) if self.job.reconnect => self.connect_until_it_works(),
            Err(source) => Err(LoadError::Connect { thread: self.thread, what: "connect anew", source }),
        }
    }

    fn connect(&mut self) -> Result<(), mysql::Error> {
        self.connection = LoadConnection::open(self.access, &self.job.workload)?;
        self.desk.set_connection(self.connection.id());
        self.note(|recorder, at_ns| recorder.note_reconnect(at_ns));
        Ok(())
    }

    /// Files something that happens now, if it happens within the interval.
    fn note(&self, file: impl FnOnce(&Recorder, i64)) {
        let now_ns = monotonic_ns();
        if now_ns < self.course.end_ns() {
            file(&self.desk.recorder, now_ns - self.course.start.t0_ns);
        }
    }

    fn stopped_at(&self, statement: &Statement, source: mysql::Error) -> LoadError {
        let statement = self.job.workload.sql(statement.kind, statement.table);
        LoadError::Statement { thread: self.thread, statement, source }
    }
}

/// The server's code, or `None` when the connection is lost. What the client library itself refuses has the code
/// that the client libraries of MySQL give to an unknown error.
fn lost_or_code(error: &mysql::Error) -> Option<u16> {
    const UNKNOWN: u16 = 2000;
    match error {
        mysql::Error::MySqlError(error) => Some(error.code).filter(|code| !FAREWELLS.contains(code)),
        mysql::Error::DriverError(mysql::DriverError::MismatchedStmtParams(..)) => Some(UNKNOWN),
        _ => None,
    }
}
