//! The folder of one dataset on the device under test: its server's data, socket, log and manifest.
//!
//! `TARGET/drivestone/<dataset>/` holds everything that drivestone makes there. A marker file says
//! that it is drivestone's; nothing without the marker is ever touched.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, FdFlag, Flock, FlockArg, fcntl};

use super::ServerError;
use super::account::Account;
use crate::durable;
use crate::protocol::facts::{DatasetManifest, DatasetState, LONGEST_SOCKET_PATH};
use crate::protocol::job::Dataset;
use crate::workload::schema::DATABASE;

const MARKER: &str = "drivestone.json";
const MARKER_TEXT: &str = "{\"made_by\":\"drivestone\",\"format\":1}\n";
const NOT_OURS: &str = "holds files that drivestone did not make; move them away";
const MANIFEST: &str = "manifest.json";
/// Version of the manifest file.
pub const MANIFEST_FORMAT: u32 = 2;

/// Paths of one dataset's folder. Nothing is created by making this value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetFolder {
    root: PathBuf,
}

/// Keeps other drivestones out of a dataset as long as it lives.
#[derive(Debug)]
pub struct DatasetLock {
    _lock: Flock<File>,
}

impl DatasetFolder {
    /// The folder of `dataset` below `target`, which must be absolute.
    #[must_use]
    pub fn new(target: &Path, dataset: &Dataset) -> Self {
        Self { root: target.join("drivestone").join(dataset.folder()) }
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The server's data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Bytes of the tables' files.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        allocated_bytes(&self.data().join(DATABASE))
    }

