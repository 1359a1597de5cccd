//! What a load left: sizes, and the pages that reading it takes.

use std::fs;
use std::path::Path;

use drivestone::protocol::job::Dataset;
use drivestone::workload::random::WorkloadRng;
use mysql::Conn;
use mysql::prelude::Queryable as _;

/// Transactions read from a cold pool.
const TRANSACTIONS: u32 = 2_000;

/// Sums over all tables.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    /// `data_length` and `index_length`, bytes.
    pub lengths: u64,
    /// The `.ibd` files, bytes.
    pub files: u64,
    /// Leaf pages of both trees.
    pub leaf_pages: u64,
    /// Pages read by a transaction, pool cold at first and smaller than the dataset.
    pub pages_read: f64,
}

impl Tree {
    /// Looks at the tables of a server that has just started.
    pub fn look(connection: &mut Conn, dataset: &Dataset, data: &Path) -> Self {
        let pages_read = read(connection, dataset);
        for table in 1..=dataset.tables {
            connection.query_drop(format!("ANALYZE TABLE sbtest.sbtest{table}")).unwrap();
        }
        let mut sum = |sql: &str| connection.query_first::<u64, _>(sql).unwrap().unwrap();
        let lengths =
            sum("SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) FROM information_schema.tables \
             WHERE table_schema = 'sbtest'");
        let leaf_pages = sum("SELECT CAST(SUM(stat_value) AS UNSIGNED) FROM mysql.innodb_index_stats \
             WHERE database_name = 'sbtest' AND stat_name = 'n_leaf_pages'");
        let files = fs::read_dir(data.join("sbtest")).unwrap().map(|entry| entry.unwrap());
        let files = files.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "ibd"));
        Self {
            lengths,
            files: files.map(|entry| entry.metadata().unwrap().len()).sum(),
            leaf_pages,
            pages_read,
        }
    }

    /// The largest of the four figures' differences from another tree's, relative.
    pub fn difference(&self, other: &Tree) -> f64 {
        let figures =
            |tree: &Tree| [tree.lengths as f64, tree.files as f64, tree.leaf_pages as f64, tree.pages_read];
        let differences = figures(self).into_iter().zip(figures(other)).map(|(a, b)| (a / b - 1.0).abs());
        differences.fold(0.0, f64::max)
    }
}

/// A read-only load of one connection with a fixed seed: ten rows by id, a range of ids and a range of `k`
/// in each transaction. Returns the pages that one of them read.
fn read(connection: &mut Conn, dataset: &Dataset) -> f64 {
    let mut rng = WorkloadRng::new(7, 1);
    let mut place =
        |rows: u64| (rng.between(1, dataset.tables.into()), rng.between(1, dataset.rows - rows + 1));
    let before = pages_read(connection);
    for _ in 0..TRANSACTIONS {
        for _ in 0..10 {
            let (table, id) = place(1);
            let sql = format!("SELECT c FROM sbtest.sbtest{table} WHERE id = {id}");
            connection.query_drop(sql).unwrap();
        }
        for (column, index) in [("id", "PRIMARY"), ("k", "k")] {
            let (table, from) = place(100);
            let index = if index == "k" { format!("k_{table}") } else { index.to_owned() };
            let to = from + 99;
            connection
                .query_drop(format!(
                    "SELECT COUNT({column}) FROM sbtest.sbtest{table} FORCE INDEX ({index}) \
                     WHERE {column} BETWEEN {from} AND {to}"
                ))
                .unwrap();
        }
    }
    (pages_read(connection) - before) as f64 / f64::from(TRANSACTIONS)
}

fn pages_read(connection: &mut Conn) -> u64 {
    let sql = "SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'";
    connection.query_first::<(String, u64), _>(sql).unwrap().unwrap().1
}
