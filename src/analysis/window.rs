//! The samples at the two ends of an interval.

use super::samples::ServerMoment;
use crate::protocol::sample::{DiskCounters, HostSample, StallTotals};

/// A sample belongs to a moment if it is no farther from it than this.
const NEAR_NS: u64 = 750_000_000;

/// Something that was read at a moment of the host's monotonic clock.
pub trait Sampled {
    /// The moment, ns.
    fn at_ns(&self) -> i64;
}

impl Sampled for HostSample {
    fn at_ns(&self) -> i64 {
        self.at_ns
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
        let later = &samples[first + 1..];
        let (first, last) = (&samples[first], &later[nearest(later, end_ns)?]);
        (first.at_ns() < last.at_ns()).then_some(Self { first, last })
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

impl Ends<'_, HostSample> {
    /// The device with this number at both ends: an unreadable line may have put another one first.
    pub fn disk(&self, number: &str) -> Option<(&DiskCounters, &DiskCounters)> {
        let of = |sample: &'_ HostSample| sample.disks.iter().position(|disk| disk.number == number);
        Some((&self.first.disks[of(self.first)?], &self.last.disks[of(self.last)?]))
    }

    /// Share of the time in which tasks waited for I/O, by one of the pressure totals.
    pub fn io_stalled(&self, total_us: impl Fn(StallTotals) -> u64) -> Option<f64> {
        let (first, last) = (total_us(self.first.pressure.io?), total_us(self.last.pressure.io?));
        Some(last.checked_sub(first)? as f64 / 1e6 / self.seconds())
    }
}
