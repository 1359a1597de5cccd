//! What the load of a long run with many threads and tables keeps in memory.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use drivestone::workload::Workload;

use super::clients::{started, this_as};
use super::server::Server;
use super::{MANY_TABLES, MANY_THREADS, ours};

/// Runs the load in a process of its own; prints its peak, and what its last part added.
pub fn measure(workload: &str, server: &Server, seconds: u64) {
    let mut child =
        this_as("memory", workload, &server.socket(), seconds).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let resident = || kib(child.id(), "VmRSS:");
    let lines = started(&mut output);
    let connected = resident();
    // One line each second: the last one that was seen while it ran counts.
    let mut seen = Vec::new();
    let mut peak = 0;
    for line in lines {
        if line.contains("load_second") {
            seen.push(resident());
            peak = kib(child.id(), "VmHWM:");
        }
    }
    assert!(child.wait().unwrap().success());
    let mib = |kib: u64| kib as f64 / 1024.0;
    let (middle, last) = (seen[seen.len() / 2], seen[seen.len() - 2]);
    println!(
        "memory of {MANY_THREADS} threads × {MANY_TABLES} tables: {:.1} MiB once connected, {:.1} MiB after \
         {} s, {:.1} MiB after {} s; peak {:.1} MiB",
        mib(connected),
        mib(middle),
        seen.len() / 2 + 1,
        mib(last),
        seen.len() - 1,
        mib(peak)
    );
}

/// The load itself, in this process.
pub fn run_here(workload: Workload, socket: &Path, seconds: u64) {
    ours::run(Workload { tables: MANY_TABLES, ..workload }, MANY_THREADS, socket, seconds);
}

/// A figure of a process's status, KiB.
fn kib(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
