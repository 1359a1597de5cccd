//! Made-up analyses for tests: plausible figures, always the same.

pub(super) mod fleet;
mod imported;
pub(super) mod machine;
mod ramp;

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use crate::analysis::{
    CpuShares, DatasetAnalysis, Figures, Finding, IoAnatomy, LatencySummary, LoadAnalysis, Outcome,
    ResultAnalysis, RunAnalysis, SecondPoint, Source, StatementLatency, ThreadFairness,
};
use crate::plan::estimate::Estimate;
use crate::plan::{
    DatasetPlan, FleetPlan, HardwarePlan, LoadPlan, Override, PLAN_FORMAT, Plan, ProfilePlan, RunPlan,
    ServerPlan,
};
use crate::protocol::job::{Dataset, IgnoredErrors, SettleJob, Transport};
use crate::stats::device::DeviceRates;
use crate::workload::schema::TableSchema;
use crate::workload::statement::StatementKind;
use crate::workload::{KeyDistribution, Workload, WorkloadKind};

pub(super) use imported::imported;
pub(super) use machine::run_without_telemetry;
pub(super) use ramp::ramp;

/// A result as planned, with one run of 60 s.
pub(super) fn complete() -> ResultAnalysis {
    ResultAnalysis {
        path: "reports/runs/20261130T101500Z-lab-r730-quick".into(),
        started: Some("2026-11-30T10:15:00Z".into()),
        outcome: Outcome::Complete,
        reason: None,
        source: Source::Measured(Box::new(plan())),
        environment: pairs(&[
            ("Host", "lab-r730"),
            ("Kernel", "Linux 6.12.57+deb13-amd64"),
            ("Processor", "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz, 56 online"),
            ("Memory", "256.0 GiB"),
            ("Device", "nvme0n1, SAMSUNG MZPLJ1T6HBJR, firmware EPK9CB5Q, 1.5 TiB, scheduler none"),
            ("Filesystem", "ext4 on /mnt/dut, rw,noatime"),
            ("Server", "10.11.14-MariaDB"),
        ]),
        dataset: Some(DatasetAnalysis {
            reused: true,
            runs_before: 2,
            creation: "multi-row INSERT by primary key, index k afterwards".into(),
            rows: 8_000_000,
            rows_changed: 0,
            file_bytes: 1_996_488_704,
        }),
        runs: vec![run(60)],
        ramp: None,
        notes: vec!["the dataset was changed by 2 runs before this one".into()],
    }
}

/// A result whose server was killed after 41 s.
pub(super) fn partial() -> ResultAnalysis {
    let reason =
        "the server was killed by signal 9 after 41 of 60 s; its log ends with \"ready for connections\"";
    let mut result = complete();
    (result.outcome, result.reason) = (Outcome::Partial, Some(reason.into()));
    let run = &mut result.runs[0];
    (run.outcome, run.reason) = (Outcome::Partial, Some("the server was killed by signal 9".into()));
    run.series.retain(|p| p.second < 41);
    let figures = run.figures.as_mut();
    if let Some(latency) = figures.and_then(|f| {
        f.seconds = 41.0;
        f.latency.as_mut()
    }) {
        latency.oldest_in_flight_ms = Some(2_345.6);
        latency.p99_with_in_flight_ms = Some(160.25);
    }
    result
}

/// A result that broke off before any run.
pub(super) fn failed() -> ResultAnalysis {
    let reason = "device full while loading sbtest3: 1.2 GiB of 1.9 GiB written, 0 B free";
    let (outcome, reason) = (Outcome::Failed, Some(reason.to_owned()));
    ResultAnalysis { outcome, reason, dataset: None, runs: Vec::new(), notes: Vec::new(), ..complete() }
}

