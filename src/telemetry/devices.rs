//! Block devices as /sys describes them, and what is below what. Nothing is taken from digits in a name.

mod attributes;
mod below;
#[cfg(test)]
pub(crate) mod fixture;
mod identity;
mod kind;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::MountTable;
use crate::protocol::facts::{DeviceFacts, DeviceKind};
use attributes::Attributes;
pub(super) use attributes::text_in;
use below::{disk_of, folders_below};

/// The block devices of a host.
#[derive(Debug, Clone)]
pub struct BlockDevices {
    sysfs: PathBuf,
    mounts: MountTable,
}

impl BlockDevices {
    /// From `/sys` or what stands for it. The mounts tell which device a loop device's file is on.
    #[must_use]
    pub fn new(sysfs: &Path, mounts: MountTable) -> Self {
        Self { sysfs: sysfs.to_path_buf(), mounts }
    }

    /// Those of this host, as this process sees its mounts.
    #[must_use]
    pub fn of_this_host() -> Self {
        Self::new(Path::new("/sys"), MountTable::of_this_process())
    }

    /// The mounts that it was made with.
    #[must_use]
    pub fn mounts(&self) -> &MountTable {
        &self.mounts
    }

    /// Numbers of all devices, by their names.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        let folders = fs::read_dir(self.sysfs.join("dev/block")).into_iter().flatten().flatten();
        let mut devices: Vec<(String, String)> = folders
            .filter_map(|entry| Some((name_of(&fs::canonicalize(entry.path()).ok()?)?, entry.file_name())))
            .filter_map(|(name, number)| Some((name, number.to_str()?.to_owned())))
            .collect();
        devices.sort();
        devices.into_iter().map(|(_, number)| number).collect()
    }

    /// The number of the device with this name.
    #[must_use]
    pub fn number_of(&self, name: &str) -> Option<String> {
        text_in(&self.sysfs.join("class/block").join(name.replace('/', "!")), "dev")
    }

    /// Facts about the device with this `major:minor`, `None` when there is no such device.
    #[must_use]
    pub fn facts(&self, number: &str) -> Option<DeviceFacts> {
        self.folder(number).and_then(|folder| self.describe(&folder))
    }

    /// The device and everything below it, `major:minor`, each once: the device first, then level by
    /// level. Empty when there is no such device.
    #[must_use]
    pub fn stack(&self, number: &str) -> Vec<String> {
        self.folders_of_stack(number).iter().filter_map(|folder| number_of(folder)).collect()
    }

    /// Facts about the device and every device below it, in the order of `stack`.
    #[must_use]
    pub fn facts_of_stack(&self, number: &str) -> Vec<DeviceFacts> {
        self.folders_of_stack(number).iter().filter_map(|folder| self.describe(folder)).collect()
    }

    /// Names of the further devices that a btrfs spreads over beside this one.
    #[must_use]
    pub fn spread_over(&self, name: &str) -> Vec<String> {
        let filesystems = fs::read_dir(self.sysfs.join("fs/btrfs")).into_iter().flatten().flatten();
        let members = filesystems.map(|filesystem| -> Vec<String> {
            let devices = fs::read_dir(filesystem.path().join("devices")).into_iter().flatten().flatten();
            devices.filter_map(|device| Some(device.file_name().to_str()?.replace('!', "/"))).collect()
        });
        let mut others =
            members.into_iter().find(|members| members.iter().any(|own| own == name)).unwrap_or_default();
        others.retain(|other| other != name);
        others.sort();
        others
    }

    fn describe(&self, folder: &Path) -> Option<DeviceFacts> {
        // Model, queue and cache belong to the disk that a partition is on.
        let disk = disk_of(folder).unwrap_or_else(|| folder.to_path_buf());
        let number = number_of(folder)?;
        let (mut own, mut of_disk) = (Attributes::of(folder), Attributes::of(&disk));
        let kind = if is_path(folder) { DeviceKind::NvmePath } else { kind::kind_of(folder, &number) };
        let mut facts = DeviceFacts {
            name: name_of(folder)?,
            detail: kind::detail_of(kind, &mut own),
            below: self.below(folder).iter().filter_map(|below| number_of(below)).collect(),
            size_bytes: own.number::<u64>("size").map(|sectors| sectors.saturating_mul(512)),
            rotational: of_disk.number::<u8>("queue/rotational").map(|flag| flag != 0),
            logical_block_bytes: of_disk.number("queue/logical_block_size"),
            physical_block_bytes: of_disk.number("queue/physical_block_size"),
            scheduler: of_disk.text("queue/scheduler").map(|line| active_of(&line)),
            queue_requests: of_disk.number("queue/nr_requests"),
            write_cache: of_disk.text("queue/write_cache"),
            discard_max_bytes: of_disk.number("queue/discard_max_bytes"),
            number,
            kind,
            ..DeviceFacts::default()
        };
        identity::identify(&disk, &mut of_disk, &mut facts);
        facts.unreadable = own.into_unreadable();
        facts.unreadable.extend(of_disk.into_unreadable());
        Some(facts)
    }

    fn folders_of_stack(&self, number: &str) -> Vec<PathBuf> {
        let mut stack: Vec<PathBuf> = Vec::new();
        let mut waiting: VecDeque<PathBuf> = self.folder(number).into_iter().collect();
        while let Some(folder) = waiting.pop_front() {
            if !stack.contains(&folder) {
                waiting.extend(self.below(&folder));
                stack.push(folder);
            }
        }
        stack
    }

    fn below(&self, folder: &Path) -> Vec<PathBuf> {
        let mut below = folders_below(folder);
        let backing = text_in(folder, "loop/backing_file").and_then(|file| self.device_under(&file));
        below.extend(backing.and_then(|number| self.folder(&number)));
        below
    }

    fn device_under(&self, file: &str) -> Option<String> {
        let file = fs::canonicalize(file).ok()?;
        self.mounts.device_number(self.mounts.mount_of(&file)?)
    }

    fn folder(&self, number: &str) -> Option<PathBuf> {
        let (major, minor) = number.split_once(':')?;
        let _: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        fs::canonicalize(self.sysfs.join("dev/block").join(number)).ok()
    }
}

/// `major:minor` of a device's folder. A path of an NVMe namespace has none of its own: it goes by its name, which is
/// also how `/proc/diskstats` tells it from others.
fn number_of(folder: &Path) -> Option<String> {
    text_in(folder, "dev").or_else(|| name_of(folder).filter(|_| is_path(folder)))
}

/// Whether this is one of several paths to an NVMe namespace: the kernel hides them.
fn is_path(folder: &Path) -> bool {
    text_in(folder, "hidden").as_deref() == Some("1")
}

/// `cciss!c0d0` stands for the `cciss/c0d0` of `/proc/diskstats`: a file name cannot hold a slash.
fn name_of(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_str()?.replace('!', "/"))
}

/// `none [mq-deadline] kyber` → `mq-deadline`; a lone name stands for itself.
pub(super) fn active_of(line: &str) -> String {
    let bracketed = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(line, |(active, _)| active).to_owned()
}
