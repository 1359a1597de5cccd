//! What hosts did beside the load, in words and formatted figures.

use super::document::count_or_missing;
use super::grid::Grid;
use super::number::{self, MISSING, or_missing};
use crate::analysis::{
    CpuShares, InstanceAnalysis, MachineAnalysis, MemoryFigures, NetworkRates, ProcessRates, RunAnalysis,
    StackAnalysis, StallShares,
};
use crate::protocol::facts::{IoLimit, LimitFacts};
use crate::protocol::sample::MeasuredProcess;

/// Label and text of what the host of the only instance did; empty for several, and when it told nothing.
pub(super) fn rows(run: &RunAnalysis) -> Vec<(&'static str, String)> {
    let [own] = run.per_instance.as_slice() else { return Vec::new() };
    if run.is_fleet() {
        return Vec::new();
    }
    let machine = &own.machine;
    let rows = [
        ("Processors", own.figures.cpu.as_ref().map(|cpu| processors(cpu, machine))),
        ("Memory", machine.memory.as_ref().map(memory)),
        ("Pressure", pressure(machine)),
        ("Network", machine.network.as_ref().map(network)),
        ("Own I/O", own_io(&machine.own_io)),
        ("Limits", machine.limits.as_ref().map(|told| limits(told, &own.stack))),
        ("Ran on", ran_on(machine)),
    ];
    rows.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
}

fn processors(cpu: &CpuShares, machine: &MachineAnalysis) -> String {
    let share = number::percent;
    let mut text = format!(
        "user {}, system {}, softirq {}, I/O wait {}, steal {}, idle {}",
        share(cpu.user),
        share(cpu.system),
        share(cpu.softirq),
        share(cpu.iowait),
        share(cpu.steal),
        share(cpu.idle)
    );
    if let Some(frequency) = machine.frequency {
        let mhz = |value| number::decimals(value, 0);
        text += &format!(
            "; {} MHz on average, {} at the lowest",
            mhz(frequency.mean_mhz),
            mhz(frequency.lowest_mhz)
        );
    }
    if let Some(throttled) = machine.throttled_share {
        text += &format!("; a quota withheld {throttled:.3} processor-seconds a second");
    }
    text
}

fn memory(memory: &MemoryFigures) -> String {
    let bytes = |value: u64| number::bytes(value as f64);
    format!(
        "at least {} available; page cache {}, then {}, at most {}, of which {} dirty; pages swapped: {} in, {} out",
        bytes(memory.available_lowest_bytes),
        bytes(memory.page_cache_first_bytes),
        bytes(memory.page_cache_last_bytes),
        bytes(memory.page_cache_highest_bytes),
        bytes(memory.dirty_highest_bytes),
        count_or_missing(memory.swapped_in_pages),
        count_or_missing(memory.swapped_out_pages)
    )
}

fn pressure(machine: &MachineAnalysis) -> Option<String> {
    let all = machine.pressure;
    let told = |name: &str, shares: Option<StallShares>| {
        let StallShares { some, full } = shares?;
        Some((format!("{name} {}", number::percent(some)), number::percent(full)))
    };
    let parts = [told("I/O", all.io), told("processors", all.cpu), told("memory", all.memory)];
    let (some, full): (Vec<String>, Vec<String>) = parts.into_iter().flatten().unzip();
    (!some.is_empty())
        .then(|| format!("of the time tasks waited for {}; all tasks {}", some.join(", "), full.join(", ")))
}

fn network(network: &NetworkRates) -> String {
    let rate = |value: f64| number::decimals(value / 1e6, 2);
    format!(
        "{}: received {} MB/s in {} packets/s, sent {} MB/s in {} packets/s, {} packets lost",
        network.interface,
        rate(network.received_bytes_per_s),
        number::decimals(network.received_packets_per_s, 0),
        rate(network.sent_bytes_per_s),
        number::decimals(network.sent_packets_per_s, 0),
        number::count(network.lost_packets)
    )
}

fn own_io(all: &[ProcessRates]) -> Option<String> {
    let told = |own: &ProcessRates| {
        let name = match own.process {
            MeasuredProcess::Server => "server",
            MeasuredProcess::Agent => "agent",
            MeasuredProcess::Coordinator => "coordinator",
        };
        let rate = |bytes: f64| number::decimals(bytes / 1e6, 2);
        format!("{name} {} and {}", rate(own.read_bytes_per_s), rate(own.write_bytes_per_s))
    };
    (!all.is_empty())
        .then(|| format!("MB/s read and written: {}", all.iter().map(told).collect::<Vec<_>>().join(", ")))
}

