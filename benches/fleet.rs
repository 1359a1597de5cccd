//! What a fleet of 16 hosts costs: reaching and equipping them, and coordinating a run on them.
//!
//! `cargo bench --bench fleet` as root: the hosts are namespaces of this machine, reached through real ssh.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    dead_code,
    unused_imports,
    reason = "a bench prints its figures, and uses a part of the tests' lab"
)]

#[path = "../tests/e2e"]
mod e2e {
    pub mod binary;
    pub mod hosts;
    pub mod lab;
    pub mod mount;
    pub mod processes;
    pub mod require;
    pub mod running;
    pub mod template;
}

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use e2e::binary::DRIVESTONE;
use e2e::hosts::Hosts;
use e2e::lab::{Lab, PATIENCE};
use nix::unistd::{SysconfVar, sysconf};
use serde_json::Value;

const HOSTS: u8 = 16;
const PAIRS: usize = 7;
/// Small enough for 16 servers beside each other.
const PROFILE: &str = "\
name: fleet
description: One small table an instance
workload:
  kind: oltp_read_write
  keys: uniform
dataset:
  tables: 1
  rows: 30000
  load_threads: 1
load:
  threads: 1
  warmup: 5s
  duration: 60s
server:
  log_file_size: 16MiB
allow_cached: true
";

fn main() {
    let Some(hosts) = Hosts::new(HOSTS) else { return };
    let lab = Lab::without_server();
    lab.write("hardware.yaml", &hosts.profile());
    lab.write("profile.yaml", PROFILE);
    connecting(&hosts, &lab);
    coordinating(&hosts, &lab);
}

/// `drivestone check` against `ssh HOST true` and a plain copy of the program, all hosts at once, in pairs.
fn connecting(hosts: &Hosts, lab: &Lab) {
    let program = fs::metadata(DRIVESTONE).unwrap().len();
    let mut ratios = Vec::new();
    for pair in 1..=PAIRS {
        let began = Instant::now();
        on_all(hosts, lab, |_| (vec!["true"], None));
        on_all(hosts, lab, |_| (vec!["cat >/tmp/copy; rm /tmp/copy"], Some(File::open(DRIVESTONE).unwrap())));
        let plain = began.elapsed();
        let began = Instant::now();
        let checked = hosts.command(lab, &["check", "hardware.yaml", "profile.yaml"]).output().unwrap();
        let ours = began.elapsed();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        ratios.push(ours.as_secs_f64() / plain.as_secs_f64());
        println!("pair {pair}: ssh and copy {plain:.2?}, drivestone check {ours:.2?}");
    }
    ratios.sort_by(f64::total_cmp);
    let (least, median, most) = (ratios[0], ratios[PAIRS / 2], ratios[PAIRS - 1]);
    println!(
        "{HOSTS} hosts connected, checked and equipped ({program} bytes each): median ratio {median:.2} \
         ({least:.2} to {most:.2})\n"
    );
}

/// Runs one ssh on every host at once.
fn on_all(hosts: &Hosts, lab: &Lab, what: impl Fn(&str) -> (Vec<&'static str>, Option<File>)) {
    let start = |host: &str| -> Child {
        let (command, input) = what(host);
        let mut client = hosts.program("ssh", &lab.path(""));
        client.arg(host).args(command).stdin(input.map_or_else(Stdio::null, Stdio::from));
        client.spawn().unwrap()
    };
    let clients: Vec<Child> = hosts.names().into_iter().map(start).collect();
    for mut client in clients {
        assert!(client.wait().unwrap().success());
    }
}

/// A run of 60 s: processor time and memory of the coordinator, and how far apart the hosts started.
fn coordinating(hosts: &Hosts, lab: &Lab) {
    let arguments = ["run", "hardware.yaml", "profile.yaml", "--out", "out"];
    let mut running = hosts.start(lab, "out", &arguments);
    running.await_told("[ 1s ]");
    let (began, before) = (Instant::now(), processor_s(running.pid()));
    running.await_told("[ 55s ]");
    let share = (processor_s(running.pid()) - before) / began.elapsed().as_secs_f64();
    let peak = peak_mib(running.pid());
    println!("coordinator while {HOSTS} agents report: {:.2} % of one core, peak {peak} MiB", share * 100.0);
    assert!(running.wait(PATIENCE + Duration::from_secs(60)).success(), "{}", running.told());
    let (skew_ms, bound_ms) = start_skew(&lab.path("out/journal.jsonl"));
    println!(
        "load threads of {HOSTS} hosts began within {skew_ms:.2} ms, clocks known within {bound_ms:.2} ms"
    );
}

/// User and system time of a process, seconds.
fn processor_s(pid: i32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / sysconf(SysconfVar::CLK_TCK).unwrap().unwrap() as f64
}

fn peak_mib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// Between the first and the last host whose load began, on the coordinator's clock, and the worst bound, ms.
fn start_skew(journal: &Path) -> (f64, f64) {
    let mut clocks: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut began = Vec::new();
    for line in fs::read_to_string(journal).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let host = entry["from"].as_str().unwrap().to_owned();
        if let Some(clock) = entry["record"].get("clock") {
            clocks.insert(host, (clock["offset_ns"].as_i64().unwrap(), clock["bound_ns"].as_i64().unwrap()));
        } else if let Some(start) = entry["record"]["event"].get("load_started") {
            let (offset_ns, bound_ns) = clocks[&host];
            began.push((start["began_ns"].as_i64().unwrap() - offset_ns, bound_ns));
        }
    }
    assert_eq!(began.len(), usize::from(HOSTS));
    let (first, last) = (began.iter().map(|b| b.0).min().unwrap(), began.iter().map(|b| b.0).max().unwrap());
    let bound = began.iter().map(|b| b.1).max().unwrap();
    ((last - first) as f64 / 1e6, bound as f64 / 1e6)
}
