//! The course of an invocation: servers, datasets, the runs one after the other, servers again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::hosts::{Host, labelled};
use super::ramp::Ramp;
use super::session::{Halt, Happening, NEVER, Session};
use super::{Found, Progress, Stage};
use crate::plan::granted::not_granted;
use crate::protocol::event::ServerReady;
use crate::protocol::facts::{DatasetState, HostFacts, ObserverFacts};
use crate::protocol::job::{PrepareJob, ServeJob};
use crate::protocol::{Event, Job};
use crate::result::{COORDINATOR, Record};

/// A wait for servers to stop is spoken of this often.
const NOTICE: Duration = Duration::from_secs(10);
/// Longest wait for a server: 15 min to start, and as long as that to have its data directory initialised.
const START_TIMEOUT: Duration = Duration::from_secs(1800);
/// Patience with a server that stops after a run as planned, and after one that was cut short.
const STOP_PATIENCE: Duration = Duration::from_secs(900);
const SHORT_STOP_PATIENCE: Duration = Duration::from_secs(120);
/// The agent's answer comes this much later at most.
const STOP_MARGIN: Duration = Duration::from_secs(30);

/// `environment.json`.
#[derive(Serialize)]
struct Environment<'a> {
    drivestone: &'a str,
    seeds: Vec<u64>,
    instances: BTreeMap<&'a str, InstanceEnvironment<'a>>,
    observers: BTreeMap<&'a str, &'a ObserverFacts>,
}

#[derive(Serialize)]
struct InstanceEnvironment<'a> {
    host: &'a HostFacts,
    server: Option<&'a ServerReady>,
}

