//! The same plan carried out by sysbench and by drivestone's load.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use drivestone::load::LoadError;
use drivestone::load::drive::Drive;
use drivestone::load::prepare::Prepare;
use drivestone::plan::Plan;
use drivestone::plan::resolve::resolve;
use drivestone::protocol::clock::{SECOND_NS, monotonic_ns};
use drivestone::protocol::event::{Event, LoadEnded, LoadSecond};
use drivestone::protocol::job::{LoadJob, StartJob};
use drivestone::server::access::Access;
use drivestone::server::folder::DatasetFolder;
use drivestone::spec::{parse_hardware, parse_profile};

use super::server::Server;

const HARDWARE: &str = "\
name: lab
description: A server of the test's own
device: { path: ./d }
memory: { buffer_pool: 64MiB }
";
const PROFILE: &str = "\
name: faithful
description: A few transactions
workload: { kind: oltp_read_write, keys: uniform }
dataset: { tables: 3, rows: 500, load_threads: 1 }
load: { threads: 1, warmup: 0s, duration: 60s, events: 20, seed: 7 }
allow_cached: true
";

/// Runs of drivestone's load so far.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// Statements by class, as sysbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
}

impl Counts {
    pub fn total(self) -> u64 {
        self.reads + self.writes + self.other
    }
}

/// The plan of the profile with some `key=value` settings, separated by spaces.
pub fn plan(settings: &str) -> Plan {
    let overrides: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
    let hardware = parse_hardware("hardware.yaml", HARDWARE).unwrap();
    let profile = parse_profile("profile.yaml", PROFILE, &overrides)
        .unwrap_or_else(|error| panic!("{settings}: {error}"));
    resolve(&hardware, &profile, Path::new("/lab"), 1).unwrap()
}

/// Removes every table, and has sysbench make them.
pub fn prepare_by_sysbench(server: &mut Server, plan: &Plan) {
    server.execute("DROP DATABASE IF EXISTS sbtest");
    server.execute("CREATE DATABASE sbtest");
    sysbench(server, &plan.load.sysbench_prepare);
}

/// Runs sysbench; returns what it counted.
pub fn run_by_sysbench(server: &Server, plan: &Plan) -> Counts {
    let printed = sysbench(server, &plan.runs[0].sysbench_run);
    let count = |name: &str| {
        let line = printed.lines().find_map(|line| line.trim().strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name:?} in:\n{printed}")).trim().parse().unwrap()
    };
    Counts { reads: count("read:"), writes: count("write:"), other: count("other:") }
}

/// The printed command, with how to reach the server and a seed, so that a test repeats.
fn sysbench(server: &Server, command: &str) -> String {
    let mut words = command.split_whitespace();
    let program = crate::e2e::require::require(words.next().unwrap()).unwrap();
    let output = Command::new(program)
        .args(words)
        .arg(format!("--mysql-socket={}", server.socket().display()))
        .args(["--mysql-user=test", "--rand-seed=7"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command}\n{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Removes every table, and has drivestone make them.
pub fn prepare_by_drivestone(server: &mut Server, plan: &Plan) {
    server.execute("DROP DATABASE IF EXISTS sbtest");
    let scratch = server.scratch();
    let dataset = &plan.dataset.contents;
    let folder = DatasetFolder::new(scratch.path(), dataset);
    std::fs::create_dir_all(folder.data()).unwrap();
    let prepare = Prepare {
        dataset,
        threads: plan.dataset.load_threads,
        apart: false,
        access: &server.access(),
        folder: &folder,
        server_series: "test",
        stop: &AtomicBool::new(false),
        warn: &|text| panic!("{text}"),
        progress: &|_, _, _| {},
    };
    prepare.run().unwrap();
}

/// Runs drivestone's load, which must meet no error; returns what it counted, and how it ended.
pub fn run_by_drivestone(server: &Server, plan: &Plan) -> (Counts, LoadEnded) {
    let Driven { seconds, ended, outcome } = drive(&server.access(), plan);
    outcome.unwrap();
    let mut counts = Counts::default();
    for second in seconds {
        assert!(second.errors.is_empty(), "{:?}", second.errors);
        counts.reads += second.reads;
        counts.writes += second.writes;
        counts.other += second.other;
    }
    (counts, ended.unwrap())
}

/// What drivestone's load told.
pub struct Driven {
    pub seconds: Vec<LoadSecond>,
    pub ended: Option<LoadEnded>,
    pub outcome: Result<(), LoadError>,
}

/// Runs drivestone's load as an agent does.
pub fn drive(access: &Access, plan: &Plan) -> Driven {
    let run = &plan.runs[0];
    let job = LoadJob {
        workload: plan.workload,
        threads: run.threads,
        seed: run.seed,
        // The same choices, other texts: the same text again would change no row.
        generation: RUNS.fetch_add(1, Ordering::Relaxed),
        instance: 0,
        ignored: plan.load.ignored.clone(),
        reconnect: plan.load.reconnect,
        reconnect_every: plan.load.reconnect_every,
        rate_per_s: run.rate_per_s,
        cpus: plan.load.cpus.clone(),
    };
    let (go, start) = channel();
    let events = Mutex::new(Vec::new());
    let drive = Drive {
        job: &job,
        access,
        start: &start,
        stop: &AtomicBool::new(false),
        chosen_ids: &Arc::default(),
        emit: &|event| {
            if matches!(event, Event::LoadReady { .. }) {
                let now_ns = monotonic_ns();
                let end_ns =
                    run.duration_s.map(|seconds| now_ns + i64::try_from(seconds).unwrap() * SECOND_NS);
                go.send(StartJob { begin_ns: now_ns, t0_ns: now_ns, end_ns, events: run.events }).unwrap();
            }
            events.lock().unwrap().push(event);
        },
        interval_over: &|| {},
    };
    let outcome = drive.run();
    let mut driven = Driven { seconds: Vec::new(), ended: None, outcome };
    for event in events.into_inner().unwrap() {
        match event {
            Event::LoadSecond(second) => driven.seconds.push(second),
            Event::LoadEnded(ended) => driven.ended = Some(ended),
            _ => {}
        }
    }
    driven
}
