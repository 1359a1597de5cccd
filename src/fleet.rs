//! Agents as the coordinator sees them: started, pinged, listened to, ended.
//!
//! On this machine an agent is a child process; elsewhere it stands at the other end of an ssh
//! connection. Bare metal is a fleet of one: one code path.

mod agent;
pub mod clock;
mod equip;
mod local;
mod ssh;
pub mod vms;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::protocol::{Event, Job};
use agent::Agent;
use clock::ClockOffset;
pub use equip::Afterwards;
use equip::{EquipError, Equipment, Sign};

/// An agent that has been silent for so long is lost.
const SILENCE: Duration = Duration::from_secs(8);
/// The same while it is reached and equipped: ssh itself gives up after ten seconds a hop.
const CONNECT_SILENCE: Duration = Duration::from_secs(30);
/// Longest wait for what a process that has ended still had to say.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Longest wait for agents to leave by themselves.
const FAREWELL: Duration = Duration::from_secs(20);
/// A longer wait than was asked for by this much means that this process itself stood still.
const STANDSTILL: Duration = Duration::from_secs(1);

/// How a host is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way<'a> {
    /// It is this machine.
    Local,
    /// Through ssh; with this configuration file in place of the user's own.
    Ssh(Option<&'a Path>),
}

/// Why there is no fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// This program cannot be read to be copied.
    #[error("this program could not be read, to copy it to other hosts: {0}")]
    Program(std::io::Error),
    /// These hosts have no agent: name and reason.
    #[error("{}", .0.iter().map(|(host, why)| format!("{host}: {why}")).collect::<Vec<_>>().join("\nerror: "))]
    Unreachable(Vec<(String, String)>),
    /// The user stopped it.
    #[error("interrupted before anything was created")]
    Interrupted,
}

/// What reaches the coordinator.
#[derive(Debug)]
pub enum Incoming {
    /// An agent's event. Pongs are kept back.
    Event {
        /// Host name, as in the plan.
        host: String,
        /// What happened.
        event: Event,
    },
    /// A better estimate of an agent's clock.
    Clock {
        /// Host name.
        host: String,
        /// Agent's clock minus ours.
        offset: ClockOffset,
    },
    /// An agent is gone.
    Lost {
        /// Host name.
        host: String,
        /// How it was noticed.
        reason: String,
    },
    /// The user wants to stop.
    Interrupt,
}

/// What the threads of agents and signals pass on.
enum Said {
    /// An agent, by its place in the fleet.
    Agent(usize, Line),
    Interrupt,
}

enum Line {
    /// An event, and when it was read.
    Event(Box<Event>, i64),
    /// Something goes on while a host is being equipped.
    Sign(Sign),
    Unreadable(String),
    Refused(EquipError),
    End,
}

/// Lets others (signal handlers) interrupt a coordinator that waits for events.
#[derive(Clone)]
pub struct Interrupter {
    fleet: Sender<Said>,
    asked: Arc<AtomicBool>,
}

impl Interrupter {
    /// Makes the coordinator's next wait return `Incoming::Interrupt`. False when the fleet is gone, and
    /// there is nothing to interrupt.
    #[must_use]
    pub fn interrupt(&self) -> bool {
        self.asked.store(true, Ordering::Release);
        self.fleet.send(Said::Interrupt).is_ok()
    }

    /// Whether anybody has interrupted so far: for work that waits for other things than events.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// The agents of a run.
pub struct Fleet {
    agents: Vec<Agent>,
    said: Receiver<Said>,
    interrupter: Interrupter,
    /// When we last listened.
    listened: Instant,
    /// Agents have been told to leave, and say nothing any more.
    quitting: bool,
}

impl Default for Fleet {
    fn default() -> Self {
        let (fleet, said) = channel();
        let interrupter = Interrupter { fleet, asked: Arc::default() };
        Self { agents: Vec::new(), said, interrupter, listened: Instant::now(), quitting: false }
    }
}

impl Fleet {
    /// Something that interrupts a wait.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    /// Starts an agent on each host, all at once, and shakes hands with them. `afterwards`
    /// is about the program on hosts that it has to be copied to.
    ///
    /// # Errors
    /// When one of them has none, with every host's reason; no agent is left behind then.
    pub fn connect<'a>(
        &mut self,
        hosts: impl IntoIterator<Item = (&'a str, Way<'a>)>,
        afterwards: Afterwards,
    ) -> Result<(), FleetError> {
        let mut equipment = None;
        let mut unreachable = Vec::new();
        for (host, way) in hosts {
            let (command, equipment) = match way {
                Way::Local => (local::command(), None),
                Way::Ssh(configuration) => {
                    if equipment.is_none() {
                        let read = Equipment::of_this_program(afterwards).map_err(FleetError::Program)?;
                        equipment = Some((read.remote_command(), Arc::new(read)));
                    }
                    let Some((remote, program)) = &equipment else { continue };
                    (ssh::command(host, configuration, remote), Some(Arc::clone(program)))
                }
            };
            let say = agent::teller(self.agents.len(), self.interrupter.fleet.clone());
            match Agent::start(host, command, equipment, say) {
                Ok(agent) => self.agents.push(agent),
                Err(error) => {
                    unreachable.push((host.to_owned(), format!("could not start the agent: {error}")))
                }
            }
        }
        self.shake_hands(&mut unreachable)?;
        if unreachable.is_empty() { Ok(()) } else { Err(FleetError::Unreachable(unreachable)) }
    }

