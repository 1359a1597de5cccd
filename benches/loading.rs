//! Loading a dataset against `sysbench prepare`: rows a second, processor time, and the trees that are left.
//!
//! `cargo bench --bench loading [-- PAIRS [ROWS]]` needs MariaDB and sysbench. Both load the same tables into a private
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
use drivestone::plan::load_options::load_options;
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

const PAIRS: u64 = 15;
const THREADS: u32 = 2;
const TABLES: u32 = 8;
const ROWS: u64 = 250_000;
/// Some 15 % of the dataset.
const POOL_BYTES_PER_ROW: u64 = 42;

/// Who loads.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loader {
    Sysbench,
    /// drivestone, with the settings of the measurement.
    Measured,
    /// drivestone, with the settings that it makes for loading.
    Fast,
}

/// What one load took and left.
struct Loaded {
    /// Until rows and indexes were there, seconds.
    built_s: f64,
    /// Until, besides, every page was in its place and the measuring server answered, seconds.
    ready_s: f64,
    /// Processor time of the server until rows and indexes were there, seconds.
    server_s: f64,
    /// Processor time of the loading program, likewise.
    client_s: f64,
    tree: Option<Tree>,
}

/// Settings of the servers.
struct Settings {
    measuring: BTreeMap<String, String>,
    fast: BTreeMap<String, String>,
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
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<u64>().ok());
    let pairs = numbers.next().unwrap_or(PAIRS);
    compare(pairs, numbers.next().unwrap_or(ROWS));
}

fn compare(pairs: u64, rows: u64) {
    let dataset = Dataset {
        tables: TABLES,
        rows,
        keys: KeyDistribution::Uniform,
        schema: TableSchema::DEFAULT,
        seed: 1,
        page_bytes: 16384,
        character_set: "latin1".into(),
    };
    let pool_bytes = u64::from(TABLES) * rows * POOL_BYTES_PER_ROW;
    let measuring = measuring_options(&dataset, pool_bytes, THREADS);
    let settings = Settings { fast: load_options(&measuring), measuring };
    println!("{TABLES} tables × {rows} rows, {THREADS} threads, pool of {} MiB", pool_bytes >> 20);
    let mut measured = Vec::new();
    for pair in 1..=pairs {
        let mut order = [Loader::Sysbench, Loader::Measured, Loader::Fast];
        order.rotate_left(pair as usize % 3);
        let mut loads = order.map(|loader| (loader, load(loader, &dataset, &settings, pair == 1)));
        loads.sort_by_key(|(loader, _)| *loader as u8);
        let loads = loads.map(|(_, loaded)| loaded);
        tell(pair, &dataset, &loads);
        measured.push(loads);
    }
    println!("\nsysbench prepare over drivestone:");
    for (what, of) in RATIOS {
        println!("{what}: {}", Ratio::of(&measured.iter().map(of).collect::<Vec<_>>()));
    }
}

/// What is compared, in the order of `Loader`.
type Figures = fn(&[Loaded; 3]) -> (f64, f64);
const RATIOS: [(&str, Figures); 6] = [
    ("same settings, rows and indexes there (rows/s)", |[s, m, _]| (s.built_s, m.built_s)),
    ("same settings, processor time of the server", |[s, m, _]| (s.server_s, m.server_s)),
    ("same settings, processor time of server and loader", |[s, m, _]| {
        (s.server_s + s.client_s, m.server_s + m.client_s)
    }),
    ("settings made for loading, rows and indexes there", |[s, _, f]| (s.built_s, f.built_s)),
    ("settings made for loading until the measuring server answers, over bare sysbench", |[s, _, f]| {
        (s.built_s, f.ready_s)
    }),
    ("until the measuring server answers, both", |[s, _, f]| (s.ready_s, f.ready_s)),
];

fn tell(pair: u64, dataset: &Dataset, loads: &[Loaded; 3]) {
    let rows = (u64::from(dataset.tables) * dataset.rows) as f64;
    let load_average = fs::read_to_string("/proc/loadavg").unwrap();
    println!("pair {pair}, load average {}", load_average.split(' ').next().unwrap());
    for (name, loaded) in ["sysbench", "same settings", "fast settings"].iter().zip(loads) {
        let Loaded { built_s, ready_s, server_s, client_s, .. } = loaded;
        println!(
            "  {name:<14} {:>7.0} rows/s, ready after {ready_s:.1} s, server {server_s:.1} s and loader {client_s:.1} s \
             of processor time",
            rows / built_s
        );
    }
    if let [Some(theirs), Some(same), Some(fast)] = [0, 1, 2].map(|n| loads[n].tree) {
        println!("  sysbench left {theirs:?}\n  same settings {same:?}\n  fast settings {fast:?}");
        let [same, fast] = [same, fast].map(|tree| tree.difference(&theirs) * 100.0);
        println!("  largest differences {same:.2} % and {fast:.2} %");
    }
}

fn load(loader: Loader, dataset: &Dataset, settings: &Settings, look: bool) -> Loaded {
    let lab = Lab::new(dataset);
    let options = if loader == Loader::Fast { &settings.fast } else { &settings.measuring };
    let running = lab.start(options);
    let mut loaded = match loader {
        Loader::Sysbench => sysbench(&lab, dataset, &running),
        _ => drivestone(&lab, dataset, &running),
    };
    let began = Instant::now();
    running.stop();
    lab.finish(dataset);
    let running = lab.start(&settings.measuring);
    loaded.ready_s += began.elapsed().as_secs_f64();
    loaded.tree = look.then(|| Tree::look(&mut running.connect(), dataset, &lab.folder().data()));
    running.stop();
    loaded
}

fn sysbench(lab: &Lab, dataset: &Dataset, running: &Running) -> Loaded {
    let mut command = running.sysbench_prepare(lab, dataset, THREADS);
    let (server_before, client_before) = (processor_s(running.pid), usage_s(UsageWho::RUSAGE_CHILDREN));
    let began = Instant::now();
    assert!(command.status().unwrap().success());
    let built_s = began.elapsed().as_secs_f64();
    let server_s = processor_s(running.pid) - server_before;
    let client_s = usage_s(UsageWho::RUSAGE_CHILDREN) - client_before;
    Loaded { built_s, ready_s: built_s, server_s, client_s, tree: None }
}

fn drivestone(lab: &Lab, dataset: &Dataset, running: &Running) -> Loaded {
    let (server_before, client_before) = (processor_s(running.pid), usage_s(UsageWho::RUSAGE_SELF));
    let began = Instant::now();
    // sysbench leaves dirty pages to whoever comes next; drivestone writes them, which is told apart.
    let built = Mutex::new(None);
    let preparation = Prepare {
        dataset,
        threads: THREADS,
        access: running.server.access(),
        folder: &lab.folder(),
        server_series: &running.series,
        apart: true,
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
    let (built_s, server_s, client_s) = built.into_inner().unwrap().unwrap();
    Loaded { built_s, ready_s: began.elapsed().as_secs_f64(), server_s, client_s, tree: None }
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
