//! Runs on several hosts: real ssh, a real server on each.

mod clocks;
mod faults;
mod refused;
mod sixteen;
mod ssh;
mod stopped;
mod sweep;
mod whole;

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::hosts::Hosts;
use super::journal::Journal;
use super::lab::Lab;
use super::processes::{self, Process, until};
use super::require::require;
use super::running::Running;

/// Longest wait for a run. A limit for a machine that hangs, not a measure of speed.
const PATIENCE: Duration = Duration::from_secs(240);
/// Longest wait for an agent that was left alone: eight seconds of silence, ten for its server, and a margin
/// for a slow machine.
const LEFT_ALONE: Duration = Duration::from_secs(40);

const PROFILE: &str = "\
name: tiny
description: One small table
workload:
  kind: oltp_read_write
  keys: uniform
dataset:
  tables: 1
  rows: 5000
load:
  threads: 1
  warmup: 1s
  duration: 3s
server:
  log_file_size: 8MiB
allow_cached: true
";

/// Fleets take turns: what they measure is each other's noise, and some of it must come in time.
static TURN: Mutex<()> = Mutex::new(());

/// Light hosts and a lab with profiles for them.
struct Fleet {
    hosts: Hosts,
    lab: Lab,
    _turn: MutexGuard<'static, ()>,
}

impl Fleet {
    /// None after saying that the test is skipped.
    fn new(count: u8) -> Option<Self> {
        Self::with_clocks(count, |_| 0)
    }

    /// The same; a host's monotonic clock is so many seconds ahead of this machine's.
    fn with_clocks(count: u8, ahead_s: impl Fn(u8) -> u32) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        require("mariadbd")?;
        let hosts = Hosts::with_clocks(count, ahead_s)?;
        let lab = Lab::without_server();
        lab.write("hardware.yaml", &hosts.profile());
        lab.write("profile.yaml", PROFILE);
        Some(Self { hosts, lab, _turn: turn })
    }

    /// Starts `drivestone run`.
    fn start(&self, out: &str, overrides: &[&str]) -> Running {
        let mut arguments = vec!["run", "hardware.yaml", "profile.yaml", "--out", out];
        arguments.extend(overrides.iter().flat_map(|change| ["--set", change]));
        self.hosts.start(&self.lab, out, &arguments)
    }

    /// Runs to the end that is expected, and sees that nothing is left.
    fn run(&self, out: &str, overrides: &[&str]) -> Journal {
        self.end(out, self.start(out, overrides))
    }

    /// Waits for the end of a run, which is to be the expected one.
    fn end(&self, out: &str, mut running: Running) -> Journal {
        let status = running.wait(PATIENCE);
        assert!(status.success(), "{status}\n{}", running.told());
        self.nothing_left(&self.hosts.names());
        Journal::read(&self.lab.path(out))
    }

    /// Processes at the desk and on these hosts.
    fn processes(&self, hosts: &[&str]) -> Vec<Process> {
        let there = hosts.iter().flat_map(|host| self.hosts.processes(host));
        self.hosts.clients().into_iter().chain(there).collect()
    }

    /// Waits until nothing runs at the desk or on these hosts, whose files are then those that they came with,
    /// the datasets aside.
    fn nothing_left(&self, hosts: &[&str]) {
        let left = || self.processes(hosts);
        assert!(until(LEFT_ALONE, || left().is_empty()), "still running: {:#?}", left());
        for host in hosts {
            assert_eq!(self.files_left(host), <[PathBuf; 0]>::default(), "{host}");
        }
    }

    /// Sends a signal to one process of a host.
    fn signal(&self, host: &str, is_it: impl Fn(&Process) -> bool, signal: Signal) {
        let all = self.hosts.processes(host);
        let found = all.iter().find(|process| is_it(process));
        processes::signal(found.unwrap_or_else(|| panic!("{host}: {all:#?}")).pid, signal);
    }

    /// The folder of caches is the user's, whoever makes it first.
    fn files_left(&self, host: &str) -> Vec<PathBuf> {
        let mut left = self.hosts.files_left(host);
        left.retain(|path| path != "/root/.cache");
        left
    }

    /// Names of what lies on a host's disk, beside the folder of every new filesystem.
    fn on_disk(&self, host: &str) -> Vec<String> {
        let entries = fs::read_dir(self.hosts.disk(host)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "lost+found").collect()
    }
}

/// Whether it is an agent, and neither the shell that became it nor sshd.
fn is_agent(process: &Process) -> bool {
    process.command.contains(" agent --remove-program") && !process.command.contains("sh -c")
}
