//! `/proc/self/mountinfo`: which mount a path is on, and which block device that mount stands on.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};

/// An overlay can lie on an overlay, but not without end.
const MAX_OVERLAYS: usize = 8;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its id.
    pub id: u64,
    /// Id of the mount that it is mounted on.
    pub parent: u64,
    /// `major:minor` of the filesystem; major 0 when no block device answers to it.
    pub number: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Options of this mount.
    pub mount_options: String,
    /// Filesystem type.
    pub filesystem: String,
    /// What is mounted.
    pub source: String,
    /// Options of the filesystem.
    pub super_options: String,
}

impl Mount {
    /// Parses one line.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|&b| b == b' ');
        let mut next = || fields.next().map(unescape);
        let id = text(next()?).parse().ok()?;
        let parent = text(next()?).parse().ok()?;
        let number = text(next()?);
        let (major, minor) = number.split_once(':')?;
        let _: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        let _root = next()?;
        let mount_point = PathBuf::from(OsString::from_vec(next()?));
        let mount_options = text(next()?);
        while next()? != b"-" {} // Any number of optional fields.
        let filesystem = text(next()?);
        let source = text(next()?);
        let super_options = next().map(text).unwrap_or_default();
        Some(Self { id, parent, number, mount_point, mount_options, filesystem, source, super_options })
    }

    /// Options of mount and filesystem, each once. `ro` when either is read-only, else `rw`.
    #[must_use]
    pub fn options(&self) -> String {
        let both = || self.mount_options.split(',').chain(self.super_options.split(','));
        let mut options = vec![if both().any(|o| o == "ro") { "ro" } else { "rw" }];
        for option in both().filter(|o| !matches!(*o, "" | "ro" | "rw")) {
            if !options.contains(&option) {
                options.push(option);
            }
        }
        options.join(",")
    }

    fn is_anonymous(&self) -> bool {
        self.number.starts_with("0:")
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Undoes the kernel's `\040` for space, tab, newline, backslash and `#`.
pub(super) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if byte == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        plain.push(octal.unwrap_or(byte));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    plain
}

/// All mounts that this process sees, in the kernel's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountTable(Vec<Mount>);

impl MountTable {
    /// Parses the whole file. A line that makes no sense is left out.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        Self(text.split(|&b| b == b'\n').filter_map(Mount::parse).collect())
    }

    /// This process's mounts; empty when /proc cannot be read.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::parse(&fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }

    /// The mount that an absolute path without links is on.
    ///
    /// Goes down the path as the kernel does, from mount to mount: the longest mount point wins, the
    /// last of several on the same one, and a mount hidden below a later one is not seen.
    #[must_use]
    pub fn mount_of(&self, path: &Path) -> Option<&Mount> {
        let mut prefixes: Vec<&Path> = path.ancestors().collect();
        prefixes.reverse();
        let mut current: Option<&Mount> = None;
        let mut steps = 0;
        for prefix in prefixes {
            // The count ends a circle of parents, which only a broken table has.
            while let Some(next) = self.mounted_at(current, prefix).filter(|_| steps < self.0.len()) {
                current = Some(next);
                steps += 1;
            }
        }
        current
    }

    /// The mount on `point` of `below`; of no listed mount, when there is none yet.
    fn mounted_at(&self, below: Option<&Mount>, point: &Path) -> Option<&Mount> {
        self.0.iter().rev().find(|mount| {
            let fits = match below {
                Some(below) => mount.parent == below.id && mount.id != below.id,
                None => !self.0.iter().any(|other| other.id == mount.parent && other.id != mount.id),
            };
            fits && mount.mount_point == point
        })
    }

    /// `major:minor` of the block device that `path` is, or that it or its nearest ancestor is on.
    #[must_use]
    pub fn device_of(&self, path: &Path) -> Option<String> {
        let existing = resolve(path).existing;
        block_number(&existing).or_else(|| self.device_number(self.mount_of(&existing)?))
    }

    /// `major:minor` of the block device that a mount stands on.
    ///
    /// An anonymous filesystem (btrfs, overlay, …) stands on its source, when that is a block device,
    /// and an overlay on what its upper directory is on. A btrfs of several devices names only the one
    /// it was mounted by. `None` for tmpfs, network filesystems, ZFS.
    #[must_use]
    pub fn device_number(&self, mount: &Mount) -> Option<String> {
        self.device_number_by(mount, &block_number)
    }

    fn device_number_by(&self, mount: &Mount, number_of: &BlockNumber) -> Option<String> {
        let mut mount = mount;
        for _ in 0..MAX_OVERLAYS {
            if !mount.is_anonymous() {
                return Some(mount.number.clone());
            }
            if mount.filesystem != "overlay" {
                return mount.source.starts_with('/').then(|| number_of(Path::new(&mount.source)))?;
            }
            let upper = mount.super_options.split(',').find_map(|o| o.strip_prefix("upperdir="))?;
            // In a container this path belongs to the host and leads nowhere.
            mount = self.mount_of(&fs::canonicalize(upper).ok()?)?;
        }
        None
    }
}

