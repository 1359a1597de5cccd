//! Watching this machine's devices.

use std::path::Path;

use nix::time::{ClockId, clock_gettime};

use super::columns::Report;
use super::words::Words;
use super::{is_device, print, report};
use crate::cli::exit::{self, Failure};
use crate::cli::output;
use crate::protocol::clock::{monotonic_ns, sleep_until};
use crate::protocol::facts::DeviceKind;
use crate::protocol::sample::{DiskCounters, FlushCounters, OperationCounters};
use crate::telemetry::devices::BlockDevices;
use crate::telemetry::diskstats::{DiskReader, DiskReading};

/// An interval this close to whole hundredths of a second is taken for these, which is all that iostat knows of time.
const CLOSE: f64 = 0.001;
const HUNDREDTH_NS: i64 = 10_000_000;

/// Reports since boot, or interval by interval.
pub fn watch(words: &Words, json: bool) -> Result<(), Failure> {
    let mut reader = DiskReader::new(Path::new("/proc"), Vec::new());
    let (mut before_ns, mut before) = sample(&mut reader)?;
    refuse_unknown(words, &before.disks)?;
    tell_strange(&before);
    let mut choice = Choice::new(words);
    let mut first = true;
    let Some(interval) = words.interval else {
        let blank: Vec<DiskCounters> = before.disks.iter().map(since_boot).collect();
        let report = reported(since_boot_ns(), &blank, &before.disks, &mut choice);
        return print(&report, json, &mut first);
    };
    let (began_ns, step_ns) = (before_ns, i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX));
    let mut left = words.count;
    let mut next_ns = began_ns + step_ns;
    while left != Some(0) {
        sleep_until(next_ns);
        let (now_ns, now) = sample(&mut reader)?;
        print(&reported(now_ns - before_ns, &before.disks, &now.disks, &mut choice), json, &mut first)?;
        // A report that came late does not bring the ones after it closer together.
        next_ns = began_ns + ((now_ns - began_ns) / step_ns + 1) * step_ns;
        (before_ns, before) = (now_ns, now);
        left = left.map(|left| left - 1);
    }
    Ok(())
}

/// The devices, and when they were read.
fn sample(reader: &mut DiskReader) -> Result<(i64, DiskReading), Failure> {
    let failed = |error: std::io::Error| Failure::new(exit::USAGE, format!("/proc/diskstats: {error}"));
    let at_ns = reader.take().map_err(failed)?;
    Ok((at_ns, reader.all()))
}

fn reported(elapsed_ns: i64, before: &[DiskCounters], after: &[DiskCounters], choice: &mut Choice) -> Report {
    let wanted: Vec<&str> =
        before.iter().chain(after).filter(|disk| choice.takes(disk)).map(|disk| disk.name.as_str()).collect();
    let at_s = monotonic_ns() as f64 / 1e9;
    report(at_s, settled(elapsed_ns), before, after, |disk| wanted.contains(&disk.name.as_str()))
}

/// The time, or the whole hundredths of a second that it is close to.
fn settled(elapsed_ns: i64) -> i64 {
    let hundredths = (elapsed_ns + HUNDREDTH_NS / 2) / HUNDREDTH_NS * HUNDREDTH_NS;
    let is_close = (elapsed_ns - hundredths).abs() as f64 <= CLOSE * elapsed_ns as f64;
    if is_close { hundredths } else { elapsed_ns }
}

fn refuse_unknown(words: &Words, disks: &[DiskCounters]) -> Result<(), Failure> {
    let is_there = |device: &&String| disks.iter().any(|disk| is_device(disk, device));
    match words.devices.iter().find(|device| !is_there(device)) {
        None => Ok(()),
        Some(unknown) => Err(Failure::new(
            exit::USAGE,
            format!(
                "{unknown}: /proc/diskstats has no such device; `drivestone devices` lists those that are there"
            ),
        )),
    }
}

fn tell_strange(reading: &DiskReading) {
    if reading.skipped + reading.odd > 0 {
        output::warning(&format!(
            "/proc/diskstats: {} lines make no sense, {} have another number of fields than 14, 18 or 20",
            reading.skipped, reading.odd
        ));
    }
}

/// Which devices are shown.
struct Choice<'a> {
    words: &'a Words,
    devices: BlockDevices,
    /// Names that were looked up, and whether they are shown.
    known: Vec<(String, bool)>,
}

impl<'a> Choice<'a> {
    fn new(words: &'a Words) -> Self {
        let devices = BlockDevices::of_this_host();
        Self { words, devices, known: Vec::new() }
    }

    /// Devices that are named; without any, those that have been used and are no partitions.
    fn takes(&mut self, disk: &DiskCounters) -> bool {
        if !self.words.devices.is_empty() {
            return self.words.wants(disk);
        }
        let ios = [disk.reads.ios, disk.writes.ios, disk.discards.map_or(0, |d| d.ios)];
        ios.iter().any(|ios| *ios > 0) && self.is_whole(disk)
    }

    fn is_whole(&mut self, disk: &DiskCounters) -> bool {
        if let Some((_, known)) = self.known.iter().find(|(name, _)| *name == disk.name) {
            return *known;
        }
        let kind = self.devices.facts(&disk.number).map(|facts| facts.kind);
        let is_whole = kind != Some(DeviceKind::Partition);
        self.known.push((disk.name.clone(), is_whole));
        is_whole
    }
}

/// The same device when the machine had just started.
fn since_boot(disk: &DiskCounters) -> DiskCounters {
    DiskCounters {
        name: disk.name.clone(),
        number: disk.number.clone(),
        discards: disk.discards.map(|_| OperationCounters::default()),
        flushes: disk.flushes.map(|_| FlushCounters::default()),
        ..DiskCounters::default()
    }
}

/// Time since boot, ns, sleep included; of a clock that cannot be read none.
fn since_boot_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |now| now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_close_to_whole_hundredths_are_these() {
        assert_eq!(settled(1_000_400_000), 1_000_000_000);
        assert_eq!(settled(999_600_000), 1_000_000_000);
        assert_eq!(settled(1_004_000_000), 1_004_000_000);
        assert_eq!(settled(100_300_000), 100_300_000);
        assert_eq!(settled(0), 0);
    }
}
