//! What the words of the command line mean, in the order in which iostat takes them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::is_device;
use crate::cli::exit::{self, Failure};
use crate::protocol::sample::DiskCounters;

/// A shorter interval measures little but itself.
const LEAST: f64 = 0.1;
/// Longest interval, seconds: a day.
const LONGEST: f64 = 86_400.0;

/// Devices, interval and count.
#[derive(Debug, Default, PartialEq)]
pub struct Words {
    /// Names or numbers; the default choice when empty.
    pub devices: Vec<String>,
    /// Time between reports; one report since boot when `None`.
    pub interval: Option<Duration>,
    /// How many reports; no end when `None`.
    pub count: Option<u64>,
}

impl Words {
    /// Whether a device of a recording is asked for. All of them are when none is named: whether a name of another
    /// machine is a partition's, nobody here knows.
    pub fn wants(&self, disk: &DiskCounters) -> bool {
        self.devices.is_empty() || self.devices.iter().any(|device| is_device(disk, device))
    }
}

/// Takes the words apart: numbers at the end are interval and count.
pub fn understand(words: &[String]) -> Result<Words, Failure> {
    let is_number = |word: &&String| word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains(':');
    let numbers = words.iter().rev().take_while(is_number).count();
    let (devices, numbers) = words.split_at(words.len() - numbers);
    let (interval, count) = match numbers {
        [] => (None, None),
        [interval] => (Some(interval), None),
        [interval, count] => (Some(interval), Some(count)),
        _ => return Err(refused(&numbers.join(" "), "is more than an INTERVAL and a COUNT")),
    };
    let count = count.map(|word| match word.parse::<u64>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(refused(word, "is not a number of reports; write 1 or more")),
    });
    Ok(Words {
        devices: devices.iter().map(|word| name_of(word)).collect(),
        interval: interval.map(|word| seconds(word)).transpose()?,
        count: count.transpose()?,
    })
}

fn seconds(word: &str) -> Result<Duration, Failure> {
    match word.parse::<f64>() {
        Ok(seconds) if (LEAST..=LONGEST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(refused(word, "is not an interval; write seconds from 0.1 to 86400, for example 1")),
    }
}

/// The kernel's name of a device given by its path, which may be a link such as `/dev/mapper/vg-lv`.
fn name_of(word: &str) -> String {
    let Some(below_dev) = word.strip_prefix("/dev/") else { return word.to_owned() };
    let real = fs::canonicalize(word).unwrap_or_else(|_| word.into());
    let name = real.strip_prefix(Path::new("/dev")).ok().and_then(Path::to_str);
    name.unwrap_or(below_dev).to_owned()
}

fn refused(word: &str, why: &str) -> Failure {
    Failure::new(exit::USAGE, format!("`{word}` {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Result<Words, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        understand(&words).map_err(|failure| failure.message)
    }

    #[test]
    fn numbers_at_the_end_are_interval_and_count() {
        let second = Some(Duration::from_secs(1));
        let words = |devices: &[&str], interval, count| Words {
            devices: devices.iter().map(|&device| device.to_owned()).collect(),
            interval,
            count,
        };
        assert_eq!(of(""), Ok(Words::default()));
        assert_eq!(of("1"), Ok(words(&[], second, None)));
        assert_eq!(of("sda 8:0 /dev/no-such 1 5"), Ok(words(&["sda", "8:0", "no-such"], second, Some(5))));
        assert_eq!(of("sda"), Ok(words(&["sda"], None, None)));
        assert_eq!(of("0.5").unwrap().interval, Some(Duration::from_millis(500)));
    }

    #[test]
    fn what_is_neither_is_refused() {
        let told = ["0", "0.01", "1 0", "1 2 3", "1x", "1 2.5"].map(|words| of(words).unwrap_err());
        insta::assert_snapshot!(told.join("\n"));
    }
}
