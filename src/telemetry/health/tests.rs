//! Asking drives by tools that stand in for the real ones.

use std::fs;
use std::process::Command;

use super::*;

/// A program of this name and these lines of shell. Another process writes it: what a thread beside this one
/// starts just now would hold a file that is being written here, and that cannot be run.
pub fn stub(folder: &Path, name: &str, lines: &str) -> PathBuf {
    let (text, program) = (folder.join(format!("{name}.text")), folder.join(name));
    fs::write(&text, format!("#!/bin/sh\n{lines}\n")).unwrap();
    let status = Command::new("install").args(["-m", "755"]).args([&text, &program]).status().unwrap();
    assert!(status.success(), "{status}");
    program
}

fn drive(name: &str) -> Drive {
    Drive {
        name: name.into(),
        number: "8:0".into(),
        is_nvme: name.starts_with("nvme"),
        is_intels: false,
        unasked: None,
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn fixture(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path).display().to_string()
}

#[test]
fn what_both_tools_tell_of_one_drive_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("asked");
    let nvme = format!(
        "echo nvme \"$@\" >> {}\ncase $1 in smart-log) cat {};; ocp) cat {};; *) exit 1;; esac",
        log.display(),
        fixture("nvme/smart-log-1.json"),
        fixture("nvme/ocp.json")
    );
    let smartctl =
        format!("echo smartctl \"$@\" >> {}\ncat {}; exit 64", log.display(), fixture("smartctl/nvme.json"));
    let tools = Tools {
        nvme: Some(stub(folder.path(), "nvme", &nvme)),
        smartctl: Some(stub(folder.path(), "smartctl", &smartctl)),
    };
    let health = tools.ask_by(&drive("nvme0n1"), "/dev/nvme0n1", soon()).unwrap();
    assert_eq!(health.source, "nvme smart-log, nvme ocp, smartctl 7.3");
    assert_eq!(health.host_written_bytes, Some(8_437_019 * 512_000), "of who was asked first");
    assert_eq!(health.nand_written_bytes, Some(5_000_000_000_000));
    assert_eq!(health.throttled_s, Some(85), "smartctl knows of 180 s beyond the limits alone");
    insta::assert_snapshot!(fs::read_to_string(log).unwrap(), @r"
    nvme smart-log /dev/nvme0n1 -o json
    nvme ocp smart-add-log /dev/nvme0n1 -o json
    smartctl --json -n standby -a -l devstat -l ssd /dev/nvme0n1
    ");
}

#[test]
fn intels_drives_have_a_log_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let nvme = format!(
        "case $1 in smart-log) cat {};; intel) cat {};; *) exit 1;; esac",
        fixture("nvme/smart-log-2.json"),
        fixture("nvme/intel.json")
    );
    let tools = Tools { nvme: Some(stub(folder.path(), "nvme", &nvme)), smartctl: None };
    let intels = Drive { is_intels: true, ..drive("nvme0n1") };
    let health = tools.ask_by(&intels, "/dev/nvme0n1", soon()).unwrap();
    assert_eq!(
        (health.source.as_str(), health.nand_written_bytes),
        ("nvme smart-log, nvme intel", Some(120_000 << 25))
    );
    let others = tools.ask_by(&drive("nvme0n1"), "/dev/nvme0n1", soon()).unwrap();
    assert_eq!((others.source.as_str(), others.nand_written_bytes), ("nvme smart-log", None));
}

#[test]
fn a_drive_that_tells_nothing_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let refused =
        stub(folder.path(), "smartctl", &format!("cat {}; exit 2", fixture("smartctl/refused.json")));
    let nvme = stub(folder.path(), "nvme", "echo '/dev/nvme0n1: Permission denied' >&2; exit 1");
    let reason = |tools: &Tools, name: &str| tools.ask_by(&drive(name), "/dev/x", soon()).unwrap_err();
    let as_root = if geteuid().is_root() { "" } else { "; drives tell it to root alone" };
    let both = Tools { smartctl: Some(refused), nvme: Some(nvme) };
    let smartctls = "smartctl: Smartctl open device: /dev/nvme0n1 failed: Permission denied";
    assert_eq!(
        reason(&both, "nvme0n1"),
        format!("nvme: /dev/nvme0n1: Permission denied; {smartctls}{as_root}")
    );
    assert_eq!(reason(&both, "sda"), format!("{smartctls}{as_root}"), "nvme is for NVMe alone");
    let garbage =
        Tools { smartctl: Some(stub(folder.path(), "garbage", "echo garbage; exit 4")), nvme: None };
    assert_eq!(reason(&garbage, "sda"), format!("smartctl printed no JSON{as_root}"));
    let none = Tools::default();
    assert_eq!(reason(&none, "sda"), "smartctl was not found there: install smartmontools");
    assert_eq!(reason(&none, "nvme0n1"), "smartctl was not found there: install smartmontools or nvme-cli");
}

#[test]
fn a_tool_that_hangs_takes_no_longer_than_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let hangs = stub(folder.path(), "smartctl", "exec sleep 600");
    let tools = Tools { smartctl: Some(hangs), nvme: None };
    let began = Instant::now();
    let error = tools.ask_by(&drive("sda"), "/dev/sda", began + Duration::from_millis(500)).unwrap_err();
    assert!(error.starts_with("smartctl did not answer in time"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn a_virtual_disk_is_not_asked() {
    let silent = Drive { unasked: Some("a virtual disk".into()), ..drive("vda") };
    assert_eq!(Tools::default().ask(&silent, soon()).unwrap_err(), "a virtual disk");
    assert!(Tools::find(&[silent]).smartctl.is_none(), "not even looked for");
}

/// Whatever this machine has: every drive tells something or has a reason.
#[test]
fn this_machine_is_read_in_time() {
    let began = Instant::now();
    let sample = read(&std::env::temp_dir(), Duration::from_secs(2));
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert!(sample.at_ns > 0);
    assert!(
        sample.drives.iter().all(|drive| !drive.device.is_empty() && !drive.source.is_empty()),
        "{sample:?}"
    );
    assert!(sample.silent.iter().all(|drive| !drive.reason.is_empty()), "{sample:?}");
}
