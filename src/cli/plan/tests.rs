//! The plan's text on hosts made up here.

use std::path::Path;

use super::*;
use crate::plan::resolve::resolve;
use crate::protocol::facts::{DeviceFacts, LimitFacts, MountFacts, PlatformFacts, TargetFacts, TargetState};
use crate::spec::{parse_hardware, parse_profile};

fn plan(hardware: &str, overrides: &[&str]) -> Plan {
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    let profile = include_str!("../../../profiles/storagereview-oltp-vms.yaml");
    let profile = parse_profile("p.yaml", profile, &overrides).unwrap();
    resolve(&parse_hardware("h.yaml", hardware).unwrap(), &profile, Path::new("/"), 7).unwrap()
}

fn facts(free_bytes: u64, dataset: DatasetState, version: &str) -> HostFacts {
    let device = DeviceFacts { name: "vdb".into(), number: "252:16".into(), ..DeviceFacts::default() };
    let mount = MountFacts {
        mount_point: "/mnt/dut".into(),
        filesystem: "ext4".into(),
        source: "/dev/vdb".into(),
        options: "rw".into(),
        devices: vec![device],
        spread_over: Vec::new(),
    };
    HostFacts {
        hostname: "h".into(),
        boot_id: None,
        kernel: "Linux 6.1".into(),
        architecture: "x86_64".into(),
        os: None,
        cpu_model: None,
        cpus: 16,
        memory_bytes: 60 << 30,
        memory_available_bytes: 58 << 30,
        uid: 0,
        open_files: 1 << 20,
        target: TargetFacts {
            path: "/mnt/dut".into(),
            state: TargetState::Writable,
            nearest: TargetState::Writable,
            identity: None,
            mount: Some(mount),
            free_bytes,
            total_bytes: 400_000_000_000,
            blocked_at: None,
        },
        server: ServerFacts::Found {
            program: "/usr/sbin/mariadbd".into(),
            initializer: "/usr/bin/mariadb-install-db".into(),
            version: version.into(),
            account: None,
        },
        dataset,
        dataset_bytes: 0,
        journal_mount: None,
        socket_path: "/mnt/dut/s".into(),
        platform: PlatformFacts::default(),
        limits: LimitFacts::default(),
    }
}

/// The text without the server's options, which are the same everywhere.
fn told(plan: &Plan, hosts: &Hosts) -> String {
    let text = describe(plan, hosts);
    let option =
        |line: &&str| line.contains("innodb_") || line.contains("_connect") || line.contains("_size=");
    let lines = text.lines().filter(|line| !option(line)).filter(|line| !line.contains("=O"));
    lines.map(|line| format!("{line}\n")).collect()
}

const BY_SSH: &str = include_str!("../../../hardware/example-ssh-hosts.yaml");

#[test]
fn this_machine_alone() {
    let plan = plan(include_str!("../../../hardware/dell-r730.yaml"), &["counts=1"]);
    let local = ("local".to_owned(), facts(390_000_000_000, DatasetState::Absent, "10.11.14-MariaDB"));
    insta::assert_snapshot!(told(&plan, &[local]));
}

#[test]
fn hosts_by_ssh() {
    let text = format!("{BY_SSH}observers:\n  - {{host: node1, device: /dev/sdb}}\n");
    let plan = plan(&text, &["counts=1,2,4", "on_loss=continue"]);
    let hosts = [
        ("vm1", 390_000_000_000, DatasetState::Absent, "10.11.14-MariaDB"),
        ("vm2", 380_000_000_000, DatasetState::HalfLoaded, "10.11.14-MariaDB"),
        ("vm3", 390_000_000_000, DatasetState::Absent, "10.11.14-MariaDB"),
        ("vm4", 390_000_000_000, DatasetState::Absent, "11.8.3-MariaDB"),
    ];
    let hosts = hosts.map(|(host, free, dataset, version)| (host.to_owned(), facts(free, dataset, version)));
    insta::assert_snapshot!(told(&plan, &hosts));
}

#[test]
fn machines_that_are_still_to_be_made() {
    let hardware = include_str!("../../../hardware/dell-r730-cluster.yaml");
    insta::assert_snapshot!(told(&plan(hardware, &["counts=8,14"]), &[]));
}

#[test]
fn groups_of_three() {
    assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
}
