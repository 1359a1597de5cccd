//! The folder of an imported result: the log, and what was read from it.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
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
/// Larger than any that a log becomes, bytes.
const LARGEST: u64 = 128 << 20;
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
    /// Creates a result with it and the bytes of its log: the folder appears whole or not at all.
    ///
    /// # Errors
    /// When the folder exists or cannot be written.
    pub fn create(&self, folder: &Path, log: &[u8]) -> Result<(), ResultError> {
        if folder.symlink_metadata().is_ok() {
            return Err(ResultError::Exists(folder.to_path_buf()));
        }
        let failed = |source| ResultError::Write { path: folder.to_path_buf(), source };
        let parent = durable::folder_of(folder);
        let hidden = tempfile::Builder::new().prefix(".drivestone-import-").tempdir_in(parent);
        // The library's error would name the temporary folder, which nobody has heard of.
        let hidden = hidden.map_err(|error| failed(error.kind().into()))?;
        // A folder in it has the permissions that folders have; temporary ones are private.
        let whole = hidden.path().join("result");
        create_folder(&whole)?;
        write(&whole.join(LOG), log)?;
        write_json(&whole.join(IMPORTED), self)?;
        fs::rename(&whole, folder).map_err(failed)?;
        durable::sync_entry(folder).map_err(failed)
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
    let bytes = match read_bounded(&path) {
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

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(io::Error::other("it is larger than 128 MiB, which no imported log becomes")),
        false => Ok(bytes),
    }
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
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["result"]);
    }

    #[test]
    fn what_no_log_becomes_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::File::create(folder.path().join(IMPORTED)).unwrap().set_len(LARGEST + 1).unwrap();
        let error = read_import(folder.path()).unwrap_err();
        let ResultError::Read { source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().contains("larger than 128 MiB"));
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
            (
                |i| i.log.runs[0].summary.as_mut().unwrap().reads = Some(u64::MAX),
                "from 0 to 9007199254740992",
            ),
            (|i| i.log.runs[0].intervals.last_mut().unwrap().second = u64::MAX, "it is at most 1000000000"),
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
