//! What the transactions waited for.

use super::other_io::is_shared;
use super::{Checked, Evidence, unknown};
use crate::analysis::{Finding, LayerAnalysis};
use crate::protocol::cpus::cpus_in;
use crate::protocol::facts::IoLimit;
use crate::stats::device::DeviceRates;

/// Share of the mean latency that device waits must explain.
const EXPLAINED: f64 = 0.5;
/// Share of processor time that must be idle, I/O waits included, for a run to be device-bound.
const IDLE: f64 = 0.2;
/// Share of processor time from which a run is CPU-bound.
const BUSY: f64 = 0.9;
/// Share of the time in which every task waited for I/O, from which waits above the block layer show.
const STALLED: f64 = 0.5;
/// Share of a control group's limit from which the limit is what bounds.
const AT_LIMIT: f64 = 0.95;
/// A device that did more of the limit than this was used by others as well, and the limit tells nothing.
const ABOVE_LIMIT: f64 = 1.1;

/// Device-bound (holds), CPU-bound (does not), or undetermined.
///
/// Device waits are pages read × r_await plus, for each commit that changed a row, one log write and flush. %util is not
/// used: on devices that work in parallel it says nothing about their limit.
pub fn device_bound(evidence: &Evidence) -> Checked {
    let (id, title) = ("device_bound", "Device-bound");
    let figures_of = evidence.figures;
    let Some((cpu, latency)) = figures_of.cpu.zip(figures_of.latency) else {
        return unknown(id, title, "nothing completed, or the host was not sampled over the interval").into();
    };
    let (idle, whose) = match own_processors(evidence) {
        None => (cpu.idle + cpu.iowait, "the host's processors".to_owned()),
        // Those that are kept free for others would hide that its own are busy.
        Some((all, own)) => {
            let busy = ((1.0 - cpu.idle - cpu.iowait) * all / own).min(1.0);
            (1.0 - busy, format!("the {own} of {all} processors that server and load may use"))
        }
    };
    let processors = format!("{whose} {:.1} % busy, whoever kept them so", (1.0 - idle) * 100.0);
    let (time, time_ms) = match evidence.run.plan.rate_per_s {
        None => ("average latency", Some(latency.avg_ms)),
        // Waiting for a free thread is no work of the device's.
        Some(_) => ("time that statements took", statements_ms(evidence)),
    };
    let waited_ms = waits_ms(evidence);
    let explained = waited_ms.zip(time_ms).map(|(waits, time_ms)| waits / time_ms);
    let waits = match (explained, waited_ms) {
        (Some(share), _) => format!("device waits explain {:.0} % of the {time}", share * 100.0),
        (None, Some(_)) => format!("the {time} is unknown"),
        (None, None) if evidence.was_restarted() => {
            "device waits are unknown, since the server was started anew in the interval".to_owned()
        }
        (None, None) => "device waits are unknown".to_owned(),
    };
    let stalled = evidence.host.and_then(|ends| ends.stalled(|pressure| pressure.io));
    let stalled = stalled.map(|io| io.full);
    let pressure = match stalled {
        Some(share) => format!("every task waited for I/O {:.0} % of the time", share * 100.0),
        None => "no pressure-stall information".to_owned(),
    };
    let shared = if is_shared(evidence) { "; on a device that others used as well" } else { "" };
    let figures = format!("{waits}, {processors}, {pressure}{shared}");
    // A limit that was reached leaves no doubt: whatever else is slow would have kept the load below it.
    if let Some(limit) = reached_limit(evidence) {
        return Finding { id, title, holds: Some(true), text: format!("device-bound: {limit}; {figures}") }
            .into();
    }
    if idle >= IDLE && explained.is_some_and(|share| share >= EXPLAINED) {
        let finding = Finding { id, title, holds: Some(true), text: format!("device-bound: {figures}") };
        let percent = explained.unwrap_or(0.0) * 100.0;
        return Checked::by(finding, percent, 0, "% of the time explained by device waits");
    }
    if idle >= IDLE && stalled.is_some_and(|share| share >= STALLED) {
        let text = format!("device-bound, with the waits above the block layer: {figures}");
        return Finding { id, title, holds: Some(true), text }.into();
    }
    if 1.0 - idle >= BUSY && explained.is_some() {
        return Finding { id, title, holds: Some(false), text: format!("CPU-bound: {figures}") }.into();
    }
    Finding { id, title, holds: None, text: format!("undetermined: {figures}") }.into()
}

