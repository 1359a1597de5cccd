//! Recorded snapshots of `/proc/diskstats`, each headed by a line `# <seconds>`.

use std::collections::BTreeSet;

use super::diskstats::{is_odd, parse_line};
use crate::protocol::sample::DiskCounters;

/// The devices at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// When, seconds from wherever the recording counts.
    pub seconds: f64,
    /// Every device, in the order of the lines.
    pub disks: Vec<DiskCounters>,
}

/// A recording, and what was strange about it without spoiling it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// In order of time.
    pub snapshots: Vec<Snapshot>,
    /// Line number and what is wrong with it, for each line that is used in part or not at all.
    pub remarks: Vec<(usize, String)>,
}

/// Why a recording cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// A device's line stands before any moment.
    #[error(
        "line {line}: a snapshot begins with a line such as `# 12.5`, its time in seconds; this is `{found}`"
    )]
    NoHeader {
        /// Its number, from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// The time of a snapshot is none.
    #[error("line {line}: `{found}` is not a time; write seconds, for example `# 12.5`")]
    BadTime {
        /// Its number.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// A snapshot is not later than the one before.
    #[error("line {line}: {found} s comes after {before} s; put snapshots in the order of their times")]
    OutOfOrder {
        /// Its number.
        line: usize,
        /// The time.
        found: f64,
        /// The time before.
        before: f64,
    },
    /// A snapshot names a device twice.
    #[error("line {line}: device {name} is in this snapshot already; a snapshot has one line a device")]
    Duplicate {
        /// The number of the second line.
        line: usize,
        /// The device.
        name: String,
    },
    /// There are no two snapshots to compare.
    #[error(
        "it has {found} of the snapshots that it needs: two or more, each headed by a line such as `# 12.5`"
    )]
    TooFew {
        /// How many there are.
        found: usize,
    },
}

/// Reads a recording.
///
/// # Errors
/// When times are missing, wrong or out of order, a device comes twice in a snapshot, or there are not two snapshots.
/// Lines that make no sense are remarks: the rest is used.
pub fn parse_recording(text: &[u8]) -> Result<Recording, ReplayError> {
    let mut recording = Recording::default();
    let mut names = BTreeSet::new();
    let text = String::from_utf8_lossy(text);
    for (line, whole) in (1..).zip(text.split_inclusive('\n')) {
        let content = whole.trim();
        if let Some(time) = content.strip_prefix('#') {
            let before = recording.snapshots.last().map(|snapshot| snapshot.seconds);
            recording.snapshots.push(Snapshot { seconds: time_of(line, time, before)?, disks: Vec::new() });
            names.clear();
        } else if !content.is_empty() {
            recording.add_device(line, content, &mut names)?;
            if !whole.ends_with('\n') {
                let cut =
                    "is the last and has no end: the recording may be cut off there, its last number too";
                recording.remarks.push((line, cut.to_owned()));
            }
        }
    }
    match recording.snapshots.len() {
        found @ 0..2 => Err(ReplayError::TooFew { found }),
        _ => Ok(recording),
    }
}

impl Recording {
    fn add_device(
        &mut self,
        line: usize,
        content: &str,
        names: &mut BTreeSet<String>,
    ) -> Result<(), ReplayError> {
        let Some(snapshot) = self.snapshots.last_mut() else {
            return Err(ReplayError::NoHeader { line, found: shortened(content) });
        };
        let Some(disk) = parse_line(content) else {
            self.remarks.push((line, "is no line of /proc/diskstats; it is left out".to_owned()));
            return Ok(());
        };
        if !names.insert(disk.name.clone()) {
            return Err(ReplayError::Duplicate { line, name: disk.name });
        }
        if is_odd(content) {
            let fields = content.split_ascii_whitespace().count();
            let text = format!("has {fields} fields and not 14, 18 or 20; what it surely says is used");
            self.remarks.push((line, text));
        }
        snapshot.disks.push(disk);
        Ok(())
    }
}

fn time_of(line: usize, text: &str, before: Option<f64>) -> Result<f64, ReplayError> {
    let bad = || ReplayError::BadTime { line, found: shortened(text.trim()) };
    let found: f64 = text.trim().parse().map_err(|_| bad())?;
    // Beyond this a second is no longer told from the next hundredth.
    if !(0.0..1e12).contains(&found) {
        return Err(bad());
    }
    match before.filter(|before| *before >= found) {
        Some(before) => Err(ReplayError::OutOfOrder { line, found, before }),
        None => Ok(found),
    }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    text.chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DISK: &str = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11";

    #[test]
    fn snapshots_follow_their_times() {
        let text = format!("# 1.5\n{DISK}\n\n#2\n{DISK} 1 1\nnonsense\n8 16 sdb 1 2 3 4 5 6 7 8 9 10 11");
        let recording = parse_recording(text.as_bytes()).unwrap();
        let times: Vec<f64> = recording.snapshots.iter().map(|snapshot| snapshot.seconds).collect();
        assert_eq!(times, [1.5, 2.0]);
        assert_eq!(recording.snapshots[1].disks.len(), 2);
        let remarks: Vec<String> =
            recording.remarks.iter().map(|(line, text)| format!("line {line} {text}")).collect();
        insta::assert_snapshot!(remarks.join("\n"));
    }

    #[test]
    fn what_cannot_be_used_says_where_and_why() {
        let refused = [
            DISK.to_owned(),
            format!("# x\n{DISK}\n"),
            "# -1\n".to_owned(),
            "# NaN\n".to_owned(),
            format!("# 2\n{DISK}\n# 2\n{DISK}\n"),
            format!("# 2\n{DISK}\n{DISK}\n# 3\n"),
            format!("# 2\n{DISK}\n"),
            String::new(),
        ];
        let told = refused.map(|text| parse_recording(text.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"));
    }

    proptest! {
        #[test]
        fn bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_recording(&text);
        }

        /// Whatever is told to come in which order, what is read has rising times and each device once.
        #[test]
        fn recordings_are_in_order(times in prop::collection::vec(0_u8..20, 0..6)) {
            let text: String = times.iter().map(|time| format!("# {time}\n{DISK}\n")).collect();
            if let Ok(recording) = parse_recording(text.as_bytes()) {
                let rises = recording.snapshots.windows(2).all(|pair| pair[0].seconds < pair[1].seconds);
                prop_assert!(rises && recording.snapshots.len() == times.len());
            } else {
                prop_assert!(times.len() < 2 || times.windows(2).any(|pair| pair[0] >= pair[1]));
            }
        }
    }
}
