//! The thread that keeps the server. The kernel kills a server when the thread that started it ends,
//! so this thread lives as long as the agent.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::outbox::Outbox;
use crate::protocol::Event;
use crate::protocol::event::ServerReady;
use crate::protocol::facts::DatasetManifest;
use crate::protocol::job::ServeJob;
use crate::server::access::Access;
use crate::server::folder::DatasetFolder;
use crate::server::instance::{Server, Start, read_end};
use crate::server::{ServerError, account, find};

/// Patience when nobody waits any more. The dataset then recovers at its next start.
const SHORT_PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);
/// A server that ends sooner after its start would only end again.
const LEAST_LIFE: Duration = Duration::from_secs(2);

/// The running server, for other activities.
#[derive(Clone)]
pub struct Served {
    /// How to connect.
    pub access: Access,
    /// The dataset's folder.
    pub folder: DatasetFolder,
    /// Directory on the device under test, absolute.
    pub target: PathBuf,
    /// Its series, such as `MariaDB 10.11`.
    pub series: String,
    /// Its process, another one once it was started anew.
    pub pid: Arc<AtomicI32>,
    /// The manifest of a dataset that is finished once this server has been stopped cleanly.
    pub unconfirmed: Arc<Mutex<Option<DatasetManifest>>>,
}

/// Shared view of the running server; `None` while there is none.
pub type SharedServed = Arc<Mutex<Option<Served>>>;

enum Command {
    Serve(Box<ServeJob>),
    Stop(Duration),
    Leave,
}

/// Handle of the keeper's thread.
pub struct Keeper {
    commands: Sender<Command>,
    served: SharedServed,
    leaving: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Starts the thread.
    pub fn start(outbox: Outbox) -> Self {
        let (commands, incoming) = channel();
        let served = SharedServed::default();
        let leaving = Arc::new(AtomicBool::new(false));
        let room = Room { outbox, served: Arc::clone(&served), leaving: Arc::clone(&leaving), server: None };
        let thread = thread::spawn(move || room.keep(&incoming));
        Self { commands, served, leaving, thread }
    }

    /// The running server as others see it.
    pub fn served(&self) -> SharedServed {
        Arc::clone(&self.served)
    }

    /// Starts a server.
    pub fn serve(&self, job: ServeJob) {
        let _ = self.commands.send(Command::Serve(Box::new(job)));
    }

    /// Stops it cleanly, or kills it when that takes longer than `patience`.
    pub fn stop(&self, patience: Duration) {
        let _ = self.commands.send(Command::Stop(patience));
    }

    /// Ends the thread, and the server with it.
    pub fn leave(self) {
        self.leaving.store(true, Ordering::Release);
        let _ = self.commands.send(Command::Leave);
        let _ = self.thread.join();
    }
}

struct Room {
    outbox: Outbox,
    served: SharedServed,
    leaving: Arc<AtomicBool>,
    server: Option<Running>,
}

/// A server and how it was started.
struct Running {
    server: Server,
    job: ServeJob,
    since: Instant,
}

impl Room {
    fn keep(mut self, commands: &Receiver<Command>) {
        loop {
            match commands.recv_timeout(LOOK) {
                Ok(Command::Serve(job)) => self.serve(*job),
                Ok(Command::Stop(patience)) => self.stop(patience),
                Ok(Command::Leave) | Err(RecvTimeoutError::Disconnected) => {
                    self.stop(SHORT_PATIENCE);
                    return;
                }
                Err(RecvTimeoutError::Timeout) => self.notice_an_end(),
            }
        }
    }

    fn serve(&mut self, job: ServeJob) {
        let leaving = Arc::clone(&self.leaving);
        match start(&job, None, &|| leaving.load(Ordering::Acquire)) {
            Ok((server, served, ready)) => {
                self.publish(Some(served));
                self.server = Some(Running { server, job, since: Instant::now() });
                self.outbox.send(Event::ServerReady(ready));
            }
            Err(error) => self.report_failure(&error),
        }
    }

