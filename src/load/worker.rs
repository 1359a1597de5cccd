//! One load thread: transactions one after the other until the interval is over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::LoadError;
use super::connection::LoadConnection;
use super::course::Course;
use super::desk::Desk;
use super::recorder::{Completed, StatementCounts};
use crate::protocol::clock::monotonic_ns;
use crate::protocol::job::LoadJob;
use crate::server::access::Access;
use crate::workload::script::Script;
use crate::workload::statement::{Statement, StatementClass, StatementKind};

/// A deadlock has rolled the transaction back already; after other errors it is still open.
const ROLLED_BACK: u16 = 1213;
/// Answers of a server that ends the connection with them: shutting down, killed, waited too long.
const FAREWELLS: [u16; 4] = [1053, 1077, 1927, 4031];
/// What the client libraries of MySQL call a lost connection.
const LOST: u16 = 2013;
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
    /// Codes of the errors that restarted it.
    errors: Vec<u16>,
    reconnects: u64,
    /// How long each statement took; empty where they are not told apart.
    statements: Vec<(StatementKind, u64)>,
}

impl Tally {
    fn clear(&mut self) {
        self.counts = StatementCounts::default();
        self.errors.clear();
        self.reconnects = 0;
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
        // The one statement of a transaction takes as long as the transaction, unless that has waited first.
        let apart = self.job.workload.statement_count() > 1 || self.job.rate_per_s.is_some();
        while let Some(began_ns) = self.course.next_start() {
            self.desk.set_in_flight(began_ns);
            tally.clear();
            let ended_ns = loop {
                self.script.next_transaction(&mut statements);
                match self.attempt(&statements, apart, &mut tally) {
                    Ok(ended_ns) => break ended_ns,
                    Err((failed, error)) => self.make_ready_again(failed, error, &mut tally)?,
                }
                if self.course.is_abandoned() {
                    return Ok(());
                }
            };
            let completed = Completed {
                at_ns: ended_ns - self.course.start.t0_ns,
                latency_ns: u64::try_from(ended_ns - began_ns).unwrap_or(0),
                counts: tally.counts,
                errors: &tally.errors,
                reconnects: tally.reconnects,
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
            let sent = self.execute(statement, &mut StatementCounts::default());
            sent.map_err(|error| self.stopped_at(statement, error))?;
        }
        Ok(())
    }

    /// Executes the statements once; returns when the last was done.
    fn attempt<'s>(
        &mut self,
        statements: &'s [Statement],
        apart: bool,
        tally: &mut Tally,
    ) -> Result<i64, (&'s Statement, mysql::Error)> {
        let mut now_ns = if apart { monotonic_ns() } else { 0 };
        for statement in statements {
            self.execute(statement, &mut tally.counts).map_err(|error| (statement, error))?;
            if apart {
                let done_ns = monotonic_ns();
                tally.statements.push((statement.kind, u64::try_from(done_ns - now_ns).unwrap_or(0)));
                now_ns = done_ns;
            }
        }
        Ok(if apart && !statements.is_empty() { now_ns } else { monotonic_ns() })
    }

    /// Executes one statement and counts it as sysbench does: a write that touches no row is `other`, but for
    /// sysbench 0.4.
    fn execute(&mut self, statement: &Statement, counts: &mut StatementCounts) -> Result<(), mysql::Error> {
        let is_counted = u64::from(statement.kind.server_counter() == self.counter);
        let rows = self.connection.execute(statement).inspect_err(|error| {
            // The server counts what it refuses as well.
            if lost_or_code(error).is_some() {
                self.desk.count(is_counted, 0);
            }
        })?;
        match statement.kind.class() {
            StatementClass::Read => counts.reads += 1,
            StatementClass::Write if rows > 0 || self.job.workload.kind.is_04() => counts.writes += 1,
            StatementClass::Write | StatementClass::Other => counts.other += 1,
        }
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        let rows_added = match statement.kind {
            StatementKind::Insert => rows,
            StatementKind::Delete => -rows,
            _ => 0,
        };
        self.desk.count(is_counted, rows_added);
        Ok(())
    }

    /// Makes ready for another attempt, or says why there is none.
    fn make_ready_again(
        &mut self,
        failed: &Statement,
        error: mysql::Error,
        tally: &mut Tally,
    ) -> Result<(), LoadError> {
        match lost_or_code(&error) {
            Some(code) if self.job.ignored.contains(code) => {
                tally.errors.push(code);
                if code == ROLLED_BACK || !self.job.workload.transaction {
                    return Ok(());
                }
                match self.connection.roll_back() {
                    Ok(()) => Ok(()),
                    Err(error) if lost_or_code(&error).is_none() => self.connect_again(failed, error, tally),
                    Err(error) => Err(self.stopped_at(failed, error)),
                }
            }
            None => self.connect_again(failed, error, tally),
            Some(_) => Err(self.stopped_at(failed, error)),
        }
    }

    /// Connects until it works or the load is abandoned. The outage is part of the transaction's latency.
    fn connect_again(
        &mut self,
        failed: &Statement,
        error: mysql::Error,
        tally: &mut Tally,
    ) -> Result<(), LoadError> {
        if !self.job.reconnect {
            return Err(self.stopped_at(failed, error));
        }
        tally.errors.push(LOST);
        while !self.course.is_abandoned() {
            match LoadConnection::open(self.access, &self.job.workload) {
                Ok(connection) => {
                    self.connection = connection;
                    tally.reconnects += 1;
                    return Ok(());
                }
                // A server that is starting refuses, or is not there; nothing is learnt from its words.
                Err(_) => thread::sleep(PAUSE),
            }
        }
        Ok(())
    }

    fn stopped_at(&self, statement: &Statement, source: mysql::Error) -> LoadError {
        let statement = self.job.workload.sql(statement.kind, statement.table);
        LoadError::Statement { thread: self.thread, statement, source }
    }
}

/// The server's code, or `None` when the connection is lost.
fn lost_or_code(error: &mysql::Error) -> Option<u16> {
    match error {
        mysql::Error::MySqlError(error) => Some(error.code).filter(|code| !FAREWELLS.contains(code)),
        _ => None,
    }
}
