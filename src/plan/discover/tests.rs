use proptest::prelude::*;

use super::*;
use crate::protocol::facts::{DeviceKind, PcieLink, UnreadableField};
use crate::spec::parse_hardware;

const GIB: u64 = 1 << 30;

fn nvme(name: &str, number: &str) -> DeviceFacts {
    DeviceFacts {
        name: name.into(),
        number: number.into(),
        size_bytes: Some(960_197_124_096),
        model: Some("SAMSUNG MZQL2960HCJR-00A07".into()),
        serial: Some("S64FNE0R123456".into()),
        firmware: Some("GDC5602Q".into()),
        transport: Some("nvme".into()),
        pcie: Some(PcieLink {
            speed: "8.0 GT/s PCIe".into(),
            width: 4,
            max_speed: "16.0 GT/s PCIe".into(),
            max_width: 4,
        }),
        numa_node: Some(1),
        rotational: Some(false),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        scheduler: Some("none".into()),
        queue_requests: Some(1023),
        write_cache: Some("write through".into()),
        discard_max_bytes: Some(2_199_023_255_040),
        ..DeviceFacts::default()
    }
}

fn mounted(devices: Vec<DeviceFacts>) -> Discovery {
    let mount = MountFacts {
        mount_point: "/mnt/dut".into(),
        filesystem: "xfs".into(),
        source: "/dev/nvme0n1p1".into(),
        options: "rw,noatime".into(),
        devices: devices.clone(),
        spread_over: Vec::new(),
    };
    Discovery {
        path: "/mnt/dut".into(),
        mount: Some(mount),
        devices,
        total_bytes: 894 * GIB,
        free_bytes: 700 * GIB,
        platform: PlatformFacts {
            vendor: Some("Dell Inc.".into()),
            product: Some("PowerEdge R730".into()),
            governor: Some("performance".into()),
            turbo: Some(true),
            highest_khz: Some(3_500_000),
            transparent_hugepages: Some("madvise".into()),
            swap_bytes: 4 * GIB,
            numa_nodes: vec!["0-11".into(), "12-23".into()],
        },
        limits: LimitFacts { cpus: "0-23".into(), ..LimitFacts::default() },
        cpu_model: Some("Intel(R) Xeon(R) CPU E5-2690 v3 @ 2.60GHz".into()),
        cpus: 24,
        memory_bytes: 256 * GIB,
        kernel: "Linux 6.1.0".into(),
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
    }
}

fn partition(name: &str, number: &str, disk: &str) -> DeviceFacts {
    let (name, number, below) = (name.into(), number.into(), vec![disk.into()]);
    DeviceFacts { name, number, below, kind: DeviceKind::Partition, ..DeviceFacts::default() }
}

#[test]
fn a_partition_of_an_nvme_disk() {
    let devices = vec![partition("nvme0n1p1", "259:1", "259:0"), nvme("nvme0n1", "259:0")];
    insta::assert_snapshot!(hardware_profile(&mounted(devices)));
}

#[test]
fn a_volume_on_a_mirror_of_two() {
    let unreadable = UnreadableField { field: "device/serial".into(), reason: "Input/output error".into() };
    let second = DeviceFacts { serial: None, unreadable: vec![unreadable], ..nvme("nvme1n1", "259:2") };
    let layer = |name: &str, number: &str, kind, detail: &str, below: &[&str]| DeviceFacts {
        name: name.into(),
        number: number.into(),
        kind,
        detail: Some(detail.into()),
        below: below.iter().map(|&number| number.to_owned()).collect(),
        ..DeviceFacts::default()
    };
    let devices = vec![
        layer("dm-0", "253:0", DeviceKind::LogicalVolume, "vg-dut", &["9:0"]),
        layer("md0", "9:0", DeviceKind::Raid, "raid1", &["259:0", "259:2"]),
        nvme("nvme0n1", "259:0"),
        second,
    ];
    insta::assert_snapshot!(hardware_profile(&mounted(devices)));
}

#[test]
fn a_small_disk_that_is_not_mounted_below_a_limit() {
    let found = Discovery {
        path: "/mnt/vdb".into(),
        mount: None,
        devices: vec![DeviceFacts { name: "vdb".into(), size_bytes: Some(GIB), ..DeviceFacts::default() }],
        total_bytes: GIB,
        free_bytes: GIB,
        limits: LimitFacts { memory_bytes: Some(2 * GIB), ..LimitFacts::default() },
        platform: PlatformFacts::default(),
        cpus: 2,
        ..mounted(Vec::new())
    };
    insta::assert_snapshot!(hardware_profile(&found));
}

#[test]
fn the_pool_is_the_smallest_of_three() {
    let pool = |memory: u64, free: u64| {
        let found = Discovery { memory_bytes: memory, free_bytes: free, ..mounted(Vec::new()) };
        let profile = parse_hardware("p.yaml", &hardware_profile(&found)).unwrap();
        profile.spec.memory.buffer_pool.to_string()
    };
    assert_eq!(pool(256 * GIB, 700 * GIB), "24GiB");
    assert_eq!(pool(16 * GIB, 700 * GIB), "8GiB");
    // 56 GiB of dataset × 24 GiB / 260 GB.
    assert_eq!(pool(256 * GIB, 70 * GIB), "5632MiB");
    assert_eq!(pool(256 * GIB, GIB), "10%");
}

proptest! {
    /// Whatever a device or a host calls itself, the profile is valid and says it.
    #[test]
    fn every_profile_is_valid(model in any::<String>(), path in "/[ -~]{0,20}", serial in "[ -~]{1,12}", free in any::<u64>(),
                              memory in any::<u64>()) {
        let disk = DeviceFacts { model: Some(model), serial: Some(serial.clone()), ..nvme("sda", "8:0") };
        let found = Discovery { path: path.clone(), free_bytes: free, memory_bytes: memory, ..mounted(vec![disk]) };
        let text = hardware_profile(&found);
        let profile = parse_hardware("p.yaml", &text);
        prop_assert!(profile.is_ok(), "{text}\n{:?}", profile.err());
        let spec = profile.unwrap().spec;
        prop_assert_eq!(spec.device.path, path.trim());
        let told = spec.device.facts.iter().find(|(label, _)| label == "Serial").map(|(_, text)| text.as_str());
        prop_assert!(told == Some(serial.trim()) || serial.trim().is_empty(), "{told:?} for {serial:?}");
    }
}
