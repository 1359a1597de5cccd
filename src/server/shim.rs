//! The few steps between an agent and its server's program.
//!
//! The agent starts its own program again as `drivestone server-shim PARENT CPUS PROGRAM ARGS…`, already
//! under the target account. The shim asks the kernel to kill it when its parent dies (changing the
//! account would clear that request, so it comes after), makes sure that the parent has not died
//! meanwhile, keeps to the processors `CPUS` (numbers with commas; `all`), and becomes the server.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::cpus::keep_to;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// First argument that turns the program into the shim.
pub const COMMAND: &str = "server-shim";

/// In place of a list of processors.
const ALL: &str = "all";

/// Becomes the server. Returns only if that fails.
pub fn become_server(arguments: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut arguments = arguments.into_iter();
    let parent = arguments.next().and_then(|a| a.to_str().and_then(|a| a.parse::<i32>().ok()));
    let cpus = arguments.next().and_then(|list| numbers(list.to_str()?));
    let (Some(parent), Some(cpus), Some(program)) = (parent, cpus, arguments.next()) else {
        return io::Error::new(io::ErrorKind::InvalidInput, "usage: server-shim PARENT CPUS PROGRAM ARGS…");
    };
    if let Err(error) = set_pdeathsig(Signal::SIGKILL) {
        return error.into();
    }
    if getppid().as_raw() != parent {
        return io::Error::other("the agent has gone");
    }
    if let Err(error) = keep_to(&cpus) {
        let told = format!("it cannot be kept on the processors {cpus:?}: {error}");
        return io::Error::new(error.kind(), told);
    }
    Command::new(program).args(arguments).exec()
}

/// Processors of the argument.
fn numbers(list: &str) -> Option<Vec<u32>> {
    if list == ALL { Some(Vec::new()) } else { list.split(',').map(|number| number.parse().ok()).collect() }
}

/// A command that runs `program` through the shim, in a process group of its own, on these processors or, when
/// there are none, on all.
#[must_use]
pub fn command(program: &str, cpus: &[u32]) -> Command {
    let list = match cpus {
        [] => ALL.to_owned(),
        cpus => cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    };
    let mut command = Command::new("/proc/self/exe");
    command.arg(COMMAND).arg(std::process::id().to_string()).arg(list).arg(program).process_group(0);
    command
}
