//! The folder of an imported result: the log, and what was read from it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ResultError;
use super::bundle::{create_folder, write, write_json};
use crate::durable;
use crate::sysbench::SysbenchLog;

/// Version of `imported.json`.
pub const IMPORT_FORMAT: u32 = 1;
/// What was read from a log.
pub const IMPORTED: &str = "imported.json";
/// The log itself.
pub const LOG: &str = "sysbench.log";

/// An imported log, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Version of the file.
    pub format: u32,
    /// drivestone version that read the log.
    pub drivestone: String,
    /// What the result is called.
    pub name: String,
    /// The device under test, in its owner's words.
    pub device: Option<String>,
    /// The log's file as it was given; `-` for standard input.
    pub file: String,
    /// When it was imported, UTC.
    pub imported: String,
    /// What it says.
    pub log: SysbenchLog,
}

impl Import {
    /// Creates a result with it and the bytes of its log.
    ///
    /// # Errors
    /// When the folder exists or cannot be written.
    pub fn create(&self, folder: &Path, log: &[u8]) -> Result<(), ResultError> {
        create_folder(folder)?;
        let fill = || {
            write(&folder.join(LOG), log)?;
            // The file that makes the folder a result comes last.
            write_json(&folder.join(IMPORTED), self)?;
            durable::sync_entry(folder).map_err(|source| ResultError::Write {
                path: durable::folder_of(folder).to_path_buf(),
                source,
            })
        };
        fill().inspect_err(|_| drop(fs::remove_dir_all(folder)))
    }
}

/// What was imported into a result, given as its folder or as the file in it; none when it was measured.
///
/// # Errors
/// When it is not what this version could have written, or says what cannot be.
pub fn read_import(result: &Path) -> Result<Option<Import>, ResultError> {
    let path = match result.file_name() {
        Some(name) if name == IMPORTED => result.to_path_buf(),
        _ => result.join(IMPORTED),
    };
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(None);
        }
        Err(source) => return Err(ResultError::Read { path, source }),
    };
    let foreign = |reason: String| ResultError::Foreign { path: path.clone(), reason };
    let import: Import = serde_json::from_slice(&bytes).map_err(|error| foreign(error.to_string()))?;
    if import.format != IMPORT_FORMAT {
        return Err(foreign(format!(
            "format {} of imported logs was written by drivestone {}; this version reads format {IMPORT_FORMAT}",
            import.format, import.drivestone
        )));
    }
    import.log.validate(&import.file).map_err(|error| foreign(error.to_string()))?;
    Ok(Some(import))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench;

    fn import() -> Import {
        let log = include_bytes!("../../tests/fixtures/sysbench/1.0-whole.log");
        Import {
            format: IMPORT_FORMAT,
            drivestone: "0".into(),
            name: "whole".into(),
            device: None,
            file: "whole.log".into(),
            imported: "2026-11-30T11:00:00Z".into(),
            log: sysbench::parse("whole.log", log).unwrap(),
        }
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("result");
        import().create(&result, b"the log").unwrap();
        assert_eq!(read_import(&result).unwrap(), Some(import()));
        assert_eq!(read_import(&result.join(IMPORTED)).unwrap(), Some(import()));
        assert_eq!(fs::read(result.join(LOG)).unwrap(), b"the log");
        assert!(matches!(import().create(&result, b""), Err(ResultError::Exists(_))));
        assert_eq!(read_import(folder.path()).unwrap(), None);
    }

    #[test]
    fn what_was_changed_into_something_impossible_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |change: fn(&mut Import)| {
            let mut import = import();
            change(&mut import);
            write_json(&folder.path().join(IMPORTED), &import).unwrap();
            read_import(folder.path()).unwrap_err().to_string()
        };
        for (change, words) in [
            ((|i| i.format = 9) as fn(&mut Import), "this version reads format 1"),
            (|i| i.log.runs.clear(), "there is no run in it"),
            (|i| i.log.runs[0].threads = 0, "a run has at least one thread"),
            (|i| i.log.runs[0].intervals[1].tps = -1.0, "tps -1 cannot be"),
            (|i| i.log.runs[0].intervals[1].second = 0, "time does not go back"),
            (|i| i.log.runs[0].intervals[1].percentile.as_mut().unwrap().rank = 101, "it is 1 to 100"),
        ] {
            let error = refused(change);
            assert!(error.contains(words), "{error}");
        }
    }
}
