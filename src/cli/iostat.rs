//! `drivestone iostat`

mod columns;
mod live;
mod words;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::arguments::Iostat;
use super::exit::{self, Failure};
use super::output;
use crate::protocol::sample::DiskCounters;
use crate::report::visible::visible;
use crate::stats::device::device_rates;
use crate::telemetry::replay::{Recording, parse_recording};
use columns::{Report, Row};
use words::{Words, understand};

/// Prints device statistics, live or of a recording.
pub fn iostat(arguments: &Iostat) -> Result<(), Failure> {
    let words = understand(&arguments.words)?;
    match &arguments.replay {
        None => live::watch(&words, arguments.json),
        Some(path) => replay(path, &words, arguments.json),
    }
}

/// Reports each pair of neighbouring snapshots.
fn replay(path: &Path, words: &Words, json: bool) -> Result<(), Failure> {
    let recording = read(path)?;
    for (line, remark) in &recording.remarks {
        output::warning(&format!("{}: line {line} {remark}", path.display()));
    }
    if words.interval.is_some() {
        return Err(Failure::new(exit::USAGE, "a recording has its own times; leave INTERVAL and COUNT out"));
    }
    let is_known = |device: &String| {
        recording.snapshots.iter().any(|snapshot| snapshot.disks.iter().any(|disk| is_device(disk, device)))
    };
    if let Some(unknown) = words.devices.iter().find(|device| !is_known(device)) {
        return Err(Failure::new(
            exit::USAGE,
            format!("{}: no snapshot has a device {unknown}", path.display()),
        ));
    }
    let mut first = true;
    for pair in recording.snapshots.windows(2) {
        let [before, after] = pair else { continue };
        let elapsed_ns = nanoseconds(after.seconds - before.seconds);
        let report = report(after.seconds, elapsed_ns, &before.disks, &after.disks, |disk| words.wants(disk));
        print(&report, json, &mut first)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Recording, Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::new(exit::USAGE, format!("{}: {error}", path.display()));
    let mut text = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut text).map_err(|error| failed(&error))?;
    } else {
        text = fs::read(path).map_err(|error| failed(&error))?;
    }
    parse_recording(&text).map_err(|error| failed(&error))
}

/// Hundredths of a second survive being written in decimal.
fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// Devices that are in the later sample, with their rates since the earlier one; those that are new have none yet.
fn report(
    at_s: f64,
    elapsed_ns: i64,
    before: &[DiskCounters],
    after: &[DiskCounters],
    wants: impl Fn(&DiskCounters) -> bool,
) -> Report {
    let known = after.iter().filter(|disk| wants(disk)).filter_map(|disk| {
        let earlier = before.iter().find(|earlier| earlier.name == disk.name)?;
        Some(Row { device: disk.name.clone(), rates: device_rates(earlier, disk, elapsed_ns) })
    });
    let gone = before.iter().filter(|disk| wants(disk) && !after.iter().any(|later| later.name == disk.name));
    Report {
        at_s,
        elapsed_s: elapsed_ns as f64 / 1e9,
        rows: known.collect(),
        gone: gone.map(|disk| disk.name.clone()).collect(),
    }
}

fn is_device(disk: &DiskCounters, device: &str) -> bool {
    disk.name == device || disk.number == device
}

fn print(report: &Report, json: bool, first: &mut bool) -> Result<(), Failure> {
    for device in &report.gone {
        output::note(&format!("{device} is gone"));
    }
    let text = if json { report.json() } else { report.text() };
    let blank = if json || *first { "" } else { "\n" };
    *first = false;
    output::print(&format!("{blank}{}", visible(&text)))
}
