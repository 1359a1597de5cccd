//! A host that is lost while others run. Each time it is noticed within ten seconds by the journal's own
//! account, the others go on or stop as the profile says, and what was measured is kept.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{Fleet, LEFT_ALONE, PATIENCE, is_agent};
use crate::e2e::journal::Journal;
use crate::e2e::lab::{code, first_run, holds, number};
use crate::e2e::processes::{Process, until};

/// From a host's last line to the line that gives it up, seconds.
const NOTICED_S: f64 = 10.0;

/// One loss, in a run of four.
struct Loss {
    name: &'static str,
    host: &'static str,
    on_loss: &'static str,
    duration_s: i64,
    /// What the reason says.
    words: &'static str,
}

#[test]
fn one_of_four_hosts_is_lost() {
    let Some(fleet) = Fleet::new(4) else { return };
    a_killed_server(&fleet);
    a_killed_server_before_other_counts(&fleet);
    a_killed_agent(&fleet);
    a_cut_cable(&fleet);
    a_frozen_host(&fleet);
    a_host_without_power(&fleet);
}

/// Runs, does harm after two seconds, and sees how it ends.
fn lose(fleet: &Fleet, loss: &Loss, harm: impl FnOnce()) {
    let Loss { name, host, on_loss, duration_s, words } = *loss;
    let changes = ["warmup=0s", &format!("duration={duration_s}s"), &format!("on_loss={on_loss}")];
    let mut running = fleet.start(name, &changes);
    running.await_told("[ 2s ]");
    harm();
    assert_eq!(code(running.wait(PATIENCE)), 5, "{name}: {}", running.told());
    let journal = Journal::read(&fleet.lab.path(name));
    let (place, from, lost) = journal.only("lost");
    let reason = lost["reason"].as_str().unwrap();
    assert!(from == host && reason.contains(words) && reason.contains(host), "{name}: {from}: {reason}");
    let noticed = journal.seconds_between(journal.last_heard(host, place), place);
    assert!(noticed <= NOTICED_S, "{name}: noticed after {noticed} s");
    assert!(running.told().contains(words), "{name}: {}", running.told());
    assert_others_ended(&journal, loss);
    assert_kept(fleet, &journal, loss);
}

fn assert_others_ended(journal: &Journal, loss: &Loss) {
    let [_, end] = journal.run(0);
    for host in ["vm1", "vm2", "vm3", "vm4"].into_iter().filter(|host| *host != loss.host) {
        let seconds = journal.seconds(0, host);
        let (.., ended) = journal.events("load_ended").find(|(_, from, _)| *from == host).unwrap();
        let goes_on = loss.on_loss == "continue";
        assert_eq!(ended["cause"], if goes_on { "time" } else { "stopped" }, "{}: {host}", loss.name);
        let all: Vec<i64> = (0..loss.duration_s).collect();
        assert!(
            all.starts_with(&seconds) && (all == seconds) == goes_on,
            "{}: {host}: {seconds:?}",
            loss.name
        );
        let stopped = journal.places(host, "server_stopped");
        assert!(matches!(stopped[..], [place] if place > end), "{}: {host}: {stopped:?}", loss.name);
    }
}

fn assert_kept(fleet: &Fleet, journal: &Journal, loss: &Loss) {
    let (ending, reason) = journal.ending();
    assert_eq!(ending, "failed", "{}", loss.name);
    assert!(reason.contains(loss.words), "{}: {reason}", loss.name);
    let (.., ended) = journal.only("run_ended");
    let shortfall = ended["shortfall"].as_str().unwrap();
    assert!(shortfall.contains(loss.words), "{}: {shortfall}", loss.name);
    if loss.on_loss == "continue" {
        assert!(shortfall.contains("3 of 4 instances"), "{}: {shortfall}", loss.name);
    }
    assert_reported(&fleet.lab.result(loss.name), loss);
    assert!(journal.seconds(0, loss.host).starts_with(&[0, 1]), "{}", loss.name);
}

/// The seconds with all four are one segment and those after the loss another. The first is the headline if
/// it is half of the plan.
fn assert_reported(result: &Value, loss: &Loss) {
    let run = first_run(result);
    assert_eq!(
        (&result["outcome"], &run["outcome"]),
        (&"partial".into(), &"partial".into()),
        "{}",
        loss.name
    );
    let reason = run["reason"].as_str().unwrap();
    assert!(reason.contains("3 of 4 instances") && reason.contains(loss.words), "{}: {reason}", loss.name);
    assert_eq!(number(&run["instances_present"]), 3, "{}", loss.name);
    assert_eq!(holds(run, "every_instance_present"), false, "{}", loss.name);
    let segments = run["segments"].as_array().unwrap();
    let enough = 2.0 * segments[0]["seconds"].as_f64().unwrap() >= loss.duration_s as f64;
    assert_eq!(run["tps"].is_number(), enough, "{}: {segments:?}", loss.name);
    assert_eq!(segments[0]["headline"], enough, "{}: {segments:?}", loss.name);
    let members: Vec<usize> =
        segments.iter().map(|segment| segment["hosts"].as_array().unwrap().len()).collect();
    let expected: &[usize] = if loss.on_loss == "continue" { &[4, 3] } else { &[4] };
    assert!(members.starts_with(expected), "{}: {members:?}", loss.name);
    for instance in run["per_instance"].as_array().unwrap() {
        let is_lost = instance["lost"].as_str().is_some_and(|reason| reason.contains(loss.words));
        assert_eq!(is_lost, instance["host"] == loss.host, "{}: {}", loss.name, instance["lost"]);
    }
}

