//! A made-up result: ten minutes of warm-up and one hour measured, as a run would leave it.

use std::collections::BTreeMap;
use std::path::Path;

use drivestone::plan::Plan;
use drivestone::plan::resolve::resolve;
use drivestone::protocol::Event;
use drivestone::protocol::event::{
    LoadEndCause, LoadEnded, LoadSecond, ServerReady, StatementCount, ThreadTotals,
};
use drivestone::protocol::sample::{
    CpuCounters, DiskCounters, FlushCounters, HostSample, MeasuredProcess, MemorySample, NetworkCounters,
    OperationCounters, Pressure, ProcessIo, ServerSample, StallTotals,
};
use drivestone::result::bundle::Bundle;
use drivestone::result::{Ending, HostStart, Record};
use drivestone::spec::{parse_hardware, parse_profile};
use drivestone::stats::latency::LatencyHistogram;
use drivestone::telemetry::innodb::COUNTERS;
use drivestone::workload::random::WorkloadRng;

const WARMUP_S: i64 = 600;
pub const MEASURED_S: i64 = 3600;
pub const THREADS: u32 = 32;
const TPS: u64 = 1280;
pub const SECOND_NS: i64 = 1_000_000_000;
pub const T0_NS: i64 = 5_000 * SECOND_NS;

/// Writes the bundle.
pub fn write(folder: &Path) {
    let mut bundle = Bundle::create(folder, &plan()).unwrap();
    let mut say = |event| bundle.append("local", Record::Event(event)).unwrap();
    say(Event::ServerReady(server()));
    let begin_ns = T0_NS - WARMUP_S * SECOND_NS;
    let end_ns = Some(T0_NS + MEASURED_S * SECOND_NS);
    bundle
        .append(
            "coordinator",
            Record::RunStarted {
                run: 0,
                instances: vec![HostStart { host: "local".to_owned(), begin_ns, t0_ns: T0_NS, end_ns }],
                observers: Vec::new(),
            },
        )
        .unwrap();
    let mut rng = WorkloadRng::new(1, 1);
    let mut latency = LatencyHistogram::new();
    for second in -WARMUP_S..=MEASURED_S {
        let passed = second + WARMUP_S;
        let mut say = |event| bundle.append("local", Record::Event(event)).unwrap();
        say(Event::Host(Box::new(host(second, passed as u64))));
        say(Event::Server(counters(second, passed)));
        if second < MEASURED_S {
            say(Event::LoadSecond(load(second, &mut rng, &mut latency)));
        }
    }
    bundle.append("local", Record::Event(Event::LoadEnded(ended()))).unwrap();
    bundle.append("coordinator", Record::RunEnded { run: 0, shortfall: None }).unwrap();
    bundle.append("coordinator", Record::Closed { ending: Ending::Complete, reason: None }).unwrap();
    bundle.close();
}

/// How the load of one instance ended.
pub fn ended() -> LoadEnded {
    LoadEnded {
        cause: LoadEndCause::Time,
        measured_ns: (MEASURED_S * SECOND_NS) as u64,
        in_flight_ns: vec![20_000_000; THREADS as usize],
        carried_in_ns: 0,
        counted: StatementCount {
            counter: "Com_commit".to_owned(),
            ours: TPS * 4200,
            server: Some((0, (TPS * 4200) as i64)),
        },
        threads: vec![ThreadTotals { events: TPS * 3600 / u64::from(THREADS), busy_ns: 0 }; THREADS as usize],
        unserved: None,
        rows_added: 0,
        filed_late: 0,
        saturated: 0,
    }
}

/// One instance on this machine, ten minutes of warm-up and an hour.
pub fn plan() -> Plan {
    let hardware = include_str!("../../hardware/this-machine.yaml");
    let profile = include_str!("../../profiles/quick.yaml");
    let set = ["load.warmup=10min".to_owned(), "load.duration=1h".to_owned()];
    let hardware = parse_hardware("hardware.yaml", hardware).unwrap();
    let profile = parse_profile("profile.yaml", profile, &set).unwrap();
    resolve(&hardware, &profile, Path::new("/"), 1).unwrap()
}

/// A server with a thousand variables.
pub fn server() -> ServerReady {
    let variables = (0..1000).map(|n| (format!("some_server_variable_{n}"), format!("{}", n * 4096)));
    ServerReady {
        version: "10.11.14-MariaDB".to_owned(),
        pid: 4711,
        variables: variables.collect(),
        configuration: String::new(),
        data_dir: "/data".to_owned(),
        address: "/data/socket".to_owned(),
        initialized: true,
        cpus: "0-15".to_owned(),
    }
}

