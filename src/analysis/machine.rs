//! What a host did over an interval beside the load: memory, stalls, network, its processors' pace and limits.

use serde::Serialize;

use super::gather::GatheredHost;
use super::gather_run::GatheredInstance;
use super::samples::HostMoment;
use super::window::Ends;
use crate::protocol::facts::LimitFacts;
use crate::protocol::sample::{MeasuredProcess, MemorySample, ProcessIo};

/// A host over an interval. What its kernel does not tell is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MachineAnalysis {
    /// Memory.
    pub memory: Option<MemoryFigures>,
    /// Shares of the time in which tasks waited.
    pub pressure: PressureShares,
    /// The interface that clients reached the server by.
    pub network: Option<NetworkRates>,
    /// I/O on block devices of this measurement's own processes.
    pub own_io: Vec<ProcessRates>,
    /// Frequencies of the processors.
    pub frequency: Option<FrequencyFigures>,
    /// Time for which the agent's control group was kept from processors, for each second, seconds; several
    /// processors add up.
    pub throttled_share: Option<f64>,
    /// Limits on the agent and what it starts.
    pub limits: Option<LimitFacts>,
    /// Processors that the server may use.
    pub server_cpus: Option<String>,
    /// Processors that the load threads may use.
    pub load_cpus: Option<String>,
}

/// Memory of a host over an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryFigures {
    /// Lowest that could be used without swapping, bytes.
    pub available_lowest_bytes: u64,
    /// Page cache when the interval began, bytes.
    pub page_cache_first_bytes: u64,
    /// Page cache when it ended, bytes.
    pub page_cache_last_bytes: u64,
    /// Page cache at its highest, bytes.
    pub page_cache_highest_bytes: u64,
    /// Most that waited to be written from it, bytes.
    pub dirty_highest_bytes: u64,
    /// Most swap space in use, bytes.
    pub swap_used_highest_bytes: u64,
    /// Pages read from swap; `None` when the counter ran backwards, like the next.
    pub swapped_in_pages: Option<u64>,
    /// Pages written to swap.
    pub swapped_out_pages: Option<u64>,
}

/// Shares of the time in which tasks waited for a resource, 0–1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PressureShares {
    /// For a processor.
    pub cpu: Option<StallShares>,
    /// For I/O.
    pub io: Option<StallShares>,
    /// For memory.
    pub memory: Option<StallShares>,
}

/// Shares of the time, 0–1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StallShares {
    /// At least one task waited.
    pub some: f64,
    /// Every runnable task waited.
    pub full: f64,
}

/// A network interface over an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkRates {
    /// Its name.
    pub interface: String,
    /// Bytes received a second.
    pub received_bytes_per_s: f64,
    /// Packets received a second.
    pub received_packets_per_s: f64,
    /// Bytes sent a second.
    pub sent_bytes_per_s: f64,
    /// Packets sent a second.
    pub sent_packets_per_s: f64,
    /// Packets that were lost, both ways.
    pub lost_packets: u64,
}

/// I/O of one process over an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProcessRates {
    /// Which one.
    pub process: MeasuredProcess,
    /// Bytes read from block devices a second.
    pub read_bytes_per_s: f64,
    /// Bytes for block devices a second, without those that were never written.
    pub write_bytes_per_s: f64,
}

/// Frequencies of the processors that were sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FrequencyFigures {
    /// Mean, MHz.
    pub mean_mhz: f64,
    /// Lowest of any processor at any sample, MHz.
    pub lowest_mhz: f64,
}

/// The host of an instance, between two samples.
pub fn analyze_machine(
    instance: &GatheredInstance,
    known: Option<&GatheredHost>,
    ends: Option<&Ends<HostMoment>>,
) -> MachineAnalysis {
    let facts = known.and_then(|known| known.facts.as_ref());
    let server = known.and_then(|known| known.server.as_ref());
    let outside = MachineAnalysis {
        limits: facts.map(|facts| facts.limits.clone()),
        server_cpus: server.map(|server| server.cpus.clone()).filter(|cpus| !cpus.is_empty()),
        load_cpus: instance.load_cpus.clone(),
        ..MachineAnalysis::default()
    };
    let Some(ends) = ends else { return outside };
    MachineAnalysis {
        memory: memory(ends),
        pressure: PressureShares {
            cpu: ends.stalled(|pressure| pressure.cpu),
            io: ends.stalled(|pressure| pressure.io),
            memory: ends.stalled(|pressure| pressure.memory),
        },
        network: network(ends),
        own_io: own_io(ends),
        frequency: frequency(ends.all),
        throttled_share: throttled(ends),
        ..outside
    }
}

