//! Several numbers of instances, one after the other, when not all goes as planned.

use nix::sys::signal::Signal;

use super::{Fleet, PATIENCE};
use crate::e2e::journal::Journal;
use crate::e2e::lab::code;
use crate::e2e::processes::Process;

#[test]
fn what_befalls_idle_instances_and_the_time_between_runs() {
    let Some(fleet) = Fleet::new(2) else { return };
    an_idle_instance_is_lost(&fleet);
    everybody_is_lost(&fleet);
    interrupted_between_runs(&fleet);
}

/// A run goes on without an instance that is no part of it, whatever `on_loss` says; the next run needs it.
fn an_idle_instance_is_lost(fleet: &Fleet) {
    let mut running = fleet.start("idle", &["counts=1,2", "on_loss=stop", "duration=5s"]);
    running.await_told("[ 1s ]");
    fleet.signal("vm2", Process::is_server, Signal::SIGKILL);
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    fleet.nothing_left(&["vm1", "vm2"]);
    let journal = Journal::read(&fleet.lab.path("idle"));
    assert_eq!(journal.seconds(0, "vm1"), [-1, 0, 1, 2, 3, 4]);
    let (_, host, _) = journal.only("lost");
    assert_eq!(host, "vm2");
    let (ending, reason) = journal.ending();
    assert_eq!(ending, "failed");
    let expected = "run 2 was not started: 1 of its 2 instances are left; vm2: the server ended";
    assert!(reason.starts_with(expected), "{reason}");
    let result = fleet.lab.result("idle");
    assert_eq!(result["runs"][0]["outcome"], "complete", "{}", result["runs"][0]["reason"]);
}

/// Nothing was measured: the reason is what befell the hosts.
fn everybody_is_lost(fleet: &Fleet) {
    let mut running = fleet.start("nobody", &["on_loss=continue", "warmup=10min"]);
    running.await_told("[ warm-up");
    for host in ["vm1", "vm2"] {
        fleet.signal(host, Process::is_server, Signal::SIGKILL);
    }
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    fleet.nothing_left(&["vm1", "vm2"]);
    let journal = Journal::read(&fleet.lab.path("nobody"));
    let (ending, reason) = journal.ending();
    assert_eq!(ending, "failed");
    assert!(reason.contains("vm1: the server ended") && reason.contains("vm2: the server ended"), "{reason}");
}

/// Ctrl-C while a server that the next run does not need is being stopped: no further run begins.
fn interrupted_between_runs(fleet: &Fleet) {
    let profile = fleet.lab.path("hardware.yaml");
    let hosts = std::fs::read_to_string(&profile).unwrap();
    fleet.lab.write("hardware.yaml", &format!("{}  idle: stop\n", hosts.trim_end_matches(' ')));
    let mut running = fleet.start("between", &["counts=2,1", "duration=2s"]);
    running.await_told("Run 1 of 2");
    running.await_told("[ 2s ]");
    // It takes its time to stop, as one with many GiB to flush would.
    fleet.signal("vm2", Process::is_server, Signal::SIGSTOP);
    running.await_told("Stopping 1 server");
    running.signal(Signal::SIGINT);
    running.await_told("Stopping 2 servers");
    fleet.signal("vm2", Process::is_server, Signal::SIGCONT);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    fleet.nothing_left(&["vm1", "vm2"]);
    let journal = Journal::read(&fleet.lab.path("between"));
    assert_eq!((journal.ending().0, journal.records("run_started").count()), ("interrupted", 1));
}
