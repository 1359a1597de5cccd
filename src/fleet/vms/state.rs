//! What a run is about to make, written down before any of it is made, so that nothing is left behind unseen.
//!
//! `drivestone/vms/<tag>.json` below the user's state folder names every domain and volume; a folder of the same name
//! beside it holds the throw-away keys. Whoever makes the machines keeps the file locked: a file without a lock is
//! what a crash left.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::durable;

/// Version of the file.
const FORMAT: u32 = 1;

/// Everything that one run makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Version of this structure.
    pub format: u32,
    /// Mark of the run, 8 hexadecimal digits.
    pub tag: String,
    /// The machines, in order.
    pub machines: Vec<MachineRecord>,
}

/// What one machine consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// Its name in the plan and for ssh, such as `vm1`.
    pub host: String,
    /// Connection URI of its hypervisor.
    pub uri: String,
    /// Name of the domain.
    pub domain: String,
    /// Volumes, in the order in which they are made.
    pub volumes: Vec<VolumeRecord>,
}

/// One volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeRecord {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub name: String,
}

impl Inventory {
    /// An inventory of the current version.
    #[must_use]
    pub fn new(tag: String, machines: Vec<MachineRecord>) -> Self {
        Self { format: FORMAT, tag, machines }
    }

    /// Whether every name carries the tag: nothing else is ever removed, whatever a file says.
    fn carries_its_tag(&self) -> bool {
        let prefix = prefix(&self.tag);
        let names = self.machines.iter().flat_map(|machine| {
            machine.volumes.iter().map(|volume| &volume.name).chain(std::iter::once(&machine.domain))
        });
        is_tag(&self.tag) && names.into_iter().all(|name| name.starts_with(&prefix))
    }
}

/// How names of a run's domains and volumes begin.
#[must_use]
pub fn prefix(tag: &str) -> String {
    format!("drivestone-{tag}-")
}

fn is_tag(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Why the record of a run cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is no place for it.
    #[error("there is no folder for the record of virtual machines; set XDG_STATE_HOME or HOME")]
    NoFolder,
    /// The system's refusal.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its run ended while it was being written.
    #[error("{}: was cut short before its run made anything; delete it", .0.display())]
    Unfinished(PathBuf),
    /// Nothing that this drivestone wrote.
    #[error(
        "{}: {reason}; nothing is removed on its word: delete it once nothing is left of what it names",
        path.display()
    )]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::File { path, source }
}

/// `$XDG_STATE_HOME/drivestone/vms`, or the same below `~/.local/state`.
///
/// # Errors
/// When neither variable says where.
pub fn default_folder() -> Result<PathBuf, StateError> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")));
    base.map(|base| base.join("drivestone/vms")).ok_or(StateError::NoFolder)
}

/// The locked record of a run.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: Flock<File>,
}

impl Record {
    /// Writes a new record durably and locks it.
    ///
    /// # Errors
    /// The system's.
    pub fn create(folder: &Path, inventory: &Inventory) -> Result<Self, StateError> {
        make_private(folder)?;
        let path = folder.join(format!("{}.json", inventory.tag));
        let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = Flock::lock(open.map_err(file_error(&path))?, FlockArg::LockExclusive)
            .map_err(|(_, errno)| file_error(&path)(errno.into()))?;
        let mut record = Self { path, file };
        record.write(inventory).map_err(file_error(&record.path))?;
        Ok(record)
    }

    fn write(&mut self, inventory: &Inventory) -> io::Result<()> {
        // A clean-up between creation and lock takes an empty file away.
        if fs::metadata(&self.path)?.ino() != self.file.metadata()?.ino() {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.file.write_all(serde_json::to_string_pretty(inventory)?.as_bytes())?;
        self.file.sync_all()?;
        durable::sync_entry(&self.path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder for the run's keys, private to this account.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.path.with_extension("")
    }

    /// Makes that folder.
    ///
    /// # Errors
    /// The system's.
    pub fn make_keys(&self) -> Result<PathBuf, StateError> {
        let keys = self.keys();
        DirBuilder::new().mode(0o700).create(&keys).map_err(file_error(&keys))?;
        Ok(keys)
    }

    /// Removes keys and record, once nothing is left of what it names.
    ///
    /// # Errors
    /// The system's.
    pub fn erase(&self) -> Result<(), StateError> {
        let keys = self.keys();
        match fs::remove_dir_all(&keys) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(file_error(&keys)(error)),
            _ => {}
        }
        fs::remove_file(&self.path)
            .and_then(|()| durable::sync_entry(&self.path))
            .map_err(file_error(&self.path))
    }
}

/// A record found by `drivestone clean`.
#[derive(Debug)]
pub enum Found {
    /// Its run still lives.
    Running(Inventory),
    /// Its run has ended without removing everything; locked by us now.
    Left(Record, Inventory),
}

/// Every record in a folder, and what cannot be read. No folder, no records.
///
/// # Errors
/// When the folder cannot be listed.
pub fn find(folder: &Path) -> Result<Vec<Result<Found, StateError>>, StateError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(file_error(folder))?,
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    Ok(paths.iter().filter_map(|path| read(path).transpose()).collect())
}

