//! The plan's hosts in words: where the instances live, who watches, and what is made for them.

use super::{Hosts, size};
use crate::plan::{FleetPlan, IdlePolicy, InstancePlan, LibvirtPlan, LossPolicy, Plan, Reach};
use crate::protocol::facts::{DatasetState, HostFacts};

/// Whether the plan is about more than this machine alone.
pub(super) fn is_fleet(fleet: &FleetPlan) -> bool {
    !matches!(fleet.instances[..], [InstancePlan { reach: Reach::Local, .. }])
}

/// The paragraph about hosts; none for this machine alone.
pub(super) fn hosts(plan: &Plan) -> Vec<String> {
    let fleet = &plan.fleet;
    let mut lines = Vec::new();
    match &fleet.libvirt {
        Some(libvirt) => lines.extend(machines(fleet, libvirt)),
        None if is_fleet(fleet) => {
            let names: Vec<&str> = fleet.instances.iter().map(|instance| instance.host.as_str()).collect();
            lines.push(format!("{} reached by ssh: {}", names.len(), names.join(", ")));
        }
        None => {}
    }
    if is_fleet(fleet) {
        lines.push(runs(plan));
        lines.push(
            match fleet.on_loss {
                LossPolicy::Stop => "when an instance is lost, the others stop as well",
                LossPolicy::Continue => "when an instance is lost, the others go on",
            }
            .to_owned(),
        );
    }
    let observers: Vec<String> =
        fleet.observers.iter().map(|observer| format!("{} on {}", observer.device, observer.host)).collect();
    if !observers.is_empty() {
        lines.push(format!("observers: {}", observers.join(", ")));
    }
    lines
}

/// `2 runs with 4, then 8 instances at once; …`
fn runs(plan: &Plan) -> String {
    let counts: Vec<String> = plan.runs.iter().map(|run| run.instances.to_string()).collect();
    let all = plan.fleet.instances.len();
    let runs = match counts.len() {
        1 => format!("one run with {} at once", instances(plan.runs[0].instances)),
        n => format!("{n} runs with {} instances at once", counts.join(", then ")),
    };
    if plan.runs.iter().all(|run| run.instances as usize == all) {
        return runs;
    }
    let idle = match plan.fleet.idle {
        IdlePolicy::Leave => "keep their servers up, without load",
        IdlePolicy::Stop => "have their servers stopped",
    };
    format!("{runs}; those that a run does not need {idle}")
}

/// What libvirt is asked for.
fn machines(fleet: &FleetPlan, libvirt: &LibvirtPlan) -> Vec<String> {
    let (count, hypervisors) = (fleet.instances.len(), libvirt.hypervisors.len());
    let on_pool = libvirt.data_disk_bytes + libvirt.spare_disk_bytes;
    let system = match libvirt.system_disk_bytes {
        0 => "a system disk of the image's size".to_owned(),
        bytes => format!("a system disk of {}", size(bytes)),
    };
    let spare = match libvirt.spare_disk_bytes {
        0 => String::new(),
        bytes => format!(" and {} spare", size(bytes)),
    };
    let total = |machines: usize| size(on_pool.saturating_mul(machines as u64));
    let mut lines = vec![
        format!("{count} virtual machines made for the run and removed after it, vm1 to vm{count}"),
        format!("in turn on {}", libvirt.hypervisors.join(", ")),
        format!(
            "each with {} vCPUs and {} of memory, {system} over {} in pool {}, on network {}",
            libvirt.vcpus,
            size(libvirt.memory_bytes),
            libvirt.image_volume,
            libvirt.image_pool,
            libvirt.network
        ),
        format!(
            "and on pool {}: {} for the data ({}){spare}, allocated in full: {} in all, up to {} by a hypervisor",
            libvirt.pool,
            size(libvirt.data_disk_bytes),
            libvirt.filesystem,
            total(count),
            total(count.div_ceil(hypervisors.max(1)))
        ),
    ];
    if !libvirt.packages.is_empty() {
        lines.push(format!("installed at the first boot: {}", libvirt.packages.join(", ")));
    }
    lines
}

/// `1 instance`, `4 instances`
pub(super) fn instances(count: u32) -> String {
    if count == 1 { "1 instance".to_owned() } else { format!("{count} instances") }
}

/// How many hosts have their dataset already.
pub(super) fn ready(hosts: &Hosts) -> usize {
    hosts.iter().filter(|(_, facts)| matches!(facts.dataset, DatasetState::Ready(_))).count()
}

/// The host with the least space, counting what the dataset's place would give back.
pub(super) fn tightest(hosts: &Hosts) -> Option<(&str, &HostFacts)> {
    let usable = |facts: &HostFacts| facts.target.free_bytes + facts.dataset_bytes;
    hosts.iter().min_by_key(|(_, facts)| usable(facts)).map(|(host, facts)| (host.as_str(), facts))
}
