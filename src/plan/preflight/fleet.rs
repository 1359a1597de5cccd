//! What must be true of several hosts at once.

use super::unlike::differences;
use super::{Preflight, Problem, check_host, check_pool, check_working_set};
use crate::plan::{LibvirtPlan, Plan};
use crate::protocol::facts::HostFacts;
use crate::spec::ByteSize;

/// Where the hosts are listed.
const HOSTS: &str = "instances.hosts";
/// The section around it.
const INSTANCES: &str = "instances";

/// Compares a plan with what was found on its instances' hosts. Of machines that are still to be made, `hosts`
/// holds none, and the plan's own figures are judged.
#[must_use]
pub fn preflight_fleet(plan: &Plan, hosts: &[(String, HostFacts)]) -> Preflight {
    let mut found = Preflight::default();
    let mut pool_fits = true;
    if let (Some(libvirt), []) = (&plan.fleet.libvirt, hosts) {
        pool_fits = check_machines(plan, libvirt, &mut found);
    }
    let mut each = Vec::new();
    for (host, facts) in hosts {
        let mut problems = Preflight::default();
        pool_fits &= check_host(plan, facts, &mut problems);
        each.push((host.as_str(), problems));
    }
    found.refusals.extend(gather(each.iter().map(|(host, problems)| (*host, &problems.refusals[..]))));
    found.warnings.extend(gather(each.iter().map(|(host, problems)| (*host, &problems.warnings[..]))));
    if pool_fits {
        check_working_set(plan, &mut found);
    }
    check_distinct(hosts, &mut found);
    check_alike(plan, hosts, &mut found);
    found
}

/// What the plan alone tells of machines that do not exist yet. Whether the pool fits their memory.
fn check_machines(plan: &Plan, libvirt: &LibvirtPlan, found: &mut Preflight) -> bool {
    let size = ByteSize::of_bytes;
    let needed = plan.hardware.required_bytes.max(plan.estimate.space_bytes);
    if libvirt.data_disk_bytes < needed {
        found.refuse_hardware(
            "instances.libvirt.disks.data",
            format!(
                "a data disk of {} is too small: the dataset ({}), the redo log and the server's own files need {}, \
                 and the method demands {} (device.required_space); make it larger, or use a smaller dataset",
                size(libvirt.data_disk_bytes),
                size(plan.estimate.dataset_bytes),
                size(plan.estimate.space_bytes),
                size(plan.hardware.required_bytes)
            ),
        );
    }
    check_pool(plan, "memory of a machine", libvirt.memory_bytes, found)
}

/// Equal problems of several hosts become one that lists them; one host alone needs no naming.
fn gather<'a>(each: impl Iterator<Item = (&'a str, &'a [Problem])>) -> Vec<Problem> {
    let mut told: Vec<(&Problem, Vec<&str>)> = Vec::new();
    let mut hosts = 0;
    for (host, problems) in each {
        hosts += 1;
        for problem in problems {
            match told.iter_mut().find(|(other, _)| *other == problem) {
                Some((_, on)) => on.push(host),
                None => told.push((problem, vec![host])),
            }
        }
    }
    let named = |(problem, on): (&Problem, Vec<&str>)| match hosts {
        1 => problem.clone(),
        _ if on.len() == hosts => {
            Problem { text: format!("on all {hosts} hosts: {}", problem.text), ..problem.clone() }
        }
        _ => Problem { text: format!("on {}: {}", listed(&on), problem.text), ..problem.clone() },
    };
    told.into_iter().map(named).collect()
}

/// Two names of one machine would load one device twice and count it twice.
fn check_distinct(hosts: &[(String, HostFacts)], found: &mut Preflight) {
    let mut machines: Vec<((&String, &String), Vec<&str>)> = Vec::new();
    for (host, facts) in hosts {
        let (Some(boot), Some(directory)) = (&facts.boot_id, &facts.target.identity) else { continue };
        match machines.iter_mut().find(|(machine, _)| *machine == (boot, directory)) {
            Some((_, names)) => names.push(host),
            None => machines.push(((boot, directory), vec![host])),
        }
    }
    for (_, names) in machines.iter().filter(|(_, names)| names.len() > 1) {
        found.refuse_hardware(
            HOSTS,
            format!(
                "{} are names of one machine and one directory on it (equal boot id and inode); keep one of them",
                listed(names)
            ),
        );
    }
}

/// The figures of unlike hosts add up to those of none.
fn check_alike(plan: &Plan, hosts: &[(String, HostFacts)], found: &mut Preflight) {
    let differences = differences(hosts);
    if differences.is_empty() {
        return;
    }
    let lines: String = differences
        .iter()
        .map(|(what, values)| {
            let values: Vec<String> =
                values.iter().map(|(value, on)| format!("{value} on {}", listed(on))).collect();
            format!("\n  {what}: {}", values.join("; "))
        })
        .collect();
    match plan.fleet.allow_unequal {
        true => found.warn_hardware(
            "instances.allow_unequal",
            format!("the hosts differ, which the profile allows:{lines}"),
        ),
        false => found.refuse_hardware(
            INSTANCES,
            format!(
                "the hosts differ:{lines}\nmake them alike, or say `allow_unequal: true` under instances"
            ),
        ),
    }
}

/// `a`, `a and b`, `a, b and c`
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
