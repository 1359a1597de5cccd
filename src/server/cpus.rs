//! Which processors a process or thread may use.

use std::fs;
use std::io;
use std::path::Path;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::telemetry::limits::parse_allowed;

/// Keeps the calling thread, and what it starts, on these processors; changes nothing when there are none.
///
/// # Errors
/// When none of them is online, or may be used here.
pub fn keep_to(cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(usize::try_from(*cpu).unwrap_or(usize::MAX))?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// The processors that a process or thread may use, as the kernel says it, such as `0-3,8`; empty when it does not.
#[must_use]
pub fn allowed(process: &Path) -> String {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    parse_allowed(&status).unwrap_or_default()
}

/// The calling thread's own folder of `/proc`.
pub const THIS_THREAD: &str = "/proc/thread-self";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_kept_where_it_is_told() {
        let of_all = allowed(Path::new(THIS_THREAD));
        std::thread::spawn(|| {
            keep_to(&[]).unwrap();
            keep_to(&[0]).unwrap();
            assert_eq!(allowed(Path::new(THIS_THREAD)), "0");
            assert!(keep_to(&[1023]).is_err(), "no machine of the tests has as many");
            assert!(keep_to(&[u32::MAX]).is_err());
        })
        .join()
        .unwrap();
        assert_eq!(allowed(Path::new(THIS_THREAD)), of_all, "others are not");
    }
}
