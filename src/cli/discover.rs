//! `drivestone discover`

use std::path::Path;

use super::arguments::Discover;
use super::devices::{Found, find};
use super::exit::{self, Failure};
use super::output;
use crate::plan::discover::{Discovery, hardware_profile};
use crate::protocol::facts::MountFacts;
use crate::report::visible::visible;
use crate::result::redact::Redaction;
use crate::server::account;
use crate::telemetry::devices::BlockDevices;
use crate::telemetry::{host, target};

/// Prints a hardware profile for what a path or a device is.
pub fn discover(arguments: &Discover) -> Result<(), Failure> {
    let devices = BlockDevices::of_this_host();
    let found = find(&arguments.what, &devices)?;
    let in_use =
        if found.is_device && found.mount.is_none() { used_parts(&found, &devices) } else { Vec::new() };
    if !in_use.is_empty() {
        return Err(Failure::new(
            exit::USAGE,
            format!(
                "{}: is in use by {}; name one of these, or a path on it",
                found.argument,
                in_use.join(", ")
            ),
        ));
    }
    let mut discovery = of(found);
    if arguments.redact {
        let failed = |error| Failure::new(exit::USAGE, error);
        let mut redaction = Redaction::of_devices(&discovery.devices);
        discovery.mount.iter().for_each(|mount| redaction.add_mount(mount));
        discovery.devices = redaction.apply(&discovery.devices).map_err(failed)?;
        discovery.mount = redaction.apply(&discovery.mount).map_err(failed)?;
    }
    output::print(&visible(&hardware_profile(&discovery)))
}

/// Where parts of a device that is not mounted itself are mounted, or what stands on it.
fn used_parts(found: &Found, devices: &BlockDevices) -> Vec<String> {
    let Some(number) = found.devices.first().map(|device| device.number.clone()) else { return Vec::new() };
    let mounts = devices.mounts();
    let above =
        devices.all().into_iter().filter(|other| *other != number && devices.stack(other).contains(&number));
    let mut used = Vec::new();
    for other in above {
        let name = devices.facts(&other).map(|facts| facts.name).unwrap_or_default();
        let places = mounts.iter().filter(|mount| mounts.device_number(mount).as_ref() == Some(&other));
        used.extend(places.map(|mount| format!("{name} at {}", mount.mount_point.display())));
    }
    used
}

/// The device and its host. A device that is not mounted is expected where the administrator will mount it.
fn of(found: Found) -> Discovery {
    let machine = host::machine();
    let directory = match &found.mount {
        Some(mount) if found.is_device => Some(Path::new(&mount.mount_point).to_path_buf()),
        Some(_) if found.path.is_file() => found.path.parent().map(Path::to_path_buf),
        Some(_) => Some(found.path.clone()),
        None => None,
    };
    // The server will not run as root, for whom a filesystem's reserve is.
    let account = account::choose(None).ok().flatten().map(|account| (account.uid, account.gid));
    let space = directory.as_deref().map(|directory| target::inspect(directory, account));
    let size = found.devices.first().and_then(|device| device.size_bytes).unwrap_or(0);
    let unmounted = || format!("/mnt/{}", found.devices.first().map_or("dut", |device| device.name.as_str()));
    Discovery {
        path: directory.map_or_else(unmounted, |directory| directory.display().to_string()),
        total_bytes: space.as_ref().map_or(size, |space| space.total_bytes),
        free_bytes: space.as_ref().map_or(size, |space| space.free_bytes),
        mount: found.mount.map(|mount| MountFacts { devices: Vec::new(), ..mount }),
        devices: found.devices,
        platform: machine.platform,
        limits: machine.limits,
        cpu_model: machine.cpu_model,
        cpus: machine.cpus,
        memory_bytes: machine.memory_bytes,
        kernel: machine.kernel,
        os: machine.os,
    }
}
