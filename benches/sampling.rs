//! What sampling costs the host: a stack of 64 block devices, read once a second as a run does.
//!
//! `cargo bench --bench sampling`
//!
//! The devices are lines of a file in place of `/proc/diskstats`, as long as real ones; everything else is this
//! machine's own /proc and /sys. The kernel's part of making `/proc/diskstats` up is measured apart, over the devices
//! that this machine has.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use drivestone::telemetry::sampler::{HostSampler, Watched};
use nix::sys::resource::{UsageWho, getrusage};

const DEVICES: usize = 64;
const SAMPLES: usize = 5_000;
/// Samples after which memory has had time to settle.
const FEW: usize = 100;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..DEVICES)
        .map(|n| {
            format!(
                " 259 {n:>7} nvme{n}n1 123456789 1234 9876543210 1234567 98765432 12345 8765432109 2345678 0 3456789 \
                 4567890 123 0 456789 12 34567 45678\n"
            )
        })
        .collect();
    fs::write(folder.path().join("diskstats"), &lines).unwrap();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        if name != "diskstats" {
            symlink(entry.path(), folder.path().join(&name)).unwrap();
        }
    }
    let numbers: Vec<String> = (0..DEVICES).map(|n| format!("259:{n}")).collect();
    let own = Arc::new(AtomicI32::new(i32::try_from(std::process::id()).unwrap()));
    let watched = Watched { server: Some(own), loopback: true };
    let mut sampler = HostSampler::of_devices(folder.path(), Path::new("/sys"), numbers, watched);
    assert_eq!(sampler.sample().disks.len(), DEVICES);

    let (_, few) = measure(FEW, || drop(sampler.sample()));
    let (cpu_us, many) = measure(SAMPLES, || drop(sampler.sample()));
    println!(
        "a sample of {DEVICES} devices and the host: {cpu_us:.0} µs of processor time, {:.3} % of a core at 1 s",
        cpu_us / 1e4
    );
    let there = fs::read_to_string("/proc/diskstats").unwrap().lines().count();
    let (kernel_us, _) = measure(SAMPLES, || drop(fs::read("/proc/diskstats").unwrap()));
    println!(
        "reading the real /proc/diskstats of {there} devices: {kernel_us:.0} µs, {:.3} % of a core",
        kernel_us / 1e4
    );
    println!("resident memory after {FEW} samples {few} kB, after {} {many} kB", FEW + SAMPLES);
}

/// Processor time of one turn, µs, and the resident memory afterwards, kB.
fn measure(turns: usize, mut turn: impl FnMut()) -> (f64, u64) {
    let before = cpu_us();
    (0..turns).for_each(|_| turn());
    let cpu_us = (cpu_us() - before) / turns as f64;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (cpu_us, resident.trim().trim_end_matches(" kB").parse().unwrap())
}

fn cpu_us() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let us = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
    us(usage.user_time()) + us(usage.system_time())
}
