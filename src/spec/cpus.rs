//! Sets of processors: `0-3,8`.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::text::{ValueError, deserialize_text, quoted};

/// Highest number that a processor can have here: the kernel's own sets end there.
pub const HIGHEST_CPU: u32 = 1023;

/// Processors that server and load may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpusSpec {
    /// Of the server; all of them if not given.
    #[serde(default)]
    pub server: Option<CpuSetSpec>,
    /// Of the load threads; all of them if not given.
    #[serde(default)]
    pub load: Option<CpuSetSpec>,
}

/// Numbers of processors, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSetSpec(BTreeSet<u32>);

impl CpuSetSpec {
    /// The numbers, ascending.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        self.0.iter().copied().collect()
    }
}

impl FromStr for CpuSetSpec {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refuse = |why: &str| {
            ValueError(format!(
                "{} {why}; write numbers and ranges of processors from 0 to {HIGHEST_CPU}, for example 0-3,8",
                quoted(text)
            ))
        };
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            text.parse::<u32>().ok().filter(|n| digits && *n <= HIGHEST_CPU)
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Some(first), Some(last)) = (number(first.trim()), number(last.trim())) else {
                return Err(refuse("is not a set of processors"));
            };
            if first > last {
                return Err(refuse("has a range that runs backwards"));
            }
            for cpu in first..=last {
                if !cpus.insert(cpu) {
                    return Err(refuse(&format!("names processor {cpu} twice")));
                }
            }
        }
        Ok(Self(cpus))
    }
}

impl<'de> Deserialize<'de> for CpuSetSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, "processors such as 0-3,8")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_ranges() {
        let numbers = |text: &str| text.parse::<CpuSetSpec>().map(|set| set.numbers());
        assert_eq!(numbers("0-3, 8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(numbers("5"), Ok(vec![5]));
        let refused = ["", "a", "3-1", "1,1", "0-2,1", "-1", "1-", "1024", "0x1", "+1", "99999999999"];
        let told: Vec<String> = refused.iter().map(|text| numbers(text).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(told.join("\n"));
    }

    proptest! {
        #[test]
        fn text_never_panics(text in "[0-9a,x -]{0,30}") {
            let _ = text.parse::<CpuSetSpec>();
        }

        #[test]
        fn every_set_is_read_back(cpus in prop::collection::btree_set(0..=HIGHEST_CPU, 1..20)) {
            let text = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let numbers = text.parse::<CpuSetSpec>().map(|set| set.numbers());
            prop_assert_eq!(numbers, Ok(cpus.into_iter().collect::<Vec<u32>>()));
        }
    }
}
