//! Processes as /proc shows them. Nothing is ended that a lab did not start.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process and what it was started as.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// Arguments, separated by spaces.
    pub command: String,
}

impl Process {
    pub fn is_server(&self) -> bool {
        self.command.contains("--init-file=")
    }
}

/// Processes that name `folder` on their command line or work in it: the coordinator and its agent by
/// their working directory, servers by their configuration file.
pub fn of(folder: &Path) -> Vec<Process> {
    let name = folder.to_str().unwrap();
    let concerns = |process: &Process| {
        let works_there = fs::read_link(format!("/proc/{}/cwd", process.pid));
        process.command.contains(name) || works_there.is_ok_and(|cwd| cwd.starts_with(folder))
    };
    all().into_iter().filter(concerns).collect()
}

/// Children of a process.
pub fn children(parent: i32) -> Vec<Process> {
    all().into_iter().filter(|process| process.parent == parent).collect()
}

/// Every process of this machine.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| read(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// None for a process that is gone, or dead and not yet waited for.
fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, so fields are counted from its end.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    (!matches!(state, "Z" | "X") && !command.is_empty()).then_some(Process { pid, parent, command })
}

/// Sends a signal; a process that is gone already is no error.
pub fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Ends processes at once.
pub fn end(processes: &[Process]) {
    processes.iter().for_each(|process| signal(process.pid, Signal::SIGKILL));
}

/// Waits until `condition` holds; false when it still does not after `limit`.
pub fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    condition()
}
