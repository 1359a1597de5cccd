use std::fmt::Write as _;

use proptest::prelude::*;

use super::fixture::Tree;
use super::*;

/// A stack in a few lines: each device with its kind, what it says of itself, and what is directly below.
fn shown(devices: &BlockDevices, number: &str) -> String {
    let stack = devices.facts_of_stack(number);
    let mut text = String::new();
    for device in &stack {
        let below: Vec<&str> = device
            .below
            .iter()
            .map(|number| stack.iter().find(|d| d.number == *number).map_or("?", |d| d.name.as_str()))
            .collect();
        let detail = device.detail.as_deref().unwrap_or("-");
        writeln!(text, "{} {:?} ({detail}) on [{}]", device.name, device.kind, below.join(" ")).unwrap();
    }
    text
}

#[test]
fn a_partition_has_its_disks_identity_and_queue() {
    let devices = Tree::of("nvme-partition");
    let devices = devices.devices();
    assert_eq!(devices.stack("259:1"), ["259:1", "259:0"]);
    let [partition, disk] = devices.facts_of_stack("259:1").try_into().unwrap();
    assert_eq!((partition.size_bytes, disk.size_bytes), (Some(960_196_075_520), Some(960_197_124_096)));
    assert_eq!((partition.kind, disk.kind), (DeviceKind::Partition, DeviceKind::Disk));
    assert_eq!((&partition.serial, &partition.model), (&disk.serial, &disk.model));
    assert!(disk.pcie.as_ref().unwrap().is_below_maximum());
    insta::assert_debug_snapshot!(disk);
}

#[test]
fn paths_of_an_nvme_namespace_go_by_their_names() {
    for (tree, head) in [("nvme-multipath", "259:1"), ("nvme-multipath-before", "259:1")] {
        let tree = Tree::of(tree);
        let devices = tree.devices();
        assert_eq!(devices.stack(head), ["259:1", "nvme0c0n1", "nvme0c1n1"]);
        assert_eq!(
            shown(&devices, head),
            "nvme0n1 Disk (-) on [nvme0c0n1 nvme0c1n1]\nnvme0c0n1 NvmePath (optimized) on []\n\
             nvme0c1n1 NvmePath (non-optimized) on []\n"
        );
        let namespace = devices.facts(head).unwrap();
        assert_eq!(namespace.transport.as_deref(), Some("nvme-tcp"));
        assert_eq!(namespace.model.as_deref(), Some("ACME Array A400"));
    }
}

#[test]
fn a_volume_on_a_raid_on_partitions() {
    let tree = Tree::of("lvm-on-raid");
    let devices = tree.devices();
    insta::assert_snapshot!(shown(&devices, "253:1"));
    let disk = devices.facts("8:17").unwrap();
    assert_eq!((disk.vendor, disk.model.as_deref()), (None, Some("SAMSUNG MZ7LH960")));
    assert_eq!((disk.serial.as_deref(), disk.transport.as_deref()), (Some("S45NNC0R123451"), Some("sata")));
    assert_eq!((disk.wwid.as_deref(), disk.queue_depth), (Some("naa.5002538e10000001"), Some(32)));
    assert_eq!((disk.numa_node, disk.pcie), (None, None), "node -1 is none");
}

#[test]
fn a_multipath_device_has_its_paths_below() {
    let tree = Tree::of("multipath");
    let devices = tree.devices();
    assert_eq!(
        shown(&devices, "253:3"),
        "dm-3 DeviceMapper (mpatha-part1) on [dm-2]\ndm-2 Multipath (mpatha) on [sde sdf]\n\
         sde Disk (-) on []\nsdf Disk (-) on []\n"
    );
    let path = devices.facts("8:64").unwrap();
    assert_eq!((path.vendor.as_deref(), path.transport.as_deref()), (Some("NETAPP"), Some("fc")));
    assert_eq!((path.serial.as_deref(), path.firmware.as_deref()), (Some("800S4?F0Erzk"), Some("9141")));
}

#[test]
fn a_cached_disk_has_both_below() {
    let tree = Tree::of("bcache");
    assert_eq!(
        shown(&tree.devices(), "252:0"),
        "bcache0 Bcache (writeback) on [nvme0n1 sda]\nnvme0n1 Disk (-) on []\nsda Disk (-) on []\n"
    );
}

#[test]
fn a_btrfs_spreads_over_more_than_it_was_mounted_by() {
    let tree = Tree::of("btrfs");
    let devices = tree.devices();
    assert_eq!((devices.spread_over("sda"), devices.spread_over("sdc")), (vec!["sdb".to_owned()], vec![]));
    assert_eq!(devices.facts("104:1").unwrap().name, "cciss/c0d0p1");
    assert_eq!(devices.number_of("cciss/c0d0").as_deref(), Some("104:0"));
    assert_eq!(devices.stack("104:1"), ["104:1", "104:0"]);
    assert_eq!(devices.all(), ["104:0", "104:1", "8:0", "8:16"]);
}

