//! Hosts whose clocks differ: each has its own since it booted.

use std::io::Write as _;
use std::path::Path;

use super::Fleet;

const AHEAD_S: u32 = 1000;

#[test]
fn a_host_that_booted_earlier_measures_the_same_seconds() {
    if !Path::new("/proc/self/ns/time").exists() {
        let told = "this kernel gives no process a clock of its own";
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{told}");
        std::io::stderr().write_all(format!("SKIPPED: {told}\n").as_bytes()).unwrap();
        return;
    }
    let Some(fleet) = Fleet::with_clocks(2, |number| if number == 2 { AHEAD_S } else { 0 }) else { return };
    let journal = fleet.run("out", &[]);
    assert_eq!(journal.ending(), ("complete", ""));
    let (place, _, started) = journal.only("run_started");
    let t0 = |n: usize| started["instances"][n]["t0_ns"].as_i64().unwrap();
    let bound: i64 = ["vm1", "vm2"]
        .iter()
        .map(|host| {
            let clocks = journal.records("clock").filter(|(at, from, _)| at < &place && from == host);
            clocks.last().unwrap().2["bound_ns"].as_i64().unwrap()
        })
        .sum();
    let apart = t0(1) - t0(0) - i64::from(AHEAD_S) * 1_000_000_000;
    assert!(apart.abs() <= bound, "{apart} ns apart, known within {bound}");
    for host in ["vm1", "vm2"] {
        assert_eq!(journal.seconds(0, host), [-1, 0, 1, 2], "{host}");
    }
    // What one host does in a second, the other does at the same time.
    let ends: Vec<_> = journal.events("load_ended").map(|(place, ..)| place).collect();
    let parted = journal.seconds_between(ends[0], ends[1]);
    assert!(parted < 1.0, "their ends are {parted} s apart");
}
