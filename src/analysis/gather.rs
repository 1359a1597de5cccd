//! One pass over a journal: events sorted into runs, histograms merged, nothing judged yet.

use std::collections::BTreeMap;
use std::path::Path;

use super::DatasetAnalysis;
use crate::plan::{Plan, RunPlan};
use crate::protocol::Event;
use crate::protocol::event::{LoadEnded, LoadSecond, ServerReady};
use crate::protocol::facts::HostFacts;
use crate::protocol::sample::{HostSample, ServerSample};
use crate::result::reader::{JournalReader, journal_path};
use crate::result::{Ending, Record, ResultError};
use crate::stats::latency::LatencyHistogram;

/// Everything that a journal says, in the order of a result.
pub struct Gathered {
    /// Wall clock of the first line.
    pub started: String,
    /// The host as it was found.
    pub facts: Option<HostFacts>,
    /// The server once it answered.
    pub server: Option<ServerReady>,
    /// The dataset once it was complete.
    pub dataset: Option<DatasetAnalysis>,
    /// Runs that were started.
    pub runs: Vec<GatheredRun>,
    /// Last line, if it was written.
    pub closed: Option<(Ending, Option<String>)>,
    /// Warnings, and what was noticed while reading.
    pub notes: Vec<String>,
}

/// One run's raw material.
pub struct GatheredRun {
    /// What was planned.
    pub plan: RunPlan,
    /// Start of the measured interval, ns of the host's monotonic clock.
    pub t0_ns: i64,
    /// Figures a second, warm-up included.
    pub seconds: Vec<SecondFigures>,
    /// Latency of the measured interval.
    pub latency: LatencyHistogram,
    /// Kernel samples, in order.
    pub host: Vec<HostSample>,
    /// Server samples, in order.
    pub server: Vec<ServerSample>,
    /// How the load ended, if it lived to say so.
    pub ended: Option<LoadEnded>,
    /// `Some(None)`: as planned. `Some(reason)`: not. `None`: nobody said.
    pub shortfall: Option<Option<String>>,
    /// Bytes that the journal grew by in the measured interval.
    pub journal_bytes: u64,
}

/// One second of load.
#[derive(Debug, Clone)]
pub struct SecondFigures {
    /// Relative to T0.
    pub second: i64,
    /// Its length, ns.
    pub length_ns: u64,
    /// Transactions.
    pub transactions: u64,
    /// Mean, median, 99th percentile and maximum, ms; `None` when nothing completed.
    pub latency_ms: Option<[f64; 4]>,
    /// Statements: reads, writes, other.
    pub statements: [u64; 3],
    /// SQL errors by code.
    pub errors: BTreeMap<u16, u64>,
}

impl GatheredRun {
    /// The seconds of the measured interval.
    pub fn measured(&self) -> impl Iterator<Item = &SecondFigures> {
        self.seconds.iter().filter(|second| second.second >= 0)
    }

    /// Length of the measured interval as far as it is recorded, ns.
    pub fn measured_ns(&self) -> u64 {
        self.measured().fold(0, |sum, second| sum.saturating_add(second.length_ns))
    }
}

/// Reads a journal to its end or to its first damage.
///
/// # Errors
/// When it is not a journal.
pub fn gather(result: &Path, plan: &Plan, plan_crc32: u32) -> Result<Gathered, ResultError> {
    let mut reader = JournalReader::open(&journal_path(result))?;
    let mut gathered = Gathered {
        started: String::new(),
        facts: None,
        server: None,
        dataset: None,
        runs: Vec::new(),
        closed: None,
        notes: Vec::new(),
    };
    let mut run_is_open = false;
    for (entry, bytes) in reader.by_ref() {
        if entry.seq == 0 {
            gathered.started = whole_seconds(&entry.utc);
        }
        match entry.record {
            Record::Opened(opened) if opened.plan_crc32 != plan_crc32 => gathered.notes.push(
                "plan.json was changed since, or belongs to another result: labels may be wrong".to_owned(),
            ),
            Record::Opened(_) | Record::Clock { .. } => {}
            Record::Lost { .. } => {}
            Record::RunStarted { run, instances, .. } => {
                if let Some((plan, start)) = plan.runs.get(run).zip(instances.first()) {
                    gathered.runs.push(GatheredRun::new(plan, start.t0_ns));
                    run_is_open = true;
                }
            }
            Record::RunEnded { shortfall, .. } => {
                if let Some(run) = gathered.runs.last_mut() {
                    run.shortfall = Some(shortfall);
                }
                run_is_open = false;
            }
            Record::Closed { ending, reason } => gathered.closed = Some((ending, reason)),
            Record::Event(event) => match gathered.runs.last_mut() {
                Some(run) if run_is_open => run.take(event, bytes, &mut gathered.notes),
                _ => gathered.take(event),
            },
        }
    }
    shorten(&mut gathered.notes);
    gathered.notes.extend(reader.damage().map(str::to_owned));
    Ok(gathered)
}

