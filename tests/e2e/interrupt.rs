//! Ctrl-C: once ends a run in good order, twice at once.

use nix::sys::signal::Signal;

use super::lab::{Lab, PATIENCE, code, first_run, number};
use super::processes;

#[test]
fn during_the_load_of_the_dataset() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start("out", &["rows=200000", "load_threads=1"]);
    running.await_told("serves a new data directory");
    running.signal(Signal::SIGINT);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    lab.nothing_left();
    let result = lab.result("out");
    assert_eq!(result["outcome"], "interrupted");
    assert_eq!(result["runs"].as_array().unwrap().len(), 0);
    assert!(!lab.dataset().join("manifest.json").exists(), "a half-loaded dataset counts as finished");
}

#[test]
fn in_the_warm_up() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = lab.start("out", &["warmup=10min"]);
    running.await_told("[ warm-up");
    running.signal(Signal::SIGINT);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    lab.nothing_left();
    let result = lab.result("out");
    assert_eq!(result["outcome"], "interrupted");
    let run = first_run(&result);
    assert_eq!((&run["outcome"], number(&run["transactions"])), (&"interrupted".into(), 0));
    assert!(!run["series"].as_array().unwrap().is_empty());
}

#[test]
fn in_the_measured_interval_what_was_measured_is_kept() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = lab.start("out", &["warmup=0s", "duration=10min"]);
    running.await_told("[ 2s ]");
    running.signal(Signal::SIGINT);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    lab.nothing_left();
    assert!(running.told().contains("Stopping the server"), "{}", running.told());
    assert!(running.printed().contains("Report: out/report.html"), "{}", running.printed());
    let result = lab.result("out");
    assert_eq!(result["outcome"], "interrupted");
    let run = first_run(&result);
    assert_eq!(run["outcome"], "interrupted");
    assert!((2.0..600.0).contains(&run["seconds"].as_f64().unwrap()), "{}", run["seconds"]);
    assert!(number(&run["transactions"]) > 0);
    // The dataset was closed in good order and serves the next run.
    let next = lab.run("next", &["warmup=0s", "duration=1s"]);
    assert_eq!(next["dataset"]["reused"], true);
}

#[test]
fn twice_ends_at_once() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = lab.start("out", &["warmup=0s", "duration=10min"]);
    running.await_told("[ 1s ]");
    // A server that hangs: stopping it in good order would take a quarter of an hour.
    processes::signal(running.server().expect("a server").pid, Signal::SIGSTOP);
    running.signal(Signal::SIGINT);
    running.await_told("Interrupted");
    running.signal(Signal::SIGINT);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    lab.nothing_left();
    let result = lab.result("out");
    assert_eq!(result["outcome"], "interrupted");
    assert!(number(&first_run(&result)["transactions"]) > 0);
}

#[test]
fn while_the_server_is_started() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start("out", &[]);
    running.await_told("Starting the server");
    running.signal(Signal::SIGTERM);
    assert_eq!(code(running.wait(PATIENCE)), 130, "{}", running.told());
    lab.nothing_left();
    assert_eq!(lab.result("out")["outcome"], "interrupted");
    assert_eq!(lab.run("next", &["warmup=0s", "duration=1s"])["dataset"]["reused"], false);
}
