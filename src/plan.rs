//! The plan: hardware × test profile, resolved to plain numbers. Nothing in it is optional any more.

pub mod estimate;
pub mod granted;
pub mod options;
pub mod preflight;
pub mod resolve;
pub mod validate;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::protocol::job::{Dataset, Transport};
use crate::workload::WorkloadKind;
use crate::workload::oltp::OltpReadWrite;

pub use estimate::Estimate;

/// Version of `plan.json`.
pub const PLAN_FORMAT: u32 = 1;

/// Everything that a run needs to know, stored whole in its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this structure.
    pub format: u32,
    /// drivestone version that made it.
    pub drivestone: String,
    /// What is under test.
    pub hardware: HardwarePlan,
    /// What runs.
    pub profile: ProfilePlan,
    /// The tables.
    pub dataset: DatasetPlan,
    /// The transaction.
    pub workload: WorkloadPlan,
    /// The database server.
    pub server: ServerPlan,
    /// Measured intervals, in order.
    pub runs: Vec<RunPlan>,
    /// What the arithmetic predicts.
    pub estimate: Estimate,
    /// Run even if the working set is predicted to fit the buffer pool.
    pub allow_cached: bool,
}

/// The device under test and the platform around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HardwarePlan {
    /// Name of the profile.
    pub name: String,
    /// File it came from.
    pub file: String,
    /// Directory on the device under test.
    pub target: String,
    /// Make the directory if it is missing.
    pub create_target: bool,
    /// Space that the method demands before anything is loaded, bytes.
    pub required_bytes: u64,
    /// The device in its owner's words: label → text, in the profile's order.
    pub device: Vec<(String, String)>,
    /// The platform in its owner's words.
    pub platform: Vec<(String, String)>,
}

/// The test profile and what was changed on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfilePlan {
    /// Name of the profile.
    pub name: String,
    /// File it came from.
    pub file: String,
    /// What it is for.
    pub description: String,
    /// `--set key=value`, in order.
    pub overrides: Vec<Override>,
}

/// One `--set key=value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// Full key, such as `load.threads`.
    pub key: String,
    /// Value as given.
    pub value: String,
}

/// The tables and how they are loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetPlan {
    /// Contents.
    pub contents: Dataset,
    /// Parallel connections of the load.
    pub load_threads: u32,
}

/// The transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadPlan {
    /// Its name.
    pub kind: WorkloadKind,
    /// Its parameters.
    pub mix: OltpReadWrite,
}

/// The database server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerPlan {
    /// Which program, when the profile names one.
    pub program: Option<String>,
    /// Which account, when the profile names one.
    pub account: Option<String>,
    /// How clients reach it.
    pub transport: Transport,
    /// InnoDB buffer pool, bytes.
    pub buffer_pool_bytes: u64,
    /// Where that figure comes from, in words, such as `15 % of the dataset`.
    pub buffer_pool_origin: String,
    /// The test profile sets it, in place of the hardware profile.
    pub buffer_pool_from_profile: bool,
    /// Options of its configuration file, complete.
    pub options: BTreeMap<String, String>,
}

/// One measured interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Load threads of each instance.
    pub threads: u32,
    /// Instances that run at once.
    pub instances: u32,
    /// Load before the measured interval, seconds.
    pub warmup_s: u64,
    /// Length of the measured interval, seconds, when it is bounded by time.
    pub duration_s: Option<u64>,
    /// Transactions of the measured interval, when it is bounded by events.
    pub events: Option<u64>,
    /// Seconds between lines on the terminal.
    pub report_interval_s: u64,
    /// Seed of the run.
    pub seed: u64,
}
