//! The environment in words, in reading order.

use super::gather::{Gathered, GatheredHost};
use crate::plan::Plan;
use crate::protocol::facts::{DeviceFacts, HostFacts, MountFacts, PlatformFacts};

const GIB: f64 = (1_u64 << 30) as f64;

/// Label and text for everything that was found: of the first instance all of it, of the others and of
/// the observers a line each.
pub fn describe(gathered: &Gathered, plan: &Plan) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let known = |host: &str| gathered.hosts.get(host);
    let mut instances = plan.fleet.instances.iter().map(|instance| instance.host.as_str());
    let first = instances.next().and_then(known);
    if let Some(facts) = first.and_then(|host| host.facts.as_ref()) {
        describe_host(facts, &mut rows);
        if let Some(mount) = &facts.target.mount {
            describe_mount(mount, &mut rows);
        }
    }
    if let Some(server) = first.and_then(|host| host.server.as_ref()) {
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
    if plan.fleet.instances.len() > 1 {
        let all = plan.fleet.instances.iter().map(|instance| instance.host.as_str());
        rows.extend(all.filter_map(|host| Some((format!("Instance {host}"), in_a_line(known(host)?)?))));
    }
    for observer in &plan.fleet.observers {
        let facts = known(&observer.host).and_then(|host| host.observer.as_ref());
        rows.extend(facts.and_then(|facts| {
            let memory = facts.memory_bytes as f64 / GIB;
            let host =
                format!("{}, {}, {} processors, {memory:.1} GiB", facts.hostname, facts.kernel, facts.cpus);
            let device = describe_device(&facts.devices)?;
            Some((format!("Observer {}", observer.host), format!("{host}; {device}")))
        }));
    }
    rows
}

/// An instance's host, device and server, as far as they may differ within a fleet.
fn in_a_line(host: &GatheredHost) -> Option<String> {
    let facts = host.facts.as_ref()?;
    let memory = facts.memory_bytes as f64 / GIB;
    let mut parts =
        vec![format!("{}, {}, {} processors, {memory:.1} GiB", facts.hostname, facts.kernel, facts.cpus)];
    parts.extend(host.device().map(|device| device.name.clone()));
    parts.extend(host.server.as_ref().map(|server| server.version.clone()));
    Some(parts.join(", "))
}

fn describe_host(facts: &HostFacts, rows: &mut Vec<(String, String)>) {
    let mut add = |label: &str, text: String| rows.push((label.to_owned(), text));
    add("Host", facts.hostname.clone());
    add("Operating system", facts.os.clone().unwrap_or_else(|| "unknown".to_owned()));
    add("Kernel", format!("{} {}", facts.kernel, facts.architecture));
    let model = facts.cpu_model.as_deref().unwrap_or("unknown model");
    add("Processors", format!("{} × {model}", facts.cpus));
    add("Memory", format!("{:.1} GiB", facts.memory_bytes as f64 / GIB));
    describe_platform(&facts.platform, rows);
}

/// Settings of the machine, as far as its kernel tells them.
fn describe_platform(platform: &PlatformFacts, rows: &mut Vec<(String, String)>) {
    let joined = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join(", "));
    let machine = [&platform.vendor, &platform.product].into_iter().flatten().cloned().collect();
    let governor = platform.governor.as_ref().map(|governor| format!("governor {governor}"));
    let turbo = platform.turbo.map(|on| if on { "turbo on" } else { "turbo off" }.to_owned());
    let highest = platform.highest_khz.map(|khz| format!("up to {:.0} MHz", f64::from(khz) / 1e3));
    let swap = match platform.swap_bytes {
        0 => "none".to_owned(),
        bytes => format!("{:.1} GiB", bytes as f64 / GIB),
    };
    let nodes = platform.numa_nodes.iter().enumerate();
    let nodes = nodes.map(|(node, cpus)| format!("{node}: processors {cpus}")).collect::<Vec<_>>();
    let told = [
        ("Machine", joined(machine)),
        ("Frequency", joined([governor, turbo, highest].into_iter().flatten().collect())),
        ("Transparent huge pages", platform.transparent_hugepages.clone()),
        ("Swap", Some(swap)),
        ("NUMA nodes", joined(nodes).filter(|_| platform.numa_nodes.len() > 1)),
    ];
    let told = told.into_iter().filter_map(|(label, text)| Some((label.to_owned(), text?)));
    rows.extend(told);
}

