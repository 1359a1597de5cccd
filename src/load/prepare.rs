//! Bringing a dataset into being: rows in parallel, then secondary indexes, then a flush, then the manifest.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use mysql::prelude::Queryable as _;
use mysql::{Conn, LocalInfileHandler};

use super::chunk::{self, Chunk};
use super::settle::settle;
use crate::protocol::event::PrepareStep;
use crate::protocol::facts::{DatasetManifest, DatasetSize};
use crate::protocol::job::{Dataset, SettleJob};
use crate::server::ServerError;
use crate::server::access::Access;
use crate::server::folder::{DatasetFolder, MANIFEST_FORMAT};
use crate::workload::schema::{DATABASE, Layout};

/// How the tables come to be; part of the manifest, because the path matters for size and speed.
const CREATION: &str = "LOAD DATA in primary-key order, secondary index built after the load";
const CREATION_04: &str = "LOAD DATA in primary-key order into a table that has its secondary index already";
/// A pool with no more dirty pages counts as clean; rows that are loaded leave nothing to purge.
const CLEAN: SettleJob = SettleJob { dirty_pages: 16, history: u64::MAX, patience_s: 600 };
/// The server's errors for a full device: 1114 table full, 1021 disk full.
const FULL: [u16; 2] = [1114, 1021];

/// Why a dataset was not completed.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// It was told to stop.
    #[error("told to stop; the half-loaded dataset will be loaded anew next time")]
    Stopped,
    /// A loader came upon a defect of drivestone.
    #[error("a loading thread panicked; its message is on standard error")]
    Panicked,
    /// The device ran full.
    #[error(transparent)]
    Full(Box<FullDevice>),
    /// The server refused a statement.
    #[error("could not {what}: {source}")]
    Refused {
        /// What was being done.
        what: String,
        /// The server's words.
        source: mysql::Error,
    },
    /// The dataset's folder could not be used.
    #[error(transparent)]
    Folder(#[from] ServerError),
    /// The tables are not those that the manifest describes.
    #[error(
        "{folder} says it holds {expected} tables, and the server has {found}; remove the folder to load it anew"
    )]
    Mismatch {
        /// Where.
        folder: PathBuf,
        /// Tables in the manifest.
        expected: u32,
        /// Tables there are.
        found: u32,
    },
}

/// What a full device could not take.
#[derive(Debug, thiserror::Error)]
#[error(
    "the device under test is full: could not {what} ({source}); \
     {loaded} of {total} rows are loaded, {free_bytes} bytes are free in {folder}. \
     Make space or use a smaller dataset"
)]
pub struct FullDevice {
    what: String,
    loaded: u64,
    total: u64,
    free_bytes: u64,
    folder: PathBuf,
    source: mysql::Error,
}

/// Surroundings of a preparation.
pub struct Prepare<'a> {
    /// What to load.
    pub dataset: &'a Dataset,
    /// Parallel connections.
    pub threads: u32,
    /// The server.
    pub access: &'a Access,
    /// The dataset's folder.
    pub folder: &'a DatasetFolder,
    /// The server's series, for the manifest.
    pub server_series: &'a str,
    /// Set when the preparation is to end now.
    pub stop: &'a AtomicBool,
    /// Takes what a reader should know.
    pub warn: &'a (dyn Fn(String) + Sync),
    /// Takes step, units done and units in all, now and then.
    pub progress: &'a (dyn Fn(PrepareStep, u64, u64) + Sync),
}

