//! A run in progress: waits for events, records them, and decides when to stop.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Finish, Progress, Stage, Watcher};
use crate::fleet::{Fleet, Incoming};
use crate::plan::Plan;
use crate::plan::granted::not_granted;
use crate::protocol::event::ServerReady;
use crate::protocol::facts::HostFacts;
use crate::protocol::job::{PrepareJob, ServeJob};
use crate::protocol::{Event, Job};
use crate::result::bundle::Bundle;
use crate::result::{COORDINATOR, Ending, Record, ResultError};

/// A wait that only its user ends.
pub(super) const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);
/// How often silence is noticed.
const LOOK: Duration = Duration::from_millis(200);
/// Longest wait for a load to end once it was told to, or its server is gone. The agent waits ten
/// seconds for transactions in flight, and as long again for the last samples and for the server's
/// commit counter.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(60);
/// Patience with a server that stops after a run as planned, and after one that was cut short.
const STOP_PATIENCE: Duration = Duration::from_secs(900);
const SHORT_STOP_PATIENCE: Duration = Duration::from_secs(120);
/// The agent's answer comes this much later at most.
const STOP_MARGIN: Duration = Duration::from_secs(30);

/// Why a run does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    /// The user asked for it once: stop in good order.
    Interrupted,
    /// The user asked twice: leave now.
    Killed,
    /// Something failed.
    Failed(String),
}

impl From<ResultError> for Halt {
    fn from(error: ResultError) -> Self {
        Halt::Failed(error.to_string())
    }
}

/// `environment.json`.
#[derive(Serialize)]
struct Environment<'a> {
    drivestone: &'a str,
    seeds: Vec<u64>,
    host: &'a HostFacts,
    server: &'a ServerReady,
}

