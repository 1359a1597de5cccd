//! Sampling once a second, on the run's own grid of seconds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mysql::Conn;

use super::keeper::Served;
use super::outbox::Outbox;
use crate::protocol::Event;
use crate::protocol::clock::{SECOND_NS, monotonic_ns};
use crate::protocol::job::StartJob;
use crate::protocol::sample::HostSample;
use crate::telemetry::innodb;
use crate::telemetry::sampler::{HostSampler, Watched};

const LOOK: Duration = Duration::from_millis(50);
/// A server that does not answer for so long is asked on a new connection.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Samples the kernel's counters for the device that `target` is or is on, at every second of the run and
/// once more at the end.
pub fn host(target: &Path, watched: Watched, start: &StartJob, outbox: &Outbox, stop: &AtomicBool) {
    let mut sampler = HostSampler::new(target, watched);
    let mut present = Present::default();
    let warn = |text: String| outbox.send(Event::Warning { text });
    if sampler.numbers().is_empty() {
        warn(format!("no block device was found under {}; its statistics are unknown", target.display()));
    }
    every_second(start, stop, || {
        let sample = sampler.sample();
        for change in present.changes(&sample) {
            outbox.send(match change {
                Change::Vanished(name) => Event::DeviceVanished { name },
                Change::Returned(name) => Event::Warning { text: format!("{name} is there again") },
            });
        }
        outbox.send(Event::Host(Box::new(sample)));
    });
    if sampler.skipped_lines() > 0 {
        warn(format!("{} lines of /proc/diskstats were not understood", sampler.skipped_lines()));
    }
    if sampler.odd_lines() > 0 {
        warn(format!(
            "{} lines of /proc/diskstats had another number of fields than 14, 18 or 20",
            sampler.odd_lines()
        ));
    }
}

/// The devices that were in a sample, and whether they were in the last one.
#[derive(Default)]
struct Present(BTreeMap<String, bool>);

/// What happened to a device between two samples.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Vanished(String),
    Returned(String),
}

impl Present {
    /// What changed since the sample before. A device that never was in one has not vanished.
    fn changes(&mut self, sample: &HostSample) -> Vec<Change> {
        let mut changes = Vec::new();
        for (name, was_there) in &mut self.0 {
            let is_there = sample.disks.iter().any(|disk| disk.name == *name);
            match (*was_there, is_there) {
                (true, false) => changes.push(Change::Vanished(name.clone())),
                (false, true) => changes.push(Change::Returned(name.clone())),
                _ => {}
            }
            *was_there = is_there;
        }
        for disk in &sample.disks {
            self.0.entry(disk.name.clone()).or_insert(true);
        }
        changes
    }
}

/// Samples the server's counters likewise. A server that stops answering leaves a gap.
pub fn server(served: &Served, start: &StartJob, outbox: &Outbox, stop: &AtomicBool) {
    let connect = || Conn::new(served.access.impatient_options(ANSWER_TIMEOUT)).ok();
    let mut connection = connect();
    every_second(start, stop, || {
        let sample = connection.as_mut().and_then(|connection| innodb::read(connection).ok());
        match sample {
            Some(sample) => outbox.send(Event::Server(sample)),
            None => connection = connect(),
        }
    });
}

/// Calls `sample` at the start of the warm-up and then on each whole second around T0.
fn every_second(start: &StartJob, stop: &AtomicBool, mut sample: impl FnMut()) {
    let mut next_ns = start.begin_ns;
    loop {
        if wait_until(next_ns, stop) {
            sample();
            return;
        }
        sample();
        next_ns = grid_after(monotonic_ns(), start.t0_ns);
    }
}

/// The first second of T0's grid after `now_ns`. A sample that took longer than a second skips one.
fn grid_after(now_ns: i64, t0_ns: i64) -> i64 {
    t0_ns + ((now_ns - t0_ns).div_euclid(SECOND_NS) + 1) * SECOND_NS
}

/// Waits until the clock reads `at_ns`. True when told to stop before.
fn wait_until(at_ns: i64, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Acquire) {
            return true;
        }
        let left = Duration::from_nanos(u64::try_from(at_ns - monotonic_ns()).unwrap_or(0));
        if left.is_zero() {
            return false;
        }
        thread::sleep(left.min(LOOK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::sample::DiskCounters;

    #[test]
    fn a_device_vanishes_and_returns_once() {
        let sample = |names: &[&str]| HostSample {
            disks: names
                .iter()
                .map(|&name| DiskCounters { name: name.into(), ..DiskCounters::default() })
                .collect(),
            ..HostSample::default()
        };
        let mut present = Present::default();
        let seen = [&["dm-0", "sda"][..], &["dm-0"], &["dm-0"], &["dm-0", "sda"], &["dm-0", "sda", "sdb"]];
        let changes: Vec<Change> = seen.iter().flat_map(|names| present.changes(&sample(names))).collect();
        assert_eq!(changes, [Change::Vanished("sda".into()), Change::Returned("sda".into())]);
    }

    #[test]
    fn the_grid_is_t0s() {
        let t0 = 10 * SECOND_NS + 7;
        assert_eq!(grid_after(t0 - 1, t0), t0);
        assert_eq!(grid_after(t0, t0), t0 + SECOND_NS);
        assert_eq!(grid_after(t0 - 2 * SECOND_NS - 1, t0), t0 - 2 * SECOND_NS);
        assert_eq!(grid_after(t0 + SECOND_NS + 5, t0), t0 + 2 * SECOND_NS);
    }
}
