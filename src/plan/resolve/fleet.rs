//! Hosts and runs: where the instances live, and how many of them run at once.

use crate::plan::{FleetPlan, IdlePolicy, InstancePlan, LibvirtPlan, LossPolicy, ObserverPlan, Reach};
use crate::spec::{
    ByteSize, HardwareSpec, IdleSpec, InstancesSpec, LibvirtSpec, LossSpec, ProfileSpec, machine_name,
};

fn policy(spec: LossSpec) -> LossPolicy {
    match spec {
        LossSpec::Stop => LossPolicy::Stop,
        LossSpec::Continue => LossPolicy::Continue,
    }
}

/// The hosts that two profiles name. Those that no run needs are left alone: to load a dataset there would take
/// hours for nothing.
pub(super) fn fleet(hardware: &HardwareSpec, profile: &ProfileSpec) -> FleetPlan {
    let observers = hardware.observers.iter().map(|observer| ObserverPlan {
        host: observer.host.as_str().to_owned(),
        device: observer.device.clone(),
    });
    let fleet = FleetPlan {
        observers: observers.collect(),
        on_loss: policy(profile.load.on_loss),
        on_device_loss: policy(profile.load.on_device_loss),
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
