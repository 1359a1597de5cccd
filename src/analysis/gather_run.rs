//! One run's raw material, host by host.

use std::collections::BTreeMap;

use super::gather::GatheredHost;
use super::load::StatementTotals;
use super::merging::{Merging, Part};
use super::samples::{HostSamples, ServerMoment};
use super::wear::Readings;
use crate::plan::RunPlan;
use crate::protocol::Event;
use crate::protocol::event::{LatencyRecord, LoadEndCause, LoadEnded, LoadSecond, Settled};
use crate::result::HostStart;
use crate::stats::latency::{Distribution, MOST_COUNTED};
use crate::workload::statement::StatementKind;

/// One run.
pub struct GatheredRun {
    /// Its place in the plan.
    pub number: usize,
    /// What was planned.
    pub plan: RunPlan,
    /// Its instances, in the order in which they were started.
    pub instances: Vec<GatheredInstance>,
    /// Hosts that only sampled.
    pub observers: Vec<GatheredObserver>,
    /// The load of all instances.
    pub merging: Merging,
    /// Latencies by kind of statement, of all instances.
    pub statements: StatementTotals,
    /// `Some(None)`: as planned. `Some(reason)`: not. `None`: nobody said.
    pub shortfall: Option<Option<String>>,
    /// Bytes that the journal grew by in the measured interval.
    pub journal_bytes: u64,
    /// Transactions counted so far.
    counted: u64,
}

/// One instance of a run.
pub struct GatheredInstance {
    /// Its host.
    pub host: String,
    /// Start of the measured interval, ns of the host's monotonic clock.
    pub t0_ns: i64,
    /// The host's clock minus the coordinator's, and the bound of its error, ns, as known at the start.
    pub clock: Option<(i64, i64)>,
    /// The same as last told within the run.
    pub clock_later: Option<(i64, i64)>,
    /// Seeds of its load threads.
    pub streams: Vec<u64>,
    /// Processors that its load threads may use.
    pub load_cpus: Option<String>,
    /// Devices that vanished, by name.
    pub vanished: Vec<String>,
    /// The server when it had come to rest before the run.
    pub settled: Option<Settled>,
    /// When all of its load threads ran, ns of the host's monotonic clock.
    pub began_ns: Option<i64>,
    /// Figures a second, warm-up included.
    pub seconds: Vec<SecondFigures>,
    /// What its statements took, ns, summed over all that it measured; 0 when nobody said.
    pub statements_ns: f64,
    /// Kernel samples.
    pub samples: HostSamples,
    /// Server samples, in order.
    pub server: Vec<ServerMoment>,
    /// What its drives told around the run.
    pub health: Readings,
    /// Transactions that completed, warm-up included.
    pub completed: u64,
    /// How the load ended, if it lived to say so.
    pub ended: Option<LoadEnded>,
    /// Its load ended as planned, and nobody had given it up by then.
    pub done: bool,
    /// Why it did not take part to the end, as far as anybody said.
    pub lost: Option<String>,
}

/// A host that only sampled.
pub struct GatheredObserver {
    /// Its name.
    pub host: String,
    /// Start of the measured interval, ns of the host's monotonic clock.
    pub t0_ns: i64,
    /// Kernel samples.
    pub samples: HostSamples,
    /// What its drives told around the run.
    pub health: Readings,
}

/// One second of one instance, as far as it is told apart from the others.
#[derive(Debug, Clone, Copy)]
pub struct SecondFigures {
    /// Relative to T0.
    pub second: i64,
    /// Load threads that ran at its end.
    pub threads: u32,
    /// Transactions a second.
    pub tps: f64,
    /// 99th percentile, ms; `None` when nothing completed.
    pub p99_ms: Option<f64>,
}

/// Who said something within a run.
pub enum Member {
    /// An instance, by its place.
    Instance(usize),
    /// An observer, by its place.
    Observer(usize),
}

impl GatheredInstance {
    /// Last second that it reported, warm-up included.
    pub fn last_second(&self) -> Option<i64> {
        self.seconds.iter().map(|second| second.second).max()
    }

    /// The first measured second at whose end its load threads ran.
    pub fn first_at_work(&self) -> Option<i64> {
        let measured = self.seconds.iter().filter(|second| second.second >= 0 && second.threads > 0);
        measured.map(|second| second.second).min()
    }
}

