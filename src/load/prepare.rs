//! Bringing a dataset into being: its tables in parallel, then a flush, then the manifest.
//!
//! A table has one loader from its first row to its index: rows that arrive in the order of their ids leave
//! the tree that sysbench's own `prepare` leaves, and the index is built while pages are still in the pool.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use mysql::Conn;
use mysql::prelude::Queryable as _;

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
const CREATION: &str = "bulk INSERT in the order of ids, secondary index built after the load";
const CREATION_04: &str = "bulk INSERT in the order of ids into a table that has its secondary index already";
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

/// What the loaders share.
struct Course<'a> {
    /// The next table without a loader.
    next: AtomicU32,
    /// Rows sent.
    loaded: &'a AtomicU64,
    /// Tables with their index.
    indexed: AtomicU32,
    /// One of them has failed; the others need not go on.
    failed: AtomicBool,
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
    /// The server has settings made for loading: the manifest is left to whoever stops it.
    pub apart: bool,
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
        connection
            .query_drop(format!("CREATE DATABASE {DATABASE}"))
            .map_err(refused(&format!("create database {DATABASE}")))?;
        self.load_tables(loaded)?;
        self.flush(&mut connection)?;
        let manifest = DatasetManifest {
            format: MANIFEST_FORMAT,
            dataset: self.dataset.clone(),
            server_series: self.server_series.to_owned(),
            creation: self.creation(),
            finished: jiff::Timestamp::now().to_string(),
            measured: self.measure(&mut connection)?,
            runs_since: 0,
            rows_added: 0,
            rows_changed: 0,
        };
        if !self.apart {
            self.folder.write_manifest(&manifest)?;
        }
        Ok((manifest, false))
    }

    fn connect(&self) -> Result<Conn, PrepareError> {
        let mut connection = Conn::new(self.access.options(8)).map_err(refused("connect"))?;
        // Contents are plain ASCII; anything else would be converted to the tables' own character set. The
        // dataset is no part of what is measured, so it stays out of a binary log.
        connection
            .query_drop("SET NAMES latin1, SESSION sql_log_bin = 0")
            .map_err(refused("set up a session"))?;
        Ok(connection)
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

    /// Hands tables to loaders until all are done, one fails, or a stop is asked for.
    fn load_tables(&self, loaded: &AtomicU64) -> Result<(), PrepareError> {
        let course = Course { next: 1.into(), loaded, indexed: 0.into(), failed: false.into() };
        let one_after_another = || -> Result<(), PrepareError> {
            let mut connection = self.connect()?;
            loop {
                let table = course.next.fetch_add(1, Ordering::Relaxed);
                if table > self.dataset.tables || course.failed.load(Ordering::Acquire) {
                    return Ok(());
                }
                self.load_table(&mut connection, table, &course)?;
            }
        };
        let one_loader = || one_after_another().inspect_err(|_| course.failed.store(true, Ordering::Release));
        thread::scope(|scope| {
            let loaders = self.threads.clamp(1, self.dataset.tables.max(1));
            let handles: Vec<_> = (0..loaders).map(|_| scope.spawn(one_loader)).collect();
            let results = handles.into_iter().map(|h| h.join().unwrap_or(Err(PrepareError::Panicked)));
            // Every thread is joined before the first error is returned.
            results.collect::<Vec<_>>().into_iter().collect()
        })
    }

    /// Creates a table, fills it and builds its index, unless another loader fails meanwhile.
    fn load_table(&self, connection: &mut Conn, table: u32, course: &Course) -> Result<(), PrepareError> {
        let schema = &self.dataset.schema;
        let name = schema.full_name(table);
        connection.query_drop(schema.create_table(table)).map_err(refused(&format!("create {name}")))?;
        if !self.load_rows(connection, table, &name, course)? {
            return Ok(());
        }
        self.go_on()?;
        let Some(create_index) = schema.create_index(table) else { return Ok(()) };
        connection.query_drop(create_index).map_err(refused(&format!("build the index of {name}")))?;
        let indexed = course.indexed.fetch_add(1, Ordering::Relaxed) + 1;
        // While rows still arrive elsewhere, they are what there is to tell.
        if course.loaded.load(Ordering::Relaxed) == self.total_rows() {
            (self.progress)(PrepareStep::Index, indexed.into(), self.dataset.tables.into());
        }
        Ok(())
    }

    /// Fills a table; false when another loader has failed meanwhile.
    fn load_rows(
        &self,
        connection: &mut Conn,
        table: u32,
        name: &str,
        course: &Course,
    ) -> Result<bool, PrepareError> {
        if self.dataset.rows == 0 {
            return Ok(true); // The table need not have these columns.
        }
        let text = format!("INSERT INTO {name} (id, k, c, pad) VALUES (?, ?, ?, ?)");
        let insert = connection.prep(text).map_err(refused(&format!("prepare an insert into {name}")))?;
        for chunk in chunk::of_table(self.dataset, table) {
            self.go_on()?;
            if course.failed.load(Ordering::Acquire) {
                return Ok(false);
            }
            let Chunk { first, last, .. } = chunk;
            let rows = chunk.rows(self.dataset).map(|row| (row.id, row.k, row.c, row.pad));
            connection
                .exec_batch(&insert, rows)
                .map_err(refused(&format!("load rows {first}–{last} into {name}")))?;
            let done = course.loaded.fetch_add(chunk.count(), Ordering::Relaxed) + chunk.count();
            (self.progress)(PrepareStep::Rows, done, self.total_rows());
        }
        Ok(true)
    }

    fn go_on(&self) -> Result<(), PrepareError> {
        if self.stop.load(Ordering::Acquire) { Err(PrepareError::Stopped) } else { Ok(()) }
    }

    /// Has the server write its dirty pages, so that the load's writes stay out of the measurement.
    fn flush(&self, connection: &mut Conn) -> Result<(), PrepareError> {
        let mut most = 0;
        let left = settle(connection, &CLEAN, self.stop, &mut |left| {
            most = most.max(left.dirty_pages);
            (self.progress)(PrepareStep::Flush, most - left.dirty_pages, most);
        });
        let left = left.map_err(refused("flush dirty pages"))?;
        self.go_on()?;
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

    fn creation(&self) -> String {
        let way = match self.dataset.schema.layout {
            Layout::Sysbench04 => CREATION_04,
            Layout::Sysbench10 | Layout::Bulk => CREATION,
        };
        let settings = if self.apart { ", by a server with settings made for loading" } else { "" };
        format!("{way}{settings}")
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

fn refused(what: &str) -> impl FnOnce(mysql::Error) -> PrepareError {
    let what = what.to_owned();
    move |source| PrepareError::Refused { what, source }
}

fn free_bytes(folder: &Path) -> u64 {
    nix::sys::statvfs::statvfs(folder).map_or(0, |s| s.blocks_available() * s.fragment_size())
}
