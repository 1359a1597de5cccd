//! Filing transactions by the second in which they completed.
//!
//! Each thread has a recorder of its own with two live slots, one for even seconds and one for odd.
//! A collector empties a slot shortly after its second is over, so a thread hardly ever waits for it. What
//! finds no slot of its second, because thread or collector was held up, is kept apart and counted with
//! the last second.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::statements::StatementLatencies;
use crate::protocol::clock::SECOND_NS;
use crate::stats::latency::LatencyHistogram;
use crate::workload::statement::StatementKind;

/// Statements of one or more transactions, as sysbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementCounts {
    /// Statements that read.
    pub reads: u64,
    /// Statements that wrote at least one row.
    pub writes: u64,
    /// BEGIN, COMMIT, and writes that found no row.
    pub other: u64,
}

impl std::ops::AddAssign for StatementCounts {
    fn add_assign(&mut self, more: Self) {
        self.reads += more.reads;
        self.writes += more.writes;
        self.other += more.other;
    }
}

/// What completed in one second.
#[derive(Debug)]
pub struct Slot {
    /// Which second, relative to T0.
    pub second: i64,
    /// Latencies.
    pub latency: LatencyHistogram,
    /// Statements.
    pub counts: StatementCounts,
    /// SQL errors that restarted a transaction, by code.
    pub errors: BTreeMap<u16, u64>,
    /// Connections made in place of lost ones.
    pub reconnects: u64,
    /// Transactions that completed in an earlier second.
    pub filed_late: u64,
}

impl Slot {
    /// An empty slot for `second`.
    #[must_use]
    pub fn new(second: i64) -> Self {
        Self {
            second,
            latency: LatencyHistogram::new(),
            counts: StatementCounts::default(),
            errors: BTreeMap::new(),
            reconnects: 0,
            filed_late: 0,
        }
    }

    /// Empties it for another second, keeping its memory.
    pub fn reuse(&mut self, second: i64) {
        self.second = second;
        self.latency.clear();
        self.counts = StatementCounts::default();
        self.errors.clear();
        self.reconnects = 0;
        self.filed_late = 0;
    }

    fn take(&mut self, completed: &Completed) {
        self.latency.record(completed.latency_ns);
        self.counts += completed.counts;
    }

    /// Adds what another slot holds.
    fn absorb(&mut self, other: &Slot) {
        self.latency.merge(&other.latency);
        self.counts += other.counts;
        for (code, n) in &other.errors {
            *self.errors.entry(*code).or_default() += n;
        }
        self.reconnects += other.reconnects;
        self.filed_late += other.filed_late;
    }
}

/// One finished transaction.
#[derive(Debug)]
pub struct Completed<'a> {
    /// When, in nanoseconds after T0; negative in warm-up.
    pub at_ns: i64,
    /// How long it took, restarts included.
    pub latency_ns: u64,
    /// Statements of all attempts.
    pub counts: StatementCounts,
    /// How long each statement took, where statements are told apart.
    pub statements: &'a [(StatementKind, u64)],
}

/// One thread's two slots.
#[derive(Debug)]
pub struct Recorder {
    slots: [Mutex<Slot>; 2],
    /// Measured transactions that found no slot of their second.
    late: Mutex<Slot>,
    /// Statements of measured transactions since they were last collected.
    statements: Mutex<StatementLatencies>,
}

impl Recorder {
    /// Slots for `first_second` and the one after it.
    #[must_use]
    pub fn new(first_second: i64) -> Self {
        let mut seconds = [first_second, first_second + 1];
        seconds.sort_by_key(|second| second.rem_euclid(2));
        Self {
            slots: seconds.map(|second| Mutex::new(Slot::new(second))),
            late: Mutex::new(Slot::new(first_second)),
            statements: Mutex::default(),
        }
    }

    /// Files an error that does not end the load, when it happens: its transaction may never complete.
    pub fn note_error(&self, at_ns: i64, code: u16) {
        self.note(at_ns, |slot| *slot.errors.entry(code).or_default() += 1);
    }

    /// Files a connection that was made in place of a lost one.
    pub fn note_reconnect(&self, at_ns: i64) {
        self.note(at_ns, |slot| slot.reconnects += 1);
    }

    fn note(&self, at_ns: i64, change: impl FnOnce(&mut Slot)) {
        let second = at_ns.div_euclid(SECOND_NS);
        let mut slot = self.slot(second);
        if slot.second == second {
            change(&mut slot);
        } else if second >= 0 {
            drop(slot);
            change(&mut lock(&self.late));
        }
    }

