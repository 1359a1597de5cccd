//! A coordinator that is killed or interrupted: nothing stays anywhere.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{Fleet, PATIENCE};
use crate::e2e::journal::Journal;
use crate::e2e::lab::code;
use crate::e2e::processes::{Process, until};
use crate::e2e::running::Running;

#[test]
fn the_coordinator_of_four_hosts_is_stopped() {
    let Some(fleet) = Fleet::new(4) else { return };
    stopped_while_it_equips_them(&fleet);
    interrupted_during_the_load_of_the_datasets(&fleet);
    killed_in_the_measured_interval(&fleet);
    interrupted_once(&fleet);
    interrupted_twice(&fleet);
}

fn measuring(fleet: &Fleet, out: &str) -> Running {
    let mut running = fleet.start(out, &["warmup=0s", "duration=10min"]);
    running.await_told("[ 2s ]");
    running
}

/// While the program is on its way to the last host.
fn stopped_while_it_equips_them(fleet: &Fleet) {
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let mut running = fleet.start("copying", &[]);
        let copying = || !fleet.files_left("vm4").is_empty();
        assert!(until(PATIENCE, copying), "nothing is copied: {}", running.told());
        running.signal(signal);
        let status = running.wait(PATIENCE);
        if signal == Signal::SIGINT {
            assert_eq!(code(status), 130, "{}", running.told());
            assert!(running.told().contains("before anything was created"), "{}", running.told());
        }
        fleet.nothing_left(&fleet.hosts.names());
        assert!(fleet.hosts.names().iter().all(|host| fleet.on_disk(host).is_empty()));
        assert!(!fleet.lab.path("copying").exists());
    }
}

fn interrupted_during_the_load_of_the_datasets(fleet: &Fleet) {
    let mut running = fleet.start("loading", &["rows=200000", "load_threads=1"]);
    running.await_told("serves a new data directory");
    running.signal(Signal::SIGINT);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    fleet.nothing_left(&fleet.hosts.names());
    let journal = Journal::read(&fleet.lab.path("loading"));
    assert_eq!(journal.ending().0, "interrupted");
    assert_eq!(journal.events("prepared").count(), 0);
}

fn killed_in_the_measured_interval(fleet: &Fleet) {
    let mut running = measuring(fleet, "killed");
    let shown = running.seconds_shown();
    running.signal(Signal::SIGKILL);
    running.wait(PATIENCE);
    let hosts = fleet.hosts.names();
    let empty = until(Duration::from_secs(20), || fleet.processes(&hosts).is_empty());
    assert!(empty, "still running: {:#?}", fleet.processes(&hosts));
    fleet.nothing_left(&hosts);
    let result = fleet.lab.result("killed");
    assert_eq!(result["outcome"], "partial");
    assert!(result["reason"].as_str().unwrap().contains("drivestone was killed"), "{}", result["reason"]);
    let journal = Journal::read(&fleet.lab.path("killed"));
    assert_eq!(journal.records("closed").count(), 0);
    let (.., started) = journal.only("run_started");
    for start in started["instances"].as_array().unwrap() {
        let stored = journal.seconds_within(.., start["host"].as_str().unwrap());
        assert!(stored.len() >= shown.len(), "shown {shown:?}, stored {stored:?}");
    }
}

fn interrupted_once(fleet: &Fleet) {
    let mut running = measuring(fleet, "once");
    running.signal(Signal::SIGINT);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    fleet.nothing_left(&fleet.hosts.names());
    let journal = Journal::read(&fleet.lab.path("once"));
    assert_eq!(journal.ending(), ("interrupted", "stopped by its user"));
    for host in fleet.hosts.names() {
        let causes = journal.events("load_ended").filter(|(_, from, _)| *from == host);
        let causes: Vec<_> = causes.map(|(.., ended)| ended["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["stopped"], "{host}");
        assert_eq!(journal.places(host, "server_stopped").len(), 1, "{host}");
        assert!(journal.seconds(0, host).starts_with(&[0, 1]), "{host}");
    }
    assert_eq!(fleet.lab.result("once")["outcome"], "interrupted");
}

/// A server that hangs, and with it the good order: the second time ends it at once.
fn interrupted_twice(fleet: &Fleet) {
    let mut running = measuring(fleet, "twice");
    fleet.signal("vm2", Process::is_server, Signal::SIGSTOP);
    running.signal(Signal::SIGINT);
    running.await_told("Interrupted");
    running.signal(Signal::SIGINT);
    let begun = Instant::now();
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    // What it still does is to write the report.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    fleet.nothing_left(&fleet.hosts.names());
    let journal = Journal::read(&fleet.lab.path("twice"));
    assert_eq!(journal.ending(), ("interrupted", "stopped at once by its user"));
    assert_eq!(fleet.lab.result("twice")["outcome"], "interrupted");
}
