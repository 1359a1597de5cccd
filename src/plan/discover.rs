//! A hardware profile for what is there: valid at once, and ready to be edited.

mod device;
mod pool;
mod text;

use crate::protocol::facts::{DeviceFacts, LimitFacts, MountFacts, PlatformFacts};
use device::device_facts;
use text::{field, gib, name_from};

/// What no device tells.
const NOT_TOLD: [&str; 2] = ["NAND", "Form factor"];
const TO_FILL_IN: &str = "to fill in";

/// What was found about a device and the host that it is attached to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Discovery {
    /// Directory on the device: one that is there, or a proposal when the device is not mounted.
    pub path: String,
    /// The mount that the directory is on; `None` for a device that is not mounted.
    pub mount: Option<MountFacts>,
    /// The device, then every device below it, level by level; empty when there is none.
    pub devices: Vec<DeviceFacts>,
    /// Size of the filesystem, or of a device without one, bytes.
    pub total_bytes: u64,
    /// Space that is free in it, bytes.
    pub free_bytes: u64,
    /// The machine and its settings.
    pub platform: PlatformFacts,
    /// Limits on what is started from here.
    pub limits: LimitFacts,
    /// Processor model.
    pub cpu_model: Option<String>,
    /// Processors online.
    pub cpus: u32,
    /// Total memory, bytes.
    pub memory_bytes: u64,
    /// `uname -sr`.
    pub kernel: String,
    /// PRETTY_NAME of os-release.
    pub os: Option<String>,
}

/// The profile, as a file's text.
#[must_use]
pub fn hardware_profile(found: &Discovery) -> String {
    let mut lines = vec![
        "# Found by `drivestone discover`; edit it freely. What it could not find out is left to fill in."
            .into(),
        format!("name: {}", name_from(found.devices.last(), found.devices.first())),
        field("description", &description(found)),
        String::new(),
        "device:".into(),
    ];
    if found.mount.is_none() {
        lines.push("  # It is not mounted: make a filesystem on it, and mount it here or elsewhere.".into());
    }
    lines.push(format!("  {}", field("path", &found.path)));
    lines.push("  facts:".into());
    lines
        .extend(device_facts(found).into_iter().map(|(label, text)| format!("    {}", field(&label, &text))));
    lines.extend(NOT_TOLD.map(|label| format!("    {}", field(label, TO_FILL_IN))));
    lines.extend([String::new(), "platform:".into()]);
    lines.extend(platform_facts(found).into_iter().map(|(label, text)| format!("  {}", field(label, &text))));
    lines.extend([String::new(), "memory:".into()]);
    lines.extend(pool::proposal(found).into_iter().map(|line| format!("  {line}")));
    lines.extend(processors(found));
    lines.join("\n") + "\n"
}

fn description(found: &Discovery) -> String {
    let disks: Vec<&DeviceFacts> = found.leaves().collect();
    let disk = match disks.as_slice() {
        [] => "no block device".to_owned(),
        [only] => device::in_words(only),
        [first, others @ ..] => format!("{} and {} more", device::in_words(first), others.len()),
    };
    let filesystem = match &found.mount {
        Some(mount) => format!("{} at {}", mount.filesystem, mount.mount_point),
        None => "not mounted".to_owned(),
    };
    format!("{disk}, {filesystem}")
}

fn platform_facts(found: &Discovery) -> Vec<(&'static str, String)> {
    let platform = &found.platform;
    let machine: Vec<&str> =
        [&platform.vendor, &platform.product].into_iter().flatten().map(String::as_str).collect();
    let model = found.cpu_model.as_deref().unwrap_or("unknown model");
    let ghz = platform.highest_khz.map(|khz| format!(", up to {:.1} GHz", f64::from(khz) / 1e6));
    let nodes = match platform.numa_nodes.as_slice() {
        [] | [_] => None,
        nodes => {
            Some(nodes.iter().enumerate().map(|(n, cpus)| format!("node {n}: {cpus}")).collect::<Vec<_>>())
        }
    };
    let facts = [
        ("Server", (!machine.is_empty()).then(|| machine.join(" "))),
        ("CPU", Some(format!("{} × {model}{}", found.cpus, ghz.unwrap_or_default()))),
        ("Frequency governor", platform.governor.clone()),
        ("Turbo", platform.turbo.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("Memory", Some(gib(found.memory_bytes))),
        ("NUMA", nodes.map(|nodes| nodes.join("; "))),
        ("Transparent huge pages", platform.transparent_hugepages.clone()),
        ("Swap", Some(if platform.swap_bytes > 0 { gib(platform.swap_bytes) } else { "none".to_owned() })),
        ("Operating system", found.os.clone()),
        ("Kernel", Some(found.kernel.clone())),
    ];
    facts.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
}

/// A hint to keep server and load apart, where the host has room for both.
fn processors(found: &Discovery) -> Vec<String> {
    let Some(half) = found.cpus.checked_div(2).filter(|half| *half >= 2) else { return Vec::new() };
    let node = found.devices.iter().find_map(|device| device.numa_node);
    let near = node.map(|node| format!(" The device is attached to NUMA node {node}.")).unwrap_or_default();
    vec![
        String::new(),
        format!("#{near} Server and load may be kept on processors of their own, for example:"),
        format!("# cpus: {{server: 0-{}, load: {half}-{}}}", half - 1, found.cpus - 1),
    ]
}

impl Discovery {
    /// Devices with nothing below them.
    fn leaves(&self) -> impl Iterator<Item = &DeviceFacts> {
        self.devices.iter().filter(|device| device.below.is_empty())
    }
}

#[cfg(test)]
mod tests;
