//! A drive that tells its wear: a loop device that /sys shows as a disk, with a smartctl that counts what the kernel
//! counts. Both are seen by the program under test alone.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use nix::sys::stat::{major, minor};
use serde_json::Value;

use super::lab::{Lab, PATIENCE, first_run, holds};
use super::mount::{Mount, may_mount};
use super::require::require;

/// Puts the first argument in the place of /sys/dev/block and goes on as the others.
const WITH_SYS: &str = r#"mount --bind "$1" /sys/dev/block && shift && exec "$@""#;

/// smartctl for a SATA drive of which the kernel's counters are the drive's.
const SMARTCTL: &str = r#"#!/bin/sh
for device; do :; done
awk -v name="${device#/dev/}" '$3 == name {
    printf "{\"smartctl\":{\"version\":[7,3],\"exit_status\":64},\"device\":{\"protocol\":\"ATA\"},"
    printf "\"logical_block_size\":512,\"smart_status\":{\"passed\":true},\"temperature\":{\"current\":31},"
    printf "\"ata_smart_attributes\":{\"table\":["
    printf "{\"id\":241,\"name\":\"Total_LBAs_Written\",\"value\":99,\"raw\":{\"value\":%d}},", $10
    printf "{\"id\":187,\"name\":\"Reported_Uncorrect\",\"value\":99,\"raw\":{\"value\":7}},"
    printf "{\"id\":249,\"name\":\"NAND_Writes_1GiB\",\"value\":99,\"raw\":{\"value\":5}},"
    printf "{\"id\":233,\"name\":\"Media_Wearout_Indicator\",\"value\":97,\"raw\":{\"value\":0}}]}}"
}' /proc/diskstats
exit 64
"#;

/// A folder like /sys/dev/block with one disk on a SATA port.
fn sys(lab: &Lab, name: &str, number: &str) {
    let disk = lab.path("devices/pci0/ata1/host0/block").join(name);
    fs::create_dir_all(&disk).unwrap();
    fs::write(disk.join("dev"), format!("{number}\n")).unwrap();
    fs::create_dir_all(lab.path("sys")).unwrap();
    symlink(disk, lab.path("sys").join(number)).unwrap();
}

fn records(result: &Path, what: &str) -> Vec<usize> {
    let journal = fs::read_to_string(result.join("journal.jsonl")).unwrap();
    let found = journal.lines().enumerate().filter(|(_, line)| line.contains(&format!("{{\"{what}\":")));
    found.map(|(number, _)| number).collect()
}

#[test]
fn a_drive_tells_what_a_run_cost_it() {
    let Some(lab) = Lab::new() else { return };
    if !may_mount() || require("unshare").is_none() {
        return;
    }
    let Some(_device) = Mount::ext4(&lab.path("d"), "600M") else { return };
    let device = fs::metadata(lab.path("d")).unwrap().dev();
    let (number, name) = (format!("{}:{}", major(device), minor(device)), format!("loop{}", minor(device)));
    sys(&lab, &name, &number);
    lab.write("smartctl", SMARTCTL);
    fs::set_permissions(lab.path("smartctl"), Permissions::from_mode(0o755)).unwrap();

    let drivestone = lab.command(&["run", "hardware.yaml", "profile.yaml", "--out", "out"]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", WITH_SYS, "sh"]).arg(lab.path("sys"));
    command.arg(drivestone.get_program()).args(drivestone.get_args());
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(lab.path("")).chain(env::split_paths(&path));
    command.current_dir(lab.path("")).env("PATH", env::join_paths(folders).unwrap());
    let mut running = lab.start_command("out", command);
    let status = running.wait(PATIENCE);
    assert!(status.success(), "{status}\n{}", running.told());
    lab.nothing_left();

    let told = records(&lab.path("out"), "health");
    let [before, after] = told[..] else { panic!("{told:?}") };
    let (started, ended) = (records(&lab.path("out"), "run_started"), records(&lab.path("out"), "run_ended"));
    assert!(before < started[0] && started[0] < after && after < ended[0], "{told:?} {started:?} {ended:?}");

    let result = lab.result("out");
    let run = first_run(&result);
    let drive = &run["wear"]["drives"][0];
    assert_eq!((&drive["device"], &drive["source"]), (&Value::from(name), &Value::from("smartctl 7.3")));
    // The drive was asked before the kernel's first sample and after its last.
    let [written, kernel] = [&drive["host_written"]["bytes"], &drive["kernel_written_bytes"]];
    let [written, kernel] = [written, kernel].map(|bytes| bytes.as_u64().unwrap());
    assert!(written >= kernel && kernel > 1_000_000, "{drive}");
    let each = written as f64 / drive["transactions"].as_f64().unwrap();
    assert_eq!(drive["host_written_per_transaction"].as_f64(), Some(each));
    assert!(drive["transactions"].as_u64() > run["transactions"].as_u64(), "{drive}");
    assert_eq!(
        (&drive["nand_written"]["too_coarse"], &drive["write_amplification"]),
        (&Value::from(true), &Value::Null)
    );
    assert_eq!(
        (&drive["used_pct"]["after"], &drive["temperature_c"]["before"]),
        (&Value::from(3), &Value::from(31))
    );
    assert_eq!(holds(run, "drives_healthy"), true, "{}", run["findings"]);
    assert!(running.printed().contains("Wear and health"), "{}", running.printed());
}
