//! Agents as the coordinator sees them: started, pinged, listened to, ended.
//!
//! On this machine an agent is a child process. Bare metal is a fleet of one: one code path.

pub mod clock;
pub mod local;
pub mod vms;

use std::io::Write as _;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::protocol::clock::monotonic_ns;
use crate::protocol::{Event, Job};
use clock::ClockOffset;

/// Interval of pings.
const PING: Duration = Duration::from_secs(1);
/// An agent that has been silent for so long is lost.
const SILENCE: Duration = Duration::from_secs(8);
/// Longest wait for an agent to leave by itself.
const FAREWELL: Duration = Duration::from_secs(20);

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The program could not be started.
    #[error("could not start the agent: {0}")]
    Start(std::io::Error),
    /// It did not say hello, or speaks another version.
    #[error("the agent on {host} did not answer as expected: {reason}")]
    Handshake {
        /// Which host.
        host: String,
        /// What came instead.
        reason: String,
    },
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

/// What a reader thread passes on.
pub(crate) enum Line {
    /// An event, and when it was read.
    Event(Event, i64),
    Unreadable(String),
    End,
    Interrupt,
}

/// Lets others (signal handlers) interrupt a coordinator that waits for events.
#[derive(Clone)]
pub struct Interrupter(Sender<Line>);

impl Interrupter {
    /// Makes the coordinator's next wait return `Incoming::Interrupt`. False when the fleet is gone, and
    /// there is nothing to interrupt.
    #[must_use]
    pub fn interrupt(&self) -> bool {
        self.0.send(Line::Interrupt).is_ok()
    }
}

/// The agents of a run; one, for now.
pub struct Fleet {
    host: String,
    child: Child,
    /// Shared with the thread that pings. `None` once closed.
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    lines: Receiver<Line>,
    sender: Sender<Line>,
    /// How long we have listened in vain. Time in which this process itself stood still does not count.
    quiet: Duration,
    offset: Option<ClockOffset>,
    lost: bool,
}

impl Fleet {
    pub(crate) fn new(host: String, child: Child, stdin: ChildStdin) -> Self {
        let (sender, lines) = channel();
        let stdin = Arc::new(Mutex::new(Some(stdin)));
        Self { host, child, stdin, lines, sender, quiet: Duration::ZERO, offset: None, lost: false }
    }

    pub(crate) fn sender(&self) -> Sender<Line> {
        self.sender.clone()
    }

    /// Starts pinging. Ends by itself when the agent's input is closed.
    pub(crate) fn start_pinging(&self) {
        let stdin = Arc::clone(&self.stdin);
        thread::spawn(move || {
            while write_job(&stdin, &Job::Ping { sent_ns: monotonic_ns() }) {
                thread::sleep(PING);
            }
        });
    }

    /// Something that interrupts a wait.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.sender())
    }

    /// Sends a job. An agent that is gone is noticed by its silence, not here.
    pub fn send(&self, job: &Job) {
        write_job(&self.stdin, job);
    }

    /// Name of the host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Agent's clock minus ours, as known now.
    #[must_use]
    pub fn clock_offset(&self) -> Option<ClockOffset> {
        self.offset
    }

    /// The next thing that happens, or `None` after `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> Option<Incoming> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(incoming) = self.understand(line) {
                        return Some(incoming);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    self.quiet += timeout;
                    return self.notice_silence();
                }
            }
        }
    }

    fn understand(&mut self, line: Line) -> Option<Incoming> {
        if !matches!(line, Line::Interrupt) {
            self.quiet = Duration::ZERO;
        }
        match line {
            Line::Event(Event::Pong { sent_ns, agent_ns }, read_ns) => {
                let measured = ClockOffset::from_round_trip(sent_ns, agent_ns, read_ns);
                if self.offset.is_some_and(|known| known.bound_ns <= measured.bound_ns) {
                    return None;
                }
                self.offset = Some(measured);
                Some(Incoming::Clock { host: self.host.clone(), offset: measured })
            }
            Line::Event(event, _) => Some(Incoming::Event { host: self.host.clone(), event }),
            Line::Unreadable(text) => {
                let text = format!("the agent said something unreadable: {text}");
                Some(Incoming::Event { host: self.host.clone(), event: Event::Warning { text } })
            }
            Line::Interrupt => Some(Incoming::Interrupt),
            Line::End => self.lose("its output ended".to_owned()),
        }
    }

    fn notice_silence(&mut self) -> Option<Incoming> {
        if self.quiet < SILENCE {
            return None;
        }
        self.lose(format!("nothing heard for {:.0} s", self.quiet.as_secs_f64()))
    }

    /// Reports the loss once, with the process's end if it has one.
    fn lose(&mut self, noticed: String) -> Option<Incoming> {
        if std::mem::replace(&mut self.lost, true) {
            return None;
        }
        thread::sleep(Duration::from_millis(50));
        let reason = match self.child.try_wait() {
            Ok(Some(status)) => format!("{noticed} ({status})"),
            _ => noticed,
        };
        Some(Incoming::Lost { host: self.host.clone(), reason })
    }

    /// Ends the agent in good order, and by force if it takes too long.
    pub fn quit(mut self) {
        self.send(&Job::Quit);
        self.close();
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline {
            // An interrupt now means: at once.
            let interrupted = matches!(self.receive(Duration::from_millis(10)), Some(Incoming::Interrupt));
            if interrupted || matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
        }
    }

    fn close(&self) {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Fleet {
    /// Kills the agent if it still runs; its server dies with it.
    fn drop(&mut self) {
        self.close();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_job(stdin: &Mutex<Option<ChildStdin>>, job: &Job) -> bool {
    let Ok(mut line) = serde_json::to_vec(job) else { return false };
    line.push(b'\n');
    match stdin.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(stdin) => stdin.write_all(&line).is_ok(),
        None => false,
    }
}
