//! The drives below a directory: which there are, and which are worth asking.

use std::fs;
use std::path::{Path, PathBuf};

use crate::protocol::facts::{DeviceFacts, DeviceKind};
use crate::telemetry::devices::BlockDevices;
use crate::telemetry::mounts::block_number;

/// What hypervisors and clouds call their disks, in small letters.
const VIRTUAL_MODELS: [&str; 7] =
    ["qemu", "vbox", "virtual", "elastic block store", "persistentdisk", "nvme_card", "blockvolume"];

/// A drive at the bottom of a stack of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    /// Name in `/proc/diskstats`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// It speaks NVMe.
    pub is_nvme: bool,
    /// Its maker's own log page may be read as Intel's.
    pub is_intels: bool,
    /// Why there is nothing to ask.
    pub unasked: Option<String>,
}

impl Drive {
    fn of(facts: &DeviceFacts, sysfs: &Path) -> Self {
        let model = facts.model.as_deref().unwrap_or_default();
        Self {
            name: facts.name.clone(),
            number: facts.number.clone(),
            is_nvme: facts.name.starts_with("nvme"),
            is_intels: ["INTEL", "SOLIDIGM"].iter().any(|maker| model.to_uppercase().starts_with(maker)),
            unasked: unasked(facts, model, sysfs),
        }
    }

    /// Its special file, when that is what it is called after.
    ///
    /// # Errors
    /// With what is there instead.
    pub fn special_file(&self) -> Result<PathBuf, String> {
        let path = Path::new("/dev").join(&self.name);
        fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        match block_number(&path).as_ref() == Some(&self.number) {
            true => Ok(path),
            false => Err(format!("{} is not the block device {}", path.display(), self.number)),
        }
    }
}

/// The drives below a device, and below the further ones that its filesystem spreads over.
pub fn below(devices: &BlockDevices, number: &str, sysfs: &Path) -> Vec<Drive> {
    let mut stack = devices.facts_of_stack(number);
    let further = stack.first().map(|device| devices.spread_over(&device.name)).unwrap_or_default();
    let further = further.iter().filter_map(|name| devices.number_of(name));
    stack.extend(further.flat_map(|number| devices.facts_of_stack(&number)));
    drives(&stack, sysfs)
}

/// The drives at the bottom of a stack, each once: a disk that is reached by several paths tells the same by
/// each of them.
fn drives(stack: &[DeviceFacts], sysfs: &Path) -> Vec<Drive> {
    let is_path =
        |number: &String| stack.iter().any(|own| &own.number == number && own.kind == DeviceKind::NvmePath);
    let mut known: Vec<&str> = Vec::new();
    let lowest = stack.iter().filter(|own| own.kind != DeviceKind::NvmePath && own.below.iter().all(is_path));
    let mut drives: Vec<Drive> = Vec::new();
    for own in lowest {
        if drives.iter().any(|drive| drive.number == own.number) {
            continue;
        }
        match own.wwid.as_deref() {
            Some(wwid) if known.contains(&wwid) => continue,
            wwid => known.extend(wwid),
        }
        drives.push(Drive::of(own, sysfs));
    }
    drives
}

