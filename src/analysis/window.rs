//! The samples at the two ends of the measured interval.

use super::gather::GatheredRun;
use crate::protocol::sample::{DiskCounters, HostSample, ServerSample};

/// A sample belongs to a moment if it is no farther from it than this.
const NEAR_NS: u64 = 750_000_000;

/// First and last sample of the measured interval, of one kind.
pub struct Ends<'a, T> {
    /// Nearest to T0.
    pub first: &'a T,
    /// Nearest to the end.
    pub last: &'a T,
}

/// Kernel samples at the ends; `None` when one is missing.
pub fn host(run: &GatheredRun) -> Option<Ends<'_, HostSample>> {
    ends(&run.host, |sample| sample.at_ns, run)
}

/// Server samples at the ends; `None` when one is missing.
pub fn server(run: &GatheredRun) -> Option<Ends<'_, ServerSample>> {
    ends(&run.server, |sample| sample.at_ns, run)
}

fn ends<'a, T>(samples: &'a [T], at_ns: impl Fn(&T) -> i64, run: &GatheredRun) -> Option<Ends<'a, T>> {
    let length_ns = i64::try_from(run.measured_ns()).ok().filter(|&length| length > 0)?;
    let distance = |sample: &T, moment_ns: i64| at_ns(sample).abs_diff(moment_ns);
    let nearest = |samples: &'a [T], moment_ns: i64| {
        let (place, sample) =
            samples.iter().enumerate().min_by_key(|(_, sample)| distance(sample, moment_ns))?;
        (distance(sample, moment_ns) <= NEAR_NS).then_some((place, sample))
    };
    let (place, first) = nearest(samples, run.t0_ns)?;
    // In a very short interval the first sample may be nearest to both ends.
    let (_, last) = nearest(&samples[place + 1..], run.t0_ns.saturating_add(length_ns))?;
    (at_ns(first) < at_ns(last)).then_some(Ends { first, last })
}

impl Ends<'_, ServerSample> {
    /// How much a counter grew; `None` when the server lacks it or was restarted.
    pub fn growth(&self, counter: &str) -> Option<f64> {
        let (first, last) = (self.first.counters.get(counter)?, self.last.counters.get(counter)?);
        (first <= last).then(|| last.abs_diff(*first) as f64)
    }

    /// Time between the two samples, seconds.
    pub fn seconds(&self) -> f64 {
        (self.last.at_ns - self.first.at_ns) as f64 / 1e9
    }

    /// A gauge at the start.
    pub fn at_start(&self, gauge: &str) -> Option<f64> {
        self.first.counters.get(gauge).map(|&value| value as f64)
    }
}

impl Ends<'_, HostSample> {
    /// The device with this number at both ends: an unreadable line may have put another one first.
    pub fn disk(&self, number: &str) -> Option<(&DiskCounters, &DiskCounters)> {
        let of = |sample: &'_ HostSample| sample.disks.iter().position(|disk| disk.number == number);
        Some((&self.first.disks[of(self.first)?], &self.last.disks[of(self.last)?]))
    }

    /// Time between the two samples, seconds.
    pub fn seconds(&self) -> f64 {
        self.last.at_ns.saturating_sub(self.first.at_ns) as f64 / 1e9
    }

    /// Share of the time in which every runnable task waited for I/O.
    pub fn io_full(&self) -> Option<f64> {
        let (first, last) = (self.first.io_pressure?, self.last.io_pressure?);
        Some(last.full_us.checked_sub(first.full_us)? as f64 / 1e6 / self.seconds())
    }
}
