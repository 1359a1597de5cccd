//! The statements of one load thread, one transaction after the other.

use super::keys::KeyPicker;
use super::random::{Streams, WorkloadRng};
use super::rows::{c_value, c_value_04, pad_value, pad_value_04};
use super::statement::{Parameters, Statement, StatementKind};
use super::walk::Walk;
use super::{Workload, WorkloadKind};

/// Ids that `oltp_insert` chooses itself: sysbench fills the signed 32-bit numbers.
const CHOSEN_IDS: u64 = 1 << 32;
/// The lowest of them.
const LOWEST_CHOSEN_ID: i64 = -(1 << 31);
/// Longest statement of `bulk_insert`, bytes.
const BULK_BYTES: usize = 512 * 1024;

/// Draws the transactions of one load thread.
#[derive(Debug, Clone)]
pub struct Script {
    workload: Workload,
    streams: Streams,
    ids: KeyPicker,
    /// The thread's own part of the values of `k`.
    part: KeyPicker,
    walk: Walk,
    bulk: Bulk,
}

/// Rows that `bulk_insert` has not sent yet.
#[derive(Debug, Clone, Copy)]
struct Bulk {
    table: u32,
    /// Not sent: from `first` to before `next`.
    first: u64,
    next: u64,
    /// Length of the statement that would be sent now.
    bytes: usize,
}

impl Script {
    /// The script of one of `threads` threads, numbered from 0.
    #[must_use]
    pub fn new(workload: Workload, thread: u32, threads: u32, streams: Streams) -> Self {
        // In the numbers that sysbench computes: a part begins where the one before ends.
        let part = |n: u32| {
            let end = u128::from(workload.table_size) * u128::from(n) / u128::from(threads.max(1));
            u64::try_from(end).unwrap_or(u64::MAX)
        };
        let range = match workload.kind {
            WorkloadKind::OltpInsert => CHOSEN_IDS,
            _ => workload.table_size,
        };
        Self {
            ids: KeyPicker::new(workload.keys, 1, workload.table_size),
            part: KeyPicker::new(workload.keys, part(thread), part(thread + 1)),
            walk: Walk::new(range, thread, threads),
            bulk: Bulk { table: thread + 1, first: 1, next: 1, bytes: bulk_head(&workload, thread + 1) },
            workload,
            streams,
        }
    }

    /// Goes on where earlier threads stopped: after `rows` in this thread's table of `bulk_insert`, after
    /// `ids` that were chosen.
    #[must_use]
    pub fn after(mut self, rows: u64, ids: u64) -> Self {
        (self.bulk.first, self.bulk.next) = (rows + 1, rows + 1);
        self.walk = self.walk.after(ids);
        self
    }

    /// How many ids have been chosen, by all threads together if all went as far as this one.
    #[must_use]
    pub fn chosen_ids(&self) -> u64 {
        self.walk.passed()
    }

    /// Fills `statements` with the next transaction; `bulk_insert` has none to send for most of its rows.
    pub fn next_transaction(&mut self, statements: &mut Vec<Statement>) {
        statements.clear();
        let workload = self.workload;
        if workload.transaction {
            statements.push(bare(StatementKind::Begin));
        }
        match workload.kind {
            WorkloadKind::OltpReadWrite => {
                self.reads(statements);
                self.writes(statements);
            }
            WorkloadKind::OltpReadOnly => self.reads(statements),
            WorkloadKind::OltpWriteOnly => self.writes(statements),
            WorkloadKind::OltpPointSelect | WorkloadKind::Simple04 | WorkloadKind::Select04 => {
                self.by_id(StatementKind::PointSelect, 1, statements);
            }
            WorkloadKind::OltpUpdateIndex => self.index_updates(workload.repeats.index_updates, statements),
            WorkloadKind::UpdateKey04 => self.index_updates(1, statements),
            WorkloadKind::OltpUpdateNonIndex => {
                self.non_index_updates(workload.repeats.non_index_updates, statements);
            }
            WorkloadKind::UpdateNokey04 => self.non_index_updates(1, statements),
            WorkloadKind::OltpDelete => self.by_id(StatementKind::Delete, 1, statements),
            WorkloadKind::OltpInsert | WorkloadKind::Insert04 => self.insert(statements),
            WorkloadKind::SelectRandomPoints | WorkloadKind::SelectRandomRanges => self.values(statements),
            WorkloadKind::BulkInsert => self.collect(statements),
            WorkloadKind::Complex04 => {
                self.reads(statements);
                self.updates(statements);
                self.replace_04(statements);
            }
            WorkloadKind::Delete04 => {
                let id = self.walk.next().unwrap_or(0) + 1;
                let parameters = Parameters::Id(id);
                statements.push(Statement { kind: StatementKind::Delete, table: 1, parameters });
            }
        }
        if workload.transaction {
            statements.push(bare(StatementKind::Commit));
        }
    }

