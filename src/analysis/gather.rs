//! One pass over a journal: events sorted into hosts and runs, histograms merged, nothing judged yet.

use std::collections::BTreeMap;
use std::path::Path;

use super::DatasetAnalysis;
use super::gather_run::{GatheredRun, Member};
use super::redacted;
use super::wear;
use crate::plan::Plan;
use crate::protocol::Event;
use crate::protocol::event::{ServerReady, Settled};
use crate::protocol::facts::{DeviceFacts, HostFacts, ObserverFacts};
use crate::protocol::sample::HealthSample;
use crate::result::reader::{JournalReader, journal_path};
use crate::result::redact::Redaction;
use crate::result::{COORDINATOR, Ending, HostStart, Record, ResultError};

/// Everything that a journal says, in the order of a result.
pub struct Gathered {
    /// Wall clock of the first line.
    pub started: String,
    /// What each host said outside runs, by its name.
    pub hosts: BTreeMap<String, GatheredHost>,
    /// Runs that were started.
    pub runs: Vec<GatheredRun>,
    /// Last line, if it was written.
    pub closed: Option<(Ending, Option<String>)>,
    /// Number of the last run that a ramp needed, once it had found its end.
    pub ramp_ended: Option<usize>,
    /// Warnings, and what was noticed while reading.
    pub notes: Vec<String>,
    /// There are several hosts, so that a note must name its own.
    several: bool,
}

/// What one host said outside runs, as it stood last.
#[derive(Default)]
pub struct GatheredHost {
    /// The host as it was found.
    pub facts: Option<HostFacts>,
    /// The same of an observer.
    pub observer: Option<ObserverFacts>,
    /// The server once it answered.
    pub server: Option<ServerReady>,
    /// The dataset once it was complete.
    pub dataset: Option<DatasetAnalysis>,
    /// Its clock minus the coordinator's and the bound of its error, ns.
    pub clock: Option<(i64, i64)>,
    /// Seeds of the load threads that are ready.
    pub streams: Vec<u64>,
    /// Processors that these may use.
    pub load_cpus: Option<String>,
    /// The server when it had come to rest, since the last run.
    pub settled: Option<Settled>,
    /// What its drives told, since the last run.
    pub health: Option<HealthSample>,
    /// Why it does not take part any more.
    pub lost: Option<String>,
}

impl GatheredHost {
    /// The device mounted at its data directory, or the one that it watches, then every device below it; empty when
    /// nobody looked.
    pub fn devices(&self) -> &[DeviceFacts] {
        let mounted = self.facts.as_ref().and_then(|facts| facts.target.mount.as_ref());
        let mounted = mounted.map(|mount| mount.devices.as_slice()).filter(|devices| !devices.is_empty());
        let watched = || self.observer.as_ref().map(|observer| observer.devices.as_slice());
        mounted.or_else(watched).unwrap_or_default()
    }

    /// The first of these.
    pub fn device(&self) -> Option<&DeviceFacts> {
        self.devices().first()
    }
}

