//! `profiles/*.yaml`: workload, dataset, load and server settings.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::count::Count;
use super::duration::DurationSpec;
use super::error::SpecError;
use super::fleet::MOST_HOSTS;
use super::hardware::name;
use super::list::{deserialize_list, placed, refuse_repeated};
use super::size::{ByteSize, PageSize, PoolSizeSpec};
use super::source::Source;
use super::text::quoted;
use crate::workload::{KeyDistribution, WorkloadKind};

/// Largest value of a signed `INTEGER`, the type of the id column.
const MAX_ID: u64 = i32::MAX as u64;

/// Load threads or connections.
pub type Threads = Count<u32, 1, 4096, 32>;
/// Tables of a dataset.
pub type Tables = Count<u32, 1, 10_000, 10>;
/// Ids or rows of a table.
pub type Ids = Count<u64, 1, MAX_ID, 100_000>;
/// Instances that run at once.
pub type InstanceCount = Count<u32, 1, { MOST_HOSTS as u64 }, 4>;
/// Seed of a random stream.
pub type Seed = Count<u64, 0, { u64::MAX }, 1>;

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

/// The transaction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Its name.
    pub kind: WorkloadKind,
    /// How ids are picked.
    pub keys: KeyDistribution,
    /// Ids addressed; as many as there are rows if not given.
    #[serde(default)]
    pub table_size: Option<Ids>,
    /// Rows in a range read.
    #[serde(default = "default_range_size")]
    pub range_size: Count<u64, 1, 1_000_000, 100>,
}

/// The tables.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetSpec {
    /// How many.
    pub tables: Tables,
    /// Rows loaded into each.
    pub rows: Ids,
    /// Parallel connections of the load.
    #[serde(default)]
    pub load_threads: Option<Count<u32, 1, 4096, 8>>,
    /// Seed of the row contents.
    #[serde(default = "default_dataset_seed")]
    pub seed: Seed,
}

/// Threads and durations. At least one of `duration` and `events` is given.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Load threads.
    pub threads: Threads,
    /// The same load before the measured interval; may be zero.
    pub warmup: DurationSpec,
    /// Length of the measured interval, above zero.
    #[serde(default)]
    pub duration: Option<DurationSpec>,
    /// Transactions of the measured interval.
    #[serde(default)]
    pub events: Option<Count<u64, 1, { u64::MAX }, 100_000>>,
    /// Time between lines on the terminal, above zero.
    #[serde(default = "default_report_interval")]
    pub report_interval: DurationSpec,
    /// Seed of the run; drawn when the plan is made if not given.
    #[serde(default)]
    pub seed: Option<Seed>,
    /// Instances of each run, one run after the other; one run with all instances if not given.
    #[serde(default, deserialize_with = "counts")]
    pub counts: Option<Vec<InstanceCount>>,
    /// What becomes of a run that loses an instance.
    #[serde(default)]
    pub on_loss: LossSpec,
}

/// What becomes of a run that loses an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// The other instances stop as well.
    #[default]
    Stop,
    /// The other instances go on.
    Continue,
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

fn default_range_size() -> Count<u64, 1, 1_000_000, 100> {
    Count::of(100)
}

fn default_dataset_seed() -> Seed {
    Count::of(1)
}

fn default_report_interval() -> DurationSpec {
    DurationSpec::of_seconds(1)
}

fn default_log_file_size() -> ByteSize {
    ByteSize::of_bytes(1 << 30)
}

fn default_page_size() -> PageSize {
    PageSize::DEFAULT
}

/// Checks what no single field can.
pub(super) fn check(spec: &ProfileSpec, source: &Source) -> Result<(), SpecError> {
    let refuse = |field: &str, message: String| {
        Err(SpecError::Refused { place: Box::new(source.place(field)), message })
    };
    if spec.load.duration.is_none() && spec.load.events.is_none() {
        return refuse(
            "load.duration",
            "is missing, and so is load.events; add `duration: 60s`, `events: 100000`, or both".to_owned(),
        );
    }
    let positive =
        [("load.duration", spec.load.duration), ("load.report_interval", Some(spec.load.report_interval))];
    for (field, duration) in positive {
        if duration.is_some_and(|duration| duration.seconds() == 0) {
            return refuse(field, "`0s` is too short; write at least 1s".to_owned());
        }
    }
    let counts = spec.load.counts.as_deref().unwrap_or_default();
    refuse_repeated(
        placed(source, "load.counts", counts).map(|(place, count)| (place, count.get().to_string())),
    )
}

fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<InstanceCount>>, D::Error> {
    deserialize_list(deserializer, "a list of numbers of instances, for example [4, 8]").map(Some)
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