impl Session<'_> {
    /// Carries everything out. Returns what was not as planned, when the runs went on all the same.
    ///
    /// # Errors
    /// Why nothing more is to follow.
    pub(super) fn steps(&mut self, found: &Found) -> Result<Option<String>, Halt> {
        for (host, facts) in &found.instances {
            self.record(host, Record::Event(Event::Probed(Box::new(facts.clone()))));
        }
        for (host, facts) in &found.observers {
            self.record(host, Record::Event(Event::Observing(Box::new(facts.clone()))));
        }
        let instances = self.names(Host::is_instance);
        let loaded = self.load_apart(found)?;
        let ready = self.start_servers(&instances)?;
        self.write_environment(found, &ready)?;
        // A server that did not stop cleanly leaves nothing to measure on, and the next one begins anew.
        let is_missing = |(host, ready): &&(String, ServerReady)| ready.initialized || !loaded.contains(host);
        let missing: Vec<String> = ready.iter().filter(is_missing).map(|(host, _)| host.clone()).collect();
        self.prepare(&missing, false)?;
        self.stage = Stage::Running;
        let mut shortfall = None;
        let mut ramp = self.plan.load.ramp.map(Ramp::new);
        for run in 0..self.plan.runs.len() {
            let measured = self.measure(run)?;
            shortfall = shortfall.or(measured.shortfall);
            if ramp.as_mut().is_some_and(|ramp| ramp.is_over_after(&self.plan.runs[run], &measured.figures)) {
                self.record(COORDINATOR, Record::RampEnded { after: run });
                break;
            }
        }
        Ok(shortfall)
    }

    /// Lets the servers finish what the run before left behind, so that the next one does not pay for it.
    pub(super) fn settle(&mut self, of: &[String]) -> Result<(), Halt> {
        let goal = self.plan.load.settle;
        self.watcher.saw(&Progress::Settling { count: of.len() });
        of.iter().for_each(|host| self.fleet.send(host, Job::Settle(goal)));
        let limit = Duration::from_secs(goal.patience_s) + STOP_MARGIN;
        let settled = self.gather(of, limit, "settling", |event| match event {
            Event::Settled(settled) => Some(*settled),
            _ => None,
        })?;
        for (host, settled) in settled {
            let history = settled.history.unwrap_or(0);
            if settled.dirty_pages > goal.dirty_pages || history > goal.history {
                let text = format!(
                    "after {} s {} dirty pages and {history} undo logs were still left; the next run shares the \
                     device with them",
                    settled.waited_ms / 1000,
                    settled.dirty_pages
                );
                self.warn(labelled(self.plan, &host, &text));
            }
        }
        Ok(())
    }

    fn write_environment(&mut self, found: &Found, ready: &[(String, ServerReady)]) -> Result<(), Halt> {
        let server = |host: &str| ready.iter().find(|(name, _)| name == host).map(|(_, ready)| ready);
        let instances = found.instances.iter();
        self.bundle.write_environment(&Environment {
            drivestone: env!("CARGO_PKG_VERSION"),
            seeds: self.plan.runs.iter().map(|run| run.seed).collect(),
            instances: instances
                .map(|(name, host)| (name.as_str(), InstanceEnvironment { host, server: server(name) }))
                .collect(),
            observers: found.observers.iter().map(|(name, facts)| (name.as_str(), facts)).collect(),
        })?;
        for (host, ready) in ready {
            self.bundle.write_server_configuration(host, &ready.configuration)?;
        }
        Ok(())
    }

    /// Loads what is not there yet by servers with settings made for it, and stops them. Returns their hosts.
    fn load_apart(&mut self, found: &Found) -> Result<Vec<String>, Halt> {
        let is_there = |facts: &HostFacts| matches!(facts.dataset, DatasetState::Ready(_));
        let hosts: Vec<String> = match self.plan.dataset.load_options.is_empty() {
            true => Vec::new(),
            false => {
                let fresh = found.instances.iter().filter(|(_, facts)| !is_there(facts));
                fresh.map(|(host, _)| host.clone()).collect()
            }
        };
        if !hosts.is_empty() {
            self.serve(&hosts, true)?;
            self.prepare(&hosts, true)?;
            self.rest_servers(&hosts)?;
        }
        Ok(hosts)
    }

    /// Starts servers that measure.
    pub(super) fn start_servers(&mut self, instances: &[String]) -> Result<Vec<(String, ServerReady)>, Halt> {
        self.serve(instances, false)
    }

    fn serve(&mut self, instances: &[String], apart: bool) -> Result<Vec<(String, ServerReady)>, Halt> {
        self.watcher.saw(&Progress::ServersStarting { count: instances.len() });
        let (server, dataset) = (&self.plan.server, &self.plan.dataset);
        let options = if apart { &dataset.load_options } else { &server.options };
        let job = Job::Serve(ServeJob {
            target: self.plan.hardware.target.clone(),
            create_target: self.plan.hardware.create_target,
            dataset: self.plan.dataset.contents.clone(),
            server_program: server.program.clone(),
            account: server.account.clone(),
            transport: server.transport,
            options: options.clone(),
            // A server that loads and dies leaves nothing to go on with.
            revive: self.plan.load.reconnect && !apart,
            cpus: server.cpus.clone(),
        });
        instances.iter().for_each(|host| self.fleet.send(host, job.clone()));
        let ready = self.gather(instances, START_TIMEOUT, "starting the server", |event| match event {
            Event::ServerReady(ready) => Some(ready.clone()),
            _ => None,
        })?;
        for (host, ready) in &ready {
            self.watcher.saw(&Progress::ServerReady { host, ready });
            for text in not_granted(options, &ready.variables) {
                self.keep(host, &Event::Warning { text });
            }
        }
        Ok(ready)
    }

    fn prepare(&mut self, instances: &[String], apart: bool) -> Result<(), Halt> {
        if instances.is_empty() {
            return Ok(());
        }
        let job = Job::Prepare(PrepareJob {
            dataset: self.plan.dataset.contents.clone(),
            threads: self.plan.dataset.load_threads,
            apart,
        });
        instances.iter().for_each(|host| self.fleet.send(host, job.clone()));
        let prepared = self.gather(instances, NEVER, "preparing the dataset", |event| match event {
            Event::Prepared { manifest, reused, .. } => Some((manifest.clone(), *reused)),
            _ => None,
        });
        if prepared.is_err() {
            instances.iter().for_each(|host| self.fleet.send(host, Job::StopLoad));
        }
        for (host, (manifest, reused)) in prepared? {
            if let Some(host) = self.host(&host) {
                host.runs_before = manifest.runs_since;
            }
            self.watcher.saw(&Progress::Prepared { host: &host, manifest: &manifest, reused });
        }
        Ok(())
    }

    /// Stops the servers of instances that the next run does not need.
    pub(super) fn rest_servers(&mut self, of: &[String]) -> Result<(), Halt> {
        if of.is_empty() {
            return Ok(());
        }
        self.watcher.saw(&Progress::ServersStopping { count: of.len() });
        self.tell_servers_to_stop(of, STOP_PATIENCE);
        let stopped = |event: &Event| matches!(event, Event::ServerStopped).then_some(());
        self.gather(of, STOP_PATIENCE + STOP_MARGIN, "stopping the server", stopped).map(drop)
    }

    fn tell_servers_to_stop(&self, of: &[String], patience: Duration) {
        for host in of {
            self.fleet.send(host, Job::StopServer { patience_s: patience.as_secs() });
        }
    }

    /// An instance is left out while others go on: its load and its server must not disturb them.
    pub(super) fn put_to_rest(&self, host: &str) {
        self.fleet.send(host, Job::StopLoad);
        self.fleet.send(host, Job::StopServer { patience_s: SHORT_STOP_PATIENCE.as_secs() });
    }

    /// Stops every server that is up: nothing is to follow.
    pub(super) fn stop_servers(&mut self, cut_short: bool) -> Result<(), Halt> {
        let of = self.names(|host| host.server_is_up);
        let mut left = of.clone();
        if left.is_empty() {
            return Ok(());
        }
        self.watcher.saw(&Progress::ServersStopping { count: of.len() });
        let patience = if cut_short { SHORT_STOP_PATIENCE } else { STOP_PATIENCE };
        self.tell_servers_to_stop(&of, patience);
        let (deadline, mut notice) = (Instant::now() + patience + STOP_MARGIN, Instant::now() + NOTICE);
        // Failures that come now are aftermath: the reason for the ending is known already.
        while Instant::now() < deadline {
            match self.next_event()? {
                Some(Happening::Event(host, Event::ServerStopped)) | Some(Happening::Lost(host, _)) => {
                    left.retain(|name| *name != host);
                }
                // The agents are then told to leave, which gives their servers ten seconds more.
                Some(Happening::Interrupt) => break,
                _ => {}
            }
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > notice {
                notice += NOTICE;
                self.watcher.saw(&Progress::Waiting { hosts: &left });
            }
        }
        Err(Halt::Failed(format!("the server on {} did not stop", left.join(", "))))
    }
}
