//! What devices say of themselves, as labels and texts.

use super::Discovery;
use super::text::gib;
use crate::protocol::facts::DeviceFacts;

/// Facts of the device under test in reading order: of a single disk each on its own line, of several a line a disk.
pub(super) fn device_facts(found: &Discovery) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let leaves: Vec<&DeviceFacts> = found.leaves().collect();
    match leaves.as_slice() {
        [] => {}
        [disk] => facts.extend(disk_facts(disk)),
        disks => facts.extend(disks.iter().map(|disk| (format!("Disk {}", disk.name), in_a_line(disk)))),
    }
    let mut add = |label: &str, text: String| facts.push((label.to_owned(), text));
    let layers: Vec<String> = found.devices.iter().map(|device| layer(found, device)).collect();
    if layers.len() > 1 {
        add("Layers from above", layers.join("; "));
    }
    if let Some(mount) = &found.mount {
        add("Filesystem", mount.filesystem.clone());
        add("Mount options", mount.options.clone());
        if !mount.spread_over.is_empty() {
            add("Filesystem spreads over", mount.spread_over.join(", "));
        }
        let used = found.total_bytes.saturating_sub(found.free_bytes);
        let percent = 100.0 * used as f64 / found.total_bytes.max(1) as f64;
        add("Filled", format!("{percent:.0} % of {}", gib(found.total_bytes)));
    }
    facts
}

/// One disk in a few words.
pub(super) fn in_words(disk: &DeviceFacts) -> String {
    let maker = disk.vendor.as_deref().filter(|vendor| !model_of(disk).starts_with(vendor));
    let words = [maker, Some(model_of(disk))];
    words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What a disk is called: its model, or what the kernel calls it.
fn model_of(disk: &DeviceFacts) -> &str {
    disk.model.as_deref().unwrap_or(&disk.name)
}

fn disk_facts(disk: &DeviceFacts) -> Vec<(String, String)> {
    let number = |value: Option<u32>, unit: &str| value.map(|value| format!("{value}{unit}"));
    let facts = [
        ("Model", disk.model.clone()),
        ("Vendor", disk.vendor.clone()),
        ("Serial", disk.serial.clone()),
        ("World-wide name", disk.wwid.clone()),
        ("Firmware", disk.firmware.clone()),
        ("Capacity", disk.size_bytes.map(capacity)),
        ("Type", disk.rotational.map(|spins| if spins { "rotational" } else { "not rotational" }.to_owned())),
        ("Interface", disk.transport.clone()),
        ("PCIe link", disk.pcie.as_ref().map(|link| link.in_words("the device's"))),
        ("NUMA node", number(disk.numa_node, "")),
        ("Logical block", number(disk.logical_block_bytes, " B")),
        ("Physical block", number(disk.physical_block_bytes, " B")),
        ("Queue depth", number(disk.queue_depth, "")),
        ("Kernel queue", number(disk.queue_requests, " requests")),
        ("Scheduler", disk.scheduler.clone()),
        ("Write cache", disk.write_cache.clone()),
        ("Discard", disk.discard_max_bytes.map(|most| if most > 0 { "yes" } else { "no" }.to_owned())),
        ("Not readable", unreadable(disk)),
    ];
    facts.into_iter().filter_map(|(label, text)| Some((label.to_owned(), text?))).collect()
}

fn in_a_line(disk: &DeviceFacts) -> String {
    let parts = [
        Some(in_words(disk)),
        disk.serial.as_ref().map(|serial| format!("serial {serial}")),
        disk.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
        disk.size_bytes.map(capacity),
        disk.transport.clone(),
        disk.pcie.as_ref().map(|link| link.in_words("the device's")),
        disk.write_cache.as_ref().map(|cache| format!("write cache {cache}")),
        unreadable(disk).map(|fields| format!("not readable: {fields}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Drives are sold by decimal sizes.
fn capacity(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB ({})", bytes as f64 / 1e9, gib(bytes)),
    }
}

fn unreadable(disk: &DeviceFacts) -> Option<String> {
    let fields: Vec<String> =
        disk.unreadable.iter().map(|field| format!("{} ({})", field.field, field.reason)).collect();
    (!fields.is_empty()).then(|| fields.join(", "))
}

/// A device with its kind, and its members where there are several.
fn layer(found: &Discovery, device: &DeviceFacts) -> String {
    let mut parts = vec![device.kind.name().to_owned()];
    parts.extend(device.detail.clone());
    if device.below.len() > 1 {
        let name = |number: &String| found.devices.iter().find(|below| below.number == *number);
        let members: Vec<&str> =
            device.below.iter().filter_map(name).map(|below| below.name.as_str()).collect();
        parts.push(format!("of {}", members.join(", ")));
    }
    format!("{} ({})", device.name, parts.join(", "))
}
