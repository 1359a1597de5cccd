//! Disks that run full: the device under test while loading, the journal's while measuring.

use super::lab::{Lab, PATIENCE, code, first_run};
use super::mount::{Mount, may_mount};

#[test]
fn the_device_under_test() {
    let Some(lab) = Lab::new() else { return };
    if !may_mount() {
        return;
    }
    let Some(device) = Mount::ext4(&lab.path("d"), "600M") else { return };
    let mut running = lab.start("out", &["rows=150000", "load_threads=1"]);
    running.await_told("serves a new data directory");
    device.fill();
    assert_eq!(code(running.wait(PATIENCE)), 4, "{}", running.told());
    lab.nothing_left();
    let result = lab.result("out");
    assert_eq!(result["outcome"], "failed");
    let reason = result["reason"].as_str().unwrap();
    for words in ["is full", "sbtest", "rows", "of 600000 rows are loaded", "bytes are free"] {
        assert!(reason.contains(words), "{reason} has no {words:?}");
    }
    assert!(running.told().contains(reason.lines().next().unwrap()), "{}", running.told());
}

#[test]
fn the_journals_disk() {
    let Some(lab) = Lab::loaded() else { return };
    if !may_mount() {
        return;
    }
    let disk = Mount::tmpfs(&lab.path("results"), "1m");
    let mut running = lab.start("results/out", &["warmup=0s", "duration=10min"]);
    running.await_told("[ 2s ]");
    let shown = running.seconds_shown().len();
    disk.fill();
    assert_eq!(code(running.wait(PATIENCE)), 5, "{}", running.told());
    lab.nothing_left();
    let result = lab.result("results/out");
    assert_eq!(result["outcome"], "partial");
    assert!(
        result["reason"].as_str().unwrap().contains("no space left for the journal"),
        "{}",
        result["reason"]
    );
    assert!(first_run(&result)["series"].as_array().unwrap().len() >= shown);
}
