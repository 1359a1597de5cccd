//! The load of all instances as one: seconds merged as they come, cut into segments of constant members.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::LatencySummary;
use super::figures::{sum_of_errors, summarize};
use crate::protocol::clock::SECOND_NS;
use crate::stats::latency::{Distribution, LatencyHistogram};
use crate::stats::segments::{self, Segment};

/// Seconds that may be open at once. Hosts report within seconds of each other; a host that is silent
/// for longer than eight is lost.
const MOST_OPEN: usize = 64;

/// Instances that stop together do so within this, ns.
const MOST_SHORTER_NS: u64 = 50_000_000;

/// What one instance completed in one second.
pub struct Part {
    /// Place of the instance in the run.
    pub instance: usize,
    /// Length of the second, ns.
    pub length_ns: u64,
    /// Load threads that ran at its end.
    pub threads: u32,
    /// Transactions that it counted.
    pub transactions: u64,
    /// Their latency, as far as it is readable.
    pub latency: Distribution,
    /// Statements: reads, writes, other.
    pub statements: [u64; 3],
    /// SQL errors by code.
    pub errors: BTreeMap<u16, u64>,
    /// Connections made in place of lost ones.
    pub reconnects: u64,
    /// Transactions that had arrived by its end and not begun.
    pub queued: Option<u64>,
}

/// Of several instances, leaves those that took part in the whole second: an instance is a member while its
/// load threads run, and what it did in a piece of a second is not its second.
fn retain_members(parts: &mut Vec<Part>) {
    let longest_ns = parts.iter().map(|part| part.length_ns).max().unwrap_or(0);
    parts.retain(|part| part.threads > 0 && part.length_ns.saturating_add(MOST_SHORTER_NS) >= longest_ns);
}

/// Sums over seconds.
#[derive(Default)]
pub struct Totals {
    /// Length of these seconds, ns.
    pub length_ns: u64,
    /// First second, when there is any.
    pub first: Option<i64>,
    /// Latency of the transactions.
    pub latency: LatencyHistogram,
    /// Statements: reads, writes, other.
    pub statements: [u64; 3],
    /// SQL errors by code.
    pub errors: BTreeMap<u16, u64>,
    /// Connections made in place of lost ones.
    pub reconnects: u64,
}

impl Totals {
    fn add_second(&mut self, second: i64, length_ns: u64) {
        self.first.get_or_insert(second);
        self.length_ns = self.length_ns.saturating_add(length_ns);
    }

    fn add_counts(&mut self, statements: [u64; 3], errors: &BTreeMap<u16, u64>, reconnects: u64) {
        self.reconnects = self.reconnects.saturating_add(reconnects);
        for (sum, n) in self.statements.iter_mut().zip(statements) {
            *sum = sum.saturating_add(n);
        }
        for (code, n) in errors {
            let sum = self.errors.entry(*code).or_default();
            *sum = sum.saturating_add(*n);
        }
    }

    fn add(&mut self, later: &Totals) {
        let Some(first) = later.first else { return };
        self.add_second(first, later.length_ns);
        self.latency.merge(&later.latency);
        self.add_counts(later.statements, &later.errors, later.reconnects);
    }

    /// Moments of these seconds relative to T0, ns: the beginning, and the end if none is missing.
    pub fn span_ns(&self) -> (i64, i64) {
        let begin = self.first.unwrap_or(0).saturating_mul(SECOND_NS);
        (begin, begin.saturating_add(i64::try_from(self.length_ns).unwrap_or(i64::MAX)))
    }
}

/// One second of all instances.
pub struct MergedSecond {
    /// Relative to T0; negative in warm-up.
    pub second: i64,
    /// Its length, ns.
    pub length_ns: u64,
    /// Transactions of all.
    pub transactions: u64,
    /// Mean, median, 99th percentile and maximum, ms; `None` when nothing completed.
    pub latency_ms: Option<[f64; 4]>,
    /// SQL errors.
    pub errors: u64,
    /// Connections made in place of lost ones.
    pub reconnects: u64,
    /// Transactions that had arrived by its end and not begun; `None` in a closed loop.
    pub queued: Option<u64>,
    /// Instances that reported it, ascending.
    pub members: Rc<[usize]>,
}

