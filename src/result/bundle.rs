//! The folder of a result.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::import;
use super::journal::Journal;
use super::{JOURNAL_FORMAT, Opened, Record, ResultError};
use crate::durable;
use crate::plan::Plan;
use crate::plan::validate::validate;

/// Name of the journal in a bundle.
pub const JOURNAL: &str = "journal.jsonl";
const PLAN: &str = "plan.json";
const ENVIRONMENT: &str = "environment.json";
/// Folder with each server's configuration and log.
const SERVERS: &str = "servers";

/// Every file of a bundle that reports are made from, and the folder of the servers' own.
pub const FILES: [&str; 6] = [JOURNAL, PLAN, ENVIRONMENT, SERVERS, import::IMPORTED, import::LOG];

/// A bundle being written.
pub struct Bundle {
    folder: PathBuf,
    journal: Journal,
}

impl Bundle {
    /// Creates the folder with the plan and an opened journal.
    ///
    /// # Errors
    /// When the folder exists or cannot be written, as when the one above it is missing.
    pub fn create(folder: &Path, plan: &Plan) -> Result<Self, ResultError> {
        create_folder(folder)?;
        // A folder without a journal would be in the way of another try.
        Self::fill(folder, plan).inspect_err(|_| drop(fs::remove_dir_all(folder)))
    }

    fn fill(folder: &Path, plan: &Plan) -> Result<Self, ResultError> {
        let plan_crc32 = write_json(&folder.join(PLAN), plan)?;
        let servers = folder.join(SERVERS);
        fs::create_dir(&servers).map_err(|source| ResultError::Write { path: servers, source })?;
        // The folder itself must survive as well.
        durable::sync_entry(folder).map_err(|source| ResultError::Write {
            path: durable::folder_of(folder).to_path_buf(),
            source,
        })?;
        let mut journal = Journal::create(&folder.join(JOURNAL))?;
        let drivestone = env!("CARGO_PKG_VERSION").to_owned();
        let opened = Opened { format: JOURNAL_FORMAT, drivestone, plan_crc32 };
        journal.append(super::COORDINATOR, Record::Opened(opened))?;
        Ok(Self { folder: folder.to_path_buf(), journal })
    }

    /// Writes one record into the journal.
    ///
    /// # Errors
    /// See [`Journal::append`].
    pub fn append(&mut self, from: &str, record: Record) -> Result<(), ResultError> {
        self.journal.append(from, record)
    }

    /// Stores what was found on the host and what the server says of itself.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_environment(&self, environment: &impl Serialize) -> Result<(), ResultError> {
        write_json(&self.folder.join(ENVIRONMENT), environment).map(drop)
    }

    /// Stores the configuration file of a host's server.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_server_configuration(&self, host: &str, text: &str) -> Result<(), ResultError> {
        write(&self.folder.join(SERVERS).join(format!("{host}.cnf")), text.as_bytes())
    }

    /// Stores the log of a host's server. A server that is started again has its log go on in one file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_server_log(&self, host: &str, text: &str) -> Result<(), ResultError> {
        let path = self.folder.join(SERVERS).join(format!("{host}.log"));
        let mut whole = match fs::read(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(ResultError::Read { path, source: error });
            }
            before => before.unwrap_or_default(),
        };
        whole.extend_from_slice(text.as_bytes());
        write(&path, &whole)
    }

    /// Ends writing.
    pub fn close(self) {
        self.journal.close();
    }
}

/// Makes the folder of a new result.
pub(super) fn create_folder(folder: &Path) -> Result<(), ResultError> {
    let path = folder.to_path_buf();
    fs::create_dir(folder).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => ResultError::Exists(path),
        _ => ResultError::Write { path, source },
    })
}

/// Whether a folder is a result, measured or imported.
#[must_use]
pub fn is_result(folder: &Path) -> bool {
    [JOURNAL, import::IMPORTED].iter().any(|file| folder.join(file).exists())
}

/// A plan as a bundle keeps it.
pub struct StoredPlan {
    /// The plan.
    pub plan: Plan,
    /// CRC-32 of its file, which the journal names.
    pub crc32: u32,
}

/// The plan of a result given as its folder or its journal.
///
/// # Errors
/// When there is none, or it is not a plan that this version could have made.
pub fn read_plan(result: &Path) -> Result<StoredPlan, ResultError> {
    let read = |source| ResultError::Read { path: result.to_path_buf(), source };
    let is_folder = fs::metadata(result).map_err(read)?.is_dir();
    let folder = if is_folder { result } else { result.parent().unwrap_or(Path::new("")) };
    let path = folder.join(PLAN);
    let bytes = fs::read(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => {
            let place = if is_folder { "in it" } else { "beside it" };
            let reason = match folder.join(import::IMPORTED).exists() {
                true => format!("it was imported from a log, and there is no {PLAN} {place} to follow"),
                false => format!("there is no {PLAN} {place}; name a folder that `drivestone run` left"),
            };
            ResultError::Foreign { path: result.to_path_buf(), reason }
        }
        _ => ResultError::Read { path: path.clone(), source },
    })?;
    let foreign = |reason: String| ResultError::Foreign { path: path.clone(), reason };
    let plan: Plan = serde_json::from_slice(&bytes).map_err(|error| foreign(error.to_string()))?;
    validate(&plan).map_err(foreign)?;
    Ok(StoredPlan { plan, crc32: crc32fast::hash(&bytes) })
}

/// Writes a value as JSON; returns the CRC-32 of the file.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<u32, ResultError> {
    let failed = |source| ResultError::Write { path: path.to_path_buf(), source };
    let text = serde_json::to_vec_pretty(value).map_err(|error| failed(error.into()))?;
    write(path, &text)?;
    Ok(crc32fast::hash(&text))
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), ResultError> {
    durable::write(path, bytes).map_err(|source| ResultError::Write { path: path.to_path_buf(), source })
}