/// A run of so many seconds after 10 s of warm-up, with a stall 38 s into it.
pub(super) fn run(seconds: i64) -> RunAnalysis {
    RunAnalysis {
        number: 0,
        outcome: Outcome::Complete,
        reason: None,
        workload: "oltp_read_write".into(),
        rate_per_s: None,
        threads: 32,
        instances: 1,
        instances_present: 1,
        figures: Some(figures(seconds as f64)),
        device_name: Some("nvme0n1".into()),
        series: (-10..seconds).map(second).collect(),
        percentiles: percentiles(),
        segments: Vec::new(),
        per_instance: vec![machine::instance(seconds)],
        observers: Vec::new(),
        fairness: None,
        others_print: None,
        load: load(),
        wear: None,
        findings: findings(),
        imported: None,
    }
}

/// The plan of a measured result, to be changed.
pub(super) fn plan_of(result: &mut ResultAnalysis) -> &mut Plan {
    match &mut result.source {
        Source::Measured(plan) => plan,
        Source::Imported(source) => panic!("{} has no plan", source.name),
    }
}

/// A commit takes longest.
fn load() -> LoadAnalysis {
    let statement = |kind, count, avg_ms: f64, time_share| StatementLatency {
        kind,
        count,
        avg_ms,
        p99_ms: avg_ms * 4.2,
        max_ms: avg_ms * 61.0,
        time_share,
    };
    LoadAnalysis {
        statements: vec![
            statement(StatementKind::Begin, 77_054, 0.052, 0.002),
            statement(StatementKind::PointSelect, 770_540, 1.31, 0.533),
            statement(StatementKind::IndexUpdate, 77_054, 2.44, 0.099),
            statement(StatementKind::Commit, 77_054, 8.98, 0.366),
        ],
        threads: Some(ThreadFairness {
            threads: 32,
            events_avg: 2_407.94,
            events_stddev: 21.43,
            busy_avg_s: 59.9871,
            busy_stddev_s: 0.01,
        }),
        rows_added: Some(0),
        ..LoadAnalysis::default()
    }
}

fn figures(seconds: f64) -> Figures {
    Figures {
        seconds,
        transactions: 77_054,
        tps: 1_284.234,
        latency: Some(LatencySummary {
            avg_ms: 24.912,
            p50_ms: 23.87,
            p95_ms: 38.44,
            p99_ms: 51.21,
            p999_ms: 142.6,
            peak_ms: 1_204.553,
            min_ms: 3.41,
            oldest_in_flight_ms: Some(48.2),
            p99_with_in_flight_ms: Some(51.21),
        }),
        errors: 7,
        reconnects: 0,
        errors_by_code: BTreeMap::from([(1205, 1), (1213, 6)]),
        reads: 1_078_756,
        writes: 308_216,
        other: 154_108,
        device: Some(rates(1.0)),
        cpu: Some(cpu(1.0)),
        anatomy: anatomy(),
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(label, text)| ((*label).to_owned(), (*text).to_owned())).collect()
}

/// Noise of −1 to 1 that depends on its arguments only.
fn noise(second: i64, stream: i64) -> f64 {
    let mixed = (second * 2_654_435_761 + stream * 40_503).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    ((mixed >> 33) as f64) / f64::from(1 << 30)
}

