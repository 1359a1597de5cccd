//! A private server and its dataset.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use drivestone::plan::options::{ServerFigures, options};
use drivestone::server::access::{Access, Address, USER};
use drivestone::server::find;
use mysql::Conn;
use mysql::prelude::Queryable as _;
use tempfile::TempDir;

use super::{MANY_TABLES, MANY_THREADS, ROWS, TABLES, THREADS};

/// In each of the tables that are added.
const FEW_ROWS: u64 = 1000;

/// A server that ends with this, as does its data. Whoever can reach its socket needs no password: it lies
/// in a folder that nobody else can enter.
pub struct Server {
    child: Child,
    folder: TempDir,
}

impl Server {
    pub fn start() -> Self {
        let base =
            std::env::var_os("DRIVESTONE_BENCH_DIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        let folder = tempfile::tempdir_in(base).unwrap();
        let programs = find::find(None).unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("my.cnf"), configuration(&folder)).unwrap();
        let accounts = format!(
            "CREATE DATABASE sbtest;\nCREATE USER {USER}@localhost;\nGRANT ALL ON *.* TO {USER}@localhost;\n"
        );
        fs::write(file("init.sql"), accounts).unwrap();
        let defaults = format!("--defaults-file={}", file("my.cnf").display());
        let log = || fs::OpenOptions::new().create(true).append(true).open(file("log")).unwrap();
        let made = Command::new(&programs.initializer)
            .args([&defaults, "--auth-root-authentication-method=normal", "--skip-test-db", "--force"])
            .stdout(log())
            .stderr(log())
            .status()
            .unwrap();
        assert!(made.success(), "{}", fs::read_to_string(file("log")).unwrap());
        let child = Command::new(&programs.server)
            .args([defaults, format!("--init-file={}", file("init.sql").display())])
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()
            .unwrap();
        let server = Self { child, folder };
        let deadline = Instant::now() + Duration::from_secs(60);
        while Conn::new(access(&server.socket()).options(8)).is_err() {
            assert!(
                Instant::now() < deadline,
                "{}",
                fs::read_to_string(server.folder.path().join("log")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// Loads the tables as sysbench does.
    pub fn load(&self) {
        let loaded = self.sysbench("oltp_read_write", "prepare", 0).stdout(Stdio::null()).status().unwrap();
        assert!(loaded.success(), "sysbench prepare: {loaded}");
    }

    /// Adds small tables until there are many.
    pub fn add_tables(&self) {
        let mut connection = Conn::new(access(&self.socket()).options(8)).unwrap();
        for table in TABLES + 1..=MANY_TABLES {
            let rows = format!("SELECT * FROM sbtest.sbtest1 WHERE id <= {FEW_ROWS}");
            connection.query_drop(format!("CREATE TABLE sbtest.sbtest{table} LIKE sbtest.sbtest1")).unwrap();
            connection.query_drop(format!("INSERT INTO sbtest.sbtest{table} {rows}")).unwrap();
        }
    }

    /// sysbench on these tables.
    pub fn sysbench(&self, workload: &str, command: &str, seconds: u64) -> Command {
        let mut sysbench = Command::new("sysbench");
        sysbench.arg(workload).args([
            format!("--mysql-socket={}", self.socket().display()),
            format!("--mysql-user={USER}"),
            format!("--tables={TABLES}"),
            format!("--table-size={ROWS}"),
            format!("--threads={}", if command == "prepare" { 2 } else { THREADS }),
            format!("--time={seconds}"),
            "--rand-type=uniform".to_owned(),
        ]);
        sysbench.arg(command);
        sysbench
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn access(socket: &std::path::Path) -> Access {
    Access::new(Address::Socket(socket.to_path_buf()), String::new())
}

/// drivestone's own options, but a commit does not wait for the device.
fn configuration(folder: &TempDir) -> String {
    let figures = ServerFigures {
        buffer_pool_bytes: 512 << 20,
        log_bytes: 512 << 20,
        page_bytes: 16384,
        connections: MANY_THREADS,
        tables: MANY_TABLES,
        prepared_statements: u64::from(MANY_THREADS * 10 * MANY_TABLES),
    };
    let changed = [("innodb_flush_log_at_trx_commit", "0")];
    let changed = changed.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let own = format!(
        "[mysqld]\ndatadir={0}/data\nsocket={0}/s\npid_file={0}/pid\nskip_networking\n",
        folder.path().display()
    );
    let account = if nix::unistd::geteuid().is_root() { "user=root\n" } else { "" };
    options(&figures, &changed)
        .iter()
        .map(|(name, value)| if value.is_empty() { format!("{name}\n") } else { format!("{name}={value}\n") })
        .fold(own + account, |text, line| text + &line)
}
