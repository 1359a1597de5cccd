//! Single statements: kinds, texts, parameters.

use serde::{Deserialize, Serialize};

use super::Workload;
use super::rows::Text;
use super::schema::table_name;

/// What a statement is to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    /// Opens the transaction.
    Begin,
    /// One row by id.
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
    /// One row by id.
    Delete,
    /// One row, or many in one statement.
    Insert,
    /// Rows with any of several values of `k`.
    RandomPoints,
    /// Number of rows in several ranges of `k`.
    RandomRanges,
    /// Closes the transaction: where the server waits for its log.
    Commit,
}

use StatementKind::{
    Begin, Commit, Delete, DistinctRange, IndexUpdate, Insert, NonIndexUpdate, OrderRange, PointSelect,
    RandomPoints, RandomRanges, SimpleRange, SumRange,
};

impl StatementKind {
    /// Every kind, in the order of its numbers.
    pub const ALL: [StatementKind; 13] = [
        Begin,
        PointSelect,
        SimpleRange,
        SumRange,
        OrderRange,
        DistinctRange,
        IndexUpdate,
        NonIndexUpdate,
        Delete,
        Insert,
        RandomPoints,
        RandomRanges,
        Commit,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Begin => "BEGIN",
            PointSelect => "point select",
            SimpleRange => "simple range",
            SumRange => "sum range",
            OrderRange => "order range",
            DistinctRange => "distinct range",
            IndexUpdate => "index update",
            NonIndexUpdate => "non-index update",
            Delete => "delete",
            Insert => "insert",
            RandomPoints => "random points",
            RandomRanges => "random ranges",
            Commit => "COMMIT",
        }
    }

    /// How sysbench counts it.
    #[must_use]
    pub fn class(self) -> StatementClass {
        match self {
            Begin | Commit => StatementClass::Other,
            IndexUpdate | NonIndexUpdate | Delete | Insert => StatementClass::Write,
            _ => StatementClass::Read,
        }
    }

    /// The server's counter of statements of this kind.
    #[must_use]
    pub fn server_counter(self) -> &'static str {
        match self {
            Begin => "Com_begin",
            Commit => "Com_commit",
            IndexUpdate | NonIndexUpdate => "Com_update",
            Delete => "Com_delete",
            Insert => "Com_insert",
            _ => "Com_select",
        }
    }
}

/// How sysbench counts a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementClass {
    /// It reads.
    Read,
    /// It writes; one that touches no row counts as other.
    Write,
    /// BEGIN, COMMIT.
    Other,
}

/// Values of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameters {
    /// None.
    Nothing,
    /// An id.
    Id(u64),
    /// First and last id of a range.
    Range(u64, u64),
    /// New `c` of the row with an id.
    Content(Text, u64),
    /// A whole row: id (`None`: the server's choice), k, c, pad.
    Row(Option<i64>, u64, Text, Text),
    /// Values of `k`, one after the other; for ranges the first and the last of each.
    Values(Vec<u64>),
    /// Rows *n*, *n* from the first to the last.
    Numbers(u64, u64),
}

/// One statement with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Table number, counted from 1; 1 where no table is named.
    pub table: u32,
    /// Its values.
    pub parameters: Parameters,
}

/// `pad` of the rows that sysbench 0.4's transaction inserts.
const INSERTED_PAD_04: &str = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy";

impl Workload {
    /// A statement's text for table `number`, with placeholders. That of `bulk_insert` ends before its rows.
    #[must_use]
    pub fn sql(&self, kind: StatementKind, number: u32) -> String {
        use super::WorkloadKind::{BulkInsert, Complex04, Insert04, Select04};
        let table = table_name(self.kind.is_04(), number);
        match kind {
            Begin => "BEGIN".to_owned(),
            Commit => "COMMIT".to_owned(),
            PointSelect if self.kind == Select04 => format!("SELECT pad FROM {table} WHERE id=?"),
            PointSelect => format!("SELECT c FROM {table} WHERE id=?"),
            SimpleRange => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ?"),
            SumRange => format!("SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?"),
            OrderRange => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c"),
            DistinctRange => format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c"),
            IndexUpdate => format!("UPDATE {table} SET k=k+1 WHERE id=?"),
            NonIndexUpdate => format!("UPDATE {table} SET c=? WHERE id=?"),
            Delete => format!("DELETE FROM {table} WHERE id=?"),
            Insert => match self.kind {
                Complex04 => format!("INSERT INTO {table} VALUES (?, 0, ' ', '{INSERTED_PAD_04}')"),
                BulkInsert => format!("INSERT INTO {table} VALUES"),
                Insert04 => format!("INSERT INTO {table} VALUES (?, ?, ?, ?)"),
                _ => format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
            },
            RandomPoints => {
                let points = vec!["?"; self.random_points as usize].join(", ");
                format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({points})")
            }
            RandomRanges => {
                let ranges = vec!["k BETWEEN ? AND ?"; self.number_of_ranges as usize].join(" OR ");
                format!("SELECT count(k) FROM {table} WHERE {ranges}")
            }
        }
    }

    /// Writes a whole statement, values included, as sysbench sends it when nothing is prepared.
    pub fn write_text(&self, statement: &Statement, sql: &str, text: &mut String) {
        use std::fmt::Write as _;

        text.clear();
        if let Parameters::Numbers(first, last) = statement.parameters {
            text.push_str(sql);
            for n in first..=last {
                let comma = if n == first { "" } else { "," };
                // Writing to a string does not fail.
                let _ = write!(text, "{comma}({n},{n})");
            }
            return;
        }
        let mut pieces = sql.split('?');
        text.push_str(pieces.next().unwrap_or_default());
        for (value, piece) in pieces.enumerate() {
            statement.parameters.write_value(value, text);
            text.push_str(piece);
        }
    }
}

impl Parameters {
    /// Appends the value for placeholder `n`, from 0. Texts are digits, dashes and letters: nothing in
    /// them needs an escape.
    fn write_value(&self, n: usize, text: &mut String) {
        use std::fmt::Write as _;

        // Writing to a string does not fail.
        let mut number = |value: u64| {
            let _ = write!(text, "{value}");
        };
        match (self, n) {
            (Self::Id(id), _) => number(*id),
            (Self::Range(from, _), 0) => number(*from),
            (Self::Range(_, to), _) => number(*to),
            (Self::Content(_, id), 1) => number(*id),
            (Self::Row(_, k, ..), 1) => number(*k),
            (Self::Values(values), n) => number(values.get(n).copied().unwrap_or(0)),
            (Self::Row(id, ..), 0) => match id {
                Some(id) => {
                    let _ = write!(text, "{id}");
                }
                None => text.push('0'),
            },
            (Self::Content(c, _) | Self::Row(_, _, c, _), 0 | 2) => {
                let _ = write!(text, "'{c}'");
            }
            (Self::Row(_, _, _, pad), _) => {
                let _ = write!(text, "'{pad}'");
            }
            _ => {}
        }
    }
}
