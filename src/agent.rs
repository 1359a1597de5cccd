//! drivestone on one host: jobs in on stdin, events out on stdout, activities in between.
//!
//! An agent outlives its coordinator by seconds at most: when its stdin closes, or no ping has come
//! for eight seconds, it stops its load and its server and leaves.

mod activity;
mod keeper;
mod limits;
mod outbox;
mod probe;
mod sampling;

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use activity::Activities;
use keeper::Keeper;
use outbox::Outbox;

use crate::protocol::clock::monotonic_ns;
use crate::protocol::{Event, Job, PROTOCOL_VERSION};

/// A coordinator that has not pinged for so long is gone.
const SILENCE_NS: i64 = 8_000_000_000;
/// Longest wait for activities to end when the agent leaves.
const FAREWELL: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(250);

/// Serves one coordinator until it says `quit` or is gone.
pub fn serve(input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) {
    limits::raise();
    let outbox = Outbox::start(output);
    outbox.send(Event::Hello { protocol: PROTOCOL_VERSION, version: env!("CARGO_PKG_VERSION").to_owned() });
    let last_heard_ns = Arc::new(AtomicI64::new(monotonic_ns()));
    let (sender, jobs) = channel();
    {
        let (outbox, last_heard_ns) = (outbox.clone(), Arc::clone(&last_heard_ns));
        // Detached: it ends with the input, or with the process.
        thread::spawn(move || read_jobs(input, &outbox, &last_heard_ns, &sender));
    }
    let keeper = Keeper::start(outbox.clone());
    let mut activities = Activities::new(outbox.clone(), keeper.served());
    obey(&jobs, &last_heard_ns, &outbox, &keeper, &mut activities);
    // The load ends before its server, so that its last events name the right cause.
    activities.stop_and_wait(FAREWELL);
    keeper.leave();
    outbox.finish();
}

/// Removes the file that this program was started from, which the kernel keeps until it ends, and the
/// folder it was in if nothing else is left there. Nothing stays behind then, however the agent ends.
pub fn remove_program() {
    if let Ok(program) = std::env::current_exe() {
        let _ = std::fs::remove_file(&program);
        let _ = program.parent().map(std::fs::remove_dir);
    }
}

/// Carries out jobs until there will be no more.
fn obey(
    jobs: &Receiver<Job>,
    last_heard_ns: &AtomicI64,
    outbox: &Outbox,
    keeper: &Keeper,
    activities: &mut Activities,
) {
    loop {
        match jobs.recv_timeout(LOOK) {
            Ok(Job::Quit) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Job::Probe(job)) => outbox.send(probe::probe(&job)),
            Ok(Job::Observe(job)) => activities.observe(&job),
            Ok(Job::Serve(job)) => keeper.serve(job),
            Ok(Job::StopServer { patience_s }) => keeper.stop(Duration::from_secs(patience_s)),
            Ok(Job::Prepare(job)) => activities.prepare(job),
            Ok(Job::Settle(job)) => activities.settle(job),
            Ok(Job::Load(job)) => activities.load(job),
            Ok(Job::Start(job)) => activities.start(job),
            Ok(Job::StopLoad) => activities.stop(),
            Ok(Job::Ping { .. }) => {} // Answered where it is read.
            Err(RecvTimeoutError::Timeout) => {
                if monotonic_ns() - last_heard_ns.load(Ordering::Acquire) > SILENCE_NS {
                    // Heard if the coordinator only hung.
                    let seconds = SILENCE_NS / 1_000_000_000;
                    let reason = format!("the agent had heard nothing from the coordinator for {seconds} s");
                    outbox.send(Event::ActivityFailed { reason });
                    return;
                }
            }
        }
    }
}

/// Reads jobs until the input ends. Pings are answered at once: their round trip measures the clocks.
fn read_jobs(input: impl BufRead, outbox: &Outbox, last_heard_ns: &AtomicI64, jobs: &Sender<Job>) {
    for line in input.lines() {
        let Ok(line) = line else { return };
        last_heard_ns.store(monotonic_ns(), Ordering::Release);
        match serde_json::from_str(&line) {
            Ok(Job::Ping { sent_ns }) => {
                outbox.send(Event::Pong { sent_ns, agent_ns: monotonic_ns() });
            }
            Ok(job) => {
                if jobs.send(job).is_err() {
                    return;
                }
            }
            Err(error) => {
                outbox.send(Event::ActivityFailed { reason: format!("unreadable job: {error}") });
            }
        }
    }
}