    fn shake_hands(&mut self, unreachable: &mut Vec<(String, String)>) -> Result<(), FleetError> {
        while self.agents.iter().any(|agent| !agent.ready && !agent.lost) {
            match self.receive(Duration::from_millis(100)) {
                Some(Incoming::Interrupt) => return Err(FleetError::Interrupted),
                Some(Incoming::Lost { host, reason }) => unreachable.push((host, reason)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Sends a job to one host.
    pub fn send(&self, host: &str, job: Job) {
        if let Some(agent) = self.agent(host) {
            agent.send(job);
        }
    }

    /// A host's clock minus ours, as known now.
    #[must_use]
    pub fn clock_offset(&self, host: &str) -> Option<ClockOffset> {
        self.agent(host)?.offset
    }

    fn agent(&self, host: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.host == host)
    }

    /// The next thing that happens, or `None` after `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> Option<Incoming> {
        self.forgive_standstill(Duration::ZERO);
        if let Some(lost) = self.notice_silence() {
            return Some(lost);
        }
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let said = self.said.recv_timeout(left);
            self.forgive_standstill(left);
            match said {
                Ok(Said::Interrupt) => return Some(Incoming::Interrupt),
                Ok(Said::Agent(place, line)) => {
                    if let Some(incoming) = self.understand(place, line) {
                        return Some(incoming);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return self.notice_silence();
                }
            }
        }
    }

    /// Gives every agent the time in which this process itself stood still: `expected` has passed since it
    /// last listened, or less.
    fn forgive_standstill(&mut self, expected: Duration) {
        let now = Instant::now();
        let stood = (now - self.listened).saturating_sub(expected);
        self.listened = now;
        if stood > STANDSTILL {
            self.agents.iter_mut().for_each(|agent| agent.heard += stood);
        }
    }

    fn understand(&mut self, place: usize, line: Line) -> Option<Incoming> {
        let agent = self.agents.get_mut(place).filter(|agent| !agent.lost)?;
        agent.heard = Instant::now();
        let host = agent.host.clone();
        match line {
            Line::Sign(sign) => {
                if sign == Sign::Reached {
                    agent.forget_complaints();
                }
                None
            }
            Line::Event(event, read_ns) => match *event {
                Event::Hello { protocol, version } => match Agent::refusal(&version, protocol) {
                    Some(reason) => Some(self.lose(place, reason)),
                    None => {
                        agent.forget_complaints();
                        agent.ready = true;
                        None
                    }
                },
                Event::Pong { sent_ns, agent_ns } => {
                    let measured = ClockOffset::from_round_trip(sent_ns, agent_ns, read_ns);
                    if agent.offset.is_some_and(|known| !measured.is_better_than(known)) {
                        return None;
                    }
                    agent.offset = Some(measured);
                    Some(Incoming::Clock { host, offset: measured })
                }
                event => Some(Incoming::Event { host, event }),
            },
            Line::Unreadable(text) => {
                let text = format!("the agent said something unreadable: {text}");
                Some(Incoming::Event { host, event: Event::Warning { text } })
            }
            Line::Refused(EquipError::Cut(_)) => Some(self.lose_connection(place)),
            Line::Refused(error) => {
                if matches!(error, EquipError::Failed(_)) {
                    let _ = agent.await_end(LAST_WORDS);
                }
                let reason = match agent.complaints() {
                    Some(said) => format!("{error}: {said}"),
                    None => error.to_string(),
                };
                Some(self.lose(place, reason))
            }
            Line::End => Some(self.lose_connection(place)),
        }
    }

    fn lose_connection(&mut self, place: usize) -> Incoming {
        let noticed = match self.agents[place].ready {
            true => "its output ended",
            false => "its connection ended without a word; does its login shell run commands?",
        };
        let reason = self.agents[place].explain(noticed, LAST_WORDS);
        self.lose(place, reason)
    }

    fn notice_silence(&mut self) -> Option<Incoming> {
        let silent =
            |agent: &Agent| agent.heard.elapsed() >= if agent.ready { SILENCE } else { CONNECT_SILENCE };
        let place = self.agents.iter().position(|agent| !self.quitting && !agent.lost && silent(agent))?;
        let seconds = self.agents[place].heard.elapsed().as_secs_f64();
        let mut noticed = format!("nothing heard for {seconds:.0} s");
        if !self.agents[place].ready {
            noticed += "; does its login shell wait for something?";
        }
        let reason = self.agents[place].explain(&noticed, Duration::ZERO);
        Some(self.lose(place, reason))
    }

    /// Gives an agent up. Where it is frozen or cut off, the end of its connection is the last it is told.
    fn lose(&mut self, place: usize, reason: String) -> Incoming {
        let agent = &mut self.agents[place];
        agent.lost = true;
        agent.end();
        Incoming::Lost { host: agent.host.clone(), reason }
    }

    /// Ends the agents in good order, and by force if they take too long.
    pub fn quit(mut self) {
        self.quitting = true;
        for agent in &mut self.agents {
            agent.send(Job::Quit);
            agent.close();
        }
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline {
            // An interrupt now means: at once.
            let interrupted = matches!(self.receive(Duration::from_millis(10)), Some(Incoming::Interrupt));
            let ended = |agent: &mut Agent| agent.lost || matches!(agent.child.try_wait(), Ok(Some(_)));
            if interrupted || self.agents.iter_mut().all(ended) {
                return;
            }
        }
    }
}

impl Drop for Fleet {
    /// Ends agents that still run; their servers die with them.
    fn drop(&mut self) {
        self.agents.iter_mut().for_each(Agent::end);
    }
}
