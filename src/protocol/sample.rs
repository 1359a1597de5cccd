//! Raw samples as read from a host. Rates are computed later, from two of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One block device's counters, `/proc/diskstats` in words.
///
/// Sectors are 512 bytes whatever the disk's block size. Ticks are milliseconds in 32 bits and wrap.
/// Discards exist since Linux 4.18 and flushes since 5.5: `None` on older kernels, not zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Device name, as in `/proc/diskstats`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// Finished reads.
    pub reads: OperationCounters,
    /// Finished writes.
    pub writes: OperationCounters,
    /// Requests in flight at the moment of the sample.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ticks_ms: u32,
    /// Milliseconds weighted by the requests in flight.
    pub queue_ticks_ms: u32,
    /// Finished discards.
    pub discards: Option<OperationCounters>,
    /// Finished flush requests and the time they took.
    pub flushes: Option<FlushCounters>,
}

/// Counters of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCounters {
    /// Requests finished.
    pub ios: u64,
    /// Requests merged before they were queued.
    pub merges: u64,
    /// Sectors of 512 bytes.
    pub sectors_512: u64,
    /// Milliseconds, summed over requests.
    pub ticks_ms: u32,
}

/// Counters of flush requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlushCounters {
    /// Requests finished.
    pub ios: u64,
    /// Milliseconds, summed over requests.
    pub ticks_ms: u32,
}

/// The `cpu` line of `/proc/stat`: ticks since boot, summed over processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuCounters {
    /// User time, niced included.
    pub user: u64,
    /// Kernel time without interrupts.
    pub system: u64,
    /// Idle time.
    pub idle: u64,
    /// Idle while a request was in flight.
    pub iowait: u64,
    /// Hard interrupts.
    pub interrupts: u64,
    /// Soft interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

/// Pressure stall information, `/proc/pressure`; `None` where the kernel has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Waiting for a processor.
    pub cpu: Option<StallTotals>,
    /// Waiting for I/O.
    pub io: Option<StallTotals>,
    /// Waiting for memory.
    pub memory: Option<StallTotals>,
}

/// Stall totals of one resource, microseconds since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallTotals {
    /// Time in which at least one task waited.
    pub some_us: u64,
    /// Time in which every runnable task waited; 0 where the kernel does not tell it, as older ones of the
    /// processors.
    pub full_us: u64,
}

/// Memory, `/proc/meminfo` and `/proc/vmstat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySample {
    /// Memory that can be used without swapping, bytes.
    pub available_bytes: u64,
    /// Pages of files and block devices, without shared memory, bytes.
    pub page_cache_bytes: u64,
    /// Of these what waits to be written or is being written, bytes.
    pub dirty_bytes: u64,
    /// Swap space in use, bytes.
    pub swap_used_bytes: u64,
    /// Pages read from swap since boot.
    pub swapped_in_pages: u64,
    /// Pages written to swap since boot.
    pub swapped_out_pages: u64,
}

/// One network interface, `/proc/net/dev`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCounters {
    /// Its name, `lo` for 127.0.0.1.
    pub interface: String,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that were lost: errors and drops of both directions.
    pub lost_packets: u64,
}

/// What one process had done to block devices, `/proc/PID/io`. Writes count when a page is first dirtied, or at
/// once where the page cache is bypassed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Which process.
    pub process: MeasuredProcess,
    /// Its id: another one begins anew at zero.
    pub pid: i32,
    /// Bytes read from block devices.
    pub read_bytes: u64,
    /// Bytes for block devices.
    pub write_bytes: u64,
    /// Bytes of these that were never written, because the file was cut off or removed.
    pub cancelled_write_bytes: u64,
}

/// Processes of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredProcess {
    /// The database server.
    Server,
    /// The agent.
    Agent,
    /// The coordinator, where it is this host's; it writes the journal.
    Coordinator,
}

/// What drives say of their wear and health, and hosts of heat, before and after a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HealthSample {
    /// CLOCK_MONOTONIC of the host.
    pub at_ns: i64,
    /// Each drive below the directory that answered.
    pub drives: Vec<DriveHealth>,
    /// The drives that did not, and why: the tool is missing, or the disk is a virtual one.
    pub silent: Vec<SilentDrive>,
    /// How often processors were slowed down by heat since boot, cores and packages summed; `None` where the
    /// kernel does not tell.
    pub thermal_throttles: Option<u64>,
}

/// A drive that told nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentDrive {
    /// Its name in `/proc/diskstats`.
    pub device: String,
    /// Why.
    pub reason: String,
}

/// Wear and health of one drive. What it does not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveHealth {
    /// Its name in `/proc/diskstats`.
    pub device: String,
    /// Who told it, such as `smartctl 7.3`; several with commas.
    pub source: String,
    /// Bytes that hosts have written over its life.
    pub host_written_bytes: Option<u64>,
    /// Bytes that hosts have read over its life.
    pub host_read_bytes: Option<u64>,
    /// Unit in which the drive counts these two, bytes: NVMe counts 1000 sectors.
    pub host_unit_bytes: Option<u64>,
    /// Bytes written to its NAND over its life.
    pub nand_written_bytes: Option<u64>,
    /// Unit in which the drive counts these, bytes.
    pub nand_unit_bytes: Option<u64>,
    /// Rated life used, percent; may pass 100.
    pub used_pct: Option<u32>,
    /// Spare blocks left, percent.
    pub spare_pct: Option<u32>,
    /// Temperature, °C.
    pub temperature_c: Option<i32>,
    /// Media and data-integrity errors, or uncorrectable sectors.
    pub media_errors: Option<u64>,
    /// Time over its life for which it was slowed down by heat, seconds.
    pub throttled_s: Option<u64>,
    /// Power-on time, hours.
    pub power_on_hours: Option<u64>,
    /// It judges itself failing.
    pub failing: Option<bool>,
}

/// What a host's kernel said at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    /// CLOCK_MONOTONIC of the host, read next to the counters.
    pub at_ns: i64,
    /// The device mounted at the data directory first, then what is below it. Empty when there is none.
    pub disks: Vec<DiskCounters>,
    /// Processor time.
    pub cpu: CpuCounters,
    /// Stalls.
    pub pressure: Pressure,
    /// Memory; `None` when `/proc/meminfo` cannot be read.
    pub memory: Option<MemorySample>,
    /// The interface that clients reach the server by; `None` with a Unix socket and on observers.
    pub network: Option<NetworkCounters>,
    /// I/O of this measurement's own processes, as far as the agent may see it.
    pub io: Vec<ProcessIo>,
    /// Frequency of a few processors spread over all, kHz; empty where the kernel does not tell.
    pub frequency_khz: Vec<u32>,
    /// Time for which the agent's control group was kept from its processors, microseconds; `None` without a
    /// quota.
    pub cgroup_throttled_us: Option<u64>,
}

/// What the database server said at one moment: its own counter names, as read.
///
/// A counter that this server lacks is absent from the map: unknown, not zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSample {
    /// CLOCK_MONOTONIC of the host, the middle of the query.
    pub at_ns: i64,
    /// Counters by name.
    pub counters: BTreeMap<String, i64>,
}
