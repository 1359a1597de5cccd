//! The plan: hardware × test profile, resolved to plain numbers. Nothing in it is optional any more.

pub mod discover;
pub mod estimate;
pub mod granted;
pub mod load_options;
pub mod options;
pub mod preflight;
pub mod resolve;
pub mod sysbench;
pub mod validate;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::protocol::job::{Dataset, IgnoredErrors, SettleJob, Transport};
use crate::workload::Workload;

pub use estimate::Estimate;

/// Version of `plan.json`.
pub const PLAN_FORMAT: u32 = 4;

/// Everything that a run needs to know, stored whole in its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this structure.
    pub format: u32,
    /// drivestone version that made it.
    pub drivestone: String,
    /// What is under test.
    pub hardware: HardwarePlan,
    /// Where the instances live, and who watches.
    pub fleet: FleetPlan,
    /// What runs.
    pub profile: ProfilePlan,
    /// The tables.
    pub dataset: DatasetPlan,
    /// The transaction.
    pub workload: Workload,
    /// How load threads go about it, in every run.
    pub load: LoadPlan,
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

/// Where the instances live, and who watches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// In order: a run of *n* takes the first *n* that are there. No more than the largest run needs.
    pub instances: Vec<InstancePlan>,
    /// How to make the virtual machines, when the instances are made for the run.
    pub libvirt: Option<LibvirtPlan>,
    /// Hosts that only sample.
    pub observers: Vec<ObserverPlan>,
    /// What becomes of instances that a run does not need.
    pub idle: IdlePolicy,
    /// What becomes of a run that loses an instance.
    pub on_loss: LossPolicy,
    /// What becomes of a run that loses a device below a data directory.
    pub on_device_loss: LossPolicy,
    /// Run on instances that differ in processors, memory, device or server version.
    pub allow_unequal: bool,
    /// Leave the program on the hosts, so that the next run need not copy it.
    pub keep_binary: bool,
}

/// One database server with its load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstancePlan {
    /// Its host's name in results: ssh's name of it, `local` for this machine.
    pub host: String,
    /// How the host is reached.
    pub reach: Reach,
}

/// How a host is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// It is this machine.
    Local,
    /// By its name, as the user's ssh configuration knows it.
    Ssh,
    /// A virtual machine that is made for the run.
    Libvirt {
        /// Its hypervisor, counted from 0 in the plan's list.
        hypervisor: usize,
    },
}

/// Name of this machine among the hosts.
pub const LOCAL: &str = "local";

/// Virtual machines to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LibvirtPlan {
    /// Connection URIs, such as `qemu+ssh://root@node1/system`.
    pub hypervisors: Vec<String>,
    /// Storage pool with the base image; system disks and seeds are made in it.
    pub image_pool: String,
    /// The base image's volume.
    pub image_volume: String,
    /// The storage pool that is the device under test.
    pub pool: String,
    /// Name of the network.
    pub network: String,
    /// Processors of each machine.
    pub vcpus: u32,
    /// Memory of each machine, bytes.
    pub memory_bytes: u64,
    /// Size of the system disk, bytes; the image's own when 0.
    pub system_disk_bytes: u64,
    /// Size of a further disk on the pool that stays empty, bytes; none when 0.
    pub spare_disk_bytes: u64,
    /// Size of the disk that the dataset lies on, bytes.
    pub data_disk_bytes: u64,
    /// Filesystem made on it: `ext4` or `xfs`.
    pub filesystem: String,
    /// Packages to install at the first boot, when the image lacks the server.
    pub packages: Vec<String>,
    /// Longest wait for a machine's ssh, seconds.
    pub boot_timeout_s: u64,
}

/// A host that only samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserverPlan {
    /// Its name, as the user's ssh configuration knows it.
    pub host: String,
    /// A directory on the device to watch, or the device itself.
    pub device: String,
}

/// What becomes of instances that a run does not need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdlePolicy {
    /// Their servers stay up, without load.
    Leave,
    /// Their servers are stopped.
    Stop,
}

/// What becomes of a run that loses an instance or a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossPolicy {
    /// It stops.
    Stop,
    /// It goes on with what is left.
    Continue,
}

impl FleetPlan {
    /// Bare metal: this machine alone.
    #[must_use]
    pub fn local() -> Self {
        Self {
            instances: vec![InstancePlan { host: LOCAL.to_owned(), reach: Reach::Local }],
            libvirt: None,
            observers: Vec::new(),
            idle: IdlePolicy::Leave,
            on_loss: LossPolicy::Stop,
            on_device_loss: LossPolicy::Continue,
            allow_unequal: false,
            keep_binary: false,
        }
    }
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
    /// Options of a server that only loads it, complete; empty when the measuring server does.
    #[serde(default)]
    pub load_options: BTreeMap<String, String>,
}

/// How load threads go about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// SQL errors after which a transaction starts again.
    pub ignored: IgnoredErrors,
    /// Threads that lose their connection make another, and a server that ends is started again.
    pub reconnect: bool,
    /// Transactions after which a thread makes a new connection; it keeps its first when `None`.
    pub reconnect_every: Option<u32>,
    /// How far the server comes to rest between runs.
    pub settle: SettleJob,
    /// Runs are the steps of a ramp: they end once two in a row have not held their rate.
    pub ramp: Option<RampPlan>,
    /// The sysbench command that loads the same tables.
    pub sysbench_prepare: String,
    /// Processors that the load threads may use; all of them when empty.
    pub cpus: Vec<u32>,
}

/// What a rate must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampPlan {
    /// Longest 99th percentile, ns.
    pub p99_ns: u64,
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
    /// Processors that it may use; all of them when empty.
    pub cpus: Vec<u32>,
}

/// One measured interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Load threads of each instance.
    pub threads: u32,
    /// Transactions that arrive in a second at each instance; a closed loop when `None`.
    pub rate_per_s: Option<u32>,
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
    /// The sysbench command that puts the same load on one instance.
    pub sysbench_run: String,
}
