//! What control groups and processor sets leave of a host.

use super::{PATH, Plan, Preflight, pool_exceeds, pool_field};
use crate::protocol::cpus::cpus_in;
use crate::protocol::facts::{HostFacts, IoLimit};
use crate::spec::ByteSize;

/// Processors that a profile names and processes may not use, memory that is not there for the pool, and I/O limits on
/// the devices under test. Whether the pool fits.
pub(super) fn check_limits(plan: &Plan, facts: &HostFacts, found: &mut Preflight) -> bool {
    check_cpus(plan, facts, found);
    check_io(facts, found);
    let limit = facts.limits.memory_bytes.filter(|limit| plan.server.buffer_pool_bytes >= *limit);
    if let Some(limit) = limit {
        let (file, field) = pool_field(plan);
        found.refuse(file, field, pool_exceeds(plan, "memory limit of the control group", limit));
    }
    limit.is_none()
}

fn check_cpus(plan: &Plan, facts: &HostFacts, found: &mut Preflight) {
    // Without a list the kernel has the last word, before anything is loaded.
    let Some(allowed) = cpus_in(&facts.limits.cpus) else { return };
    for (field, wanted) in [("cpus.server", &plan.server.cpus), ("cpus.load", &plan.load.cpus)] {
        let missing: Vec<String> =
            wanted.iter().filter(|cpu| !allowed.contains(cpu)).map(|cpu| cpu.to_string()).collect();
        if !missing.is_empty() {
            found.refuse_hardware(
                field,
                format!(
                    "processor {} cannot be used here; there are {}, write a set of these",
                    missing.join(", "),
                    facts.limits.cpus
                ),
            );
        }
    }
}

fn check_io(facts: &HostFacts, found: &mut Preflight) {
    let devices = facts.target.mount.iter().flat_map(|mount| &mount.devices);
    for device in devices {
        for limit in facts.limits.io.iter().filter(|limit| limit.number == device.number) {
            found.warn_hardware(
                PATH,
                format!(
                    "a control group limits {} to {}: the limit is measured, not the device",
                    device.name,
                    in_words(limit)
                ),
            );
        }
    }
}

fn in_words(limit: &IoLimit) -> String {
    let bytes = |bytes: u64| ByteSize::of_bytes(bytes).to_string();
    let parts = [
        limit.reads_per_s.map(|n| format!("{n} reads")),
        limit.writes_per_s.map(|n| format!("{n} writes")),
        limit.read_bytes_per_s.map(|n| format!("{} read", bytes(n))),
        limit.write_bytes_per_s.map(|n| format!("{} written", bytes(n))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ") + " a second"
}