/// A segment and the sums over it.
pub struct MergedSegment {
    /// Members and seconds.
    pub segment: Segment,
    /// Length, ns.
    pub length_ns: u64,
    /// Transactions.
    pub transactions: u64,
    /// SQL errors.
    pub errors: u64,
    /// Latency; `None` when nothing completed.
    pub latency: Option<LatencySummary>,
}

/// Sums over a segment: of all its members together, and of each instance.
pub struct SegmentTotals {
    /// All.
    pub all: Totals,
    /// By the instance's place in the run.
    pub each: Vec<Totals>,
}

/// Merges the seconds of a run.
pub struct Merging {
    instances: usize,
    planned: usize,
    open: BTreeMap<i64, Vec<Part>>,
    closed: Option<i64>,
    second: LatencyHistogram,
    current: SegmentTotals,
    cuts: Vec<Segment>,
    /// Every second, ascending.
    pub seconds: Vec<MergedSecond>,
    /// Every finished segment.
    pub segments: Vec<MergedSegment>,
    /// The longest segment with all planned instances: its place, and its sums.
    pub full: Option<(usize, SegmentTotals)>,
    /// Sums over all measured seconds of each instance, when they are not those of one full segment.
    whole: Vec<Totals>,
}

impl Merging {
    /// Of so many instances that began, of so many planned.
    pub fn new(instances: usize, planned: usize) -> Self {
        Self {
            instances,
            planned,
            open: BTreeMap::new(),
            closed: None,
            second: LatencyHistogram::new(),
            current: SegmentTotals::new(instances),
            cuts: Vec::new(),
            seconds: Vec::new(),
            segments: Vec::new(),
            full: None,
            whole: Vec::new(),
        }
    }

    /// Takes what an instance completed in a second; `false` when that second was closed long ago, and
    /// the part is left out.
    pub fn take(&mut self, second: i64, part: Part) -> bool {
        if self.closed.is_some_and(|closed| second <= closed) {
            return false;
        }
        self.open.entry(second).or_default().push(part);
        while let Some(first) = self.open.first_entry() {
            if first.get().len() < self.instances && self.open.len() <= MOST_OPEN {
                break;
            }
            self.close_first();
        }
        true
    }

    /// Closes what is open: the run is over. `stopped` tells of each instance whether it ended because it
    /// was told to, and not because it was lost.
    pub fn finish(&mut self, stopped: &[bool]) {
        while !self.open.is_empty() {
            self.close_first();
        }
        self.leave_out_remnant(stopped);
        self.end_segment();
        if self.segments.len() == 1 && self.full.is_some() {
            self.whole.clear();
        }
        self.second = LatencyHistogram::new();
    }

    /// Sums over all measured seconds of an instance, by its place.
    pub fn whole(&self, place: usize) -> Option<&Totals> {
        let of_full = || self.full.as_ref()?.1.each.get(place);
        self.whole.get(place).or_else(of_full)
    }

    fn close_first(&mut self) {
        let Some((second, mut parts)) = self.open.pop_first() else { return };
        self.closed = Some(second);
        if self.planned > 1 {
            retain_members(&mut parts);
        }
        parts.sort_by_key(|part| part.instance);
        let mut members: Vec<usize> = parts.iter().map(|part| part.instance).collect();
        members.dedup();
        if second >= 0 {
            let ended = self.cuts.last().is_some_and(|segment| segment.members != members);
            if ended {
                self.end_segment();
            }
            segments::extend(&mut self.cuts, second, &members);
        }
        self.merge_second(second, &parts, members);
    }

