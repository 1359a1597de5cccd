//! `/proc/diskstats`: one line a block device.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use procfs::DiskStat;

use crate::protocol::clock::monotonic_ns;
use crate::protocol::sample::{DiskCounters, FlushCounters, OperationCounters};

/// One line, `None` when it is not at least the 14 fields that every kernel since 2.6.25 writes.
///
/// 18 fields or more bring discards, 20 or more flushes; of a number between, or above, what it surely says is kept
/// ([`is_odd`]). The 7 fields that kernels before 2.6.25 wrote of a partition are too few to be counters of anything. Ticks are 32 bits in the kernel; a wider
/// number is cut to that, so that differences wrap alike everywhere.
#[must_use]
pub fn parse_line(line: &str) -> Option<DiskCounters> {
    let stat = DiskStat::from_line(line).ok()?;
    let discards = match (stat.discards, stat.discards_merged, stat.sectors_discarded, stat.time_discarding) {
        (Some(ios), Some(merges), Some(sectors), Some(ticks)) => {
            Some(operations(ios, merges, sectors, ticks))
        }
        _ => None,
    };
    let flushes = stat.flushes.zip(stat.time_flushing);
    Some(DiskCounters {
        number: format!("{}:{}", stat.major, stat.minor),
        reads: operations(stat.reads, stat.merged, stat.sectors_read, stat.time_reading),
        writes: operations(stat.writes, stat.writes_merged, stat.sectors_written, stat.time_writing),
        in_flight: stat.in_progress,
        busy_ticks_ms: stat.time_in_progress as u32,
        queue_ticks_ms: stat.weighted_time_in_progress as u32,
        discards,
        flushes: flushes.map(|(ios, ticks)| FlushCounters { ios, ticks_ms: ticks as u32 }),
        name: stat.name,
    })
}

/// Whether a line has a number of fields that no kernel writes.
#[must_use]
pub fn is_odd(line: &str) -> bool {
    !matches!(line.split_ascii_whitespace().count(), 14 | 18 | 20)
}

fn operations(ios: u64, merges: u64, sectors_512: u64, ticks_ms: u64) -> OperationCounters {
    OperationCounters { ios, merges, sectors_512, ticks_ms: ticks_ms as u32 }
}

/// The chosen devices' counters, and what could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskReading {
    /// In the order of the choice; a device that is gone is left out.
    pub disks: Vec<DiskCounters>,
    /// Lines of chosen devices, or of nobody knows which, that made no sense.
    pub skipped: u64,
    /// Lines of chosen devices with an odd number of fields, of which a part is used.
    pub odd: u64,
}

/// Picks the devices with these `major:minor` numbers from the file's text. A hidden device, such as a path of an NVMe
/// namespace, has no number that it can be told by: its name stands for it.
#[must_use]
pub fn select(text: &[u8], numbers: &[String]) -> DiskReading {
    let mut found: Vec<Option<DiskCounters>> = vec![None; numbers.len()];
    let (mut skipped, mut odd) = (0, 0);
    for line in text.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        // Other devices' lines are never parsed: a host can have a thousand of them.
        let Some((major, minor, name)) = line_device(line) else {
            skipped += 1;
            continue;
        };
        let is_chosen =
            |chosen: &String| chosen.split_once(':').map_or(chosen == name, |n| n == (major, minor));
        let Some(place) = numbers.iter().position(is_chosen) else {
            continue;
        };
        let line = std::str::from_utf8(line).unwrap_or_default();
        match parse_line(line) {
            Some(counters) => {
                odd += u64::from(is_odd(line));
                found[place] = Some(DiskCounters { number: numbers[place].clone(), ..counters });
            }
            None => skipped += 1,
        }
    }
    DiskReading { disks: found.into_iter().flatten().collect(), skipped, odd }
}

/// Every device of the file's text, in its order.
#[must_use]
pub fn all(text: &[u8]) -> DiskReading {
    let mut reading = DiskReading::default();
    let lines = text.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty());
    for line in lines.map(|line| std::str::from_utf8(line).unwrap_or_default()) {
        match parse_line(line) {
            Some(counters) => {
                reading.odd += u64::from(is_odd(line));
                reading.disks.push(counters);
            }
            None => reading.skipped += 1,
        }
    }
    reading
}

/// The first two fields, when they are numbers, and the name if there is one.
fn line_device(line: &[u8]) -> Option<(&str, &str, &str)> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty());
    let mut field = || fields.next().and_then(|f| std::str::from_utf8(f).ok());
    let (major, minor, name) = (field()?, field()?, field().unwrap_or_default());
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (digits(major) && digits(minor)).then_some((major, minor, name))
}

/// Reads the same devices again and again. The file is opened each time, as iostat does: what is mounted over it in the
/// meantime counts.
#[derive(Debug)]
pub struct DiskReader {
    path: PathBuf,
    numbers: Vec<String>,
    text: Vec<u8>,
}

impl DiskReader {
    /// For the devices with these `major:minor` numbers, from `/proc` or what stands for it.
    #[must_use]
    pub fn new(proc_root: &Path, numbers: Vec<String>) -> Self {
        Self { path: proc_root.join("diskstats"), numbers, text: Vec::new() }
    }

    /// The numbers it was made for.
    #[must_use]
    pub fn numbers(&self) -> &[String] {
        &self.numbers
    }

    /// Takes the counters from the kernel. Returns the middle of the time that it took, ns of CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// When the file is missing or cannot be read.
    pub fn take(&mut self) -> io::Result<i64> {
        self.text.clear();
        let before_ns = monotonic_ns();
        File::open(&self.path)?.read_to_end(&mut self.text)?;
        Ok(before_ns + (monotonic_ns() - before_ns) / 2)
    }

