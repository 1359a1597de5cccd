//! What an agent finds on its host before anything is created.

use serde::{Deserialize, Serialize};

use super::job::Dataset;

/// Facts about one host, for preflight and for the environment record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub hostname: String,
    /// The kernel's random id of this boot: equal for two names of one machine, and for its containers.
    pub boot_id: Option<String>,
    /// `uname -sr`.
    pub kernel: String,
    /// Machine architecture.
    pub architecture: String,
    /// PRETTY_NAME of os-release.
    pub os: Option<String>,
    /// Processor model.
    pub cpu_model: Option<String>,
    /// Processors online.
    pub cpus: u32,
    /// Total memory, bytes.
    pub memory_bytes: u64,
    /// Memory that can be used without swapping, bytes.
    pub memory_available_bytes: u64,
    /// The agent runs as this user id.
    pub uid: u32,
    /// Files that the agent and its server may each have open.
    pub open_files: u64,
    /// The directory on the device under test.
    pub target: TargetFacts,
    /// The server that would be started, or why there is none.
    pub server: ServerFacts,
    /// What stands in the place of the planned dataset.
    pub dataset: DatasetState,
    /// Space that the dataset's folder takes now, redo log and all, bytes.
    pub dataset_bytes: u64,
    /// The mount that the result will lie on, when it lies on this host.
    pub journal_mount: Option<MountFacts>,
    /// Where the server's Unix socket would be.
    pub socket_path: String,
    /// The machine and how its processors and memory are set.
    pub platform: PlatformFacts,
    /// Limits on the agent and on what it starts.
    pub limits: LimitFacts,
}

/// The machine, and settings that change its speed. What the kernel does not tell is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlatformFacts {
    /// Who made the machine, such as `Dell Inc.`, or which hypervisor it is.
    pub vendor: Option<String>,
    /// Its model.
    pub product: Option<String>,
    /// How processor frequencies are chosen, such as `performance`; several with commas.
    pub governor: Option<String>,
    /// Processors may run above their rated frequency.
    pub turbo: Option<bool>,
    /// Highest frequency of a processor, kHz.
    pub highest_khz: Option<u32>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
    /// Swap space, bytes.
    pub swap_bytes: u64,
    /// Processors of each NUMA node, such as `0-7`, by the node's number.
    pub numa_nodes: Vec<String>,
}

/// Limits on a process: where it may run, and what its control groups leave it. `None`: no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitFacts {
    /// Processors that it may use, such as `0-3,8`.
    pub cpus: String,
    /// Processor time, in processors.
    pub cpu_quota: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// I/O on devices.
    pub io: Vec<IoLimit>,
}

/// Most I/O that a control group may do on one device in a second. `None`: no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoLimit {
    /// `major:minor`.
    pub number: String,
    /// Bytes read.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written.
    pub write_bytes_per_s: Option<u64>,
    /// Reads.
    pub reads_per_s: Option<u64>,
    /// Writes.
    pub writes_per_s: Option<u64>,
}

/// Facts about a host that only samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserverFacts {
    /// Host name.
    pub hostname: String,
    /// `uname -sr`.
    pub kernel: String,
    /// Processors online.
    pub cpus: u32,
    /// Total memory, bytes.
    pub memory_bytes: u64,
    /// The device that it watches, then every device below it.
    pub devices: Vec<DeviceFacts>,
}

/// Longest path of a Unix socket, bytes: the kernel's 108 with its final zero.
pub const LONGEST_SOCKET_PATH: usize = 107;

/// The directory on the device under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Absolute path, links resolved as far as it exists.
    pub path: String,
    /// It exists and is a directory.
    pub state: TargetState,
    /// The same of the nearest directory that exists, in which a missing one would be made.
    pub nearest: TargetState,
    /// `device:inode` of the directory, or of its nearest ancestor with the way from there: what two host
    /// names for one machine share.
    pub identity: Option<String>,
    /// The mount it stands on, or would stand on.
    pub mount: Option<MountFacts>,
    /// Space that the server's account may still use, bytes.
    pub free_bytes: u64,
    /// Size of the filesystem, bytes.
    pub total_bytes: u64,
    /// A folder above the data directory that the server's account cannot pass.
    pub blocked_at: Option<String>,
}

/// Whether a directory can hold a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// A directory in which a file could be made.
    Writable,
    /// A directory on a filesystem mounted read-only.
    ReadOnly,
    /// A directory in which this user may not create files.
    NotPermitted,
    /// Nothing is there.
    Missing,
    /// Something else is there.
    NotADirectory,
}

/// A line of `/proc/self/mountinfo` and the device behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MountFacts {
    /// Where it is mounted.
    pub mount_point: String,
    /// Filesystem type, such as `ext4`.
    pub filesystem: String,
    /// What is mounted, such as `/dev/sda1`.
    pub source: String,
    /// Mount and superblock options.
    pub options: String,
    /// The block device that the filesystem stands on, then every device below it, each once, level by level;
    /// empty when there is none.
    pub devices: Vec<DeviceFacts>,
    /// Further devices that the filesystem itself spreads over, by name, as btrfs does: the first of `devices` is
    /// then the one that it was mounted by.
    pub spread_over: Vec<String>,
}

impl MountFacts {
    /// The device that the filesystem stands on: the headline device of a run.
    #[must_use]
    pub fn device(&self) -> Option<&DeviceFacts> {
        self.devices.first()
    }
}

