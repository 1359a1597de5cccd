//! Journals of fleets of which single things can be made wrong.

use super::super::*;
use crate::plan::{InstancePlan, LossPolicy, ObserverPlan, Reach};
use crate::protocol::Event;
use crate::protocol::event::{
    LoadEndCause, LoadEnded, LoadSecond, ServerReady, StatementCount, ThreadTotals,
};
use crate::protocol::facts::{DeviceFacts, HostFacts, ObserverFacts};
use crate::protocol::sample::{
    CpuCounters, DiskCounters, HostSample, MeasuredProcess, MemorySample, OperationCounters, ProcessIo,
    ServerSample,
};
use crate::result::bundle::Bundle;
use crate::result::{COORDINATOR, Ending, HostStart, Record};
use crate::stats::latency::LatencyHistogram;

/// A plan on its first line.
const SEED: &str = include_str!("../../../fuzz/seeds/result/whole");
pub const SECOND_NS: i64 = 1_000_000_000;
/// T0 on the coordinator's clock; each host's is ahead by a hundred seconds more than the one before.
pub const T0_NS: i64 = 50 * SECOND_NS;
pub const DURATION_S: i64 = 6;

/// What one instance completes each second: `(transactions, latency ns)`.
pub type Mix = Vec<(u64, u64)>;

/// Changes the sample of an instance in a second.
pub type Retell = dyn Fn(usize, i64, &mut HostSample);

/// A fleet of which single things can be made wrong.
pub struct Story {
    /// By instance.
    pub mixes: Vec<Mix>,
    /// Instance that is lost, after how many measured seconds.
    pub lost: Option<(usize, i64)>,
    /// T0 of an instance lies so much later than it should, ns.
    pub late_ns: i64,
    /// Bound of each clock's error, ns.
    pub bound_ns: i64,
    /// An instance's clock falls behind by so much within the run, ns.
    pub parted_ns: i64,
    /// The load threads of an instance begin only after so many measured seconds.
    pub late_s: i64,
    /// Load threads of all instances have the same seeds.
    pub same_seeds: bool,
    /// Bytes at the observer for each byte in the guests; `None` without an observer.
    pub observed: Option<f64>,
    /// `innodb_flush_log_at_trx_commit` of the last instance.
    pub durable: &'static str,
    /// What a probe of each instance found; `None` without one.
    pub facts: Option<HostFacts>,
    /// Changes an instance's sample of a second, of which the first is −1.
    pub retell: Box<Retell>,
    /// A device of the first instance vanishes in the third second.
    pub vanishes: Option<&'static str>,
    /// Measured seconds.
    pub seconds: i64,
    pub closed: bool,
}

impl Default for Story {
    fn default() -> Self {
        // 4 threads × 1 s / 10 ms.
        let mixes = vec![vec![(400, 10_000_000)]; 4];
        let (late_ns, bound_ns, durable) = (0, 1_000_000, "1");
        Self {
            mixes,
            lost: None,
            late_ns,
            bound_ns,
            parted_ns: 1_000_000,
            late_s: 0,
            same_seeds: false,
            observed: None,
            durable,
            facts: None,
            retell: Box::new(|_, _, _| {}),
            vanishes: None,
            seconds: DURATION_S,
            closed: true,
        }
    }
}

/// Who says what.
pub type Line = (String, Record);

/// Writes a journal and reads it again.
pub fn conclude_records(plan: Plan, lines: Vec<Line>) -> ResultAnalysis {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("result");
    let mut bundle = Bundle::create(&folder, &plan).unwrap();
    lines.into_iter().for_each(|(from, record)| bundle.append(&from, record).unwrap());
    bundle.close();
    let crc32 = crc32fast::hash(&std::fs::read(folder.join("plan.json")).unwrap());
    conclude(&folder, plan, crc32, None).unwrap()
}

pub fn name(instance: usize) -> String {
    format!("vm{}", instance + 1)
}

pub fn clock(instance: usize) -> i64 {
    (i64::try_from(instance).unwrap() + 1) * 100 * SECOND_NS
}

impl Story {
    pub fn plan(&self) -> Plan {
        let mut plan: Plan = serde_json::from_str(SEED.lines().next().unwrap()).unwrap();
        (plan.runs[0].threads, plan.runs[0].warmup_s) = (4, 1);
        (plan.runs[0].duration_s, plan.runs[0].events) = (Some(DURATION_S.unsigned_abs()), None);
        plan.estimate.dataset_bytes = 300_000_000;
        let hosts = (0..self.mixes.len()).map(name);
        plan.fleet.instances = hosts.map(|host| InstancePlan { host, reach: Reach::Ssh }).collect();
        plan.fleet.on_loss = LossPolicy::Continue;
        let observer = self.observed.map(|_| ObserverPlan { host: "node".into(), device: "/dev/sdb".into() });
        plan.fleet.observers = observer.into_iter().collect();
        plan.runs[0].instances = u32::try_from(self.mixes.len()).unwrap();
        plan
    }

