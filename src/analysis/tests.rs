//! Fleets: journals written here, with figures that can be checked by hand.

use super::*;
use crate::plan::{InstancePlan, LossPolicy, ObserverPlan, Reach};
use crate::protocol::Event;
use crate::protocol::event::{LoadEndCause, LoadEnded, LoadSecond, ServerReady};
use crate::protocol::facts::{DeviceFacts, ObserverFacts};
use crate::protocol::sample::{CpuCounters, DiskCounters, HostSample, OperationCounters, ServerSample};
use crate::result::bundle::Bundle;
use crate::result::{COORDINATOR, Ending, HostStart, Record};
use crate::stats::latency::LatencyHistogram;

/// A plan on its first line.
const SEED: &str = include_str!("../../fuzz/seeds/result/whole");
const SECOND_NS: i64 = 1_000_000_000;
/// T0 on the coordinator's clock; each host's is ahead by a hundred seconds more than the one before.
const T0_NS: i64 = 50 * SECOND_NS;
const DURATION_S: i64 = 6;

/// What one instance completes each second: `(transactions, latency ns)`.
type Mix = Vec<(u64, u64)>;

/// A fleet of which single things can be made wrong.
struct Story {
    /// By instance.
    mixes: Vec<Mix>,
    /// Instance that is lost, after how many measured seconds.
    lost: Option<(usize, i64)>,
    /// T0 of an instance lies so much later than it should, ns.
    late_ns: i64,
    /// Bound of each clock's error, ns.
    bound_ns: i64,
    /// An instance's clock falls behind by so much within the run, ns.
    parted_ns: i64,
    /// Load threads of all instances have the same seeds.
    same_seeds: bool,
    /// Bytes at the observer for each byte in the guests; `None` without an observer.
    observed: Option<f64>,
    /// `innodb_flush_log_at_trx_commit` of the last instance.
    durable: &'static str,
    /// Measured seconds.
    seconds: i64,
    closed: bool,
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
            same_seeds: false,
            observed: None,
            durable,
            seconds: DURATION_S,
            closed: true,
        }
    }
}

fn name(instance: usize) -> String {
    format!("vm{}", instance + 1)
}

fn clock(instance: usize) -> i64 {
    (i64::try_from(instance).unwrap() + 1) * 100 * SECOND_NS
}

impl Story {
    fn plan(&self) -> Plan {
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

    fn run(&self) -> RunAnalysis {
        let mut result = self.analyzed();
        assert_eq!(result.notes, Vec::<String>::new());
        result.runs.remove(0)
    }

    fn analyzed(&self) -> ResultAnalysis {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("result");
        let plan = self.plan();
        let mut bundle = Bundle::create(&folder, &plan).unwrap();
        let mut say = |from: &str, record| bundle.append(from, record).unwrap();
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
                say("node", Record::Event(Event::Host(host("sdb", clock(9), second, factor))));
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
        bundle.close();
        let crc32 = crc32fast::hash(&std::fs::read(folder.join("plan.json")).unwrap());
        conclude(&folder, plan, crc32).unwrap()
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
        };
        let (offset_ns, bound_ns) = (clock(instance), self.bound_ns);
        let first = if self.same_seeds { 0 } else { instance as u64 * 4 };
        let host = name(instance);
        say(&host, Record::Clock { offset_ns, bound_ns });
        say(&host, Record::Event(Event::ServerReady(ready)));
        say(&host, Record::Event(Event::LoadReady { streams: (first..first + 4).collect() }));
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
        say(&host_name, Record::Event(Event::Host(host("vdb", clock(instance), second, 1.0))));
        say(&host_name, Record::Event(Event::Server(sample)));
        if second < self.seconds {
            let mut latency = LatencyHistogram::new();
            self.mixes[instance].iter().for_each(|&(n, ns)| latency.record_n(ns, n));
            let load = LoadSecond {
                second,
                length_ns: SECOND_NS.unsigned_abs(),
                threads: 4,
                reads: 14 * latency.count(),
                writes: 4 * latency.count(),
                other: 2 * latency.count(),
                latency: latency.to_record(),
                errors: Default::default(),
            };
            say(&host_name, Record::Event(Event::LoadSecond(load)));
        }
    }

