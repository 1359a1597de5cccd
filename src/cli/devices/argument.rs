//! Which device a word on the command line means.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::cli::exit::{self, Failure};
use crate::protocol::facts::{DeviceFacts, MountFacts};
use crate::telemetry::devices::BlockDevices;
use crate::telemetry::target::mount_of;

/// What an argument stands for.
#[derive(Debug)]
pub struct Found {
    /// The argument.
    pub argument: String,
    /// The path, absolute and without links; the special file of a device that was given by name.
    pub path: PathBuf,
    /// The argument is a block device, not something on one.
    pub is_device: bool,
    /// The mount that the path is on; of a device, the first place where it is mounted.
    pub mount: Option<MountFacts>,
    /// The device, then every device below it.
    pub devices: Vec<DeviceFacts>,
}

/// Finds what a path, or the name or number of a device, stands for.
pub fn find(argument: &Path, devices: &BlockDevices) -> Result<Found, Failure> {
    let word = argument.display().to_string();
    let named = argument.to_str().filter(|word| !word.contains('/') || !argument.exists());
    let number = named.filter(|_| !argument.exists()).and_then(|word| number_of(word, devices));
    if let Some(number) = number {
        return device(word, &number, devices);
    }
    let refuse = |why: String| Failure::new(exit::USAGE, format!("{word}: {why}"));
    let path = fs::canonicalize(argument).map_err(|error| {
        refuse(format!("{error}; name a path that exists, or a block device such as sda or /dev/nvme0n1"))
    })?;
    let kind = fs::metadata(&path).map_err(|error| refuse(error.to_string()))?.file_type();
    if kind.is_block_device() {
        let number = devices.mounts().device_of(&path);
        return device(word, &number.unwrap_or_default(), devices);
    }
    if kind.is_char_device() || kind.is_fifo() || kind.is_socket() {
        return Err(refuse("is neither a block device nor a file or folder on one".to_owned()));
    }
    let mount = mount_of(&path).ok_or_else(|| refuse("is on no mount that this process sees".to_owned()))?;
    if mount.devices.is_empty() {
        return Err(refuse(format!(
            "is on {} ({}), which stands on no block device of this host",
            mount.filesystem, mount.source
        )));
    }
    Ok(Found { argument: word, path, is_device: false, devices: mount.devices.clone(), mount: Some(mount) })
}

/// A name as in `/proc/diskstats`, with or without `/dev/`, or `major:minor`.
fn number_of(word: &str, devices: &BlockDevices) -> Option<String> {
    let name = word.strip_prefix("/dev/").unwrap_or(word);
    devices.number_of(name).or_else(|| devices.facts(word).map(|facts| facts.number))
}

fn device(argument: String, number: &str, devices: &BlockDevices) -> Result<Found, Failure> {
    let stack = devices.facts_of_stack(number);
    let Some(first) = stack.first() else {
        return Err(Failure::new(exit::USAGE, format!("{argument}: /sys knows no such block device")));
    };
    let path = Path::new("/dev").join(&first.name);
    let mounts = devices.mounts();
    let mounted = mounts.iter().find(|mount| mounts.device_number(mount).as_deref() == Some(number));
    let mount = mounted.and_then(|mount| mount_of(&mount.mount_point));
    Ok(Found { argument, path, is_device: true, mount, devices: stack })
}
