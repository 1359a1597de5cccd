//! Events: what happened. They come from agents and from the coordinator, and the journal keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::facts::{DatasetManifest, HostFacts, ObserverFacts};
use super::sample::{HealthSample, HostSample, ServerSample};
use crate::workload::statement::StatementKind;

/// Code under which a lost connection is counted among the SQL errors, as the client libraries of MySQL call it.
pub const LOST_CONNECTION: u16 = 2013;

/// One thing that happened on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// First line of an agent.
    Hello {
        /// Protocol version it speaks.
        protocol: u32,
        /// Its drivestone version.
        version: String,
    },
    /// Answer to a ping. Never stored.
    Pong {
        /// The coordinator's clock, sent back.
        sent_ns: i64,
        /// The agent's clock.
        agent_ns: i64,
    },
    /// What a probe found.
    Probed(Box<HostFacts>),
    /// What an observer found; it samples from the next `Start` on.
    Observing(Box<ObserverFacts>),
    /// The server answers.
    ServerReady(ServerReady),
    /// The server stopped because it was told to.
    ServerStopped,
    /// The server stopped by itself, or could not start.
    ServerFailed {
        /// What happened, with the likely cause.
        reason: String,
        /// End of its log.
        log_tail: String,
    },
    /// The whole text of the server's log (its last megabyte), once it has stopped.
    ServerLog {
        /// The text.
        text: String,
    },
    /// How far loading has come.
    PrepareProgress {
        /// What is being done.
        step: PrepareStep,
        /// Units done: rows, tables whose index is built, or pages written.
        done: u64,
        /// Units in all.
        total: u64,
    },
    /// The dataset is complete.
    Prepared {
        /// Its manifest.
        manifest: DatasetManifest,
        /// It was there already.
        reused: bool,
        /// Bytes of the tables' files as they are now.
        file_bytes: u64,
    },
    /// The dataset could not be completed.
    PrepareFailed {
        /// What happened, with table, row and space where it matters.
        reason: String,
    },
    /// Load threads are connected and their statements prepared.
    LoadReady {
        /// Seed of each thread's stream.
        streams: Vec<u64>,
        /// Processors that the threads may use, read back, such as `0-3`.
        cpus: String,
    },
    /// Every load thread runs.
    LoadStarted {
        /// When the last of them began, in the agent's monotonic clock.
        began_ns: i64,
    },
    /// What the load threads completed in one second.
    LoadSecond(LoadSecond),
    /// Latencies by kind of statement, of what was measured since the last such event; two digits.
    LoadStatements(BTreeMap<StatementKind, LatencyRecord>),
    /// Load threads have ended.
    LoadEnded(LoadEnded),
    /// The server has come to rest, or did not in time.
    Settled(Settled),
    /// Load threads could not be connected, or lost the server.
    LoadFailed {
        /// What happened.
        reason: String,
    },
    /// Kernel counters.
    Host(Box<HostSample>),
    /// Server counters.
    Server(ServerSample),
    /// Wear and health of the drives: before the load is ready, and after it has ended.
    Health(HealthSample),
    /// A device of the stack under test is no longer there.
    DeviceVanished {
        /// Its name in `/proc/diskstats`.
        name: String,
    },
    /// Something worth keeping that stops nothing.
    Warning {
        /// What it is.
        text: String,
    },
    /// An activity could not be carried out.
    ActivityFailed {
        /// Which one and why.
        reason: String,
    },
}

/// Steps of loading a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrepareStep {
    /// Rows are inserted.
    Rows,
    /// Secondary indexes are built.
    Index,
    /// Dirty pages are written, so that the load's writes stay out of the measurement.
    Flush,
}

/// A server that answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerReady {
    /// `SELECT VERSION()`.
    pub version: String,
    /// Process id.
    pub pid: i32,
    /// All of its variables.
    pub variables: BTreeMap<String, String>,
    /// Its configuration file.
    pub configuration: String,
    /// The data directory.
    pub data_dir: String,
    /// Socket path, or `127.0.0.1:port`.
    pub address: String,
    /// A data directory was initialised for it just now.
    pub initialized: bool,
    /// Processors that it may use, read back, such as `0-3`.
    pub cpus: String,
}

/// What the load threads of one instance completed in one second, by completion time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSecond {
    /// Second relative to T0; negative in warm-up.
    pub second: i64,
    /// Its length: 10⁹ but for a last second that was cut short.
    pub length_ns: u64,
    /// Threads running at its end.
    pub threads: u32,
    /// Latency of the transactions that completed.
    pub latency: LatencyRecord,
    /// Statements that read.
    pub reads: u64,
    /// Statements that wrote at least one row.
    pub writes: u64,
    /// BEGIN, COMMIT, and writes that found no row.
    pub other: u64,
    /// SQL errors by code that restarted a transaction.
    pub errors: BTreeMap<u16, u64>,
    /// Connections made in place of lost ones.
    pub reconnects: u64,
    /// Transactions that had arrived by its end and not begun; `None` in a closed loop.
    pub queued: Option<u64>,
}

/// A latency distribution in nanoseconds, with the exact figures that a histogram rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// Transactions.
    pub count: u64,
    /// Exact sum.
    pub sum_ns: u64,
    /// Exact minimum; 0 when there are none.
    pub min_ns: u64,
    /// Exact maximum; 0 when there are none.
    pub max_ns: u64,
    /// HDR histogram, V2-deflate, base64; 3 digits, up to an hour. Empty when there are none.
    pub hdr: String,
}

/// How the load ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadEnded {
    /// Why it ended.
    pub cause: LoadEndCause,
    /// Length of the measured interval, ns.
    pub measured_ns: u64,
    /// Age of each transaction in flight when the interval ended, ns.
    pub in_flight_ns: Vec<u64>,
    /// What the transactions in flight at T0 had taken by then, ns, summed. Their latency counts whole.
    pub carried_in_ns: u64,
    /// One kind of statement, counted by the load threads and by the server.
    pub counted: StatementCount,
    /// Each load thread, in order.
    pub threads: Vec<ThreadTotals>,
    /// Transactions that had arrived and not begun when the interval ended, with the time that the oldest
    /// had waited, ns; `None` in a closed loop.
    pub unserved: Option<(u64, u64)>,
    /// Rows inserted less rows deleted, from first to last statement.
    pub rows_added: i64,
    /// Transactions counted with the last second, because their thread or the collector was held up.
    pub filed_late: u64,
    /// Latencies above an hour, recorded as an hour.
    pub saturated: u64,
}

/// One kind of statement that stands at the end of a transaction, from the first statement to the last, warm-up
/// and drain included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementCount {
    /// The server's counter, such as `Com_commit`.
    pub counter: String,
    /// Statements of the load threads that the server answered, refusals included.
    pub ours: u64,
    /// The server's counter before and after; unknown when it could not be read.
    pub server: Option<(i64, i64)>,
}

/// What one load thread did in the measured interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTotals {
    /// Transactions.
    pub events: u64,
    /// Their latencies, summed, ns.
    pub busy_ns: u64,
}

/// The server and its dataset between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// How long it took, ms.
    pub waited_ms: u64,
    /// Dirty pages left.
    pub dirty_pages: u64,
    /// Undo logs left to purge; unknown where the server does not say.
    pub history: Option<u64>,
    /// Bytes of the tables' files.
    pub file_bytes: u64,
}

/// Why a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadEndCause {
    /// Its time was over.
    Time,
    /// Its events were done.
    Events,
    /// It was told to stop.
    Stopped,
    /// A thread met an error that does not pass.
    Failed,
}
