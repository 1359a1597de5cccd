//! Entries of /sys below one device's folder, and those of them that cannot be read.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::protocol::facts::UnreadableField;

/// Reads entries of one folder. One that this kernel or device does not have is `None`; so is one that cannot be
/// read, which is noted.
pub(super) struct Attributes {
    folder: PathBuf,
    unreadable: Vec<UnreadableField>,
}

impl Attributes {
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), unreadable: Vec::new() }
    }

    /// Its text without space around it; `None` when there is nothing in it.
    pub fn text(&mut self, entry: &str) -> Option<String> {
        let bytes = self.bytes(entry)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The first of several entries that says something.
    pub fn first_text(&mut self, entries: &[&str]) -> Option<String> {
        entries.iter().find_map(|entry| self.text(entry))
    }

    pub fn number<T: FromStr>(&mut self, entry: &str) -> Option<T> {
        let text = self.text(entry)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.note(entry, format!("`{text}` is not the number that belongs there"));
        }
        number
    }

    pub fn bytes(&mut self, entry: &str) -> Option<Vec<u8>> {
        match fs::read(self.folder.join(entry)) {
            Ok(bytes) => Some(bytes),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            Err(error) => {
                self.note(entry, error.to_string());
                None
            }
        }
    }

    pub fn into_unreadable(self) -> Vec<UnreadableField> {
        self.unreadable
    }

    fn note(&mut self, entry: &str, reason: String) {
        if !self.unreadable.iter().any(|known| known.field == entry) {
            self.unreadable.push(UnreadableField { field: entry.to_owned(), reason });
        }
    }
}

/// One entry's text, where nobody asks why there is none.
pub fn text_in(folder: &Path, entry: &str) -> Option<String> {
    Attributes::of(folder).text(entry)
}
