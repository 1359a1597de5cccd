//! Writing the journal: lines at once, to the disk once a second, and something left for a full disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::fcntl::{FallocateFlags, fallocate};

use super::{Entry, Record, ResultError, line};
use crate::durable;

/// Interval of fdatasync.
const SYNC: Duration = Duration::from_secs(1);
/// Kept free for the last lines of a run whose disk fills.
const RESERVE_BYTES: i64 = 512 * 1024;

/// A journal being written.
pub struct Journal {
    path: PathBuf,
    file: File,
    reserve: PathBuf,
    seq: u64,
    length: u64,
    sync: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Journal {
    /// Creates the journal.
    ///
    /// # Errors
    /// When it exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, ResultError> {
        let failed = |source| ResultError::Write { path: path.to_path_buf(), source };
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
        let reserve = path.with_extension("reserve");
        let spare = File::create(&reserve).map_err(failed)?;
        // Filesystems without fallocate get no reserve; a full disk then costs the outcome line.
        let _ = fallocate(&spare, FallocateFlags::empty(), 0, RESERVE_BYTES);
        durable::sync_entry(path).map_err(failed)?;
        let synced = file.try_clone().map_err(failed)?;
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            loop {
                let last = stopped.recv_timeout(SYNC) != Err(RecvTimeoutError::Timeout);
                // An error shows at the next write, or not at all: nothing more can be done here.
                let _ = synced.sync_data();
                if last {
                    return;
                }
            }
        });
        Ok(Self { path: path.to_path_buf(), file, reserve, seq: 0, length: 0, sync: Some((stop, thread)) })
    }

    /// Writes one record.
    ///
    /// # Errors
    /// `Full` when the disk had no space: the record was written into the reserve if that was possible,
    /// and the run must end. `Write` for other errors.
    pub fn append(&mut self, from: &str, record: Record) -> Result<(), ResultError> {
        let utc = jiff::Timestamp::now().to_string();
        let entry = Entry { seq: self.seq, utc, from: from.to_owned(), record };
        let bytes = line::encode(&entry)
            .map_err(|error| self.failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        match self.write(&bytes) {
            Ok(()) => Ok(()),
            Err(error) if is_full(&error) => {
                let _ = std::fs::remove_file(&self.reserve);
                let _ = self.write(&bytes);
                Err(ResultError::Full { path: self.path.clone() })
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Flushes the journal and gives the reserve back.
    pub fn close(mut self) {
        self.finish();
    }

    /// Writes whole lines only: what a failed write left is cut off.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.seq += 1;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> ResultError {
        ResultError::Write { path: self.path.clone(), source }
    }

    fn finish(&mut self) {
        if let Some((stop, thread)) = self.sync.take() {
            let _ = stop.send(());
            let _ = thread.join();
            let _ = std::fs::remove_file(&self.reserve);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.finish();
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
