//! drivestone's own load, recording included, as an agent drives it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::channel;

use drivestone::load::drive::Drive;
use drivestone::protocol::Event;
use drivestone::protocol::clock::{SECOND_NS, monotonic_ns};
use drivestone::protocol::event::LoadEnded;
use drivestone::protocol::job::{IgnoredErrors, LoadJob, StartJob};
use drivestone::workload::Workload;

use super::clients::{STARTED, report};
use super::server::access;

/// From the line that says so to the start of the threads.
const LEAD_NS: i64 = SECOND_NS / 10;

pub fn run(workload: Workload, threads: u32, socket: &Path, seconds: u64) {
    let job = LoadJob {
        workload,
        threads,
        seed: 1,
        generation: 0,
        instance: 0,
        ignored: IgnoredErrors::sysbenchs(),
        reconnect: false,
        reconnect_every: None,
        rate_per_s: None,
        cpus: Vec::new(),
    };
    let (sender, start) = channel();
    let emit = |event: Event| match event {
        Event::LoadReady { .. } => {
            println!("{STARTED}");
            let begin_ns = monotonic_ns() + LEAD_NS;
            let end_ns = Some(begin_ns + i64::try_from(seconds).unwrap() * SECOND_NS);
            sender.send(StartJob { begin_ns, t0_ns: begin_ns, end_ns, events: None }).unwrap();
        }
        Event::LoadEnded(ended) => tell(&ended),
        // As an agent writes it, down the pipe to its coordinator.
        event => println!("{}", serde_json::to_string(&event).unwrap()),
    };
    let drive = Drive {
        job: &job,
        access: &access(socket),
        start: &start,
        stop: &AtomicBool::new(false),
        chosen_ids: &Arc::new(AtomicU64::new(0)),
        emit: &emit,
        interval_over: &|| {},
    };
    drive.run().unwrap();
}

/// All that was done cost something; the rate is that of the interval.
fn tell(ended: &LoadEnded) {
    let events: u64 = ended.threads.iter().map(|thread| thread.events).sum();
    let all = ended.counted.ours;
    report(all, ended.measured_ns as f64 / 1e9 * all as f64 / events as f64);
}
