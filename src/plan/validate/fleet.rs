//! The hosts of a plan that comes from a file.

use std::collections::BTreeSet;

use crate::plan::{FleetPlan, InstancePlan, LOCAL, LibvirtPlan, ObserverPlan, Reach};
use crate::spec::{
    FilesystemSpec, LEAST_MEMORY_BYTES, MOST_HOSTS, MOST_MACHINES_EACH, Vcpus, is_absolute_path, is_host,
    is_hypervisor, is_machine_name, is_object, machine_name, ssh_host,
};

/// Largest disk or memory, bytes: what a profile can say.
const MOST_BYTES: u64 = i64::MAX as u64;

/// What is wrong with the hosts, if anything is.
pub(super) fn validate(fleet: &FleetPlan) -> Result<(), String> {
    let check = |holds: bool, wrong: &str| if holds { Ok(()) } else { Err(format!("fleet: {wrong}")) };
    let instances = &fleet.instances;
    check((1..=MOST_HOSTS).contains(&instances.len()), "the number of instances is out of range")?;
    check(fleet.observers.len() <= MOST_HOSTS, "the number of observers is out of range")?;
    let is_placed = |(n, instance): (usize, &InstancePlan)| match (instance.reach, &fleet.libvirt) {
        (Reach::Local, None) => instance.host == LOCAL && instances.len() == 1,
        (Reach::Ssh, None) => is_host(&instance.host),
        (Reach::Libvirt { hypervisor }, Some(libvirt)) => {
            instance.host == machine_name(n)
                && n.checked_rem(libvirt.hypervisors.len()).is_some_and(|expected| expected == hypervisor)
        }
        _ => false,
    };
    check(instances.iter().enumerate().all(is_placed), "instances are not placed as a profile places them")?;
    let watched = |observer: &ObserverPlan| is_host(&observer.host) && is_absolute_path(&observer.device);
    check(fleet.observers.iter().all(watched), "observers holds what no profile can say")?;
    let names = instances.iter().map(|i| &i.host).chain(fleet.observers.iter().map(|o| &o.host));
    let distinct: BTreeSet<&String> = names.collect();
    check(distinct.len() == instances.len() + fleet.observers.len(), "a host is named twice")?;
    match &fleet.libvirt {
        Some(libvirt) => validate_libvirt(libvirt, instances.len()),
        None => Ok(()),
    }
}

