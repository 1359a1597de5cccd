//! The one clock that measurements use.

use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A second, ns.
pub const SECOND_NS: i64 = 1_000_000_000;

/// Nanoseconds of this host's CLOCK_MONOTONIC: comparable within a host and a boot, never between hosts.
#[must_use]
pub fn monotonic_ns() -> i64 {
    // The call fails only for an unknown clock id.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| t.tv_sec() * 1_000_000_000 + t.tv_nsec())
}

/// Sleeps until that clock reads `at_ns`.
pub fn sleep_until(at_ns: i64) {
    if let Ok(left) = u64::try_from(at_ns - monotonic_ns()) {
        thread::sleep(Duration::from_nanos(left));
    }
}
