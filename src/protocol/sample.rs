//! Raw samples as read from a host. Rates are computed later, from two of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One block device's counters, `/proc/diskstats` in words.
///
/// Sectors are 512 bytes whatever the disk's block size. Ticks are milliseconds in 32 bits and wrap.
/// Discards exist since Linux 4.18 and flushes since 5.5: `None` on older kernels, not zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Interrupts, hard and soft.
    pub interrupts: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

/// Pressure stall totals of `/proc/pressure/io`, microseconds since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoPressure {
    /// Time in which at least one task waited for I/O.
    pub some_us: u64,
    /// Time in which every runnable task waited for I/O.
    pub full_us: u64,
}

/// What a host's kernel said at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    /// CLOCK_MONOTONIC of the host, read next to the counters.
    pub at_ns: i64,
    /// The device mounted at the data directory first, then what is below it. Empty when there is none.
    pub disks: Vec<DiskCounters>,
    /// Processor time.
    pub cpu: CpuCounters,
    /// `None` when the kernel has no pressure stall information.
    pub io_pressure: Option<IoPressure>,
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