fn a_killed_server(fleet: &Fleet) {
    let loss = Loss { name: "server", host: "vm1", on_loss: "continue", duration_s: 6, words: "server" };
    let server = || fleet.signal("vm1", Process::is_server, Signal::SIGKILL);
    lose(fleet, &loss, server);
    fleet.nothing_left(&fleet.hosts.names());
}

/// Later runs take the instances that are left, if they are enough.
fn a_killed_server_before_other_counts(fleet: &Fleet) {
    let changes = ["warmup=0s", "duration=4s", "on_loss=continue", "counts=[3, 2, 4]"];
    let mut running = fleet.start("counts", &changes);
    running.await_told("[ 1s ]");
    fleet.signal("vm1", Process::is_server, Signal::SIGKILL);
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    fleet.nothing_left(&fleet.hosts.names());
    let journal = Journal::read(&fleet.lab.path("counts"));
    assert_eq!(journal.only("lost").1, "vm1");
    let seconds = |host| journal.seconds(1, host);
    assert_eq!(["vm2", "vm3"].map(seconds), [[0, 1, 2, 3], [0, 1, 2, 3]]);
    assert!(["vm1", "vm4"].iter().all(|host| seconds(host).is_empty()));
    assert_eq!(journal.records("run_started").count(), 2);
    let text = "run 3 was not started: 3 of its 4 instances are left";
    assert!(running.told().contains(text), "{}", running.told());
    let result = fleet.lab.result("counts");
    let runs = result["runs"].as_array().unwrap();
    let outcomes: Vec<_> = runs.iter().map(|run| run["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["partial", "complete"]);
    assert!(running.printed().contains("NOT RUN"), "{}", running.printed());
    assert_eq!(number(&runs[1]["instances_present"]), 2);
}

fn a_killed_agent(fleet: &Fleet) {
    let loss =
        Loss { name: "agent", host: "vm4", on_loss: "stop", duration_s: 600, words: "its output ended" };
    lose(fleet, &loss, || fleet.signal("vm4", is_agent, Signal::SIGKILL));
    fleet.nothing_left(&fleet.hosts.names());
}

/// Nobody tells the host either: its agent ends by itself, and its server with it.
fn a_cut_cable(fleet: &Fleet) {
    let loss =
        Loss { name: "cut", host: "vm2", on_loss: "stop", duration_s: 600, words: "nothing heard for" };
    lose(fleet, &loss, || fleet.hosts.cut("vm2"));
    let works = |process: &Process| is_agent(process) || process.is_server();
    let left = || fleet.hosts.processes("vm2").into_iter().filter(works).collect::<Vec<_>>();
    assert!(until(LEFT_ALONE, || left().is_empty()), "still running: {:#?}", left());
    assert!(fleet.files_left("vm2").is_empty(), "{:?}", fleet.files_left("vm2"));
    fleet.nothing_left(&["vm1", "vm3", "vm4"]);
    // Its sshd learns of it when it next repeats what nobody acknowledged.
    fleet.hosts.restore("vm2");
}

fn a_frozen_host(fleet: &Fleet) {
    let loss =
        Loss { name: "frozen", host: "vm3", on_loss: "continue", duration_s: 13, words: "nothing heard for" };
    lose(fleet, &loss, || fleet.hosts.freeze("vm3"));
    fleet.nothing_left(&["vm1", "vm2", "vm4"]);
    fleet.hosts.thaw("vm3");
    fleet.nothing_left(&fleet.hosts.names());
}

fn a_host_without_power(fleet: &Fleet) {
    let loss =
        Loss { name: "power", host: "vm4", on_loss: "continue", duration_s: 13, words: "nothing heard for" };
    lose(fleet, &loss, || fleet.hosts.kill("vm4"));
    fleet.nothing_left(&["vm1", "vm2", "vm3"]);
    // The next run names it at once, and does nothing on the others.
    let mut running = fleet.start("next", &[]);
    assert_eq!(code(running.wait(Duration::from_secs(60))), 4, "{}", running.told());
    assert!(running.told().contains("vm4: ") && !running.told().contains("Starting"), "{}", running.told());
    assert!(!fleet.lab.path("next").exists());
    fleet.nothing_left(&["vm1", "vm2", "vm3"]);
}