/// How many processors the host has, and how many of them server and load may use or have the quota for; `None` when
/// that is all of them, or not known.
fn own_processors(evidence: &Evidence) -> Option<(f64, f64)> {
    let all = f64::from(evidence.known?.facts.as_ref()?.cpus);
    let machine = evidence.machine;
    let mut cpus = cpus_in(machine.server_cpus.as_deref()?)?;
    cpus.extend(cpus_in(machine.load_cpus.as_deref()?)?);
    let quota = machine.limits.as_ref().and_then(|limits| limits.cpu_quota).unwrap_or(all);
    let own = (cpus.len() as f64).min(quota);
    (own > 0.0 && own < all).then_some((all, own))
}

/// The limit of the instance's control group that its I/O reached, in words.
fn reached_limit(evidence: &Evidence) -> Option<String> {
    let limits = &evidence.machine.limits.as_ref()?.io;
    let layers = evidence.stack.layers.iter();
    let limited = layers.filter_map(|layer| {
        let limit = limits.iter().find(|limit| limit.number == layer.number)?;
        let (share, text) = nearest_limit(layer, limit, layer.rates.as_ref()?)?;
        (AT_LIMIT..=ABOVE_LIMIT).contains(&share).then_some((share, text))
    });
    limited.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, text)| text)
}

/// Of the limits on one device the one that is nearest to what it did: its share, and both in words.
fn nearest_limit(layer: &LayerAnalysis, limit: &IoLimit, rates: &DeviceRates) -> Option<(f64, String)> {
    let told = [
        // The kernel counts against the limit before it merges.
        (limit.reads_per_s, rates.reads_per_s + rates.reads_merged_per_s, 1.0, "do", "reads"),
        (limit.writes_per_s, rates.writes_per_s + rates.writes_merged_per_s, 1.0, "do", "writes"),
        (limit.read_bytes_per_s, rates.read_kb_per_s * 1024.0, 1e6, "read", "MB"),
        (limit.write_bytes_per_s, rates.write_kb_per_s * 1024.0, 1e6, "write", "MB"),
    ];
    let shares = told.into_iter().filter_map(|(limit, done, scale, verb, unit)| {
        let limit = limit.filter(|limit| *limit > 0)? as f64;
        let share = done / limit;
        let places = if scale > 1.0 { 1 } else { 0 };
        let text = format!(
            "its control group lets {} {verb} {:.places$} {unit} a second, of which it used {:.1} ({:.1} %)",
            layer.name,
            limit / scale,
            done / scale,
            share * 100.0
        );
        Some((share, text))
    });
    shares.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// What the statements of one transaction of the instance took, ms, on average over all that it measured: their
/// times are not told by the second.
fn statements_ms(evidence: &Evidence) -> Option<f64> {
    let place = evidence.run.instances.iter().position(|own| own.host == evidence.instance.host)?;
    let transactions = evidence.run.merging.whole(place)?.latency.count() as f64;
    let sum_ns = evidence.instance.statements_ns;
    (transactions > 0.0 && sum_ns > 0.0).then(|| sum_ns / transactions / 1e6)
}

/// Device waits of one transaction, ms.
fn waits_ms(evidence: &Evidence) -> Option<f64> {
    let device = evidence.figures.device?;
    let reads = evidence.figures.anatomy.misses_per_transaction?;
    // Commits share syncs, and each waits for a whole one; without durable commits there is none.
    let waits_for_log = evidence.variable("innodb_flush_log_at_trx_commit") == Some("1");
    let sync_ms = device.write_await_ms + device.flush_await_ms.unwrap_or(0.0);
    let log_ms = match waits_for_log && evidence.figures.writes > 0 {
        true => evidence.changing_commits()? / evidence.figures.transactions.max(1) as f64 * sync_ms,
        false => 0.0,
    };
    Some(reads * device.read_await_ms + log_ms)
}
