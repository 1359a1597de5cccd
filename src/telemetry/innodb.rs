//! The server's counters that explain storage work.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mysql::prelude::Queryable;

use crate::protocol::clock::monotonic_ns;
use crate::protocol::sample::ServerSample;

/// What is asked for, under MariaDB's names. A server that lacks one leaves it out.
///
/// On MariaDB 10.11, where all but `Innodb_os_log_fsyncs` exist: `Innodb_data_fsyncs` counts the log's
/// syncs as well, `Innodb_data_written` counts doublewrite but not the log, and pages that are written
/// for the first time bypass doublewrite.
pub const COUNTERS: [&str; 31] = [
    "Com_commit",
    "Com_rollback",
    "Questions",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_read_ahead",
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_data",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_wait_free",
    "Innodb_data_read",
    "Innodb_data_reads",
    "Innodb_data_written",
    "Innodb_data_writes",
    "Innodb_data_fsyncs",
    "Innodb_log_writes",
    "Innodb_os_log_written",
    "Innodb_os_log_fsyncs",
    "Innodb_log_waits",
    "Innodb_dblwr_pages_written",
    "Innodb_dblwr_writes",
    "Innodb_pages_read",
    "Innodb_pages_written",
    "Innodb_pages_created",
    "Innodb_row_lock_waits",
    "Innodb_row_lock_time",
    "Innodb_deadlocks",
    "Innodb_checkpoint_age",
    "Innodb_history_list_length",
];

static QUERY: LazyLock<String> =
    LazyLock::new(|| format!("SHOW GLOBAL STATUS WHERE Variable_name IN ('{}')", COUNTERS.join("','")));

/// Asks once. The query itself counts in `Questions`.
///
/// # Errors
/// When the server does not answer.
pub fn read(conn: &mut mysql::Conn) -> Result<ServerSample, mysql::Error> {
    let before = monotonic_ns();
    let rows: Vec<(String, String)> = conn.query(QUERY.as_str())?;
    let after = monotonic_ns();
    Ok(ServerSample { at_ns: before + (after - before) / 2, counters: counters(rows) })
}

/// A value that is no integer says nothing, as if the counter were not there.
fn counters(rows: Vec<(String, String)>) -> BTreeMap<String, i64> {
    rows.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_query_names_every_counter_once() {
        for name in COUNTERS {
            assert_eq!(QUERY.matches(&format!("'{name}'")).count(), 1, "{name}");
        }
        assert!(QUERY.starts_with("SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit','"));
        assert!(QUERY.ends_with("')"));
    }

    #[test]
    fn what_is_no_number_is_absent() {
        let rows = [("Com_commit", "12"), ("Innodb_data_read", "9000000000"), ("Innodb_deadlocks", "")];
        let counters = counters(rows.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec());
        assert_eq!(counters.len(), 2);
        assert_eq!(counters["Innodb_data_read"], 9_000_000_000);
    }
}
