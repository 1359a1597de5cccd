//! `profiles/*.yaml`: workload, dataset, load and server settings.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::SpecError;
use super::hardware::name;
use super::load::LoadSpec;
use super::size::{ByteSize, PageSize, PoolSizeSpec};
use super::source::Source;
use super::text::quoted;
use super::workload::{DatasetSpec, WorkloadSpec};

/// A test profile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSpec {
    /// Name of the profile, `[a-z0-9-]+`.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The transaction.
    pub workload: WorkloadSpec,
    /// The tables.
    pub dataset: DatasetSpec,
    /// Threads and durations.
    pub load: LoadSpec,
    /// The database server.
    #[serde(default)]
    pub server: ServerSpec,
    /// Run even if the working set is predicted to fit the buffer pool.
    #[serde(default)]
    pub allow_cached: bool,
    /// What `--set` changed, in order: full key, value as given.
    #[serde(skip)]
    pub overrides: Vec<(String, String)>,
}

/// The database server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// How clients reach it.
    #[serde(default)]
    pub transport: TransportSpec,
    /// InnoDB buffer pool, in place of the hardware profile's.
    #[serde(default)]
    pub buffer_pool: Option<PoolSizeSpec>,
    /// InnoDB redo log.
    #[serde(default = "default_log_file_size")]
    pub log_file_size: ByteSize,
    /// InnoDB page.
    #[serde(default = "default_page_size")]
    pub page_size: PageSize,
    /// Other server variables: name → value exactly as written.
    #[serde(default, deserialize_with = "variables")]
    pub variables: BTreeMap<String, String>,
}

impl Default for ServerSpec {
    fn default() -> Self {
        Self {
            transport: TransportSpec::default(),
            buffer_pool: None,
            log_file_size: default_log_file_size(),
            page_size: default_page_size(),
            variables: BTreeMap::new(),
        }
    }
}

/// How clients reach the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportSpec {
    /// A Unix socket.
    #[default]
    Socket,
    /// TCP on the loopback address.
    Tcp,
}

fn default_log_file_size() -> ByteSize {
    ByteSize::of_bytes(1 << 30)
}

fn default_page_size() -> PageSize {
    PageSize::DEFAULT
}

/// Checks what no single field can.
pub(super) fn check(spec: &ProfileSpec, source: &Source) -> Result<(), SpecError> {
    super::load::check(&spec.load, source)?;
    super::workload::check(spec, source)
}

fn variables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct VariablesVisitor;

    impl<'de> Visitor<'de> for VariablesVisitor {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("`variable: value` lines, for example `innodb_io_capacity: 2000`")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut variables = BTreeMap::new();
            while let Some(VariableName(name)) = map.next_key()? {
                variables.insert(name, map.next_value::<VariableValue>()?.0);
            }
            Ok(variables)
        }
    }

    deserializer.deserialize_map(VariablesVisitor)
}

/// Whether a text is spelt like a server variable, perhaps of a named key cache.
#[must_use]
pub fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.'))
}

/// A server variable in the spelling of `SHOW VARIABLES`, so that one variable has one name.
struct VariableName(String);

impl<'de> Deserialize<'de> for VariableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if is_variable(&name) {
            return Ok(Self(name));
        }
        Err(D::Error::custom(format!(
            "{} is not spelt like a server variable; write it as SHOW VARIABLES does, for example \
             innodb_io_capacity",
            quoted(&name)
        )))
    }
}

/// The value of a server variable: one line, because it becomes a line of a configuration file.
struct VariableValue(String);

impl<'de> Deserialize<'de> for VariableValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;

        impl Visitor<'_> for ValueVisitor {
            type Value = VariableValue;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the variable's value, or '' for an empty one")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<VariableValue, E> {
                if text.chars().any(char::is_control) {
                    return Err(E::custom(format!(
                        "{} has line breaks or control characters; write the value on one line",
                        quoted(text)
                    )));
                }
                Ok(VariableValue(text.to_owned()))
            }
        }

        deserializer.deserialize_str(ValueVisitor)
    }
}
