//! Runs that go as planned.

use std::collections::BTreeSet;
use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{Fleet, PATIENCE, is_agent};
use crate::e2e::complete::secret_in;
use crate::e2e::journal::Journal;
use crate::e2e::lab::{first_run, holds, number};
use crate::e2e::processes::{Process, until};
use crate::e2e::running::Running;

const FOUR: [&str; 4] = ["vm1", "vm2", "vm3", "vm4"];
const SECOND_NS: i64 = 1_000_000_000;

#[test]
fn four_hosts_run_at_once_in_counts_and_under_an_observer() {
    let Some(fleet) = Fleet::new(4) else { return };
    all_at_once(&fleet);
    one_count_after_the_other(&fleet);
    under_an_observer(&fleet);
    under_an_observer_that_is_lost(&fleet);
}

fn all_at_once(fleet: &Fleet) {
    let journal = fleet.end("out", load_the_others_first(fleet));
    assert!(journal.events("prepared").all(|(.., prepared)| prepared["reused"] == false));
    assert_eq!(journal.events("prepared").count(), 4);
    assert_eq!(journal.ending(), ("complete", ""));
    assert_eq!(instances(&journal, 0), FOUR);
    assert_one_moment(&journal);
    for host in FOUR {
        assert_eq!(journal.seconds(0, host), [-1, 0, 1, 2], "{host}");
        // At both ends of warm-up, of each second, and of the interval.
        assert!(journal.samples(0, host) >= 4, "{host}: {}", journal.samples(0, host));
        assert_eq!(fleet.on_disk(host), ["drivestone"]);
    }
    let streams: Vec<u64> = journal
        .events("load_ready")
        .flat_map(|(.., ready)| ready["streams"].as_array().unwrap())
        .map(|seed| seed.as_u64().unwrap())
        .collect();
    assert_eq!(streams.len(), 8);
    assert_eq!(streams.iter().collect::<BTreeSet<_>>().len(), 8, "{streams:?}");
    assert_bundle_is_whole(fleet);
    assert_adds_up(&fleet.lab.result("out"));
    assert_nobody_is_named(fleet);
}

