//! The few steps between an agent and its server's program.
//!
//! The agent starts its own program again as `drivestone server-shim PARENT PROGRAM ARGS…`, already
//! under the target account. The shim asks the kernel to kill it when its parent dies (changing the
//! account would clear that request, so it comes after), makes sure that the parent has not died
//! meanwhile, and becomes the server.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// First argument that turns the program into the shim.
pub const COMMAND: &str = "server-shim";

/// Becomes the server. Returns only if that fails.
pub fn become_server(arguments: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut arguments = arguments.into_iter();
    let parent = arguments.next().and_then(|a| a.to_str().and_then(|a| a.parse::<i32>().ok()));
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        return io::Error::new(io::ErrorKind::InvalidInput, "usage: server-shim PARENT PROGRAM ARGS…");
    };
    if let Err(error) = set_pdeathsig(Signal::SIGKILL) {
        return error.into();
    }
    if getppid().as_raw() != parent {
        return io::Error::other("the agent has gone");
    }
    Command::new(program).args(arguments).exec()
}

/// A command that runs `program` through the shim, in a process group of its own.
#[must_use]
pub fn command(program: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(COMMAND).arg(std::process::id().to_string()).arg(program).process_group(0);
    command
}