fn second(second: i64) -> SecondPoint {
    let stalled = second == 38;
    let ramp = if second < -4 { ((second + 11) as f64 / 7.0).powi(2) } else { 1.0 };
    let wave = 1.0 + 0.05 * (second as f64 / 21.0 * TAU).sin() + 0.04 * noise(second, 1);
    let level = if stalled { 0.0 } else { ramp * wave };
    let avg = 24.9 / wave / ramp.max(0.3);
    let spike = if second % 17 == 0 || second == 39 { 6.0 } else { 1.0 };
    let latency = |ms: f64| (!stalled).then_some(ms);
    SecondPoint {
        second,
        tps: (1_284.0 * level).round(),
        avg_ms: latency(avg),
        p50_ms: latency(avg * 0.96),
        p99_ms: latency(avg * (2.05 + 0.2 * noise(second, 2))),
        max_ms: latency(avg * spike * (4.0 + noise(second, 3)) * if second == 39 { 8.0 } else { 1.0 }),
        percentile_ms: None,
        errors_per_s: f64::from(u8::from(second % 9 == 4)),
        reconnects_per_s: 0.0,
        queued: None,
        device: (second != 20).then(|| rates(level.max(0.02))),
        cpu: Some(cpu(level)),
        io_some: Some((0.82 + 0.05 * noise(second, 4)) * level),
        io_full: Some((0.31 + 0.05 * noise(second, 5)) * level),
        page_cache_bytes: Some(2.1e9 + 1e5 * second as f64),
        available_bytes: Some(2.4e11),
        misses_per_s: Some(8_120.0 * level),
        dirty_share: Some(0.32 + 0.1 * (second as f64 / 30.0).sin()),
        checkpoint_age_bytes: Some(90_000_000 + (second % 20) * 1_400_000),
    }
}

fn rates(level: f64) -> DeviceRates {
    DeviceRates {
        reads_per_s: 8_105.4 * level,
        read_kb_per_s: 129_686.0 * level,
        reads_merged_per_s: 0.0,
        reads_merged_pct: 0.0,
        read_await_ms: 0.412 * (0.6 + 0.4 * level),
        read_size_kb: 16.0,
        writes_per_s: 2_911.7 * level,
        write_kb_per_s: 61_022.0 * level,
        writes_merged_per_s: 12.0 * level,
        writes_merged_pct: 0.4,
        write_await_ms: 0.083 * (0.6 + 0.4 * level),
        write_size_kb: 20.96,
        discards_per_s: Some(0.0),
        discard_kb_per_s: Some(0.0),
        discard_await_ms: Some(0.0),
        discards_merged_per_s: Some(0.0),
        discards_merged_pct: Some(0.0),
        discard_size_kb: Some(0.0),
        flushes_per_s: Some(402.3 * level),
        flush_await_ms: Some(1.27),
        queue_size: 4.09 * level,
        util_pct: 99.1 * level.min(1.0),
    }
}

fn cpu(level: f64) -> CpuShares {
    let (user, system, iowait, steal) = (0.21 * level, 0.09 * level, 0.33 * level, 0.002);
    CpuShares { user, system, softirq: 0.0, iowait, steal, idle: 1.0 - user - system - iowait - steal }
}

fn anatomy() -> IoAnatomy {
    IoAnatomy {
        misses_per_transaction: Some(6.322),
        pool_hit_ratio: Some(0.834),
        device_reads_per_transaction: Some(6.312),
        device_writes_per_transaction: Some(2.267),
        device_read_bytes_per_transaction: Some(103_408.0),
        device_write_bytes_per_transaction: Some(48_657.0),
        read_share: Some(0.7357),
        read_share_bytes: Some(0.68),
        syncs_per_transaction: Some(0.3134),
        redo_bytes_per_transaction: Some(2_411.0),
        pages_flushed_per_transaction: Some(2.05),
        doublewrite_pages_per_transaction: Some(2.05),
        row_lock_waits_per_transaction: None,
    }
}

fn percentiles() -> Vec<(f64, f64)> {
    let below =
        [0.0, 10.0, 25.0, 50.0, 60.0, 75.0, 85.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995];
    let nines = |p: f64| -(1.0 - p / 100.0_f64).log10();
    let mut points: Vec<(f64, f64)> = below.iter().map(|p| (*p, 12.0 + 14.0 * nines(*p).powf(1.9))).collect();
    points.push((100.0, 1_204.553));
    points
}

