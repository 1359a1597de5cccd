//! Runs on other filesystems and on stacks of devices: the statistics are those of the right device.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::journal::Journal;
use super::lab::{Lab, first_run, holds};
use super::mount::{Mount, may_mount};
use super::require::require;

#[test]
fn a_run_on_ext4_in_a_file_has_the_loop_device_and_what_is_below() {
    on_a_loop_device("ext4", |folder| Mount::ext4(folder, "300M"));
}

#[test]
fn a_run_on_xfs_in_a_file_has_the_loop_device_and_what_is_below() {
    on_a_loop_device("xfs", |folder| Mount::xfs(folder, "400M"));
}

#[test]
fn a_run_on_btrfs_finds_the_device_that_it_was_mounted_by() {
    on_a_loop_device("btrfs", |folder| Mount::btrfs(folder, "400M"));
}

/// A layer of the device mapper, where the kernel has it: what a kernel lacks no test can bring.
#[test]
fn a_run_on_the_device_mapper_has_each_layer() {
    if !fs::read_to_string("/proc/devices").unwrap().contains("device-mapper") {
        eprintln!("SKIPPED: a_run_on_the_device_mapper_has_each_layer: this kernel has no device mapper");
        return;
    }
    let (Some(lab), true) = (Lab::new(), may_mount()) else { return };
    let Some(_mount) = Mapped::new(&lab, "300M") else { return };
    let result = lab.run("out", &[]);
    let layers = layers(first_run(&result));
    let kinds: Vec<&str> = layers.iter().map(|layer| layer["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["device_mapper", "loop"], "{layers:?}");
}

/// A filesystem on a linear device of the device mapper's, on a loop device.
struct Mapped {
    name: String,
    below: String,
    folder: PathBuf,
}

impl Mapped {
    fn new(lab: &Lab, size: &str) -> Option<Self> {
        let folder = lab.path("d");
        let image = lab.path("d.image");
        fs::create_dir(&folder).unwrap();
        let tools = ["losetup", "dmsetup", "mkfs.ext4"].map(require);
        let [Some(losetup), Some(dmsetup), Some(mkfs)] = tools else { return None };
        ran(Command::new("truncate").args(["-s", size]).arg(&image));
        let below = ran(Command::new(losetup).args(["--find", "--show"]).arg(&image)).trim().to_owned();
        let name = format!("drivestone-test-{}", std::process::id());
        let mapped = Self { name: name.clone(), below: below.clone(), folder };
        let sectors = fs::metadata(&image).unwrap().len() / 512;
        let table = format!("0 {sectors} linear {below} 0");
        ran(Command::new(dmsetup).args(["create", &name, "--table", &table]));
        let device = format!("/dev/mapper/{name}");
        ran(Command::new(mkfs).args(["-q", &device]));
        ran(Command::new("mount").arg(&device).arg(&mapped.folder));
        Some(mapped)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
        let _ = Command::new("dmsetup").args(["remove", &self.name]).status();
        let _ = Command::new("losetup").args(["-d", &self.below]).status();
    }
}

fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn on_a_loop_device(filesystem: &str, make: impl FnOnce(&Path) -> Option<Mount>) {
    let (Some(lab), true) = (Lab::new(), may_mount()) else { return };
    let Some(_mount) = make(&lab.path("d")) else { return };
    let result = lab.run("out", &[]);
    let run = first_run(&result);
    let journal = Journal::read(&lab.path("out"));
    let (.., facts) = journal.events("probed").next().unwrap();
    let mount = &facts["target"]["mount"];
    assert_eq!(mount["filesystem"], filesystem);
    let devices = mount["devices"].as_array().unwrap();
    assert_eq!(devices[0]["name"], backing(&lab), "{mount}");
    assert_eq!(devices[0]["kind"], "loop");
    assert!(devices[0]["detail"].as_str().unwrap().contains("d.image"), "{mount}");
    // The file lies on the disk of the build, or on what that is on.
    assert!(devices.len() >= 2, "{mount}");
    let mut samples = journal.events("host").map(|(.., sample)| sample["disks"].as_array().unwrap().len());
    assert!(samples.all(|disks| disks == devices.len()), "a sample lacks some of {devices:?}");
    assert_eq!(run["device_name"], devices[0]["name"]);
    assert_eq!(holds(run, "page_cache_bypassed"), true, "{}", run["findings"]);
    let layers = layers(run);
    let names: Vec<&Value> = layers.iter().map(|layer| &layer["name"]).collect();
    assert!(names.iter().eq(&devices.iter().map(|device| &device["name"]).collect::<Vec<_>>()), "{layers:?}");
}

fn layers(run: &Value) -> &Vec<Value> {
    run["per_instance"][0]["stack"]["layers"].as_array().unwrap_or_else(|| panic!("{}", run["per_instance"][0]))
}

/// The loop device of the lab's image, as losetup knows it.
fn backing(lab: &Lab) -> String {
    let losetup = require("losetup").unwrap();
    let image = lab.path("d.image");
    let output = Command::new(losetup).args(["-n", "-O", "NAME", "-j"]).arg(image).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().strip_prefix("/dev/").unwrap_or_else(|| panic!("{text:?}")).to_owned()
}
