//! Hosts, machines made for a run, observers and counts.

use super::*;

/// Machines made by libvirt, with what is demanded and nothing else.
const LIBVIRT: &str = "\
instances:
  libvirt:
    hypervisors: [qemu+ssh://root@node1/system, 'qemu+ssh://root@node2/system']
    machines: 8
    image: {pool: default, volume: debian-12.qcow2}
    pool: dut
    network: default
    vcpus: 16
    memory: 60GiB
    disks: {data: 400GB}
";

fn hardware(added: &str) -> Result<HardwareSpec, SpecError> {
    parse_hardware("hardware/x.yaml", &format!("{HARDWARE}{added}")).map(|document| document.spec)
}

fn refusal(added: &str) -> String {
    hardware(added).unwrap_err().to_string()
}

fn libvirt_refusals(cases: &[(&str, &str)]) -> String {
    let message = |(from, to): &(&str, &str)| {
        assert!(LIBVIRT.contains(from), "{from}");
        refusal(&LIBVIRT.replacen(from, to, 1))
    };
    cases.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn this_machine_is_the_default() {
    let spec = hardware("").unwrap();
    assert_eq!((spec.instances, spec.observers), (None, vec![]));
    let load = profile(PROFILE, &[]).unwrap().spec.load;
    assert_eq!((load.counts, load.on_loss), (None, LossSpec::Stop));
}

#[test]
fn hosts_and_observers_are_read() {
    let spec = hardware(
        "instances:\n  hosts: [vm1, root@10.0.0.2]\n  idle: stop\n  allow_unequal: true\n  keep_binary: true\n\
         observers:\n  - {host: node1, device: /dev/sdb}\n  - host: node2\n    device: /srv\n",
    )
    .unwrap();
    let instances = spec.instances.unwrap();
    let hosts: Vec<&str> = instances.hosts.iter().flatten().map(HostName::as_str).collect();
    assert_eq!(hosts, ["vm1", "root@10.0.0.2"]);
    assert_eq!(instances.idle, IdleSpec::Stop);
    assert!(instances.allow_unequal && instances.keep_binary && instances.libvirt.is_none());
    let observers: Vec<(&str, &str)> =
        spec.observers.iter().map(|observer| (observer.host.as_str(), observer.device.as_str())).collect();
    assert_eq!(observers, [("node1", "/dev/sdb"), ("node2", "/srv")]);
}

#[test]
fn machines_have_defaults() {
    let libvirt = hardware(LIBVIRT).unwrap().instances.unwrap().libvirt.unwrap();
    assert_eq!((libvirt.machines.get(), libvirt.vcpus.get()), (8, 16));
    assert_eq!((libvirt.disks.system, libvirt.disks.spare), (None, None));
    assert_eq!((libvirt.filesystem, libvirt.boot_timeout.seconds()), (FilesystemSpec::Ext4, 300));
    assert!(libvirt.packages.is_empty());
}

#[test]
fn counts_are_a_list_in_files_and_in_overrides() {
    let counts = |text: &str, overrides: &[&str]| -> Vec<u32> {
        let load = profile(text, overrides).unwrap_or_else(|error| panic!("{error}")).spec.load;
        load.counts.unwrap().into_iter().map(Count::get).collect()
    };
    let listed = PROFILE.replace("threads: 4", "threads: 4\n  counts: [4, 8]");
    assert_eq!(counts(&listed, &[]), [4, 8]);
    assert_eq!(
        counts(&PROFILE.replace("threads: 4", "threads: 4\n  counts:\n    - 16\n    - 4"), &[]),
        [16, 4]
    );
    for argument in ["counts=1,2", "counts=[1, 2]", "load.counts=1, 2", "counts=[1,2]"] {
        assert_eq!(counts(&listed, &[argument]), [1, 2], "{argument}");
    }
    assert_eq!(counts(&listed, &["counts=3"]), [3]);
    assert_eq!(profile(PROFILE, &["on_loss=continue"]).unwrap().spec.load.on_loss, LossSpec::Continue);
}

#[test]
fn wrong_counts() {
    let with = |line: &str| {
        let text = PROFILE.replace("threads: 4", &format!("threads: 4\n  {line}"));
        profile(&text, &[]).unwrap_err().to_string()
    };
    let set = |argument: &str| profile(PROFILE, &[argument]).unwrap_err().to_string();
    let messages = [
        with("counts: []"),
        with("counts:"),
        with("counts: [0]"),
        with("counts: [4, 65]"),
        with("counts: [4, four]"),
        with("counts: [4, [8]]"),
        with("counts: {a: 4}"),
        with("counts: [4, 8, 4]"),
        with("counts:\n    - 4\n    - 8\n    - 4"),
        with("on_loss: wait"),
        set("counts="),
        set("counts=4,"),
        set("counts=4,4"),
        set("counts=[4"),
        set("counts=4 8"),
        set("on_loss=ignore"),
    ];
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn wrong_hosts() {
    let messages = [
        "instances:\n",
        "instances: local\n",
        "instances: [vm1]\n",
        "instances:\n  idle: stop\n",
        "instances:\n  hosts:\n",
        "instances:\n  hosts: []\n",
        "instances:\n  hosts: {vm1: 1}\n",
        "instances:\n  host: [vm1]\n",
        "instances:\n  hosts: [vm1, vm2, vm1]\n",
        "instances:\n  hosts:\n    - vm1\n    - vm2\n    - vm1\n",
        "instances:\n  hosts: [-oProxyCommand=x]\n",
        "instances:\n  hosts:\n    - vm1\n    - vm 2\n",
        "instances:\n  hosts: ['vm1:22']\n",
        "instances:\n  hosts: [a@b@c]\n",
        "instances:\n  hosts: ['fe80::1']\n",
        "instances:\n  hosts: [local]\n",
        "instances:\n  hosts: [coordinator]\n",
        "instances:\n  hosts: [vm1]\n  idle: sleep\n",
        "instances:\n  hosts: [vm1]\n  keep_binary: maybe\n",
        "instances:\n  hosts: [vm1]\nserver:\n  program: bin/mariadbd\n",
    ];
    let mut messages: Vec<String> = messages.iter().map(|added| refusal(added)).collect();
    let relative = HARDWARE.replace("/mnt/dut", "./data");
    let relative = format!("{relative}instances:\n  hosts: [vm1]\n");
    messages.push(parse_hardware("hardware/x.yaml", &relative).unwrap_err().to_string());
    insta::assert_snapshot!(messages.join("\n\n"));
    let many: String = (0..65).map(|n| format!("h{n}, ")).collect();
    assert!(
        refusal(&format!("instances:\n  hosts: [{many}]\n"))
            .contains("65 hosts are listed; write at most 64")
    );
}

#[test]
fn wrong_observers() {
    let messages = [
        "observers:\n",
        "observers: node1\n",
        "observers: [node1]\n",
        "observers: [{host: node1}]\n",
        "observers: [{device: /dev/sdb}]\n",
        "observers: [{host: node1, device: sdb}]\n",
        "observers: [{host: no de, device: /dev/sdb}]\n",
        "observers:\n  - {host: n, device: /dev/sdb}\n  - {host: n, device: /dev/sdc}\n",
        "instances:\n  hosts: [vm1]\nobservers:\n  - {host: vm1, device: /dev/sdb}\n",
        &format!("{LIBVIRT}observers:\n  - {{host: vm8, device: /dev/sdb}}\n"),
    ];
    insta::assert_snapshot!(messages.iter().map(|added| refusal(added)).collect::<Vec<_>>().join("\n\n"));
    assert!(hardware(&format!("{LIBVIRT}observers:\n  - {{host: vm9, device: /dev/sdb}}\n")).is_ok());
}

#[test]
fn wrong_machines() {
    insta::assert_snapshot!(libvirt_refusals(&[
        ("  libvirt:\n", "  hosts: [vm1]\n  libvirt:\n"),
        ("    pool: dut\n", ""),
        ("    image: {pool: default, volume: debian-12.qcow2}\n", ""),
        ("    disks: {data: 400GB}\n", ""),
        ("{data: 400GB}", "{system: 92GB}"),
        ("{data: 400GB}", "{data: 400}"),
        ("{data: 400GB}", "{data: 400GB, database: 1GB}"),
        ("machines: 8", "machines: 9"),
        ("machines: 8", "machines: 0"),
        ("machines: 8", "machines: 65"),
        ("root@node2", "root@node1"),
        ("root@node2", "root@vm8:22"),
        ("[qemu+ssh://root@node1/system, 'qemu+ssh://root@node2/system']", "[]"),
        ("qemu+ssh://root@node1/system", "node1"),
        ("'qemu+ssh://root@node2/system'", "'-c qemu:///system'"),
        ("'qemu+ssh://root@node2/system'", "'esx://node2/?no_verify=1'"),
        ("pool: dut", "pool: --all"),
        ("volume: debian-12.qcow2", "volume: ../debian-12.qcow2"),
        ("network: default", "network: <default/>"),
        ("memory: 60GiB", "memory: 60"),
        ("memory: 60GiB", "memory: 60MiB"),
        ("vcpus: 16", "vcpus: 0"),
        ("vcpus: 16", "vcpus: 16\n    filesystem: zfs"),
        ("vcpus: 16", "vcpus: 16\n    boot_timeout: 0s"),
        ("vcpus: 16", "vcpus: 16\n    packages: [a; reboot]"),
        ("vcpus: 16", "vcpus: 16\n    packages: []"),
    ]));
    for uri in ["qemu+ssh://vm9/system", "qemu+tls://vm1/system"] {
        assert!(hardware(&LIBVIRT.replacen("qemu+ssh://root@node2/system", uri, 1)).is_ok(), "{uri}");
    }
}

proptest! {
    #[test]
    fn damaged_fleets_never_panic(start in 0..LIBVIRT.len(), length in 0..40_usize, inserted in yaml_like()) {
        let mut text = LIBVIRT.to_owned();
        text.replace_range(start..(start + length).min(LIBVIRT.len()), &inserted);
        let _ = hardware(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn counts_are_read_back(counts in proptest::collection::btree_set(1..=64_u32, 1..=64)) {
        let written: Vec<u32> = counts.into_iter().rev().collect();
        let argument = format!("counts={written:?}");
        let read = profile(PROFILE, &[&argument]).unwrap().spec.load.counts.unwrap();
        prop_assert_eq!(read.into_iter().map(Count::get).collect::<Vec<_>>(), written);
    }
}
