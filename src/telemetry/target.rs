//! The directory on the device under test: can a dataset live there?

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::statvfs::{FsFlags, Statvfs, statvfs};
use nix::unistd::{AccessFlags, eaccess, geteuid};

use super::devices::BlockDevices;
use super::mounts::{ResolvedPath, resolve};
use crate::protocol::facts::{MountFacts, TargetFacts, TargetState};

/// Looks at a directory without creating anything.
///
/// `uid_gid` is the account that the server will run under, when it is not this process's. Space is what
/// is free for that account: a filesystem's reserve is for root alone. Of a path that does not exist,
/// space and mount are those of its nearest ancestor.
#[must_use]
pub fn inspect(path: &Path, uid_gid: Option<(u32, u32)>) -> TargetFacts {
    let resolved = resolve(path);
    let filesystem = statvfs(&resolved.existing).ok();
    let fragment = filesystem.map_or(0, |f| f.fragment_size());
    let blocks = |of: fn(&Statvfs) -> u64| filesystem.as_ref().map_or(0, of).saturating_mul(fragment);
    let reserve_counts = uid_gid.map_or_else(|| geteuid().is_root(), |(uid, _)| uid == 0);
    TargetFacts {
        state: state_of(&resolved.whole),
        nearest: state_of(&resolved.existing),
        identity: identity(&resolved),
        mount: mount_of(&resolved.existing),
        free_bytes: blocks(if reserve_counts { Statvfs::blocks_free } else { Statvfs::blocks_available }),
        total_bytes: blocks(Statvfs::blocks),
        blocked_at: uid_gid.and_then(|account| blocked_at(&resolved.existing, account)),
        path: resolved.whole.to_string_lossy().into_owned(),
    }
}

/// What stands for the directory whatever it is called: of one that is missing, its nearest ancestor and
/// the way from there.
fn identity(resolved: &ResolvedPath) -> Option<String> {
    let metadata = fs::metadata(&resolved.existing).ok()?;
    let missing = resolved.whole.strip_prefix(&resolved.existing).ok()?;
    Some(format!("{:x}:{} {}", metadata.dev(), metadata.ino(), missing.display()).trim_end().to_owned())
}

fn state_of(path: &Path) -> TargetState {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => permission_of(path),
        Ok(_) => TargetState::NotADirectory,
        Err(error) => match error.kind() {
            io::ErrorKind::PermissionDenied => TargetState::NotPermitted,
            // A file in the middle of the path.
            io::ErrorKind::NotADirectory => TargetState::NotADirectory,
            // A link that leads nowhere.
            _ if fs::symlink_metadata(path).is_ok() => TargetState::NotADirectory,
            _ => TargetState::Missing,
        },
    }
}

fn permission_of(directory: &Path) -> TargetState {
    let read_only = statvfs(directory).is_ok_and(|f| f.flags().contains(FsFlags::ST_RDONLY));
    judge(read_only, eaccess(directory, AccessFlags::W_OK | AccessFlags::X_OK))
}

/// Root passes every check of permission bits, so that the mount has its say first.
fn judge(read_only: bool, access: nix::Result<()>) -> TargetState {
    match access {
        _ if read_only => TargetState::ReadOnly,
        Ok(()) => TargetState::Writable,
        Err(Errno::EROFS) => TargetState::ReadOnly,
        Err(_) => TargetState::NotPermitted,
    }
}

/// The mount that an existing path without links is on, and its devices.
#[must_use]
pub fn mount_of(existing: &Path) -> Option<MountFacts> {
    let devices = BlockDevices::of_this_host();
    let mount = devices.mounts().mount_of(existing)?.clone();
    let stack = devices
        .mounts()
        .device_number(&mount)
        .map(|number| devices.facts_of_stack(&number))
        .unwrap_or_default();
    Some(MountFacts {
        mount_point: mount.mount_point.to_string_lossy().into_owned(),
        options: mount.options(),
        filesystem: mount.filesystem,
        source: mount.source,
        spread_over: stack.first().map(|device| devices.spread_over(&device.name)).unwrap_or_default(),
        devices: stack,
    })
}

/// The first folder from the root down to `existing` that the account cannot pass, by its mode bits.
/// Further groups and access control lists are not asked.
fn blocked_at(existing: &Path, (uid, gid): (u32, u32)) -> Option<String> {
    let mut folders: Vec<&Path> = existing.ancestors().collect();
    folders.reverse();
    let blocked = |folder: &&Path| {
        fs::metadata(folder).is_ok_and(|m| m.is_dir() && !may_pass(m.mode(), (m.uid(), m.gid()), (uid, gid)))
    };
    folders.into_iter().find(blocked).map(|folder| folder.to_string_lossy().into_owned())
}

