//! Letting the server finish what earlier transactions left behind: dirty pages to write, undo logs to purge.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable as _;

use crate::protocol::job::SettleJob;

/// How often it is looked whether the server has come to rest.
const LOOK: Duration = Duration::from_millis(200);
/// Share of dirty pages above which InnoDB writes them at once, percent.
const LIMIT: &str = "innodb_max_dirty_pages_pct";
/// Share from which it begins to; the server lowers it with the other.
const LOW_MARK: &str = "innodb_max_dirty_pages_pct_lwm";

/// What is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Dirty pages.
    pub dirty_pages: u64,
    /// Undo logs to purge; unknown where the server does not say.
    pub history: Option<u64>,
}

impl Left {
    /// Whether this is little enough.
    #[must_use]
    pub fn meets(&self, goal: &SettleJob) -> bool {
        self.dirty_pages <= goal.dirty_pages && self.history.is_none_or(|history| history <= goal.history)
    }
}

/// Has the server write its dirty pages and purge, and waits until little enough is left, patience ends or a stop
/// is asked for. `look` sees what is left meanwhile. Returns what was left at the end.
///
/// # Errors
/// The client library's, unchanged.
pub fn settle(
    connection: &mut Conn,
    goal: &SettleJob,
    stop: &AtomicBool,
    look: &mut dyn FnMut(Left),
) -> Result<Left, mysql::Error> {
    let before: Option<(f64, f64)> =
        connection.query_first(format!("SELECT @@GLOBAL.{LIMIT}, @@GLOBAL.{LOW_MARK}"))?;
    connection.query_drop(format!("SET GLOBAL {LIMIT} = 0"))?;
    let deadline = Instant::now() + Duration::from_secs(goal.patience_s);
    let left = loop {
        let left = left(connection)?;
        look(left);
        if left.meets(goal) || Instant::now() >= deadline || stop.load(Ordering::Acquire) {
            break left;
        }
        thread::sleep(LOOK);
    };
    if let Some((limit, low_mark)) = before {
        connection.query_drop(format!("SET GLOBAL {LIMIT} = {limit}"))?;
        connection.query_drop(format!("SET GLOBAL {LOW_MARK} = {low_mark}"))?;
    }
    Ok(left)
}

fn left(connection: &mut Conn) -> Result<Left, mysql::Error> {
    let rows: Vec<(String, u64)> = connection.query(
        "SHOW GLOBAL STATUS WHERE variable_name IN ('Innodb_buffer_pool_pages_dirty', 'Innodb_history_list_length')",
    )?;
    let value =
        |name: &str| rows.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
    Ok(Left {
        dirty_pages: value("Innodb_buffer_pool_pages_dirty").unwrap_or(0),
        history: value("Innodb_history_list_length"),
    })
}
