//! The samples at the two ends of an interval.

use super::machine::StallShares;
use super::samples::{HostMoment, ServerMoment};
use crate::protocol::sample::{DiskCounters, Pressure, StallTotals};

/// A sample belongs to a moment if it is no farther from it than this.
const NEAR_NS: u64 = 750_000_000;

/// Something that was read at a moment of the host's monotonic clock.
pub trait Sampled {
    /// The moment, ns.
    fn at_ns(&self) -> i64;
}

impl Sampled for HostMoment {
    fn at_ns(&self) -> i64 {
        self.sample.at_ns
    }
}

impl Sampled for ServerMoment {
    fn at_ns(&self) -> i64 {
        self.at_ns
    }
}

/// First and last sample of an interval, of one kind.
pub struct Ends<'a, T> {
    /// Nearest to the beginning.
    pub first: &'a T,
    /// Nearest to the end.
    pub last: &'a T,
    /// From the first to the last, both included.
    pub all: &'a [T],
}

impl<'a, T: Sampled> Ends<'a, T> {
    /// The samples nearest to the ends of a span that is given relative to T0, ns; `None` when one is
    /// missing, or the span is empty.
    pub fn of_span(samples: &'a [T], t0_ns: i64, (begin_ns, end_ns): (i64, i64)) -> Option<Self> {
        if end_ns <= begin_ns {
            return None;
        }
        Self::between(samples, t0_ns.saturating_add(begin_ns), t0_ns.saturating_add(end_ns))
    }

    /// The samples nearest to two moments. Samples are in order of time.
    pub fn between(samples: &'a [T], begin_ns: i64, end_ns: i64) -> Option<Self> {
        let first = nearest(samples, begin_ns)?;
        // In a very short interval the first sample may be nearest to both ends.
        let last = first + 1 + nearest(&samples[first + 1..], end_ns)?;
        let all = &samples[first..=last];
        let (first, last) = (&samples[first], &samples[last]);
        (first.at_ns() < last.at_ns()).then_some(Self { first, last, all })
    }

    /// Time between the two, ns.
    pub fn elapsed_ns(&self) -> i64 {
        self.last.at_ns().saturating_sub(self.first.at_ns())
    }

    /// The same in seconds.
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns() as f64 / 1e9
    }
}

/// Place of the sample nearest to a moment, if it is near.
fn nearest<T: Sampled>(samples: &[T], moment_ns: i64) -> Option<usize> {
    let distance = |place: &usize| samples[*place].at_ns().abs_diff(moment_ns);
    let after = samples.partition_point(|sample| sample.at_ns() < moment_ns);
    (after.saturating_sub(1)..samples.len())
        .take(2)
        .min_by_key(distance)
        .filter(|place| distance(place) <= NEAR_NS)
}

impl Ends<'_, ServerMoment> {
    /// How much a counter grew; `None` when the server lacks it or was restarted.
    pub fn growth(&self, counter: &str) -> Option<f64> {
        let (first, last) = (self.first.value(counter)?, self.last.value(counter)?);
        let same_server = self.first.restarts == self.last.restarts;
        (same_server && first <= last).then(|| last.abs_diff(first) as f64)
    }

    /// A gauge at the start.
    pub fn at_start(&self, gauge: &str) -> Option<f64> {
        self.first.value(gauge).map(|value| value as f64)
    }
}

impl Ends<'_, HostMoment> {
    /// The device with this number at both ends: an unreadable line may have put another one first. `None` also
    /// when it bears another name by the end.
    pub fn disk(&self, number: &str) -> Option<(&DiskCounters, &DiskCounters)> {
        let ((named, first), (renamed, last)) = (self.first.disk(number)?, self.last.disk(number)?);
        (named == renamed).then_some((first, last))
    }

    /// Shares of the time in which tasks waited for a resource; `None` when its totals are unknown or ran
    /// backwards.
    pub fn stalled(&self, resource: fn(&Pressure) -> Option<StallTotals>) -> Option<StallShares> {
        let (first, last) = (resource(&self.first.sample.pressure)?, resource(&self.last.sample.pressure)?);
        let share = |first: u64, last: u64| Some(last.checked_sub(first)? as f64 / 1e6 / self.seconds());
        Some(StallShares {
            some: share(first.some_us, last.some_us)?,
            full: share(first.full_us, last.full_us)?,
        })
    }
}
