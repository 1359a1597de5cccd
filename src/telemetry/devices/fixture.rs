//! Trees like /sys, made of a text: machines that no test runs on.
//!
//! `folder/entry = text` is an entry (`\0` a zero byte), `folder/link -> folder` a link, `#` begins a comment. A folder
//! with an entry `dev` is a block device: its links below `dev/block` and `class/block` are made as well.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::BlockDevices;
use crate::telemetry::mounts::MountTable;

/// A tree in a folder of its own, removed when dropped.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    /// The tree of a file in `tests/fixtures/sys`.
    pub fn of(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sys").join(format!("{name}.txt"));
        Self::from_text(&fs::read_to_string(path).unwrap())
    }

    pub fn from_text(text: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            match (line.split_once(" = "), line.split_once(" -> ")) {
                (Some((entry, text)), _) => tree.entry(entry.trim(), text),
                (None, Some((link, target))) => tree.link(link.trim(), target.trim()),
                (None, None) => panic!("neither an entry nor a link: {line}"),
            }
        }
        tree
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn devices(&self) -> BlockDevices {
        self.devices_with("")
    }

    /// With these lines of mountinfo.
    pub fn devices_with(&self, mountinfo: &str) -> BlockDevices {
        BlockDevices::new(self.path(), MountTable::parse(mountinfo.as_bytes()))
    }

    pub fn entry(&self, entry: &str, text: &str) {
        let file = self.path().join(entry);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text.replace("\\0", "\0") + "\n").unwrap();
        if let Some(folder) = entry.strip_suffix("/dev") {
            let name = folder.rsplit('/').next().unwrap();
            self.link(&format!("dev/block/{text}"), folder);
            self.link(&format!("class/block/{name}"), folder);
        }
    }

    pub fn link(&self, link: &str, target: &str) {
        let (link, target) = (self.path().join(link), self.path().join(target));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        // What it leads to may come later in the text, or be a class without entries.
        fs::create_dir_all(&target).unwrap();
        symlink(target, link).unwrap();
    }
}
