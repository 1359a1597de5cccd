//! A host's kernel counters, once a second.

use std::path::Path;

use super::devices::BlockDevices;
use super::diskstats::DiskReader;
use super::host::{parse_cpu, parse_pressure};
use super::kernel_file::KernelFile;
use super::mounts::MountTable;
use crate::protocol::clock::monotonic_ns;
use crate::protocol::sample::{HostSample, Pressure};

/// What is read of `/proc/stat` and `/proc/pressure/io`: their first lines are far shorter.
const START_BYTES: usize = 512;

/// Samples the devices below one directory, the processors and the pressure of I/O.
///
/// Devices are found once, when it is made. A file that this kernel lacks leaves its part of a sample
/// empty.
#[derive(Debug)]
pub struct HostSampler {
    disks: DiskReader,
    stat: KernelFile,
    pressure: KernelFile,
    skipped: u64,
}

impl HostSampler {
    /// For the device that `target` is, or that it (or its nearest ancestor that exists) is on.
    #[must_use]
    pub fn new(target: &Path) -> Self {
        let mounts = MountTable::of_this_process();
        let headline = mounts.device_of(target);
        let devices = BlockDevices::new(Path::new("/sys"), mounts);
        Self::of_devices(Path::new("/proc"), headline.map_or_else(Vec::new, |n| devices.stack(&n)))
    }

    /// For the devices with these `major:minor` numbers, from `/proc` or what stands for it.
    #[must_use]
    pub fn of_devices(proc_root: &Path, numbers: Vec<String>) -> Self {
        Self {
            disks: DiskReader::new(proc_root, numbers),
            stat: KernelFile::open(&proc_root.join("stat")),
            pressure: KernelFile::open(&proc_root.join("pressure/io")),
            skipped: 0,
        }
    }

    /// The devices it samples, `major:minor`, the headline first.
    #[must_use]
    pub fn numbers(&self) -> &[String] {
        self.disks.numbers()
    }

    /// Lines of `/proc/diskstats` so far that made no sense.
    #[must_use]
    pub fn skipped_lines(&self) -> u64 {
        self.skipped
    }

    /// Reads the counters. The time is the middle of reading the disks'.
    pub fn sample(&mut self) -> HostSample {
        let before = monotonic_ns();
        // Without the file there are no disks, which is what the empty reading says.
        let _ = self.disks.take();
        let after = monotonic_ns();
        let reading = self.disks.reading();
        self.skipped += reading.skipped;
        HostSample {
            at_ns: before + (after - before) / 2,
            disks: reading.disks,
            cpu: start_of(&self.stat, parse_cpu).unwrap_or_default(),
            pressure: Pressure { io: start_of(&self.pressure, parse_pressure), ..Pressure::default() },
            memory: None,
            network: None,
            io: Vec::new(),
            frequency_khz: Vec::new(),
            cgroup_throttled_us: None,
        }
    }
}

fn start_of<T>(file: &KernelFile, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut space = [0; START_BYTES];
    parse(std::str::from_utf8(file.read_start(&mut space)).ok()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::protocol::sample::{CpuCounters, StallTotals};

    #[test]
    fn every_sample_is_read_anew() {
        let proc_root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(proc_root.path().join(name), text).unwrap();
        fs::create_dir(proc_root.path().join("pressure")).unwrap();
        write("diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 1 2 3 4 5 6 7 8 9 10 11\n");
        write("stat", &format!("cpu 1 2 3 4\n{}", "intr 0 ".repeat(500)));
        write("pressure/io", "some total=5\nfull total=3\n");
        let mut sampler = HostSampler::of_devices(proc_root.path(), vec!["8:1".into(), "8:0".into()]);

        let first = sampler.sample();
        let names: Vec<&str> = first.disks.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["sda1", "sda"]);
        assert_eq!((first.cpu.user, first.cpu.idle), (3, 4));
        assert_eq!(first.pressure.io, Some(StallTotals { some_us: 5, full_us: 3 }));

        write("diskstats", "8 0 sda 2 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 nonsense\n");
        write("stat", "cpu 9 0 3 4\n");
        let second = sampler.sample();
        assert_eq!((second.disks.len(), second.disks[0].reads.ios), (1, 2));
        assert_eq!((second.cpu.user, sampler.skipped_lines()), (9, 1));
        assert!(second.at_ns > first.at_ns);
    }

    #[test]
    fn files_that_are_missing_leave_their_part_empty() {
        let nothing = tempfile::tempdir().unwrap();
        let sample = HostSampler::of_devices(nothing.path(), vec!["8:0".into()]).sample();
        assert_eq!((sample.disks.len(), sample.cpu), (0, CpuCounters::default()));
        assert_eq!(sample.pressure.io, None);
        assert!(sample.at_ns > 0);
    }

    #[test]
    fn this_host_has_processor_time() {
        let mut sampler = HostSampler::new(Path::new("/no/such/folder"));
        let sample = sampler.sample();
        assert!(sample.cpu.idle + sample.cpu.user > 0, "{sample:?}");
        assert_eq!(sampler.skipped_lines(), 0);
        assert!(sample.disks.iter().all(|d| sampler.numbers().contains(&d.number)), "{sample:?}");
    }
}