    fn stop(&mut self, patience: Duration) {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner).take();
        let leaving = Arc::clone(&self.leaving);
        let patience = || if leaving.load(Ordering::Acquire) { SHORT_PATIENCE } else { patience };
        if let Some(Running { server, .. }) = self.server.take() {
            let log_path = server.log_path().to_path_buf();
            match server.stop(&patience) {
                Some(text) => self.outbox.send(Event::Warning { text }),
                None => self.confirm(served),
            }
            self.outbox.send(Event::ServerLog { text: read_end(&log_path) });
        }
        self.outbox.send(Event::ServerStopped);
    }

    /// Everything that its server wrote is in its place: a dataset that waits for that is finished.
    fn confirm(&self, served: Option<Served>) {
        let Some(Served { folder, unconfirmed, .. }) = served else { return };
        let manifest = unconfirmed.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(error)) = manifest.map(|manifest| folder.write_manifest(&manifest)) {
            let text = format!("the dataset cannot be kept as finished: {error}");
            self.outbox.send(Event::Warning { text });
        }
    }

    /// Reports a server that ended without being told to, or starts it again if it is to be.
    fn notice_an_end(&mut self) {
        let Some(running) = &mut self.server else { return };
        let Some(status) = running.server.exited() else { return };
        let error = running.server.failure(format!("the server ended by itself ({status})"));
        let Some(Running { server, job, since }) = self.server.take() else { return };
        if job.revive && since.elapsed() > LEAST_LIFE {
            return self.revive(server, job, &status);
        }
        self.publish(None);
        self.report_failure(&error);
    }

    /// Starts a server again that ended by itself, for the clients that it had.
    fn revive(&mut self, ended: Server, job: ServeJob, status: &str) {
        let began = Instant::now();
        // A start begins a new log.
        self.outbox.send(Event::ServerLog { text: read_end(ended.log_path()) });
        let text = format!("the server ended by itself ({status}) and is started again");
        self.outbox.send(Event::Warning { text });
        let access = ended.access().clone();
        // Its lock goes with it.
        drop(ended);
        let leaving = Arc::clone(&self.leaving);
        match start(&job, Some(&access), &|| leaving.load(Ordering::Acquire)) {
            Ok((server, _, _)) => {
                if let Some(served) = &*self.served.lock().unwrap_or_else(PoisonError::into_inner) {
                    served.pid.store(server.pid(), Ordering::Relaxed);
                }
                self.server = Some(Running { server, job, since: Instant::now() });
                let text = format!("the server answers again after {:.1} s", began.elapsed().as_secs_f64());
                self.outbox.send(Event::Warning { text });
            }
            Err(error) => {
                self.publish(None);
                self.report_failure(&error);
            }
        }
    }

    /// The log goes first: the coordinator stops listening soon after a failure.
    fn report_failure(&self, error: &ServerError) {
        if let ServerError::DidNotStart { log, .. } = error {
            self.outbox.send(Event::ServerLog { text: read_end(log) });
        }
        let (reason, log_tail) = (error.to_string(), error.log_tail().to_owned());
        self.outbox.send(Event::ServerFailed { reason, log_tail });
    }

    fn publish(&self, served: Option<Served>) {
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = served;
    }
}

fn start(
    job: &ServeJob,
    again: Option<&Access>,
    give_up: &dyn Fn() -> bool,
) -> Result<(Server, Served, ServerReady), ServerError> {
    let programs = find::find(job.server_program.as_deref())?;
    let account = account::choose(job.account.as_deref())?;
    let target = target(&job.target, job.create_target)?;
    let folder = DatasetFolder::new(&target, &job.dataset);
    let start = Start {
        programs: &programs,
        account: account.as_ref(),
        folder: &folder,
        transport: job.transport,
        options: &job.options,
        cpus: &job.cpus,
        again,
    };
    let (server, ready) = Server::start(&start, give_up)?;
    let access = server.access().clone();
    let series = programs.series();
    let served = Served {
        access,
        folder,
        target,
        series,
        pid: Arc::new(server.pid().into()),
        unconfirmed: Arc::default(),
    };
    Ok((server, served, ready))
}

/// The absolute directory, made if the profile allows it.
fn target(path: &str, create: bool) -> Result<PathBuf, ServerError> {
    let path = Path::new(path);
    let failed = |error: std::io::Error| ServerError::Folder { path: path.into(), reason: error.to_string() };
    if create && !path.exists() {
        std::fs::create_dir_all(path).map_err(failed)?;
        // Whatever the umask: the server's account has to pass.
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(failed)?;
    }
    path.canonicalize().map_err(failed)
}
