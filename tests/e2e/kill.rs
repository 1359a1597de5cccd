//! `kill -9` of coordinator, agent or server.

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::lab::{Lab, PATIENCE, code, first_run, number};
use super::processes;
use super::running::Running;

#[derive(Debug, Clone, Copy)]
enum Victim {
    Coordinator,
    Agent,
    Server,
}

/// Kills one of the three; false when it is not there.
fn strike(running: &Running, victim: Victim) -> bool {
    let pid = match victim {
        Victim::Coordinator => Some(running.pid()),
        Victim::Agent => running.agent().map(|process| process.pid),
        Victim::Server => running.server().map(|process| process.pid),
    };
    pid.is_some_and(|pid| {
        processes::signal(pid, Signal::SIGKILL);
        true
    })
}

/// Kills during measurement. Every second that was shown before must be in the result, and the dataset
/// must serve the next run.
fn kill_during_measurement(victim: Victim) -> Option<(Lab, Value)> {
    let lab = Lab::loaded()?;
    let mut running = lab.start("out", &["warmup=0s", "duration=10min"]);
    running.await_told("[ 3s ]");
    let shown = running.seconds_shown();
    assert!(strike(&running, victim), "{victim:?} is not there");
    let status = running.wait(PATIENCE);
    lab.nothing_left();
    match victim {
        Victim::Coordinator => assert_eq!(status.code(), None, "{status}"),
        Victim::Agent | Victim::Server => assert_eq!(code(status), 5, "{}", running.told()),
    }
    let result = lab.result("out");
    assert_eq!(result["outcome"], "partial");
    let run = first_run(&result);
    assert_eq!(run["outcome"], "partial");
    assert!(number(&run["transactions"]) > 0);
    let stored: Vec<i64> =
        run["series"].as_array().unwrap().iter().map(|point| point["second"].as_i64().unwrap() + 1).collect();
    assert!(stored.starts_with(&shown), "shown {shown:?}, stored {stored:?}");

    let next = lab.run("next", &["warmup=0s", "duration=1s"]);
    assert_eq!((&next["outcome"], &next["dataset"]["reused"]), (&"complete".into(), &true.into()));
    Some((lab, result))
}

fn assert_reason(result: &Value, words: &str) {
    for reason in [&result["reason"], &first_run(result)["reason"]] {
        assert!(reason.as_str().is_some_and(|reason| reason.contains(words)), "{reason} has no {words:?}");
    }
}

#[test]
fn of_the_coordinator_in_the_measured_interval() {
    let Some((lab, result)) = kill_during_measurement(Victim::Coordinator) else { return };
    assert_reason(&result, "drivestone was killed");
    let table = lab.output(&["report", "out"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.to_lowercase().contains("partial") && table.contains("was killed"), "{table}");
}

#[test]
fn of_the_agent_in_the_measured_interval() {
    let Some((_, result)) = kill_during_measurement(Victim::Agent) else { return };
    assert_reason(&result, "the agent on local is gone");
}

#[test]
fn of_the_server_in_the_measured_interval() {
    let Some((_, result)) = kill_during_measurement(Victim::Server) else { return };
    // Whichever is noticed first: the server's end, or a load thread's lost connection.
    assert!(
        result["reason"].as_str().is_some_and(|reason| reason.contains("server")),
        "{}",
        result["reason"]
    );
}

#[test]
fn a_page_that_cannot_be_written_hides_no_failure() {
    let Some(lab) = Lab::loaded() else { return };
    let mut running = lab.start("out", &["warmup=0s", "duration=10min"]);
    running.await_told("[ 1s ]");
    fs::create_dir(lab.path("out/report.html")).unwrap();
    assert!(strike(&running, Victim::Server));
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    lab.nothing_left();
    assert!(running.told().contains("error: out/report.html: "), "{}", running.told());
    assert!(running.printed().contains("PARTIAL"), "{}", running.printed());
}

#[test]
fn a_half_loaded_dataset_is_recognised_and_loaded_anew() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start("killed", &["load_threads=1", "rows=40000"]);
    running.await_told("serves a new data directory");
    assert!(strike(&running, Victim::Coordinator));
    running.wait(PATIENCE);
    lab.nothing_left();
    assert!(!lab.dataset().join("manifest.json").exists());
    let killed = lab.result("killed");
    assert_eq!(killed["outcome"], "partial");
    assert!(killed["reason"].as_str().unwrap().contains("before the dataset was complete"), "{killed}");

    let plan = lab.output(&["plan", "hardware.yaml", "profile.yaml", "--set", "rows=40000"]);
    assert!(plan.status.success());
    let warning = String::from_utf8(plan.stderr).unwrap();
    assert!(warning.contains("a load that never finished"), "{warning}");

    let next = lab.run("next", &["rows=40000", "warmup=0s", "duration=1s"]);
    assert_eq!((&next["outcome"], &next["dataset"]["reused"]), (&"complete".into(), &false.into()));
    assert_all_rows_are_there(&next);
}

