//! A made-up host with a stack of devices.

use super::{figures, rates, run};
use crate::analysis::{
    FrequencyFigures, InstanceAnalysis, IoAnatomy, LayerAnalysis, MachineAnalysis, MemoryFigures,
    NetworkRates, PressureShares, ProcessRates, RunAnalysis, StackAnalysis, StallShares,
};
use crate::protocol::facts::{DeviceKind, IoLimit, LimitFacts};
use crate::protocol::sample::MeasuredProcess;

/// A run on a host that tells nothing.
pub(in crate::report) fn run_without_telemetry() -> RunAnalysis {
    let mut run = run(60);
    run.device_name = None;
    run.per_instance.clear();
    if let Some(figures) = &mut run.figures {
        (figures.device, figures.cpu, figures.anatomy) = (None, None, IoAnatomy::default());
    }
    for point in &mut run.series {
        (point.device, point.cpu, point.io_some, point.io_full) = (None, None, None, None);
        (point.page_cache_bytes, point.available_bytes) = (None, None);
        (point.misses_per_s, point.dirty_share, point.checkpoint_age_bytes) = (None, None, None);
    }
    run
}

/// The only instance of a run.
pub(super) fn instance(seconds: i64) -> InstanceAnalysis {
    InstanceAnalysis {
        host: "local".into(),
        device_name: Some("nvme0n1".into()),
        figures: figures(seconds as f64),
        stack: StackAnalysis { layers: vec![layer("nvme0n1", DeviceKind::Disk, 0, None)], ..stack() },
        machine: machine(),
        last_second: Some(seconds - 1),
        lost: None,
        series: Vec::new(),
    }
}

/// A RAID1 of two partitions, one of which says nothing.
pub(in crate::report) fn stack() -> StackAnalysis {
    let mut raid = layer("md127", DeviceKind::Raid, 0, None);
    raid.detail = Some("raid1".into());
    let mut silent = layer("sdb", DeviceKind::Disk, 2, None);
    (silent.rates, silent.vanished) = (None, true);
    StackAnalysis {
        layers: vec![
            raid,
            layer("nvme0n1p1", DeviceKind::Partition, 1, Some((0.5, 1.0))),
            layer("sdb1", DeviceKind::Partition, 1, Some((0.5, 1.0))),
            layer("nvme0n1", DeviceKind::Disk, 2, Some((0.51, 1.02))),
            silent,
        ],
        read_multiplication: None,
        write_multiplication: None,
    }
}

fn layer(name: &str, kind: DeviceKind, depth: usize, times: Option<(f64, f64)>) -> LayerAnalysis {
    LayerAnalysis {
        name: name.into(),
        number: "259:0".into(),
        kind: Some(kind),
        detail: None,
        depth,
        is_leaf: Some(kind == DeviceKind::Disk),
        vanished: false,
        rates: Some(rates(times.map_or(1.0, |(read, _)| read))),
        read_multiplication: times.map(|(read, _)| read),
        write_multiplication: times.map(|(_, write)| write),
    }
}

/// A host with a network, a quota and limits.
pub(in crate::report) fn machine() -> MachineAnalysis {
    let stall = |some, full| Some(StallShares { some, full });
    let process = |process, read: f64, write: f64| ProcessRates {
        process,
        read_bytes_per_s: read,
        write_bytes_per_s: write,
    };
    MachineAnalysis {
        memory: Some(MemoryFigures {
            available_lowest_bytes: 241_000_000_000,
            page_cache_first_bytes: 2_100_000_000,
            page_cache_last_bytes: 2_106_000_000,
            page_cache_highest_bytes: 2_107_000_000,
            dirty_highest_bytes: 1_048_576,
            swap_used_highest_bytes: 0,
            swapped_in_pages: Some(0),
            swapped_out_pages: Some(0),
        }),
        pressure: PressureShares { cpu: stall(0.031, 0.0), io: stall(0.82, 0.31), memory: stall(0.0, 0.0) },
        network: Some(NetworkRates {
            interface: "lo".into(),
            received_bytes_per_s: 12_345_678.0,
            received_packets_per_s: 25_700.0,
            sent_bytes_per_s: 12_345_678.0,
            sent_packets_per_s: 25_700.0,
            lost_packets: 0,
        }),
        own_io: vec![
            process(MeasuredProcess::Server, 132_798_464.0, 62_486_528.0),
            process(MeasuredProcess::Agent, 0.0, 0.0),
            process(MeasuredProcess::Coordinator, 0.0, 40_960.0),
        ],
        frequency: Some(FrequencyFigures { mean_mhz: 2_893.0, lowest_mhz: 1_200.0 }),
        throttled_share: Some(0.0),
        limits: Some(LimitFacts {
            cpus: "0-55".into(),
            cpu_quota: Some(32.0),
            memory_bytes: Some(1 << 37),
            io: vec![IoLimit { number: "259:0".into(), reads_per_s: Some(50_000), ..IoLimit::default() }],
        }),
        server_cpus: Some("0-27".into()),
        load_cpus: Some("28-55".into()),
    }
}
