//! What sysbench prints, read into figures: the output of 0.4, 0.5, 1.0 and 1.1, as files, pipes and people
//! leave it.
//!
//! Nothing is computed here and nothing is invented: a figure that a log does not tell is `None`, and one that
//! cannot be is refused with its place.

mod check;
mod command;
mod draft;
mod interval;
mod number;
mod passwords;
mod places;
mod reader;
mod summary;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use passwords::without_passwords;

/// A log with one or more runs, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SysbenchLog {
    /// Its runs; at least one.
    pub runs: Vec<SysbenchRun>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// The generation of sysbench whose output a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialect {
    /// `--test=oltp`, without interval lines.
    #[serde(rename = "0.4")]
    V0_4,
    /// The first with Lua scripts.
    #[serde(rename = "0.5")]
    V0_5,
    /// 1.0.
    #[serde(rename = "1.0")]
    V1_0,
    /// 1.1 and the master branch.
    #[serde(rename = "1.1")]
    V1_1,
}

/// One `sysbench … run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SysbenchRun {
    /// Generation of the output.
    pub dialect: Dialect,
    /// Version, if it was printed, such as `1.0.20`.
    pub version: Option<String>,
    /// The test, if the log tells: the script's name, or 0.4's mode.
    pub test: Option<String>,
    /// Load threads.
    pub threads: u32,
    /// Seconds between interval lines, if told.
    pub report_interval_s: Option<u64>,
    /// Options of the command line, if it stands in the log; nothing about the connection.
    pub options: BTreeMap<String, String>,
    /// What the head of the output says of the work.
    pub remarks: Vec<String>,
    /// Interval lines, ascending.
    pub intervals: Vec<Interval>,
    /// The final report, as far as it is there.
    pub summary: Option<Summary>,
    /// The first fatal error.
    pub fatal: Option<String>,
}

/// A percentile of the latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Which one, 1–100.
    pub rank: u8,
    /// Its value, ms.
    pub ms: f64,
}

/// An interval line: rates since the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// End of the interval, seconds since the start of the run.
    pub second: u64,
    /// Threads that were running.
    pub threads: u32,
    /// Transactions a second.
    pub tps: f64,
    /// Statements a second.
    pub qps: Option<f64>,
    /// Reads a second.
    pub reads_per_s: Option<f64>,
    /// Writes a second.
    pub writes_per_s: Option<f64>,
    /// Other statements a second.
    pub other_per_s: Option<f64>,
    /// Percentile of the latency in the interval.
    pub percentile: Option<Percentile>,
    /// Errors that restarted a transaction, a second.
    pub errors_per_s: Option<f64>,
    /// Reconnects a second.
    pub reconnects_per_s: Option<f64>,
}

/// The final report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Statements that read.
    pub reads: Option<u64>,
    /// Statements that wrote.
    pub writes: Option<u64>,
    /// Others, such as BEGIN and COMMIT.
    pub other: Option<u64>,
    /// All statements.
    pub total: Option<u64>,
    /// Transactions.
    pub transactions: Option<u64>,
    /// Transactions a second, as printed.
    pub tps: Option<f64>,
    /// Statements, as 1.x repeats them.
    pub queries: Option<u64>,
    /// Reads and writes together, as 0.4 and 0.5 print them.
    pub read_write_requests: Option<u64>,
    /// Errors that restarted a transaction; of 0.4 its deadlocks.
    pub ignored_errors: Option<u64>,
    /// Reconnects.
    pub reconnects: Option<u64>,
    /// Length of the run, seconds.
    pub seconds: Option<f64>,
    /// Events, which are transactions, a second, as 1.1 prints them.
    pub events_per_s: Option<f64>,
    /// Events.
    pub events: Option<u64>,
    /// Minimal latency, ms.
    pub min_ms: Option<f64>,
    /// Mean latency, ms.
    pub avg_ms: Option<f64>,
    /// Maximal latency, ms.
    pub max_ms: Option<f64>,
    /// The percentile.
    pub percentile: Option<Percentile>,
    /// Latencies of all events, ms.
    pub sum_ms: Option<f64>,
    /// Events of a thread: mean and standard deviation.
    pub events_fairness: Option<(f64, f64)>,
    /// Time in which a thread executed events, seconds: mean and standard deviation.
    pub time_fairness_s: Option<(f64, f64)>,
}

/// Why a log was not imported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SysbenchError {
    /// A figure that cannot be.
    #[error("{place}: {field} {value} cannot be: {expected}")]
    Impossible {
        /// File and line.
        place: String,
        /// Which figure.
        field: String,
        /// As it stands there.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// Nothing in it is a run of a database test.
    #[error("{file}: {reason}")]
    NotALog {
        /// The file.
        file: String,
        /// What it is instead, and what to give.
        reason: String,
    },
}

/// Reads a log. `file` is its name in messages.
///
/// # Errors
/// When there is no run of a database test in it, or a figure that cannot be.
pub fn parse(file: &str, bytes: &[u8]) -> Result<SysbenchLog, SysbenchError> {
    reader::read(file, text::lines(bytes))
}

impl Summary {
    /// Every count, with the label that it has in 1.0.
    fn counts(&self) -> [(&'static str, Option<u64>); 10] {
        [
            ("read", self.reads),
            ("write", self.writes),
            ("other", self.other),
            ("total", self.total),
            ("transactions", self.transactions),
            ("queries", self.queries),
            ("read/write requests", self.read_write_requests),
            ("ignored errors", self.ignored_errors),
            ("reconnects", self.reconnects),
            ("total number of events", self.events),
        ]
    }
}

impl SysbenchLog {
    /// Checks a log that was stored, as [`parse`] checked it when it was read.
    ///
    /// # Errors
    /// When a figure cannot be.
    pub fn validate(&self, file: &str) -> Result<(), SysbenchError> {
        if self.runs.is_empty() {
            let reason = "there is no run in it".to_owned();
            return Err(SysbenchError::NotALog { file: file.to_owned(), reason });
        }
        self.runs.iter().try_for_each(|run| check::check(run, &places::Places::of_file(file)))
    }
}
