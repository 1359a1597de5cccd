//! Hosts and runs: where the instances live, and how many of them run at once.

use super::run_plan;
use crate::plan::{
    FleetPlan, IdlePolicy, InstancePlan, LibvirtPlan, LossPolicy, ObserverPlan, Reach, RunPlan,
};
use crate::spec::{
    ByteSize, Document, HardwareSpec, IdleSpec, InstancesSpec, LibvirtSpec, LossSpec, ProfileSpec, SpecError,
    machine_name,
};

/// The hosts that two profiles name. Those that no run needs are left alone: to load a dataset there would take
/// hours for nothing.
pub(super) fn fleet(hardware: &HardwareSpec, profile: &ProfileSpec) -> FleetPlan {
    let observers = hardware.observers.iter().map(|observer| ObserverPlan {
        host: observer.host.as_str().to_owned(),
        device: observer.device.clone(),
    });
    let fleet = FleetPlan {
        observers: observers.collect(),
        on_loss: match profile.load.on_loss {
            LossSpec::Stop => LossPolicy::Stop,
            LossSpec::Continue => LossPolicy::Continue,
        },
        ..FleetPlan::local()
    };
    let Some(spec) = &hardware.instances else { return fleet };
    let mut instances = instances(spec);
    if let Some(most) = profile.load.counts.iter().flatten().map(|count| count.get()).max() {
        instances.truncate(most as usize);
    }
    FleetPlan {
        instances,
        libvirt: spec.libvirt.as_ref().map(libvirt),
        idle: match spec.idle {
            IdleSpec::Leave => IdlePolicy::Leave,
            IdleSpec::Stop => IdlePolicy::Stop,
        },
        allow_unequal: spec.allow_unequal,
        keep_binary: spec.keep_binary,
        ..fleet
    }
}

/// Machines go round the hypervisors, so that any first *n* are spread evenly.
fn instances(spec: &InstancesSpec) -> Vec<InstancePlan> {
    if let Some(libvirt) = &spec.libvirt {
        let reach = |n| Reach::Libvirt { hypervisor: n % libvirt.hypervisors.len() };
        let machines = 0..libvirt.machines.get() as usize;
        return machines.map(|n| InstancePlan { host: machine_name(n), reach: reach(n) }).collect();
    }
    let hosts = spec.hosts.iter().flatten();
    hosts.map(|host| InstancePlan { host: host.as_str().to_owned(), reach: Reach::Ssh }).collect()
}

fn libvirt(spec: &LibvirtSpec) -> LibvirtPlan {
    let bytes = |size: Option<ByteSize>| size.map_or(0, |size| size.bytes());
    LibvirtPlan {
        hypervisors: spec.hypervisors.iter().map(|uri| uri.as_str().to_owned()).collect(),
        image_pool: spec.image.pool.as_str().to_owned(),
        image_volume: spec.image.volume.as_str().to_owned(),
        pool: spec.pool.as_str().to_owned(),
        network: spec.network.as_str().to_owned(),
        vcpus: spec.vcpus.get(),
        memory_bytes: spec.memory.bytes(),
        system_disk_bytes: bytes(spec.disks.system),
        spare_disk_bytes: bytes(spec.disks.spare),
        data_disk_bytes: spec.disks.data.bytes(),
        filesystem: spec.filesystem.name().to_owned(),
        packages: spec.packages.iter().map(|package| package.as_str().to_owned()).collect(),
        boot_timeout_s: spec.boot_timeout.seconds(),
    }
}

/// A run for each count, or one with every instance. Their seed is the same: instances have streams of their
/// own.
pub(super) fn runs(
    hardware: &Document<HardwareSpec>,
    profile: &Document<ProfileSpec>,
    hosts: usize,
    fresh_seed: u64,
) -> Result<Vec<RunPlan>, SpecError> {
    let load = &profile.spec.load;
    let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
    let Some(counts) = &load.counts else { return Ok(vec![run_plan(load, hosts, fresh_seed)]) };
    let Some(n) = counts.iter().position(|count| count.get() > hosts) else {
        return Ok(counts.iter().map(|count| run_plan(load, count.get(), fresh_seed)).collect());
    };
    let file = hardware.source.file();
    let there = match (&hardware.spec.instances, hosts) {
        (None, _) => format!("{file} names no `instances`, so there is 1, on this machine"),
        (Some(_), 1) => format!("{file} has 1 host"),
        (Some(_), _) => format!("{file} has {hosts} hosts"),
    };
    Err(SpecError::Refused {
        place: Box::new(profile.source.item_place("load.counts", n, "")),
        message: format!(
            "`{}` instances at once are more than there are: {there}; write counts up to {hosts}, or add hosts there",
            counts[n].get()
        ),
    })
}