/// Everything that one invocation holds.
pub(super) struct Session<'a> {
    pub(super) plan: &'a Plan,
    pub(super) fleet: Fleet,
    bundle: Bundle,
    pub(super) watcher: &'a mut dyn Watcher,
    pub(super) stage: Stage,
    server_is_up: bool,
    /// Runs that had changed the dataset before this result's.
    pub(super) runs_before: u32,
    interrupts: u32,
    /// The first record that could not be written. The run then ends in good order.
    journal_failure: Option<String>,
    /// End of the log of a server that failed.
    log_tail: Option<String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(plan: &'a Plan, fleet: Fleet, bundle: Bundle, watcher: &'a mut dyn Watcher) -> Self {
        let stage = Stage::Preparing;
        Self {
            plan,
            fleet,
            bundle,
            watcher,
            stage,
            server_is_up: false,
            runs_before: 0,
            interrupts: 0,
            journal_failure: None,
            log_tail: None,
        }
    }

    /// Server, dataset, runs, server again; then the last line.
    pub(super) fn carry_out(mut self, facts: &HostFacts) -> Finish {
        let halt = self.steps(facts).err();
        let halt = match halt {
            Some(Halt::Killed) => Some(Halt::Killed),
            halt => match self.stop_server(halt.is_some()).err() {
                Some(Halt::Killed) => Some(Halt::Killed),
                aftermath => halt.or(aftermath),
            },
        };
        let (ending, reason) = match &halt {
            None => (Ending::Complete, None),
            Some(Halt::Interrupted) => (Ending::Interrupted, Some("stopped by its user".to_owned())),
            Some(Halt::Killed) => (Ending::Interrupted, Some("stopped at once by its user".to_owned())),
            Some(Halt::Failed(reason)) => (Ending::Failed, Some(reason.clone())),
        };
        // A journal that cannot take its last line reads as cut short, which is what it then is.
        self.record(COORDINATOR, Record::Closed { ending, reason: reason.clone() });
        let (ending, reason) = match (ending, self.journal_failure()) {
            (Ending::Complete, Some(failure)) => (Ending::Failed, Some(failure.to_owned())),
            told => (told.0, reason),
        };
        let Self { fleet, bundle, stage, log_tail, .. } = self;
        bundle.close();
        match halt {
            Some(Halt::Killed) => drop(fleet),
            _ => fleet.quit(),
        }
        Finish { ending, reason, log_tail, stage }
    }

    fn steps(&mut self, facts: &HostFacts) -> Result<(), Halt> {
        let host = self.fleet.host().to_owned();
        self.record(&host, Record::Event(Event::Probed(Box::new(facts.clone()))));
        let ready = self.start_server()?;
        self.bundle.write_environment(&Environment {
            drivestone: env!("CARGO_PKG_VERSION"),
            seeds: self.plan.runs.iter().map(|run| run.seed).collect(),
            host: facts,
            server: &ready,
        })?;
        self.bundle.write_server_configuration(&ready.configuration)?;
        self.prepare()?;
        self.stage = Stage::Running;
        for run in 0..self.plan.runs.len() {
            self.measure(run)?;
        }
        Ok(())
    }

    fn start_server(&mut self) -> Result<ServerReady, Halt> {
        self.watcher.saw(&Progress::ServerStarting);
        let server = &self.plan.server;
        self.fleet.send(&Job::Serve(ServeJob {
            target: self.plan.hardware.target.clone(),
            create_target: self.plan.hardware.create_target,
            dataset: self.plan.dataset.contents.clone(),
            server_program: server.program.clone(),
            account: server.account.clone(),
            transport: server.transport,
            options: server.options.clone(),
        }));
        let ready = self.wait(|event| match event {
            Event::ServerReady(ready) => Some(ready.clone()),
            _ => None,
        })?;
        self.server_is_up = true;
        self.watcher.saw(&Progress::ServerReady(&ready));
        for text in not_granted(&self.plan.server.options, &ready.variables) {
            self.keep(COORDINATOR, &Event::Warning { text });
        }
        Ok(ready)
    }

    fn prepare(&mut self) -> Result<(), Halt> {
        self.fleet.send(&Job::Prepare(PrepareJob {
            dataset: self.plan.dataset.contents.clone(),
            threads: self.plan.dataset.load_threads,
        }));
        let prepared = self.wait(|event| match event {
            Event::Prepared { manifest, reused } => Some((manifest.clone(), *reused)),
            _ => None,
        });
        if let Err(Halt::Interrupted) = prepared {
            self.fleet.send(&Job::StopLoad);
        }
        let (manifest, reused) = prepared?;
        self.runs_before = manifest.runs_since;
        self.watcher.saw(&Progress::Prepared { manifest: &manifest, reused });
        Ok(())
    }

    fn stop_server(&mut self, cut_short: bool) -> Result<(), Halt> {
        if !std::mem::take(&mut self.server_is_up) {
            return Ok(());
        }
        self.watcher.saw(&Progress::ServerStopping);
        let patience = if cut_short { SHORT_STOP_PATIENCE } else { STOP_PATIENCE };
        self.fleet.send(&Job::StopServer { patience_s: patience.as_secs() });
        let deadline = Instant::now() + patience + STOP_MARGIN;
        // Failures that come now are aftermath: the reason for the ending is known already.
        while Instant::now() < deadline {
            match self.next_event()? {
                Some(Happening::Event(Event::ServerStopped)) | Some(Happening::Lost(_)) => return Ok(()),
                _ => {}
            }
        }
        Err(Halt::Failed("the server did not stop".to_owned()))
    }

    /// Waits for what `pick` recognises, as long as it takes.
    ///
    /// # Errors
    /// When the user interrupts, an agent is lost, or an activity fails instead.
    fn wait<T>(&mut self, pick: impl FnMut(&Event) -> Option<T>) -> Result<T, Halt> {
        self.wait_within(NEVER, "waiting", pick)
    }

    /// Waits for what `pick` recognises, but no longer than `limit` for `what`.
    ///
    /// # Errors
    /// As above, and when the time is over.
    pub(super) fn wait_within<T>(
        &mut self,
        limit: Duration,
        what: &str,
        mut pick: impl FnMut(&Event) -> Option<T>,
    ) -> Result<T, Halt> {
        let deadline = Instant::now() + limit;
        loop {
            if Instant::now() > deadline {
                return Err(Halt::Failed(format!("{what} took more than {} s", limit.as_secs())));
            }
            match self.next_event()? {
                None => {}
                Some(Happening::Interrupt) => return Err(Halt::Interrupted),
                Some(Happening::Lost(reason)) => return Err(Halt::Failed(reason)),
                Some(Happening::Event(event)) => {
                    if let Some(reason) = failure(&event).or_else(|| self.journal_failure.clone()) {
                        return Err(Halt::Failed(reason));
                    }
                    if let Some(found) = pick(&event) {
                        return Ok(found);
                    }
                }
            }
        }
    }

    /// The next thing that happens, recorded; `None` when nothing does for a moment.
    ///
    /// # Errors
    /// `Killed` at the second interrupt.
    pub(super) fn next_event(&mut self) -> Result<Option<Happening>, Halt> {
        match self.fleet.receive(LOOK) {
            None => Ok(None),
            Some(Incoming::Interrupt) => {
                self.interrupts += 1;
                if self.interrupts > 1 {
                    return Err(Halt::Killed);
                }
                self.watcher.saw(&Progress::Interrupted);
                Ok(Some(Happening::Interrupt))
            }
            Some(Incoming::Lost { host, reason }) => {
                self.server_is_up = false;
                Ok(Some(Happening::Lost(format!("the agent on {host} is gone: {reason}"))))
            }
            Some(Incoming::Clock { host, offset }) => {
                let (offset_ns, bound_ns) = (offset.offset_ns, offset.bound_ns);
                self.record(&host, Record::Clock { offset_ns, bound_ns });
                Ok(None)
            }
            Some(Incoming::Event { host, event }) => {
                self.keep(&host, &event);
                Ok(Some(Happening::Event(event)))
            }
        }
    }

    /// Stores an event where it belongs, and shows what the watcher wants to see.
    fn keep(&mut self, host: &str, event: &Event) {
        match event {
            Event::PrepareProgress { step, done, total } => {
                let (step, done, total) = (*step, *done, *total);
                return self.watcher.saw(&Progress::Preparing { step, done, total });
            }
            Event::ServerLog { text } => {
                let written = self.bundle.write_server_log(text);
                return self.note_failure(written);
            }
            Event::ServerFailed { log_tail, .. } => {
                self.server_is_up = false;
                self.log_tail = Some(log_tail.clone()).filter(|tail| !tail.is_empty());
            }
            Event::Warning { text } => self.watcher.saw(&Progress::Warning(text)),
            _ => {}
        }
        self.record(host, Record::Event(event.clone()));
    }

    pub(super) fn record(&mut self, from: &str, record: Record) {
        let written = self.bundle.append(from, record);
        self.note_failure(written);
    }

    fn note_failure(&mut self, written: Result<(), ResultError>) {
        if let Err(error) = written {
            self.journal_failure.get_or_insert(error.to_string());
        }
    }

    /// Why the result cannot be written any more, if it cannot.
    pub(super) fn journal_failure(&self) -> Option<&str> {
        self.journal_failure.as_deref()
    }
}

/// What `next_event` brings.
pub(super) enum Happening {
    Event(Event),
    Lost(String),
    Interrupt,
}

/// The reason, when an event means that the run cannot go on.
pub(super) fn failure(event: &Event) -> Option<String> {
    match event {
        Event::ServerFailed { reason, .. }
        | Event::PrepareFailed { reason }
        | Event::LoadFailed { reason }
        | Event::ActivityFailed { reason } => Some(reason.clone()),
        _ => None,
    }
}
