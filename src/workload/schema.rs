//! The sysbench 1.x table: DDL and the arithmetic of its rows on disk.

/// The database that holds the tables.
pub const DATABASE: &str = "sbtest";

/// Name of table `number`, counted from 1.
#[must_use]
pub fn table_name(number: u32) -> String {
    format!("sbtest{number}")
}

/// Statement that creates table `number`, without its secondary index.
#[must_use]
pub fn create_table(number: u32) -> String {
    format!(
        "CREATE TABLE {}.{} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = InnoDB",
        DATABASE,
        table_name(number)
    )
}

/// Statement that adds the secondary index, run once the rows are in.
#[must_use]
pub fn create_index(number: u32) -> String {
    format!("CREATE INDEX k_{number} ON {}.{} (k)", DATABASE, table_name(number))
}

/// Bytes a row takes in a leaf page of the primary key: 5 header, 4 id, 6 transaction id, 7 roll
/// pointer, 4 k, 120 c, 60 pad (a one-byte character set), and a quarter of a directory slot.
pub const CLUSTERED_RECORD_BYTES: f64 = 206.5;
/// Bytes an entry takes in a leaf page of index `k`: 5 header, 4 k, 4 id, and its share of a slot.
pub const INDEX_RECORD_BYTES: f64 = 13.5;
/// Page header, trailer, infimum and supremum.
pub const PAGE_OVERHEAD_BYTES: f64 = 128.0;
/// Unused pages of extents, for each table: its file grows four extents at a time, in both trees.
pub const EXTENT_SLACK_BYTES: f64 = 6.0 * 1024.0 * 1024.0;
/// A secondary index built after the load has full pages.
pub const INDEX_FILL_FACTOR: f64 = 1.0;
/// InnoDB leaves a sixteenth of a page free when rows arrive in key order.
pub const FILL_FACTOR: f64 = 15.0 / 16.0;
