//! The figures of one line on the terminal, gathered while the run goes on.

use crate::protocol::Event;
use crate::protocol::clock::SECOND_NS;
use crate::protocol::event::LoadSecond;
use crate::protocol::job::StartJob;
use crate::protocol::sample::HostSample;
use crate::stats::device::{DeviceRates, device_rates};
use crate::stats::latency::LatencyHistogram;

/// Samples lie on the grid of seconds within this.
const ON_GRID_NS: i64 = 500_000_000;

/// What happened in one report interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Where it ends, seconds after T0; 0 or less in warm-up.
    pub end_s: f64,
    /// Threads running.
    pub threads: u32,
    /// Transactions a second.
    pub tps: f64,
    /// Statements a second: read, write, other.
    pub statements: [f64; 3],
    /// Mean latency, ms; `None` when nothing completed, like the next.
    pub avg_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// SQL errors a second.
    pub errors_per_s: f64,
    /// Name and rates of the device under test.
    pub device: Option<(String, DeviceRates)>,
}

/// Gathers seconds into intervals.
pub(super) struct Live {
    interval_s: i64,
    t0_ns: i64,
    end_ns: Option<i64>,
    seconds: Vec<LoadSecond>,
    /// Samples since the interval began, its first one included.
    samples: Vec<HostSample>,
}

impl Live {
    pub(super) fn new(interval_s: u64, start: &StartJob) -> Self {
        let interval_s = i64::try_from(interval_s.max(1)).unwrap_or(i64::MAX);
        Self {
            interval_s,
            t0_ns: start.t0_ns,
            end_ns: start.end_ns,
            seconds: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Takes an event; returns the interval that it completes.
    pub(super) fn saw(&mut self, event: &Event) -> Option<Interval> {
        match event {
            Event::Host(sample) => self.samples.push(sample.clone()),
            Event::LoadSecond(second) => {
                self.seconds.push(second.clone());
                let cut_short = i64::try_from(second.length_ns).ok() != Some(SECOND_NS);
                let last = self.end_ns.is_some_and(|end_ns| self.end_of(second) >= end_ns);
                if cut_short || last || (second.second + 1).rem_euclid(self.interval_s) == 0 {
                    return Some(self.complete(second));
                }
            }
            _ => {}
        }
        None
    }

    fn complete(&mut self, last: &LoadSecond) -> Interval {
        let seconds = std::mem::take(&mut self.seconds);
        let length_s = seconds.iter().map(|s| s.length_ns as f64).sum::<f64>() / 1e9;
        let mut latency = LatencyHistogram::new();
        for second in &seconds {
            // An unreadable histogram would be missed here and reported by the analysis.
            let _ = latency.merge_record(&second.latency);
        }
        let rate =
            |of: &dyn Fn(&LoadSecond) -> u64| seconds.iter().map(of).sum::<u64>() as f64 / length_s.max(1e-9);
        Interval {
            end_s: last.second as f64 + last.length_ns as f64 / 1e9,
            threads: last.threads,
            tps: rate(&|s| s.latency.count),
            statements: [rate(&|s| s.reads), rate(&|s| s.writes), rate(&|s| s.other)],
            avg_ms: latency.mean_ns().map(|ns| ns / 1e6),
            p99_ms: latency.percentile_ns(99.0).map(|ns| ns as f64 / 1e6),
            errors_per_s: rate(&|s| s.errors.values().sum()),
            device: self.device(self.end_of(last)),
        }
    }

    fn end_of(&self, second: &LoadSecond) -> i64 {
        self.t0_ns + (second.second + 1) * SECOND_NS
    }

    /// Rates from the interval's first sample to the one at its end, which stays for the next interval.
    fn device(&mut self, end_ns: i64) -> Option<(String, DeviceRates)> {
        let last = self.samples.iter().rposition(|sample| sample.at_ns <= end_ns + ON_GRID_NS)?;
        let first = self.samples.first()?.clone();
        self.samples.drain(..last);
        let second = self.samples.first()?;
        let (before, after) = (first.disks.first()?, second.disks.first()?);
        let rates = device_rates(before, after, second.at_ns - first.at_ns)?;
        Some((after.name.clone(), rates))
    }
}