/// A block device as /sys describes it. A field that /sys does not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Name in `/proc/diskstats`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// What it is.
    pub kind: DeviceKind,
    /// What it is in its own layer's words: the name and type of a dm device, the level of a RAID, the file of a
    /// loop device.
    pub detail: Option<String>,
    /// Numbers of the devices directly below: a partition's disk, the members of dm, md and bcache, the paths of
    /// an NVMe namespace, the device that a loop device's file is on.
    pub below: Vec<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Who made it, of the disk a partition is on, as are the fields below.
    pub vendor: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World-wide name.
    pub wwid: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// How it is attached, such as `nvme`, `sata`, `sas`, `fc`, `iscsi`, `usb`, `virtio`.
    pub transport: Option<String>,
    /// Its PCI Express link.
    pub pcie: Option<PcieLink>,
    /// NUMA node that it is attached to.
    pub numa_node: Option<u32>,
    /// Spinning disk.
    pub rotational: Option<bool>,
    /// Logical block, bytes.
    pub logical_block_bytes: Option<u32>,
    /// Physical block, bytes.
    pub physical_block_bytes: Option<u32>,
    /// Active I/O scheduler.
    pub scheduler: Option<String>,
    /// Requests that the kernel keeps for it.
    pub queue_requests: Option<u32>,
    /// Commands that the device takes at once.
    pub queue_depth: Option<u32>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Largest discard, bytes; 0 when it takes none.
    pub discard_max_bytes: Option<u64>,
    /// Fields that could not be read, and why; not those that this kernel or device does not have.
    pub unreadable: Vec<UnreadableField>,
}

/// What a block device is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A disk, or what a hypervisor or an array shows as one.
    #[default]
    Disk,
    /// A part of one.
    Partition,
    /// A logical volume of LVM.
    LogicalVolume,
    /// Several paths to one disk, by the device mapper.
    Multipath,
    /// An encrypted device.
    Crypt,
    /// Another device of the device mapper.
    DeviceMapper,
    /// A RAID of the kernel's.
    Raid,
    /// A file.
    Loop,
    /// A disk with a cache before it.
    Bcache,
    /// One of several paths to an NVMe namespace.
    NvmePath,
    /// Memory: `zram` or `ram`.
    Memory,
}

impl DeviceKind {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Partition => "partition",
            Self::LogicalVolume => "logical volume",
            Self::Multipath => "multipath",
            Self::Crypt => "encrypted",
            Self::DeviceMapper => "device mapper",
            Self::Raid => "RAID",
            Self::Loop => "loop",
            Self::Bcache => "bcache",
            Self::NvmePath => "path",
            Self::Memory => "memory",
        }
    }
}

/// A PCI Express link as it is, and as it could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieLink {
    /// Speed, such as `8.0 GT/s PCIe`.
    pub speed: String,
    /// Lanes.
    pub width: u32,
    /// Highest speed of the device.
    pub max_speed: String,
    /// Most lanes of the device.
    pub max_width: u32,
}

impl PcieLink {
    /// It runs below what the device can do.
    #[must_use]
    pub fn is_below_maximum(&self) -> bool {
        self.speed != self.max_speed || self.width < self.max_width
    }

    /// The link in words, with what could be where it is below that: `whose` link it is, such as `its`.
    #[must_use]
    pub fn in_words(&self, whose: &str) -> String {
        let runs = format!("x{} at {}", self.width, self.speed);
        match self.is_below_maximum() {
            true => format!("{runs}, BELOW {whose} x{} at {}", self.max_width, self.max_speed),
            false => runs,
        }
    }
}

/// An entry of /sys that is there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableField {
    /// Its path below the device's folder.
    pub field: String,
    /// Why.
    pub reason: String,
}

/// A database server program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerFacts {
    /// It was found and answered `--version`.
    Found {
        /// Path of the server program.
        program: String,
        /// Path of the program that initialises a data directory.
        initializer: String,
        /// Version, such as `10.11.14-MariaDB`.
        version: String,
        /// Account that the server will run under, when the agent is root.
        account: Option<String>,
    },
    /// It was not found or cannot be used.
    Missing {
        /// What was looked for and what went wrong.
        reason: String,
    },
}

/// What stands where the planned dataset belongs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetState {
    /// Nothing: it will be loaded.
    Absent,
    /// A finished dataset that matches the plan: it will be reused.
    Ready(DatasetManifest),
    /// A load that never finished, made by drivestone: it will be removed and loaded again.
    HalfLoaded,
    /// Another drivestone holds it.
    InUse,
    /// Something that drivestone did not make, or cannot read: it will not be touched.
    Foreign {
        /// What is wrong with it.
        reason: String,
    },
}

/// Written beside a dataset once it is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetManifest {
    /// Format of this file.
    pub format: u32,
    /// What it holds.
    pub dataset: Dataset,
    /// Server version that made it, `major.minor` and flavour.
    pub server_series: String,
    /// How it came to be: the creation path matters for size and speed.
    pub creation: String,
    /// When it was finished, UTC.
    pub finished: String,
    /// Rows and bytes right after the load.
    pub measured: DatasetSize,
    /// Runs that have changed it since.
    pub runs_since: u32,
    /// Rows that these runs inserted less those that they deleted, as far as they lived to count them.
    pub rows_added: i64,
    /// The same without the signs: what one run added and another removed are not the same rows.
    pub rows_changed: u64,
}

/// Size of a dataset as measured on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetSize {
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of the tables' files.
    pub file_bytes: u64,
    /// Bytes that `information_schema` gives for the rows.
    pub data_bytes: u64,
    /// Bytes that `information_schema` gives for secondary indexes.
    pub index_bytes: u64,
}