    /// Folder for the server's temporary files.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The server's configuration file.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.root.join("my.cnf")
    }

    /// The server's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.root.join("server.log")
    }

    /// The server's socket, whether or not its path is short enough.
    #[must_use]
    pub fn socket_path(&self) -> PathBuf {
        self.root.join("run").join("s")
    }

    /// The server's socket.
    ///
    /// # Errors
    /// When its path does not fit the kernel's address.
    pub fn socket(&self) -> Result<PathBuf, ServerError> {
        let path = self.socket_path();
        let length = path.as_os_str().len();
        if length > LONGEST_SOCKET_PATH {
            return Err(ServerError::SocketPathTooLong { path: path.display().to_string(), length });
        }
        Ok(path)
    }

    /// What stands here now. Reads only.
    #[must_use]
    pub fn state(&self, dataset: &Dataset, server_series: Option<&str>) -> DatasetState {
        let foreign = |reason: String| DatasetState::Foreign { reason };
        match fs::read_dir(&self.root) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return DatasetState::Absent;
            }
            Err(error) => return foreign(format!("{}: {error}", self.root.display())),
            Ok(mut entries) => {
                if let Err(error) = check_own_folder(&self.root) {
                    return foreign(error.to_string());
                }
                if !self.is_marked() {
                    return match entries.next() {
                        None => DatasetState::Absent,
                        Some(_) => foreign(format!("{}: {NOT_OURS}", self.root.display())),
                    };
                }
            }
        }
        if self.is_locked() {
            return DatasetState::InUse;
        }
        match self.manifest() {
            Ok(None) => DatasetState::HalfLoaded,
            Err(error) => foreign(error.to_string()),
            Ok(Some(manifest)) if manifest.dataset != *dataset => foreign(format!(
                "{} holds another dataset than its name says; move it away",
                self.root.display()
            )),
            Ok(Some(manifest)) => match server_series {
                Some(series) if series != manifest.server_series => foreign(format!(
                    "{} was made by {} and this server is {series}; remove the folder to load it anew",
                    self.root.display(),
                    manifest.server_series
                )),
                _ => DatasetState::Ready(manifest),
            },
        }
    }

    /// Makes the folder, marks it and locks it. The folder stays the agent's own; inside it the server's
    /// account gets folders for data, temporary files and socket, and can replace nothing else.
    ///
    /// # Errors
    /// When it cannot be made, is in use, is a link or somebody else's, or holds what drivestone did not
    /// make.
    pub fn claim(&self, account: Option<&Account>) -> Result<DatasetLock, ServerError> {
        let parent = self.root.parent().unwrap_or(&self.root);
        make_own_folder(parent)?;
        make_own_folder(&self.root)?;
        if !self.is_marked() {
            let mut entries = fs::read_dir(&self.root).map_err(|e| failed(&self.root, &e))?;
            if entries.next().is_some() {
                return Err(ServerError::Folder { path: self.root.clone(), reason: NOT_OURS.to_owned() });
            }
            let marker = self.root.join(MARKER);
            fs::write(&marker, MARKER_TEXT).map_err(|e| failed(&marker, &e))?;
        }
        let lock = self.lock()?;
        for folder in [self.temporary(), self.root.join("run")] {
            make_folder_for(&folder, account)?;
        }
        Ok(lock)
    }

    fn is_marked(&self) -> bool {
        fs::read_to_string(self.root.join(MARKER)).is_ok_and(|text| text == MARKER_TEXT)
    }

    /// Removes what an unfinished load left, so that the folder can be initialised anew.
    ///
    /// # Errors
    /// When there is a finished dataset, which is never removed, or the removal fails.
    pub fn discard_unfinished(&self, account: Option<&Account>) -> Result<(), ServerError> {
        if self.root.join(MANIFEST).exists() || !self.is_marked() {
            return Err(ServerError::Folder {
                path: self.root.clone(),
                reason: "is not an unfinished dataset; it stays as it is".to_owned(),
            });
        }
        let data = self.data();
        match fs::remove_dir_all(&data) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&data, &error)),
            _ => {}
        }
        make_folder_for(&data, account)
    }

    /// The manifest, when the dataset is finished.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn manifest(&self) -> Result<Option<DatasetManifest>, ServerError> {
        let path = self.root.join(MANIFEST);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| failed(&path, &e))?,
        };
        match serde_json::from_str::<DatasetManifest>(&text) {
            Ok(manifest) if manifest.format == MANIFEST_FORMAT => Ok(Some(manifest)),
            Ok(manifest) => Err(ServerError::Folder {
                path,
                reason: format!(
                    "format {} is not {MANIFEST_FORMAT}, which this version reads",
                    manifest.format
                ),
            }),
            Err(error) => Err(ServerError::Folder { path, reason: format!("not a manifest: {error}") }),
        }
    }

    /// Writes the manifest: from now on the dataset counts as finished.
    ///
    /// # Errors
    /// When it cannot be written durably.
    pub fn write_manifest(&self, manifest: &DatasetManifest) -> Result<(), ServerError> {
        let path = self.root.join(MANIFEST);
        let text = serde_json::to_string_pretty(manifest)
            .map_err(|e| ServerError::Folder { path: path.clone(), reason: e.to_string() })?;
        durable::write(&path, text.as_bytes()).map_err(|e| failed(&path, &e))
    }

    fn lock_path(&self) -> PathBuf {
        self.root.join("lock")
    }

    fn lock(&self) -> Result<DatasetLock, ServerError> {
        let path = self.lock_path();
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| failed(&path, &e))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| ServerError::Folder {
            path: self.root.clone(),
            reason: "another drivestone, or a server that it left, uses this dataset; wait for it to end"
                .to_owned(),
        })?;
        // Programs that work in the folder inherit the lock: it lasts as long as the last of them.
        fcntl(&*lock, FcntlArg::F_SETFD(FdFlag::empty())).map_err(|e| failed(&path, &e.into()))?;
        Ok(DatasetLock { _lock: lock })
    }

    fn is_locked(&self) -> bool {
        let Ok(file) = File::open(self.lock_path()) else { return false };
        Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
    }
}

/// Makes a folder of the agent's own, or finds it. Others may pass through it and see nothing.
fn make_own_folder(path: &Path) -> Result<(), ServerError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_own_folder(path)?,
        made => made.map_err(|e| failed(path, &e))?,
    }
    // Whatever it was before: writable for others it would not be ours alone.
    fs::set_permissions(path, fs::Permissions::from_mode(0o711)).map_err(|e| failed(path, &e))
}

/// A folder that is no link, and that nobody else owns: others could replace what is in it.
fn check_own_folder(path: &Path) -> Result<(), ServerError> {
    let metadata = fs::symlink_metadata(path).map_err(|e| failed(path, &e))?;
    let refuse = |reason: String| Err(ServerError::Folder { path: path.to_path_buf(), reason });
    if !metadata.is_dir() {
        return refuse("is a link or a file; drivestone's folder belongs there, move it away".to_owned());
    }
    let own = nix::unistd::geteuid().as_raw();
    if metadata.uid() != own {
        return refuse(format!(
            "belongs to user id {}, not to {own}; run as that user, or move it away",
            metadata.uid()
        ));
    }
    Ok(())
}

