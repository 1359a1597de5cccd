//! A coordinator or an agent that hangs: the other notices its silence and ends what it is responsible for.

use nix::sys::signal::Signal;

use super::lab::{Lab, PATIENCE, code, first_run, number};
use super::processes::{self, until};
use super::running::Running;

fn measuring(lab: &Lab) -> Running {
    let mut running = lab.start("out", &["warmup=0s", "duration=10min"]);
    running.await_told("[ 2s ]");
    running
}

/// Returns the reason.
fn assert_partial(lab: &Lab) -> String {
    let result = lab.result("out");
    assert_eq!(result["outcome"], "partial");
    assert!(number(&first_run(&result)["transactions"]) > 0);
    result["reason"].as_str().unwrap().to_owned()
}

#[test]
fn of_the_coordinator_ends_agent_and_server() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = measuring(&lab);
    running.signal(Signal::SIGSTOP);
    let left = || processes::of(&lab.path("")).into_iter().filter(|process| process.pid != running.pid());
    assert!(until(PATIENCE, || left().next().is_none()), "still running: {:?}", left().collect::<Vec<_>>());
    running.signal(Signal::SIGCONT);
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    let reason = assert_partial(&lab);
    assert!(reason.contains("had heard nothing from the coordinator"), "{reason}");
}

#[test]
fn of_the_agent_ends_the_run() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = measuring(&lab);
    processes::signal(running.agent().expect("an agent").pid, Signal::SIGSTOP);
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    lab.nothing_left();
    let reason = assert_partial(&lab);
    assert!(reason.contains("the agent on local is gone: nothing heard for"), "{reason}");
}
