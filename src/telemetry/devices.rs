//! Block devices as /sys describes them, and what is below what.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::MountTable;
use crate::protocol::facts::DeviceFacts;

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

    /// Facts about the device with this `major:minor`, `None` when there is no such device.
    #[must_use]
    pub fn facts(&self, number: &str) -> Option<DeviceFacts> {
        let folder = self.folder(number)?;
        // Model, queue and cache belong to the disk that a partition is on.
        let disk = disk_of(&folder).unwrap_or_else(|| folder.clone());
        Some(DeviceFacts {
            name: name_of(&folder)?,
            number: number.to_owned(),
            size_bytes: number_in(&folder.join("size")).map(|sectors| sectors.saturating_mul(512)),
            model: line_in(&disk.join("device/model")),
            firmware: line_in(&disk.join("device/firmware_rev"))
                .or_else(|| line_in(&disk.join("device/rev"))),
            rotational: number_in(&disk.join("queue/rotational")).map(|flag| flag != 0),
            scheduler: line_in(&disk.join("queue/scheduler")).map(|line| active_of(&line)),
            write_cache: line_in(&disk.join("queue/write_cache")),
            below: self.below(number),
            ..DeviceFacts::default()
        })
    }

    /// Facts about the device and every device below it, in the order of `stack`.
    #[must_use]
    pub fn facts_of_stack(&self, number: &str) -> Vec<DeviceFacts> {
        self.stack(number).iter().filter_map(|number| self.facts(number)).collect()
    }

    /// The device and everything below it, `major:minor`, each once: the device first, then level by
    /// level. Empty when there is no such device.
    #[must_use]
    pub fn stack(&self, number: &str) -> Vec<String> {
        let mut stack: Vec<String> = Vec::new();
        let mut waiting = VecDeque::from([number.to_owned()]);
        while let Some(number) = waiting.pop_front() {
            if stack.contains(&number) || self.folder(&number).is_none() {
                continue;
            }
            waiting.extend(self.below(&number));
            stack.push(number);
        }
        stack
    }

    /// Numbers of the devices directly below: a partition's disk, the members of dm and md, the device
    /// that a loop device's file is on.
    fn below(&self, number: &str) -> Vec<String> {
        let Some(folder) = self.folder(number) else { return vec![] };
        if let Some(disk) = disk_of(&folder) {
            return line_in(&disk.join("dev")).into_iter().collect();
        }
        let mut members: Vec<(String, String)> = fs::read_dir(folder.join("slaves"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                Some((entry.file_name().to_str()?.to_owned(), line_in(&entry.path().join("dev"))?))
            })
            .collect();
        members.sort();
        let members = members.into_iter().map(|(_, number)| number);
        let backing = line_in(&folder.join("loop/backing_file")).and_then(|file| self.device_under(&file));
        members.chain(backing).collect()
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

/// The disk's folder, when this one is a partition's.
fn disk_of(folder: &Path) -> Option<PathBuf> {
    folder.join("partition").exists().then(|| folder.parent().map(Path::to_path_buf))?
}

/// `cciss!c0d0` stands for the `cciss/c0d0` of `/proc/diskstats`: a file name cannot hold a slash.
fn name_of(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_str()?.replace('!', "/"))
}

/// `none [mq-deadline] kyber` → `mq-deadline`; a lone name stands for itself.
fn active_of(line: &str) -> String {
    let bracketed = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(line, |(active, _)| active).to_owned()
}

/// A file's text without space around it, `None` when there is no file or nothing in it.
fn line_in(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!line.is_empty()).then(|| line.to_owned())
}

