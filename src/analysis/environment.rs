//! The environment in words, in reading order.

use super::gather::Gathered;
use crate::protocol::facts::{DeviceFacts, HostFacts, MountFacts};

const GIB: f64 = (1_u64 << 30) as f64;

/// Label and text for everything that was found.
pub fn describe(gathered: &Gathered) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some(facts) = &gathered.facts {
        describe_host(facts, &mut rows);
        if let Some(mount) = &facts.target.mount {
            describe_mount(mount, &mut rows);
        }
    }
    if let Some(server) = &gathered.server {
        let mut add = |label: &str, text: String| rows.push((label.to_owned(), text));
        add("Server", server.version.clone());
        add("Data directory", server.data_dir.clone());
        add("Reached by", server.address.clone());
        if let Some(pool) =
            server.variables.get("innodb_buffer_pool_size").and_then(|v| v.parse::<f64>().ok())
        {
            add("Buffer pool granted", format!("{:.3} GiB", pool / GIB));
        }
    }
    rows
}

fn describe_host(facts: &HostFacts, rows: &mut Vec<(String, String)>) {
    let mut add = |label: &str, text: String| rows.push((label.to_owned(), text));
    add("Host", facts.hostname.clone());
    add("Operating system", facts.os.clone().unwrap_or_else(|| "unknown".to_owned()));
    add("Kernel", format!("{} {}", facts.kernel, facts.architecture));
    let model = facts.cpu_model.as_deref().unwrap_or("unknown model");
    add("Processors", format!("{} × {model}", facts.cpus));
    add("Memory", format!("{:.1} GiB", facts.memory_bytes as f64 / GIB));
}

fn describe_mount(mount: &MountFacts, rows: &mut Vec<(String, String)>) {
    let mut add = |label: &str, text: String| rows.push((label.to_owned(), text));
    add("Filesystem", format!("{} on {}, mounted at {}", mount.filesystem, mount.source, mount.mount_point));
    add("Mount options", mount.options.clone());
    match &mount.device {
        Some(device) => add("Device", describe_device(device)),
        None => add("Device", "no block device".to_owned()),
    }
}

fn describe_device(device: &DeviceFacts) -> String {
    let mut parts = vec![format!("{} ({})", device.name, device.number)];
    parts.extend(device.model.clone());
    parts.extend(device.firmware.as_ref().map(|firmware| format!("firmware {firmware}")));
    parts.extend(device.size_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / GIB)));
    parts.extend(
        device.rotational.map(|spins| if spins { "rotational" } else { "not rotational" }.to_owned()),
    );
    parts.extend(device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    parts.extend(device.write_cache.as_ref().map(|cache| format!("write cache: {cache}")));
    if !device.below.is_empty() {
        parts.push(format!("on {}", device.below.join(", ")));
    }
    parts.join(", ")
}
