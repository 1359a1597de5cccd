//! What a workload is, as pure values: statements, their order, key distributions and row contents.
//!
//! Nothing here knows a clock, a server or a thread: the same seed gives the same statements.

pub mod keys;
pub mod kind;
pub mod pages;
pub mod random;
pub mod rows;
pub mod schema;
pub mod script;
pub mod statement;
pub mod walk;

use serde::{Deserialize, Serialize};

pub use keys::KeyDistribution;
pub use kind::WorkloadKind;

/// What load threads do, in plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Which statements, by sysbench's name.
    pub kind: WorkloadKind,
    /// Number of tables, drawn uniformly.
    pub tables: u32,
    /// Ids addressed: `1..=table_size`.
    pub table_size: u64,
    /// How ids are picked.
    pub keys: KeyDistribution,
    /// How often each statement stands in a transaction, where the kind has a choice.
    pub repeats: Repeats,
    /// Rows in a range read.
    pub range_size: u64,
    /// Values in the list of `select_random_points`.
    pub random_points: u32,
    /// Ranges in a statement of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// Values of `k` in such a range, less one.
    pub delta: u64,
    /// BEGIN and COMMIT stand around the statements.
    pub transaction: bool,
    /// The server chooses the ids of inserts that add rows.
    pub auto_inc: bool,
    /// Statements are prepared once and executed; otherwise they are sent as text.
    pub prepared: bool,
}

/// How often each statement stands in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// Reads of one row by id.
    pub point_selects: u32,
    /// Range reads.
    pub simple_ranges: u32,
    /// Sums over a range.
    pub sum_ranges: u32,
    /// Sorted range reads.
    pub order_ranges: u32,
    /// Distinct range reads.
    pub distinct_ranges: u32,
    /// Updates of `k`.
    pub index_updates: u32,
    /// Updates of `c`.
    pub non_index_updates: u32,
    /// Deletes, each with an insert of the same id.
    pub delete_inserts: u32,
}

impl Repeats {
    /// sysbench's defaults.
    pub const DEFAULT: Repeats = Repeats {
        point_selects: 10,
        simple_ranges: 1,
        sum_ranges: 1,
        order_ranges: 1,
        distinct_ranges: 1,
        index_updates: 1,
        non_index_updates: 1,
        delete_inserts: 1,
    };
}

impl Workload {
    /// A workload with sysbench's defaults: prepared statements, and transactions where the kind has them.
    #[must_use]
    pub fn new(kind: WorkloadKind, tables: u32, table_size: u64, keys: KeyDistribution) -> Self {
        Self {
            kind,
            tables,
            table_size,
            keys,
            repeats: Repeats::DEFAULT,
            range_size: 100,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            transaction: kind.has_transactions(),
            auto_inc: true,
            prepared: kind.can_be_prepared(),
        }
    }
}
