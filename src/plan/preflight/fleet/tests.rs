//! Several hosts made up here.

use std::path::Path;

use super::super::tests::{facts, mount, plan, show};
use super::*;
use crate::plan::resolve::resolve;
use crate::protocol::facts::{ServerFacts, TargetState};
use crate::spec::{parse_hardware, parse_profile};

type Change = dyn Fn(&mut [(String, HostFacts)]);

/// Hosts that are alike but for their names, boots and directories.
fn hosts(n: usize) -> Vec<(String, HostFacts)> {
    let host = |n: usize| {
        let mut facts = facts();
        facts.boot_id = Some(format!("boot-{n}"));
        facts.target.identity = Some("2064:2".into());
        (format!("vm{n}"), facts)
    };
    (1..=n).map(host).collect()
}

fn allowing() -> Plan {
    let mut plan = plan("10%", &[]);
    plan.fleet.allow_unequal = true;
    plan
}

#[test]
fn one_host_is_judged_as_ever() {
    let plan = plan("9GiB", &[]);
    let mut small = hosts(1);
    small[0].1.target.state = TargetState::ReadOnly;
    assert_eq!(preflight_fleet(&plan, &small), super::super::preflight(&plan, &small[0].1));
}

#[test]
fn alike_hosts_pass() {
    let mut hosts = hosts(4);
    // A little less memory is no difference, and neither is another name of the same kind of device.
    hosts[1].1.memory_bytes = hosts[1].1.memory_bytes / 100 * 99;
    mount(&mut hosts[2].1).source = "/dev/vdb".into();
    assert_eq!(preflight_fleet(&plan("10%", &[]), &hosts), Preflight::default());
}

#[test]
fn refusals_and_warnings_of_several_hosts_read_well() {
    let mut text = String::new();
    let mut case = |title: &str, plan: &Plan, change: &Change| {
        let mut hosts = hosts(4);
        change(&mut hosts);
        text += &show(title, &preflight_fleet(plan, &hosts));
    };
    let good = plan("10%", &[]);
    case("one of four", &good, &|h| h[2].1.target.state = TargetState::Missing);
    case("two of four", &good, &|h| {
        h[0].1.target.state = TargetState::ReadOnly;
        h[3].1.target.state = TargetState::ReadOnly;
    });
    case("all four", &good, &|h| {
        h.iter_mut().for_each(|(_, f)| f.server = ServerFacts::Missing { reason: "no server found".into() });
    });
    case("different ones", &good, &|h| {
        h[0].1.open_files = 10;
        h[1].1.target.free_bytes = 1 << 20;
    });
    case("cached", &plan("400MiB", &[]), &|_| {});
    case("one machine by two names", &good, &|h| h[1].1.boot_id = h[0].1.boot_id.clone());
    case("one machine by four names", &good, &|h| {
        h.iter_mut().for_each(|(_, f)| f.boot_id = Some("boot".into()));
    });
    let unlike = |h: &mut [(String, HostFacts)]| {
        h[3].1.cpus = 8;
        h[3].1.cpu_model = Some("Xeon".into());
        h[1].1.memory_bytes = 4 << 30;
        h[1].1.memory_available_bytes = 4 << 30;
        h[2].1.architecture = "aarch64".into();
        mount(&mut h[0].1).filesystem = "xfs".into();
        let device = mount(&mut h[0].1).devices.first_mut().unwrap();
        device.size_bytes = Some(400_000_000_000);
        device.rotational = Some(true);
        device.model = Some("Disk ".into());
        h[2].1.server = ServerFacts::Found {
            program: "/usr/sbin/mysqld".into(),
            initializer: "/usr/sbin/mysqld".into(),
            version: "9.7.0".into(),
            account: None,
        };
    };
    case("unlike hosts", &good, &unlike);
    case("unlike hosts, allowed", &allowing(), &unlike);
    insta::assert_snapshot!(text);
}

#[test]
fn containers_of_one_machine_are_several_hosts() {
    let mut hosts = hosts(2);
    hosts[1].1.boot_id = hosts[0].1.boot_id.clone();
    hosts[1].1.target.identity = Some("1792:2".into());
    assert_eq!(preflight_fleet(&plan("10%", &[]), &hosts), Preflight::default());
}

#[test]
fn memory_differs_from_two_percent_up() {
    let with = |bytes: [u64; 3]| {
        let mut hosts = hosts(3);
        for ((_, facts), bytes) in hosts.iter_mut().zip(bytes) {
            facts.memory_bytes = bytes << 20;
        }
        preflight_fleet(&plan("10%", &[]), &hosts).refusals.len()
    };
    assert_eq!(with([10_000, 10_200, 10_100]), 0);
    assert_eq!(with([10_000, 10_201, 10_100]), 1);
    // Steps that are each small add up.
    assert_eq!(with([10_000, 10_150, 10_300]), 1);
}

#[test]
fn machines_to_be_made_are_judged_by_the_plan() {
    let judge = |pool: &str, data: &str, memory: &str| {
        let text = include_str!("../../../../hardware/dell-r730-cluster.yaml")
            .replace("buffer_pool: 24GiB", &format!("buffer_pool: {pool}"))
            .replace("data: 400GB", &format!("data: {data}"))
            .replace("memory: 60GB", &format!("memory: {memory}"));
        let hardware = parse_hardware("h.yaml", &text).unwrap();
        let profile = include_str!("../../../../profiles/storagereview-oltp-vms.yaml")
            .replace("  buffer_pool: 24GiB\n", "");
        let profile = parse_profile("p.yaml", &profile, &[]).unwrap();
        preflight_fleet(&resolve(&hardware, &profile, Path::new("/"), 1).unwrap(), &[])
    };
    assert_eq!(judge("24GiB", "400GB", "60GB"), Preflight::default());
    let mut text = show("small disk", &judge("24GiB", "92GB", "60GB"));
    text += &show("small memory", &judge("24GiB", "400GB", "16GiB"));
    text += &show("large pool", &judge("300GiB", "400GB", "512GiB"));
    insta::assert_snapshot!(text);
}
