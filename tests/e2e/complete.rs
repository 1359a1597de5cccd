//! Runs that end as planned.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::Value;

use super::lab::{Lab, PATIENCE, THREADS, first_run, holds, number};
use super::mount::{Mount, may_mount};

/// Keys that the JSON report promises for each run.
const KEYS: [&str; 21] = [
    "outcome",
    "workload",
    "threads",
    "instances",
    "seconds",
    "transactions",
    "tps",
    "avg_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "p999_ms",
    "peak_ms",
    "errors",
    "reads",
    "writes",
    "other",
    "device",
    "findings",
    "plan",
    "reason",
];
/// iostat's columns.
const COLUMNS: [&str; 14] = [
    "r/s", "rkB/s", "rrqm/s", "r_await", "rareq-sz", "w/s", "wkB/s", "w_await", "wareq-sz", "d/s", "f/s",
    "f_await", "aqu-sz", "%util",
];
const FINDINGS: [&str; 15] = [
    "working_set_exceeds_pool",
    "page_cache_bypassed",
    "page_cache_steady",
    "no_other_io",
    "device_bound",
    "no_swapping",
    "no_steal",
    "not_throttled",
    "durable_commits",
    "commits_match",
    "closed_loop",
    "few_errors",
    "in_flight_at_end",
    "journal_off_device",
    "drives_healthy",
];

/// Statements of an `oltp_read_write` transaction: 14 reads and 4 writes, and BEGIN and COMMIT.
fn assert_statement_counts(run: &Value) {
    let [transactions, reads, writes, other] =
        ["transactions", "reads", "writes", "other"].map(|key| number(&run[key]));
    assert!(transactions > 0);
    if run["errors"] == 0 {
        // An update or delete that met no row would count as other: the rows are all there.
        assert_eq!((reads, writes, other), (14 * transactions, 4 * transactions, 2 * transactions));
    } else {
        assert!(reads >= 14 * transactions && writes + other >= 6 * transactions, "{run}");
    }
}

#[test]
fn a_run_measures_and_leaves_a_whole_bundle() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start("out", &[]);
    let status = running.wait(PATIENCE);
    assert!(status.success(), "{status}\n{}", running.told());
    lab.nothing_left();
    assert_eq!(running.seconds_shown(), [1, 2, 3]);
    let table = running.printed();
    assert!(table.contains("complete") && table.contains("Findings"), "{table}");
    assert!(table.ends_with("\nReport: out/report.html\n"), "{table}");

    let result = lab.result("out");
    assert_eq!(result["outcome"], "complete");
    assert_eq!(result["dataset"]["reused"], false);
    assert_eq!(result["dataset"]["rows"], 40_000);
    // Among others, every option was granted as planned.
    // Which drives are virtual, or tell nothing without root, depends on this machine.
    let of_drives = |note: &&Value| note.as_str().unwrap().starts_with("wear and health were not told by ");
    let notes = result["notes"].as_array().unwrap().iter();
    assert_eq!(notes.filter(|note| !of_drives(note)).collect::<Vec<_>>(), [&Value::Null; 0]);
    assert_run_is_whole(first_run(&result));
    assert_bundle_is_whole(&lab.path("out"));
    assert_nobody_else_reads(&lab.dataset());
}