impl GatheredRun {
    /// A run that starts on these hosts. Instances beyond the planned number are none.
    pub fn new(
        (number, plan): (usize, &RunPlan),
        mut instances: Vec<HostStart>,
        observers: Vec<HostStart>,
        hosts: &mut BTreeMap<String, GatheredHost>,
    ) -> Self {
        instances.truncate(plan.instances as usize);
        let device = |host: Option<&GatheredHost>| {
            HostSamples::of(host.and_then(GatheredHost::device).map(|device| device.number.clone()))
        };
        let instances: Vec<GatheredInstance> = instances
            .into_iter()
            .map(|start| {
                let mut known = hosts.get_mut(&start.host);
                GatheredInstance {
                    t0_ns: start.t0_ns,
                    clock: known.as_ref().and_then(|host| host.clock),
                    clock_later: None,
                    streams: known.as_mut().map(|host| std::mem::take(&mut host.streams)).unwrap_or_default(),
                    load_cpus: known.as_ref().and_then(|host| host.load_cpus.clone()),
                    vanished: Vec::new(),
                    settled: known.as_mut().and_then(|host| host.settled.take()),
                    began_ns: None,
                    seconds: Vec::new(),
                    statements_ns: 0.0,
                    samples: device(known.as_deref()),
                    server: Vec::new(),
                    health: Readings {
                        before: known.as_mut().and_then(|host| host.health.take()),
                        after: None,
                    },
                    completed: 0,
                    ended: None,
                    done: false,
                    lost: None,
                    host: start.host,
                }
            })
            .collect();
        let observers = observers.into_iter().map(|start| GatheredObserver {
            t0_ns: start.t0_ns,
            samples: device(hosts.get(&start.host)),
            health: Readings::default(),
            host: start.host,
        });
        Self {
            number,
            plan: plan.clone(),
            merging: Merging::new(instances.len(), plan.instances as usize),
            instances,
            statements: StatementTotals::default(),
            observers: observers.collect(),
            shortfall: None,
            journal_bytes: 0,
            counted: 0,
        }
    }

    /// Whether several instances were planned.
    pub fn is_fleet(&self) -> bool {
        self.plan.instances > 1
    }

    /// Last second that any instance reported, warm-up included.
    pub fn last_second(&self) -> Option<i64> {
        self.merging.seconds.last().map(|second| second.second)
    }

    /// Whether an instance took part to its end, or to where the journal stops. What befell it once its
    /// load had ended as planned took nothing away.
    pub fn stayed(&self, instance: &GatheredInstance) -> bool {
        // Before the first second of all, nobody lags behind.
        let before_all = -1 - i64::try_from(self.plan.warmup_s).unwrap_or(i64::MAX - 1);
        let last = |second: Option<i64>| second.unwrap_or(before_all);
        let reached = last(instance.last_second()) >= last(self.last_second()).saturating_sub(1);
        instance.done || (instance.lost.is_none() && reached)
    }

    /// Whether seconds were measured before its load threads ran: a host that stood still at the start.
    pub fn was_late(&self, instance: &GatheredInstance) -> bool {
        let measured = self.last_second().is_some_and(|second| second >= 0);
        self.is_fleet() && measured && instance.first_at_work().is_none_or(|first| first > 0)
    }

    /// A host's clock was measured anew.
    pub fn note_clock(&mut self, host: &str, clock: (i64, i64)) {
        if let Some(Member::Instance(place)) = self.member(host) {
            self.instances[place].clock_later = Some(clock);
        }
    }

    /// The place of a host in this run.
    pub fn member(&self, host: &str) -> Option<Member> {
        let instance = self.instances.iter().position(|instance| instance.host == host);
        let observer = || self.observers.iter().position(|observer| observer.host == host);
        instance.map(Member::Instance).or_else(|| observer().map(Member::Observer))
    }

    /// A host is lost; tells whether it carried an instance of this run. What was said first is the reason.
    pub fn lose(&mut self, host: &str, reason: &str) -> bool {
        let instance = self.instances.iter_mut().find(|instance| instance.host == host);
        instance.map(|instance| instance.lost.get_or_insert_with(|| reason.to_owned())).is_some()
    }

    /// Whether it lost instances, and the others ended as planned: what came later did not interrupt it.
    pub fn went_on_without_some(&self) -> bool {
        let mut lost = self.instances.iter().filter(|own| own.lost.is_some()).peekable();
        lost.peek().is_some() && self.instances.iter().all(|own| own.done || own.lost.is_some())
    }

