//! iostat's columns from two raw samples of a device.

use serde::Serialize;

/// Rates and means of one device between two samples, under iostat's names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeviceRates {
    /// Reads a second.
    #[serde(rename = "r/s")]
    pub reads_per_s: f64,
    /// kB (1024 bytes) read a second.
    #[serde(rename = "rkB/s")]
    pub read_kb_per_s: f64,
    /// Reads merged a second.
    #[serde(rename = "rrqm/s")]
    pub reads_merged_per_s: f64,
    /// Share of reads that were merged, percent.
    #[serde(rename = "%rrqm")]
    pub reads_merged_pct: f64,
    /// Mean time of a read, ms; 0 when there was none.
    #[serde(rename = "r_await")]
    pub read_await_ms: f64,
    /// Mean size of a read, kB.
    #[serde(rename = "rareq-sz")]
    pub read_size_kb: f64,
    /// Writes a second.
    #[serde(rename = "w/s")]
    pub writes_per_s: f64,
    /// kB written a second.
    #[serde(rename = "wkB/s")]
    pub write_kb_per_s: f64,
    /// Writes merged a second.
    #[serde(rename = "wrqm/s")]
    pub writes_merged_per_s: f64,
    /// Share of writes that were merged, percent.
    #[serde(rename = "%wrqm")]
    pub writes_merged_pct: f64,
    /// Mean time of a write, ms.
    #[serde(rename = "w_await")]
    pub write_await_ms: f64,
    /// Mean size of a write, kB.
    #[serde(rename = "wareq-sz")]
    pub write_size_kb: f64,
    /// Discards a second; `None` before Linux 4.18, like the three below.
    #[serde(rename = "d/s")]
    pub discards_per_s: Option<f64>,
    /// kB discarded a second.
    #[serde(rename = "dkB/s")]
    pub discard_kb_per_s: Option<f64>,
    /// Mean time of a discard, ms.
    #[serde(rename = "d_await")]
    pub discard_await_ms: Option<f64>,
    /// Mean size of a discard, kB.
    #[serde(rename = "dareq-sz")]
    pub discard_size_kb: Option<f64>,
    /// Flushes a second; `None` before Linux 5.5, like the next.
    #[serde(rename = "f/s")]
    pub flushes_per_s: Option<f64>,
    /// Mean time of a flush, ms.
    #[serde(rename = "f_await")]
    pub flush_await_ms: Option<f64>,
    /// Mean number of requests in the queue.
    #[serde(rename = "aqu-sz")]
    pub queue_size: f64,
    /// Share of the time with a request in flight, percent. Says nothing about parallel devices' limits.
    #[serde(rename = "%util")]
    pub util_pct: f64,
}