/// Whether an account may pass a folder of this mode and owner. The first class that fits decides.
fn may_pass(mode: u32, owner: (u32, u32), account: (u32, u32)) -> bool {
    let bit = if account.0 == 0 {
        return true;
    } else if account.0 == owner.0 {
        0o100
    } else if account.1 == owner.1 {
        0o010
    } else {
        0o001
    };
    mode & bit != 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder whose path has no links.
    fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(dir.path()).unwrap();
        (dir, path)
    }

    #[test]
    fn states() {
        let (_dir, base) = folder();
        fs::write(base.join("file"), "").unwrap();
        symlink(base.join("nothing"), base.join("dangling")).unwrap();
        symlink(&base, base.join("link")).unwrap();
        let state = |name: &str| inspect(&base.join(name), None).state;
        assert_eq!(state(""), TargetState::Writable);
        assert_eq!(state("link"), TargetState::Writable);
        assert_eq!(state("file"), TargetState::NotADirectory);
        assert_eq!(state("file/below"), TargetState::NotADirectory);
        assert_eq!(state("dangling"), TargetState::NotADirectory);
        assert_eq!(state("missing/deeper"), TargetState::Missing);
    }

    #[test]
    fn the_mount_counts_more_than_permission() {
        assert_eq!(judge(false, Ok(())), TargetState::Writable);
        assert_eq!(judge(true, Ok(())), TargetState::ReadOnly);
        assert_eq!(judge(false, Err(Errno::EROFS)), TargetState::ReadOnly);
        assert_eq!(judge(true, Err(Errno::EACCES)), TargetState::ReadOnly);
        assert_eq!(judge(false, Err(Errno::EACCES)), TargetState::NotPermitted);
    }

    /// Root may write anywhere, so that its run of the tests cannot show this.
    #[test]
    fn a_folder_without_permission() {
        let (_dir, base) = folder();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o500)).unwrap();
        let expected = if geteuid().is_root() { TargetState::Writable } else { TargetState::NotPermitted };
        assert_eq!(inspect(&base, None).state, expected);
    }

    #[test]
    fn a_missing_path_has_the_space_of_its_ancestor() {
        let (_dir, base) = folder();
        let (there, missing) = (inspect(&base, None), inspect(&base.join("link/../a b/c"), None));
        assert_eq!(missing.total_bytes, there.total_bytes);
        assert_eq!(missing.mount, there.mount);
        assert!(there.total_bytes > 0 && there.free_bytes <= there.total_bytes);
        assert!(missing.path.starts_with(base.to_str().unwrap()), "{}", missing.path);
        let mount = there.mount.unwrap();
        assert!(base.starts_with(&mount.mount_point), "{mount:?}");
        assert_eq!(there.path, base.to_str().unwrap());
    }

    #[test]
    fn an_account_never_has_more_space_than_root() {
        let (_dir, base) = folder();
        let account = inspect(&base, Some((12_345, 12_345)));
        assert!(account.free_bytes <= inspect(&base, Some((0, 0))).free_bytes);
    }

    #[test]
    fn the_first_folder_that_cannot_be_passed() {
        let (_dir, base) = folder();
        let closed = base.join("closed");
        fs::create_dir_all(closed.join("inner")).unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = Some((54_321, 54_321));
        let blocked = |path: &Path, account| inspect(path, account).blocked_at;
        let closed_path = closed.to_str().map(str::to_owned);
        assert_eq!(blocked(&closed.join("inner/missing"), stranger), closed_path);
        assert_eq!(blocked(&closed, stranger), closed_path);
        assert_eq!(blocked(&base, stranger), None);
        assert_eq!(blocked(&closed, None), None);
        assert_eq!(blocked(&closed, Some((0, 0))), None);
        assert_eq!(blocked(&closed, Some((geteuid().as_raw(), 54_321))), None);
    }

    #[test]
    fn the_first_class_that_fits_decides() {
        let (owner, other) = ((10, 20), (11, 21));
        assert!(may_pass(0o100, owner, (10, 21)));
        assert!(!may_pass(0o011, owner, owner), "the owner, though group and others may");
        assert!(may_pass(0o010, owner, (11, 20)));
        assert!(!may_pass(0o101, owner, (11, 20)), "the group, though others may");
        assert!(may_pass(0o001, owner, other));
        assert!(!may_pass(0o776, owner, other));
        assert!(may_pass(0o000, owner, (0, 21)));
    }
}
