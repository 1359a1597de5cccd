//! What a transaction is made of, and which pages it visits.

use super::keys::Density;
use super::schema::TableSchema;
use super::statement::{StatementClass, StatementKind};
use super::{Workload, WorkloadKind};

/// Page visits of one transaction, for estimating buffer-pool misses.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PageVisits {
    /// Visits to leaf pages of the tables that follow the key distribution.
    pub by_key: f64,
    /// Visits to leaf pages of the tables that are spread evenly.
    pub even: f64,
    /// Visits to leaf pages of index `k`, spread evenly: a value's rank among values of its own
    /// distribution is uniform.
    pub index: f64,
}

impl Workload {
    /// How often each kind of statement stands in a transaction.
    #[must_use]
    pub fn statements(&self) -> Vec<(StatementKind, u32)> {
        use StatementKind as S;
        use WorkloadKind as W;
        let r = self.repeats;
        let reads = [
            (S::PointSelect, r.point_selects),
            (S::SimpleRange, r.simple_ranges),
            (S::SumRange, r.sum_ranges),
            (S::OrderRange, r.order_ranges),
            (S::DistinctRange, r.distinct_ranges),
        ];
        let updates = [(S::IndexUpdate, r.index_updates), (S::NonIndexUpdate, r.non_index_updates)];
        let replace = |times: u32| [(S::Delete, times), (S::Insert, times)];
        let inner: Vec<(S, u32)> = match self.kind {
            W::OltpReadWrite => reads.into_iter().chain(updates).chain(replace(r.delete_inserts)).collect(),
            W::OltpReadOnly => reads.into(),
            W::OltpWriteOnly => updates.into_iter().chain(replace(r.delete_inserts)).collect(),
            W::Complex04 => {
                let updates =
                    [(S::IndexUpdate, r.index_updates + 1), (S::NonIndexUpdate, r.non_index_updates)];
                reads.into_iter().chain(updates).chain(replace(1)).collect()
            }
            W::OltpPointSelect | W::Simple04 | W::Select04 => vec![(S::PointSelect, 1)],
            W::OltpUpdateIndex => vec![(S::IndexUpdate, r.index_updates)],
            W::UpdateKey04 => vec![(S::IndexUpdate, 1)],
            W::OltpUpdateNonIndex => vec![(S::NonIndexUpdate, r.non_index_updates)],
            W::UpdateNokey04 => vec![(S::NonIndexUpdate, 1)],
            W::OltpInsert | W::Insert04 | W::BulkInsert => vec![(S::Insert, 1)],
            W::OltpDelete | W::Delete04 => vec![(S::Delete, 1)],
            W::SelectRandomPoints => vec![(S::RandomPoints, 1)],
            W::SelectRandomRanges => vec![(S::RandomRanges, 1)],
        };
        let around = |kind| self.transaction.then_some((kind, 1));
        let all = around(S::Begin).into_iter().chain(inner).chain(around(S::Commit));
        all.filter(|(_, times)| *times > 0).collect()
    }

    /// Statements of one transaction, BEGIN and COMMIT included.
    #[must_use]
    pub fn statement_count(&self) -> u32 {
        self.statements().iter().map(|(_, times)| times).sum()
    }

    /// Statements that the server must hold prepared for one thread.
    #[must_use]
    pub fn prepared_statements(&self) -> u64 {
        if !self.prepared {
            return 0;
        }
        let each = |kind: StatementKind| if kind.class() == StatementClass::Other { 1 } else { self.tables };
        self.statements().iter().map(|(kind, _)| u64::from(each(*kind))).sum()
    }

    /// Whether it reads only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.statements().iter().all(|(kind, _)| kind.class() != StatementClass::Write)
    }

    /// Page visits of one transaction, when so many rows share a leaf of the table, and so many entries a leaf
    /// of index `k`.
    ///
    /// A range of r rows crosses 1 + (r − 1)/rows leaves. The insert finds the leaf that its delete just
    /// visited. The delete marks one index entry and the insert adds another; an update of `k` by one
    /// stays in the same neighbourhood, so it counts once. Rows that are added at the end visit pages that
    /// are in the pool.
    #[must_use]
    pub fn page_visits(&self, schema: &TableSchema, rows_per_leaf: f64, entries_per_leaf: f64) -> PageVisits {
        let size = self.table_size as f64;
        // A range may be longer than the table.
        let leaves = |rows: f64, per_leaf: f64| 1.0 + (rows.min(size) - 1.0).max(0.0) / per_leaf;
        let in_index = if schema.has_k_index() { 1.0 } else { 0.0 };
        // sysbench 0.4 updates, deletes and inserts the same row, one after the other.
        let repeated = if self.kind == WorkloadKind::Complex04 { 1.0 } else { 0.0 };
        let rows_of_value = || Density::new(self.keys, self.table_size).rows_of_a_picked_value();
        let mut visits = PageVisits::default();
        for (kind, times) in self.statements() {
            let (by_key, even, index) = match kind {
                StatementKind::Begin | StatementKind::Commit => (0.0, 0.0, 0.0),
                StatementKind::PointSelect | StatementKind::NonIndexUpdate => (1.0, 0.0, 0.0),
                StatementKind::SimpleRange
                | StatementKind::SumRange
                | StatementKind::OrderRange
                | StatementKind::DistinctRange => (leaves(self.range_size as f64, rows_per_leaf), 0.0, 0.0),
                StatementKind::IndexUpdate | StatementKind::Delete => (1.0, 0.0, in_index),
                StatementKind::Insert => (0.0, 0.0, in_index),
                StatementKind::RandomPoints => {
                    let points = f64::from(self.random_points);
                    (0.0, points * rows_of_value(), points)
                }
                StatementKind::RandomRanges => {
                    let entries = (self.delta + 1) as f64 * rows_of_value();
                    (0.0, 0.0, f64::from(self.number_of_ranges) * leaves(entries, entries_per_leaf))
                }
            };
            visits.by_key += f64::from(times) * by_key;
            visits.even += f64::from(times) * even;
            visits.index += f64::from(times) * index;
        }
        visits.by_key -= repeated;
        visits.index -= repeated * in_index;
        visits
    }
}