    /// Loads that are told to stop do so within moments of each other. When a second begins between these
    /// moments, what some did in it is no stretch with fewer members: the measurement ended with the second
    /// before.
    fn leave_out_remnant(&mut self, stopped: &[bool]) {
        let [.., before, last] = self.seconds.as_slice() else { return };
        let is_remnant = !self.cuts.is_empty()
            && last.second == before.second + 1
            && last.length_ns < SECOND_NS.unsigned_abs()
            && last.members.len() < before.members.len()
            && last.members.iter().all(|place| before.members.contains(place))
            && before.members.iter().all(|&place| stopped.get(place) == Some(&true));
        if is_remnant {
            self.seconds.pop();
            self.cuts.pop();
            self.current = SegmentTotals::new(self.instances);
        }
    }

    fn merge_second(&mut self, second: i64, parts: &[Part], members: Vec<usize>) {
        self.second.clear();
        parts.iter().for_each(|part| self.second.add(&part.latency));
        let length_ns = parts.iter().map(|part| part.length_ns).max().unwrap_or(0);
        let errors = parts.iter().flat_map(|part| part.errors.values());
        let shared = self.seconds.last().map(|before| &before.members);
        let shared = shared.filter(|before| ***before == *members).cloned();
        self.seconds.push(MergedSecond {
            second,
            length_ns,
            transactions: parts.iter().fold(0, |sum, part| sum.saturating_add(part.transactions)),
            latency_ms: figures_of_second(&self.second),
            errors: errors.fold(0, |sum: u64, n| sum.saturating_add(*n)),
            reconnects: parts.iter().fold(0, |sum, part| sum.saturating_add(part.reconnects)),
            queued: parts.iter().filter_map(|part| part.queued).reduce(u64::saturating_add),
            members: shared.unwrap_or_else(|| members.into()),
        });
        if second < 0 {
            return;
        }
        let SegmentTotals { all, each } = &mut self.current;
        all.add_second(second, length_ns);
        all.latency.merge(&self.second);
        for part in parts {
            all.add_counts(part.statements, &part.errors, part.reconnects);
            if let Some(own) = each.get_mut(part.instance) {
                own.add_second(second, part.length_ns);
                own.latency.add(&part.latency);
                own.add_counts(part.statements, &part.errors, part.reconnects);
            }
        }
    }

    /// Files the segment that ended. Its sums are kept only if it may become the headline.
    fn end_segment(&mut self) {
        let Some(segment) = self.cuts.pop() else { return };
        let totals = std::mem::replace(&mut self.current, SegmentTotals::new(self.instances));
        self.whole.resize_with(self.instances, Totals::default);
        self.whole.iter_mut().zip(&totals.each).for_each(|(whole, own)| whole.add(own));
        let is_full = segment.members.len() == self.planned;
        let all = &totals.all;
        self.segments.push(MergedSegment {
            segment,
            length_ns: all.length_ns,
            transactions: all.latency.count(),
            errors: sum_of_errors(&all.errors),
            latency: summarize(&all.latency, None),
        });
        let longest = self.full.as_ref().map_or(0, |(_, totals)| totals.all.length_ns);
        if is_full && (self.full.is_none() || all.length_ns > longest) {
            self.full = Some((self.segments.len() - 1, totals));
        }
    }
}

fn figures_of_second(latency: &LatencyHistogram) -> Option<[f64; 4]> {
    let ms = |ns: u64| ns as f64 / 1e6;
    let (p50, p99) = (latency.percentile_ns(50.0)?, latency.percentile_ns(99.0)?);
    Some([latency.mean_ns()? / 1e6, ms(p50), ms(p99), ms(latency.max_ns()?)])
}

impl SegmentTotals {
    /// Nothing yet, of so many instances.
    pub fn new(instances: usize) -> Self {
        let each = std::iter::repeat_with(Totals::default).take(instances).collect();
        Self { all: Totals::default(), each }
    }
}

#[cfg(test)]
mod tests;
