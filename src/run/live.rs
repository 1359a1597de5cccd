//! The figures of one line on the terminal, gathered while the run goes on.

use std::collections::{BTreeMap, VecDeque};

use crate::protocol::Event;
use crate::protocol::clock::SECOND_NS;
use crate::protocol::event::LoadSecond;
use crate::protocol::sample::HostSample;
use crate::result::HostStart;
use crate::stats::device::{DeviceRates, device_rates};
use crate::stats::latency::LatencyHistogram;

/// Samples lie on the grid of seconds within this.
const ON_GRID_NS: i64 = 500_000_000;
/// An instance this far behind the others is shown as absent. Its seconds are in the journal all the same.
const PATIENCE_S: i64 = 3;

/// What happened in one report interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Where it ends, seconds after T0; 0 or less in warm-up.
    pub end_s: f64,
    /// Instances that reported its last second.
    pub instances: usize,
    /// Threads running, on all of them.
    pub threads: u32,
    /// Transactions a second.
    pub tps: f64,
    /// Statements a second: read, write, other.
    pub statements: [f64; 3],
    /// Mean latency, ms; `None` when nothing completed, like the next.
    pub avg_ms: Option<f64>,
    /// 99th percentile, of all transactions together.
    pub p99_ms: Option<f64>,
    /// SQL errors a second.
    pub errors_per_s: f64,
    /// Connections made in place of lost ones, a second.
    pub reconnects_per_s: f64,
    /// Transactions that had arrived and not begun at its end; `None` in a closed loop.
    pub queued: Option<u64>,
    /// Name and rates of each instance's device under test.
    pub devices: Vec<(String, DeviceRates)>,
}

/// Gathers seconds into intervals.
pub(super) struct Live {
    interval_s: i64,
    lanes: BTreeMap<String, Lane>,
    /// The second that is waited for.
    next: i64,
    /// Seconds of the open interval, of every instance.
    open: Vec<LoadSecond>,
    /// Its length so far, ns.
    open_ns: u64,
}

/// What there is at the end of an interval.
struct AtEnd {
    instances: usize,
    threads: u32,
    queued: Option<u64>,
}

/// What one instance has said.
struct Lane {
    t0_ns: i64,
    end_ns: Option<i64>,
    seconds: VecDeque<LoadSecond>,
    /// Samples since the interval began, its first one included.
    samples: Vec<HostSample>,
    ended: bool,
}

impl Live {
    pub(super) fn new(interval_s: u64, instances: &[HostStart]) -> Self {
        let interval_s = i64::try_from(interval_s.max(1)).unwrap_or(i64::MAX);
        let first = |start: &HostStart| (start.begin_ns - start.t0_ns).div_euclid(SECOND_NS);
        let next = instances.iter().map(first).min().unwrap_or(0);
        let lanes = instances.iter().map(|start| (start.host.clone(), Lane::new(start))).collect();
        Self { interval_s, lanes, next, open: Vec::new(), open_ns: 0 }
    }

    /// Takes an event; returns the intervals that it completes.
    pub(super) fn saw(&mut self, host: &str, event: &Event) -> Vec<Interval> {
        let Some(lane) = self.lanes.get_mut(host) else { return Vec::new() };
        match event {
            Event::Host(sample) => lane.samples.push(*sample.clone()),
            Event::LoadSecond(second) => lane.seconds.push_back(second.clone()),
            Event::LoadEnded(_) => lane.ended = true,
            _ => return Vec::new(),
        }
        self.advance()
    }

    /// An instance says nothing any more; the others' intervals may be complete now.
    pub(super) fn gone(&mut self, host: &str) -> Vec<Interval> {
        if let Some(lane) = self.lanes.get_mut(host) {
            lane.ended = true;
        }
        self.advance()
    }

    fn advance(&mut self) -> Vec<Interval> {
        let mut complete = Vec::new();
        while self.second_is_complete() {
            complete.extend(self.take_second());
        }
        complete
    }

    fn second_is_complete(&self) -> bool {
        let newest = self.lanes.values().filter_map(|lane| Some(lane.seconds.back()?.second)).max();
        let overdue = newest.is_some_and(|newest| newest >= self.next + PATIENCE_S);
        newest.is_some_and(|newest| newest >= self.next)
            && self.lanes.values().all(|lane| overdue || lane.ended || !lane.seconds.is_empty())
    }

    /// Takes the next second from every instance that has it.
    fn take_second(&mut self) -> Option<Interval> {
        let (next, before) = (self.next, self.open.len());
        let (mut length_ns, mut is_last) = (0, true);
        for lane in self.lanes.values_mut() {
            while lane.seconds.front().is_some_and(|second| second.second <= next) {
                let Some(second) = lane.seconds.pop_front() else { break };
                if second.second == next {
                    length_ns = length_ns.max(second.length_ns);
                    is_last &= lane.ends_with(&second);
                    self.open.push(second);
                }
            }
        }
        self.next += 1;
        if self.open.len() == before {
            return None;
        }
        self.open_ns += length_ns;
        let last = &self.open[before..];
        let (instances, threads) = (last.len(), last.iter().map(|second| second.threads).sum());
        let queued: Option<u64> = last.iter().map(|second| second.queued).sum();
        let at_boundary = (next + 1).rem_euclid(self.interval_s) == 0;
        let at_end = AtEnd { instances, threads, queued };
        (is_last || at_boundary).then(|| self.complete(next, length_ns, at_end))
    }

