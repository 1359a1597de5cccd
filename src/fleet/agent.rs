//! One agent as the coordinator sees it: its process (an agent's own, or ssh's), what it is told and what it says.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::clock::ClockOffset;
use super::equip::Equipment;
use super::{Line, Said, ssh};
use crate::protocol::clock::monotonic_ns;
use crate::protocol::{Event, Job, PROTOCOL_VERSION};

/// Interval of pings.
const PING: Duration = Duration::from_secs(1);
/// The first pings come faster: the best of them tells the clock.
const FIRST_PING: Duration = Duration::from_millis(20);
const FIRST_PINGS: u32 = 10;
/// What is kept of standard error.
const TAIL_BYTES: usize = 4096;

/// End of a standard error, and who reads it.
struct Complaints {
    tail: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

/// One agent.
pub(super) struct Agent {
    pub host: String,
    pub child: Child,
    /// `None` once it was told everything.
    jobs: Option<Sender<Job>>,
    /// End of what ssh, or an agent beyond it, wrote to standard error.
    complaints: Option<Complaints>,
    /// When it last said something. Time in which this process itself stood still does not count.
    pub heard: Instant,
    pub offset: Option<ClockOffset>,
    /// It has said hello.
    pub ready: bool,
    pub lost: bool,
}

impl Agent {
    /// Starts its process and the threads that speak with it. With `equipment`, the other side is a shell
    /// on another host, and its complaints are kept to explain a failure.
    pub fn start(
        host: &str,
        mut command: Command,
        equipment: Option<Arc<Equipment>>,
        say: impl Fn(Line) -> bool + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        if equipment.is_some() {
            command.stderr(Stdio::piped());
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("its pipes are missing"));
        };
        let complaints = child.stderr.take().map(keep_tail);
        let (jobs, outgoing) = channel();
        thread::spawn(move || converse(stdin, stdout, equipment.as_deref(), outgoing, &say));
        let host = host.to_owned();
        let heard = Instant::now();
        Ok(Self { host, child, jobs: Some(jobs), complaints, heard, offset: None, ready: false, lost: false })
    }

    /// Passes a job on. An agent that is gone is noticed by its silence, not here.
    pub fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }

    /// What ssh and the other side have complained of since the last step, with what can be done.
    pub fn complaints(&self) -> Option<String> {
        let said = self.complaints.as_ref()?.tail.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(ssh::explain(&self.host, &said)).filter(|said| !said.is_empty())
    }

    /// What a login shell complained of explains nothing that comes later.
    pub fn forget_complaints(&self) {
        if let Some(complaints) = &self.complaints {
            complaints.tail.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Closes its input once everything is written.
    pub fn close(&mut self) {
        self.jobs = None;
    }

    /// Ends its process; its server dies with it, beyond ssh as soon as it notices.
    pub fn end(&mut self) {
        self.close();
        // Its whole group: ssh has helpers of its own, such as the one that goes through a jump host.
        if matches!(self.child.try_wait(), Ok(None)) {
            let group = i32::try_from(self.child.id()).map(Pid::from_raw);
            let _ = group.map(|group| killpg(group, Signal::SIGKILL));
        }
        let _ = self.child.wait();
    }

    /// Waits, but no longer than `patience`, for the end of the process and of its complaints, which may come
    /// a moment after its last word.
    pub fn await_end(&mut self, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        let all_said = |agent: &Self| agent.complaints.as_ref().is_none_or(|told| told.reader.is_finished());
        let mut status = self.child.try_wait();
        while (matches!(status, Ok(None)) || !all_said(self)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
            status = self.child.try_wait();
        }
        status
    }

    /// What was noticed, with what its process has to say about it within `patience`.
    pub fn explain(&mut self, noticed: &str, patience: Duration) -> String {
        let status = self.await_end(patience);
        match (self.complaints(), status) {
            // Before there was an agent, ssh's own words say it all.
            (Some(said), _) if !self.ready => said,
            (Some(said), _) => format!("{noticed}: {said}"),
            (None, Ok(Some(status))) => format!("{noticed} ({status})"),
            (None, _) => noticed.to_owned(),
        }
    }

    /// Why an agent that says hello like this cannot be used.
    pub fn refusal(version: &str, protocol: u32) -> Option<String> {
        (protocol != PROTOCOL_VERSION).then(|| {
            format!("it is drivestone {version} with protocol {protocol}; this one speaks {PROTOCOL_VERSION}")
        })
    }
}

/// Equips the other side if need be, then speaks and listens until the output ends.
fn converse(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    equipment: Option<&Equipment>,
    outgoing: Receiver<Job>,
    say: &(impl Fn(Line) -> bool + Clone + Send + 'static),
) {
    let mut stdout = BufReader::new(stdout);
    if let Some(equipment) = equipment
        && let Err(error) = equipment.hand_over(&mut stdout, &mut stdin, &|sign| {
            say(Line::Sign(sign));
        })
    {
        say(Line::Refused(error));
        return;
    }
    thread::spawn(move || speak(stdin, &outgoing));
    for line in stdout.lines() {
        let Ok(line) = line else { break };
        let message = match serde_json::from_str::<Event>(&line) {
            Ok(event) => Line::Event(Box::new(event), monotonic_ns()),
            Err(error) => {
                Line::Unreadable(format!("{error}: {}", line.chars().take(200).collect::<String>()))
            }
        };
        if !say(message) {
            return;
        }
    }
    say(Line::End);
}

/// Writes jobs, and pings between them, until there are no more or nobody takes them. A thread of its own:
/// a host that stands still must not hold the others up.
fn speak(mut stdin: ChildStdin, outgoing: &Receiver<Job>) {
    let mut pings = 0;
    let mut next_ping = Instant::now();
    loop {
        let job = match outgoing.recv_timeout(next_ping.saturating_duration_since(Instant::now())) {
            Ok(job) => job,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                pings += 1;
                next_ping = Instant::now() + if pings < FIRST_PINGS { FIRST_PING } else { PING };
                Job::Ping { sent_ns: monotonic_ns() }
            }
        };
        let Ok(mut line) = serde_json::to_vec(&job) else { continue };
        line.push(b'\n');
        if stdin.write_all(&line).is_err() {
            return;
        }
    }
}

/// Reads standard error to its end; its last part can be looked at any time.
fn keep_tail(mut stderr: ChildStderr) -> Complaints {
    let tail = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&tail);
    let reader = thread::spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok(n @ 1..) = stderr.read(&mut bytes) {
            let mut tail = kept.lock().unwrap_or_else(PoisonError::into_inner);
            tail.push_str(&String::from_utf8_lossy(&bytes[..n]));
            let surplus = tail.len().saturating_sub(TAIL_BYTES);
            let cut = (surplus..=tail.len()).find(|&at| tail.is_char_boundary(at)).unwrap_or(0);
            tail.drain(..cut);
        }
    });
    Complaints { tail, reader }
}

/// What an agent's threads tell the fleet.
pub(super) fn teller(agent: usize, fleet: Sender<Said>) -> impl Fn(Line) -> bool + Clone + Send + 'static {
    move |line| fleet.send(Said::Agent(agent, line)).is_ok()
}