impl Prepare<'_> {
    /// Reuses the finished dataset or loads it. Returns its manifest and whether it was there already.
    ///
    /// # Errors
    /// When it cannot be completed; the folder then has no manifest and is never measured.
    pub fn run(&self) -> Result<(DatasetManifest, bool), PrepareError> {
        let loaded = AtomicU64::new(0);
        self.bring_about(&loaded).map_err(|error| self.explain(error, loaded.load(Ordering::Relaxed)))
    }

    fn bring_about(&self, loaded: &AtomicU64) -> Result<(DatasetManifest, bool), PrepareError> {
        let mut connection = self.connect()?;
        if let Some(manifest) = self.folder.manifest()? {
            self.verify_tables(&mut connection, &manifest)?;
            return Ok((manifest, true));
        }
        self.create_tables(&mut connection)?;
        self.load_rows(loaded)?;
        self.build_indexes()?;
        self.flush(&mut connection)?;
        let manifest = DatasetManifest {
            format: MANIFEST_FORMAT,
            dataset: self.dataset.clone(),
            server_series: self.server_series.to_owned(),
            creation: match self.dataset.schema.layout {
                Layout::Sysbench04 => CREATION_04.to_owned(),
                Layout::Sysbench10 | Layout::Bulk => CREATION.to_owned(),
            },
            finished: jiff::Timestamp::now().to_string(),
            measured: self.measure(&mut connection)?,
            runs_since: 0,
            rows_added: 0,
        };
        self.folder.write_manifest(&manifest)?;
        Ok((manifest, false))
    }

    fn connect(&self) -> Result<Conn, PrepareError> {
        Conn::new(self.access.options(8)).map_err(refused("connect"))
    }

    fn verify_tables(&self, connection: &mut Conn, manifest: &DatasetManifest) -> Result<(), PrepareError> {
        let found: Option<u32> = connection
            .exec_first("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ?", (DATABASE,))
            .map_err(refused("count the tables"))?;
        match found.unwrap_or(0) {
            found if found == manifest.dataset.tables => Ok(()),
            found => Err(PrepareError::Mismatch {
                folder: self.folder.root().to_path_buf(),
                expected: manifest.dataset.tables,
                found,
            }),
        }
    }

    fn create_tables(&self, connection: &mut Conn) -> Result<(), PrepareError> {
        let mut run = |sql: String, what: String| connection.query_drop(sql).map_err(refused(&what));
        run(format!("CREATE DATABASE {DATABASE}"), format!("create database {DATABASE}"))?;
        for table in 1..=self.dataset.tables {
            run(self.dataset.schema.create_table(table), format!("create {}", self.table(table)))?;
        }
        Ok(())
    }

    fn load_rows(&self, loaded: &AtomicU64) -> Result<(), PrepareError> {
        let total = self.total_rows();
        self.in_parallel(chunk::count(self.dataset), |connection, buffer, index| {
            let chunk = chunk::at(self.dataset, index);
            let Chunk { table, first, last } = chunk;
            self.load_chunk(connection, buffer, &chunk)
                .map_err(refused(&format!("load rows {first}–{last} into {}", self.table(table))))?;
            let done = loaded.fetch_add(chunk.rows(), Ordering::Relaxed) + chunk.rows();
            (self.progress)(PrepareStep::Rows, done, total);
            Ok(())
        })
    }

    fn load_chunk(
        &self,
        connection: &mut Conn,
        buffer: &Arc<Mutex<Vec<u8>>>,
        chunk: &Chunk,
    ) -> Result<(), mysql::Error> {
        chunk::write_rows(self.dataset, chunk, &mut buffer.lock().unwrap_or_else(PoisonError::into_inner));
        connection.query_drop(format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} FIELDS TERMINATED BY ',' (id, k, c, pad)",
            self.table(chunk.table)
        ))
    }

    fn build_indexes(&self) -> Result<(), PrepareError> {
        if self.dataset.schema.create_index(1).is_none() {
            return Ok(());
        }
        let tables = u64::from(self.dataset.tables);
        let built = AtomicU64::new(0);
        (self.progress)(PrepareStep::Index, 0, tables);
        self.in_parallel(tables, |connection, _, index| {
            let table = u32::try_from(index).unwrap_or(u32::MAX) + 1;
            connection
                .query_drop(self.dataset.schema.create_index(table).unwrap_or_default())
                .map_err(refused(&format!("build the index of {}", self.table(table))))?;
            let done = built.fetch_add(1, Ordering::Relaxed) + 1;
            (self.progress)(PrepareStep::Index, done, tables);
            Ok(())
        })
    }

    /// Hands out `0..units` to connections until all are done, one fails, or a stop is asked for.
    fn in_parallel(
        &self,
        units: u64,
        work: impl Fn(&mut Conn, &Arc<Mutex<Vec<u8>>>, u64) -> Result<(), PrepareError> + Sync,
    ) -> Result<(), PrepareError> {
        let next = AtomicU64::new(0);
        let failed = AtomicBool::new(false);
        let one_thread = || -> Result<(), PrepareError> {
            let mut connection = self.connect()?;
            let buffer = Arc::new(Mutex::new(Vec::new()));
            connection.set_local_infile_handler(Some(serve_from(&buffer)));
            loop {
                if self.stop.load(Ordering::Acquire) {
                    return Err(PrepareError::Stopped);
                }
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= units || failed.load(Ordering::Acquire) {
                    return Ok(());
                }
                work(&mut connection, &buffer, index)
                    .inspect_err(|_| failed.store(true, Ordering::Release))?;
            }
        };
        thread::scope(|scope| {
            let threads = u64::from(self.threads.max(1)).min(units);
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(one_thread)).collect();
            let results = handles.into_iter().map(|h| h.join().unwrap_or(Err(PrepareError::Panicked)));
            // Every thread is joined before the first error is returned.
            results.collect::<Vec<_>>().into_iter().collect()
        })
    }

    /// Has the server write its dirty pages, so that the load's writes stay out of the measurement.
    fn flush(&self, connection: &mut Conn) -> Result<(), PrepareError> {
        let mut most = 0;
        let left = settle(connection, &CLEAN, self.stop, &mut |left| {
            most = most.max(left.dirty_pages);
            (self.progress)(PrepareStep::Flush, most - left.dirty_pages, most);
        });
        let left = left.map_err(refused("flush dirty pages"))?;
        if self.stop.load(Ordering::Acquire) {
            return Err(PrepareError::Stopped);
        }
        if !left.meets(&CLEAN) {
            let (pages, seconds) = (left.dirty_pages, CLEAN.patience_s);
            (self.warn)(format!("{pages} pages of the load were still unwritten after {seconds} s"));
        }
        Ok(())
    }

    fn measure(&self, connection: &mut Conn) -> Result<DatasetSize, PrepareError> {
        let sums: Option<(u64, u64)> = connection
            .exec_first(
                "SELECT CAST(SUM(data_length) AS UNSIGNED), CAST(SUM(index_length) AS UNSIGNED) \
                 FROM information_schema.tables WHERE table_schema = ?",
                (DATABASE,),
            )
            .map_err(refused("read the tables' sizes"))?;
        let (data_bytes, index_bytes) = sums.unwrap_or_default();
        Ok(DatasetSize {
            rows: self.total_rows(),
            file_bytes: self.folder.table_bytes(),
            data_bytes,
            index_bytes,
        })
    }

    fn table(&self, number: u32) -> String {
        self.dataset.schema.full_name(number)
    }

    fn total_rows(&self) -> u64 {
        u64::from(self.dataset.tables) * self.dataset.rows
    }

    /// Tells a full device from other refusals.
    fn explain(&self, error: PrepareError, loaded: u64) -> PrepareError {
        match error {
            PrepareError::Refused { what, source } if means_full(&source) => {
                PrepareError::Full(Box::new(FullDevice {
                    what,
                    loaded,
                    total: self.total_rows(),
                    free_bytes: free_bytes(self.folder.root()),
                    folder: self.folder.root().to_path_buf(),
                    source,
                }))
            }
            other => other,
        }
    }
}

/// Whether the server refused for lack of space. Errors such as 1005 and 1006 (cannot create), 1026 and 3
/// (cannot write) say in their text what the system or the storage engine said (errno 28 and 135).
fn means_full(error: &mysql::Error) -> bool {
    const NO_SPACE: [&str; 2] = ["No space left on device", "No more room in record file"];
    let mysql::Error::MySqlError(error) = error else { return false };
    FULL.contains(&error.code) || NO_SPACE.iter().any(|text| error.message.contains(text))
}

/// Answers LOAD DATA LOCAL from a buffer; no file is read.
fn serve_from(buffer: &Arc<Mutex<Vec<u8>>>) -> LocalInfileHandler {
    let buffer = Arc::clone(buffer);
    LocalInfileHandler::new(move |_, writer| {
        writer.write_all(&buffer.lock().unwrap_or_else(PoisonError::into_inner))
    })
}

fn refused(what: &str) -> impl FnOnce(mysql::Error) -> PrepareError {
    let what = what.to_owned();
    move |source| PrepareError::Refused { what, source }
}

fn free_bytes(folder: &Path) -> u64 {
    nix::sys::statvfs::statvfs(folder).map_or(0, |s| s.blocks_available() * s.fragment_size())
}
