//! A private server with the measuring settings, and programs that load it.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use drivestone::plan::options::{ServerFigures, options};
use drivestone::protocol::facts::{DatasetManifest, DatasetSize};
use drivestone::protocol::job::{Dataset, Transport};
use drivestone::server::access::USER;
use drivestone::server::account::{self, Account};
use drivestone::server::find::{self, Programs};
use drivestone::server::folder::{DatasetFolder, MANIFEST_FORMAT};
use drivestone::server::instance::{Server, Start};
use mysql::Conn;
use mysql::prelude::Queryable as _;
use tempfile::TempDir;

/// Longest wait for a server to write everything and leave.
const STOP_PATIENCE: Duration = Duration::from_secs(600);

/// Where one dataset is loaded, once.
pub struct Lab {
    target: TempDir,
    dataset: Dataset,
    programs: Programs,
    account: Option<Account>,
}

/// A server that answers.
pub struct Running {
    pub server: Server,
    pub pid: i32,
    pub series: String,
}

impl Lab {
    /// An empty folder on the disk of the build.
    pub fn new(dataset: &Dataset) -> Self {
        let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::set_permissions(target.path(), Permissions::from_mode(0o755)).unwrap();
        let (programs, account) = (find::find(None).unwrap(), account::choose(None).unwrap());
        Self { target, dataset: dataset.clone(), programs, account }
    }

    pub fn folder(&self) -> DatasetFolder {
        DatasetFolder::new(self.target.path(), &self.dataset)
    }

    /// Marks what was loaded as finished, so that the next start finds it.
    pub fn finish(&self, dataset: &Dataset) {
        let manifest = DatasetManifest {
            format: MANIFEST_FORMAT,
            dataset: dataset.clone(),
            server_series: self.programs.series(),
            creation: "for a bench".to_owned(),
            finished: String::new(),
            measured: DatasetSize { rows: 0, file_bytes: 0, data_bytes: 0, index_bytes: 0 },
            runs_since: 0,
            rows_added: 0,
            rows_changed: 0,
        };
        self.folder().write_manifest(&manifest).unwrap();
    }

    /// Starts the server; its data directory is made anew while there is no manifest.
    pub fn start(&self, options: &BTreeMap<String, String>) -> Running {
        let folder = self.folder();
        let start = Start {
            programs: &self.programs,
            account: self.account.as_ref(),
            folder: &folder,
            transport: Transport::Socket,
            options,
            cpus: &[],
            again: None,
        };
        let (server, ready) = Server::start(&start, &|| false).unwrap();
        Running { server, pid: ready.pid, series: self.programs.series() }
    }
}

impl Running {
    pub fn connect(&self) -> Conn {
        Conn::new(self.server.access().options(8)).unwrap()
    }

    /// Stops it cleanly: every page is then in its place.
    pub fn stop(self) {
        assert_eq!(self.server.stop(&|| STOP_PATIENCE), None);
    }

    /// `sysbench oltp_read_write prepare`, to which a file tells the password.
    pub fn sysbench_prepare(&self, lab: &Lab, dataset: &Dataset, threads: u32) -> Command {
        self.connect().query_drop("CREATE DATABASE sbtest").unwrap();
        let access = self.server.access();
        let settings = lab.target.path().join("sysbench.cnf");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&settings).unwrap();
        writeln!(file, "mysql-socket={}\nmysql-user={USER}", access.address()).unwrap();
        writeln!(file, "mysql-password={}", access.options(8).get_pass().unwrap()).unwrap();
        let mut command = Command::new("sysbench");
        command.arg(format!("--config-file={}", settings.display()));
        command.args(["oltp_read_write", "--rand-type=uniform", &format!("--threads={threads}")]);
        command.args([format!("--tables={}", dataset.tables), format!("--table-size={}", dataset.rows)]);
        command.arg("prepare").stdout(Stdio::null());
        command
    }
}

/// The options that a plan would give the measuring server.
pub fn measuring_options(dataset: &Dataset, pool_bytes: u64, threads: u32) -> BTreeMap<String, String> {
    let figures = ServerFigures {
        buffer_pool_bytes: pool_bytes,
        log_bytes: 1 << 30,
        page_bytes: dataset.page_bytes,
        connections: threads,
        tables: dataset.tables,
        prepared_statements: 0,
    };
    options(&figures, &BTreeMap::new())
}