fn findings() -> Vec<Finding> {
    let finding = |id, title, holds, text: &str| Finding { id, title, holds, text: text.to_owned() };
    vec![
        finding(
            "working_set_exceeds_pool",
            "Working set exceeds the pool",
            Some(true),
            "6.32 misses a transaction measured, 6.41 predicted for a pool of 300.0 MiB and a dataset of 1.9 GiB",
        ),
        finding(
            "page_cache_bypassed",
            "Page cache bypassed",
            Some(false),
            "the device delivered 3.1 GiB where InnoDB read 7.4 GiB: 58.1 % of the reads were answered by a cache \
             above it",
        ),
        finding("closed_loop", "Closed loop", Some(true), "TPS × average latency is 31.99 for 32 threads"),
        finding("bound", "Device-bound", None, "the host has no io pressure and no flush times to judge by"),
    ]
}

fn plan() -> Plan {
    Plan {
        format: PLAN_FORMAT,
        drivestone: "0.1.0".into(),
        hardware: HardwarePlan {
            name: "lab-r730".into(),
            file: "hardware/lab-r730.yaml".into(),
            target: "/mnt/dut/drivestone".into(),
            create_target: true,
            required_bytes: 0,
            device: pairs(&[
                ("Model", "Samsung PM1735 1.6 TB"),
                ("Interface", "PCIe 4.0 x8"),
                ("Endurance", "3 DWPD"),
            ]),
            platform: pairs(&[("Server", "Dell PowerEdge R730"), ("Processors", "2 × Xeon E5-2690 v4")]),
        },
        fleet: FleetPlan::local(),
        profile: ProfilePlan {
            name: "quick".into(),
            file: "profiles/quick.yaml".into(),
            description: "Three minutes to see that everything works".into(),
            overrides: vec![Override { key: "load.threads".into(), value: "32".into() }],
        },
        dataset: DatasetPlan {
            contents: Dataset {
                tables: 8,
                rows: 1_000_000,
                keys: KeyDistribution::Uniform,
                schema: TableSchema::DEFAULT,
                seed: 42,
                page_bytes: 16_384,
                character_set: "latin1".into(),
            },
            load_threads: 4,
            load_options: BTreeMap::new(),
        },
        workload: Workload::new(WorkloadKind::OltpReadWrite, 8, 1_000_000, KeyDistribution::Uniform),
        load: LoadPlan {
            ignored: IgnoredErrors::sysbenchs(),
            reconnect: false,
            reconnect_every: None,
            settle: SettleJob { dirty_pages: 64, history: 1_000, patience_s: 600 },
            ramp: None,
            sysbench_prepare: "sysbench oltp_read_write --tables=8 --table-size=1000000 prepare".into(),
            cpus: Vec::new(),
        },
        server: ServerPlan {
            program: None,
            account: None,
            transport: Transport::Socket,
            buffer_pool_bytes: 314_572_800,
            buffer_pool_from_profile: false,
            buffer_pool_origin: "15 % of the dataset".into(),
            options: [
                ("innodb_buffer_pool_size", "314572800"),
                ("innodb_doublewrite", "ON"),
                ("innodb_flush_log_at_trx_commit", "1"),
                ("innodb_flush_method", "O_DIRECT"),
                ("innodb_io_capacity", "2000"),
                ("skip_log_bin", "ON"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
            cpus: Vec::new(),
        },
        runs: vec![RunPlan {
            rate_per_s: None,
            sysbench_run: "sysbench oltp_read_write --tables=8 --table-size=1000000 --threads=32 run".into(),
            threads: 32,
            instances: 1,
            warmup_s: 10,
            duration_s: Some(60),
            events: None,
            report_interval_s: 1,
            seed: 7,
        }],
        estimate: Estimate {
            rows: 8_000_000,
            bytes_per_row: 236.4,
            dataset_bytes: 1_891_200_000,
            clustered_pages: 108_000,
            index_pages: 7_060,
            pool_pages: 18_600,
            visits_per_transaction: 38.0,
            hit_ratio: 0.831,
            misses_per_transaction: 6.41,
            space_bytes: 3_200_000_000,
            load_write_bytes: 5_600_000_000,
        },
        allow_cached: false,
    }
}
