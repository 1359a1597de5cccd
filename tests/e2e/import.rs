//! `drivestone import`: what sysbench printed becomes a result like any other.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use super::lab::{Lab, code};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sysbench").join(name)
}

/// Exit code, standard output and standard error.
fn said(lab: &Lab, arguments: &[&str]) -> (i32, String, String) {
    let output = lab.output(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (code(output.status), text(output.stdout), text(output.stderr))
}

fn imported(lab: &Lab, name: &str, arguments: &[&str]) -> String {
    let log = fixture(name);
    let all = [&["import", log.to_str().unwrap()], arguments].concat();
    let (code, table, message) = said(lab, &all);
    assert_eq!(code, 0, "{message}");
    table
}

#[test]
fn a_log_becomes_a_result_that_is_reported_beside_others() {
    let lab = Lab::without_server();
    let table = imported(&lab, "1.1-galera.log", &["--out", "galera", "--device", "Galera, three nodes"]);
    assert!(table.contains("Galera, three nodes") && table.contains("567.21"), "{table}");
    assert!(table.ends_with("\nResult: galera\n"), "{table}");
    imported(&lab, "1.0-fatal.log", &["--out", "fatal", "--name", "broken off"]);
    assert_eq!(
        fs::read(lab.path("galera/sysbench.log")).unwrap(),
        fs::read(fixture("1.1-galera.log")).unwrap()
    );

    let (_, table, _) = said(&lab, &["report", "galera", "fatal"]);
    for expected in ["imported", "PARTIAL, imported", "broken off", "up to 1 %", "unknown: imported"] {
        assert!(table.contains(expected), "{expected} is missing:\n{table}");
    }
    let (_, page, _) = said(&lab, &["report", "galera", "fatal", "--format", "html"]);
    assert!(page.contains("161.51 (95th)") && page.contains("95th percentile of each interval"));
    let (_, json, _) = said(&lab, &["report", "galera", "--format", "json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    let run = &report["results"][0]["runs"][0];
    assert_eq!((&run["p95_ms"], &run["p99_ms"]), (&Value::from(161.51), &Value::Null));
    assert_eq!(run["series"].as_array().unwrap().len(), 58);
    assert_eq!(report["results"][0]["imported"]["device"], "Galera, three nodes");
}

#[test]
fn standard_input_and_several_runs() {
    let lab = Lab::without_server();
    let mut child = lab
        .command(&["import", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(fixture("0.4-modes.log")).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("from standard input") && table.contains("25,957.25"), "{table}");
    let made = fs::read_dir(lab.path("reports/runs")).unwrap().next().unwrap().unwrap().file_name();
    assert!(made.to_string_lossy().ends_with("Z-imported-stdin"), "{made:?}");
}

#[test]
fn a_workload_is_named_where_the_log_names_none() {
    let lab = Lab::without_server();
    let table = imported(&lab, "1.0-whole.log", &["--out", "whole", "--workload", "oltp_read_write"]);
    assert!(table.contains("oltp_read_write, 1 × 4 threads"), "{table}");
    let table = imported(&lab, "0.4-modes.log", &["--out", "modes", "--workload", "oltp_read_write"]);
    assert!(table.contains("sysbench04_complex") && !table.contains("oltp_read_write"), "{table}");
}

#[test]
fn passwords_are_not_kept() {
    let lab = Lab::without_server();
    let log = fixture("1.0-terminal.log");
    let (_, _, message) = said(&lab, &["import", log.to_str().unwrap(), "--out", "out"]);
    assert!(message.contains("passwords on command lines and in SQL of the log were blanked"), "{message}");
    for file in ["out/sysbench.log", "out/imported.json"] {
        let text = String::from_utf8(fs::read(lab.path(file)).unwrap()).unwrap();
        assert!(text.contains("--table-size") || text.contains("table-size"), "{file}");
        assert!(!text.contains("example"), "{file}");
    }
}

#[test]
fn what_cannot_be_imported_leaves_nothing() {
    let lab = Lab::without_server();
    let changed = fs::read_to_string(fixture("1.0-whole.log")).unwrap().replace("threads: 4", "threads: 0");
    lab.write("changed.log", &changed);
    lab.write("prose.txt", "We ran sysbench and it was fast.\n");
    let cpu = fixture("1.0-cpu.log");
    for (log, expected) in [
        ("changed.log", "error: changed.log:4: threads 0 cannot be: a run has at least one thread"),
        ("prose.txt", "error: prose.txt: there is no run of sysbench in it"),
        (cpu.to_str().unwrap(), "it is of a test without SQL statistics"),
        ("missing.log", "error: missing.log: No such file"),
        (".", "error: .: is a folder; give the file of a log"),
    ] {
        let (code, table, message) = said(&lab, &["import", log, "--out", "out"]);
        assert_eq!((code, table.as_str()), (2, ""), "{log}: {message}");
        assert!(message.contains(expected), "{log}: {message}");
        assert!(!lab.path("out").exists(), "{log}");
    }
    let whole = fixture("1.0-whole.log");
    for (arguments, expected) in [
        (["--out", "lab/out"], "there is no folder lab; make it first"),
        (["--out", "hardware.yaml"], "hardware.yaml exists"),
        (["--name", "a/b"], "without slash"),
    ] {
        let all = [&["import", whole.to_str().unwrap()][..], &arguments].concat();
        let (code, _, message) = said(&lab, &all);
        assert_eq!(code, 2, "{message}");
        assert!(message.contains(expected), "{message}");
    }
    assert!(!lab.path("reports").exists());
}

#[test]
fn an_imported_result_is_kept_and_cannot_be_repeated() {
    let lab = Lab::without_server();
    imported(&lab, "1.0-whole.log", &["--out", "out"]);
    let (code, _, message) = said(&lab, &["run", "--from", "out"]);
    assert_eq!(code, 2);
    assert!(message.contains("it was imported from a log"), "{message}");
    for file in ["out/sysbench.log", "out/imported.json"] {
        let (code, _, message) = said(&lab, &["report", "out", "--out", file]);
        assert_eq!(code, 2, "{message}");
        assert!(message.contains("is part of a result"), "{message}");
    }
}