#[test]
fn a_virtual_disk_says_little() {
    let tree = Tree::of("virtio");
    let devices = tree.devices();
    let disk = devices.facts("254:1").unwrap();
    assert_eq!((disk.vendor, disk.model, disk.pcie), (None, None, None));
    assert_eq!((disk.serial.as_deref(), disk.transport.as_deref()), (Some("vol-0a1b2c3d"), Some("virtio")));
    assert_eq!((devices.facts("1:0").unwrap().kind, disk.unreadable), (DeviceKind::Memory, vec![]));
}

#[test]
fn what_sys_does_not_tell_is_unknown_and_what_cannot_be_read_says_why() {
    let tree = Tree::from_text("devices/block/sda/dev = 8:0\ndevices/block/sda/size = x\n");
    // A folder where an entry should be cannot be read, not even by root.
    fs::create_dir_all(tree.path().join("devices/block/sda/queue/scheduler")).unwrap();
    let facts = tree.devices().facts("8:0").unwrap();
    assert_eq!((facts.size_bytes, facts.model, facts.rotational, facts.scheduler), (None, None, None, None));
    let reasons: Vec<String> =
        facts.unreadable.iter().map(|u| format!("{}: {}", u.field, u.reason)).collect();
    assert_eq!(
        reasons,
        ["size: `x` is not the number that belongs there", "queue/scheduler: Is a directory (os error 21)"]
    );
    for missing in ["9:9", "", "8", "../..:0", "8:1/..", "a:b"] {
        assert_eq!(tree.devices().facts(missing), None, "{missing}");
        assert_eq!(tree.devices().stack(missing), [""; 0], "{missing}");
    }
}

#[test]
fn a_loop_device_lies_on_its_files_device() {
    let tree = Tree::of("nvme-partition");
    let image = tempfile::NamedTempFile::new().unwrap();
    for (number, name, file) in
        [("7:0", "loop0", image.path().to_str().unwrap()), ("7:1", "loop1", "/gone (deleted)")]
    {
        tree.entry(&format!("devices/virtual/block/{name}/dev"), number);
        tree.entry(&format!("devices/virtual/block/{name}/loop/backing_file"), file);
    }
    let devices = tree.devices_with("1 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n");
    assert_eq!(devices.stack("7:0"), ["7:0", "259:1", "259:0"]);
    assert_eq!(devices.facts("7:0").unwrap().below, ["259:1"]);
    assert_eq!(devices.facts("7:1").unwrap().detail.as_deref(), Some("/gone (deleted)"));
    assert_eq!(devices.stack("7:1"), ["7:1"]);
}

#[test]
fn a_circle_ends() {
    let tree = Tree::from_text(
        "devices/block/dm-0/dev = 253:0\ndevices/block/dm-1/dev = 253:1\n\
         devices/block/dm-0/slaves/dm-1 -> devices/block/dm-1\ndevices/block/dm-1/slaves/dm-0 -> devices/block/dm-0\n",
    );
    assert_eq!(tree.devices().stack("253:0"), ["253:0", "253:1"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However devices lie on each other, a stack begins with the device and has each one once.
    #[test]
    fn each_device_is_listed_once(members in prop::collection::vec((0_u8..6, 0_u8..6), 0..16)) {
        let mut text: String = (0..6).map(|n| format!("devices/block/d{n}/dev = 9:{n}\n")).collect();
        let mut members = members;
        members.sort_unstable();
        members.dedup();
        for (above, below) in &members {
            writeln!(text, "devices/block/d{above}/slaves/d{below} -> devices/block/d{below}").unwrap();
        }
        let tree = Tree::from_text(&text);
        let stack = tree.devices().stack("9:0");
        prop_assert_eq!(stack.first().map(String::as_str), Some("9:0"));
        let mut once = stack.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), stack.len());
        for (above, below) in members {
            let is_in = |n: u8| stack.contains(&format!("9:{n}"));
            prop_assert!(!is_in(above) || is_in(below));
        }
    }

    /// Whatever stands in entries, nothing panics.
    #[test]
    fn entries_never_panic(size in any::<String>(), queue in any::<Vec<u8>>(), uuid in any::<String>()) {
        let tree = Tree::from_text("devices/block/sda/dev = 8:0\n");
        let entry = |name: &str, bytes: &[u8]| {
            let path = tree.path().join("devices/block/sda").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        entry("size", size.as_bytes());
        entry("queue/scheduler", &queue);
        entry("queue/rotational", &queue);
        entry("device/vpd_pg80", &queue);
        entry("dm/uuid", uuid.as_bytes());
        prop_assert!(tree.devices().facts("8:0").is_some());
    }
}