/// Reads a journal to its end or to its first damage.
///
/// # Errors
/// When it is not a journal.
pub fn gather(
    result: &Path,
    plan: &Plan,
    plan_crc32: u32,
    redaction: Option<&Redaction>,
) -> Result<Gathered, ResultError> {
    let mut reader = JournalReader::open(&journal_path(result))?;
    let mut gathered = Gathered {
        started: String::new(),
        hosts: BTreeMap::new(),
        runs: Vec::new(),
        closed: None,
        ramp_ended: None,
        notes: Vec::new(),
        several: plan.fleet.instances.len() + plan.fleet.observers.len() > 1,
    };
    let mut run_is_open = false;
    for (entry, bytes) in reader.by_ref() {
        let entry = match redaction {
            Some(redaction) => redacted(redaction, &entry, result)?,
            None => entry,
        };
        if entry.seq == 0 {
            gathered.started = whole_seconds(&entry.utc);
        }
        match entry.record {
            Record::Opened(opened) if opened.plan_crc32 != plan_crc32 => gathered.notes.push(
                "plan.json was changed since, or belongs to another result: labels may be wrong".to_owned(),
            ),
            Record::Opened(_) => {}
            Record::Clock { offset_ns, bound_ns } => {
                if let Some(run) = gathered.runs.last_mut().filter(|_| run_is_open) {
                    run.note_clock(&entry.from, (offset_ns, bound_ns));
                }
                gathered.host(entry.from).clock = Some((offset_ns, bound_ns));
            }
            Record::Lost { reason } => gathered.lose(entry.from, reason, run_is_open),
            Record::RunStarted { run, instances, observers } => {
                gathered.finish_run();
                run_is_open = gathered.start_run(plan, run, instances, observers);
            }
            Record::RunEnded { shortfall, .. } => {
                gathered.finish_run();
                if let Some(run) = gathered.runs.last_mut() {
                    run.shortfall = Some(shortfall);
                }
                run_is_open = false;
            }
            Record::RampEnded { after } => gathered.ramp_ended = Some(after),
            Record::Closed { ending, reason } => gathered.closed = Some((ending, reason)),
            Record::Event(event) => gathered.take(entry.from, event, bytes, run_is_open),
        }
    }
    gathered.finish_run();
    shorten(&mut gathered.notes);
    gathered.notes.extend(reader.damage().map(str::to_owned));
    gathered.notes.extend(wear::silence(&gathered.runs, gathered.several));
    Ok(gathered)
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
    /// What is known of a host; a new place for one that says something for the first time.
    fn host(&mut self, name: String) -> &mut GatheredHost {
        self.hosts.entry(name).or_default()
    }

    fn start_run(
        &mut self,
        plan: &Plan,
        run: usize,
        instances: Vec<HostStart>,
        observers: Vec<HostStart>,
    ) -> bool {
        let Some(run_plan) = plan.runs.get(run).filter(|_| !instances.is_empty()) else { return false };
        self.runs.push(GatheredRun::new((run, run_plan), instances, observers, &mut self.hosts));
        true
    }

    fn finish_run(&mut self) {
        if let Some(run) = self.runs.last_mut() {
            run.finish();
        }
    }

    fn lose(&mut self, from: String, reason: String, run_is_open: bool) {
        let run = self.runs.last_mut().filter(|_| run_is_open);
        if run.is_none_or(|run| !run.lose(&from, &reason)) && self.several {
            self.notes.push(format!("{from} was lost: {reason}"));
        }
        self.host(from).lost.get_or_insert(reason);
    }

    fn take(&mut self, from: String, event: Event, bytes: u64, run_is_open: bool) {
        let run = self.runs.last_mut().filter(|_| run_is_open);
        match run.and_then(|run| Some((run.member(&from)?, run))) {
            Some((Member::Instance(place), run)) => {
                run.take(place, event, bytes, &mut self.notes);
            }
            Some((Member::Observer(place), run)) => match event {
                Event::Host(sample) => run.observers[place].samples.push(*sample),
                Event::Health(sample) => run.observers[place].health.take_next(sample),
                other => self.take_outside(from, other),
            },
            None => self.take_outside(from, event),
        }
    }

    /// Events outside runs, and of hosts that take no part in the run.
    fn take_outside(&mut self, from: String, event: Event) {
        match event {
            Event::Probed(facts) => self.host(from).facts = Some(*facts),
            Event::Observing(facts) => self.host(from).observer = Some(*facts),
            Event::ServerReady(ready) => self.host(from).server = Some(ready),
            Event::LoadReady { streams, cpus } => {
                let host = self.host(from);
                (host.streams, host.load_cpus) = (streams, Some(cpus).filter(|cpus| !cpus.is_empty()));
            }
            Event::Settled(settled) => self.host(from).settled = Some(settled),
            Event::Health(sample) => match self.runs.last_mut().map(|run| (run.member(&from), run)) {
                // An observer tells it once it has heard that the run is over.
                Some((Some(Member::Observer(place)), run)) => run.observers[place].health.take_next(sample),
                _ => self.host(from).health = Some(sample),
            },
            Event::Prepared { manifest, reused, file_bytes } => {
                if manifest.rows_changed > 0 {
                    let of = if self.several { format!("{from}: ") } else { String::new() };
                    let (rows, loaded) = (manifest.rows_changed, manifest.measured.rows);
                    self.notes.push(format!(
                        "{of}earlier runs added or removed {rows} rows of the dataset, of which {loaded} were loaded"
                    ));
                }
                self.host(from).dataset = Some(DatasetAnalysis {
                    reused,
                    runs_before: manifest.runs_since,
                    creation: manifest.creation,
                    rows: manifest.measured.rows.saturating_add_signed(manifest.rows_added),
                    rows_changed: manifest.rows_changed,
                    file_bytes,
                });
            }
            Event::Warning { text } if self.several && from != COORDINATOR => {
                self.notes.push(format!("{from}: {text}"));
            }
            Event::Warning { text } => self.notes.push(text),
            _ => {}
        }
    }
}
