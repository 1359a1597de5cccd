//! Latencies by kind of statement.

use std::collections::BTreeMap;

use crate::protocol::event::LatencyRecord;
use crate::stats::latency::StatementHistogram;
use crate::workload::statement::StatementKind;

/// A histogram for each kind that has occurred, found by the kind's number: a search would cost more than filing.
#[derive(Debug, Default)]
pub struct StatementLatencies([Option<StatementHistogram>; StatementKind::ALL.len()]);

impl StatementLatencies {
    /// Files one statement.
    pub fn record(&mut self, kind: StatementKind, latency_ns: u64) {
        self.0[kind as usize].get_or_insert_default().record(latency_ns);
    }

    /// Moves what `other` holds into this, and empties it.
    pub fn absorb(&mut self, other: &mut Self) {
        for (total, latencies) in self.0.iter_mut().zip(&mut other.0) {
            if let Some(latencies) = latencies.as_mut().filter(|latencies| latencies.count() > 0) {
                total.get_or_insert_default().merge(latencies);
                latencies.clear();
            }
        }
    }

    /// For the journal, the kinds that occurred; empties it.
    pub fn take_records(&mut self) -> BTreeMap<StatementKind, LatencyRecord> {
        let mut records = BTreeMap::new();
        for (kind, latencies) in StatementKind::ALL.into_iter().zip(&mut self.0) {
            if let Some(latencies) = latencies.as_mut().filter(|latencies| latencies.count() > 0) {
                records.insert(kind, latencies.to_record());
                latencies.clear();
            }
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_kept_apart_and_taken_once() {
        let (mut own, mut total) = (StatementLatencies::default(), StatementLatencies::default());
        own.record(StatementKind::Commit, 700_000);
        own.record(StatementKind::Commit, 900_000);
        own.record(StatementKind::Begin, 1_000);
        total.absorb(&mut own);
        total.absorb(&mut own);
        let records = total.take_records();
        let counts: Vec<(StatementKind, u64)> = records.iter().map(|(kind, r)| (*kind, r.count)).collect();
        assert_eq!(counts, [(StatementKind::Begin, 1), (StatementKind::Commit, 2)]);
        assert!(total.take_records().is_empty());
    }

    #[test]
    fn kinds_are_numbered_in_the_order_of_their_list() {
        assert!(StatementKind::ALL.into_iter().enumerate().all(|(n, kind)| kind as usize == n));
    }
}
