//! What lies directly below a device.

use std::fs;
use std::path::{Path, PathBuf};

use super::attributes::text_in;
use super::name_of;

/// Folders of the devices directly below, but for what a loop device's file is on: the disk of a partition, the
/// members of dm, md and bcache, the paths of an NVMe namespace. Sorted by name.
pub(super) fn folders_below(folder: &Path) -> Vec<PathBuf> {
    if let Some(disk) = disk_of(folder) {
        return vec![disk];
    }
    let mut below = entries(&folder.join("slaves"));
    below.extend(caches(folder));
    below.extend(nvme_paths(folder));
    below.sort_by_key(|folder| name_of(folder));
    below.dedup();
    below
}

/// The disk's folder, when this one is a partition's.
pub(super) fn disk_of(folder: &Path) -> Option<PathBuf> {
    folder.join("partition").exists().then(|| folder.parent().map(Path::to_path_buf))?
}

/// The caches of a bcache device: its set has a link to the entry of each cache's device.
fn caches(folder: &Path) -> Vec<PathBuf> {
    if !folder.join("bcache").is_symlink() {
        return Vec::new();
    }
    let set = entries(&folder.join("bcache/cache"));
    let caches = set.iter().filter(|entry| entry.file_name().is_some_and(|name| name == "bcache"));
    caches.filter_map(|entry| entry.parent().map(Path::to_path_buf)).collect()
}

/// The paths of an NVMe namespace that several controllers lead to. New kernels list them; before, they are the
/// namespaces of the same identifier below the controllers of its subsystem.
fn nvme_paths(folder: &Path) -> Vec<PathBuf> {
    let listed = entries(&folder.join("multipath"));
    if !listed.is_empty() {
        return listed;
    }
    let Some(subsystem) = folder.parent().filter(|parent| is_of_class(parent, "nvme-subsystem")) else {
        return Vec::new();
    };
    let Some(identifier) = text_in(folder, "nsid") else { return Vec::new() };
    let controllers = entries(subsystem).into_iter().filter(|entry| is_of_class(entry, "nvme"));
    controllers
        .flat_map(|controller| entries(&controller))
        .filter(|entry| is_of_class(entry, "block") && text_in(entry, "nsid").as_ref() == Some(&identifier))
        .collect()
}

/// Whether an entry of /sys belongs to a class of devices.
pub(super) fn is_of_class(folder: &Path, class: &str) -> bool {
    let link = fs::read_link(folder.join("subsystem"));
    link.is_ok_and(|link| link.file_name().is_some_and(|name| name == class))
}

/// The folders in a folder, links followed.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.filter_map(|entry| fs::canonicalize(entry.path()).ok()).filter(|path| path.is_dir()).collect()
}
