//! Where a lab's files are, the loop devices on them, and what an earlier test run left of both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::namespaces::tool;
use crate::e2e::processes::{self, until};

static LABS: AtomicU32 = AtomicU32::new(0);

/// The folder of one lab, named after this process. When dropped it goes, and so do the loop devices on
/// the images in it.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one; those of processes that are gone are cleared away.
    pub fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts");
        clear_abandoned(&base);
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let folder = base.join(format!("{}-{number}", process::id()));
        fs::create_dir_all(folder.join("disks")).unwrap();
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The image of a host's disk.
    pub fn image(&self, host: &str) -> PathBuf {
        self.0.join("disks").join(host)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        clear(&self.0);
    }
}

/// The loop devices on an image; none when somebody else has just cleared it away.
pub fn loops(image: &Path) -> Vec<String> {
    let mut list = Command::new(tool("losetup"));
    let output = list.args(["--noheadings", "--output", "NAME", "--associated"]).arg(image).output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    names.lines().map(|name| name.trim().to_owned()).collect()
}

/// Clears away what processes left that are gone, with the processes that still work there.
pub fn clear_abandoned(base: &Path) {
    for left in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = left.file_name().into_string().unwrap();
        let owner = name.split_once('-').map_or("", |(pid, _)| pid);
        if !Path::new("/proc").join(owner).exists() {
            processes::end(&processes::of(&left.path()));
            clear(&left.path());
        }
    }
}

fn clear(folder: &Path) {
    for image in fs::read_dir(folder.join("disks")).into_iter().flatten().flatten() {
        // A device goes by itself soon after the last mount of it, unless it was never mounted.
        if !until(Duration::from_secs(5), || loops(&image.path()).is_empty()) {
            for device in loops(&image.path()) {
                let _ = Command::new(tool("losetup")).args(["--detach", &device]).status();
            }
        }
    }
    let _ = fs::remove_dir_all(folder);
}
