//! `drivestone iostat` against sysstat's: the same snapshots give the same figures.

#![allow(clippy::unwrap_used, reason = "clippy's exception for tests does not reach their helper functions")]

#[path = "e2e/binary.rs"]
mod binary;
#[path = "e2e/require.rs"]
mod require;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use binary::DRIVESTONE;
use nix::unistd::geteuid;
use require::{require, scratch};

/// Two snapshots, ten seconds apart: ticks that wrap, merges, discards and flushes, utilisation above 100 %, devices
/// that did nothing, and names of every shape.
const FIRST: &str = "\
 259 0 nvme0n1 1000 100 80000 4294967000 2000 300 160000 4294617635 0 500000 900000 10 0 800 5 40 60
 259 1 nvme0n1p1 17 3 1001 55 23 5 4097 66 0 77 121 0 0 0 0 0 0
 8 0 sda 123456789 2345 9876543210 45678901 98765432 34567 8765432109 56789012 0 67890123 4294967290 1111 22 333333 4444 55555 66666
 9 127 md127 5 0 40 1 7 0 56 2 0 3 3 0 0 0 0 0 0
 253 0 dm-0 100 0 800 10 200 0 1600 20 0 30 30 5 1 4096 2 0 0
 7 3 loop3 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0
";
const SECOND: &str = "\
 259 0 nvme0n1 2000 150 112000 704 4000 500 224000 1024485 3 510000 930000 20 0 1600 10 80 180
 259 1 nvme0n1p1 30 3 1327 61 29 12 4211 99 0 91 163 0 0 0 0 0 0
 8 0 sda 123479876 2399 9877543333 45699999 98799111 35012 8766011111 56811111 17 67901111 8 1238 29 335555 4509 55721 66989
 9 127 md127 12 0 103 9 7 0 56 2 0 9 11 0 0 0 0 0 0
 253 0 dm-0 133 0 1067 12345 207 0 1663 54321 9 14030 66696 9 3 5219 7 0 0
 7 3 loop3 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0
";
const DEVICES: [&str; 6] = ["nvme0n1", "nvme0n1p1", "sda", "md127", "dm-0", "loop3"];

/// Root in a mount namespace of its own may put files over those of /proc; `None` after saying that the test is skipped.
fn sysstat() -> Option<std::path::PathBuf> {
    require("unshare")?;
    let iostat = require("iostat")?;
    if geteuid().is_root() {
        return Some(iostat);
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "this test has to run as root");
    std::io::stderr().write_all(b"SKIPPED: only root can put snapshots over /proc/diskstats\n").unwrap();
    None
}

/// Runs programs beside each other, over snapshots whose second takes the place of the first while they wait. With
/// times, the system's uptime is another as well.
fn over_proc(
    programs: &[(&str, Vec<&str>)],
    snapshots: [&str; 2],
    uptimes: Option<[&str; 2]>,
) -> Vec<String> {
    let folder = scratch();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, text) in [("now", snapshots[0]), ("later", snapshots[1])] {
        fs::write(path(name), text).unwrap();
    }
    // sysstat reads /proc/diskstats for `-p ALL` alone, and asks /sys which devices are whole ones.
    for device in DEVICES {
        fs::create_dir_all(folder.path().join("block").join(device)).unwrap();
    }
    let mut script = format!(
        "set -e; cd {}; mount --bind now /proc/diskstats; mount --bind block /sys/block; ",
        folder.path().display()
    );
    let mut change = "cat later > now; ".to_owned();
    if let Some([before, after]) = uptimes {
        fs::write(path("uptime"), format!("{before} 1.00\n")).unwrap();
        fs::write(path("uptime-later"), format!("{after} 1.00\n")).unwrap();
        script += "mount --bind uptime /proc/uptime; ";
        change += "cat uptime-later > uptime; ";
    }
    for (n, (program, arguments)) in programs.iter().enumerate() {
        script += &format!("{program} {} > out{n} & ", arguments.join(" "));
    }
    script += &format!("sleep 1; {change} wait");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .env("S_TIME_FORMAT", "ISO")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (0..programs.len()).map(|n| fs::read_to_string(path(&format!("out{n}"))).unwrap()).collect()
}