fn validate_libvirt(libvirt: &LibvirtPlan, machines: usize) -> Result<(), String> {
    let check = |holds: bool, wrong: &str| match holds {
        true => Ok(()),
        false => Err(format!("fleet.libvirt: {wrong} is not what a profile can say")),
    };
    let hypervisors: BTreeSet<&String> = libvirt.hypervisors.iter().collect();
    check(hypervisors.len() == libvirt.hypervisors.len(), "hypervisors")?;
    check((1..=MOST_HOSTS).contains(&hypervisors.len()), "hypervisors")?;
    let is_apart = |uri: &str| ssh_host(uri).is_none_or(|host| !is_machine_name(host, machines));
    check(hypervisors.iter().all(|uri| is_hypervisor(uri) && is_apart(uri)), "hypervisors")?;
    check(machines <= MOST_MACHINES_EACH * hypervisors.len(), "the number of machines")?;
    let names = [
        ("image_pool", &libvirt.image_pool),
        ("image_volume", &libvirt.image_volume),
        ("pool", &libvirt.pool),
        ("network", &libvirt.network),
    ];
    names.iter().try_for_each(|(field, name)| check(is_object(name), field))?;
    check(libvirt.packages.iter().all(|package| is_object(package)), "packages")?;
    check(Vcpus::admits(libvirt.vcpus), "vcpus")?;
    check((LEAST_MEMORY_BYTES..=MOST_BYTES).contains(&libvirt.memory_bytes), "memory_bytes")?;
    check(libvirt.system_disk_bytes <= MOST_BYTES, "system_disk_bytes")?;
    check(libvirt.spare_disk_bytes <= MOST_BYTES, "spare_disk_bytes")?;
    check((1..=MOST_BYTES).contains(&libvirt.data_disk_bytes), "data_disk_bytes")?;
    check(FilesystemSpec::ALL.iter().any(|known| known.name() == libvirt.filesystem), "filesystem")?;
    check((1..=super::LONGEST_S).contains(&libvirt.boot_timeout_s), "boot_timeout_s")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::plan::Plan;
    use crate::plan::resolve::resolve;
    use crate::spec::{parse_hardware, parse_profile};

    const PROFILE: &str = include_str!("../../../profiles/quick.yaml");

    fn plan(hardware: &str, counts: &str) -> Plan {
        let hardware = parse_hardware("h.yaml", hardware).unwrap();
        let profile = parse_profile("p.yaml", PROFILE, &[counts.to_owned()]).unwrap();
        resolve(&hardware, &profile, Path::new("/lab"), 1).unwrap()
    }

    fn by_ssh() -> Plan {
        plan(include_str!("../../../hardware/example-ssh-hosts.yaml"), "counts=2,4")
    }

    fn by_libvirt() -> Plan {
        plan(include_str!("../../../hardware/dell-r730-cluster.yaml"), "counts=2,16")
    }

    #[test]
    fn what_profiles_make_is_valid() {
        for plan in [by_ssh(), by_libvirt()] {
            assert_eq!(super::super::validate(&plan), Ok(()));
        }
    }

    type Edit = fn(&mut Plan);

    fn refuses(plan: fn() -> Plan, edits: &[(&str, Edit)]) {
        for (told, edit) in edits {
            let mut edited = plan();
            edit(&mut edited);
            let wrong = super::super::validate(&edited).unwrap_err();
            assert!(wrong.contains(told), "{told}: {wrong}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_profile_says_is_valid(
            (machines, hypervisors) in (1..=64_u32, 1..=16_u32),
            hosts in prop::collection::vec("[-a-c.@_]{1,4}|local|vm[0-9]{1,2}", 1..5),
            counts in prop::collection::vec(1..=6_u32, 1..3),
            (pool, memory) in ("[-a./<+]{1,3}|dut", "(1|9|400)(B|MiB|GB|TiB)"),
        ) {
            let uris: String = (0..hypervisors).map(|n| format!("qemu+ssh://n{n}/system, ")).collect();
            let start = "name: h\ndescription: d\ndevice: {path: /mnt/dut}\nmemory: {buffer_pool: 10%}\ninstances:\n";
            let observers = hosts.iter().map(|host| format!("  - {{host: '{host}', device: /dev/sdb}}\n"));
            let observers = format!("observers:\n{}", observers.take(1).collect::<String>());
            let made = format!(
                "  libvirt: {{hypervisors: [{uris}], machines: {machines}, image: {{pool: '{pool}', volume: i}}, \
                 pool: p, network: n, vcpus: 1, memory: {memory}, disks: {{data: {memory}}}}}\n{observers}"
            );
            let listed = format!("  hosts: ['{}']\n", hosts.join("', '"));
            let profile = parse_profile("p.yaml", PROFILE, &[format!("counts={counts:?}")]);
            for instances in [made, listed] {
                let hardware = parse_hardware("h.yaml", &format!("{start}{instances}"));
                let (Ok(hardware), Ok(profile)) = (hardware, &profile) else { continue };
                let Ok(plan) = resolve(&hardware, profile, Path::new("/"), 1) else { continue };
                prop_assert_eq!(super::super::validate(&plan), Ok(()));
            }
        }
    }

    fn observe(plan: &mut Plan, host: &str, device: &str) {
        plan.fleet.observers.push(ObserverPlan { host: host.into(), device: device.into() });
    }

    #[test]
    fn hosts_that_no_profile_names() {
        refuses(
            by_ssh,
            &[
                ("number of instances", |p| p.fleet.instances.clear()),
                ("not placed", |p| p.fleet.instances[0].host = "-oProxyCommand=x".into()),
                ("not placed", |p| p.fleet.instances[1].reach = Reach::Local),
                ("not placed", |p| p.fleet.instances[1].reach = Reach::Libvirt { hypervisor: 0 }),
                ("named twice", |p| p.fleet.instances[1] = p.fleet.instances[0].clone()),
                ("named twice", |p| {
                    let host = p.fleet.instances[0].host.clone();
                    observe(p, &host, "/dev/sdb");
                }),
                ("observers", |p| observe(p, "a b", "/dev/sdb")),
                ("observers", |p| observe(p, "a", "sdb")),
                ("instances is out of range", |p| p.runs[1].instances = 5),
                ("instances is out of range", |p| p.runs[1].instances = 0),
                ("not placed", |p| p.fleet.libvirt = by_libvirt().fleet.libvirt),
            ],
        );
    }

    fn libvirt(plan: &mut Plan) -> &mut LibvirtPlan {
        plan.fleet.libvirt.as_mut().unwrap()
    }

    #[test]
    fn machines_that_no_profile_asks_for() {
        refuses(
            by_libvirt,
            &[
                ("not placed", |p| p.fleet.libvirt = None),
                ("not placed", |p| libvirt(p).hypervisors.clear()),
                ("not placed", |p| p.fleet.instances[0].host = "vm2".into()),
                ("hypervisors", |p| libvirt(p).hypervisors[0] = "-c".into()),
                ("hypervisors", |p| libvirt(p).hypervisors[0] = "qemu+ssh://vm1/system".into()),
                ("hypervisors", |p| libvirt(p).hypervisors[0] = libvirt(p).hypervisors[1].clone()),
                ("image_pool", |p| libvirt(p).image_pool = "--help".into()),
                ("image_volume", |p| libvirt(p).image_volume = "../x".into()),
                ("pool", |p| libvirt(p).pool = "<x/>".into()),
                ("network", |p| libvirt(p).network = String::new()),
                ("packages", |p| libvirt(p).packages.push("a;b".into())),
                ("vcpus", |p| libvirt(p).vcpus = 0),
                ("memory_bytes", |p| libvirt(p).memory_bytes = 1),
                ("data_disk_bytes", |p| libvirt(p).data_disk_bytes = 0),
                ("spare_disk_bytes", |p| libvirt(p).spare_disk_bytes = u64::MAX),
                ("filesystem", |p| libvirt(p).filesystem = "btrfs".into()),
                ("boot_timeout_s", |p| libvirt(p).boot_timeout_s = 0),
                ("number of machines", |p| {
                    let more = InstancePlan { host: "vm17".into(), reach: Reach::Libvirt { hypervisor: 0 } };
                    p.fleet.instances.push(more);
                }),
            ],
        );
    }
}
