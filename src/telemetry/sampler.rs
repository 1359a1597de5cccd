//! A host's kernel counters, once a second.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::devices::BlockDevices;
use super::diskstats::DiskReader;
use super::frequency::Frequencies;
use super::host::{parse_cpu, parse_pressure};
use super::kernel_file::KernelFile;
use super::limits::{parse_throttled, throttling_file};
use super::memory::parse_memory_sample;
use super::network::{LOOPBACK, parse_interface};
use super::process::{io_of, own_processes};
use crate::protocol::clock::monotonic_ns;
use crate::protocol::sample::{
    HostSample, MeasuredProcess, MemorySample, NetworkCounters, Pressure, ProcessIo, StallTotals,
};

/// What is read of `/proc/stat`, whose first line is far shorter, and of files of a few lines.
const START_BYTES: usize = 512;

/// What a sampler watches beside the devices and the machine.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// Process id of the server, which may be started anew; nobody's I/O is watched without one.
    pub server: Option<Arc<AtomicI32>>,
    /// Clients reach the server over TCP on 127.0.0.1.
    pub loopback: bool,
}

/// Samples the devices below one directory and the machine.
///
/// Devices are found once, when it is made. A file that this kernel lacks leaves its part of a sample
/// empty.
#[derive(Debug)]
pub struct HostSampler {
    disks: DiskReader,
    files: Files,
    frequencies: Frequencies,
    watched: Watched,
    processes: Vec<(MeasuredProcess, i32)>,
    proc_root: PathBuf,
    skipped: u64,
    odd: u64,
}

/// Files that stay open.
#[derive(Debug)]
struct Files {
    stat: KernelFile,
    pressure: [KernelFile; 3],
    meminfo: KernelFile,
    vmstat: KernelFile,
    network: KernelFile,
    throttling: Option<KernelFile>,
    text: [Vec<u8>; 2],
}

impl HostSampler {
    /// For the device that `target` is, or that it (or its nearest ancestor that exists) is on.
    #[must_use]
    pub fn new(target: &Path, watched: Watched) -> Self {
        let devices = BlockDevices::of_this_host();
        let numbers = devices.mounts().device_of(target).map_or_else(Vec::new, |n| devices.stack(&n));
        Self::of_devices(Path::new("/proc"), Path::new("/sys"), numbers, watched)
    }

