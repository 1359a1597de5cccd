//! In what hosts differ, as far as it bears on their figures.

use crate::protocol::facts::{DeviceFacts, HostFacts, MountFacts, ServerFacts};
use crate::spec::ByteSize;

/// Sizes are alike up to this factor: firmware and partition tables take a little of each.
const ALIKE: f64 = 1.02;

/// Hosts by name, with what was found on them.
type Hosts = [(String, HostFacts)];
/// Values, each with the hosts that have it.
pub(super) type Values<'a> = Vec<(String, Vec<&'a str>)>;

/// What the hosts differ in, with the values of each.
pub(super) fn differences(hosts: &Hosts) -> Vec<(&'static str, Values<'_>)> {
    let device = |facts: &HostFacts| mount(facts).and_then(|mount| mount.device().cloned());
    let all = [
        ("architecture", exact(hosts, |facts| Some(facts.architecture.clone()))),
        ("processors", exact(hosts, |facts| Some(processors(facts)))),
        ("memory", sizes(hosts, |facts| Some(facts.memory_bytes))),
        ("filesystem", exact(hosts, |facts| Some(filesystem(facts)))),
        ("device's size", sizes(hosts, |facts| device(facts).and_then(|device| device.size_bytes))),
        ("device", exact(hosts, |facts| Some(model(device(facts))))),
        ("server", exact(hosts, server)),
    ];
    all.into_iter().filter(|(_, values)| values.len() > 1).collect()
}

fn mount(facts: &HostFacts) -> Option<&MountFacts> {
    facts.target.mount.as_ref()
}

fn processors(facts: &HostFacts) -> String {
    format!("{} × {}", facts.cpus, facts.cpu_model.as_deref().unwrap_or("unknown model"))
}

fn filesystem(facts: &HostFacts) -> String {
    mount(facts).map_or_else(|| "unknown".to_owned(), |mount| mount.filesystem.clone())
}

fn model(device: Option<DeviceFacts>) -> String {
    let Some(device) = device else { return "no block device".to_owned() };
    let kind = match device.rotational {
        Some(true) => "rotating",
        Some(false) => "not rotating",
        None => "of unknown kind",
    };
    format!("{}, {kind}", device.model.as_deref().map_or("unknown model", str::trim))
}

/// A missing server is a problem of its own.
fn server(facts: &HostFacts) -> Option<String> {
    match &facts.server {
        ServerFacts::Found { version, .. } => Some(version.clone()),
        ServerFacts::Missing { .. } => None,
    }
}

/// Hosts by equal values, in the order of the hosts.
fn exact(hosts: &Hosts, value: impl Fn(&HostFacts) -> Option<String>) -> Values<'_> {
    let mut values: Values = Vec::new();
    for (host, facts) in hosts {
        let Some(value) = value(facts) else { continue };
        match values.iter_mut().find(|(other, _)| *other == value) {
            Some((_, on)) => on.push(host),
            None => values.push((value, vec![host])),
        }
    }
    values
}

/// Hosts by sizes that are alike, the smallest first.
fn sizes(hosts: &Hosts, size: impl Fn(&HostFacts) -> Option<u64>) -> Values<'_> {
    let mut sized: Vec<(Option<u64>, &str)> =
        hosts.iter().map(|(host, facts)| (size(facts), host.as_str())).collect();
    sized.sort_by_key(|(bytes, _)| *bytes);
    let mut groups: Vec<(Option<u64>, Vec<&str>)> = Vec::new();
    for (bytes, host) in sized {
        let alike = |smallest: Option<u64>| match (smallest, bytes) {
            (Some(smallest), Some(bytes)) => bytes as f64 <= smallest as f64 * ALIKE,
            (smallest, bytes) => smallest == bytes,
        };
        match groups.last_mut() {
            Some((smallest, on)) if alike(*smallest) => on.push(host),
            _ => groups.push((bytes, vec![host])),
        }
    }
    let shown = |bytes: Option<u64>| {
        bytes.map_or_else(|| "unknown".to_owned(), |bytes| ByteSize::of_bytes(bytes).to_string())
    };
    groups.into_iter().map(|(smallest, on)| (shown(smallest), on)).collect()
}