    /// What has been collected and not sent, at the end.
    pub fn rest(&mut self, statements: &mut Vec<Statement>) {
        statements.clear();
        self.send_collected(statements);
    }

    fn reads(&mut self, statements: &mut Vec<Statement>) {
        let repeats = self.workload.repeats;
        self.by_id(StatementKind::PointSelect, repeats.point_selects, statements);
        for (kind, times) in [
            (StatementKind::SimpleRange, repeats.simple_ranges),
            (StatementKind::SumRange, repeats.sum_ranges),
            (StatementKind::OrderRange, repeats.order_ranges),
            (StatementKind::DistinctRange, repeats.distinct_ranges),
        ] {
            if times > 0 {
                self.ranges(kind, times, statements);
            }
        }
    }

    fn writes(&mut self, statements: &mut Vec<Statement>) {
        self.updates(statements);
        let times = self.workload.repeats.delete_inserts;
        if times > 0 {
            self.delete_inserts(times, statements);
        }
    }

    fn updates(&mut self, statements: &mut Vec<Statement>) {
        let repeats = self.workload.repeats;
        self.index_updates(repeats.index_updates, statements);
        self.non_index_updates(repeats.non_index_updates, statements);
    }

    /// As in sysbench the table is drawn once for all repeats of a statement.
    fn by_id(&mut self, kind: StatementKind, times: u32, statements: &mut Vec<Statement>) {
        if times == 0 {
            return;
        }
        let table = self.table();
        for _ in 0..times {
            let parameters = Parameters::Id(self.id());
            statements.push(Statement { kind, table, parameters });
        }
    }

    fn index_updates(&mut self, times: u32, statements: &mut Vec<Statement>) {
        self.by_id(StatementKind::IndexUpdate, times, statements);
    }

    /// The upper bound may pass the end of the table; sysbench 0.4 keeps it inside, and reads one row more
    /// for distinct ranges.
    fn ranges(&mut self, kind: StatementKind, times: u32, statements: &mut Vec<Statement>) {
        let (size, range) = (self.workload.table_size, self.workload.range_size);
        let table = self.table();
        for _ in 0..times {
            let mut from = self.id();
            let mut to = from + range - 1;
            if self.workload.kind.is_04() {
                if from + range > size {
                    from = size.saturating_sub(range).max(1);
                }
                to = from + range - u64::from(kind != StatementKind::DistinctRange);
            }
            statements.push(Statement { kind, table, parameters: Parameters::Range(from, to) });
        }
    }

    fn non_index_updates(&mut self, times: u32, statements: &mut Vec<Statement>) {
        if times == 0 {
            return;
        }
        let table = self.table();
        for _ in 0..times {
            let id = self.id();
            let text = &mut self.streams.text;
            let c = if self.workload.kind.is_04() { c_value_04(text) } else { c_value(text) };
            let parameters = Parameters::Content(c, id);
            statements.push(Statement { kind: StatementKind::NonIndexUpdate, table, parameters });
        }
    }

