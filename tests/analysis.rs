//! Analyses of journals written here, with figures that can be checked by hand.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeMap;
use std::path::Path;

use drivestone::analysis::{Outcome, ResultAnalysis, analyze};
use drivestone::plan::Plan;
use drivestone::plan::resolve::resolve;
use drivestone::protocol::Event;
use drivestone::protocol::event::{
    LoadEndCause, LoadEnded, LoadSecond, ServerReady, StatementCount, ThreadTotals,
};
use drivestone::protocol::sample::{
    CpuCounters, DiskCounters, HostSample, MeasuredProcess, MemorySample, OperationCounters, Pressure,
    ProcessIo, ServerSample, StallTotals,
};
use drivestone::result::bundle::{Bundle, read_plan};
use drivestone::result::{COORDINATOR, Ending, HostStart, Record};
use drivestone::spec::{parse_hardware, parse_profile};
use drivestone::stats::latency::LatencyHistogram;

const SECOND_NS: i64 = 1_000_000_000;
const T0_NS: i64 = 100 * SECOND_NS;
/// Transactions a second, and their latency: 32 threads × 1 s / 80 ms = 400.
const TPS: u64 = 400;
const LATENCY_NS: u64 = 80_000_000;
/// Pages read a transaction.
const MISSES: u64 = 20;

fn plan() -> Plan {
    let hardware = parse_hardware(
        "h.yaml",
        "name: h\ndescription: d\ndevice:\n  path: /mnt/dut\nmemory:\n  buffer_pool: 10%\n",
    );
    let profile = parse_profile(
        "p.yaml",
        "name: p\ndescription: d\nworkload:\n  kind: oltp_read_write\n  keys: uniform\n\
         dataset:\n  tables: 10\n  rows: 100000\nload:\n  threads: 32\n  warmup: 2s\n  duration: 5s\n",
        &[],
    );
    resolve(&hardware.unwrap(), &profile.unwrap(), Path::new("/"), 1).unwrap()
}

/// A run of which single things can be made wrong.
struct Story {
    variables: Vec<(&'static str, &'static str)>,
    /// Device bytes for each byte that InnoDB read.
    device_factor: f64,
    /// Milliseconds of a device read.
    read_ms: f64,
    /// Busy share of the processors.
    busy: f64,
    fsyncs_per_second: i64,
    com_commit: i64,
    latency_ns: u64,
    in_flight_ns: Vec<u64>,
    errors: u64,
    /// Seconds recorded of the five planned.
    seconds: i64,
    ended: bool,
    run_ended: Option<Option<String>>,
    closed: Option<(Ending, Option<String>)>,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            variables: vec![
                ("innodb_flush_log_at_trx_commit", "1"),
                ("innodb_doublewrite", "ON"),
                ("innodb_flush_method", "O_DIRECT"),
                ("log_bin", "OFF"),
                ("innodb_buffer_pool_size", "30000000"),
            ],
            device_factor: 1.0,
            read_ms: 3.0,
            busy: 0.3,
            fsyncs_per_second: 100,
            com_commit: 2_832,
            latency_ns: LATENCY_NS,
            in_flight_ns: vec![40_000_000; 32],
            errors: 0,
            seconds: 5,
            ended: true,
            run_ended: Some(None),
            closed: Some((Ending::Complete, None)),
        }
    }
}

impl Story {
    fn analyzed(&self) -> ResultAnalysis {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("result");
        let mut bundle = Bundle::create(&folder, &plan()).unwrap();
        let mut say = |from: &str, record| bundle.append(from, record).unwrap();
        say("local", Record::Event(Event::ServerReady(self.ready())));
        say(
            COORDINATOR,
            Record::RunStarted {
                run: 0,
                instances: vec![HostStart {
                    host: "local".to_owned(),
                    begin_ns: T0_NS - 2 * SECOND_NS,
                    t0_ns: T0_NS,
                    end_ns: Some(T0_NS + 5 * SECOND_NS),
                }],
                observers: Vec::new(),
            },
        );
        for second in -2..self.seconds {
            say("local", Record::Event(Event::Host(Box::new(self.host(second)))));
            say("local", Record::Event(Event::Server(self.server(second))));
            say("local", Record::Event(Event::LoadSecond(self.second(second))));
        }
        say("local", Record::Event(Event::Host(Box::new(self.host(self.seconds)))));
        say("local", Record::Event(Event::Server(self.server(self.seconds))));
        if self.ended {
            say("local", Record::Event(Event::LoadEnded(self.load_ended())));
        }
        if let Some(shortfall) = &self.run_ended {
            say(COORDINATOR, Record::RunEnded { run: 0, shortfall: shortfall.clone() });
        }
        if let Some((ending, reason)) = &self.closed {
            say(COORDINATOR, Record::Closed { ending: *ending, reason: reason.clone() });
        }
        bundle.close();
        assert_eq!(read_plan(&folder).unwrap().plan, plan());
        analyze(&folder).unwrap()
    }