    /// Instances that took part from beginning to end.
    pub fn present(&self) -> usize {
        let all_along = |own: &&GatheredInstance| self.stayed(own) && !self.was_late(own);
        self.instances.iter().filter(all_along).count()
    }

    /// The run is over: nothing more is merged.
    pub fn finish(&mut self) {
        let cause = |own: &GatheredInstance| own.ended.as_ref().map(|ended| ended.cause);
        let stopped = |own| cause(own) == Some(LoadEndCause::Stopped) && own.lost.is_none();
        self.merging.finish(&self.instances.iter().map(stopped).collect::<Vec<bool>>());
    }

    /// An event of an instance.
    pub fn take(&mut self, place: usize, event: Event, bytes: u64, notes: &mut Vec<String>) {
        if self.last_second().is_some_and(|second| second >= -1) {
            self.journal_bytes += bytes;
        }
        let of = if self.is_fleet() { format!("{}: ", self.instances[place].host) } else { String::new() };
        let instance = &mut self.instances[place];
        match event {
            Event::LoadSecond(second) => self.take_second(place, second, notes),
            Event::LoadStatements(kinds) => self.take_statements(place, &of, &kinds, notes),
            Event::LoadStarted { began_ns } => instance.began_ns = Some(began_ns),
            Event::Host(sample) => instance.samples.push(*sample),
            Event::Health(sample) => instance.health.after = Some(sample),
            Event::Server(sample) => {
                let moment = ServerMoment::after(instance.server.last(), sample);
                instance.server.push(moment);
            }
            Event::LoadEnded(ended) => {
                notes.extend(oddities(&ended).into_iter().map(|note| format!("{of}{note}")));
                let as_planned = matches!(ended.cause, LoadEndCause::Time | LoadEndCause::Events);
                // One that was given up may still be heard: it is told to stop while others go on.
                instance.done = as_planned && instance.lost.is_none();
                instance.ended = Some(ended);
            }
            Event::LoadFailed { reason } | Event::ServerFailed { reason, .. } => {
                instance.lost.get_or_insert(reason);
            }
            Event::DeviceVanished { name } => instance.vanished.push(name),
            Event::Warning { text } => notes.push(format!("{of}{text}")),
            _ => {}
        }
    }

    fn take_statements(
        &mut self,
        place: usize,
        of: &str,
        kinds: &BTreeMap<StatementKind, LatencyRecord>,
        notes: &mut Vec<String>,
    ) {
        for (kind, record) in kinds {
            match self.statements.add(*kind, record) {
                Ok(()) => self.instances[place].statements_ns += record.sum_ns as f64,
                Err(error) => {
                    notes.push(format!("{of}latencies of {}: {error}; they are not counted", kind.name()));
                }
            }
        }
    }

    fn take_second(&mut self, place: usize, second: LoadSecond, notes: &mut Vec<String>) {
        let instance = &mut self.instances[place];
        instance.completed = instance.completed.saturating_add(second.latency.count);
        let number = second.second;
        let of = if self.plan.instances > 1 { format!(" of {}", instance.host) } else { String::new() };
        let mut note = |text: String| notes.push(format!("second {number}{of}: {text}"));
        let latency = Distribution::of_record(&second.latency).unwrap_or_else(|error| {
            note(format!("{error}; its transactions are not counted"));
            Distribution::default()
        });
        let counted = self.counted.saturating_add(latency.count());
        let latency = if counted > MOST_COUNTED {
            note(format!("more than {MOST_COUNTED} transactions in all; these are not counted"));
            Distribution::default()
        } else {
            self.counted = counted;
            latency
        };
        instance.seconds.push(SecondFigures {
            second: number,
            threads: second.threads,
            tps: second.latency.count as f64 * 1e9 / second.length_ns.max(1) as f64,
            p99_ms: latency.percentile_ns(99.0).map(|ns| ns as f64 / 1e6),
        });
        let part = Part {
            instance: place,
            length_ns: second.length_ns,
            threads: second.threads,
            transactions: second.latency.count,
            latency,
            statements: [second.reads, second.writes, second.other],
            errors: second.errors,
            reconnects: second.reconnects,
            queued: second.queued,
        };
        if !self.merging.take(number, part) {
            note("it came after a minute of later ones and is not counted".to_owned());
        }
    }
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