    /// Every device of what was taken last.
    #[must_use]
    pub fn all(&self) -> DiskReading {
        all(&self.text)
    }

    /// What was taken last.
    #[must_use]
    pub fn reading(&self) -> DiskReading {
        select(&self.text, &self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASIC: &str = " 259       0 nvme0n1 1000 100 80000 4294967000 2000 300 160000 704 3 510000 930000";

    #[test]
    fn fields_of_three_kernels() {
        let basic = parse_line(BASIC).unwrap();
        assert_eq!((basic.name.as_str(), basic.number.as_str()), ("nvme0n1", "259:0"));
        assert_eq!(basic.reads, operations(1000, 100, 80_000, 4_294_967_000));
        assert_eq!(basic.writes, operations(2000, 300, 160_000, 704));
        assert_eq!((basic.in_flight, basic.busy_ticks_ms, basic.queue_ticks_ms), (3, 510_000, 930_000));
        assert_eq!((basic.discards, basic.flushes), (None, None));

        let with_discards = parse_line(&format!("{BASIC} 10 1 800 5")).unwrap();
        assert_eq!(with_discards.discards, Some(operations(10, 1, 800, 5)));
        assert_eq!(with_discards.flushes, None);

        let with_flushes = parse_line(&format!("{BASIC} 10 1 800 5 40 60")).unwrap();
        assert_eq!(with_flushes.discards, Some(operations(10, 1, 800, 5)));
        assert_eq!(with_flushes.flushes, Some(FlushCounters { ios: 40, ticks_ms: 60 }));
    }

    #[test]
    fn other_lengths_keep_what_they_surely_say() {
        let basic = parse_line(BASIC).unwrap();
        assert_eq!(parse_line(&format!("{BASIC} 10 1")), Some(basic));
        let nineteen = parse_line(&format!("{BASIC} 10 1 800 5 40")).unwrap();
        assert_eq!((nineteen.discards.is_some(), nineteen.flushes), (true, None));
        let future = parse_line(&format!("{BASIC} 10 1 800 5 40 60 7 8")).unwrap();
        assert_eq!(future.flushes, Some(FlushCounters { ios: 40, ticks_ms: 60 }));
        assert_eq!(parse_line("8 1 sda1 10 20 30 40"), None);
        assert_eq!(parse_line(&BASIC.replace("80000", "-1")), None);
        assert_eq!(parse_line(""), None);
    }

    #[test]
    fn ticks_are_cut_to_32_bits() {
        let wide = parse_line(&BASIC.replace("930000", "4294967301")).unwrap();
        assert_eq!(wide.queue_ticks_ms, 5);
    }

    #[test]
    fn the_order_is_the_choice_and_nonsense_is_counted() {
        let text =
            format!("garbage\n{BASIC}\n 8 0 sda 1 2 x\n 8 16 sdb 1 2\n 253 1 dm-1 {}\n\n", "7 ".repeat(17));
        let numbers = ["253:1", "8:0", "9:9", "259:0"].map(String::from);
        let reading = select(text.as_bytes(), &numbers);
        let names: Vec<&str> = reading.disks.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["dm-1", "nvme0n1"]);
        assert_eq!(reading.odd, 0);
        assert_eq!(reading.skipped, 2, "`garbage` and sda; sdb was not chosen");
    }

    #[test]
    fn a_hidden_device_goes_by_its_name() {
        let counters = "1 0 8 1 0 0 0 0 0 1 1";
        let text = format!("0 0 nvme0c0n1 {counters}\n0 0 nvme0c1n1 {counters}\n259 0 nvme0n1 {counters}\n");
        let reading = select(text.as_bytes(), &["259:0", "nvme0c1n1"].map(String::from));
        let devices: Vec<_> = reading.disks.iter().map(|d| (d.name.as_str(), d.number.as_str())).collect();
        assert_eq!(devices, [("nvme0n1", "259:0"), ("nvme0c1n1", "nvme0c1n1")]);
    }

    #[test]
    fn a_missing_file_is_an_error_and_no_panic() {
        let mut reader = DiskReader::new(Path::new("/nowhere"), vec!["8:0".into()]);
        assert!(reader.take().is_err());
        assert_eq!(reader.reading(), DiskReading::default());
    }

    proptest! {
        #[test]
        fn bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = select(&text, &["8:0".into(), "".into()]);
        }

        #[test]
        fn text_never_panics(line in "[0-9a-z: \t-]{0,120}") {
            let _ = parse_line(&line);
        }

        /// Any counters survive being written and read.
        #[test]
        fn lines_round_trip(c in any::<[u64; 11]>(), t in any::<[u32; 6]>()) {
            let line = format!(
                "8 0 sda {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                c[0], c[1], c[2], t[0], c[3], c[4], c[5], t[1], c[6], t[2], t[3], c[7], c[8], c[9], t[4],
                c[10], t[5]
            );
            let got = parse_line(&line).unwrap();
            prop_assert_eq!(got.reads, operations(c[0], c[1], c[2], t[0].into()));
            prop_assert_eq!(got.writes, operations(c[3], c[4], c[5], t[1].into()));
            prop_assert_eq!((got.in_flight, got.busy_ticks_ms, got.queue_ticks_ms), (c[6], t[2], t[3]));
            prop_assert_eq!(got.discards, Some(operations(c[7], c[8], c[9], t[4].into())));
            prop_assert_eq!(got.flushes, Some(FlushCounters { ios: c[10], ticks_ms: t[5] }));
        }
    }
}
