//! The coordinator: one plan from its first job to its last journal line.

pub mod live;
mod measure;
mod session;

use std::path::Path;
use std::time::Duration;

use crate::fleet::{Fleet, Incoming};
use crate::plan::Plan;
use crate::protocol::event::{PrepareStep, ServerReady};
use crate::protocol::facts::{DatasetManifest, HostFacts};
use crate::protocol::job::ProbeJob;
use crate::protocol::{Event, Job};
use crate::result::{Ending, ResultError, bundle::Bundle};
use live::Interval;
use session::Session;

/// Longest wait for a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The agent went away while it looked around.
    #[error("the agent on {host} could not look at its host: {reason}")]
    Probe {
        /// Which host.
        host: String,
        /// What happened.
        reason: String,
    },
    /// The user stopped it before anything was created.
    #[error("interrupted before anything was created")]
    Interrupted,
    /// The bundle could not be created.
    #[error(transparent)]
    Bundle(#[from] ResultError),
}

/// What a watcher is shown while a run goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The server is being started, its data directory initialised if need be.
    ServerStarting,
    /// The server answers.
    ServerReady(&'a ServerReady),
    /// The dataset is being loaded.
    Preparing {
        /// What is being done.
        step: PrepareStep,
        /// Units done.
        done: u64,
        /// Units in all.
        total: u64,
    },
    /// The dataset is complete.
    Prepared {
        /// Its manifest.
        manifest: &'a DatasetManifest,
        /// It was there already.
        reused: bool,
    },
    /// Load threads connect.
    Connecting {
        /// How many.
        threads: u32,
    },
    /// The load has been told to start.
    Started,
    /// One report interval is over.
    Interval(&'a Interval),
    /// The server is being stopped.
    ServerStopping,
    /// Stopping, because the user asked for it.
    Interrupted,
    /// Something worth knowing that stops nothing.
    Warning(&'a str),
}

/// Shows a run to somebody.
pub trait Watcher {
    /// Called for everything that happens, on the coordinator's own thread: must be quick.
    fn saw(&mut self, progress: &Progress);
}

/// How far a run had come when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Server and dataset were being brought up.
    Preparing,
    /// Load threads were connecting or running.
    Running,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// How.
    pub ending: Ending,
    /// Why, when not as planned.
    pub reason: Option<String>,
    /// End of the server's log, when the server failed.
    pub log_tail: Option<String>,
    /// How far it had come.
    pub stage: Stage,
}

/// Has the agent look at its host, and at the place of the result if there will be one. Creates nothing.
///
/// # Errors
/// When it does not answer, or the user stops it.
pub fn probe(plan: &Plan, result: Option<&Path>, fleet: &mut Fleet) -> Result<HostFacts, RunError> {
    fleet.send(&Job::Probe(ProbeJob {
        target: plan.hardware.target.clone(),
        result: result.map(|folder| folder.display().to_string()),
        dataset: plan.dataset.contents.clone(),
        server_program: plan.server.program.clone(),
        account: plan.server.account.clone(),
    }));
    let host = fleet.host().to_owned();
    let deadline = std::time::Instant::now() + PROBE_TIMEOUT;
    loop {
        let failed = |reason: String| Err(RunError::Probe { host: host.clone(), reason });
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return failed(format!("no answer in {} s", PROBE_TIMEOUT.as_secs()));
        }
        match fleet.receive(left.min(Duration::from_millis(200))) {
            Some(Incoming::Event { event: Event::Probed(facts), .. }) => return Ok(*facts),
            Some(Incoming::Event { event: Event::ActivityFailed { reason }, .. })
            | Some(Incoming::Lost { reason, .. }) => return failed(reason),
            Some(Incoming::Interrupt) => return Err(RunError::Interrupted),
            _ => {}
        }
    }
}

/// Carries the plan out and leaves a bundle in `folder`, whatever happens.
///
/// # Errors
/// When the bundle cannot be created. Everything later is an ending, not an error.
pub fn execute(
    plan: &Plan,
    facts: &HostFacts,
    fleet: Fleet,
    folder: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Finish, RunError> {
    let bundle = Bundle::create(folder, plan)?;
    Ok(Session::new(plan, fleet, bundle, watcher).carry_out(facts))
}