    fn delete_inserts(&mut self, times: u32, statements: &mut Vec<Statement>) {
        let table = self.table();
        for _ in 0..times {
            let (id, k) = (self.id(), self.id());
            let text = &mut self.streams.text;
            let (c, pad) = (c_value(text), pad_value(text));
            let row = Parameters::Row(i64::try_from(id).ok(), k, c, pad);
            statements.push(Statement { kind: StatementKind::Delete, table, parameters: Parameters::Id(id) });
            statements.push(Statement { kind: StatementKind::Insert, table, parameters: row });
        }
    }

    /// One row is updated, deleted and inserted again: sysbench 0.4 has five writes in a transaction.
    fn replace_04(&mut self, statements: &mut Vec<Statement>) {
        let id = self.id();
        for kind in [StatementKind::IndexUpdate, StatementKind::Delete, StatementKind::Insert] {
            statements.push(Statement { kind, table: 1, parameters: Parameters::Id(id) });
        }
    }

    fn insert(&mut self, statements: &mut Vec<Statement>) {
        let table = self.table();
        let k = self.id();
        let is_04 = self.workload.kind.is_04();
        let text = &mut self.streams.text;
        let (c, pad) = match is_04 {
            true => (c_value_04(text), pad_value_04(text)),
            false => (c_value(text), pad_value(text)),
        };
        let chosen = (!self.workload.auto_inc).then(|| self.walk.next().unwrap_or(0));
        let lowest = if is_04 { 1 } else { LOWEST_CHOSEN_ID };
        let id = chosen.and_then(|n| i64::try_from(n).ok()).map(|n| n + lowest);
        let parameters = Parameters::Row(id, k, c, pad);
        statements.push(Statement { kind: StatementKind::Insert, table, parameters });
    }

    fn values(&mut self, statements: &mut Vec<Statement>) {
        let Workload { kind, random_points, number_of_ranges, delta, .. } = self.workload;
        let rng = &mut self.streams.choices;
        let (kind, values) = match kind {
            WorkloadKind::SelectRandomPoints => {
                (StatementKind::RandomPoints, (0..random_points).map(|_| self.part.pick(rng)).collect())
            }
            _ => {
                let range = |from: u64| [from, from + delta];
                let ranges = (0..number_of_ranges).flat_map(|_| range(self.part.pick(rng))).collect();
                (StatementKind::RandomRanges, ranges)
            }
        };
        statements.push(Statement { kind, table: 1, parameters: Parameters::Values(values) });
    }

    fn collect(&mut self, statements: &mut Vec<Statement>) {
        let digits = self.bulk.next.ilog10() as usize + 1;
        // Parentheses, two numbers, a comma between them, and one to the row before.
        let bytes = 2 * digits + 4;
        if self.bulk.bytes + bytes > BULK_BYTES {
            self.send_collected(statements);
        }
        self.bulk.bytes += bytes;
        self.bulk.next += 1;
    }

    fn send_collected(&mut self, statements: &mut Vec<Statement>) {
        let Bulk { table, first, next, .. } = self.bulk;
        if next > first {
            let parameters = Parameters::Numbers(first, next - 1);
            statements.push(Statement { kind: StatementKind::Insert, table, parameters });
            self.bulk = Bulk { table, first: next, next, bytes: bulk_head(&self.workload, table) };
        }
    }

    fn table(&mut self) -> u32 {
        let tables = self.workload.tables;
        u32::try_from(self.choices().between(1, u64::from(tables))).unwrap_or(tables)
    }

    fn id(&mut self) -> u64 {
        self.ids.pick(&mut self.streams.choices)
    }

    fn choices(&mut self) -> &mut WorkloadRng {
        &mut self.streams.choices
    }
}

/// Length of a statement of `bulk_insert` before its rows.
fn bulk_head(workload: &Workload, table: u32) -> usize {
    workload.sql(StatementKind::Insert, table).len()
}

fn bare(kind: StatementKind) -> Statement {
    Statement { kind, table: 1, parameters: Parameters::Nothing }
}

#[cfg(test)]
mod tests;
