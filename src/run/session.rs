//! A run in progress: waits for events, records them, and decides when to stop.

use std::time::{Duration, Instant};

use super::hosts::{self, Host, Role, labelled};
use super::{Finish, Found, Progress, Stage, Watcher};
use crate::fleet::{Fleet, Incoming};
use crate::plan::{LossPolicy, Plan};
use crate::protocol::Event;
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

/// Everything that one invocation holds.
pub(super) struct Session<'a> {
    pub(super) plan: &'a Plan,
    pub(super) fleet: Fleet,
    pub(super) bundle: Bundle,
    pub(super) watcher: &'a mut dyn Watcher,
    pub(super) stage: Stage,
    pub(super) hosts: Vec<Host>,
    /// Instances that what is being done now cannot do without: all of them, then those of the run.
    pub(super) needed: Vec<String>,
    interrupts: u32,
    /// The first record that could not be written. The run then ends in good order.
    journal_failure: Option<String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(plan: &'a Plan, fleet: Fleet, bundle: Bundle, watcher: &'a mut dyn Watcher) -> Self {
        Self {
            plan,
            fleet,
            bundle,
            watcher,
            stage: Stage::Preparing,
            hosts: hosts::of(&plan.fleet),
            needed: plan.fleet.instances.iter().map(|instance| instance.host.clone()).collect(),
            interrupts: 0,
            journal_failure: None,
        }
    }

    /// Servers, datasets, runs, servers again; then the last line.
    pub(super) fn carry_out(mut self, found: &Found) -> Finish {
        let course = self.steps(found);
        let (shortfall, halt) = match course {
            Ok(shortfall) => (shortfall, None),
            Err(halt) => (None, Some(halt)),
        };
        let halt = match halt {
            Some(Halt::Killed) => Some(Halt::Killed),
            halt => match self.stop_servers(halt.is_some()).err() {
                Some(Halt::Killed) => Some(Halt::Killed),
                aftermath => halt.or(aftermath),
            },
        };
        let (ending, reason) = match &halt {
            None if shortfall.is_some() => (Ending::Failed, shortfall),
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
        let Self { fleet, bundle, stage, hosts, .. } = self;
        bundle.close();
        match halt {
            Some(Halt::Killed) => drop(fleet),
            _ => fleet.quit(),
        }
        let log_tail = hosts.into_iter().find_map(|host| host.log_tail);
        Finish { ending, reason, log_tail, stage }
    }

    /// Waits until `pick` has recognised something from each of these instances, but no longer than `limit`
    /// for `what`. Instances that are lost meanwhile are left out, where the plan permits it.
    ///
    /// # Errors
    /// When the user interrupts, an activity fails, an instance is lost and must not be, or the time is over.
    pub(super) fn gather<T>(
        &mut self,
        instances: &[String],
        limit: Duration,
        what: &str,
        mut pick: impl FnMut(&Event) -> Option<T>,
    ) -> Result<Vec<(String, T)>, Halt> {
        let deadline = Instant::now() + limit;
        let mut found: Vec<(String, T)> = Vec::new();
        loop {
            let waits = |host: &&String| !found.iter().any(|(name, _)| name == *host);
            let left: Vec<&String> =
                instances.iter().filter(waits).filter(|name| self.takes_part(name)).collect();
            if left.is_empty() {
                found.sort_by_key(|(host, _)| instances.iter().position(|name| name == host));
                return Ok(found);
            }
            if Instant::now() > deadline {
                let text = format!("{what} took more than {} s", limit.as_secs());
                for late in left.into_iter().cloned().collect::<Vec<_>>() {
                    self.give_up(&late, labelled(self.plan, &late, &text))?;
                }
                continue;
            }
            match self.next_event()? {
                None => {}
                Some(Happening::Interrupt) => return Err(Halt::Interrupted),
                Some(Happening::Lost(host, reason)) => self.give_up(&host, reason)?,
                Some(Happening::Event(host, event)) => {
                    if let Some(reason) = self.journal_failure.clone() {
                        return Err(Halt::Failed(reason));
                    }
                    if let Some(reason) = failure(&event) {
                        let reason = labelled(self.plan, &host, &reason);
                        self.give_up(&host, reason)?;
                    } else if instances.contains(&host)
                        && let Some(value) = pick(&event)
                    {
                        found.push((host, value));
                    }
                }
            }
        }
    }

    /// Leaves a host out from now on.
    ///
    /// # Errors
    /// The reason, when what is being done cannot do without it: before the runs have begun, and in a run
    /// whose plan stops it at a loss.
    pub(super) fn give_up(&mut self, host: &str, reason: String) -> Result<(), Halt> {
        let stops = self.plan.fleet.on_loss == LossPolicy::Stop || self.stage == Stage::Preparing;
        let stops = stops && self.is_needed(host);
        let Some(lost) = self.host(host).filter(|host| host.takes_part()) else { return Ok(()) };
        lost.lost = Some(reason.clone());
        let observer = !lost.is_instance();
        self.record(host, Record::Lost { reason: reason.clone() });
        self.watcher.saw(&Progress::Lost { host, observer, reason: &reason });
        if stops {
            return Err(Halt::Failed(reason));
        }
        self.put_to_rest(host);
        Ok(())
    }

    /// Whether what is being done now cannot do without a host.
    pub(super) fn is_needed(&self, host: &str) -> bool {
        self.needed.iter().any(|needed| needed == host)
    }

    pub(super) fn host(&mut self, name: &str) -> Option<&mut Host> {
        self.hosts.iter_mut().find(|host| host.name == name)
    }

    pub(super) fn takes_part(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| host.name == name && host.takes_part())
    }

    /// Names of hosts of a kind, in the plan's order.
    pub(super) fn names(&self, wanted: impl Fn(&Host) -> bool) -> Vec<String> {
        self.hosts.iter().filter(|host| wanted(host)).map(|host| host.name.clone()).collect()
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
                if let Some(lost) = self.host(&host) {
                    lost.server_is_up = false;
                }
                let reason = format!("the agent on {host} is gone: {reason}");
                Ok(Some(Happening::Lost(host, reason)))
            }
            Some(Incoming::Clock { host, offset }) => {
                let (offset_ns, bound_ns) = (offset.offset_ns, offset.bound_ns);
                self.record(&host, Record::Clock { offset_ns, bound_ns });
                Ok(None)
            }
            Some(Incoming::Event { host, event }) => {
                self.keep(&host, &event);
                Ok(Some(Happening::Event(host, event)))
            }
        }
    }

    /// Stores an event where it belongs, and shows what the watcher wants to see.
    pub(super) fn keep(&mut self, host: &str, event: &Event) {
        match event {
            Event::PrepareProgress { step, done, total } => {
                let (step, done, total) = (*step, *done, *total);
                return self.watcher.saw(&Progress::Preparing { host, step, done, total });
            }
            Event::ServerLog { text } => {
                let written = self.bundle.write_server_log(host, text);
                return self.note_failure(written);
            }
            Event::ServerReady(_) => self.note_server(host, true),
            Event::ServerStopped => self.note_server(host, false),
            Event::ServerFailed { log_tail, .. } => {
                self.note_server(host, false);
                if let Some(host) = self.host(host) {
                    host.log_tail = Some(log_tail.clone()).filter(|tail| !tail.is_empty());
                }
            }
            Event::Warning { text } => {
                let text = labelled(self.plan, host, text);
                self.watcher.saw(&Progress::Warning(&text));
            }
            Event::DeviceVanished { name } => {
                let text = labelled(self.plan, host, &format!("device {name} has vanished"));
                self.watcher.saw(&Progress::Warning(&text));
            }
            _ => {}
        }
        self.record(host, Record::Event(event.clone()));
    }

    fn note_server(&mut self, host: &str, is_up: bool) {
        if let Some(host) = self.host(host) {
            host.server_is_up = is_up;
        }
    }

    /// Keeps something that the coordinator itself has to say.
    pub(super) fn warn(&mut self, text: String) {
        self.watcher.saw(&Progress::Warning(&text));
        self.record(COORDINATOR, Record::Event(Event::Warning { text }));
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

    /// Number of an instance among all of the plan, and of the runs that have changed its dataset before
    /// this one.
    pub(super) fn count_run(&mut self, name: &str) -> (u32, u32) {
        match self.host(name) {
            Some(Host { role: Role::Instance(number), runs_before, .. }) => {
                *runs_before += 1;
                (*number, *runs_before - 1)
            }
            _ => (0, 0),
        }
    }
}

/// What `next_event` brings: each with its host.
pub(super) enum Happening {
    Event(String, Event),
    Lost(String, String),
    Interrupt,
}

/// The reason, when an event means that its host cannot go on.
pub(super) fn failure(event: &Event) -> Option<String> {
    match event {
        Event::ServerFailed { reason, .. }
        | Event::PrepareFailed { reason }
        | Event::LoadFailed { reason }
        | Event::ActivityFailed { reason } => Some(reason.clone()),
        _ => None,
    }
}