/// Finds `major:minor` of a block device's special file.
type BlockNumber = dyn Fn(&Path) -> Option<String>;

/// `major:minor` of the block device that a path is.
#[must_use]
pub fn block_number(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let device = metadata.rdev();
    metadata.file_type().is_block_device().then(|| format!("{}:{}", major(device), minor(device)))
}

/// A path as far as it exists, without links, and the same with what does not exist joined to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The path itself or its nearest ancestor that exists and can be reached.
    pub existing: PathBuf,
    /// The whole path.
    pub whole: PathBuf,
}

/// Resolves links as far as the path exists; a relative path starts at the working directory.
#[must_use]
pub fn resolve(path: &Path) -> ResolvedPath {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for ancestor in absolute.ancestors() {
        if let Ok(existing) = fs::canonicalize(ancestor) {
            // Joining an empty rest would leave a slash at the end.
            let whole = match absolute.strip_prefix(ancestor) {
                Ok(rest) if !rest.as_os_str().is_empty() => existing.join(rest),
                _ => existing.clone(),
            };
            return ResolvedPath { existing, whole };
        }
    }
    ResolvedPath { existing: PathBuf::from("/"), whole: absolute }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: &str = r"22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 8:1 / /data rw,noatime shared:5 master:2 - xfs /dev/sda1 rw,attr2
31 30 8:17 / /data/my\040disk rw - ext4 /dev/sdb1 rw
32 27 259:3 /sub /data2 ro,relatime - ext4 /dev/nvme0n1p3 rw,errors=remount-ro
33 27 8:33 / /srv rw - ext4 /dev/sdc1 rw
34 33 8:34 / /srv/deep rw - ext4 /dev/sdc2 rw
35 33 8:49 / /srv rw - ext4 /dev/sdd1 rw
nonsense
";

    fn on(path: &str) -> String {
        MountTable::parse(TABLE.as_bytes()).mount_of(Path::new(path)).unwrap().source.clone()
    }

    #[test]
    fn the_longest_mount_point_by_components_wins() {
        assert_eq!(on("/"), "/dev/vda");
        assert_eq!(on("/home/x"), "/dev/vda");
        assert_eq!(on("/data"), "/dev/sda1");
        assert_eq!(on("/data/my"), "/dev/sda1");
        assert_eq!(on("/data/my disk/x"), "/dev/sdb1");
        assert_eq!(on("/data2/x"), "/dev/nvme0n1p3");
        assert_eq!(on("/data3"), "/dev/vda");
    }

    #[test]
    fn an_over_mount_hides_what_is_below_it() {
        assert_eq!(on("/srv/x"), "/dev/sdd1");
        assert_eq!(on("/srv/deep/x"), "/dev/sdd1", "mounted on the hidden /dev/sdc1");
    }

    #[test]
    fn optional_fields_and_options() {
        let table = MountTable::parse(TABLE.as_bytes());
        let mount = table.mount_of(Path::new("/data")).unwrap();
        assert_eq!((mount.number.as_str(), mount.filesystem.as_str()), ("8:1", "xfs"));
        assert_eq!(mount.options(), "rw,noatime,attr2");
        let read_only = table.mount_of(Path::new("/data2")).unwrap();
        assert_eq!(read_only.options(), "ro,relatime,errors=remount-ro");
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(br"a\040b\011c\012d\134e\043f"), b"a b\tc\nd\\e#f");
        assert_eq!(unescape(br"\04 \999 \"), br"\04 \999 \");
        assert_eq!(unescape(br"\134040"), br"\040");
    }

    #[test]
    fn a_chroot_without_a_root_mount() {
        let table = MountTable::parse(b"5 99 8:1 / /data rw - ext4 /dev/sda1 rw\n");
        assert_eq!(table.mount_of(Path::new("/data/x")).unwrap().number, "8:1");
        assert_eq!(table.mount_of(Path::new("/other")), None);
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let table = MountTable::parse(
            b"1 1 8:1 / / rw - a a rw\n2 3 8:2 / / rw - a a rw\n3 2 8:3 / / rw - a a rw\n4 1 8:4 / / rw - a a rw",
        );
        assert_eq!(table.mount_of(Path::new("/")).unwrap().number, "8:4");
    }

    #[test]
    fn anonymous_filesystems_are_followed_to_a_device() {
        let upper = tempfile::tempdir().unwrap();
        let upper = fs::canonicalize(upper.path()).unwrap();
        let table = MountTable::parse(
            format!(
                "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                 2 1 0:40 / /b rw - btrfs /dev/mapper/x rw\n\
                 3 1 0:41 / /o rw - overlay overlay rw,lowerdir=/l,upperdir={},workdir=/w\n\
                 4 1 0:42 / /p rw - overlay overlay rw,upperdir=/nowhere/at/all\n\
                 5 1 0:43 / /t rw - tmpfs tmpfs rw\n\
                 6 1 0:44 / /n rw - nfs4 host:/x rw\n",
                upper.display()
            )
            .as_bytes(),
        );
        let number = |path: &str| {
            let known = |p: &Path| (p == Path::new("/dev/mapper/x")).then(|| "253:7".to_owned());
            table.device_number_by(table.mount_of(Path::new(path)).unwrap(), &known)
        };
        assert_eq!(number("/x").as_deref(), Some("8:1"));
        assert_eq!(number("/b").as_deref(), Some("253:7"));
        assert_eq!(number("/o").as_deref(), Some("8:1"));
        assert_eq!((number("/p"), number("/t"), number("/n")), (None, None, None));
    }

    #[test]
    fn only_a_special_file_is_a_device() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(block_number(file.path()), None);
        assert_eq!(block_number(Path::new("/dev/null")), None);
    }

    #[test]
    fn links_are_resolved_as_far_as_the_path_exists() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        let resolved = resolve(&base.join("link/a/b"));
        assert_eq!(resolved.existing, base.join("real"));
        assert_eq!(resolved.whole, base.join("real/a/b"));
        let there = resolve(&base.join("link"));
        assert_eq!(there.whole.as_os_str(), base.join("real").as_os_str());
    }

    proptest! {
        #[test]
        fn bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..300), path in "(/[a-z.]{0,3}){0,4}") {
            let _ = MountTable::parse(&text).mount_of(Path::new(&path));
        }

        /// Random tables, circles included, never hang and never give a mount outside the path.
        #[test]
        fn tables_never_hang(mounts in prop::collection::vec((0_u8..6, 0_u8..6, "/|/a|/a/b|/c"), 0..8),
                             path in "/|/a|/a/b|/a/b/c|/c") {
            let text: String = mounts.iter().map(|(id, parent, point)|
                format!("{id} {parent} 8:1 / {point} rw - ext4 /dev/x rw\n")).collect();
            if let Some(mount) = MountTable::parse(text.as_bytes()).mount_of(Path::new(&path)) {
                prop_assert!(Path::new(&path).starts_with(&mount.mount_point));
            }
        }

        #[test]
        fn names_survive_escaping(name in prop::collection::vec(1_u8..=255, 0..40)) {
            let escaped: Vec<u8> = name.iter().flat_map(|&b| match b {
                b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{b:03o}").into_bytes(),
                other => vec![other],
            }).collect();
            prop_assert_eq!(unescape(&escaped), name);
        }
    }
}
