//! Jobs: what a coordinator tells an agent to do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::workload::schema::TableSchema;
use crate::workload::{KeyDistribution, Workload};

/// One line on an agent's stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Sent each second. The answer gives the clock offset; silence means that the coordinator is gone.
    Ping {
        /// The coordinator's monotonic clock.
        sent_ns: i64,
    },
    /// Look at the host; create nothing.
    Probe(ProbeJob),
    /// Look at a device, and sample it from `Start` on without any server.
    Observe(ObserveJob),
    /// Initialise a data directory if needed and start a server on it.
    Serve(ServeJob),
    /// Bring the dataset into being, or find that it is there.
    Prepare(PrepareJob),
    /// Connect the load threads and prepare their statements, then wait for `Start`.
    Load(LoadJob),
    /// Let the server finish what earlier transactions left behind, and look at the dataset.
    Settle(SettleJob),
    /// Begin at a common moment: load threads run, samplers sample.
    Start(StartJob),
    /// End load, preparation and sampling (an observer's too) now, keeping what was measured.
    StopLoad,
    /// Stop the server cleanly.
    StopServer {
        /// Kill it when that takes longer, seconds: a large buffer pool takes minutes to flush.
        patience_s: u64,
    },
    /// Stop everything and leave.
    Quit,
}

/// What to look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeJob {
    /// Directory on the device under test.
    pub target: String,
    /// Folder of the result, when it will lie on this host.
    pub result: Option<String>,
    /// The dataset that the plan wants.
    pub dataset: Dataset,
    /// Which server program, when the profile names one.
    pub server_program: Option<String>,
    /// Which account, when the profile names one.
    pub account: Option<String>,
}

/// What an observer watches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserveJob {
    /// A directory on the device, or the device itself, such as `/dev/sdb`.
    pub device: String,
}

/// A dataset by its contents: equal values make equal tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    /// Number of tables.
    pub tables: u32,
    /// Rows loaded into each.
    pub rows: u64,
    /// Distribution of column `k`.
    pub keys: KeyDistribution,
    /// How its tables are made.
    pub schema: TableSchema,
    /// Seed of the row contents.
    pub seed: u64,
    /// InnoDB page size, bytes.
    pub page_bytes: u32,
    /// Character set of the tables.
    pub character_set: String,
}

impl Dataset {
    /// The folder's name: readable, and different for different contents.
    #[must_use]
    pub fn folder(&self) -> String {
        let contents = format!(
            "{} {} {:?} {:?} {} {} {}",
            self.tables, self.rows, self.keys, self.schema, self.seed, self.page_bytes, self.character_set
        );
        format!("sbtest-{}x{}-{:08x}", self.tables, self.rows, crc32fast::hash(contents.as_bytes()))
    }
}

/// How clients reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A Unix socket in the dataset's folder.
    Socket,
    /// TCP on 127.0.0.1, on a free port.
    Tcp,
}

/// How to start a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServeJob {
    /// Directory on the device under test; the server gets a folder of its own in it.
    pub target: String,
    /// Make `target` if it is missing.
    pub create_target: bool,
    /// The dataset whose folder it serves.
    pub dataset: Dataset,
    /// Which server program, when the profile names one.
    pub server_program: Option<String>,
    /// Which account, when the profile names one.
    pub account: Option<String>,
    /// How clients reach it.
    pub transport: Transport,
    /// Options of its configuration file, complete.
    pub options: BTreeMap<String, String>,
    /// Start it again, for the same clients, when it ends by itself.
    pub revive: bool,
    /// Processors that it may use; all that the agent may when empty.
    pub cpus: Vec<u32>,
}

/// How to load a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrepareJob {
    /// What to load.
    pub dataset: Dataset,
    /// Parallel connections.
    pub threads: u32,
    /// Its server has settings made for loading: the dataset counts as finished once that has been stopped
    /// cleanly.
    #[serde(default)]
    pub apart: bool,
}

/// What load threads do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadJob {
    /// The transaction.
    pub workload: Workload,
    /// Connections, one thread each.
    pub threads: u32,
    /// Seed of the run; each thread's stream is derived from it.
    pub seed: u64,
    /// Runs that have changed the dataset before: a repeat touches the same rows and writes new texts.
    pub generation: u32,
    /// Number of this instance among all, from 0: keeps seeds distinct.
    pub instance: u32,
    /// SQL errors after which a transaction starts again.
    pub ignored: IgnoredErrors,
    /// A thread that loses its connection makes another and goes on.
    pub reconnect: bool,
    /// Transactions after which a thread makes a new connection; it keeps its first when `None`.
    pub reconnect_every: Option<u32>,
    /// Transactions that arrive in a second, whether or not earlier ones are done; a closed loop when `None`.
    pub rate_per_s: Option<u32>,
    /// Processors that its threads may use; all that the agent may when empty.
    pub cpus: Vec<u32>,
}

/// SQL errors after which a transaction starts again, inside the same latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredErrors {
    /// Every one that the server answers with.
    All,
    /// Those with these codes.
    Codes(BTreeSet<u16>),
}

impl IgnoredErrors {
    /// What sysbench ignores by default: deadlock, lock-wait time-out, record changed.
    #[must_use]
    pub fn sysbenchs() -> Self {
        Self::Codes(BTreeSet::from([1213, 1205, 1020]))
    }

    /// Whether an error is one of them.
    #[must_use]
    pub fn contains(&self, code: u16) -> bool {
        match self {
            Self::All => true,
            Self::Codes(codes) => codes.contains(&code),
        }
    }
}

/// How far the server is to come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleJob {
    /// Dirty pages that may be left.
    pub dirty_pages: u64,
    /// Undo logs of finished transactions that may be left to purge (`Innodb_history_list_length`).
    pub history: u64,
    /// Longest wait, seconds.
    pub patience_s: u64,
}

/// When the parts of a run begin and end, in the agent's own monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartJob {
    /// Load begins (warm-up).
    pub begin_ns: i64,
    /// Second 0: the measured interval begins. Warm-up seconds are negative.
    pub t0_ns: i64,
    /// The measured interval ends here, if it is bounded by time.
    pub end_ns: Option<i64>,
    /// The measured interval ends after so many transactions, if it is bounded by events.
    pub events: Option<u64>,
}