    /// Files a transaction into the second in which it completed, or apart if that second has been
    /// collected already or the collector is late. A late one of the warm-up counts nowhere.
    pub fn file(&self, completed: &Completed) {
        let second = completed.at_ns.div_euclid(SECOND_NS);
        if second >= 0 && !completed.statements.is_empty() {
            let mut latencies = lock(&self.statements);
            for (kind, latency_ns) in completed.statements {
                latencies.record(*kind, *latency_ns);
            }
        }
        let mut slot = self.slot(second);
        if slot.second == second {
            return slot.take(completed);
        }
        drop(slot);
        if second >= 0 {
            let mut late = lock(&self.late);
            late.take(completed);
            late.filed_late += 1;
        }
    }

    /// Adds what found no slot of its second to `total`.
    pub fn collect_late(&self, total: &mut Slot) {
        total.absorb(&lock(&self.late));
    }

    /// Adds the slot of `second` to `total` and frees it for the second after next.
    pub fn collect(&self, second: i64, total: &mut Slot) {
        let mut slot = self.slot(second);
        total.absorb(&slot);
        slot.reuse(second + 2);
    }

    /// Adds statements filed since the last time to `total`.
    pub fn collect_statements(&self, total: &mut StatementLatencies) {
        total.absorb(&mut lock(&self.statements));
    }

    fn slot(&self, second: i64) -> MutexGuard<'_, Slot> {
        lock(&self.slots[usize::from(second.rem_euclid(2) == 1)])
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(at_ns: i64) -> Completed<'static> {
        let counts = StatementCounts { reads: 14, writes: 4, other: 2 };
        let statements = &[(StatementKind::Commit, 700_000)];
        Completed { at_ns, latency_ns: 1_000_000, counts, statements }
    }

    #[test]
    fn seconds_are_kept_apart_across_t0() {
        let recorder = Recorder::new(-1);
        recorder.file(&completed(-1));
        recorder.file(&completed(0));
        recorder.file(&completed(SECOND_NS - 1));
        let mut total = Slot::new(-1);
        recorder.collect(-1, &mut total);
        assert_eq!((total.latency.count(), total.counts.reads), (1, 14));
        total.reuse(0);
        recorder.collect(0, &mut total);
        assert_eq!((total.latency.count(), total.filed_late), (2, 0));
        let mut statements = StatementLatencies::default();
        recorder.collect_statements(&mut statements);
        recorder.collect_statements(&mut statements);
        let filed = statements.take_records();
        assert_eq!(filed[&StatementKind::Commit].count, 2, "those of the warm-up are not measured");
    }

    #[test]
    fn a_late_transaction_is_kept_and_counted() {
        let recorder = Recorder::new(0);
        let mut total = Slot::new(0);
        recorder.collect(0, &mut total);
        recorder.file(&completed(5));
        total.reuse(1);
        recorder.collect(1, &mut total);
        assert_eq!((total.latency.count(), total.filed_late), (0, 0));
        recorder.collect_late(&mut total);
        assert_eq!((total.latency.count(), total.filed_late), (1, 1));
    }

    #[test]
    fn a_late_transaction_of_the_warm_up_is_not_measured() {
        let recorder = Recorder::new(-1);
        let mut total = Slot::new(-1);
        recorder.collect(-1, &mut total);
        recorder.file(&completed(-5));
        recorder.collect_late(&mut total);
        assert_eq!(total.latency.count(), 0);
    }

    #[test]
    fn errors_belong_to_the_second_in_which_they_happen() {
        let recorder = Recorder::new(0);
        recorder.note_error(SECOND_NS - 1, 1213);
        recorder.note_error(SECOND_NS, 2013);
        recorder.note_reconnect(SECOND_NS + 5);
        let mut total = Slot::new(0);
        recorder.collect(0, &mut total);
        assert_eq!((total.errors.clone(), total.reconnects), (BTreeMap::from([(1213, 1)]), 0));
        recorder.note_error(7, 1213);
        total.reuse(1);
        recorder.collect(1, &mut total);
        recorder.collect_late(&mut total);
        let errors = BTreeMap::from([(1213, 1), (2013, 1)]);
        assert_eq!((total.errors.clone(), total.reconnects, total.latency.count()), (errors, 1, 0));
    }
}
