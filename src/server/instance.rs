//! One running server: initialise, configure, start, watch, stop.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt as _, fchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable as _;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::access::{Access, Address, USER};
use super::account::Account;
use super::find::Programs;
use super::folder::{DatasetFolder, DatasetLock};
use super::{ServerError, cpus, explain, shim};
use crate::protocol::event::ServerReady;
use crate::protocol::job::Transport;

/// Lines of the log shown with a failure.
const LOG_LINES: usize = 20;
/// Longest wait for a server to answer: crash recovery of a large redo log takes minutes.
const START_TIMEOUT: Duration = Duration::from_secs(900);
/// Longest wait for one answer of a server that starts.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// What a start needs to know.
#[derive(Clone)]
pub struct Start<'a> {
    /// The server's programs.
    pub programs: &'a Programs,
    /// The account to switch to.
    pub account: Option<&'a Account>,
    /// Where everything lives.
    pub folder: &'a DatasetFolder,
    /// How clients reach it.
    pub transport: Transport,
    /// Options of its configuration file, without paths and addresses.
    pub options: &'a BTreeMap<String, String>,
    /// Processors that the server may use; all when empty.
    pub cpus: &'a [u32],
    /// What clients of an earlier start know, when it is to serve them again.
    pub again: Option<&'a Access>,
}

/// A server that drivestone started. Dropping it kills it; its dataset survives as after a crash.
pub struct Server {
    child: Child,
    access: Access,
    log: PathBuf,
    _lock: DatasetLock,
}

impl Server {
    /// Initialises the data directory if there is no finished dataset, starts the server and waits
    /// until it answers. `give_up` is asked all the while.
    ///
    /// # Errors
    /// When any of that fails, with the end of the server's log and the likely cause.
    pub fn start(start: &Start, give_up: &dyn Fn() -> bool) -> Result<(Self, ServerReady), ServerError> {
        let folder = start.folder;
        let lock = folder.claim(start.account)?;
        let configuration = configuration(start)?;
        let path = folder.configuration();
        fs::write(&path, &configuration).map_err(|e| failed(&path, &e))?;
        let log_path = folder.log();
        File::create(&log_path).map_err(|e| failed(&log_path, &e))?;

        let initialized = folder.manifest()?.is_none();
        if initialized {
            folder.discard_unfinished(start.account)?;
            initialize(start, &log_path, give_up)?;
        }
        let launched = launch(start, lock, log_path).and_then(|mut server| {
            let connection = server.wait_until_it_answers(give_up)?;
            Ok((server, connection))
        });
        // It holds the password of this start.
        let _ = fs::remove_file(init_file(folder));
        let (server, mut connection) = launched?;
        let ready = describe(&mut connection, &server, configuration, folder, initialized)?;
        Ok((server, ready))
    }

    /// How to connect to it.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        process(&self.child).as_raw()
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Its log.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The error that describes an unexpected end.
    #[must_use]
    pub fn failure(&self, what: String) -> ServerError {
        did_not_start(what, &self.log)
    }

