//! The OLTP transaction: which statements, on which table, with which keys.

use serde::{Deserialize, Serialize};

use super::keys::KeyDistribution;
use super::random::{Streams, WorkloadRng};
use super::rows::{C_LEN, PAD_LEN, c_value, pad_value};
use super::schema::table_name;

/// What a statement is to the server; a thread prepares one of each for every table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// One row by primary key.
    PointSelect,
    /// A range of rows.
    SimpleRange,
    /// The sum of `k` over a range.
    SumRange,
    /// A range sorted by `c`.
    OrderRange,
    /// The distinct `c` of a range, sorted.
    DistinctRange,
    /// `k = k + 1`: moves an entry of the secondary index.
    IndexUpdate,
    /// A new `c`: touches the row only.
    NonIndexUpdate,
    /// One row by primary key.
    Delete,
    /// The row that was just deleted, with new contents.
    Insert,
}

impl StatementKind {
    /// Every kind, in the order of a transaction.
    pub const ALL: [StatementKind; 9] = [
        StatementKind::PointSelect,
        StatementKind::SimpleRange,
        StatementKind::SumRange,
        StatementKind::OrderRange,
        StatementKind::DistinctRange,
        StatementKind::IndexUpdate,
        StatementKind::NonIndexUpdate,
        StatementKind::Delete,
        StatementKind::Insert,
    ];

    /// The statement's text for table `number`, with placeholders.
    #[must_use]
    pub fn sql(self, number: u32) -> String {
        let table = table_name(number);
        match self {
            StatementKind::PointSelect => format!("SELECT c FROM {table} WHERE id=?"),
            StatementKind::SimpleRange => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ?"),
            StatementKind::SumRange => format!("SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?"),
            StatementKind::OrderRange => {
                format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            StatementKind::DistinctRange => {
                format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            StatementKind::IndexUpdate => format!("UPDATE {table} SET k=k+1 WHERE id=?"),
            StatementKind::NonIndexUpdate => format!("UPDATE {table} SET c=? WHERE id=?"),
            StatementKind::Delete => format!("DELETE FROM {table} WHERE id=?"),
            StatementKind::Insert => format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    /// Whether sysbench counts it as a write (when it touches a row) or as a read.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(
            self,
            StatementKind::IndexUpdate
                | StatementKind::NonIndexUpdate
                | StatementKind::Delete
                | StatementKind::Insert
        )
    }
}

/// Values for a statement's placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameters {
    /// A primary key.
    Id(u64),
    /// First and last id of a range.
    Range(u64, u64),
    /// New `c` for a row.
    Text([u8; C_LEN], u64),
    /// A whole row: id, k, c, pad.
    Row(u64, u64, [u8; C_LEN], [u8; PAD_LEN]),
}

/// One statement of a transaction. BEGIN and COMMIT stand around the list, not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Table number, counted from 1.
    pub table: u32,
    /// Placeholder values.
    pub parameters: Parameters,
}

/// How many of each read a transaction has.
const POINT_SELECTS: usize = 10;
/// The four range reads, in sysbench's order.
const RANGES: [StatementKind; 4] = [
    StatementKind::SimpleRange,
    StatementKind::SumRange,
    StatementKind::OrderRange,
    StatementKind::DistinctRange,
];

/// `oltp_read_write` over a set of equal tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OltpReadWrite {
    /// Number of tables, drawn uniformly.
    pub tables: u32,
    /// Ids addressed: `1..=table_size`.
    pub table_size: u64,
    /// Rows in a range read.
    pub range_size: u64,
    /// How ids are picked.
    pub keys: KeyDistribution,
}

impl OltpReadWrite {
    /// Fills `statements` with the next transaction.
    ///
    /// As in sysbench the table is drawn once a statement kind, so the ten point selects share one,
    /// and the upper bound of a range may pass the end of the table.
    pub fn next_transaction(&self, streams: &mut Streams, statements: &mut Vec<Statement>) {
        let Streams { choices: rng, text } = streams;
        statements.clear();
        let table = self.table(rng);
        for _ in 0..POINT_SELECTS {
            let id = self.id(rng);
            statements.push(Statement {
                kind: StatementKind::PointSelect,
                table,
                parameters: Parameters::Id(id),
            });
        }
        for kind in RANGES {
            let (table, from) = (self.table(rng), self.id(rng));
            let parameters = Parameters::Range(from, from + self.range_size - 1);
            statements.push(Statement { kind, table, parameters });
        }
        let (table, id) = (self.table(rng), self.id(rng));
        statements.push(Statement {
            kind: StatementKind::IndexUpdate,
            table,
            parameters: Parameters::Id(id),
        });
        let (table, id) = (self.table(rng), self.id(rng));
        let parameters = Parameters::Text(c_value(text), id);
        statements.push(Statement { kind: StatementKind::NonIndexUpdate, table, parameters });
        let (table, id, k) = (self.table(rng), self.id(rng), self.id(rng));
        statements.push(Statement { kind: StatementKind::Delete, table, parameters: Parameters::Id(id) });
        let parameters = Parameters::Row(id, k, c_value(text), pad_value(text));
        statements.push(Statement { kind: StatementKind::Insert, table, parameters });
    }

