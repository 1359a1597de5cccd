//! What `tests/vms/run` and `tests/vms/hypervisor`, which run as root, remove and end, and what they leave alone.

#![allow(clippy::unwrap_used, reason = "clippy's exception for tests does not reach their helper functions")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output};

fn script(name: &str) -> String {
    format!("{}/tests/vms/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn down(work: &Path) -> Output {
    Command::new("sh").args([&script("hypervisor"), "down"]).arg(work).output().unwrap()
}

fn sleeper(name: &Path) -> Child {
    Command::new("sleep").arg0(name).arg("60").spawn().unwrap()
}

#[test]
fn a_folder_of_somebody_elses_is_left_alone() {
    let work = tempfile::tempdir().unwrap();
    let parts = ["etc", "var", "run", "dut", "dev", "ssh", "lab", "images"];
    let file = |part: &str| work.path().join(part).join("drivestone-notes");
    for part in parts {
        fs::create_dir(work.path().join(part)).unwrap();
        fs::write(file(part), "mine").unwrap();
    }
    let removed = down(work.path());
    assert_eq!(removed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&removed.stderr).contains("has no file .drivestone-vms"), "{removed:?}");

    // It cannot go on to anything but the refusal: there are no further programs.
    let bin = tempfile::tempdir().unwrap();
    let id = bin.path().join("id");
    fs::write(&id, "#!/bin/sh\necho 0\n").unwrap();
    fs::set_permissions(&id, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("/bin/ls", bin.path().join("ls")).unwrap();
    let started = Command::new("/bin/sh")
        .args([script("run").as_ref(), work.path()])
        .env("PATH", bin.path())
        .output()
        .unwrap();
    assert_eq!(started.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&started.stderr).contains("holds other things"), "{started:?}");

    assert!(parts.iter().all(|part| file(part).exists()));
    assert!(!work.path().join(".drivestone-vms").exists());
}

#[test]
fn only_what_the_lab_started_is_ended() {
    let work = tempfile::tempdir().unwrap();
    let (lab, image) = (work.path().join("lab"), work.path().join("images/base.qcow2"));
    fs::create_dir_all(lab.join("run")).unwrap();
    fs::create_dir(work.path().join("images")).unwrap();
    for file in [&image, &work.path().join(".drivestone-vms")] {
        fs::write(file, "").unwrap();
    }
    let mut ours = sleeper(&lab.join("sshd"));
    // Who has a number of old may be named much like the lab.
    let mut other = sleeper(&work.path().join("laboratory"));
    fs::write(lab.join("run/sshd.pid"), ours.id().to_string()).unwrap();
    fs::write(lab.join("run/libvirtd.pid"), format!("{}\n", other.id())).unwrap();

    let removed = down(work.path());
    let lives = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    ours.kill().unwrap();
    assert_eq!(ours.wait().unwrap().signal(), Some(15));
    assert!(removed.status.success() && lives, "{removed:?}");
    assert!(!lab.exists() && image.exists());
}
