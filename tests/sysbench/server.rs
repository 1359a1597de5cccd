//! A server of the test's own: reachable through a socket only, with every statement in its general log.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use drivestone::server::access::{Access, Address};
use mysql::prelude::{FromRow, Queryable as _};
use mysql::{Conn, Opts, OptsBuilder};
use tempfile::TempDir;

use crate::e2e::require::require;

/// Longest wait for the server. A limit for a machine that hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// Where its data lies: in memory where that can be had, since what is measured is nothing but statements. A
/// socket's path is limited to 107 bytes, which a build's folder may exceed.
const BASES: [&str; 2] = ["/dev/shm", "/var/tmp"];

/// A running server, gone with its folder when dropped.
pub struct Server {
    child: Child,
    folder: TempDir,
    connection: Conn,
}

/// A statement in the general log.
pub struct Logged {
    /// Number of the connection.
    pub connection: u64,
    /// `Execute` of a prepared statement, or `Query`.
    pub command: String,
    /// The statement, values included.
    pub text: String,
}

impl Server {
    /// A server, or `None` after saying that the test is skipped.
    pub fn start() -> Option<Self> {
        let (server, installer) = (require("mariadbd")?, require("mariadb-install-db")?);
        require("sysbench")?;
        let folder = BASES.iter().find_map(|base| tempfile::tempdir_in(base).ok()).unwrap();
        let data = format!("--datadir={}", folder.path().join("data").display());
        // A server that starts removes the temporary tables of others from a folder that it shares with them.
        let temporary = format!("--tmpdir={}", folder.path().display());
        // It refuses to run as root unless told to.
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap().name;
        let user = format!("--user={user}");
        let log = File::create(folder.path().join("log")).unwrap();
        let quiet = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log.try_clone().unwrap());
        };
        let mut install = Command::new(installer);
        install.args(["--no-defaults", &data, &user, "--skip-test-db", "--force"]);
        install.args(["--innodb-log-file-size=16M", &temporary]);
        quiet(&mut install);
        let made = install.status().unwrap().success();
        let said = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        assert!(made, "the data directory could not be made: {}", said());
        let socket = folder.path().join("s");
        let mut command = Command::new(server);
        command.args(["--no-defaults", &data, &user, &temporary, &format!("--socket={}", socket.display())]);
        command.args([
            "--skip-networking",
            "--skip-grant-tables",
            "--general-log=ON",
            "--log-output=TABLE",
            "--character-set-server=latin1",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=64M",
            "--innodb-log-file-size=16M",
        ]);
        quiet(&mut command);
        let mut child = command.spawn().unwrap();
        let options: Opts =
            OptsBuilder::new().socket(socket.to_str()).prefer_socket(false).user(Some("test")).into();
        let connection = connect(&options, &mut child);
        Some(Self { child, folder, connection })
    }

    /// How load threads reach it.
    pub fn access(&self) -> Access {
        Access::new(Address::Socket(self.socket()), String::new())
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// A new folder beside its data.
    pub fn scratch(&self) -> TempDir {
        tempfile::tempdir_in(self.folder.path()).unwrap()
    }

    pub fn execute(&mut self, sql: &str) {
        self.connection.query_drop(sql).unwrap();
    }

    /// Ends a connection, unless it is gone already.
    pub fn kill(&mut self, id: u64) {
        match self.connection.query_drop(format!("KILL CONNECTION {id}")) {
            Ok(()) => {}
            Err(mysql::Error::MySqlError(error)) if error.code == 1094 => {}
            Err(error) => panic!("{error}"),
        }
    }

    pub fn rows<T: FromRow>(&mut self, sql: &str) -> Vec<T> {
        self.connection.query(sql).unwrap()
    }

    /// Empties the log.
    pub fn forget(&mut self) {
        self.execute("TRUNCATE mysql.general_log");
    }

    /// What others than this connection have sent since the log was emptied, in order.
    pub fn logged(&mut self) -> Vec<Logged> {
        let rows: Vec<(u64, String, String)> = self.rows(
            "SELECT thread_id, command_type, CONVERT(argument USING latin1) FROM mysql.general_log \
             WHERE command_type IN ('Execute', 'Query') AND thread_id <> CONNECTION_ID()",
        );
        rows.into_iter().map(|(connection, command, text)| Logged { connection, command, text }).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connect(options: &Opts, child: &mut Child) -> Conn {
    let begun = Instant::now();
    loop {
        match Conn::new(options.clone()) {
            Ok(connection) => return connection,
            Err(error) => {
                let ended = child.try_wait().unwrap();
                assert!(ended.is_none() && begun.elapsed() < PATIENCE, "no server ({ended:?}): {error}");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}