/// Makes a folder that only the server's account may enter, or finds it.
fn make_folder_for(path: &Path, account: Option<&Account>) -> Result<(), ServerError> {
    match fs::create_dir(path) {
        Ok(()) => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(|e| failed(path, &e))?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
            if !is_folder {
                let reason = "is a link or a file; move it away".to_owned();
                return Err(ServerError::Folder { path: path.to_path_buf(), reason });
            }
        }
        Err(error) => return Err(failed(path, &error)),
    }
    match account {
        // The folder above is ours alone, so nobody can have put a link here meanwhile.
        Some(account) => lchown(path, Some(account.uid), Some(account.gid)).map_err(|e| failed(path, &e)),
        None => Ok(()),
    }
}

/// Bytes that the files below a folder take on disk; 0 where they cannot be looked at.
#[must_use]
pub fn allocated_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        let below = if metadata.is_dir() { allocated_bytes(&entry.path()) } else { 0 };
        Some(metadata.blocks() * 512 + below)
    });
    sizes.sum()
}

fn failed(path: &Path, error: &io::Error) -> ServerError {
    ServerError::Folder { path: path.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::KeyDistribution;

    fn dataset(rows: u64) -> Dataset {
        Dataset {
            tables: 2,
            rows,
            keys: KeyDistribution::Uniform,
            schema: crate::workload::schema::TableSchema::DEFAULT,
            seed: 1,
            page_bytes: 16384,
            character_set: "latin1".into(),
        }
    }

    fn manifest(dataset: &Dataset) -> DatasetManifest {
        DatasetManifest {
            format: MANIFEST_FORMAT,
            dataset: dataset.clone(),
            server_series: "MariaDB 10.11".into(),
            creation: "test".into(),
            finished: "2026-01-01T00:00:00Z".into(),
            measured: crate::protocol::facts::DatasetSize {
                rows: 2,
                file_bytes: 1,
                data_bytes: 1,
                index_bytes: 0,
            },
            runs_since: 0,
            rows_added: 0,
            rows_changed: 0,
        }
    }

    #[test]
    fn states_follow_what_is_there() {
        let target = tempfile::tempdir().unwrap();
        let dataset = dataset(10);
        let folder = DatasetFolder::new(target.path(), &dataset);
        assert_eq!(folder.state(&dataset, None), DatasetState::Absent);

        let lock = folder.claim(None).unwrap();
        assert_eq!(folder.state(&dataset, None), DatasetState::InUse);
        assert!(folder.claim(None).unwrap_err().to_string().contains("another drivestone"));
        drop(lock);
        assert_eq!(folder.state(&dataset, None), DatasetState::HalfLoaded);

        folder.discard_unfinished(None).unwrap();
        folder.write_manifest(&manifest(&dataset)).unwrap();
        assert_eq!(folder.state(&dataset, Some("MariaDB 10.11")), DatasetState::Ready(manifest(&dataset)));
        assert!(matches!(folder.state(&dataset, Some("MariaDB 11.8")), DatasetState::Foreign { .. }));
        assert!(folder.discard_unfinished(None).is_err(), "a finished dataset is never removed");

        fs::write(folder.root().join(MANIFEST), "{").unwrap();
        assert!(matches!(folder.state(&dataset, None), DatasetState::Foreign { .. }));
    }

    #[test]
    fn what_others_made_is_not_touched() {
        let target = tempfile::tempdir().unwrap();
        let dataset = dataset(11);
        let folder = DatasetFolder::new(target.path(), &dataset);
        fs::create_dir_all(folder.root()).unwrap();
        fs::write(folder.root().join("precious"), "data").unwrap();
        assert!(matches!(folder.state(&dataset, None), DatasetState::Foreign { .. }));
        assert!(folder.claim(None).is_err());
        assert!(folder.discard_unfinished(None).is_err());
        assert_eq!(fs::read_to_string(folder.root().join("precious")).unwrap(), "data");
    }

    #[test]
    fn long_socket_paths_are_refused() {
        let target = PathBuf::from(format!("/{}", "x".repeat(100)));
        let error = DatasetFolder::new(&target, &dataset(1)).socket().unwrap_err();
        assert!(error.to_string().contains("the kernel allows 107"), "{error}");
    }
}
