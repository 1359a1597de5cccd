//! The agent on this machine: a child process running the same program.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use super::{Fleet, FleetError, Incoming, Line};
use crate::protocol::clock::monotonic_ns;
use crate::protocol::{Event, PROTOCOL_VERSION};

/// Longest wait for an agent's first line.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Name of this machine's agent in events and journals.
const HOST: &str = "local";

/// Starts an agent on this machine and shakes hands with it.
///
/// It gets a process group of its own, so that Ctrl-C reaches the coordinator first.
///
/// # Errors
/// When it cannot be started or does not answer as this version should.
pub fn start() -> Result<Fleet, FleetError> {
    let mut child = Command::new("/proc/self/exe")
        .arg("agent")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(FleetError::Start)?;
    let (stdin, stdout) = match (child.stdin.take(), child.stdout.take()) {
        (Some(stdin), Some(stdout)) => (stdin, stdout),
        _ => return Err(FleetError::Start(std::io::Error::other("its pipes are missing"))),
    };
    let mut fleet = Fleet::new(HOST.to_owned(), child, stdin);
    let sender = fleet.sender();
    thread::spawn(move || read_events(stdout, &sender));
    shake_hands(&mut fleet)?;
    fleet.start_pinging();
    Ok(fleet)
}

fn read_events(stdout: ChildStdout, sender: &Sender<Line>) {
    for line in BufReader::new(stdout).lines() {
        let Ok(line) = line else { break };
        let message = match serde_json::from_str(&line) {
            Ok(event) => Line::Event(event, monotonic_ns()),
            Err(error) => {
                Line::Unreadable(format!("{error}: {}", line.chars().take(200).collect::<String>()))
            }
        };
        if sender.send(message).is_err() {
            return;
        }
    }
    let _ = sender.send(Line::End);
}

fn shake_hands(fleet: &mut Fleet) -> Result<(), FleetError> {
    let refuse = |reason: String| FleetError::Handshake { host: HOST.to_owned(), reason };
    let deadline = Instant::now() + HELLO_TIMEOUT;
    while Instant::now() < deadline {
        match fleet.receive(Duration::from_millis(100)) {
            Some(Incoming::Event { event: Event::Hello { protocol, .. }, .. })
                if protocol == PROTOCOL_VERSION =>
            {
                return Ok(());
            }
            Some(Incoming::Event { event: Event::Hello { protocol, version }, .. }) => {
                return Err(refuse(format!(
                    "it is drivestone {version} with protocol {protocol}; this one speaks {PROTOCOL_VERSION}"
                )));
            }
            Some(Incoming::Lost { reason, .. }) => return Err(refuse(reason)),
            _ => {}
        }
    }
    Err(refuse(format!("nothing in {} s", HELLO_TIMEOUT.as_secs())))
}
