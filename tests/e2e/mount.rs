//! Small filesystems that a test can fill or set read-only. Only root can mount.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::unistd::geteuid;

use super::require::require;

/// Whether this test may mount. When not, it says that the test is skipped; with CI=true it fails.
pub fn may_mount() -> bool {
    require_that(geteuid().is_root(), "root, to mount").is_some()
}

/// Goes on when the machine has something other than a program; else None after saying that the test is skipped.
///
/// # Panics
/// When it is missing and CI=true.
pub fn require_that(is_there: bool, what: &str) -> Option<()> {
    if is_there {
        return Some(());
    }
    assert!(env::var_os("CI").as_deref() != Some(OsStr::new("true")), "this test needs {what}");
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    std::io::stderr().write_all(format!("SKIPPED: {name}: needs {what}\n").as_bytes()).unwrap();
    None
}

/// A mounted filesystem, unmounted when dropped.
pub struct Mount {
    folder: PathBuf,
}

impl Mount {
    /// A tmpfs of `size` (such as `1m`).
    pub fn tmpfs(folder: &Path, size: &str) -> Self {
        run(
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size},mode=755"), "tmpfs"]),
            folder,
        )
    }

    /// An ext4 filesystem of `size` (such as `300M`) in a file beside `folder`, or None after saying that the
    /// test is skipped.
    pub fn ext4(folder: &Path, size: &str) -> Option<Self> {
        Self::in_a_file(folder, size, &["mkfs.ext4", "-q"])
    }

    /// The same with XFS.
    pub fn xfs(folder: &Path, size: &str) -> Option<Self> {
        Self::in_a_file(folder, size, &["mkfs.xfs", "-q"])
    }

    /// The same with btrfs.
    pub fn btrfs(folder: &Path, size: &str) -> Option<Self> {
        Self::in_a_file(folder, size, &["mkfs.btrfs", "-q"])
    }

    fn in_a_file(folder: &Path, size: &str, mkfs: &[&str]) -> Option<Self> {
        let make = require(mkfs[0])?;
        let image = folder.with_extension("image");
        let truncated = Command::new("truncate").args(["-s", size]).arg(&image).status().unwrap();
        assert!(truncated.success(), "{truncated}");
        let made = Command::new(make).args(&mkfs[1..]).arg(&image).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Some(run(Command::new("mount").args(["-o", "loop"]).arg(image), folder))
    }

    pub fn make_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(&self.folder).status().unwrap();
        assert!(status.success(), "{status}");
    }

    /// Takes all of its space, in a file of its own.
    pub fn fill(&self) {
        let file = fs::File::create(self.folder.join("ballast")).unwrap();
        let (mut offset, mut piece) = (0, 64 << 20);
        // Others take and give back space meanwhile, so what is free is found by trying.
        while piece >= 4096 {
            match fallocate(&file, FallocateFlags::empty(), offset, piece) {
                Ok(()) => offset += piece,
                Err(Errno::ENOSPC) => piece /= 2,
                Err(error) => panic!("fallocate: {error}"),
            }
        }
    }
}

fn run(mount: &mut Command, folder: &Path) -> Mount {
    fs::create_dir_all(folder).unwrap();
    let status = mount.arg(folder).status().unwrap();
    assert!(status.success(), "mount: {status}");
    Mount { folder: folder.to_path_buf() }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.folder).status();
    }
}