    fn ended(&self, instance: usize) -> LoadEnded {
        let commits = self.mixes[instance].iter().map(|(n, _)| n).sum::<u64>() * 7;
        LoadEnded {
            cause: LoadEndCause::Time,
            measured_ns: (DURATION_S * SECOND_NS).unsigned_abs(),
            in_flight_ns: vec![5_000_000; 4],
            carried_in_ns: 20_000_000,
            commits,
            com_commit: Some((0, i64::try_from(commits).unwrap())),
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
        io_pressure: None,
    }
}

fn observer_facts() -> ObserverFacts {
    ObserverFacts {
        hostname: "node".into(),
        kernel: "Linux 6".into(),
        cpus: 8,
        memory_bytes: 1 << 34,
        device: DeviceFacts {
            name: "sdb".into(),
            number: "8:16".into(),
            size_bytes: None,
            model: None,
            firmware: None,
            rotational: None,
            scheduler: None,
            write_cache: None,
            below: Vec::new(),
        },
    }
}

fn finding<'a>(run: &'a RunAnalysis, id: &str) -> &'a Finding {
    run.findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("no finding {id}"))
}

#[test]
fn four_instances_add_up() {
    let run = Story::default().run();
    let figures = run.figures.as_ref().unwrap();
    assert_eq!((figures.tps, figures.transactions, figures.seconds), (1_600.0, 9_600, 6.0));
    assert_eq!((run.instances, run.instances_present, run.segments.len()), (4, 4, 1));
    let device = figures.device.unwrap();
    assert_eq!((device.reads_per_s, device.read_kb_per_s), (8_000.0, 128_000.0));
    assert_eq!((device.read_await_ms, device.write_await_ms, device.util_pct), (1.0, 2.0, 60.0));
    assert_eq!(run.device_name.as_deref(), Some("vdb × 4"));
    assert_eq!(figures.anatomy.misses_per_transaction, Some(5.0));
    assert_eq!(figures.anatomy.pool_hit_ratio, Some(0.75));
    assert_eq!(figures.cpu.unwrap().user, 0.3);
    assert_eq!(run.per_instance[2].figures.device.unwrap().reads_per_s, 2_000.0);
    let point = run.series.iter().find(|point| point.second == 3).unwrap();
    assert_eq!((point.tps, point.p99_ms, point.misses_per_s), (1_600.0, Some(10.0), Some(8_000.0)));
    assert_eq!(point.device.unwrap().reads_per_s, 8_000.0);
    assert_eq!(run.fairness.as_ref().unwrap().jain_index, 1.0);
}

