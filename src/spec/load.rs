//! `load:` of a test profile: threads, bounds, what becomes of errors.

use serde::{Deserialize, Deserializer};

use super::count::Count;
use super::duration::DurationSpec;
use super::error::SpecError;
use super::errors::IgnoreErrorsSpec;
use super::fleet::MOST_HOSTS;
use super::list::{deserialize_list, placed, refuse_repeated};
use super::source::Source;

/// Load threads or connections.
pub type Threads = Count<u32, 1, 4096, 32>;
/// Instances that run at once.
pub type InstanceCount = Count<u32, 1, { MOST_HOSTS as u64 }, 4>;
/// Seed of a random stream.
pub type Seed = Count<u64, 0, { u64::MAX }, 1>;
/// Transactions a second.
pub type Rate = Count<u32, 1, 10_000_000, 500>;

/// Codes by which the client libraries of MySQL call lost connections.
pub const LOST_CONNECTIONS: [u16; 4] = [2006, 2011, 2013, 2055];

/// Threads and durations. At least one of `duration` and `events` is given.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Load threads of each run, one run after the other.
    #[serde(deserialize_with = "threads")]
    pub threads: Vec<Threads>,
    /// The same load before the measured interval; may be zero.
    pub warmup: DurationSpec,
    /// Length of the measured interval, above zero.
    #[serde(default)]
    pub duration: Option<DurationSpec>,
    /// Transactions of the measured interval.
    #[serde(default)]
    pub events: Option<Count<u64, 1, { u64::MAX }, 100_000>>,
    /// Transactions that arrive in a second at each instance; as fast as the threads can if not given.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Rates one after the other, up to the highest that holds a latency.
    #[serde(default)]
    pub ramp: Option<RampSpec>,
    /// Errors after which a transaction starts again.
    #[serde(default)]
    pub ignore_errors: IgnoreErrorsSpec,
    /// Threads that lose their connection make another, and a server that ends is started again.
    #[serde(default)]
    pub reconnect: bool,
    /// Transactions after which a thread makes a new connection; it keeps its first if not given.
    #[serde(default)]
    pub reconnect_every: Option<Count<u32, 1, { u32::MAX as u64 }, 100>>,
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
    /// What becomes of a run that loses a device below a data directory; it goes on if not given.
    #[serde(default = "go_on")]
    pub on_device_loss: LossSpec,
}

/// Rates from low to high, in equal ratios.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RampSpec {
    /// The first rate, transactions a second at each instance.
    pub from: Rate,
    /// The last.
    pub to: Rate,
    /// How many.
    pub steps: Count<u32, 2, 100, 10>,
    /// Longest 99th percentile that counts as held, ms.
    pub p99_ms: Count<u32, 1, 3_600_000, 50>,
}

/// What becomes of a run that loses an instance or a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// It stops, with the other instances.
    #[default]
    Stop,
    /// It goes on with what is left.
    Continue,
}

fn go_on() -> LossSpec {
    LossSpec::Continue
}

fn default_report_interval() -> DurationSpec {
    DurationSpec::of_seconds(1)
}

fn threads<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Threads>, D::Error> {
    deserialize_list(deserializer, "a number of threads or a list of them, for example 32 or [1, 8, 32]")
}

fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<InstanceCount>>, D::Error> {
    deserialize_list(deserializer, "a list of numbers of instances, for example [4, 8]").map(Some)
}

/// Checks what no single field can.
pub(super) fn check(load: &LoadSpec, source: &Source) -> Result<(), SpecError> {
    let refuse = |field: &str, message: &str| {
        let place = Box::new(source.place(field));
        Err(SpecError::Refused { place, message: message.to_owned() })
    };
    if load.duration.is_none() && load.events.is_none() {
        return refuse(
            "load.duration",
            "is missing, and so is load.events; add `duration: 60s`, `events: 100000`, or both",
        );
    }
    let positive = [("load.duration", load.duration), ("load.report_interval", Some(load.report_interval))];
    for (field, duration) in positive {
        if duration.is_some_and(|duration| duration.seconds() == 0) {
            return refuse(field, "`0s` is too short; write at least 1s");
        }
    }
    check_ramp(load, source)?;
    if let Some(code) = load.ignore_errors.codes().iter().find(|code| LOST_CONNECTIONS.contains(code)) {
        let text = format!("`{code}` is a lost connection; leave it out and say load.reconnect: true");
        return refuse("load.ignore_errors", &text);
    }
    let repeated = |list: &str, values: &[u32]| {
        refuse_repeated(placed(source, list, values).map(|(place, value)| (place, value.to_string())))
    };
    let threads: Vec<u32> = load.threads.iter().map(|threads| threads.get()).collect();
    let counts: Vec<u32> = load.counts.iter().flatten().map(|count| count.get()).collect();
    repeated("load.threads", &threads)?;
    repeated("load.counts", &counts)
}

fn check_ramp(load: &LoadSpec, source: &Source) -> Result<(), SpecError> {
    let Some(ramp) = load.ramp else { return Ok(()) };
    let refuse = |field: &str, message: String| {
        Err(SpecError::Refused { place: Box::new(source.place(field)), message })
    };
    if load.rate.is_some() {
        return refuse("load.rate", "stands beside load.ramp; keep one of the two".to_owned());
    }
    if load.duration.is_none() {
        let text = "needs load.duration: a rate is held for a time; add `duration: 60s`";
        return refuse("load.ramp", text.to_owned());
    }
    if ramp.from >= ramp.to {
        let (from, to) = (ramp.from.get(), ramp.to.get());
        return refuse(
            "load.ramp.to",
            format!("`{to}` is not above load.ramp.from, {from}; write a higher rate"),
        );
    }
    for (field, values) in
        [("load.threads", load.threads.len()), ("load.counts", load.counts.as_ref().map_or(1, Vec::len))]
    {
        if values > 1 {
            return refuse(field, "has several values beside load.ramp; keep one of them".to_owned());
        }
    }
    Ok(())
}
