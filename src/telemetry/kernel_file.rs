//! A file of /proc that is read every second without being opened again.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// It may be missing: then every read fails.
#[derive(Debug)]
pub struct KernelFile(Option<File>);

impl KernelFile {
    pub fn open(path: &Path) -> Self {
        Self(File::open(path).ok())
    }

    fn file(&self) -> io::Result<&File> {
        self.0.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Appends all of it.
    pub fn read_all(&self, text: &mut Vec<u8>) -> io::Result<()> {
        let mut file = self.file()?;
        file.rewind()?;
        file.read_to_end(text)?;
        Ok(())
    }

    /// As much of its beginning as fits; empty when it cannot be read.
    pub fn read_start<'a>(&self, space: &'a mut [u8]) -> &'a [u8] {
        let length = self.file().and_then(|file| file.read_at(space, 0)).unwrap_or(0);
        &space[..length]
    }
}
