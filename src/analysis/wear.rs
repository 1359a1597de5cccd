//! What drives and processors told before and after a run: what it cost the drives, and whether heat or errors
//! had a part in it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::gather_run::GatheredRun;
use super::samples::{HostMoment, HostSamples};
use crate::protocol::sample::{DriveHealth, HealthSample};

/// A counter that grew by fewer units than this says little of how much.
pub const LEAST_UNITS: u64 = 10;

/// What one host told around a run.
#[derive(Default)]
pub struct Readings {
    /// Before its load was ready; of an observer, when the run began.
    pub before: Option<HealthSample>,
    /// When its load had ended; of an observer, when the run was over.
    pub after: Option<HealthSample>,
}

impl Readings {
    /// What an observer tells: first before, then after.
    pub fn take_next(&mut self, sample: HealthSample) {
        match self.before {
            None => self.before = Some(sample),
            Some(_) => self.after = Some(sample),
        }
    }

    fn all(&self) -> impl Iterator<Item = &HealthSample> {
        self.before.iter().chain(&self.after)
    }
}

/// Drives and processors around a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WearAnalysis {
    /// Drives that told something, host by host.
    pub drives: Vec<DriveWear>,
    /// Drives that did not.
    pub silent: Vec<SilentHost>,
    /// How often processors had been slowed down by heat since their host was started.
    pub heat: Vec<HostHeat>,
}

/// One drive around a run, from before its load was connected until it had ended, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveWear {
    /// Its host.
    pub host: String,
    /// Its host only sampled.
    pub observed: bool,
    /// Its name in `/proc/diskstats`.
    pub device: String,
    /// Who told it.
    pub source: String,
    /// Time between the two readings, s.
    pub seconds: Option<f64>,
    /// Transactions between them: its instance's, or all of them where the host only sampled.
    pub transactions: u64,
    /// What hosts wrote.
    pub host_written: Option<Growth>,
    /// What hosts read.
    pub host_read: Option<Growth>,
    /// What was written to its NAND.
    pub nand_written: Option<Growth>,
    /// What the kernel wrote to it between its first and its last sample, bytes.
    pub kernel_written_bytes: Option<u64>,
    /// Bytes that hosts wrote for each transaction. Like those below `None` where a counter is too coarse.
    pub host_written_per_transaction: Option<f64>,
    /// Bytes written to NAND for each transaction.
    pub nand_written_per_transaction: Option<f64>,
    /// Bytes written to NAND for each byte that hosts wrote.
    pub write_amplification: Option<f64>,
    /// Rated life used, percent.
    pub used_pct: Change<u32>,
    /// Spare blocks left, percent.
    pub spare_pct: Change<u32>,
    /// Temperature, °C.
    pub temperature_c: Change<i32>,
    /// Media errors over its life.
    pub media_errors: Change<u64>,
    /// Time for which it was slowed down by heat over its life, s.
    pub throttled_s: Change<u64>,
    /// It judges itself failing, as it said last.
    pub failing: Option<bool>,
}

/// A figure before and after a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// Before.
    pub before: Option<T>,
    /// After.
    pub after: Option<T>,
}

impl Change<u64> {
    /// How much a counter grew; `None` when it is not known at both ends, or went back.
    #[must_use]
    pub fn growth(self) -> Option<u64> {
        self.after?.checked_sub(self.before?)
    }
}

/// How much a counter of bytes grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// By how many bytes.
    pub bytes: u64,
    /// The drive counts in units of so many.
    pub unit_bytes: Option<u64>,
    /// It grew by so few units that its figure says little.
    pub too_coarse: bool,
}

impl Growth {
    fn of(change: Change<u64>, unit_bytes: Option<u64>) -> Option<Self> {
        let bytes = change.growth()?;
        let too_coarse = unit_bytes.is_some_and(|unit| bytes < unit.saturating_mul(LEAST_UNITS));
        Some(Self { bytes, unit_bytes, too_coarse })
    }

    /// The bytes, where they say enough.
    fn exact(self) -> Option<f64> {
        (!self.too_coarse).then_some(self.bytes as f64)
    }
}

/// A drive that told nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SilentHost {
    /// Its host.
    pub host: String,
    /// Its host only sampled.
    pub observed: bool,
    /// Its name in `/proc/diskstats`.
    pub device: String,
    /// Why.
    pub reason: String,
}

/// The processors of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostHeat {
    /// The host.
    pub host: String,
    /// How often they had been slowed down by heat.
    pub throttles: Change<u64>,
}

/// One host of a run, with what is needed to judge its drives.
struct Host<'a> {
    name: &'a str,
    observed: bool,
    readings: &'a Readings,
    samples: &'a HostSamples,
    transactions: u64,
}

/// Drives and processors of a run; `None` when nobody asked them, as before drivestone did.
pub fn analyze_wear(run: &GatheredRun) -> Option<WearAnalysis> {
    let mut wear = WearAnalysis { drives: Vec::new(), silent: Vec::new(), heat: Vec::new() };
    let mut asked = false;
    for host in hosts(run) {
        let Readings { before, after } = host.readings;
        let Some(last) = after.as_ref().or(before.as_ref()) else { continue };
        asked = true;
        let (before, after) = (before.as_ref(), after.as_ref());
        wear.drives.extend(devices(host.readings).map(|device| drive(&host, device)));
        let silent = last.silent.iter().filter(|silent| !devices(host.readings).any(|d| d == silent.device));
        wear.silent.extend(silent.map(|silent| SilentHost {
            host: host.name.to_owned(),
            observed: host.observed,
            device: silent.device.clone(),
            reason: silent.reason.clone(),
        }));
        let throttles = |sample: Option<&HealthSample>| sample?.thermal_throttles;
        let throttles = Change { before: throttles(before), after: throttles(after) };
        wear.heat.push(HostHeat { host: host.name.to_owned(), throttles });
    }
    asked.then_some(wear)
}

