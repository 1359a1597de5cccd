//! Server and load on processors of their own, over TCP: what a result holds of its host.

use nix::unistd::SysconfVar;
use serde_json::Value;

use super::journal::Journal;
use super::lab::{Lab, first_run};
use super::mount::require_that;

#[test]
fn a_result_says_where_server_and_load_ran_and_what_the_host_did() {
    let Some(lab) = Lab::new() else { return };
    let processors = nix::unistd::sysconf(SysconfVar::_NPROCESSORS_ONLN).unwrap().unwrap_or(1);
    if require_that(processors >= 2, "two processors").is_none() {
        return;
    }
    lab.edit("hardware.yaml", "memory:", "cpus: {server: 0, load: 1}\nmemory:");
    let result = lab.run("out", &["server.transport=tcp"]);
    let journal = Journal::read(&lab.path("out"));
    let (.., ready) = journal.events("server_ready").next().unwrap();
    assert_eq!(ready["cpus"], "0");
    let (.., threads) = journal.events("load_ready").next().unwrap();
    assert_eq!(threads["cpus"], "1");

    let samples: Vec<&Value> = journal.events("host").map(|(.., sample)| sample).collect();
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    let growth = |path: &str| count(last, path) - count(first, path);
    assert_eq!(first["network"]["interface"], "lo");
    assert!(growth("/network/received_bytes") > 10_000.0, "{last}");
    assert!(count(last, "/memory/page_cache_bytes") > 0.0 && count(last, "/memory/available_bytes") > 0.0, "{last}");
    assert!(growth("/cpu/user") > 0.0, "{last}");

    // What the server's process read is what InnoDB says that it read.
    let servers: Vec<&Value> = journal.events("server").map(|(.., sample)| sample).collect();
    let read = |sample: &Value| count(sample, "/counters/Innodb_data_read");
    let by_innodb = read(servers[servers.len() - 1]) - read(servers[0]);
    let by_process = server_reads(last) - server_reads(first);
    assert!((by_process / by_innodb - 1.0).abs() < 0.1, "{by_process} where InnoDB read {by_innodb}");
    assert!(first_run(&result)["findings"].is_array());
}

#[test]
fn a_processor_that_is_not_there_is_refused() {
    let lab = Lab::without_server();
    lab.edit("hardware.yaml", "memory:", "cpus: {server: 0, load: 0-1023}\nmemory:");
    let output = lab.output(&["run", "hardware.yaml", "profile.yaml", "--out", "out"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("cpus.load") && told.contains("1023 cannot be used here"), "{told}");
    assert!(!lab.path("out").exists());
}

fn count(sample: &Value, path: &str) -> f64 {
    sample.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {sample}"))
}

fn server_reads(sample: &Value) -> f64 {
    let processes = sample["io"].as_array().unwrap();
    let server = processes.iter().find(|io| io["process"] == "server").unwrap();
    assert!(processes.iter().any(|io| io["process"] == "coordinator"), "{processes:?}");
    count(server, "/read_bytes")
}
