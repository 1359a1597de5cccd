//! All block devices of a host: disks, and above each what stands on it.

use std::fs;

use serde::Serialize;

use super::columns::{align, what};
use crate::cli::exit::{self, Failure};
use crate::protocol::facts::DeviceFacts;
use crate::report::number;
use crate::result::redact::Redaction;
use crate::telemetry::devices::BlockDevices;
use crate::telemetry::mounts::block_number;
use crate::telemetry::swaps::parse_swaps;

/// A device and where it is used.
#[derive(Debug, Clone, Serialize)]
struct Node {
    #[serde(flatten)]
    device: DeviceFacts,
    /// Where it is mounted, in the order of the mounts.
    mounted_at: Vec<String>,
    /// Bytes swapped out to it; `None` when it is no swap space.
    swap_used_bytes: Option<u64>,
}

/// The devices of a host that have a size or are used.
#[derive(Debug, Serialize)]
pub struct Tree {
    devices: Vec<Node>,
}

impl Tree {
    /// Everything that /sys and /proc tell.
    pub fn of(devices: &BlockDevices) -> Self {
        let mut facts: Vec<DeviceFacts> = Vec::new();
        for device in devices.all().iter().flat_map(|number| devices.facts_of_stack(number)) {
            if !facts.iter().any(|known| known.number == device.number) {
                facts.push(device);
            }
        }
        let swaps = swaps();
        let nodes = facts.iter().map(|device| Node {
            mounted_at: mounted_at(devices, &device.number),
            swap_used_bytes: swaps.iter().find(|(number, _)| *number == device.number).map(|(_, used)| *used),
            device: device.clone(),
        });
        let is_below = |number: &String| facts.iter().any(|device| device.below.contains(number));
        let is_shown = |node: &Node| {
            node.device.size_bytes != Some(0) || !node.mounted_at.is_empty() || is_below(&node.device.number)
        };
        Self { devices: nodes.filter(is_shown).collect() }
    }

    /// Takes serial numbers and world-wide names out.
    pub fn redact(&mut self) -> Result<(), Failure> {
        let redaction = Redaction::of_devices(self.devices.iter().map(|node| &node.device));
        for node in &mut self.devices {
            node.device = redaction.apply(&node.device).map_err(|error| Failure::new(exit::USAGE, error))?;
        }
        Ok(())
    }

    /// For a terminal: a device that stands on several others is shown on each of them.
    pub fn text(&self) -> String {
        let mut rows = vec![["NAME", "KIND", "SIZE", "MOUNTED AT", "WHAT"].map(str::to_owned).to_vec()];
        let is_known = |number: &String| self.devices.iter().any(|node| node.device.number == *number);
        let roots = self.devices.iter().filter(|node| !node.device.below.iter().any(is_known));
        for root in roots {
            rows.push(row(root, String::new()));
            self.add_above(&mut vec![&root.device.number], "", &mut rows);
        }
        align(&rows, &[2])
    }

    /// What stands on the last of `way`, which keeps a circle from going on.
    fn add_above<'a>(&'a self, way: &mut Vec<&'a str>, indent: &str, rows: &mut Vec<Vec<String>>) {
        let Some(number) = way.last().copied() else { return };
        let stands_on = |node: &&Node| {
            node.device.below.iter().any(|below| below == number)
                && !way.contains(&node.device.number.as_str())
        };
        let above: Vec<&Node> = self.devices.iter().filter(stands_on).collect();
        for (place, node) in above.iter().enumerate() {
            let (branch, rest) = if place + 1 < above.len() { ("├─", "│ ") } else { ("└─", "  ") };
            rows.push(row(node, format!("{indent}{branch}")));
            way.push(&node.device.number);
            self.add_above(way, &format!("{indent}{rest}"), rows);
            way.pop();
        }
    }
}

fn row(node: &Node, branch: String) -> Vec<String> {
    let Node { device, mounted_at, swap_used_bytes } = node;
    let size = device.size_bytes.map(|bytes| number::bytes(bytes as f64)).unwrap_or_default();
    let mut places = mounted_at.clone();
    places.extend(swap_used_bytes.map(|used| format!("swap, {} used", number::bytes(used as f64))));
    vec![
        format!("{branch}{}", device.name),
        device.kind.name().to_owned(),
        size,
        places.join(", "),
        what(device),
    ]
}

fn mounted_at(devices: &BlockDevices, number: &str) -> Vec<String> {
    let mounts = devices.mounts();
    let own = mounts.iter().filter(|mount| mounts.device_number(mount).as_deref() == Some(number));
    let mut places: Vec<String> = own.map(|mount| mount.mount_point.display().to_string()).collect();
    places.dedup();
    places
}

/// Numbers of devices that are swap spaces, with the bytes in use.
fn swaps() -> Vec<(String, u64)> {
    let swaps = parse_swaps(&fs::read("/proc/swaps").unwrap_or_default());
    swaps.iter().filter_map(|swap| Some((block_number(&swap.path)?, swap.used_bytes))).collect()
}
