//! Devices of known speed: a control group lets the run do so many reads, or bytes, in a second.
//!
//! Such a limit lies above the kernel's accounting of the device, which looks idle and quick meanwhile.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::stat::{major, minor};
use nix::time::{ClockId, clock_gettime};
use serde_json::Value;

use super::journal::Journal;
use super::lab::{Lab, PATIENCE, first_run, holds};
use super::mount::{Mount, may_mount, require_that};

/// Reads that miss the pool come one by one, from so many threads that some wait at all times.
const LOAD: [&str; 6] = [
    "kind=oltp_point_select",
    "allow_cached=true",
    "dataset.rows=20000",
    "load.threads=24",
    "warmup=2s",
    "duration=8s",
];

#[test]
fn a_device_of_500_reads_a_second_is_measured_as_one() {
    let Some(limited) = Limited::new("read_iops_device", 500) else { return };
    let (run, watched) = limited.run();
    let reads_per_s = run["device"]["r/s"].as_f64().unwrap();
    assert_within(reads_per_s, watched.reads_per_s, 0.01);
    assert_within(reads_per_s, 500.0, 0.05);
}

#[test]
fn a_device_of_2_mib_a_second_is_measured_as_one() {
    let Some(limited) = Limited::new("read_bps_device", 2 << 20) else { return };
    let (run, watched) = limited.run();
    let read_kb_per_s = run["device"]["rkB/s"].as_f64().unwrap();
    assert_within(read_kb_per_s, watched.read_kb_per_s, 0.01);
    assert_within(read_kb_per_s, 2048.0, 0.05);
}

fn assert_within(measured: f64, right: f64, tolerance: f64) {
    assert!((measured / right - 1.0).abs() <= tolerance, "{measured} where {right} is right");
}

/// A filesystem on a loop device, and a control group that may read only so much of it.
struct Limited {
    lab: Lab,
    _mount: Mount,
    group: PathBuf,
    device: u64,
}

/// What the kernel counted over the measured interval.
struct Watched {
    reads_per_s: f64,
    read_kb_per_s: f64,
}

impl Limited {
    fn new(rule: &str, limit: u64) -> Option<Self> {
        let lab = Lab::new().filter(|_| may_mount())?;
        let groups = Path::new("/sys/fs/cgroup/blkio");
        require_that(groups.join("blkio.throttle.read_iops_device").exists(), "a blkio cgroup of version 1")?;
        let mount = Mount::ext4(&lab.path("d"), "300M")?;
        let device = fs::metadata(lab.path("d")).unwrap().dev();
        lab.run("load", &[&LOAD[..3], &["warmup=0s", "duration=1s"]].concat());
        let group = groups.join(format!("drivestone-test-{}-{rule}", std::process::id()));
        fs::create_dir(&group).unwrap();
        let line = format!("{}:{} {limit}", major(device), minor(device));
        fs::write(group.join(format!("blkio.throttle.{rule}")), line).unwrap();
        Some(Self { lab, _mount: mount, group, device })
    }

    /// A run within the group, and what the kernel says of the same interval.
    fn run(&self) -> (Value, Watched) {
        let ended = AtomicBool::new(false);
        let readings = thread::scope(|scope| {
            let watcher = scope.spawn(|| self.watch(&ended));
            let overrides = LOAD.iter().flat_map(|change| ["--set", change]);
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.group.join("cgroup.procs"));
            let run = self.lab.command(&[]);
            command.arg(run.get_program()).args(["run", "hardware.yaml", "profile.yaml", "--out", "limited"]);
            command.args(overrides).current_dir(self.lab.path(""));
            let mut running = self.lab.start_command("limited", command);
            let status = running.wait(PATIENCE);
            ended.store(true, Ordering::Release);
            assert!(status.success(), "{status}\n{}", running.told());
            watcher.join().unwrap()
        });
        let run = first_run(&self.lab.result("limited")).clone();
        assert_eq!(holds(&run, "device_bound"), true, "{}", run["findings"]);
        let findings = run["findings"].to_string();
        assert!(findings.contains("its control group lets loop"), "{findings}");
        assert_eq!(holds(&run, "page_cache_bypassed"), true, "{}", run["findings"]);
        // What makes such a device hard to recognise.
        let device = &run["device"];
        assert!(device["r_await"].as_f64().unwrap() < 4.0, "{device}");
        assert!(device["%util"].as_f64().unwrap() < 50.0, "{device}");
        (run, self.over_the_interval(&readings))
    }

    /// The device's counters with the time of CLOCK_MONOTONIC, again and again.
    fn watch(&self, ended: &AtomicBool) -> Vec<(i64, [f64; 2])> {
        let mut readings = Vec::new();
        while !ended.load(Ordering::Acquire) {
            let text = fs::read_to_string("/proc/diskstats").unwrap();
            let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
            let fields = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let number = [major(self.device).to_string(), minor(self.device).to_string()];
            let own = fields.into_iter().find(|fields| fields[..2] == number).unwrap();
            let counter = |place: usize| own[place].parse::<f64>().unwrap();
            readings.push((now.tv_sec() * 1_000_000_000 + now.tv_nsec(), [counter(3), counter(5)]));
            thread::sleep(Duration::from_millis(5));
        }
        readings
    }

    fn over_the_interval(&self, readings: &[(i64, [f64; 2])]) -> Watched {
        let journal = Journal::read(&self.lab.path("limited"));
        let (.., started) = journal.records("run_started").next().unwrap();
        let t0_ns = started["instances"][0]["t0_ns"].as_i64().unwrap();
        let (.., ended) = journal.events("load_ended").next().unwrap();
        let end_ns = t0_ns + ended["measured_ns"].as_i64().unwrap();
        let nearest = |at_ns: i64| readings.iter().min_by_key(|(now, _)| now.abs_diff(at_ns)).unwrap();
        let ((first_ns, first), (last_ns, last)) = (nearest(t0_ns), nearest(end_ns));
        let seconds = (last_ns - first_ns) as f64 / 1e9;
        assert!(seconds > 7.0, "{seconds}");
        let [reads, sectors] = [last[0] - first[0], last[1] - first[1]];
        Watched { reads_per_s: reads / seconds, read_kb_per_s: sectors / 2.0 / seconds }
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}