fn number_in(path: &Path) -> Option<u64> {
    line_in(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree like /sys, made in a folder of its own.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(tree.0.path().join("dev/block")).unwrap();
            tree
        }

        /// Makes a device at `path` below `devices/`, with these files.
        fn device(&self, number: &str, path: &str, files: &[(&str, &str)]) {
            let folder = self.0.path().join("devices").join(path);
            for (name, text) in [("dev", number)].iter().chain(files) {
                let file = folder.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, format!("{text}\n")).unwrap();
            }
            symlink(&folder, self.0.path().join("dev/block").join(number)).unwrap();
        }

        fn member(&self, above: &str, below: &str) {
            let folder = self.0.path().join("devices").join(above).join("slaves");
            fs::create_dir_all(&folder).unwrap();
            let below = self.0.path().join("devices").join(below);
            symlink(&below, folder.join(below.file_name().unwrap())).unwrap();
        }

        fn devices(&self) -> BlockDevices {
            BlockDevices::new(self.0.path(), MountTable::default())
        }
    }

    fn disk_and_partition() -> Tree {
        let tree = Tree::new();
        tree.device(
            "8:0",
            "ata1/block/sda",
            &[
                ("size", "1000"),
                ("device/model", "SAMSUNG MZ7LH960 "),
                ("device/rev", "904Q"),
                ("queue/rotational", "0"),
                ("queue/scheduler", "none [mq-deadline] kyber"),
                ("queue/write_cache", "write back"),
            ],
        );
        tree.device("8:1", "ata1/block/sda/sda1", &[("size", "800"), ("partition", "1")]);
        tree
    }

    #[test]
    fn a_partition_has_its_disks_model_and_queue() {
        let tree = disk_and_partition();
        assert_eq!(
            tree.devices().facts("8:1"),
            Some(DeviceFacts {
                name: "sda1".into(),
                number: "8:1".into(),
                size_bytes: Some(409_600),
                model: Some("SAMSUNG MZ7LH960".into()),
                firmware: Some("904Q".into()),
                rotational: Some(false),
                scheduler: Some("mq-deadline".into()),
                write_cache: Some("write back".into()),
                below: vec!["8:0".into()],
                ..DeviceFacts::default()
            })
        );
        assert_eq!(tree.devices().stack("8:1"), ["8:1", "8:0"]);
        assert_eq!(tree.devices().facts("8:0").unwrap().below, [""; 0]);
    }

    #[test]
    fn what_sys_does_not_tell_is_unknown() {
        let tree = Tree::new();
        tree.device("104:0", "pci/block/cciss!c0d0", &[("queue/scheduler", "none"), ("size", "x")]);
        let facts = tree.devices().facts("104:0").unwrap();
        assert_eq!((facts.name.as_str(), facts.scheduler.as_deref()), ("cciss/c0d0", Some("none")));
        assert_eq!((facts.size_bytes, facts.model, facts.rotational), (None, None, None));
        for missing in ["9:9", "", "8", "../..:0", "8:1/..", "a:b"] {
            assert_eq!(tree.devices().facts(missing), None, "{missing}");
            assert_eq!(tree.devices().stack(missing), [""; 0], "{missing}");
        }
    }

    /// A logical volume on two mirrors' halves: md over partitions of two disks, of which one is shared.
    #[test]
    fn a_stack_lists_each_device_once_level_by_level() {
        let tree = disk_and_partition();
        tree.device("8:2", "ata1/block/sda/sda2", &[("partition", "2")]);
        tree.device("8:16", "ata2/block/sdb", &[("device/firmware_rev", "2B6Q")]);
        tree.device("9:127", "virtual/block/md127", &[]);
        tree.device("253:0", "virtual/block/dm-0", &[]);
        tree.member("virtual/block/md127", "ata2/block/sdb");
        tree.member("virtual/block/md127", "ata1/block/sda/sda1");
        tree.member("virtual/block/dm-0", "virtual/block/md127");
        tree.member("virtual/block/dm-0", "ata1/block/sda/sda2");
        let devices = tree.devices();
        assert_eq!(devices.stack("253:0"), ["253:0", "9:127", "8:2", "8:1", "8:16", "8:0"]);
        assert_eq!(devices.facts("253:0").unwrap().below, ["9:127", "8:2"]);
        assert_eq!(devices.facts("9:127").unwrap().below, ["8:1", "8:16"]);
        assert_eq!(devices.facts("8:16").unwrap().firmware.as_deref(), Some("2B6Q"));
    }

    #[test]
    fn a_loop_device_lies_on_its_files_device() {
        let tree = disk_and_partition();
        let image = tempfile::NamedTempFile::new().unwrap();
        tree.device("7:0", "virtual/block/loop0", &[("loop/backing_file", image.path().to_str().unwrap())]);
        tree.device("7:1", "virtual/block/loop1", &[("loop/backing_file", "/gone.img (deleted)")]);
        let mounts = MountTable::parse(b"1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        let devices = BlockDevices::new(tree.0.path(), mounts);
        assert_eq!(devices.stack("7:0"), ["7:0", "8:1", "8:0"]);
        assert_eq!(devices.facts("7:0").unwrap().below, ["8:1"]);
        assert_eq!(devices.stack("7:1"), ["7:1"]);
    }

    #[test]
    fn a_circle_ends() {
        let tree = Tree::new();
        tree.device("253:0", "virtual/block/dm-0", &[]);
        tree.device("253:1", "virtual/block/dm-1", &[]);
        tree.member("virtual/block/dm-0", "virtual/block/dm-1");
        tree.member("virtual/block/dm-1", "virtual/block/dm-0");
        assert_eq!(tree.devices().stack("253:0"), ["253:0", "253:1"]);
    }
}
