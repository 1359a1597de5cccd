//! Durations in whole seconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::text::{ValueError, deserialize_text, quoted};

/// A duration, whole seconds, at most a year. Which fields may be zero is theirs to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationSpec(u64);

/// Units, longest first, with their seconds.
const UNITS: [(&str, u64); 3] = [("h", 3600), ("min", 60), ("s", 1)];
const LONGEST_S: u64 = 365 * 24 * 3600;

impl DurationSpec {
    /// A duration of so many seconds.
    pub(super) const fn of_seconds(seconds: u64) -> Self {
        Self(seconds)
    }

    /// Its length in seconds.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0
    }
}

impl fmt::Display for DurationSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, seconds) in UNITS {
            if rest >= seconds {
                write!(f, "{}{unit}", rest / seconds)?;
            }
            rest %= seconds;
        }
        Ok(())
    }
}

impl FromStr for DurationSpec {
    type Err = ValueError;

    /// Reads `20s`, `5min`, `1h30min`: each unit at most once, the longest first.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refuse = |why: &str, remedy: String| Err(ValueError(format!("{} {why}; {remedy}", quoted(text))));
        let examples =
            || "write whole hours, minutes or seconds, for example 20s, 5min, 2h or 1h30min".to_owned();
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            let digits: String = text.chars().take(12).collect();
            return refuse("has no unit", format!("write {digits}s for seconds, {digits}min or {digits}h"));
        }
        if text.contains(['.', ',']) {
            return refuse(
                "is not whole",
                "write a fraction in the next smaller unit, as in 1h30min".to_owned(),
            );
        }
        if text.starts_with('-') {
            return refuse("is negative", examples());
        }
        let Some(seconds) = sum_of_parts(text) else {
            return refuse("is not a duration", examples());
        };
        if seconds > u128::from(LONGEST_S) {
            return refuse("is longer than a year", examples());
        }
        Ok(Self(u64::try_from(seconds).unwrap_or(LONGEST_S)))
    }
}

/// Seconds of `1h30min5s`; `None` if the text is anything else. Saturates.
fn sum_of_parts(text: &str) -> Option<u128> {
    if text.is_empty() {
        return None;
    }
    let (mut rest, mut units, mut total) = (text, UNITS.iter(), 0_u128);
    while !rest.is_empty() {
        let (digits, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        if digits.is_empty() {
            return None;
        }
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        // Consuming the iterator keeps units in order and unrepeated.
        let (_, seconds) = units.find(|(name, _)| *name == unit)?;
        let count: u128 = digits.parse().unwrap_or(u128::MAX);
        total = total.saturating_add(count.saturating_mul(u128::from(*seconds)));
        rest = next;
    }
    Some(total)
}

impl<'de> Deserialize<'de> for DurationSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, "a duration such as 20s, 5min or 1h30min")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, seconds) in [
            ("0s", 0),
            ("20s", 20),
            ("5min", 300),
            ("2h", 7200),
            ("1h30min", 5400),
            ("1h5s", 3605),
            ("90min", 5400),
        ] {
            assert_eq!(text.parse::<DurationSpec>().unwrap().seconds(), seconds, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "s", "1m", "1 h", "1h 30min", "30min1h", "1h1h", "1d", "5sec", "1.5h", "9999h", "1h30", "1H"]
        {
            assert!(text.parse::<DurationSpec>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn display_is_read_back(seconds in 0..=LONGEST_S) {
            let duration = DurationSpec(seconds);
            prop_assert_eq!(duration.to_string().parse::<DurationSpec>(), Ok(duration));
        }

        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = text.parse::<DurationSpec>();
        }

        #[test]
        fn near_misses_never_panic(text in "[0-9]{0,45}(h|min|s|m|\\.|-)[0-9]{0,45}(h|min|s)?") {
            let _ = text.parse::<DurationSpec>();
        }
    }
}