    /// Statements that the server must hold prepared for one thread, BEGIN and COMMIT included.
    #[must_use]
    pub fn prepared_statements(&self) -> u64 {
        StatementKind::ALL.len() as u64 * u64::from(self.tables) + 2
    }

    fn table(&self, rng: &mut WorkloadRng) -> u32 {
        u32::try_from(rng.between(1, u64::from(self.tables))).unwrap_or(self.tables)
    }

    fn id(&self, rng: &mut WorkloadRng) -> u64 {
        self.keys.pick(rng, self.table_size)
    }
}

/// Page visits of one transaction, for estimating buffer-pool misses.
///
/// `clustered` visits follow the key distribution; `index` visits are spread evenly over index `k`,
/// because a value's rank among values of its own distribution is uniform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageVisits {
    /// Visits to leaf pages of primary keys.
    pub clustered: f64,
    /// Visits to leaf pages of index `k`.
    pub index: f64,
}

impl OltpReadWrite {
    /// Page visits of one transaction when `rows_per_page` rows share a leaf of the primary key.
    ///
    /// A range of r rows crosses 1 + (r − 1)/rows_per_page leaves. The insert finds the leaf that its
    /// delete just visited. The delete marks one index entry and the insert adds another; an update
    /// of `k` by one stays in the same neighbourhood, so it counts once.
    #[must_use]
    pub fn page_visits(&self, rows_per_page: f64) -> PageVisits {
        let leaves_of_range = 1.0 + (self.range_size.saturating_sub(1)) as f64 / rows_per_page;
        PageVisits {
            clustered: POINT_SELECTS as f64 + RANGES.len() as f64 * leaves_of_range + 3.0,
            index: 3.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIX: OltpReadWrite =
        OltpReadWrite { tables: 10, table_size: 1000, range_size: 100, keys: KeyDistribution::Uniform };

    #[test]
    fn counts_are_sysbenchs() {
        let mut statements = Vec::new();
        MIX.next_transaction(&mut Streams::new(1, 1, 0), &mut statements);
        let writes = statements.iter().filter(|s| s.kind.is_write()).count();
        assert_eq!((statements.len() - writes, writes), (14, 4));
        assert_eq!(MIX.prepared_statements(), 92);
    }

    #[test]
    fn the_stream_of_a_seed_is_fixed() {
        let mut streams = Streams::new(42, 1, 0);
        let mut statements = Vec::new();
        let mut text = String::new();
        for _ in 0..2 {
            MIX.next_transaction(&mut streams, &mut statements);
            for statement in &statements {
                let values = match &statement.parameters {
                    Parameters::Id(id) => format!("{id}"),
                    Parameters::Range(from, to) => format!("{from}, {to}"),
                    Parameters::Text(c, id) => format!("{}, {id}", String::from_utf8_lossy(c)),
                    Parameters::Row(id, k, c, pad) => {
                        format!("{id}, {k}, {}, {}", String::from_utf8_lossy(c), String::from_utf8_lossy(pad))
                    }
                };
                text += &format!("{}  -- {values}\n", statement.kind.sql(statement.table));
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn delete_and_insert_name_the_same_row() {
        let mut streams = Streams::new(5, 5, 0);
        let mut statements = Vec::new();
        for _ in 0..100 {
            MIX.next_transaction(&mut streams, &mut statements);
            let [.., delete, insert] = statements.as_slice() else { panic!("too short") };
            let (Parameters::Id(deleted), Parameters::Row(inserted, ..)) =
                (&delete.parameters, &insert.parameters)
            else {
                panic!("{statements:?}")
            };
            assert_eq!((delete.table, deleted), (insert.table, inserted));
        }
    }
}
