//! A server that dies and is started again, and one that stands still when the run is to end.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::lab::{Lab, PATIENCE, first_run, number};
use super::processes::{self, until};

/// Longest that a run may take to end once its interval is over: transactions in flight, the server's counter and
/// the last samples are waited for up to 10 s each.
const BOUND: Duration = Duration::from_secs(60);

#[test]
fn a_server_that_died_is_started_again_and_the_load_goes_on() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = lab.start("out", &["warmup=0s", "duration=15s", "reconnect=true"]);
    running.await_told("[ 3s ]");
    let first = running.server().expect("a server");
    processes::signal(first.pid, Signal::SIGKILL);
    let status = running.wait(PATIENCE);
    assert!(status.success(), "{status}\n{}", running.told());
    lab.nothing_left();
    assert!(running.told().contains("is started again"), "{}", running.told());
    let result = lab.result("out");
    let run = first_run(&result);
    assert_eq!((&result["outcome"], &run["outcome"]), (&"complete".into(), &"complete".into()));
    // Each thread met the outage once, perhaps twice when the server was not quite there yet.
    let lost = number(&run["errors_by_code"]["2013"]);
    assert!((8..=24).contains(&lost), "{lost} lost connections");
    assert_eq!(run["seconds"].as_f64().unwrap().round(), 15.0);
    let points = run["series"].as_array().unwrap();
    let of = |point: &Value, key: &str| point[key].as_f64().unwrap();
    let outage = points
        .iter()
        .position(|point| of(point, "errors_per_s") > 0.0)
        .expect("the outage shows in no second");
    assert!(outage >= 2, "lost before the server died: {points:?}");
    assert!(points[outage + 1..].iter().any(|point| of(point, "tps") > 0.0), "nothing after it: {points:?}");
    // Until a server of this size answers again. It is part of the latency of the transactions that it met.
    let peak = run["peak_ms"].as_f64().unwrap();
    assert!(peak > 300.0, "the outage is in no latency: {peak} ms");
}

/// What the journal says of the end of the run, once it is there.
fn run_ended(lab: &Lab) -> Option<Value> {
    let journal = fs::read_to_string(lab.path("out/journal.jsonl")).unwrap_or_default();
    let line = journal.lines().find(|line| line.contains("\"run_ended\""))?;
    serde_json::from_str(line).ok()
}

#[test]
fn a_server_that_stands_still_does_not_hold_the_end_of_a_run() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = lab.start("out", &["warmup=0s", "duration=5s"]);
    running.await_told("[ 3s ]");
    let server = running.server().expect("a server");
    processes::signal(server.pid, Signal::SIGSTOP);
    let begun = Instant::now();
    let ended = until(PATIENCE, || run_ended(&lab).is_some());
    let waited = begun.elapsed();
    // Its clean stop is given longer: it may have a large pool to write.
    processes::signal(server.pid, Signal::SIGCONT);
    running.wait(PATIENCE);
    lab.nothing_left();
    assert!(ended && waited < BOUND, "run_ended after {waited:?}:\n{}", running.told());
    let result = lab.result("out");
    let run = first_run(&result);
    assert!(number(&run["transactions"]) > 0, "what was measured is lost: {run}");
    assert!(
        run["oldest_in_flight_ms"].as_f64().is_some_and(|age| age > 1_000.0),
        "{}",
        run["oldest_in_flight_ms"]
    );
}