    fn holds(&self, id: &str) -> Option<bool> {
        let result = self.analyzed();
        let finding = result.runs[0].findings.iter().find(|finding| finding.id == id);
        finding.unwrap_or_else(|| panic!("no finding {id}")).holds
    }

    fn ready(&self) -> ServerReady {
        ServerReady {
            version: "10.11.14-MariaDB".into(),
            pid: 1,
            variables: self.variables.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
            configuration: String::new(),
            data_dir: "/mnt/dut/data".into(),
            address: "/mnt/dut/s".into(),
            initialized: true,
            cpus: "0-3".into(),
        }
    }

    fn second(&self, second: i64) -> LoadSecond {
        let mut latency = LatencyHistogram::new();
        latency.record_n(self.latency_ns, TPS);
        LoadSecond {
            reconnects: 0,
            queued: None,
            second,
            length_ns: SECOND_NS.unsigned_abs(),
            threads: 32,
            latency: latency.to_record(),
            reads: 14 * TPS,
            writes: 4 * TPS,
            other: 2 * TPS,
            errors: if self.errors > 0 { BTreeMap::from([(1213, self.errors)]) } else { BTreeMap::new() },
        }
    }

    /// Counters at the start of a second, as they are after `second + 2` seconds of this load.
    fn host(&self, second: i64) -> HostSample {
        let n = (second + 2).unsigned_abs();
        let reads = n * TPS * MISSES;
        let sectors = (reads * 32) as f64 * self.device_factor;
        let ticks = |share: f64| (n as f64 * 200.0 * share) as u64;
        HostSample {
            at_ns: T0_NS + second * SECOND_NS,
            disks: vec![DiskCounters {
                name: "sdx".into(),
                number: "8:16".into(),
                reads: OperationCounters {
                    ios: reads,
                    merges: 0,
                    sectors_512: sectors as u64,
                    ticks_ms: (reads as f64 * self.read_ms) as u32,
                },
                writes: OperationCounters { ios: n * 1000, merges: 0, sectors_512: n * 32_000, ticks_ms: 0 },
                in_flight: 0,
                busy_ticks_ms: u32::try_from(n * 900).unwrap(),
                queue_ticks_ms: 0,
                discards: None,
                flushes: None,
            }],
            cpu: CpuCounters {
                user: ticks(self.busy),
                iowait: ticks(1.0 - self.busy),
                ..CpuCounters::default()
            },
            pressure: Pressure {
                io: Some(StallTotals { some_us: n * 800_000, full_us: n * 100_000 }),
                ..Pressure::default()
            },
            memory: Some(MemorySample { page_cache_bytes: 1_000_000, ..MemorySample::default() }),
            io: vec![ProcessIo {
                process: MeasuredProcess::Server,
                pid: 1,
                read_bytes: reads * 16_384,
                write_bytes: n * 16_384_000,
                cancelled_write_bytes: 0,
            }],
            cgroup_throttled_us: Some(0),
            ..HostSample::default()
        }
    }