    /// Asks it to shut down and waits. After `patience`, which is asked for all the while, it is killed,
    /// and recovers at its next start.
    ///
    /// Returns what was unclean about its end, if anything was.
    pub fn stop(mut self, patience: &dyn Fn() -> Duration) -> Option<String> {
        let _ = kill(process(&self.child), Signal::SIGTERM);
        let began = Instant::now();
        while began.elapsed() < patience() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return (!status.success())
                    .then(|| format!("the server ended uncleanly when stopped ({status})"));
            }
            std::thread::sleep(POLL);
        }
        Some(format!("the server did not stop within {} s and was killed", patience().as_secs()))
    }

    fn wait_until_it_answers(&mut self, give_up: &dyn Fn() -> bool) -> Result<Conn, ServerError> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let refusal = match Conn::new(self.access.impatient_options(ANSWER_TIMEOUT)) {
                Ok(connection) => return Ok(connection),
                Err(error) => error.to_string(),
            };
            if let Some(status) = self.exited() {
                return Err(self.failure(format!("the server ended while it started ({status})")));
            }
            if give_up() {
                return Err(self.failure("the server was told to stop while it started".to_owned()));
            }
            if Instant::now() > deadline {
                let seconds = START_TIMEOUT.as_secs();
                return Err(self.failure(format!("no answer from the server in {seconds} s: {refusal}")));
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Harmless after a clean stop: the child has been waited for and its pid is not reused by us.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration file, with paths and addresses filled in.
fn configuration(start: &Start) -> Result<String, ServerError> {
    let folder = start.folder;
    let mut text =
        String::from("# Written by drivestone from the plan. Changes here are overwritten.\n[mysqld]\n");
    let mut line = |name: &str, value: &str| {
        text.push_str(name);
        if !value.is_empty() {
            text.push('=');
            text.push_str(value);
        }
        text.push('\n');
    };
    line("datadir", &folder.data().display().to_string());
    line("tmpdir", &folder.temporary().display().to_string());
    line("pid_file", &folder.temporary().join("server.pid").display().to_string());
    match start.transport {
        Transport::Socket => {
            line("socket", &folder.socket()?.display().to_string());
            line("skip_networking", "");
        }
        Transport::Tcp => {
            // Relative to the data directory, so that no path is too long; nobody uses it.
            line("socket", "s");
            line("bind_address", "127.0.0.1");
        }
    }
    for (name, value) in start.options {
        line(name, value);
    }
    Ok(text)
}

/// Runs the initialiser under the server's account.
fn initialize(start: &Start, log: &Path, give_up: &dyn Fn() -> bool) -> Result<(), ServerError> {
    let program = &start.programs.initializer;
    let mut command = shim::command(program, start.cpus);
    command
        .arg(format!("--defaults-file={}", start.folder.configuration().display()))
        // --force: a host name that does not resolve is no reason to stop; its accounts are removed anyway.
        .args(["--auth-root-authentication-method=normal", "--skip-test-db", "--force"]);
    let mut child = spawn(command, start, log)?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                return Err(did_not_start(format!("{program} failed ({status})"), log));
            }
            Ok(None) if give_up() => {
                // It is a script: what it has started is in its process group.
                let _ = killpg(process(&child), Signal::SIGKILL);
                let _ = child.wait();
                return Err(did_not_start(format!("{program} was told to stop"), log));
            }
            Ok(None) => std::thread::sleep(POLL),
            Err(error) => return Err(did_not_start(format!("{program}: {error}"), log)),
        }
    }
}

/// Starts the server's program; it may not answer yet.
fn launch(start: &Start, lock: DatasetLock, log: PathBuf) -> Result<Server, ServerError> {
    let folder = start.folder;
    let password = start.again.map_or_else(random_password, |access| Ok(access.password().to_owned()))?;
    write_init_file(folder, start.account, &password)?;
    let mut command = shim::command(&start.programs.server, start.cpus);
    command
        .arg(format!("--defaults-file={}", folder.configuration().display()))
        .arg(format!("--init-file={}", init_file(folder).display()));
    let address = match start.transport {
        Transport::Socket => Address::Socket(folder.socket()?),
        Transport::Tcp => {
            let port = match start.again.map(Access::address) {
                Some(Address::Loopback(port)) => *port,
                _ => free_port().map_err(|e| failed(folder.root(), &e))?,
            };
            command.arg(format!("--port={port}"));
            Address::Loopback(port)
        }
    };
    let child = spawn(command, start, &log)?;
    Ok(Server { child, access: Access::new(address, password), log, _lock: lock })
}

fn spawn(mut command: Command, start: &Start, log: &Path) -> Result<Child, ServerError> {
    let output = OpenOptions::new().append(true).open(log).map_err(|e| failed(log, &e))?;
    let errors = output.try_clone().map_err(|e| failed(log, &e))?;
    if let Some(account) = start.account {
        command.uid(account.uid).gid(account.gid);
    }
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|e| did_not_start(format!("the server's program could not be started: {e}"), log))
}