fn limits(limits: &LimitFacts, stack: &StackAnalysis) -> String {
    let mut parts = Vec::new();
    parts.extend(
        limits.cpu_quota.map(|quota| format!("time of {} processors", number::significant(quota, 3))),
    );
    parts.extend(limits.memory_bytes.map(|bytes| format!("{} of memory", number::bytes(bytes as f64))));
    parts.extend(limits.io.iter().map(|limit| io_limit(limit, stack)));
    let others = match (parts.is_empty(), limits.cpus.is_empty()) {
        (true, true) => "none".to_owned(),
        (true, false) => "no others".to_owned(),
        _ => parts.join(", "),
    };
    let cpus = if limits.cpus.is_empty() { String::new() } else { format!("processors {}; ", limits.cpus) };
    format!("{cpus}{others}")
}

fn io_limit(limit: &IoLimit, stack: &StackAnalysis) -> String {
    let device = stack.layers.iter().find(|layer| layer.number == limit.number);
    let device = device.map_or_else(|| format!("device {}", limit.number), |layer| layer.name.clone());
    let count =
        |value: Option<u64>, unit: &str| value.map(|value| format!("{} {unit}", number::count(value)));
    let bytes =
        |value: Option<u64>, verb: &str| value.map(|value| format!("{} {verb}", number::bytes(value as f64)));
    let parts = [
        count(limit.reads_per_s, "reads"),
        count(limit.writes_per_s, "writes"),
        bytes(limit.read_bytes_per_s, "read"),
        bytes(limit.write_bytes_per_s, "written"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} a second on {device}", parts.join(", "))
}

fn ran_on(machine: &MachineAnalysis) -> Option<String> {
    let told =
        |who: &str, cpus: &Option<String>| cpus.as_ref().map(|cpus| format!("{who} on processors {cpus}"));
    let parts = [told("server", &machine.server_cpus), told("load", &machine.load_cpus)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A row for the host of each of several instances; `None` for one, or when none told anything.
pub(super) fn grid(run: &RunAnalysis) -> Option<Grid> {
    let tells = |own: &InstanceAnalysis| {
        own.machine.memory.is_some() || own.machine.pressure.io.is_some() || own.machine.server_cpus.is_some()
    };
    if !run.is_fleet() || !run.per_instance.iter().any(tells) {
        return None;
    }
    let row = |own: &InstanceAnalysis| {
        let machine = &own.machine;
        let cpu =
            |share: fn(&CpuShares) -> f64| or_missing(own.figures.cpu.as_ref().map(share), number::percent);
        let memory =
            |of: fn(&MemoryFigures) -> f64| or_missing(machine.memory.as_ref().map(of), number::bytes);
        let swapped = machine.memory.and_then(|m| m.swapped_in_pages?.checked_add(m.swapped_out_pages?));
        vec![
            own.host.clone(),
            cpu(|c| c.softirq),
            cpu(|c| c.iowait),
            cpu(|c| c.steal),
            or_missing(machine.pressure.io.map(|io| io.full), number::percent),
            memory(|m| m.available_lowest_bytes as f64),
            memory(|m| m.page_cache_last_bytes as f64),
            memory(|m| m.page_cache_last_bytes as f64 - m.page_cache_first_bytes as f64),
            count_or_missing(swapped),
            machine.server_cpus.clone().unwrap_or_else(|| MISSING.to_owned()),
            machine.load_cpus.clone().unwrap_or_else(|| MISSING.to_owned()),
        ]
    };
    Some(Grid {
        title: "Instances: hosts".to_owned(),
        hint: "I/O full: share of the time in which every task waited for I/O. Free: memory available at its lowest. Cache and growth: page cache at the end, and by how much it grew. Swapped: pages in and out. The last two: processors that server and load may use.",
        headers: vec![
            "Instance", "Softirq", "I/O wait", "Steal", "I/O full", "Free", "Cache", "Growth", "Swapped",
            "Server", "Load",
        ],
        rows: run.per_instance.iter().map(row).collect(),
        labels: 1,
    })
}
