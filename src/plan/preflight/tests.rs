//! Preflight on hosts made up here.

use std::path::Path;

use super::*;
use crate::plan::resolve::resolve;
use crate::protocol::facts::{DeviceFacts, IoLimit, LimitFacts, PlatformFacts, TargetFacts};
use crate::spec::{parse_hardware, parse_profile};

pub(super) fn plan(pool: &str, overrides: &[&str]) -> Plan {
    let hardware = format!(
        "name: h\ndescription: d\ndevice:\n  path: /mnt/dut\n  required_space: 1GB\nmemory:\n  buffer_pool: {pool}\n"
    );
    let profile = "name: p\ndescription: d\nworkload:\n  kind: oltp_read_write\n  keys: uniform\n\
                   dataset:\n  tables: 10\n  rows: 100000\nload:\n  threads: 32\n  warmup: 2s\n  duration: 5s\n";
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let hardware = parse_hardware("h.yaml", &hardware).unwrap();
    resolve(&hardware, &parse_profile("p.yaml", profile, &overrides).unwrap(), Path::new("/"), 1).unwrap()
}

pub(super) fn facts() -> HostFacts {
    HostFacts {
        hostname: "lab".into(),
        boot_id: None,
        kernel: "Linux 6.1".into(),
        architecture: "x86_64".into(),
        os: None,
        cpu_model: None,
        cpus: 2,
        memory_bytes: 8 << 30,
        memory_available_bytes: 6 << 30,
        uid: 1000,
        open_files: 1024,
        target: TargetFacts {
            path: "/mnt/dut".into(),
            state: TargetState::Writable,
            nearest: TargetState::Writable,
            identity: None,
            mount: Some(MountFacts {
                mount_point: "/mnt/dut".into(),
                filesystem: "ext4".into(),
                source: "/dev/sdx".into(),
                options: "rw".into(),
                devices: vec![DeviceFacts {
                    name: "sdx".into(),
                    number: "8:16".into(),
                    ..DeviceFacts::default()
                }],
                spread_over: Vec::new(),
            }),
            free_bytes: 100 << 30,
            total_bytes: 100 << 30,
            blocked_at: None,
        },
        server: ServerFacts::Found {
            program: "/usr/sbin/mariadbd".into(),
            initializer: "/usr/bin/mariadb-install-db".into(),
            version: "10.11.14-MariaDB".into(),
            account: None,
        },
        dataset: DatasetState::Absent,
        journal_mount: None,
        dataset_bytes: 0,
        socket_path: "/mnt/dut/drivestone/x/run/s".into(),
        platform: PlatformFacts::default(),
        limits: LimitFacts::default(),
    }
}

pub(super) fn mount(facts: &mut HostFacts) -> &mut MountFacts {
    facts.target.mount.as_mut().unwrap()
}

/// What was found, as lines of a snapshot.
pub(super) fn show(title: &str, found: &Preflight) -> String {
    let mut text = format!("# {title}\n");
    for (kind, problems) in [("refused", &found.refusals), ("warning", &found.warnings)] {
        for Problem { file, field, text: problem } in problems {
            text += &format!("{kind}: {file:?} {field}: {problem}\n");
        }
    }
    text
}

#[test]
fn a_good_plan_on_a_good_host_passes() {
    assert_eq!(preflight(&plan("10%", &[]), &facts()), Preflight::default());
}

#[test]
fn refusals_and_warnings_read_well() {
    let mut text = String::new();
    let mut show = |title: &str, plan: &Plan, change: &dyn Fn(&mut HostFacts)| {
        let mut facts = facts();
        change(&mut facts);
        text += &self::show(title, &preflight(plan, &facts));
    };
    let good = plan("10%", &[]);
    show("missing", &good, &|f| f.target.state = TargetState::Missing);
    show("read-only", &good, &|f| f.target.state = TargetState::ReadOnly);
    show("not permitted", &good, &|f| f.target.state = TargetState::NotPermitted);
    show("a file", &good, &|f| f.target.state = TargetState::NotADirectory);
    show("a space", &good, &|f| f.target.path = "/mnt/My Disk".into());
    show("blocked", &good, &|f| f.target.blocked_at = Some("/mnt".into()));
    show("tmpfs", &good, &|f| mount(f).filesystem = "tmpfs".into());
    show("nfs", &good, &|f| mount(f).filesystem = "nfs4".into());
    show("no device", &good, &|f| mount(f).devices.clear());
    show("several devices", &good, &|f| mount(f).spread_over = vec!["sdy".into()]);
    show("no mount", &good, &|f| f.target.mount = None);
    show("too small", &good, &|f| f.target.free_bytes = 900 << 20);
    show("small but half-loaded", &good, &|f| {
        f.target.free_bytes = 900 << 20;
        f.dataset = DatasetState::HalfLoaded;
        f.dataset_bytes = 2 << 30;
    });
    show("pool larger than memory", &plan("9GiB", &["allow_cached=true"]), &|_| {});
    show("pool larger than free memory", &plan("7GiB", &["allow_cached=true"]), &|_| {});
    show("pool too small", &plan("1MiB", &[]), &|_| {});
    show("pool set by the test profile", &plan("10%", &["buffer_pool=9GiB", "allow_cached=true"]), &|_| {});
    show("cached", &plan("400MiB", &[]), &|_| {});
    show("no server", &good, &|f| f.server = ServerFacts::Missing { reason: "no server found".into() });
    show("few files", &good, &|f| f.open_files = 100);
    show("long socket", &good, &|f| f.socket_path = "/x".repeat(60));
    show("in use", &good, &|f| f.dataset = DatasetState::InUse);
    show("foreign", &good, &|f| f.dataset = DatasetState::Foreign { reason: "not ours".into() });
    insta::assert_snapshot!(text);
}

#[test]
fn what_control_groups_and_processor_sets_leave() {
    let good = facts();
    let mut plan = plan("2GiB", &["allow_cached=true"]);
    (plan.server.cpus, plan.load.cpus) = (vec![0, 1], vec![2, 9]);
    let limited = |change: &dyn Fn(&mut LimitFacts)| {
        let mut facts = good.clone();
        facts.limits.cpus = "0-7".into();
        change(&mut facts.limits);
        preflight(&plan, &facts)
    };
    let io = |number: &str| IoLimit { number: number.into(), reads_per_s: Some(500), ..IoLimit::default() };
    let shown = [
        show("a processor that is not there", &limited(&|_| {})),
        show("no list of processors", &limited(&|limits| limits.cpus.clear())),
        show("little memory", &limited(&|limits| limits.memory_bytes = Some(1 << 30))),
        show("an I/O limit on the device", &limited(&|limits| limits.io = vec![io("8:16"), io("9:9")])),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_long_socket_path_does_not_matter_over_tcp() {
    let mut facts = facts();
    facts.socket_path = "/x".repeat(60);
    assert_eq!(preflight(&plan("10%", &["transport=tcp"]), &facts), Preflight::default());
}