/// `None` when the run ended meanwhile, or has not begun: an empty file is removed, since nothing was made yet.
fn read(path: &Path) -> Result<Option<Found>, StateError> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(file_error(path))?,
    };
    // The lock comes first: it tells a file that is being written from one that never will be.
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(file, _)| file);
    let mut text = String::new();
    let mut file: &File = lock.as_deref().unwrap_or_else(|file| file);
    file.read_to_string(&mut text).map_err(file_error(path))?;
    // After a loss of power, a file can have its length and not yet its contents.
    let text = text.trim_end_matches('\0');
    let unusable = |reason: String| StateError::Unusable { path: path.to_owned(), reason };
    let inventory: Inventory = match (serde_json::from_str(text), &lock) {
        (Ok(inventory), _) => inventory,
        (Err(error), Err(_)) if error.is_eof() => return Ok(None),
        (Err(_), Ok(_)) if text.is_empty() => {
            return fs::remove_file(path).map(|()| None).map_err(file_error(path));
        }
        (Err(error), Ok(_)) if error.is_eof() => return Err(StateError::Unfinished(path.to_owned())),
        (Err(error), _) => return Err(unusable(error.to_string())),
    };
    if inventory.format != FORMAT {
        return Err(unusable(format!("format {} is of another version of drivestone", inventory.format)));
    }
    if !inventory.carries_its_tag() || path.file_stem().is_none_or(|stem| *stem != *inventory.tag) {
        return Err(unusable("it names objects that do not carry its tag".to_owned()));
    }
    Ok(Some(match lock {
        Ok(file) => Found::Left(Record { path: path.to_owned(), file }, inventory),
        Err(_) => Found::Running(inventory),
    }))
}

fn make_private(folder: &Path) -> Result<(), StateError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(file_error(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(tag: &str, domain: &str) -> Inventory {
        let volume = VolumeRecord { pool: "dut".into(), name: format!("{domain}-data.img") };
        let machine = MachineRecord {
            host: "vm1".into(),
            uri: "qemu:///system".into(),
            domain: domain.into(),
            volumes: vec![volume],
        };
        Inventory::new(tag.into(), vec![machine])
    }

    #[test]
    fn a_lock_tells_a_running_run_from_what_a_crash_left() {
        let folder = tempfile::tempdir().unwrap();
        let made = inventory("0123abcd", "drivestone-0123abcd-vm1");
        let record = Record::create(folder.path(), &made).unwrap();
        record.make_keys().unwrap();
        let found = find(folder.path()).unwrap();
        assert!(matches!(found.as_slice(), [Ok(Found::Running(running))] if *running == made));

        drop(record);
        let mut found = find(folder.path()).unwrap();
        let Some(Ok(Found::Left(record, left))) = found.pop() else { panic!("{found:?}") };
        assert_eq!(left, made);
        record.erase().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn objects_without_the_tag_are_never_believed() {
        for (tag, domain) in [("0123abcd", "web"), ("0123abcd", "drivestone-0123abce-vm1"), ("../../x", "x")]
        {
            let folder = tempfile::tempdir().unwrap();
            let text = serde_json::to_string(&inventory(tag, domain)).unwrap();
            fs::write(folder.path().join("0123abcd.json"), text).unwrap();
            let found = find(folder.path()).unwrap();
            assert!(matches!(found.as_slice(), [Err(StateError::Unusable { .. })]), "{found:?}");
        }
    }

    #[test]
    fn a_record_cut_short_is_begun_or_may_be_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let record =
            Record::create(folder.path(), &inventory("0123abcd", "drivestone-0123abcd-vm1")).unwrap();
        let path = record.path().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        for length in 1..text.len() {
            fs::write(&path, &text[..length]).unwrap();
            assert!(find(folder.path()).unwrap().is_empty(), "{length}: its run is writing it");
        }
        drop(record);
        for length in 1..text.len() {
            fs::write(&path, format!("{}\0\0", &text[..length])).unwrap();
            let found = find(folder.path()).unwrap();
            let [Err(error @ StateError::Unfinished(_))] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(
                error.to_string(),
                format!("{}: was cut short before its run made anything; delete it", path.display())
            );
        }
    }

    #[test]
    fn what_was_never_written_names_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(find(&folder.path().join("missing")).unwrap().is_empty());
        fs::write(folder.path().join("0123abcd.json"), "").unwrap();
        assert!(find(folder.path()).unwrap().is_empty());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