fn assert_run_is_whole(run: &Value) {
    for key in KEYS {
        assert!(run.get(key).is_some(), "{key} is missing");
    }
    for column in COLUMNS {
        assert!(run["device"][column].is_number(), "{column} is missing in {}", run["device"]);
    }
    let ids: Vec<&str> =
        run["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert_eq!(ids, FINDINGS);
    assert_eq!((&run["outcome"], &run["reason"]), (&Value::from("complete"), &Value::Null));
    assert_eq!((number(&run["threads"]), number(&run["instances"])), (THREADS, 1));
    assert!((run["seconds"].as_f64().unwrap() - 3.0).abs() < 1e-6, "{}", run["seconds"]);
    for id in ["commits_match", "durable_commits", "working_set_exceeds_pool"] {
        assert_eq!(holds(run, id), true, "{id}: {}", run["findings"]);
    }
    // Other tests read from this disk as well, so that it may be unknown here.
    assert_ne!(holds(run, "page_cache_bypassed"), false, "{}", run["findings"]);
    assert_loop_is_closed(run);
    let latencies = ["min_ms", "p50_ms", "p95_ms", "p99_ms", "p999_ms", "peak_ms"];
    let latencies = latencies.map(|key| run[key].as_f64().unwrap());
    assert!(latencies.is_sorted(), "{latencies:?}");
    assert!(run["device"]["r/s"].as_f64().unwrap() > 0.0, "the device was never read");
    assert_statement_counts(run);
}

/// Every thread always has a transaction: TPS × average latency = threads, but for those that reach over
/// an edge of so short an interval.
fn assert_loop_is_closed(run: &Value) {
    let figure = |key: &str| run[key].as_f64().unwrap_or(0.0);
    let product = figure("tps") * figure("avg_ms") / 1000.0;
    let over_an_edge = figure("peak_ms").max(figure("oldest_in_flight_ms")) / 1000.0 / figure("seconds");
    let difference = product / THREADS as f64 - 1.0;
    assert!(difference.abs() < over_an_edge + 0.05, "{product} threads, edges {over_an_edge}");
}

fn assert_bundle_is_whole(bundle: &Path) {
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let files = ["environment.json", "journal.jsonl", "plan.json", "report.html"];
    assert_eq!(names(bundle), [&files[..], &["servers"]].concat());
    assert_eq!(names(&bundle.join("servers")), ["local.cnf", "local.log"]);
    for name in files.into_iter().chain(["servers/local.cnf", "servers/local.log"]) {
        let text = fs::read_to_string(bundle.join(name)).unwrap();
        assert!(!text.is_empty(), "{name} is empty");
        for word in ["IDENTIFIED", "drivestone@"] {
            assert!(!text.contains(word), "{name} holds {word}");
        }
        assert_eq!(secret_in(&text), None, "{name}");
    }
}

/// A run of exactly 32 hexadecimal digits, which is what passwords look like here.
pub fn secret_in(text: &str) -> Option<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().find(|word| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[test]
fn a_secret_would_be_noticed() {
    assert_eq!(secret_in("BY '0123456789abcdef0123456789abcdef';"), Some("0123456789abcdef0123456789abcdef"));
    assert_eq!(secret_in("crc 0123456789abcdef"), None);
}

fn assert_nobody_else_reads(dataset: &Path) {
    // The folder itself stays drivestone's own, so that the server's account can replace nothing in it.
    for (folder, expected) in [("", 0o711), ("data", 0o700), ("tmp", 0o700), ("run", 0o700)] {
        let metadata = fs::metadata(dataset.join(folder)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, expected, "{folder:?}");
    }
    assert_eq!(fs::metadata(dataset).unwrap().uid(), nix::unistd::geteuid().as_raw());
    assert!(!dataset.join("init.sql").exists(), "the password of the start is still there");
    let left: Vec<_> = fs::read_dir(dataset.join("tmp")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn later_runs_reuse_the_dataset_and_repeat_a_plan() {
    let Some(lab) = Lab::loaded() else { return };
    let bounds = ["warmup=0s", "duration=1s", "load.seed=77"];
    for (out, runs_before) in [("first", 1), ("second", 2)] {
        let result = lab.run(out, &bounds);
        assert_eq!(result["dataset"]["reused"], true);
        assert_eq!(result["dataset"]["runs_before"], runs_before);
        // The same seed on changed rows: every write must still change one.
        assert_statement_counts(first_run(&result));
    }
    let mut running = lab.start_with("third", &["run", "--from", "first", "--out", "third"]);
    assert!(running.wait(PATIENCE).success(), "{}", running.told());
    lab.nothing_left();
    let [first, third] = ["first", "third"].map(|out| fs::read(lab.path(out).join("plan.json")).unwrap());
    assert_eq!(String::from_utf8(third), String::from_utf8(first));
    let result = lab.result("third");
    assert_eq!(result["plan"]["runs"][0]["seed"], 77);
    assert_eq!(result["plan"]["profile"]["overrides"][2]["key"], "load.seed");
    assert_eq!(result["dataset"]["runs_before"], 3);
    assert_statement_counts(first_run(&result));
}

/// A server of its own loads, and leaves a dataset to one with the settings of the measurement.
#[test]
fn a_dataset_is_loaded_by_a_server_made_for_that() {
    let Some(lab) = Lab::new() else { return };
    let bounds = ["warmup=0s", "duration=1s", "load_settings=fast"];
    for (out, reused) in [("first", false), ("second", true)] {
        let result = lab.run(out, &bounds);
        assert_eq!(
            (&result["dataset"]["reused"], &result["dataset"]["runs_before"]),
            (&reused.into(), &u64::from(reused).into())
        );
        assert_statement_counts(first_run(&result));
        let environment = fs::read_to_string(lab.path(out).join("environment.json")).unwrap();
        assert!(environment.contains("\"innodb_doublewrite\": \"ON\""), "{environment}");
        let servers = fs::read_to_string(lab.path(out).join("journal.jsonl"))
            .unwrap()
            .matches("\"server_ready\"")
            .count();
        assert_eq!(servers, if reused { 1 } else { 2 });
    }
    let manifest = fs::read_to_string(lab.dataset().join("manifest.json")).unwrap();
    assert!(manifest.contains("made for loading"), "{manifest}");
    lab.nothing_left();
}

/// Where nobody else reads, bytes at the device are InnoDB's.
#[test]
fn a_device_of_its_own_shows_every_read() {
    let Some(lab) = Lab::new() else { return };
    if !may_mount() {
        return;
    }
    let Some(_device) = Mount::ext4(&lab.path("d"), "400M") else { return };
    let result = lab.run("out", &["warmup=1s", "duration=2s"]);
    let run = first_run(&result);
    assert!(run["device_name"].as_str().unwrap().starts_with("loop"), "{}", run["device_name"]);
    assert_eq!(holds(run, "page_cache_bypassed"), true, "{}", run["findings"]);
}

#[test]
fn a_value_that_the_server_corrects_is_told() {
    let Some(lab) = Lab::loaded() else { return };
    lab.edit("profile.yaml", "server:\n", "server:\n  variables: {innodb_io_capacity: many}\n");
    let mut running = lab.start("out", &["warmup=0s", "duration=1s"]);
    assert!(running.wait(PATIENCE).success(), "{}", running.told());
    let expected = "the server runs with innodb_io_capacity = `100`, not `many` as planned";
    assert!(running.told().contains(&format!("warning: {expected}\n")), "{}", running.told());
    assert_eq!(lab.result("out")["notes"][0], expected);
}

#[test]
fn events_bound_a_run_exactly() {
    let Some(lab) = Lab::loaded() else { return };
    lab.edit("profile.yaml", "  duration: 3s\n", "  events: 25\n");
    let result = lab.run("alone", &["warmup=0s"]);
    assert_eq!(first_run(&result)["transactions"], 25);
    assert_eq!(result["outcome"], "complete");
    assert_statement_counts(first_run(&result));
    // However short: samples are taken at both ends.
    assert!(first_run(&result)["device"].is_object(), "{result}");
    assert!(first_run(&result)["anatomy"]["misses_per_transaction"].is_number(), "{result}");

    let events_first = lab.run("events-first", &["warmup=0s", "duration=10min"]);
    assert_eq!(first_run(&events_first)["transactions"], 25);
    assert!(first_run(&events_first)["seconds"].as_f64().unwrap() < 600.0);

    let time_first = lab.run("time-first", &["warmup=0s", "duration=1s", "events=1000000000"]);
    assert!((first_run(&time_first)["seconds"].as_f64().unwrap() - 1.0).abs() < 1e-6);
    assert!(number(&first_run(&time_first)["transactions"]) > 0);
}

#[test]
fn tcp_listens_on_loopback_only() {
    let Some(lab) = Lab::loaded() else { return };
    lab.edit("profile.yaml", "server:\n", "server:\n  transport: tcp\n");
    let mut running = lab.start("out", &[]);
    running.await_told("threads started");
    let server = running.server().expect("a server");
    let sockets = listening(server.pid);
    assert!(running.wait(PATIENCE).success(), "{}", running.told());
    lab.nothing_left();
    assert_eq!(
        sockets,
        ["0100007F"],
        "addresses of the server's listening sockets, as /proc/net/tcp has them"
    );
    assert_eq!(holds(first_run(&lab.result("out")), "commits_match"), true);
}

/// Local addresses of the process's listening TCP sockets.
fn listening(pid: i32) -> Vec<String> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let sockets: Vec<String> = links
        .filter_map(|link| {
            let target = fs::read_link(link.ok()?.path()).ok()?;
            Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    const LISTEN: &str = "0A";
    let tables =
        ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    lines
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let ours = fields[3] == LISTEN && sockets.iter().any(|inode| inode == fields[9]);
            ours.then(|| fields[1].split(':').next().unwrap_or_default().to_owned())
        })
        .collect()
}