    /// For the devices with these `major:minor` numbers, from `/proc` and `/sys` or what stands for them.
    #[must_use]
    pub fn of_devices(proc_root: &Path, sysfs: &Path, numbers: Vec<String>, watched: Watched) -> Self {
        let open = |name: &str| KernelFile::open(&proc_root.join(name));
        Self {
            disks: DiskReader::new(proc_root, numbers),
            files: Files {
                stat: open("stat"),
                pressure: ["pressure/cpu", "pressure/io", "pressure/memory"].map(open),
                meminfo: open("meminfo"),
                vmstat: open("vmstat"),
                network: open("net/dev"),
                throttling: throttling_file(&proc_root.join("self")).map(|file| KernelFile::open(&file)),
                text: Default::default(),
            },
            frequencies: Frequencies::of(sysfs),
            processes: own_processes(proc_root),
            watched,
            proc_root: proc_root.to_path_buf(),
            skipped: 0,
            odd: 0,
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

    /// Lines of `/proc/diskstats` so far that had an odd number of fields.
    #[must_use]
    pub fn odd_lines(&self) -> u64 {
        self.odd
    }

    /// Reads the counters. The time is the middle of reading the disks'.
    pub fn sample(&mut self) -> HostSample {
        // Without the file there are no disks, which is what the empty reading says.
        let at_ns = self.disks.take().unwrap_or_else(|_| monotonic_ns());
        // Next to the disks: what processes did is compared with what devices did.
        let io = self.processes_io();
        let reading = self.disks.reading();
        self.skipped += reading.skipped;
        self.odd += reading.odd;
        let files = &mut self.files;
        let [cpu, io_pressure, memory] = files.pressure.each_ref().map(stalls);
        HostSample {
            at_ns,
            disks: reading.disks,
            cpu: start_of(&files.stat, parse_cpu).unwrap_or_default(),
            pressure: Pressure { cpu, io: io_pressure, memory },
            memory: files.memory(),
            network: self.watched.loopback.then(|| files.interface()).flatten(),
            io,
            frequency_khz: self.frequencies.now_khz(),
            cgroup_throttled_us: files.throttling.as_ref().and_then(|file| start_of(file, parse_throttled)),
        }
    }

    fn processes_io(&self) -> Vec<ProcessIo> {
        let Some(server) = &self.watched.server else { return Vec::new() };
        let server = (MeasuredProcess::Server, server.load(Ordering::Relaxed));
        let all = std::iter::once(server).chain(self.processes.iter().copied());
        all.filter_map(|(process, pid)| io_of(&self.proc_root, process, pid)).collect()
    }
}

impl Files {
    fn memory(&mut self) -> Option<MemorySample> {
        let [meminfo, vmstat] = &mut self.text;
        for (file, text) in [(&self.meminfo, &mut *meminfo), (&self.vmstat, &mut *vmstat)] {
            text.clear();
            // What cannot be read is empty, and then unknown.
            let _ = file.read_all(text);
        }
        parse_memory_sample(
            std::str::from_utf8(meminfo).ok()?,
            std::str::from_utf8(vmstat).unwrap_or_default(),
        )
    }

    fn interface(&mut self) -> Option<NetworkCounters> {
        let [text, _] = &mut self.text;
        text.clear();
        self.network.read_all(text).ok()?;
        parse_interface(std::str::from_utf8(text).ok()?, LOOPBACK)
    }
}

fn stalls(file: &KernelFile) -> Option<StallTotals> {
    start_of(file, parse_pressure)
}

fn start_of<T>(file: &KernelFile, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut space = [0; START_BYTES];
    // The end of what fits may lie within a character.
    let read = file.read_start(&mut space).utf8_chunks().next()?.valid();
    parse(read)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::protocol::sample::{CpuCounters, StallTotals};

    fn of_devices(proc_root: &Path, numbers: &[&str]) -> HostSampler {
        let numbers = numbers.iter().map(|&number| number.to_owned()).collect();
        HostSampler::of_devices(proc_root, Path::new("/nowhere"), numbers, Watched::default())
    }

    #[test]
    fn every_sample_is_read_anew() {
        let proc_root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(proc_root.path().join(name), text).unwrap();
        fs::create_dir(proc_root.path().join("pressure")).unwrap();
        write("diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 1 2 3 4 5 6 7 8 9 10 11\n");
        write("stat", &format!("cpu 1 2 3 4\n{}", "intr 0 ".repeat(500)));
        write("pressure/io", "some total=5\nfull total=3\n");
        let mut sampler = of_devices(proc_root.path(), &["8:1", "8:0"]);

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
        let sample = of_devices(nothing.path(), &["8:0"]).sample();
        assert_eq!((sample.disks.len(), sample.cpu), (0, CpuCounters::default()));
        assert_eq!(sample.pressure.io, None);
        assert!(sample.at_ns > 0);
    }

    #[test]
    fn this_host_has_processor_time() {
        let mut sampler = HostSampler::new(Path::new("/no/such/folder"), Watched::default());
        let sample = sampler.sample();
        assert!(sample.cpu.idle + sample.cpu.user > 0, "{sample:?}");
        assert_eq!(sampler.skipped_lines(), 0);
        assert!(sample.disks.iter().all(|d| sampler.numbers().contains(&d.number)), "{sample:?}");
    }

    #[test]
    fn a_watched_server_and_its_network() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("meminfo", "MemAvailable: 8 kB\nCached: 3 kB\n");
        write("vmstat", "pswpin 2\n");
        write("net/dev", "lo: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n");
        write("7/io", "read_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 0\n");
        write("8/io", "read_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n");
        let server = Arc::new(AtomicI32::new(7));
        let watched = Watched { server: Some(Arc::clone(&server)), loopback: true };
        let mut sampler = HostSampler::of_devices(root.path(), Path::new("/nowhere"), Vec::new(), watched);
        let sample = sampler.sample();
        assert_eq!(
            sample.memory.map(|memory| (memory.page_cache_bytes, memory.swapped_in_pages)),
            Some((3072, 2))
        );
        assert_eq!(
            sample.network.map(|network| (network.received_bytes, network.sent_packets)),
            Some((1, 4))
        );
        assert_eq!(sample.io.iter().map(|io| (io.pid, io.read_bytes)).collect::<Vec<_>>(), [(7, 5)]);
        server.store(8, Ordering::Relaxed);
        assert_eq!(sampler.sample().io[0].pid, 8, "it was started anew");
    }
}