fn describe_mount(mount: &MountFacts, rows: &mut Vec<(String, String)>) {
    let mut add = |label: &str, text: String| rows.push((label.to_owned(), text));
    add("Filesystem", format!("{} on {}, mounted at {}", mount.filesystem, mount.source, mount.mount_point));
    add("Mount options", mount.options.clone());
    add("Device", describe_device(&mount.devices).unwrap_or_else(|| "no block device".to_owned()));
    for drive in mount.devices.iter().filter(|device| device.below.is_empty()) {
        if let Some(identity) = identity(drive) {
            add(&format!("Drive {}", drive.name), identity);
        }
    }
}

/// Which drive exactly it is; `None` when it tells nothing of that.
fn identity(drive: &DeviceFacts) -> Option<String> {
    let labelled =
        |label: &str, value: &Option<String>| value.as_ref().map(|value| format!("{label} {value}"));
    let parts = [
        drive.vendor.clone(),
        drive.model.clone(),
        labelled("serial", &drive.serial),
        labelled("firmware", &drive.firmware),
        labelled("world-wide name", &drive.wwid),
        drive.transport.clone(),
        drive.pcie.as_ref().map(|link| format!("PCIe {}", link.in_words("its"))),
        drive
            .logical_block_bytes
            .zip(drive.physical_block_bytes)
            .map(|(logical, physical)| format!("blocks of {logical} and {physical} bytes")),
    ];
    let known = drive.model.is_some() || drive.serial.is_some() || drive.wwid.is_some();
    known.then(|| parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// A device with those below it; `None` without one.
fn describe_device(stack: &[DeviceFacts]) -> Option<String> {
    let (device, below) = stack.split_first()?;
    let mut parts = vec![format!("{} ({})", device.name, device.number)];
    parts.extend(device.model.clone());
    parts.extend(device.firmware.as_ref().map(|firmware| format!("firmware {firmware}")));
    parts.extend(device.size_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / GIB)));
    parts.extend(
        device.rotational.map(|spins| if spins { "rotational" } else { "not rotational" }.to_owned()),
    );
    parts.extend(device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    parts.extend(device.write_cache.as_ref().map(|cache| format!("write cache: {cache}")));
    if !below.is_empty() {
        let below: Vec<&str> = below.iter().map(|device| device.name.as_str()).collect();
        parts.push(format!("on {}", below.join(", ")));
    }
    Some(parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::facts::PcieLink;

    #[test]
    fn a_drive_is_known_by_all_that_it_tells() {
        let speed = |gt: &str| format!("{gt} GT/s PCIe");
        let drive = DeviceFacts {
            model: Some("SAMSUNG MZQL2960HCJR".into()),
            serial: Some("S64FNE0R123456".into()),
            firmware: Some("GDC5602Q".into()),
            transport: Some("nvme".into()),
            pcie: Some(PcieLink { speed: speed("8.0"), width: 4, max_speed: speed("16.0"), max_width: 4 }),
            logical_block_bytes: Some(512),
            physical_block_bytes: Some(4096),
            ..DeviceFacts::default()
        };
        assert_eq!(
            identity(&drive).as_deref(),
            Some(
                "SAMSUNG MZQL2960HCJR, serial S64FNE0R123456, firmware GDC5602Q, nvme, PCIe x4 at 8.0 GT/s PCIe, \
                 BELOW its x4 at 16.0 GT/s PCIe, blocks of 512 and 4096 bytes"
            )
        );
        assert_eq!(
            identity(&DeviceFacts { transport: Some("virtio".into()), ..DeviceFacts::default() }),
            None
        );
    }
}