/// The header and the rows of a report, as words.
fn table(report: &str) -> Vec<Vec<String>> {
    let lines =
        report.lines().skip_while(|line| !line.starts_with("Device")).take_while(|line| !line.is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn replay(recording: &str, devices: &[&str]) -> String {
    let folder = scratch();
    let path = folder.path().join("recording");
    fs::write(&path, recording).unwrap();
    run(&["iostat", "--replay", path.to_str().unwrap()], devices)
}

fn run(arguments: &[&str], devices: &[&str]) -> String {
    let output = Command::new(DRIVESTONE).args(arguments).args(devices).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_recording_has_sysstats_figures_to_the_last_digit() {
    let Some(iostat) = sysstat() else { return };
    // A hundredth more or less changes many last digits.
    for (before, after) in [("1000.00", "1010.00"), ("1000.00", "1010.01"), ("52.37", "55.70")] {
        let arguments = ["-x", "-y", "-p", "ALL", "2", "1"].into();
        let theirs =
            over_proc(&[(iostat.to_str().unwrap(), arguments)], [FIRST, SECOND], Some([before, after]));
        let ours = replay(&format!("# {before}\n{FIRST}# {after}\n{SECOND}"), &[]);
        assert_eq!(table(&theirs[0]), table(&ours), "{before} to {after}:\n{}\n{ours}", theirs[0]);
        assert_eq!(table(&ours).len(), 1 + DEVICES.len());
    }
}

#[test]
fn live_figures_are_sysstats_of_the_same_moment() {
    let Some(iostat) = sysstat() else { return };
    let theirs = ["-x", "-y", "-p", "ALL", "2", "1"].into();
    let ours = ["iostat", "2", "1"].into();
    let programs = [(iostat.to_str().unwrap(), theirs), (DRIVESTONE, ours)];
    let reports = over_proc(&programs, [FIRST, SECOND], None);
    let (theirs, ours) = (table(&reports[0]), table(&reports[1]));
    assert_eq!(theirs[0], ours[0]);
    assert_eq!(theirs.len(), 1 + DEVICES.len(), "{}", reports[0]);
    for (column, name) in theirs[0].iter().enumerate() {
        // Two programs wake up some milliseconds apart, and theirs knows hundredths of a second.
        let is_rate = name.ends_with("/s") || name == "aqu-sz" || name == "%util";
        for (theirs, ours) in theirs.iter().zip(&ours).skip(1) {
            if column == 0 || !is_rate {
                assert_eq!(theirs[column], ours[column], "{name}");
            } else {
                let [a, b] = [theirs, ours].map(|row| row[column].parse::<f64>().unwrap());
                assert!((a - b).abs() <= 0.03 * b.max(0.5), "{name} of {}: {a} and {b}", ours[0]);
            }
        }
    }
}

#[test]
fn devices_that_come_go_and_are_created_anew() {
    let recording = "\
# 10
8 0 sda 1000 0 8000 100 0 0 0 0 0 100 100 0 0 0 0 0 0
8 16 sdb 5 0 40 1 0 0 0 0 0 1 1
# 20
8 0 sda 10 0 80 1 0 0 0 0 0 1 1 0 0 0 0 0 0
8 16 sdb 15 0 120 2 0 0 0 0 0 20001 30001
8 32 sdc 1 0 8 1 0 0 0 0 0 1 1
# 30.5
8 0 sda 115 0 920 22 0 0 0 0 0 22 22 21 0 168 3 42 84
8 32 sdc 22 0 176 1 0 0 0 0 0 1 1 9 9
";
    insta::assert_snapshot!(replay(recording, &[]));
    insta::assert_snapshot!(replay(recording, &["sdb"]));
    let folder = scratch();
    let path = folder.path().join("recording");
    fs::write(&path, recording).unwrap();
    let output = Command::new(DRIVESTONE).args(["iostat", "--json", "--replay"]).arg(&path).output().unwrap();
    let lines: Vec<serde_json::Value> =
        output.stdout.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["devices"][0]["r/s"], &lines[1]["devices"][0]["r/s"]),
        (&serde_json::Value::Null, &10.0.into())
    );
    assert_eq!((lines[1]["elapsed_s"].as_f64(), lines[1]["at_s"].as_f64()), (Some(10.5), Some(30.5)));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("line 10 has 16 fields") && told.contains("sdb is gone"), "{told}");
}

#[test]
fn what_cannot_be_watched_or_replayed_is_refused() {
    let folder = scratch();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = write("good", &format!("# 1\n{FIRST}# 2\n{SECOND}"));
    let backwards = write("backwards", &format!("# 2\n{FIRST}# 1\n{SECOND}"));
    let twice = write("twice", &format!("# 1\n{FIRST}{FIRST}# 2\n"));
    let told: Vec<String> = [
        vec!["no-such-device"],
        vec!["1", "0"],
        vec!["--replay", "/no/such/file"],
        vec!["--replay", &good, "sdz"],
        vec!["--replay", &good, "1"],
        vec!["--replay", &backwards],
        vec!["--replay", &twice],
    ]
    .into_iter()
    .map(|arguments| {
        let output = Command::new(DRIVESTONE).arg("iostat").args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap().replace(folder.path().to_str().unwrap(), "DIR")
    })
    .collect();
    insta::assert_snapshot!(told.join(""));
    assert!(Path::new(&good).exists());
}

#[test]
fn intervals_follow_each_other_until_the_count() {
    let began = std::time::Instant::now();
    let text = run(&["iostat", "0.2", "3"], &[]);
    assert_eq!(text.matches("Device").count(), 3);
    assert!(began.elapsed() >= Duration::from_millis(600));
}
