//! `hardware/*.yaml`: the device under test, the platform round it, and the buffer pool.

use std::fmt;
use std::str::FromStr;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::cpus::CpusSpec;
use super::fleet::{InstancesSpec, ObserverSpec};
use super::size::{ByteSize, PoolSizeSpec};
use super::text::{ValueError, deserialize_text, quoted};

/// A hardware profile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareSpec {
    /// Name of the profile, `[a-z0-9-]+`.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// What it is.
    pub description: String,
    /// The device under test.
    pub device: DeviceSpec,
    /// The platform in its owner's words: label → text, in the file's order.
    #[serde(default, deserialize_with = "labels")]
    pub platform: Vec<(String, String)>,
    /// Memory that the server gets.
    pub memory: MemorySpec,
    /// The server on the instances' hosts.
    #[serde(default)]
    pub server: HardwareServerSpec,
    /// Processors that server and load may use.
    #[serde(default)]
    pub cpus: CpusSpec,
    /// Hosts of the instances; this machine if not given.
    #[serde(default)]
    pub instances: Option<InstancesSpec>,
    /// Hosts that only sample.
    #[serde(default, deserialize_with = "observers")]
    pub observers: Vec<ObserverSpec>,
}

/// The device under test.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// Directory on the device.
    #[serde(deserialize_with = "path")]
    pub path: String,
    /// Make the directory if it is missing. Off by default: a mount point that is missing must stop
    /// the run instead of sending it to another disk.
    #[serde(default)]
    pub create: bool,
    /// Usable space that the method demands.
    #[serde(default)]
    pub required_space: Option<ByteSize>,
    /// The device in its owner's words: label → text, in the file's order.
    #[serde(default, deserialize_with = "labels")]
    pub facts: Vec<(String, String)>,
}

/// Memory that the server gets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// InnoDB buffer pool, unless the test profile says otherwise.
    pub buffer_pool: PoolSizeSpec,
}

/// The server on the instances' hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareServerSpec {
    /// Program to start instead of the first one found.
    #[serde(default, deserialize_with = "optional_path")]
    pub program: Option<String>,
    /// Account that runs the server when drivestone was started by root.
    #[serde(default, deserialize_with = "optional_account")]
    pub account: Option<String>,
}

/// Longest name; it becomes part of a folder's name twice.
const MAX_NAME_CHARS: usize = 64;

struct Name(String);

impl FromStr for Name {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if is_name(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(ValueError(format!(
            "{} is not a name for a result folder; write 1 to {MAX_NAME_CHARS} lower-case letters, digits and \
             hyphens, for example nvme-lab",
            quoted(text)
        )))
    }
}

/// Whether a text can name a profile: names become parts of folder names.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&text.len())
        && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

struct FilePath(String);

impl FromStr for FilePath {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let why = if text.is_empty() {
            "is empty"
        } else if text.chars().any(char::is_control) {
            "has control characters"
        } else if text.starts_with('~') {
            "begins with `~`, which only a shell expands"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(ValueError(format!("{} {why}; write a path, for example /mnt/dut", quoted(text))))
    }
}

struct Account(String);

impl FromStr for Account {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let named = text.chars().all(|c| c.is_alphanumeric() || "_-.@$".contains(c));
        if named && !text.is_empty() && !text.starts_with('-') {
            return Ok(Self(text.to_owned()));
        }
        Err(ValueError(format!("{} is not an account name; write one, for example mysql", quoted(text))))
    }
}

/// The name of a profile, either kind.
pub(super) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserialize_text::<Name, D>(deserializer, "a name such as nvme-lab").map(|name| name.0)
}

fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserialize_text::<FilePath, D>(deserializer, "a path such as /mnt/dut").map(|path| path.0)
}

fn optional_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    path(deserializer).map(Some)
}

fn optional_account<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    deserialize_text::<Account, D>(deserializer, "an account name such as mysql")
        .map(|account| Some(account.0))
}

fn observers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ObserverSpec>, D::Error> {
    struct ObserversVisitor;

    impl<'de> Visitor<'de> for ObserversVisitor {
        type Value = Vec<ObserverSpec>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a list of hosts and devices, for example [{host: node1, device: /dev/sdb}]")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut observers = Vec::new();
            while let Some(observer) = items.next_element()? {
                observers.push(observer);
            }
            Ok(observers)
        }
    }

    deserializer.deserialize_seq(ObserversVisitor)
}

fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    struct LabelsVisitor;

    impl<'de> Visitor<'de> for LabelsVisitor {
        type Value = Vec<(String, String)>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("`label: text` lines, for example `Model: P320h`")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut labels = Vec::new();
            while let Some(label) = map.next_entry()? {
                labels.push(label);
            }
            Ok(labels)
        }
    }

    deserializer.deserialize_map(LabelsVisitor)
}
