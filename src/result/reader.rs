//! Reading a journal: entry by entry, as far as it is whole.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::{Entry, JOURNAL_FORMAT, Record, ResultError, line};

/// No honest line is longer: the longest holds a server's variables, some tens of kilobytes.
const LONGEST_LINE: u64 = 16 << 20;

/// A journal being read. Iterates over its longest valid prefix.
pub struct JournalReader {
    input: BufReader<File>,
    next_seq: u64,
    /// Line held back: the first, which was read to see what this is.
    first: Option<(Entry, u64)>,
    damage: Option<String>,
    valid_bytes: u64,
    done: bool,
}

impl JournalReader {
    /// Opens a journal and reads its first line.
    ///
    /// # Errors
    /// When there is none, or it is not one that this version reads.
    pub fn open(path: &Path) -> Result<Self, ResultError> {
        let read = |source| ResultError::Read { path: path.to_path_buf(), source };
        let foreign = |reason: String| ResultError::Foreign { path: path.to_path_buf(), reason };
        // Opening a pipe would wait for a writer.
        if !std::fs::metadata(path).map_err(read)?.is_file() {
            return Err(foreign("it is not a file".to_owned()));
        }
        let mut input = BufReader::with_capacity(1 << 18, File::open(path).map_err(read)?);
        let bytes = next_line(&mut input).map_err(read)?.ok_or_else(|| foreign("it is empty".to_owned()))?;
        let entry = line::decode(bytes.strip_suffix(b"\n").unwrap_or(&bytes))
            .map_err(|reason| foreign(format!("first line: {reason}")))?;
        let Record::Opened(opened) = &entry.record else {
            return Err(foreign("its first line does not open a journal".to_owned()));
        };
        if opened.format != JOURNAL_FORMAT {
            return Err(foreign(format!(
                "journal format {} was written by drivestone {}; this version reads format {JOURNAL_FORMAT}",
                opened.format, opened.drivestone
            )));
        }
        let length = bytes.len() as u64;
        Ok(Self {
            input,
            next_seq: 0,
            first: Some((entry, length)),
            damage: None,
            valid_bytes: 0,
            done: false,
        })
    }

    /// Once iteration has ended: what is wrong with what follows the last entry, if anything does.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    fn read_entry(&mut self) -> Option<(Entry, u64)> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let bytes = match next_line(&mut self.input) {
            Ok(bytes) => bytes?,
            Err(error) => return self.damaged(&error.to_string()),
        };
        let Some(text) = bytes.strip_suffix(b"\n") else { return self.damaged("cut short") };
        match line::decode(text) {
            Ok(entry) => Some((entry, bytes.len() as u64)),
            Err(reason) => self.damaged(&reason),
        }
    }

    fn damaged<T>(&mut self, reason: &str) -> Option<T> {
        self.damage = Some(format!(
            "the journal is whole up to entry {} (byte {}); the next line is unusable: {reason}",
            self.next_seq, self.valid_bytes
        ));
        None
    }
}

impl Iterator for JournalReader {
    /// An entry, and the bytes of its line.
    type Item = (Entry, u64);

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let found = self.read_entry().and_then(|(entry, length)| {
            if entry.seq != self.next_seq {
                return self.damaged(&format!("entry {} stands where {} belongs", entry.seq, self.next_seq));
            }
            self.next_seq += 1;
            self.valid_bytes += length;
            Some((entry, length))
        });
        self.done = found.is_none();
        found
    }
}

/// The next line with its newline, which the last line may lack.
fn next_line(input: &mut BufReader<File>) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    Ok((!bytes.is_empty()).then_some(bytes))
}

/// Path of the journal in a bundle given as its folder, or as the journal itself.
#[must_use]
pub fn journal_path(result: &Path) -> PathBuf {
    if result.is_dir() { result.join(super::bundle::JOURNAL) } else { result.to_path_buf() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::Event;
    use crate::result::journal::Journal;
    use crate::result::{Ending, Opened};

    fn written(records: usize) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::create(&path).unwrap();
        let opened = Opened { format: JOURNAL_FORMAT, drivestone: "0".into(), plan_crc32: 0 };
        journal.append("coordinator", Record::Opened(opened)).unwrap();
        for n in 0..records {
            journal.append("local", Record::Event(Event::Warning { text: format!("№ {n}\n") })).unwrap();
        }
        journal.append("coordinator", Record::Closed { ending: Ending::Complete, reason: None }).unwrap();
        journal.close();
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["journal.jsonl"], "the reserve is given back");
        std::fs::read(&path).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<(Vec<Entry>, Option<String>), ResultError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let mut reader = JournalReader::open(file.path())?;
        let entries = reader.by_ref().map(|(entry, _)| entry).collect();
        Ok((entries, reader.damage().map(str::to_owned)))
    }

    #[test]
    fn cut_at_every_byte_keeps_the_lines_before() {
        let bytes = written(3);
        let line_ends: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
        for cut in 0..=bytes.len() {
            let whole = line_ends.iter().filter(|&&end| end <= cut).count();
            match read(&bytes[..cut]) {
                // The first line alone may lack its newline and still be understood.
                Err(ResultError::Foreign { .. }) => assert!(cut < line_ends[0], "cut at {cut}"),
                Err(other) => panic!("cut at {cut}: {other}"),
                Ok((entries, damage)) => {
                    assert_eq!(entries.len(), whole.max(1), "cut at {cut}");
                    assert_eq!(
                        damage.is_some(),
                        cut != line_ends[entries.len() - 1] && cut + 1 != line_ends[0]
                    );
                }
            }
        }
    }

    #[test]
    fn formats_of_the_future_are_refused_by_name() {
        let opened = Opened { format: 99, drivestone: "9.9".into(), plan_crc32: 0 };
        let entry =
            Entry { seq: 0, utc: String::new(), from: "coordinator".into(), record: Record::Opened(opened) };
        let error = read(&line::encode(&entry).unwrap()).unwrap_err().to_string();
        assert!(error.contains("journal format 99 was written by drivestone 9.9"), "{error}");
    }

    proptest! {
        /// One altered byte loses the line it is in and what follows, never what stands before.
        #[test]
        fn an_altered_byte_never_passes(place in 0_usize..100_000, flip in 1_u8..=255) {
            let bytes = written(4);
            let (original, _) = read(&bytes).unwrap();
            let place = place % bytes.len();
            let mut altered = bytes.clone();
            altered[place] ^= flip;
            let line = bytes[..place].iter().filter(|b| **b == b'\n').count();
            match read(&altered) {
                Err(_) => prop_assert_eq!(line, 0),
                Ok((entries, damage)) => {
                    prop_assert!(damage.is_some());
                    prop_assert!(entries.len() <= line.max(1));
                    prop_assert_eq!(&entries[..], &original[..entries.len()]);
                }
            }
        }

        /// Foreign bytes are refused, not trusted and not fatal.
        #[test]
        fn foreign_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read(&bytes).is_err());
        }
    }
}
