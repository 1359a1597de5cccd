//! Namespaces, the processes that hold them open, and programs run inside them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::e2e::processes::{self, Process};
use crate::e2e::require::require;

/// The kinds of namespace that are used here: name of the option of unshare and nsenter, and of the file
/// below `/proc/PID/ns`.
const KINDS: [(&str, &str); 4] = [("mount", "mnt"), ("net", "net"), ("uts", "uts"), ("ipc", "ipc")];

/// `program` by its path, for a test that has looked for it before.
pub fn tool(program: &str) -> PathBuf {
    require(program).expect("looked for before")
}

/// A program that is killed when the thread that starts it ends, however it ends.
pub fn mortal(program: &str) -> Command {
    let mut command = Command::new(tool("setpriv"));
    command.args(["--pdeathsig", "KILL"]).arg(tool(program));
    command
}

/// Runs a command that has to succeed, and returns what it prints.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that has to succeed with `input` on its standard input.
pub fn feed(command: &mut Command, input: &str) {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A process that only holds new namespaces of its own, until it is dropped.
pub struct Holder {
    child: Child,
    kinds: Vec<&'static str>,
}

impl Holder {
    /// Makes one namespace of each of these kinds, of `mount`, `net`, `uts` and `ipc`.
    pub fn new(kinds: &[&'static str]) -> Self {
        let options = kinds.iter().map(|kind| format!("--{kind}"));
        let mut child = mortal("unshare")
            .args(options)
            .arg(tool("cat"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // `cat` answers once unshare has made the namespaces and become it.
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).expect("unshare says why above");
        Self { child, kinds: kinds.to_vec() }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// `nsenter` into its namespaces; the program follows as arguments, and becomes the same process.
    pub fn enter(&self, command: &mut Command) {
        let entered = KINDS.iter().filter(|(kind, _)| self.kinds.contains(kind));
        command.args(entered.map(|(kind, file)| format!("--{kind}=/proc/{}/ns/{file}", self.pid())));
    }

    /// A program inside.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(tool("nsenter"));
        self.enter(&mut command);
        command.arg(program);
        command
    }

    /// Mounts inside.
    pub fn mount(&self, options: &[&str], what: &Path, place: &str) {
        run(self.command(&tool("mount")).args(options).arg(what).arg(place));
    }

    /// Runs `ip` inside, a command a line.
    pub fn ip(&self, lines: &str) {
        feed(self.command(&tool("ip")).args(["-batch", "-"]), lines);
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process's namespace, of the kind that `/proc/PID/ns` calls `file`; None for a process that is gone.
pub fn namespace(pid: i32, file: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/{file}")).ok()
}

/// The processes in a namespace.
pub fn members(file: &str, of: &Path) -> Vec<Process> {
    let inside = |process: &Process| namespace(process.pid, file).as_deref() == Some(of);
    processes::all().into_iter().filter(inside).collect()
}
