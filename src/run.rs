//! The coordinator: one plan from its first job to its last journal line.

mod hosts;
pub mod live;
mod measure;
mod ramp;
mod session;
mod steps;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::fleet::{Fleet, Incoming};
use crate::plan::{InstancePlan, ObserverPlan, Plan, Reach, RunPlan};
use crate::protocol::event::{PrepareStep, ServerReady};
use crate::protocol::facts::{DatasetManifest, HostFacts, ObserverFacts};
use crate::protocol::job::{ObserveJob, ProbeJob};
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
    /// Servers are being started, their data directories initialised if need be.
    ServersStarting {
        /// How many.
        count: usize,
    },
    /// A server answers.
    ServerReady {
        /// Its host.
        host: &'a str,
        /// What it says of itself.
        ready: &'a ServerReady,
    },
    /// A dataset is being loaded.
    Preparing {
        /// Its host.
        host: &'a str,
        /// What is being done.
        step: PrepareStep,
        /// Units done.
        done: u64,
        /// Units in all.
        total: u64,
    },
    /// A dataset is complete.
    Prepared {
        /// Its host.
        host: &'a str,
        /// Its manifest.
        manifest: &'a DatasetManifest,
        /// It was there already.
        reused: bool,
    },
    /// One of several runs is about to begin.
    RunStarting {
        /// Its number, from 0.
        run: usize,
        /// What is planned.
        plan: &'a RunPlan,
    },
    /// Load threads connect.
    Connecting {
        /// How many on each instance.
        threads: u32,
        /// Instances.
        instances: usize,
    },
    /// The load has been told to start.
    Started {
        /// On so many instances.
        instances: usize,
        /// What is planned.
        plan: &'a RunPlan,
    },
    /// A host does not take part any more.
    Lost {
        /// Which.
        host: &'a str,
        /// It only sampled.
        observer: bool,
        /// Why.
        reason: &'a str,
    },
    /// One report interval is over.
    Interval(&'a Interval),
    /// Servers finish what the run before left behind.
    Settling {
        /// How many.
        count: usize,
    },
    /// Servers are being stopped.
    ServersStopping {
        /// How many.
        count: usize,
    },
    /// Servers are still being waited for.
    Waiting {
        /// On these hosts.
        hosts: &'a [String],
    },
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

/// What agents found before anything was created.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Each instance's host, in the plan's order.
    pub instances: Vec<(String, HostFacts)>,
    /// Each observer, likewise.
    pub observers: Vec<(String, ObserverFacts)>,
}

/// Has the agents of these instances and observers look at their hosts, and at the place of the
/// result if there will be one. Creates nothing.
///
/// # Errors
/// When one does not answer, or the user stops it.
pub fn probe(
    plan: &Plan,
    instances: &[InstancePlan],
    observers: &[ObserverPlan],
    result: Option<&Path>,
    fleet: &mut Fleet,
) -> Result<Found, RunError> {
    for instance in instances {
        let result = result.filter(|_| instance.reach == Reach::Local);
        let job = ProbeJob {
            target: plan.hardware.target.clone(),
            result: result.map(|folder| folder.display().to_string()),
            dataset: plan.dataset.contents.clone(),
            server_program: plan.server.program.clone(),
            account: plan.server.account.clone(),
        };
        fleet.send(&instance.host, Job::Probe(job));
    }
    for observer in observers {
        fleet.send(&observer.host, Job::Observe(ObserveJob { device: observer.device.clone() }));
    }
    let mut found = Found::default();
    let deadline = Instant::now() + PROBE_TIMEOUT;
    while found.instances.len() + found.observers.len() < instances.len() + observers.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        match fleet.receive(left.min(Duration::from_millis(200))) {
            Some(Incoming::Event { host, event: Event::Probed(facts) }) => {
                found.instances.push((host, *facts));
            }
            Some(Incoming::Event { host, event: Event::Observing(facts) }) => {
                found.observers.push((host, *facts));
            }
            Some(Incoming::Event { host, event: Event::ActivityFailed { reason } })
            | Some(Incoming::Lost { host, reason }) => return Err(RunError::Probe { host, reason }),
            Some(Incoming::Interrupt) => return Err(RunError::Interrupted),
            _ if left.is_zero() => return Err(found.nothing_from(instances, observers)),
            _ => {}
        }
    }
    found.instances.sort_by_key(|(host, _)| instances.iter().position(|i| i.host == *host));
    found.observers.sort_by_key(|(host, _)| observers.iter().position(|o| o.host == *host));
    Ok(found)
}

impl Found {
    /// Who has not answered in time.
    fn nothing_from(&self, instances: &[InstancePlan], observers: &[ObserverPlan]) -> RunError {
        let hosts = instances.iter().map(|i| &i.host).chain(observers.iter().map(|o| &o.host));
        let answered = |host: &&String| {
            self.instances.iter().any(|(name, _)| name == *host)
                || self.observers.iter().any(|(name, _)| name == *host)
        };
        let late: Vec<&str> = hosts.filter(|host| !answered(host)).map(String::as_str).collect();
        let reason = format!("no answer in {} s", PROBE_TIMEOUT.as_secs());
        RunError::Probe { host: late.join(", "), reason }
    }
}

/// Carries the plan out and leaves a bundle in `folder`, whatever happens.
///
/// # Errors
/// When the bundle cannot be created. Everything later is an ending, not an error.
pub fn execute(
    plan: &Plan,
    found: &Found,
    fleet: Fleet,
    folder: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Finish, RunError> {
    let bundle = Bundle::create(folder, plan)?;
    Ok(Session::new(plan, fleet, bundle, watcher).carry_out(found))
}