/// What a reader should know of how transactions were filed.
fn oddities(ended: &LoadEnded) -> Vec<String> {
    let mut notes = Vec::new();
    if ended.filed_late > 0 {
        let n = ended.filed_late;
        notes.push(format!(
            "{n} transactions are counted with the last second: their threads or the collector were held up"
        ));
    }
    if ended.saturated > 0 {
        let n = ended.saturated;
        notes.push(format!("{n} transactions took longer than an hour; percentiles count them as an hour"));
    }
    notes
}

/// A reader needs the first of many like notes, and their number.
fn shorten(notes: &mut Vec<String>) {
    const MOST: usize = 50;
    if let Some(more) = notes.len().checked_sub(MOST).filter(|&more| more > 0) {
        notes.truncate(MOST);
        notes.push(format!("… and {more} more, in the journal"));
    }
}

/// `2026-01-31T12:00:00Z` from a time with a fraction.
fn whole_seconds(utc: &str) -> String {
    match utc.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => utc.to_owned(),
    }
}

impl Gathered {
    /// Events outside runs.
    fn take(&mut self, event: Event) {
        match event {
            Event::Probed(facts) => self.facts = Some(*facts),
            Event::ServerReady(ready) => self.server = Some(ready),
            Event::Prepared { manifest, reused } => {
                self.dataset = Some(DatasetAnalysis {
                    reused,
                    runs_before: manifest.runs_since,
                    creation: manifest.creation,
                    rows: manifest.measured.rows,
                    file_bytes: manifest.measured.file_bytes,
                });
            }
            Event::Warning { text } => self.notes.push(text),
            _ => {}
        }
    }
}

impl GatheredRun {
    fn new(plan: &RunPlan, t0_ns: i64) -> Self {
        Self {
            plan: plan.clone(),
            t0_ns,
            seconds: Vec::new(),
            latency: LatencyHistogram::new(),
            host: Vec::new(),
            server: Vec::new(),
            ended: None,
            shortfall: None,
            journal_bytes: 0,
        }
    }

    /// Events within the run.
    fn take(&mut self, event: Event, bytes: u64, notes: &mut Vec<String>) {
        if self.seconds.last().is_some_and(|second| second.second >= -1) {
            self.journal_bytes += bytes;
        }
        match event {
            Event::LoadSecond(second) => self.take_second(second, notes),
            Event::Host(sample) => self.host.push(sample),
            Event::Server(sample) => self.server.push(sample),
            Event::LoadEnded(ended) => {
                notes.extend(oddities(&ended));
                self.ended = Some(ended);
            }
            Event::Warning { text } => notes.push(text),
            _ => {}
        }
    }

    fn take_second(&mut self, second: LoadSecond, notes: &mut Vec<String>) {
        let mut latency = LatencyHistogram::new();
        if let Err(error) = latency.merge_record(&second.latency) {
            notes.push(format!("second {}: {error}; its transactions are not counted", second.second));
        }
        if second.second >= 0 {
            self.latency.merge(&latency);
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        let latency_ms = latency.mean_ns().zip(latency.max_ns()).and_then(|(mean, max)| {
            let (p50, p99) = (latency.percentile_ns(50.0)?, latency.percentile_ns(99.0)?);
            Some([mean / 1e6, ms(p50), ms(p99), ms(max)])
        });
        self.seconds.push(SecondFigures {
            second: second.second,
            length_ns: second.length_ns,
            transactions: second.latency.count,
            latency_ms,
            statements: [second.reads, second.writes, second.other],
            errors: second.errors,
        });
    }
}
