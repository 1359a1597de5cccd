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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
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
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

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
