//! Loading a dataset against `sysbench prepare`: rows a second, processor time, and the trees that are left.
//!
//! `cargo bench --bench loading [-- PAIRS]` needs MariaDB and sysbench. Both load the same tables into a private
//! server of the same settings, each time a new one, in turns.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

#[path = "loading/lab.rs"]
mod lab;
#[path = "shared/pairs.rs"]
mod pairs;
#[path = "loading/tree.rs"]
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use drivestone::load::prepare::Prepare;
use drivestone::protocol::event::PrepareStep;
use drivestone::protocol::job::Dataset;
use drivestone::server::shim;
use drivestone::workload::KeyDistribution;
use drivestone::workload::schema::TableSchema;
use lab::{Lab, Running, measuring_options};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::{SysconfVar, sysconf};
use pairs::Ratio;
use tree::Tree;

const PAIRS: usize = 15;
const THREADS: u32 = 2;
const TABLES: u32 = 8;
const ROWS: u64 = 250_000;
/// Some 15 % of the dataset.
const POOL_BYTES: u64 = 80 << 20;

/// What one load took and left.
struct Loaded {
    /// Until rows and indexes were there, seconds.
    seconds: f64,
    /// Processor time of the server, seconds.
    server_s: f64,
    /// Processor time of the loading program, seconds.
    client_s: f64,
    tree: Option<Tree>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == shim::COMMAND) {
        let error = shim::become_server(std::env::args_os().skip(2));
        panic!("{error}");
    }
    if Command::new("sysbench").arg("--version").output().is_err() {
        return println!("SKIPPED: sysbench is missing");
    }
    let pairs = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(PAIRS);
    compare(pairs);
}

fn compare(pairs: usize) {
    let dataset = Dataset {
        tables: TABLES,
        rows: ROWS,
        keys: KeyDistribution::Uniform,
        schema: TableSchema::DEFAULT,
        seed: 1,
        page_bytes: 16384,
        character_set: "latin1".into(),
    };
    let options = measuring_options(&dataset, POOL_BYTES, THREADS);
    let rows = f64::from(TABLES) * ROWS as f64;
    println!("{TABLES} tables × {ROWS} rows, {THREADS} threads, pool of {} MiB", POOL_BYTES >> 20);
    let (mut wall, mut server, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 1..=pairs {
        let look = pair == 1;
        let (theirs, ours) = if pair % 2 == 1 {
            let theirs = sysbench(&dataset, &options, look);
            (theirs, drivestone(&dataset, &options, look))
        } else {
            let ours = drivestone(&dataset, &options, look);
            (sysbench(&dataset, &options, look), ours)
        };
        println!(
            "pair {pair}: sysbench {:.0} rows/s, drivestone {:.0} rows/s; server {:.1} and {:.1} s of processor \
             time, loader {:.1} and {:.1} s; load average {}",
            rows / theirs.seconds,
            rows / ours.seconds,
            theirs.server_s,
            ours.server_s,
            theirs.client_s,
            ours.client_s,
            fs::read_to_string("/proc/loadavg").unwrap().split(' ').next().unwrap()
        );
        if let (Some(theirs), Some(ours)) = (theirs.tree, ours.tree) {
            println!("sysbench left {theirs:?}\ndrivestone left {ours:?}");
            println!("largest difference {:.2} %", ours.difference(&theirs) * 100.0);
        }
        wall.push((theirs.seconds, ours.seconds));
        server.push((theirs.server_s, ours.server_s));
        all.push((theirs.server_s + theirs.client_s, ours.server_s + ours.client_s));
    }
    println!("\nsysbench prepare over drivestone, medians:");
    println!("time, which is rows/s of drivestone over rows/s of sysbench: {}", Ratio::of(&wall));
    println!("processor time of the server: {}", Ratio::of(&server));
    println!("processor time of server and loader: {}", Ratio::of(&all));
}

fn sysbench(dataset: &Dataset, options: &BTreeMap<String, String>, look: bool) -> Loaded {
    let lab = Lab::new(dataset);
    let running = lab.start(options);
    let mut command = running.sysbench_prepare(&lab, dataset, THREADS);
    let (server_before, client_before) = (processor_s(running.pid), usage_s(UsageWho::RUSAGE_CHILDREN));
    let began = Instant::now();
    assert!(command.status().unwrap().success());
    let seconds = began.elapsed().as_secs_f64();
    let server_s = processor_s(running.pid) - server_before;
    let client_s = usage_s(UsageWho::RUSAGE_CHILDREN) - client_before;
    Loaded { seconds, server_s, client_s, tree: finish(&lab, dataset, running, options, look) }
}

fn drivestone(dataset: &Dataset, options: &BTreeMap<String, String>, look: bool) -> Loaded {
    let lab = Lab::new(dataset);
    let running = lab.start(options);
    let server_before = processor_s(running.pid);
    let client_before = usage_s(UsageWho::RUSAGE_SELF);
    let began = Instant::now();
    // sysbench leaves dirty pages to whoever comes next; drivestone's own flush is not part of the comparison.
    let built = Mutex::new(None);
    let preparation = Prepare {
        dataset,
        threads: THREADS,
        access: running.server.access(),
        folder: &lab.folder(),
        server_series: &running.series,
        stop: &AtomicBool::new(false),
        warn: &|text| println!("{text}"),
        progress: &|step, _, _| {
            if step == PrepareStep::Flush {
                built.lock().unwrap().get_or_insert_with(|| {
                    let server_s = processor_s(running.pid) - server_before;
                    let client_s = usage_s(UsageWho::RUSAGE_SELF) - client_before;
                    (began.elapsed().as_secs_f64(), server_s, client_s)
                });
            }
        },
    };
    preparation.run().unwrap();
    let (seconds, server_s, client_s) = built.into_inner().unwrap().unwrap();
    Loaded { seconds, server_s, client_s, tree: finish(&lab, dataset, running, options, look) }
}

/// Stops the server; looks at what is there with a new one if asked to.
fn finish(
    lab: &Lab,
    dataset: &Dataset,
    running: Running,
    options: &BTreeMap<String, String>,
    look: bool,
) -> Option<Tree> {
    running.stop();
    look.then(|| {
        lab.keep(dataset);
        let running = lab.start(options);
        let tree = Tree::look(&mut running.connect(), dataset, &lab.folder().data());
        running.stop();
        tree
    })
}

/// User and system time of a process, seconds.
fn processor_s(pid: i32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / sysconf(SysconfVar::CLK_TCK).unwrap().unwrap() as f64
}

/// The same of this process, or of its children that have ended.
fn usage_s(who: UsageWho) -> f64 {
    let usage = getrusage(who).unwrap();
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
