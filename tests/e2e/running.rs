//! A `drivestone run` in progress.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::lab::PATIENCE;
use super::processes::{self, Process, until};

/// Its process, and the files its output goes to.
pub struct Running {
    pub child: Child,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
}

impl Running {
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        processes::signal(self.pid(), signal);
    }

    /// What it has written to standard error so far.
    pub fn told(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).unwrap()).into_owned()
    }

    /// What it has written to standard output so far.
    pub fn printed(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap()
    }

    /// Waits for a text on standard error; panics when the program ends without it.
    pub fn await_told(&mut self, text: &str) {
        let mut ended = false;
        let found = until(PATIENCE, || {
            ended = self.child.try_wait().unwrap().is_some();
            self.told().contains(text) || ended
        });
        assert!(found && self.told().contains(text), "no {text:?} (ended: {ended}) in:\n{}", self.told());
    }

    /// Waits for its end.
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let mut status = None;
        until(limit, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap_or_else(|| panic!("still running after {limit:?}:\n{}", self.told()))
    }

    /// Its agent.
    pub fn agent(&self) -> Option<Process> {
        processes::children(self.pid()).into_iter().find(|process| process.command.ends_with(" agent "))
    }

    /// Its server.
    pub fn server(&self) -> Option<Process> {
        let agent = self.agent()?;
        processes::children(agent.pid).into_iter().find(Process::is_server)
    }

    /// Ends of the measured seconds that it has shown, whole seconds.
    pub fn seconds_shown(&self) -> Vec<i64> {
        let told = self.told();
        let complete = told.rsplit_once('\n').map_or("", |(lines, _)| lines);
        complete
            .lines()
            .filter_map(|line| line.strip_prefix("[ ")?.split_once("s ]")?.0.parse().ok())
            .collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
