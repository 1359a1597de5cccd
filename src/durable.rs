//! Files that are whole or absent, even after a crash.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes a file under a temporary name beside it, syncs it, gives it its name, and syncs the folder.
/// A file of that name is replaced.
///
/// # Errors
/// The system's; the old file, if any, is then still there.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    if !fs::metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    // Readable for others, as files are by default; temporary files would be private.
    let readable = Permissions::from_mode(0o644);
    let created = tempfile::Builder::new().permissions(readable).tempfile_in(folder);
    // The library's error would name the temporary file, which nobody has heard of.
    let mut file = created.map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_entry(path)
}

/// The folder that a path is in; of a bare name, the working directory.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes sure that a file or folder is still in its folder after a crash.
///
/// # Errors
/// The system's.
pub fn sync_entry(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_in_the_working_directory() {
        assert_eq!(folder_of(Path::new("a/b")), Path::new("a"));
        assert_eq!(folder_of(Path::new("b")), Path::new("."));
    }

    #[test]
    fn replaces_whole_files_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&folder.path().join("missing/file"), b"x").is_err());
    }
}