    fn server(&self, second: i64) -> ServerSample {
        let n = second + 2;
        let reads = n * i64::try_from(TPS * MISSES).unwrap();
        let counters = [
            ("Innodb_buffer_pool_reads", reads),
            ("Innodb_buffer_pool_read_requests", reads * 4),
            ("Innodb_buffer_pool_pages_total", 1_800),
            ("Innodb_buffer_pool_pages_free", 20),
            ("Innodb_buffer_pool_pages_dirty", 180),
            ("Innodb_data_read", reads * 16_384),
            ("Innodb_data_fsyncs", n * self.fsyncs_per_second),
            ("Innodb_os_log_written", n * 400_000),
        ];
        ServerSample {
            at_ns: T0_NS + second * SECOND_NS + 2_000_000,
            counters: counters.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }

    fn load_ended(&self) -> LoadEnded {
        LoadEnded {
            cause: LoadEndCause::Time,
            measured_ns: u64::try_from(self.seconds * SECOND_NS).unwrap(),
            in_flight_ns: self.in_flight_ns.clone(),
            carried_in_ns: self.in_flight_ns.iter().sum(),
            counted: StatementCount {
                counter: "Com_commit".into(),
                ours: 2_832,
                server: Some((10, 10 + self.com_commit)),
            },
            threads: vec![ThreadTotals { events: 62, busy_ns: 4_960_000_000 }; 32],
            unserved: None,
            rows_added: 0,
            filed_late: 0,
            saturated: 0,
        }
    }
}

#[test]
fn figures_of_a_complete_run() {
    let result = Story::default().analyzed();
    assert_eq!((result.outcome, result.reason), (Outcome::Complete, None));
    let run = &result.runs[0];
    let figures = run.figures.as_ref().unwrap();
    assert_eq!((run.outcome, figures.transactions, figures.seconds), (Outcome::Complete, 2_000, 5.0));
    assert_eq!((figures.tps, figures.reads, figures.writes, figures.other), (400.0, 28_000, 8_000, 4_000));
    let latency = figures.latency.unwrap();
    assert_eq!((latency.avg_ms, latency.p99_ms, latency.peak_ms), (80.0, 80.0, 80.0));
    let device = figures.device.unwrap();
    assert_eq!((device.reads_per_s, device.read_await_ms, device.util_pct), (8_000.0, 3.0, 90.0));
    let anatomy = figures.anatomy;
    assert_eq!(anatomy.misses_per_transaction, Some(20.0));
    assert_eq!((anatomy.pool_hit_ratio, anatomy.syncs_per_transaction), (Some(0.75), Some(0.25)));
    assert_eq!(anatomy.doublewrite_pages_per_transaction, None, "a counter that is not there is unknown");
    assert_eq!(run.series.len(), 7);
    assert!(run.series.iter().all(|p| p.device.is_some() && p.misses_per_s.is_some()), "{:?}", run.series);
    assert_eq!(run.percentiles.last(), Some(&(100.0, 80.0)));
}

#[test]
fn every_finding_holds_when_all_is_well() {
    let result = Story::default().analyzed();
    let doubtful: Vec<_> = result.runs[0].findings.iter().filter(|f| f.holds != Some(true)).collect();
    // The story does not say where the journal lies.
    assert_eq!(doubtful.iter().map(|f| f.id).collect::<Vec<_>>(), ["journal_off_device"], "{doubtful:?}");
}

#[test]
fn each_finding_can_fail() {
    let with = |change: fn(&mut Story)| {
        let mut story = Story::default();
        change(&mut story);
        story
    };
    let fails = [
        (with(|s| s.variables[4].1 = "900000000"), "working_set_exceeds_pool"),
        (with(|s| s.device_factor = 0.9), "page_cache_bypassed"),
        (with(|s| s.device_factor = 1.1), "no_other_io"),
        (with(|s| (s.busy, s.read_ms) = (0.97, 0.1)), "device_bound"),
        (with(|s| s.variables[0].1 = "2"), "durable_commits"),
        (with(|s| s.variables[2].1 = "nosync"), "durable_commits"),
        (with(|s| s.fsyncs_per_second = 2), "durable_commits"),
        (with(|s| s.com_commit = 2_831), "commits_match"),
        (with(|s| s.latency_ns = 70_000_000), "closed_loop"),
        (with(|s| s.errors = 40), "few_errors"),
        (with(|s| s.in_flight_ns = vec![900_000_000]), "in_flight_at_end"),
    ];
    for (story, id) in fails {
        assert_eq!(story.holds(id), Some(false), "{id}");
    }
}

#[test]
fn what_cannot_be_decided_is_unknown() {
    let story = Story { device_factor: 1.1, ..Story::default() };
    assert_eq!(story.holds("page_cache_bypassed"), None, "others read as well");
    let story = Story { busy: 0.5, read_ms: 0.5, ..Story::default() };
    assert_eq!(story.holds("device_bound"), None, "neither busy nor waiting");
    let story = Story { variables: vec![], ..Story::default() };
    assert_eq!(story.holds("durable_commits"), None);
    let story = Story { ended: false, ..Story::default() };
    assert_eq!(story.holds("commits_match"), None);
}

#[test]
fn a_killed_run_is_partial_and_says_where_it_stops() {
    let killed = Story { seconds: 3, ended: false, run_ended: None, closed: None, ..Story::default() };
    let result = killed.analyzed();
    assert_eq!(result.outcome, Outcome::Partial);
    let reason = result.reason.unwrap();
    assert!(reason.contains("after second 3 of 5"), "{reason}");
    let figures = result.runs[0].figures.as_ref().unwrap();
    assert_eq!((figures.transactions, figures.seconds), (1_200, 3.0));
}

#[test]
fn a_failure_keeps_what_was_measured() {
    let reason = Some("the server ended by itself".to_owned());
    let failed = Story {
        seconds: 2,
        run_ended: Some(reason.clone()),
        closed: Some((Ending::Failed, reason.clone())),
        ..Story::default()
    };
    let result = failed.analyzed();
    assert_eq!((result.outcome, &result.reason), (Outcome::Partial, &reason));
    let transactions = result.runs[0].figures.as_ref().unwrap().transactions;
    assert_eq!((result.runs[0].outcome, transactions), (Outcome::Partial, 800));
}

#[test]
fn an_interrupted_run_says_so() {
    let reason = Some("interrupted".to_owned());
    let story = Story {
        seconds: 0,
        run_ended: Some(reason.clone()),
        closed: Some((Ending::Interrupted, reason)),
        ..Story::default()
    };
    let result = story.analyzed();
    assert_eq!((result.outcome, result.runs[0].outcome), (Outcome::Interrupted, Outcome::Interrupted));
    let figures = result.runs[0].figures.as_ref().unwrap();
    assert_eq!((figures.tps, figures.latency), (0.0, None));
}