/// An update, delete or insert that finds its row counts as a write, otherwise as other.
fn assert_all_rows_are_there(result: &Value) {
    let run = first_run(result);
    if run["errors"] == 0 {
        assert_eq!(number(&run["writes"]), 4 * number(&run["transactions"]), "rows are missing");
    }
}

/// Rounds of killing one of the three at a random moment, from the first step to the measured interval.
/// `DRIVESTONE_TEST_SEED` repeats the moments of a failure.
#[test]
fn at_random_moments_nothing_is_left_and_nothing_half_loaded_is_measured() {
    let Some(lab) = Lab::new() else { return };
    let named = std::env::var("DRIVESTONE_TEST_SEED").ok();
    let random = || std::hash::RandomState::new().build_hasher().finish();
    let mut state = named.map_or_else(random, |seed| seed.parse().expect("a number"));
    let victims = [Victim::Coordinator, Victim::Agent, Victim::Server];
    for round in 0..6 {
        let seed = state;
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let victim = victims[round % victims.len()];
        let delay = Duration::from_millis((state >> 33) % 6_000);
        let out = format!("round-{round}");
        println!("round {round}: {victim:?} after {delay:?}, DRIVESTONE_TEST_SEED={seed}");
        strike_after(&lab, &out, victim, delay);
        if lab.path(&out).join("journal.jsonl").exists() {
            assert_reportable(&lab, &out);
        }
    }
    let result = lab.run("last", &["warmup=0s", "duration=1s"]);
    assert_eq!(result["outcome"], "complete");
    assert_all_rows_are_there(&result);
}

fn strike_after(lab: &Lab, out: &str, victim: Victim, delay: Duration) {
    let begun = Instant::now();
    let mut running = lab.start(out, &["warmup=0s", "duration=10min"]);
    std::thread::sleep(delay.saturating_sub(begun.elapsed()));
    // Agent or server may not be there yet.
    while !strike(&running, victim) && running.child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = running.wait(PATIENCE);
    lab.nothing_left();
    assert!(!matches!(status.code(), Some(0 | 101)), "{status}\n{}", running.told());
    assert!(!running.told().contains("panicked"), "{}", running.told());
}

/// A killed run reports in every format, and not as complete. A journal whose first line was not
/// written yet is refused as no result.
fn assert_reportable(lab: &Lab, out: &str) {
    let begun = fs::read(lab.path(out).join("journal.jsonl")).unwrap().contains(&b'\n');
    for format in ["table", "json", "html"] {
        let output = lab.output(&["report", out, "--format", format]);
        let expected = if begun { 0 } else { 2 };
        assert_eq!(code(output.status), expected, "{}", String::from_utf8_lossy(&output.stderr));
    }
    if begun {
        let result = lab.result(out);
        assert!(result["outcome"] == "partial" || result["outcome"] == "failed", "{}", result["outcome"]);
        assert!(result["reason"].is_string());
    }
}