/// Why a device at the bottom is no drive that could tell anything, as /sys knows.
fn unasked(facts: &DeviceFacts, model: &str, sysfs: &Path) -> Option<String> {
    let folder = fs::canonicalize(sysfs.join("dev/block").join(&facts.number)).ok()?;
    let mut above = folder.components().rev().map(|part| part.as_os_str().to_string_lossy()).skip(1);
    let (class, parent) = (above.next()?, above.next()?);
    if class == "block" && parent == "virtual" {
        return Some("not a drive but a device of the kernel's".to_owned());
    }
    let of_hypervisor = class == "block" && ["virtio", "vbd-"].iter().any(|bus| parent.starts_with(bus));
    if of_hypervisor {
        return Some("a virtual disk".to_owned());
    }
    let small = model.to_lowercase();
    VIRTUAL_MODELS.iter().any(|own| small.contains(own)).then(|| format!("a virtual disk, {model}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::telemetry::devices::fixture::Tree;

    /// A tree like /sys with one device at `path` below `devices/`.
    fn tree(number: &str, path: &str) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("devices").join(path);
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(tree.path().join("dev/block")).unwrap();
        symlink(folder, tree.path().join("dev/block").join(number)).unwrap();
        tree
    }

    fn device(name: &str, number: &str, below: &[&str]) -> DeviceFacts {
        DeviceFacts {
            name: name.into(),
            number: number.into(),
            below: below.iter().map(|&number| number.to_owned()).collect(),
            ..DeviceFacts::default()
        }
    }

    fn unasked_of(path: &str, model: Option<&str>) -> Option<String> {
        let tree = tree("8:0", path);
        let facts = DeviceFacts { model: model.map(str::to_owned), ..device("x", "8:0", &[]) };
        drives(&[facts], tree.path()).remove(0).unasked
    }

    #[test]
    fn virtual_disks_are_known_by_sys() {
        let virtual_disk = Some("a virtual disk".to_owned());
        assert_eq!(unasked_of("pci0000:00/0000:00:02.0/virtio1/block/vda", None), virtual_disk);
        assert_eq!(unasked_of("vbd-51712/block/xvda", None), virtual_disk);
        let kernels = "not a drive but a device of the kernel's";
        assert_eq!(unasked_of("virtual/block/loop0", None).as_deref(), Some(kernels));
        let scsi = "pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda";
        for model in ["QEMU HARDDISK", "VBOX HARDDISK", "Virtual disk", "VMware Virtual NVMe Disk"] {
            assert_eq!(unasked_of(scsi, Some(model)), Some(format!("a virtual disk, {model}")));
        }
        assert_eq!(unasked_of(scsi, Some("SAMSUNG MZ7LH960")), None);
        assert_eq!(unasked_of(scsi, None), None);
        // A disk behind virtio's SCSI controller may be a real one that is passed through.
        assert_eq!(unasked_of("pci0/virtio3/host2/target2:0:0/2:0:0:0/block/sdb", Some("ST4000")), None);
        // A namespace with several paths is in a virtual folder too.
        assert_eq!(unasked_of("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", Some("INTEL SSDPE2KX")), None);
    }

    #[test]
    fn the_drives_are_at_the_bottom() {
        let sysfs = tempfile::tempdir().unwrap();
        let stack = [
            device("dm-0", "253:0", &["9:127"]),
            device("md127", "9:127", &["8:1", "259:0"]),
            device("sda1", "8:1", &["8:0"]),
            DeviceFacts {
                model: Some("Intel SSDPE2KX".into()),
                ..device("nvme0n1", "259:0", &["259:1", "259:2"])
            },
            device("sda", "8:0", &[]),
            DeviceFacts { kind: DeviceKind::NvmePath, ..device("nvme0c0n1", "259:1", &[]) },
            DeviceFacts { kind: DeviceKind::NvmePath, ..device("nvme0c1n1", "259:2", &[]) },
        ];
        let found = drives(&stack, sysfs.path());
        let told: Vec<_> = found.iter().map(|own| (own.name.as_str(), own.is_nvme, own.is_intels)).collect();
        assert_eq!(told, [("nvme0n1", true, true), ("sda", false, false)]);
    }

    #[test]
    fn drives_of_whole_machines() {
        let names = |fixture: &str, number: &str| {
            let tree = Tree::of(fixture);
            let found = below(&tree.devices(), number, tree.path());
            found.into_iter().map(|own| (own.name, own.unasked.is_none())).collect::<Vec<_>>()
        };
        let asked = |names: &[&str]| names.iter().map(|&name| (name.to_owned(), true)).collect::<Vec<_>>();
        assert_eq!(names("lvm-on-raid", "253:0"), asked(&["sda", "sdb", "sdc", "sdd"]));
        assert_eq!(names("btrfs", "8:0"), asked(&["sda", "sdb"]), "a filesystem of two disks");
        assert_eq!(names("bcache", "252:0"), asked(&["nvme0n1", "sda"]));
        assert_eq!(names("multipath", "253:2"), asked(&["sde"]), "one disk by two paths");
        assert_eq!(names("nvme-multipath", "259:1"), asked(&["nvme0n1"]));
        assert_eq!(names("nvme-multipath-before", "259:1"), asked(&["nvme0n1"]));
        assert_eq!(names("nvme-partition", "259:1"), asked(&["nvme0n1"]));
        assert_eq!(names("virtio", "254:1"), [("vda".to_owned(), false)]);
        assert_eq!(names("virtio", "1:0"), [("ram0".to_owned(), false)]);
    }

    #[test]
    fn a_disk_with_several_paths_is_one_drive() {
        let sysfs = tempfile::tempdir().unwrap();
        let disk = |name: &str, number: &str, wwid: &str| DeviceFacts {
            wwid: Some(wwid.into()),
            ..device(name, number, &[])
        };
        let stack = [
            device("dm-0", "253:0", &["8:0", "8:16", "8:32"]),
            disk("sda", "8:0", "naa.5"),
            disk("sdb", "8:16", "naa.5"),
            disk("sdc", "8:32", "naa.6"),
        ];
        let names: Vec<String> = drives(&stack, sysfs.path()).into_iter().map(|own| own.name).collect();
        assert_eq!(names, ["sda", "sdc"]);
    }

    #[test]
    fn a_special_file_must_be_the_device() {
        let mut drive = drives(&[device("null", "1:3", &[])], Path::new("/sys")).remove(0);
        assert_eq!(drive.special_file().unwrap_err(), "/dev/null is not the block device 1:3");
        drive.name = "no-such-disk".into();
        assert!(drive.special_file().unwrap_err().starts_with("/dev/no-such-disk: "));
    }
}