fn memory(ends: &Ends<HostMoment>) -> Option<MemoryFigures> {
    let (first, last) = (ends.first.sample.memory?, ends.last.sample.memory?);
    let all = || ends.all.iter().filter_map(|moment| moment.sample.memory);
    let highest = |of: fn(MemorySample) -> u64| all().map(of).max().unwrap_or(0);
    Some(MemoryFigures {
        available_lowest_bytes: all().map(|memory| memory.available_bytes).min()?,
        page_cache_first_bytes: first.page_cache_bytes,
        page_cache_last_bytes: last.page_cache_bytes,
        page_cache_highest_bytes: highest(|memory| memory.page_cache_bytes),
        dirty_highest_bytes: highest(|memory| memory.dirty_bytes),
        swap_used_highest_bytes: highest(|memory| memory.swap_used_bytes),
        swapped_in_pages: last.swapped_in_pages.checked_sub(first.swapped_in_pages),
        swapped_out_pages: last.swapped_out_pages.checked_sub(first.swapped_out_pages),
    })
}

fn network(ends: &Ends<HostMoment>) -> Option<NetworkRates> {
    let interface = ends.first.interface().filter(|name| ends.last.interface() == Some(name))?;
    let (first, last) = (ends.first.sample.network.as_ref()?, ends.last.sample.network.as_ref()?);
    let rate = |first: u64, last: u64| Some(last.checked_sub(first)? as f64 / ends.seconds());
    Some(NetworkRates {
        interface: interface.to_owned(),
        received_bytes_per_s: rate(first.received_bytes, last.received_bytes)?,
        received_packets_per_s: rate(first.received_packets, last.received_packets)?,
        sent_bytes_per_s: rate(first.sent_bytes, last.sent_bytes)?,
        sent_packets_per_s: rate(first.sent_packets, last.sent_packets)?,
        lost_packets: last.lost_packets.checked_sub(first.lost_packets)?,
    })
}

/// A process that is another one by the end is unknown.
fn own_io(ends: &Ends<HostMoment>) -> Vec<ProcessRates> {
    let rates = |first: &ProcessIo| {
        let same = |last: &&ProcessIo| last.process == first.process && last.pid == first.pid;
        let last = ends.last.sample.io.iter().find(same)?;
        let grown = |of: fn(&ProcessIo) -> u64| of(last).checked_sub(of(first)).map(|bytes| bytes as f64);
        let cancelled = grown(|io| io.cancelled_write_bytes)?;
        Some(ProcessRates {
            process: first.process,
            read_bytes_per_s: grown(|io| io.read_bytes)? / ends.seconds(),
            write_bytes_per_s: (grown(|io| io.write_bytes)? - cancelled) / ends.seconds(),
        })
    };
    ends.first.sample.io.iter().filter_map(rates).collect()
}

/// Frequencies in these samples.
pub fn frequency(moments: &[HostMoment]) -> Option<FrequencyFigures> {
    let all = || moments.iter().flat_map(|moment| &moment.sample.frequency_khz);
    let sum: f64 = all().map(|khz| f64::from(*khz)).sum();
    let mhz = |khz: f64| khz / 1e3;
    let lowest = f64::from(*all().min()?);
    Some(FrequencyFigures { mean_mhz: mhz(sum / all().count() as f64), lowest_mhz: mhz(lowest) })
}

fn throttled(ends: &Ends<HostMoment>) -> Option<f64> {
    let (first, last) = (ends.first.sample.cgroup_throttled_us?, ends.last.sample.cgroup_throttled_us?);
    Some(last.checked_sub(first)? as f64 / 1e6 / ends.seconds())
}
