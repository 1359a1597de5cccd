//! A terminal that stands still, a coordinator that was stopped for a while, a hang-up that is ignored.

use std::io::Read as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::lab::{Lab, PATIENCE, code, first_run, number};
use super::processes::until;

/// Seconds of load in the journal so far.
fn seconds_written(lab: &Lab) -> usize {
    let journal = std::fs::read_to_string(lab.path("out/journal.jsonl")).unwrap_or_default();
    journal.matches("\"load_second\"").count()
}

/// Standard error is a pipe that nobody reads, filled to the brim by warnings at the start.
#[test]
fn a_pipe_that_nobody_reads_stops_nothing() {
    let Some(lab) = Lab::loaded() else { return };
    let arguments = [
        "run",
        "hardware.yaml",
        "profile.yaml",
        "--out",
        "out",
        "--set",
        "warmup=0s",
        "--set",
        "duration=10min",
    ];
    let mut child = lab.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    shrink(&stderr);
    // Some 200 bytes a second: a page of 4 KiB is full after half a minute at the latest.
    assert!(until(PATIENCE, || seconds_written(&lab) > 32), "{} seconds", seconds_written(&lab));
    let pid = i32::try_from(child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    let mut status = None;
    assert!(until(PATIENCE, || {
        status = child.try_wait().unwrap();
        status.is_some()
    }));
    assert_eq!(code(status.unwrap()), 130);
    lab.nothing_left();
    let run = first_run(&lab.result("out")).clone();
    assert!(run["seconds"].as_f64().unwrap() > 32.0, "{}", run["seconds"]);
    let mut told = String::new();
    stderr.read_to_string(&mut told).unwrap();
    assert!(told.contains("[ 1s ]"), "{told}");
}

/// The smallest buffer that a pipe can have.
fn shrink(pipe: &impl std::os::fd::AsFd) {
    nix::fcntl::fcntl(pipe, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
}

/// What the agent measured meanwhile lies in the pipe, and counts.
#[test]
fn a_coordinator_that_was_stopped_reads_what_it_missed() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = lab.start("out", &["warmup=0s", "duration=10min"]);
    running.await_told("[ 2s ]");
    let before = seconds_written(&lab);
    running.signal(Signal::SIGSTOP);
    // Long enough for the agent to leave: it hears nothing for eight seconds.
    thread::sleep(Duration::from_secs(11));
    running.signal(Signal::SIGCONT);
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    lab.nothing_left();
    let after = seconds_written(&lab);
    assert!(after >= before + 6, "{before} seconds before, {after} after");
}

#[test]
fn a_hang_up_that_was_ignored_stays_ignored() {
    let Some(lab) = Lab::loaded() else { return };
    let mut nohup = std::process::Command::new("nohup");
    nohup.arg(super::binary::DRIVESTONE).current_dir(lab.path(""));
    nohup.args(["run", "hardware.yaml", "profile.yaml", "--out", "out", "--set", "warmup=0s"]);
    let mut child = nohup.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(until(PATIENCE, || seconds_written(&lab) > 0));
    let pid = i32::try_from(child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGHUP).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(lab.result("out")["outcome"], "complete");
    assert!(number(&first_run(&lab.result("out"))["transactions"]) > 0);
}
