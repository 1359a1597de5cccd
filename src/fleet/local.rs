//! The agent on this machine: a child process running the same program.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Starts an agent on this machine, in a process group of its own, so that Ctrl-C reaches the
/// coordinator first.
#[must_use]
pub fn command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("agent").process_group(0);
    command
}