/// Log-normal around 22 ms, with stalls of up to a second in one of a thousand.
pub fn load(second: i64, rng: &mut WorkloadRng, latency: &mut LatencyHistogram) -> LoadSecond {
    latency.clear();
    let transactions = TPS - 40 + rng.between(0, 80);
    for _ in 0..transactions {
        let normal = (0..12).map(|_| rng.between(0, 1_000_000) as f64 / 1e6).sum::<f64>() - 6.0;
        let stall = if rng.between(0, 999) == 0 { rng.between(1, 1_000_000_000) } else { 0 };
        latency.record((22e6 * (0.35 * normal).exp()) as u64 + stall);
    }
    LoadSecond {
        reconnects: 0,
        queued: None,
        second,
        length_ns: SECOND_NS as u64,
        threads: THREADS,
        latency: latency.to_record(),
        reads: 14 * transactions,
        writes: 4 * transactions,
        other: 2 * transactions,
        errors: if rng.between(0, 5) == 0 { BTreeMap::from([(1213, 1)]) } else { BTreeMap::new() },
    }
}

/// Kernel counters at the start of a second.
pub fn host(second: i64, passed: u64) -> HostSample {
    let disk = |name: &str, number: &str| DiskCounters {
        name: name.to_owned(),
        number: number.to_owned(),
        reads: operations(123_456_789 + 8_100 * passed, 16),
        writes: operations(98_765_432 + 2_900 * passed, 21),
        in_flight: passed % 40,
        busy_ticks_ms: 990 * passed as u32,
        queue_ticks_ms: 4_090 * passed as u32,
        discards: Some(operations(1_000, 64)),
        flushes: Some(FlushCounters { ios: 5_000 + 400 * passed, ticks_ms: 500 * passed as u32 }),
    };
    HostSample {
        at_ns: T0_NS + second * SECOND_NS,
        disks: vec![disk("nvme0n1p1", "259:1"), disk("nvme0n1", "259:0")],
        cpu: CpuCounters {
            user: 1_000_000 + 21 * passed,
            system: 500_000 + 9 * passed,
            idle: 90_000_000 + 137 * passed,
            iowait: 400_000 + 33 * passed,
            interrupts: 1_000 + passed,
            softirq: 2_000 + 2 * passed,
            steal: 0,
        },
        pressure: Pressure {
            io: Some(StallTotals { some_us: 820_000 * passed, full_us: 310_000 * passed }),
            cpu: Some(StallTotals { some_us: 31_000 * passed, full_us: 0 }),
            memory: Some(StallTotals { some_us: 0, full_us: 0 }),
        },
        memory: Some(MemorySample {
            available_bytes: 200_000_000_000 - passed,
            page_cache_bytes: 2_000_000_000 + 10_000 * passed,
            dirty_bytes: 1_000_000,
            ..MemorySample::default()
        }),
        network: Some(NetworkCounters {
            interface: "lo".to_owned(),
            received_bytes: 12_000_000 * passed,
            received_packets: 25_000 * passed,
            sent_bytes: 12_000_000 * passed,
            sent_packets: 25_000 * passed,
            lost_packets: 0,
        }),
        io: [MeasuredProcess::Server, MeasuredProcess::Agent, MeasuredProcess::Coordinator]
            .map(|process| own_io(process, passed))
            .into(),
        frequency_khz: vec![2_900_000; 8],
        cgroup_throttled_us: Some(0),
    }
}

fn own_io(process: MeasuredProcess, passed: u64) -> ProcessIo {
    let read_bytes = if process == MeasuredProcess::Server { 132_710_400 * passed } else { 0 };
    ProcessIo { process, pid: 4711, read_bytes, write_bytes: read_bytes / 2, cancelled_write_bytes: 0 }
}

fn operations(ios: u64, kib: u64) -> OperationCounters {
    OperationCounters { ios, merges: ios / 50, sectors_512: ios * kib * 2, ticks_ms: (ios / 3) as u32 }
}

/// Server counters at the start of a second.
pub fn counters(second: i64, passed: i64) -> ServerSample {
    let growing = COUNTERS.iter().zip(1_i64..).map(|(name, n)| {
        let value = if name.contains("pages_") { 18_600 / n } else { 1_000_000_007 * n + 1_280 * n * passed };
        ((*name).to_owned(), value)
    });
    ServerSample { at_ns: T0_NS + second * SECOND_NS + 400_000, counters: growing.collect() }
}