fn process(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX))
}

fn init_file(folder: &DatasetFolder) -> PathBuf {
    folder.root().join("init.sql")
}

/// Statements the server runs before it accepts connections: our account with this start's password,
/// and no way in for the accounts that initialising made.
fn write_init_file(
    folder: &DatasetFolder,
    account: Option<&Account>,
    password: &str,
) -> Result<(), ServerError> {
    let mut sql = String::new();
    for host in ["localhost", "127.0.0.1"] {
        sql += &format!("CREATE OR REPLACE USER {USER}@'{host}' IDENTIFIED BY '{password}';\n");
        sql += &format!("GRANT ALL ON *.* TO {USER}@'{host}';\n");
    }
    sql += "DELETE FROM mysql.global_priv WHERE User IN ('root', '');\nFLUSH PRIVILEGES;\n";
    let path = init_file(folder);
    let _ = fs::remove_file(&path);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        if let Some(account) = account {
            fchown(&file, Some(account.uid), Some(account.gid))?;
        }
        file.write_all(sql.as_bytes())
    };
    write().map_err(|e| failed(&path, &e))
}

fn random_password() -> Result<String, ServerError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 16];
    File::open(path).and_then(|mut f| f.read_exact(&mut bytes)).map_err(|e| failed(path, &e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// A port that was free a moment ago.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn describe(
    connection: &mut Conn,
    server: &Server,
    configuration: String,
    folder: &DatasetFolder,
    initialized: bool,
) -> Result<ServerReady, ServerError> {
    let version: Option<String> = connection.query_first("SELECT VERSION()")?;
    let variables: Vec<(String, String)> = connection.query("SHOW GLOBAL VARIABLES")?;
    let variables: BTreeMap<String, String> = variables.into_iter().collect();
    if let Some(stray) = stray(&variables, server.access.address(), &folder.data()) {
        return Err(server.failure(stray));
    }
    Ok(ServerReady {
        version: version.unwrap_or_default(),
        pid: server.pid(),
        variables,
        configuration,
        data_dir: folder.data().display().to_string(),
        address: server.access.address().to_string(),
        initialized,
        cpus: cpus::allowed(&PathBuf::from(format!("/proc/{}", server.child.id()))),
    })
}

/// What is wrong with a server that works elsewhere than told, or listens to others: an option in
/// server.variables has changed it.
fn stray(variables: &BTreeMap<String, String>, address: &Address, data: &Path) -> Option<String> {
    let variable = |name: &str| variables.get(name).map_or("", String::as_str);
    let data_dir = Path::new(variable("datadir").trim_end_matches('/'));
    if data_dir != data {
        return Some(format!("the server works in {}, not in {}", data_dir.display(), data.display()));
    }
    let closed = match address {
        Address::Socket(_) => variable("skip_networking") == "ON",
        Address::Loopback(_) => variable("bind_address") == "127.0.0.1",
    };
    (!closed).then(|| format!("the server listens on `{}`", variable("bind_address")))
}

fn did_not_start(what: String, log: &Path) -> ServerError {
    let log_tail = explain::tail(&read_end(log), LOG_LINES);
    let cause = explain::cause(&log_tail).to_owned();
    ServerError::DidNotStart { what, cause, log_tail, log: log.to_path_buf() }
}

/// The last megabyte of a log, as text; empty when it cannot be read.
#[must_use]
pub fn read_end(path: &Path) -> String {
    const MOST_BYTES: i64 = 1 << 20;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        if file.seek(SeekFrom::End(-MOST_BYTES)).is_err() {
            file.rewind()?; // It is shorter.
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

fn failed(path: &Path, error: &io::Error) -> ServerError {
    ServerError::Folder { path: path.to_path_buf(), reason: error.to_string() }
}