    pub fn run(&self) -> RunAnalysis {
        let mut result = self.analyzed();
        assert_eq!(result.notes, Vec::<String>::new());
        result.runs.remove(0)
    }

    pub fn analyzed(&self) -> ResultAnalysis {
        conclude_records(self.plan(), self.records())
    }

    /// The lines of the journal, with who said each.
    pub fn records(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut say = |from: &str, record| lines.push((from.to_owned(), record));
        for instance in 0..self.mixes.len() {
            self.introduce(instance, &mut say);
        }
        if self.observed.is_some() {
            say("node", Record::Event(Event::Observing(Box::new(observer_facts()))));
        }
        say(COORDINATOR, self.started());
        for instance in 0..self.mixes.len() {
            let began_ns = T0_NS + clock(instance) - SECOND_NS / 2;
            say(&name(instance), Record::Event(Event::LoadStarted { began_ns }));
            let offset_ns = clock(instance) - if instance == 1 { self.parted_ns } else { 0 };
            say(&name(instance), Record::Clock { offset_ns, bound_ns: self.bound_ns });
        }
        for second in -1..=self.seconds {
            for instance in 0..self.mixes.len() {
                self.tell_second(instance, second, &mut say);
            }
            if let Some(factor) = self.observed {
                let factor = factor * self.mixes.len() as f64;
                say("node", Record::Event(Event::Host(Box::new(host("sdb", clock(9), second, factor)))));
            }
        }
        for instance in 0..self.mixes.len() {
            if self.lost.is_none_or(|(lost, _)| lost != instance) {
                say(&name(instance), Record::Event(Event::LoadEnded(self.ended(instance))));
            }
        }
        if self.closed {
            say(
                COORDINATOR,
                Record::RunEnded { run: 0, shortfall: self.lost.map(|_| "vm2 was lost".to_owned()) },
            );
            say(COORDINATOR, Record::Closed { ending: Ending::Complete, reason: None });
        }
        lines
    }

    fn introduce(&self, instance: usize, say: &mut dyn FnMut(&str, Record)) {
        let last = instance + 1 == self.mixes.len();
        let variables = [
            ("innodb_flush_log_at_trx_commit", if last { self.durable } else { "1" }),
            ("innodb_doublewrite", "ON"),
            ("innodb_buffer_pool_size", "30000000"),
        ];
        let ready = ServerReady {
            version: "10.11.14-MariaDB".into(),
            pid: 1,
            variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            configuration: String::new(),
            data_dir: "/mnt/dut/data".into(),
            address: "/mnt/dut/s".into(),
            initialized: true,
            cpus: "0-3".into(),
        };
        let (offset_ns, bound_ns) = (clock(instance), self.bound_ns);
        let first = if self.same_seeds { 0 } else { instance as u64 * 4 };
        let host = name(instance);
        say(&host, Record::Clock { offset_ns, bound_ns });
        if let Some(facts) = &self.facts {
            say(&host, Record::Event(Event::Probed(Box::new(facts.clone()))));
        }
        say(&host, Record::Event(Event::ServerReady(ready)));
        let (streams, cpus) = ((first..first + 4).collect(), "2-3".to_owned());
        say(&host, Record::Event(Event::LoadReady { streams, cpus }));
    }

    fn started(&self) -> Record {
        let start = |host: String, t0_ns: i64| HostStart {
            host,
            begin_ns: t0_ns - SECOND_NS,
            t0_ns,
            end_ns: Some(t0_ns + DURATION_S * SECOND_NS),
        };
        let late = |instance| if instance == 1 { self.late_ns } else { 0 };
        let instances = 0..self.mixes.len();
        let observers = self.observed.map(|_| start("node".into(), T0_NS + clock(9)));
        Record::RunStarted {
            run: 0,
            instances: instances.map(|n| start(name(n), T0_NS + clock(n) + late(n))).collect(),
            observers: observers.into_iter().collect(),
        }
    }