/// A report for publishing has no host's name in it, and the others' figures.
fn assert_nobody_is_named(fleet: &Fleet) {
    let text = |arguments: &[&str]| {
        let output = fleet.lab.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for format in ["table", "html", "json"] {
        let named = text(&["report", "out", "--format", format]);
        let redacted = text(&["report", "out", "--format", format, "--redact"]);
        assert!(FOUR.iter().all(|host| named.contains(host)), "{format}");
        assert!(!FOUR.iter().any(|host| redacted.contains(host)), "{format}: {redacted}");
        assert!(redacted.contains("host-4"), "{format}");
    }
    let same = text(&["env", "out", "out"]);
    assert!(same.contains("are the same in all"), "{same}");
    let compared: Value = serde_json::from_str(&text(&["env", "out", "out", "--json", "--redact"])).unwrap();
    assert!(number(&compared["compared"]) > 500, "{compared}");
}

/// What the report says of all is what it says of each, added up.
fn assert_adds_up(result: &Value) {
    let run = first_run(result);
    assert_eq!((&result["outcome"], &run["outcome"]), (&"complete".into(), &"complete".into()));
    assert_eq!((number(&run["instances"]), number(&run["instances_present"])), (4, 4));
    let each = run["per_instance"].as_array().unwrap();
    assert!(each.iter().map(|instance| instance["host"].as_str().unwrap()).eq(FOUR), "{each:?}");
    let own = |instance: &Value| number(&instance["figures"]["transactions"]);
    assert_eq!(each.iter().map(own).sum::<u64>(), number(&run["transactions"]));
    assert!(each.iter().all(|instance| own(instance) > 0 && instance["lost"].is_null()), "{each:?}");
    let tps: f64 = each.iter().map(|instance| instance["figures"]["tps"].as_f64().unwrap()).sum();
    assert!((tps / run["tps"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{tps}, {}", run["tps"]);
    let [segment] = run["segments"].as_array().unwrap().as_slice() else { panic!("{}", run["segments"]) };
    assert_eq!((&segment["hosts"], &segment["headline"]), (&FOUR.as_slice().into(), &true.into()));
    let worst = &run["others_print"]["worst_p99_ms"];
    assert!(run["p99_ms"].as_f64() <= worst.as_f64(), "{} above {worst}", run["p99_ms"]);
    assert!(FOUR.contains(&run["fairness"]["slowest"].as_str().unwrap()), "{}", run["fairness"]);
    for id in
        ["every_instance_present", "common_window", "seeds_distinct", "commits_match", "durable_commits"]
    {
        assert_eq!(holds(run, id), true, "{id}: {}", run["findings"]);
    }
}

fn instances(journal: &Journal, run: usize) -> Vec<&str> {
    starts(journal, run).iter().map(|start| start["host"].as_str().unwrap()).collect()
}

fn starts(journal: &Journal, run: usize) -> &[Value] {
    let started = journal.records("run_started").find(|(.., record)| record["run"] == run);
    started.unwrap().2["instances"].as_array().unwrap()
}

/// Starts a run, and holds the first host's server up until the other datasets are complete.
fn load_the_others_first(fleet: &Fleet) -> Running {
    let mut running = fleet.start("out", &["threads=2"]);
    running.await_told("vm4: ");
    fleet.signal("vm1", Process::is_server, Signal::SIGSTOP);
    let dataset =
        |host: &str| fs::read_dir(fleet.hosts.disk(host).join("drivestone")).unwrap().next().unwrap();
    let is_complete = |host: &&str| dataset(host).unwrap().path().join("manifest.json").exists();
    let complete = until(PATIENCE, || FOUR[1..].iter().all(is_complete));
    fleet.signal("vm1", Process::is_server, Signal::SIGCONT);
    assert!(complete, "they wait for vm1:\n{}", running.told());
    running
}

/// The hosts are one machine, and have one clock: what the coordinator believes to be one moment on all of
/// them lies within the bounds that it recorded.
fn assert_one_moment(journal: &Journal) {
    let (place, _, _) = journal.only("run_started");
    let mut truths = Vec::new();
    for start in starts(journal, 0) {
        let host = start["host"].as_str().unwrap();
        let clocks = journal.records("clock").filter(|(at, from, _)| *at < place && *from == host);
        let (.., clock) = clocks.last().unwrap();
        let [offset, bound] = ["offset_ns", "bound_ns"].map(|key| clock[key].as_i64().unwrap());
        assert!(offset.abs() <= bound, "{host}: {offset} is not within {bound} of the truth");
        let t0 = start["t0_ns"].as_i64().unwrap();
        truths.push((t0 - bound, t0 + bound));
        assert_eq!(t0 - start["begin_ns"].as_i64().unwrap(), SECOND_NS);
        assert_eq!(start["end_ns"].as_i64().unwrap() - t0, 3 * SECOND_NS);
    }
    let (latest, earliest) = (
        truths.iter().map(|truth| truth.0).max().unwrap(),
        truths.iter().map(|truth| truth.1).min().unwrap(),
    );
    assert!(latest <= earliest, "no moment is T0 of all: {truths:?}");
}

fn assert_bundle_is_whole(fleet: &Fleet) {
    let bundle = fleet.lab.path("out");
    let mut files =
        ["environment.json", "journal.jsonl", "plan.json", "report.html"].map(str::to_owned).to_vec();
    for host in FOUR {
        let [cnf, log] = ["cnf", "log"].map(|kind| format!("servers/{host}.{kind}"));
        assert!(fs::read_to_string(bundle.join(&cnf)).unwrap().contains("datadir"), "{cnf}");
        assert!(fs::read_to_string(bundle.join(&log)).unwrap().contains("ready for connections"), "{log}");
        files.extend([cnf, log]);
    }
    assert_eq!(fs::read_dir(bundle.join("servers")).unwrap().count(), 8);
    for name in files {
        let text = fs::read_to_string(bundle.join(&name)).unwrap();
        assert!(!text.contains("IDENTIFIED") && !text.contains("PRIVATE KEY"), "{name}");
        assert_eq!(secret_in(&text), None, "{name}");
    }
    let environment = fs::read_to_string(bundle.join("environment.json")).unwrap();
    let environment: Value = serde_json::from_str(&environment).unwrap();
    let hosts: Vec<_> = environment["instances"].as_object().unwrap().keys().collect();
    assert_eq!(hosts, FOUR);
}

/// Servers that a count does not need are stopped, and the datasets of the first run serve again.
fn one_count_after_the_other(fleet: &Fleet) {
    fleet.lab.edit("hardware.yaml", "instances:\n", "instances:\n  idle: stop\n");
    let journal = fleet.run("counts", &["counts=[2, 4]", "warmup=0s", "duration=2s"]);
    assert_eq!(journal.ending(), ("complete", ""));
    assert!(journal.events("prepared").all(|(.., prepared)| prepared["reused"] == true));
    let ([first, _], [second, end]) = (journal.run(0), journal.run(1));
    for (run, needed) in [(0, &FOUR[..2]), (1, &FOUR)] {
        assert_eq!(instances(&journal, run), needed);
        for host in FOUR {
            let expected: &[i64] = if needed.contains(&host) { &[0, 1] } else { &[] };
            assert_eq!(journal.seconds(run, host), expected, "{host} in run {run}");
        }
    }
    for (host, is_idle) in FOUR.into_iter().zip([false, false, true, true]) {
        let [ready, stopped] = ["server_ready", "server_stopped"].map(|kind| journal.places(host, kind));
        match (is_idle, &ready[..], &stopped[..]) {
            (false, [_], [last]) => assert!(*last > end, "{host}"),
            (true, [_, again], [idle, last]) => {
                assert!(*idle < first && *again > first && *again < second && *last > end, "{host}");
            }
            _ => panic!("{host}: ready {ready:?}, stopped {stopped:?}"),
        }
    }
    let result = fleet.lab.result("counts");
    let present = |run: &Value| number(&run["instances_present"]);
    assert!(result["runs"].as_array().unwrap().iter().map(present).eq([2, 4]), "{}", result["runs"]);
}

/// An observer has no server; what it sees of its device lies within the run.
fn under_an_observer(fleet: &Fleet) {
    fleet.lab.edit("hardware.yaml", "[vm1, vm2, vm3, vm4]", "[vm1, vm2]");
    let profile = fs::read_to_string(fleet.lab.path("hardware.yaml")).unwrap();
    fleet.lab.write("hardware.yaml", &format!("{profile}observers:\n  - {{host: vm3, device: /mnt/dut}}\n"));
    let journal = fleet.run("observed", &["warmup=0s", "duration=2s"]);
    assert_eq!(journal.ending(), ("complete", ""));
    let (_, from, facts) = journal.events("observing").next().unwrap();
    assert_eq!(from, "vm3");
    assert!(facts.to_string().contains("loop"), "{facts}");
    let (.., started) = journal.only("run_started");
    assert_eq!(started["observers"][0]["host"], "vm3");
    assert!(journal.samples(0, "vm3") >= 3, "{}", journal.samples(0, "vm3"));
    let result = fleet.lab.result("observed");
    let [seen] = first_run(&result)["observers"].as_array().unwrap().as_slice() else { panic!("{result}") };
    assert_eq!(seen["host"], "vm3");
    assert!(seen["device"].is_object() && !seen["series"].as_array().unwrap().is_empty(), "{seen}");
    for kind in ["server_ready", "load_second", "server"] {
        assert_eq!(journal.places("vm3", kind), <[usize; 0]>::default(), "{kind}");
    }
}

/// Nobody needs it for the figures: the run goes on and is whole, and the journal says what is missing.
fn under_an_observer_that_is_lost(fleet: &Fleet) {
    let mut running = fleet.start("unobserved", &["warmup=0s", "duration=4s"]);
    running.await_told("[ 1s ]");
    fleet.signal("vm3", is_agent, Signal::SIGKILL);
    let journal = fleet.end("unobserved", running);
    assert_eq!(journal.ending(), ("complete", ""));
    assert_eq!(journal.only("lost").1, "vm3");
    assert_eq!(["vm1", "vm2"].map(|host| journal.seconds(0, host)), [[0, 1, 2, 3], [0, 1, 2, 3]]);
    assert_eq!(fleet.lab.result("unobserved")["outcome"], "complete");
}
