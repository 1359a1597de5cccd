//! The tables: DDL and the arithmetic of their rows on disk.

use serde::{Deserialize, Serialize};

/// The database that holds the tables.
pub const DATABASE: &str = "sbtest";
/// Largest value of a signed `INTEGER`.
const MAX_INTEGER: u64 = i32::MAX as u64;

/// Name of table `number`, counted from 1; sysbench 0.4 has one, without a number.
#[must_use]
pub fn table_name(is_04: bool, number: u32) -> String {
    if is_04 { "sbtest".to_owned() } else { format!("sbtest{number}") }
}

/// How tables are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSchema {
    /// Whose columns and rows.
    pub layout: Layout,
    /// Ids are `AUTO_INCREMENT`.
    pub auto_inc: bool,
    /// `id` has an ordinary index; the rows lie in the order of their arrival.
    pub secondary: bool,
    /// There is an index on `k`.
    pub create_secondary: bool,
    /// `id` and `k` are `BIGINT`, for more rows than `INTEGER` can number.
    pub wide: bool,
}

/// Whose tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// sysbench 1.x: random texts, index `k` made after the load.
    #[serde(rename = "sysbench10")]
    Sysbench10,
    /// sysbench 0.4: one table, rows that differ in their id only, index `k` made before the load.
    #[serde(rename = "sysbench04")]
    Sysbench04,
    /// `bulk_insert`: two columns.
    #[serde(rename = "bulk")]
    Bulk,
}

impl TableSchema {
    /// sysbench 1.x's, with its defaults.
    pub const DEFAULT: TableSchema = TableSchema {
        layout: Layout::Sysbench10,
        auto_inc: true,
        secondary: false,
        create_secondary: true,
        wide: false,
    };

    /// Whether ids or values of `k` up to `largest` need `BIGINT`.
    #[must_use]
    pub fn needs_wide(largest: u64) -> bool {
        largest > MAX_INTEGER
    }

    /// Name of table `number`, with its database.
    #[must_use]
    pub fn full_name(&self, number: u32) -> String {
        format!("{DATABASE}.{}", table_name(self.layout == Layout::Sysbench04, number))
    }

    /// Statement that creates table `number`; of sysbench 0.4's also its index.
    #[must_use]
    pub fn create_table(&self, number: u32) -> String {
        let integer = if self.wide { "BIGINT" } else { "INTEGER" };
        let auto_inc = if self.auto_inc { " AUTO_INCREMENT" } else { "" };
        let id_index = if self.secondary { "KEY xid" } else { "PRIMARY KEY" };
        let table = self.full_name(number);
        match self.layout {
            Layout::Sysbench10 => format!(
                "CREATE TABLE {table} (id {integer} NOT NULL{auto_inc}, k {integer} DEFAULT '0' NOT NULL, \
                 c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, {id_index} (id)) \
                 ENGINE = InnoDB"
            ),
            Layout::Sysbench04 => {
                let unsigned = if self.wide { "BIGINT UNSIGNED" } else { "INTEGER UNSIGNED" };
                let k_index = if self.create_secondary { ", KEY k (k)" } else { "" };
                format!(
                    "CREATE TABLE {table} (id {unsigned} NOT NULL{auto_inc}, \
                     k {integer} UNSIGNED DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
                     pad CHAR(60) DEFAULT '' NOT NULL, {id_index} (id){k_index}) ENGINE = InnoDB"
                )
            }
            Layout::Bulk => format!(
                "CREATE TABLE {table} (id {integer} NOT NULL, k {integer} DEFAULT '0' NOT NULL, \
                 PRIMARY KEY (id)) ENGINE = InnoDB"
            ),
        }
    }

    /// Statement that adds the index on `k` once the rows are in, if there is to be one by then.
    #[must_use]
    pub fn create_index(&self, number: u32) -> Option<String> {
        (self.layout == Layout::Sysbench10 && self.create_secondary)
            .then(|| format!("CREATE INDEX k_{number} ON {} (k)", self.full_name(number)))
    }

    /// Whether there is an index on `k`.
    #[must_use]
    pub fn has_k_index(&self) -> bool {
        self.create_secondary && self.layout != Layout::Bulk
    }

    /// Bytes that a row takes in a leaf page of the primary key: 5 header, 6 transaction id, 7 roll
    /// pointer, id and k, a quarter of a directory slot; 120 c and 60 pad in a one-byte character set. A
    /// table without a primary key has a row number of 6 bytes besides.
    #[must_use]
    pub fn clustered_record_bytes(&self) -> f64 {
        let texts = if self.layout == Layout::Bulk { 0.0 } else { 180.0 };
        18.5 + 2.0 * self.integer_bytes() + texts + if self.secondary { 6.0 } else { 0.0 }
    }

    /// Bytes that an entry takes in a leaf page of index `k`: 5 header, k, the row's key, and its share of
    /// a slot.
    #[must_use]
    pub fn index_record_bytes(&self) -> f64 {
        5.5 + self.integer_bytes() + if self.secondary { 6.0 } else { self.integer_bytes() }
    }

    fn integer_bytes(&self) -> f64 {
        if self.wide { 8.0 } else { 4.0 }
    }
}

/// Page header, trailer, infimum and supremum.
pub const PAGE_OVERHEAD_BYTES: f64 = 128.0;
/// Unused pages of extents, for each table: its file grows four extents at a time, in both trees.
pub const EXTENT_SLACK_BYTES: f64 = 6.0 * 1024.0 * 1024.0;
/// A secondary index built after the load has full pages.
pub const INDEX_FILL_FACTOR: f64 = 1.0;
/// InnoDB leaves a sixteenth of a page free when rows arrive in key order.
pub const FILL_FACTOR: f64 = 15.0 / 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sysbenchs() {
        let schemas = [
            TableSchema::DEFAULT,
            TableSchema { auto_inc: false, secondary: true, create_secondary: false, ..TableSchema::DEFAULT },
            TableSchema { wide: true, ..TableSchema::DEFAULT },
            TableSchema { layout: Layout::Sysbench04, ..TableSchema::DEFAULT },
            TableSchema { layout: Layout::Bulk, ..TableSchema::DEFAULT },
        ];
        let texts: Vec<String> = schemas
            .iter()
            .flat_map(|schema| [Some(schema.create_table(2)), schema.create_index(2)])
            .flatten()
            .collect();
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn a_row_takes_what_it_took_when_measured() {
        let schema = TableSchema::DEFAULT;
        assert_eq!((schema.clustered_record_bytes(), schema.index_record_bytes()), (206.5, 13.5));
    }
}
