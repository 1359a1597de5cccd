//! What a device is, told by the entries that only its kind has.

use std::path::Path;

use super::attributes::{Attributes, text_in};
use crate::protocol::facts::DeviceKind;

/// Major numbers of the kernel's RAM disks and loop devices, fixed for ever.
const RAM_MAJOR: &str = "1:";
const LOOP_MAJOR: &str = "7:";

/// The kind of a device that is no path of another one.
pub(super) fn kind_of(folder: &Path, number: &str) -> DeviceKind {
    let has = |entry: &str| folder.join(entry).exists();
    if has("partition") {
        DeviceKind::Partition
    } else if has("dm") {
        mapper_kind(&text_in(folder, "dm/uuid").unwrap_or_default())
    } else if has("md") {
        DeviceKind::Raid
    } else if has("loop") || number.starts_with(LOOP_MAJOR) {
        DeviceKind::Loop
    } else if is_bcache(folder) {
        DeviceKind::Bcache
    } else if has("comp_algorithm") || number.starts_with(RAM_MAJOR) {
        DeviceKind::Memory
    } else {
        DeviceKind::Disk
    }
}

/// Who made a device of the device mapper stands at the beginning of its UUID.
fn mapper_kind(uuid: &str) -> DeviceKind {
    match uuid.split_once('-').map(|(maker, _)| maker) {
        Some("LVM") => DeviceKind::LogicalVolume,
        Some("mpath") => DeviceKind::Multipath,
        Some("CRYPT") => DeviceKind::Crypt,
        _ => DeviceKind::DeviceMapper,
    }
}

/// The cached device has a link to its backing device's entry; the backing device has the entry itself.
fn is_bcache(folder: &Path) -> bool {
    folder.join("bcache").is_symlink()
}

/// What the device is in its own layer's words.
pub(super) fn detail_of(kind: DeviceKind, attributes: &mut Attributes) -> Option<String> {
    match kind {
        DeviceKind::LogicalVolume | DeviceKind::Multipath | DeviceKind::Crypt | DeviceKind::DeviceMapper => {
            attributes.text("dm/name")
        }
        DeviceKind::Raid => {
            let level = attributes.text("md/level")?;
            let disks = attributes.text("md/raid_disks");
            Some(disks.map_or_else(|| level.clone(), |disks| format!("{level}, {disks} disks")))
        }
        DeviceKind::Loop => attributes.text("loop/backing_file"),
        DeviceKind::Bcache => attributes.text("bcache/cache_mode").map(|modes| super::active_of(&modes)),
        DeviceKind::NvmePath => attributes.text("ana_state"),
        DeviceKind::Disk | DeviceKind::Partition | DeviceKind::Memory => None,
    }
}
