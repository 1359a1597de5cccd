//! A scratch lab: a folder with profiles, a directory to put under test, and the program run in it.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::binary::DRIVESTONE;
use super::processes::{self, until};
use super::require::require;
use super::running::Running;
use super::template;

/// Longest wait for a whole run. A limit for a machine that hangs, not a measure of speed.
pub const PATIENCE: Duration = Duration::from_secs(240);
/// Load threads of the profile.
pub const THREADS: u64 = 8;

/// The device under test and the smallest buffer pool that a server accepts with pages of 16 KiB.
const HARDWARE: &str = "\
name: lab
description: A scratch directory
device:
  path: ./d
  create: true
memory:
  buffer_pool: 6MiB
";
const PROFILE: &str = "\
name: tiny
description: Four small tables
workload:
  kind: oltp_read_write
  keys: uniform
dataset:
  tables: 4
  rows: 10000
load:
  threads: 8
  warmup: 1s
  duration: 3s
server:
  log_file_size: 16MiB
";

/// A folder with `hardware.yaml`, `profile.yaml` and room for results. Its processes and files end with it.
pub struct Lab {
    folder: TempDir,
}

impl Lab {
    /// An empty lab, or None after saying that the test is skipped.
    pub fn new() -> Option<Self> {
        require("mariadbd")?;
        Some(Self::without_server())
    }

    /// A lab for tests that start no server.
    pub fn without_server() -> Self {
        let folder = tempfile::tempdir_in(base()).unwrap();
        // The server's account has to pass it.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let lab = Self { folder };
        lab.write("hardware.yaml", HARDWARE);
        lab.write("profile.yaml", PROFILE);
        lab
    }

    /// A lab whose dataset is loaded, or None after saying that the test is skipped.
    pub fn loaded() -> Option<Self> {
        let lab = Self::new()?;
        template::copy_into(&lab);
        Some(lab)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// The hardware profile with one line replaced by another.
    pub fn edit(&self, name: &str, line: &str, with: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(line), "{name} has no {line:?}");
        self.write(name, &text.replacen(line, with, 1));
    }

    /// `drivestone ARGUMENTS…` with the lab as its working directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(DRIVESTONE);
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts `drivestone run` on the lab's profiles.
    pub fn start(&self, out: &str, overrides: &[&str]) -> Running {
        let mut arguments = vec!["run", "hardware.yaml", "profile.yaml", "--out", out];
        arguments.extend(overrides.iter().flat_map(|change| ["--set", change]));
        self.start_with(out, &arguments)
    }

    /// Starts it with other arguments; its output goes to files named after `out`.
    pub fn start_with(&self, out: &str, arguments: &[&str]) -> Running {
        self.start_command(out, self.command(arguments))
    }

    /// Starts a command; its output goes to files named after `out`.
    pub fn start_command(&self, out: &str, mut command: Command) -> Running {
        let name = out.replace('/', "-");
        let (stdout, stderr) = (self.path(&format!("{name}.stdout")), self.path(&format!("{name}.stderr")));
        let child = command
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        Running { child, stdout, stderr }
    }

    /// Runs the lab's profiles to the end that is expected, and sees that nothing is left running.
    pub fn run(&self, out: &str, overrides: &[&str]) -> Value {
        let mut running = self.start(out, overrides);
        let status = running.wait(PATIENCE);
        assert!(status.success(), "{status}\n{}", running.told());
        self.nothing_left();
        self.result(out)
    }

    /// `report --format json` of one result.
    pub fn result(&self, out: &str) -> Value {
        let output = self.output(&["report", out, "--format", "json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["schema"], 1);
        report["results"][0].clone()
    }

    /// Waits until no process works in this lab any more.
    pub fn nothing_left(&self) {
        let left = || processes::of(self.folder.path());
        assert!(until(PATIENCE, || left().is_empty()), "still running: {:#?}", left());
    }

    /// Every path in the lab with size and time of its last change, in order.
    pub fn listing(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(self.folder.path(), &mut found);
        found.sort();
        found
    }

    /// The folder of the lab's only dataset.
    pub fn dataset(&self) -> PathBuf {
        let mut entries = fs::read_dir(self.path("d/drivestone")).unwrap();
        let first = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none(), "more than one dataset");
        first
    }
}

impl Drop for Lab {
    /// A failed test leaves nothing running either.
    fn drop(&mut self) {
        processes::end(&processes::of(self.folder.path()));
    }
}

/// Where labs are made: with the build, unless that path is too long for a server's socket or closed to
/// the server's account.
fn base() -> PathBuf {
    /// Leaves room for a lab's own part of the 107 bytes of a socket's path.
    const LONGEST: usize = 50;
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let open =
        |folder: &Path| fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0);
    let fits = build.as_os_str().len() <= LONGEST && build.ancestors().all(open);
    if fits { build.to_path_buf() } else { PathBuf::from("/var/tmp") }
}

fn list(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        into.push(format!("{} {} {:?}", path.display(), metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            list(&path, into);
        }
    }
}

/// The code of a process that ended by itself.
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| panic!("{status}"))
}

/// The result's first run.
pub fn first_run(result: &Value) -> &Value {
    assert!(result["runs"][0].is_object(), "no run in {result}");
    &result["runs"][0]
}

/// Whether a finding holds: true, false or null.
pub fn holds<'a>(run: &'a Value, id: &str) -> &'a Value {
    let findings = run["findings"].as_array().unwrap();
    &findings.iter().find(|finding| finding["id"] == id).unwrap_or_else(|| panic!("no {id}"))["holds"]
}

/// A number of the report that must be there.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}