    fn complete(&mut self, last: i64, last_ns: u64, at_end: AtEnd) -> Interval {
        let seconds = std::mem::take(&mut self.open);
        let length_s = std::mem::take(&mut self.open_ns) as f64 / 1e9;
        let mut latency = LatencyHistogram::new();
        for second in &seconds {
            // An unreadable histogram would be missed here and reported by the analysis.
            let _ = latency.merge_record(&second.latency);
        }
        let rate =
            |of: &dyn Fn(&LoadSecond) -> u64| seconds.iter().map(of).sum::<u64>() as f64 / length_s.max(1e-9);
        Interval {
            end_s: last as f64 + last_ns as f64 / 1e9,
            instances: at_end.instances,
            threads: at_end.threads,
            tps: rate(&|s| s.latency.count),
            statements: [rate(&|s| s.reads), rate(&|s| s.writes), rate(&|s| s.other)],
            avg_ms: latency.mean_ns().map(|ns| ns / 1e6),
            p99_ms: latency.percentile_ns(99.0).map(|ns| ns as f64 / 1e6),
            errors_per_s: rate(&|s| s.errors.values().sum()),
            reconnects_per_s: rate(&|s| s.reconnects),
            queued: at_end.queued,
            devices: self.lanes.values_mut().filter_map(|lane| lane.device(last)).collect(),
        }
    }
}

impl Lane {
    fn new(start: &HostStart) -> Self {
        Self {
            t0_ns: start.t0_ns,
            end_ns: start.end_ns,
            seconds: VecDeque::new(),
            samples: Vec::new(),
            ended: false,
        }
    }

    fn end_of(&self, second: i64) -> i64 {
        self.t0_ns + (second + 1) * SECOND_NS
    }

    fn ends_with(&self, second: &LoadSecond) -> bool {
        let cut_short = i64::try_from(second.length_ns).ok() != Some(SECOND_NS);
        cut_short || self.end_ns.is_some_and(|end_ns| self.end_of(second.second) >= end_ns)
    }

    /// Rates from the interval's first sample to the one at its end, which stays for the next interval.
    fn device(&mut self, last_second: i64) -> Option<(String, DeviceRates)> {
        let end_ns = self.end_of(last_second);
        // At its end the interval has two: one on the grid, and one once the load has ended.
        let near = |sample: &HostSample| sample.at_ns.abs_diff(end_ns);
        let until = self.samples.partition_point(|sample| sample.at_ns <= end_ns + ON_GRID_NS);
        let last = (0..until).min_by_key(|&place| near(&self.samples[place]))?;
        let first = self.samples.first()?.clone();
        self.samples.drain(..last);
        let second = self.samples.first()?;
        let (before, after) = (first.disks.first()?, second.disks.first()?);
        let rates = device_rates(before, after, second.at_ns - first.at_ns)?;
        Some((after.name.clone(), rates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::event::LatencyRecord;

    fn live(hosts: &[&str]) -> Live {
        let start = |host: &&str| HostStart {
            host: (*host).to_owned(),
            begin_ns: 0,
            t0_ns: 2 * SECOND_NS,
            end_ns: Some(62 * SECOND_NS),
        };
        Live::new(1, &hosts.iter().map(start).collect::<Vec<_>>())
    }

    fn second(second: i64, transactions: u64) -> Event {
        let latency =
            LatencyRecord { count: transactions, sum_ns: 0, min_ns: 0, max_ns: 0, hdr: String::new() };
        let (reads, writes, other, errors) = (0, 0, 0, BTreeMap::new());
        Event::LoadSecond(LoadSecond {
            second,
            length_ns: 1_000_000_000,
            threads: 8,
            latency,
            reads,
            writes,
            other,
            errors,
            reconnects: 0,
            queued: None,
        })
    }

    fn shown(intervals: &[Interval]) -> Vec<(f64, usize, f64)> {
        intervals.iter().map(|i| (i.end_s, i.instances, i.tps)).collect()
    }

    #[test]
    fn a_second_is_shown_once_every_instance_has_reported_it() {
        let mut live = live(&["a", "b"]);
        assert_eq!(shown(&live.saw("a", &second(-2, 10))), []);
        assert_eq!(shown(&live.saw("a", &second(-1, 20))), []);
        assert_eq!(shown(&live.saw("b", &second(-2, 5))), [(-1.0, 2, 15.0)]);
        assert_eq!(shown(&live.saw("b", &second(-1, 5))), [(0.0, 2, 25.0)]);
    }

    #[test]
    fn one_that_falls_behind_or_is_lost_does_not_hold_the_line_up() {
        let mut live = live(&["a", "b"]);
        let mut all = Vec::new();
        for n in -2..=1 {
            all.extend(live.saw("a", &second(n, 10)));
        }
        assert_eq!(shown(&all), [(-1.0, 1, 10.0)], "three seconds behind");
        assert_eq!(shown(&live.gone("b")), [(0.0, 1, 10.0), (1.0, 1, 10.0), (2.0, 1, 10.0)]);
        assert_eq!(shown(&live.saw("b", &second(-1, 99))), [], "too late to be shown");
        assert_eq!(shown(&live.saw("a", &second(2, 10))), [(3.0, 1, 10.0)]);
    }
}
