//! Single processes: their I/O, and the processors that they may use.

use std::fs;
use std::path::Path;

use crate::protocol::sample::{MeasuredProcess, ProcessIo};

/// What a process has done to block devices; `None` when it is gone or belongs to somebody else.
#[must_use]
pub fn io_of(proc_root: &Path, process: MeasuredProcess, pid: i32) -> Option<ProcessIo> {
    let text = fs::read_to_string(proc_root.join(pid.to_string()).join("io")).ok()?;
    parse_io(&text, process, pid)
}

/// `/proc/PID/io`.
#[must_use]
pub fn parse_io(text: &str, process: MeasuredProcess, pid: i32) -> Option<ProcessIo> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    Some(ProcessIo {
        process,
        pid,
        read_bytes: bytes("read_bytes")?,
        write_bytes: bytes("write_bytes")?,
        cancelled_write_bytes: bytes("cancelled_write_bytes")?,
    })
}

/// The agent, and the coordinator that started it here: its parent, if that runs the same program.
#[must_use]
pub fn own_processes(proc_root: &Path) -> Vec<(MeasuredProcess, i32)> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let parent = nix::unistd::getppid().as_raw();
    let program = |pid: i32| fs::read_link(proc_root.join(pid.to_string()).join("exe")).ok();
    let is_coordinator = program(own).is_some_and(|own| program(parent) == Some(own));
    let mut processes = vec![(MeasuredProcess::Agent, own)];
    processes.extend(is_coordinator.then_some((MeasuredProcess::Coordinator, parent)));
    processes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn io_is_bytes_at_block_devices() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 100\n";
        let io = parse_io(text, MeasuredProcess::Server, 7).unwrap();
        assert_eq!((io.pid, io.read_bytes, io.write_bytes, io.cancelled_write_bytes), (7, 4096, 8192, 100));
        assert_eq!(parse_io("read_bytes: 1\nwrite_bytes: 1\n", MeasuredProcess::Server, 7), None);
        assert_eq!(io_of(Path::new("/proc"), MeasuredProcess::Server, 0), None);
    }

    #[test]
    fn this_process_counts_its_own_writes() {
        let own = own_processes(Path::new("/proc"));
        assert_eq!(own[0], (MeasuredProcess::Agent, i32::try_from(std::process::id()).unwrap()));
        assert!(io_of(Path::new("/proc"), own[0].0, own[0].1).is_some());
    }

    proptest! {
        #[test]
        fn text_never_panics(text in "(read_bytes:|cancelled_|write_bytes:|[ -~\n]){0,30}") {
            let _ = parse_io(&text, MeasuredProcess::Agent, 1);
        }
    }
}