fn hosts(run: &GatheredRun) -> impl Iterator<Item = Host<'_>> {
    let all = run.instances.iter().fold(0_u64, |sum, own| sum.saturating_add(own.completed));
    let instances = run.instances.iter().map(|own| Host {
        name: &own.host,
        observed: false,
        readings: &own.health,
        samples: &own.samples,
        transactions: own.completed,
    });
    instances.chain(run.observers.iter().map(move |own| Host {
        name: &own.host,
        observed: true,
        readings: &own.health,
        samples: &own.samples,
        transactions: all,
    }))
}

/// The drives that told something in either reading, each once.
fn devices(readings: &Readings) -> impl Iterator<Item = &str> {
    let mut names: Vec<&str> = Vec::new();
    for drive in readings.all().flat_map(|sample| &sample.drives) {
        if !names.contains(&drive.device.as_str()) {
            names.push(&drive.device);
        }
    }
    names.into_iter()
}

fn drive(host: &Host, device: &str) -> DriveWear {
    let find = |sample: Option<&HealthSample>| {
        Some(sample?.drives.iter().find(|drive| drive.device == device)?.clone())
    };
    let Readings { before, after } = host.readings;
    let (then, now) = (find(before.as_ref()), find(after.as_ref()));
    let seconds = before.as_ref().zip(after.as_ref());
    let seconds = seconds.map(|(before, after)| after.at_ns.saturating_sub(before.at_ns) as f64 / 1e9);
    // Tools differ in what they count: what one told is not compared with what another did.
    let then = match (&then, &now) {
        (Some(before), Some(after)) if before.source != after.source => None,
        _ => then,
    };
    let told = now.as_ref().or(then.as_ref());
    let grown = |bytes: fn(&DriveHealth) -> Option<u64>, unit: fn(&DriveHealth) -> Option<u64>| {
        Growth::of(change(&then, &now, bytes), told.and_then(unit))
    };
    let host_written = grown(|own| own.host_written_bytes, |own| own.host_unit_bytes);
    let nand_written = grown(|own| own.nand_written_bytes, |own| own.nand_unit_bytes);
    let per_transaction = |growth: Option<Growth>| {
        let bytes = growth.and_then(Growth::exact).filter(|_| host.transactions > 0)?;
        Some(bytes / host.transactions as f64)
    };
    let exact = nand_written.and_then(Growth::exact).zip(host_written.and_then(Growth::exact));
    DriveWear {
        host: host.name.to_owned(),
        observed: host.observed,
        device: device.to_owned(),
        source: told.map(|own| own.source.clone()).unwrap_or_default(),
        seconds,
        transactions: host.transactions,
        host_written,
        host_read: grown(|own| own.host_read_bytes, |own| own.host_unit_bytes),
        nand_written,
        kernel_written_bytes: kernel_written(host.samples, device),
        host_written_per_transaction: per_transaction(host_written),
        nand_written_per_transaction: per_transaction(nand_written),
        write_amplification: exact.filter(|(_, host)| *host > 0.0).map(|(nand, host)| nand / host),
        used_pct: change(&then, &now, |own| own.used_pct),
        spare_pct: change(&then, &now, |own| own.spare_pct),
        temperature_c: change(&then, &now, |own| own.temperature_c),
        media_errors: change(&then, &now, |own| own.media_errors),
        throttled_s: change(&then, &now, |own| own.throttled_s),
        failing: told.and_then(|own| own.failing),
    }
}

fn change<T>(
    then: &Option<DriveHealth>,
    now: &Option<DriveHealth>,
    figure: impl Fn(&DriveHealth) -> Option<T>,
) -> Change<T> {
    Change { before: then.as_ref().and_then(&figure), after: now.as_ref().and_then(&figure) }
}

/// Bytes that the kernel wrote to a drive, where the drive itself was sampled.
fn kernel_written(samples: &HostSamples, device: &str) -> Option<u64> {
    let sectors = |moment: &HostMoment| {
        let (number, _) = moment.devices().find(|(_, name)| *name == device)?;
        Some(moment.disk(number)?.1.writes.sectors_512)
    };
    let (first, last) = samples.samples.first().zip(samples.samples.last())?;
    sectors(last)?.checked_sub(sectors(first)?)?.checked_mul(512)
}

/// Which drives told nothing in any of the runs, and why; said once.
pub fn silence(runs: &[GatheredRun], several: bool) -> Option<String> {
    let mut hosts_by_drive: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for host in runs.iter().flat_map(hosts) {
        for silent in host.readings.all().flat_map(|sample| &sample.silent) {
            let hosts = hosts_by_drive.entry((&silent.device, &silent.reason)).or_default();
            if !hosts.contains(&host.name) {
                hosts.push(host.name);
            }
        }
    }
    let told: Vec<String> = hosts_by_drive
        .into_iter()
        .map(|((device, reason), hosts)| {
            let on = if several { format!(" on {}", hosts.join(", ")) } else { String::new() };
            format!("{device}{on} ({reason})")
        })
        .collect();
    (!told.is_empty()).then(|| format!("wear and health were not told by {}", told.join(", nor by ")))
}