#[test]
fn every_finding_of_a_fleet_holds_when_all_is_well() {
    let run = Story { observed: Some(1.02), ..Story::default() }.run();
    let doubtful: Vec<_> = run.findings.iter().filter(|f| f.holds != Some(true)).map(|f| f.id).collect();
    assert_eq!(doubtful, ["journal_off_device"], "{:#?}", run.findings);
    let texts = run.findings.iter().map(|f| format!("{}: {}", f.id, f.text)).collect::<Vec<_>>();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn each_finding_of_a_fleet_can_fail() {
    let fails: [(Story, &str, &str); 7] = [
        (
            Story { lost: Some((1, 4)), ..Story::default() },
            "every_instance_present",
            "vm2 lost after second 4",
        ),
        (Story { late_ns: 60_000_000, ..Story::default() }, "common_window", "within 60.00 ms"),
        (Story { bound_ns: 30_000_000, ..Story::default() }, "common_window", "give or take 60.00 ms"),
        (Story { parted_ns: 80_000_000, ..Story::default() }, "common_window", "parted by 80.00 ms"),
        (Story { same_seeds: true, ..Story::default() }, "seeds_distinct", "only 4 seeds"),
        (Story { observed: Some(2.0), ..Story::default() }, "guest_vs_hypervisor", "replication"),
        (Story { durable: "2", ..Story::default() }, "durable_commits", "does not hold on vm4 (innodb_flush"),
    ];
    for (story, id, text) in fails {
        let run = story.run();
        let found = finding(&run, id);
        assert_eq!(found.holds, Some(false), "{id}: {}", found.text);
        assert!(found.text.contains(text), "{id}: {}", found.text);
    }
}

#[test]
fn percentiles_come_from_merged_histograms() {
    // A: 9,950 × 10 ms and 50 × 20 ms, B: 100 × 500 ms, over six seconds each.
    let a = vec![(9_950, 10_000_000), (50, 20_000_000)];
    let run = Story { mixes: vec![a, vec![(100, 500_000_000)]], ..Story::default() }.run();
    let within = |got: f64, want: f64| assert!((got - want).abs() <= want * 0.001, "{got}, not {want}");
    let latency = run.figures.as_ref().unwrap().latency.unwrap();
    within(latency.p99_ms, 20.0);
    assert_eq!(latency.peak_ms, 500.0);
    within(latency.avg_ms, (9_950.0 * 10.0 + 50.0 * 20.0 + 100.0 * 500.0) / 10_100.0);
    let others = run.others_print.as_ref().unwrap();
    within(others.mean_p99_ms, 255.0);
    within(others.worst_p99_ms, 500.0);
    assert_eq!(others.worst_host, "vm2");
    let fairness = run.fairness.as_ref().unwrap();
    assert_eq!((fairness.slowest.as_str(), fairness.min_max_ratio), ("vm2", 0.01));
    assert_eq!(run.series.last().unwrap().p99_ms, Some(latency.p99_ms));
}

#[test]
fn the_headline_is_the_time_with_all_instances() {
    let run = Story { lost: Some((1, 4)), ..Story::default() }.run();
    assert_eq!((run.instances_present, run.figures.as_ref().unwrap().seconds), (3, 4.0));
    assert_eq!(run.figures.as_ref().unwrap().tps, 1_600.0);
    let cut: Vec<_> =
        run.segments.iter().map(|s| (s.hosts.len(), s.first_second, s.last_second, s.tps)).collect();
    assert_eq!(cut, [(4, 0, 3, 1_600.0), (3, 4, 5, 1_200.0)]);
    assert_eq!(run.segments.iter().map(|segment| segment.headline).collect::<Vec<_>>(), [true, false]);
    assert_eq!(run.per_instance[1].lost.as_deref(), Some("ssh: connection reset"));
    assert_eq!(finding(&run, "closed_loop").holds, None);
}

#[test]
fn without_half_of_the_plan_there_is_no_headline() {
    let result = Story { lost: Some((1, 2)), ..Story::default() }.analyzed();
    let run = &result.runs[0];
    assert_eq!((run.outcome, &run.figures), (Outcome::Partial, &None));
    assert_eq!(run.reason.as_deref(), Some("3 of 4 instances: vm2 was lost"));
    assert_eq!((result.outcome, &result.reason), (Outcome::Partial, &run.reason));
    assert_eq!(run.segments.iter().map(|s| s.seconds).collect::<Vec<_>>(), [2.0, 4.0]);
    let own: Vec<f64> = run.per_instance.iter().map(|own| own.figures.seconds).collect();
    assert_eq!(own, [6.0, 2.0, 6.0, 6.0], "each over what it measured");
    assert_eq!(run.percentiles, []);
    assert!(run.series.iter().any(|point| point.second == 5 && point.tps == 1_200.0));
}

#[test]
fn without_a_headline_each_instance_has_what_it_measured_even_if_none_was_lost() {
    let run = Story { seconds: 2, ..Story::default() }.run();
    assert_eq!((&run.figures, run.segments.len()), (&None, 1));
    let own: Vec<_> = run.per_instance.iter().map(|own| (own.figures.seconds, own.figures.tps)).collect();
    assert_eq!(own, [(2.0, 400.0); 4]);
}

#[test]
fn a_killed_coordinator_leaves_a_partial_fleet() {
    let result = Story { closed: false, ..Story::default() }.analyzed();
    assert_eq!((result.outcome, result.runs[0].outcome), (Outcome::Partial, Outcome::Partial));
    assert!(result.reason.unwrap().contains("after second 6 of 6"));
    assert_eq!(result.runs[0].figures.as_ref().unwrap().tps, 1_600.0);
}
