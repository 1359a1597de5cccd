//! The result bundle: one folder, one journal, written as things happen and readable at any moment.

pub mod bundle;
pub mod import;
pub mod journal;
pub mod line;
pub mod reader;
pub mod redact;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::protocol::Event;

/// Version of the journal; its first line names it.
pub const JOURNAL_FORMAT: u32 = 4;

/// Name of the coordinator among the hosts that say things.
pub const COORDINATOR: &str = "coordinator";

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts from 0 without gaps.
    pub seq: u64,
    /// Coordinator's wall clock, UTC. For people: nothing is computed from it.
    pub utc: String,
    /// Host that said it; `coordinator` for the coordinator itself.
    pub from: String,
    /// What is recorded.
    pub record: Record,
}

/// What a line records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// First line.
    Opened(Opened),
    /// An agent's event.
    Event(Event),
    /// A host's clock minus the coordinator's, and the bound of its error, ns.
    Clock {
        /// Best estimate.
        offset_ns: i64,
        /// The truth is within this.
        bound_ns: i64,
    },
    /// A run begins.
    RunStarted {
        /// Number of the run in the plan, from 0.
        run: usize,
        /// Its instances, in the plan's order.
        instances: Vec<HostStart>,
        /// Hosts that only sample.
        observers: Vec<HostStart>,
    },
    /// The host named by `from` does not take part any more.
    Lost {
        /// How it was noticed.
        reason: String,
    },
    /// A run is over.
    RunEnded {
        /// Number of the run.
        run: usize,
        /// As planned, or why not.
        shortfall: Option<String>,
    },
    /// A ramp has found its end; the plan's later runs are not needed.
    RampEnded {
        /// Number of the last run.
        after: usize,
    },
    /// Last line.
    Closed {
        /// How it ended.
        ending: Ending,
        /// Why, when not as planned.
        reason: Option<String>,
    },
}

/// The moments of a run on one host, in that host's monotonic clock: the same moments everywhere, as
/// exactly as the clocks' offsets are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStart {
    /// Name of the host, as in the plan.
    pub host: String,
    /// When the load begins (warm-up).
    pub begin_ns: i64,
    /// Start of the measured interval.
    pub t0_ns: i64,
    /// Planned end of the interval, when it is bounded by time.
    pub end_ns: Option<i64>,
}

/// The journal's first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Version of the journal.
    pub format: u32,
    /// drivestone version that writes it.
    pub drivestone: String,
    /// CRC-32 of the plan's file beside it.
    pub plan_crc32: u32,
}

/// How an invocation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As planned.
    Complete,
    /// By a failure.
    Failed,
    /// By its user.
    Interrupted,
}

/// Why a bundle cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The folder for a new result is there already.
    #[error("{0} exists; a result needs a folder of its own, name another with --out")]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("{path} could not be written: {source}")]
    Write {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The journal's filesystem ran full. What was written before is kept.
    #[error("no space left for the journal {path}; the run is ended while its outcome can still be written")]
    Full {
        /// The journal.
        path: PathBuf,
    },
    /// A file could not be read.
    #[error("{path} could not be read: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not a result.
    #[error("{path} is not a drivestone result: {reason}")]
    Foreign {
        /// Which file or folder.
        path: PathBuf,
        /// What is missing or wrong.
        reason: String,
    },
    /// What is left without the names cannot be read.
    #[error("{path} cannot be redacted: a host's name is also a word of the journal's own ({reason})")]
    NotRedacted {
        /// Which result.
        path: PathBuf,
        /// Where it fails.
        reason: String,
    },
}
