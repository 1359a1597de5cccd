//! Sampling once a second, on the run's own grid of seconds.

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
use crate::telemetry::innodb;
use crate::telemetry::sampler::HostSampler;

const LOOK: Duration = Duration::from_millis(50);
/// A server that does not answer for so long is asked on a new connection.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Samples the kernel's counters for the device that `target` is or is on, at every second of the run and
/// once more at the end.
pub fn host(target: &Path, start: &StartJob, outbox: &Outbox, stop: &AtomicBool) {
    let mut sampler = HostSampler::new(target);
    let warn = |text: String| outbox.send(Event::Warning { text });
    if sampler.numbers().is_empty() {
        warn(format!("no block device was found under {}; its statistics are unknown", target.display()));
    }
    every_second(start, stop, || outbox.send(Event::Host(Box::new(sampler.sample()))));
    if sampler.skipped_lines() > 0 {
        warn(format!("{} lines of /proc/diskstats were not understood", sampler.skipped_lines()));
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

    #[test]
    fn the_grid_is_t0s() {
        let t0 = 10 * SECOND_NS + 7;
        assert_eq!(grid_after(t0 - 1, t0), t0);
        assert_eq!(grid_after(t0, t0), t0 + SECOND_NS);
        assert_eq!(grid_after(t0 - 2 * SECOND_NS - 1, t0), t0 - 2 * SECOND_NS);
        assert_eq!(grid_after(t0 + SECOND_NS + 5, t0), t0 + 2 * SECOND_NS);
    }
}