    /// The samples at the start of a second, and what was completed in it.
    fn tell_second(&self, instance: usize, second: i64, say: &mut dyn FnMut(&str, Record)) {
        let host_name = name(instance);
        let gone = self.lost.filter(|(lost, _)| *lost == instance).map(|(_, after)| after);
        if let Some(after) = gone.filter(|after| second >= *after) {
            if second == after {
                say(&host_name, Record::Lost { reason: format!("{host_name}: ssh: connection reset") });
            }
            return;
        }
        let n = second + 1;
        let counters = [
            ("Innodb_buffer_pool_reads", 2_000 * n),
            ("Innodb_buffer_pool_read_requests", 8_000 * n),
            ("Innodb_data_read", 2_000 * 16_384 * n),
            ("Innodb_data_fsyncs", 300 * n),
        ];
        let sample = ServerSample {
            at_ns: T0_NS + clock(instance) + second * SECOND_NS,
            counters: counters.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        let mut sampled = host("vdb", clock(instance), second, 1.0);
        (self.retell)(instance, second, &mut sampled);
        say(&host_name, Record::Event(Event::Host(Box::new(sampled))));
        if let Some(name) = self.vanishes.filter(|_| (instance, second) == (0, 2)) {
            say(&host_name, Record::Event(Event::DeviceVanished { name: name.to_owned() }));
        }
        say(&host_name, Record::Event(Event::Server(sample)));
        if second < self.seconds {
            let mut latency = LatencyHistogram::new();
            let at_work = instance != 1 || second >= self.late_s;
            if at_work {
                self.mixes[instance].iter().for_each(|&(n, ns)| latency.record_n(ns, n));
            }
            let load = LoadSecond {
                second,
                length_ns: SECOND_NS.unsigned_abs(),
                threads: if at_work { 4 } else { 0 },
                reads: 14 * latency.count(),
                writes: 4 * latency.count(),
                other: 2 * latency.count(),
                latency: latency.to_record(),
                errors: Default::default(),
                reconnects: 0,
                queued: None,
            };
            say(&host_name, Record::Event(Event::LoadSecond(load)));
        }
    }

    pub fn ended(&self, instance: usize) -> LoadEnded {
        let commits = self.mixes[instance].iter().map(|(n, _)| n).sum::<u64>() * 7;
        LoadEnded {
            cause: LoadEndCause::Time,
            measured_ns: (DURATION_S * SECOND_NS).unsigned_abs(),
            in_flight_ns: vec![5_000_000; 4],
            carried_in_ns: 20_000_000,
            counted: StatementCount {
                counter: "Com_commit".into(),
                ours: commits,
                server: Some((0, i64::try_from(commits).unwrap())),
            },
            threads: vec![ThreadTotals { events: commits / 4, busy_ns: 25_000_000_000 }; 4],
            unserved: None,
            rows_added: 0,
            filed_late: 0,
            saturated: 0,
        }
    }
}

/// Counters at the start of a second: 2,000 reads of 16 KiB and 500 writes of 16 KiB a second.
fn host(device: &str, clock_ns: i64, second: i64, factor: f64) -> HostSample {
    let n = (second + 1).unsigned_abs();
    let operations = |each: u64, ms: u32| OperationCounters {
        ios: each * n,
        merges: 0,
        sectors_512: (each as f64 * 32.0 * factor) as u64 * n,
        ticks_ms: each as u32 * n as u32 * ms,
    };
    HostSample {
        at_ns: T0_NS + clock_ns + second * SECOND_NS,
        disks: vec![DiskCounters {
            name: device.into(),
            number: "8:16".into(),
            reads: operations(2_000, 1),
            writes: operations(500, 2),
            in_flight: 0,
            busy_ticks_ms: 600 * n as u32,
            queue_ticks_ms: 0,
            discards: None,
            flushes: None,
        }],
        cpu: CpuCounters { user: 60 * n, idle: 140 * n, ..CpuCounters::default() },
        memory: Some(MemorySample {
            available_bytes: 4_000_000_000 - n,
            page_cache_bytes: 1_000_000_000 + 1_000 * n,
            dirty_bytes: 8_192,
            ..MemorySample::default()
        }),
        io: vec![ProcessIo {
            process: MeasuredProcess::Server,
            pid: 1,
            read_bytes: 2_000 * 16_384 * n,
            write_bytes: 500 * 16_384 * n,
            cancelled_write_bytes: 0,
        }],
        frequency_khz: vec![2_400_000, 2_400_000],
        cgroup_throttled_us: Some(0),
        ..HostSample::default()
    }
}

/// A host whose data directory is on these devices.
pub fn host_facts(devices: Vec<DeviceFacts>) -> HostFacts {
    let told = SEED.lines().find_map(|line| {
        let record = serde_json::from_str::<crate::result::Entry>(line).ok()?.record;
        if let Record::Event(Event::Probed(facts)) = record { Some(*facts) } else { None }
    });
    let mut facts = told.unwrap();
    facts.target.mount.as_mut().unwrap().devices = devices;
    facts
}

fn observer_facts() -> ObserverFacts {
    ObserverFacts {
        hostname: "node".into(),
        kernel: "Linux 6".into(),
        cpus: 8,
        memory_bytes: 1 << 34,
        devices: vec![DeviceFacts { name: "sdb".into(), number: "8:16".into(), ..DeviceFacts::default() }],
    }
}
