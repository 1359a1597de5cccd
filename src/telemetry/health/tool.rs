//! Running a tool that may hang, flood or fail, without waiting longer than told.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Where such tools are when `PATH` does not lead there, as that of a user who is not root.
const FURTHER: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];
/// More than any drive has to tell.
const LARGEST: u64 = 1 << 20;
const LOOK: Duration = Duration::from_millis(10);

/// The program of this name, by its absolute path; `None` when there is none.
pub fn find(name: &str) -> Option<PathBuf> {
    find_in(name, std::env::var_os("PATH").unwrap_or_default().as_os_str())
}

fn find_in(name: &str, path: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).chain(FURTHER.iter().map(PathBuf::from));
    let executable = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(executable)
}

/// What a tool printed, whatever it thought of it.
#[derive(Debug)]
pub struct Printed {
    pub output: Vec<u8>,
    /// First line of its errors.
    pub complaint: Option<String>,
}

/// Runs a program and waits for its end, but not beyond `deadline`: then it is killed with what it started.
///
/// # Errors
/// With what went wrong, in words.
pub fn run(program: &Path, arguments: &[&str], deadline: Instant) -> Result<Printed, String> {
    let name = program.file_name().unwrap_or_default().display().to_string();
    let started = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that its children can be ended with it.
        .process_group(0)
        .spawn();
    let mut child = started.map_err(|error| format!("{name} cannot be started: {error}"))?;
    let (output, errors) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let both = wait(&mut child, deadline).and_then(|()| {
        let left = || deadline.saturating_duration_since(Instant::now());
        Some((output.recv_timeout(left()).ok()?, errors.recv_timeout(left()).ok()?))
    });
    let Some((output, errors)) = both else {
        kill(child);
        return Err(format!("{name} did not answer in time"));
    };
    if output.len() as u64 > LARGEST {
        return Err(format!("{name} printed more than {} KiB", LARGEST >> 10));
    }
    let errors = String::from_utf8_lossy(&errors);
    let complaint = errors.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    Ok(Printed { output, complaint })
}

/// Reads a pipe to its end on a thread of its own, or until there is too much; the tool then finds it closed.
fn reader(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        // What was read before an error is what there is.
        let _ = pipe.map(|pipe| pipe.take(LARGEST + 1).read_to_end(&mut text));
        let _ = sender.send(text);
    });
    receiver
}

/// Waits for the end of a process; `None` when it does not end in time.
fn wait(child: &mut Child, deadline: Instant) -> Option<()> {
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(LOOK);
    }
    Some(())
}

/// Ends a process and its children. One that hangs in the kernel ends when that lets it go: nobody waits here.
fn kill(mut child: Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    thread::spawn(move || child.wait());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of these lines of shell.
    fn stub(folder: &Path, lines: &str) -> PathBuf {
        super::super::tests::stub(folder, "stub", lines)
    }

    fn ran(lines: &str, limit: Duration) -> Result<Printed, String> {
        let folder = tempfile::tempdir().unwrap();
        run(&stub(folder.path(), lines), &["a b", "$(c)"], Instant::now() + limit)
    }

    const PLENTY: Duration = Duration::from_secs(20);

    #[test]
    fn arguments_arrive_as_they_are_and_any_end_will_do() {
        let printed = ran("echo \"$1|$2|$LC_ALL\"; echo; echo '  oh dear ' >&2; exit 4", PLENTY).unwrap();
        assert_eq!(String::from_utf8(printed.output).unwrap(), "a b|$(c)|C\n\n");
        assert_eq!(printed.complaint.as_deref(), Some("oh dear"));
        let nothing_to_read = ran("cat; printf '\\377\\000'", PLENTY).unwrap();
        assert_eq!((nothing_to_read.output, nothing_to_read.complaint), (vec![255, 0], None));
    }

    #[test]
    fn one_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let lines = format!("sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait", pids.display());
        let program = stub(folder.path(), &lines);
        let began = Instant::now();
        let error = run(&program, &[], began + Duration::from_secs(1)).unwrap_err();
        assert_eq!(error, "stub did not answer in time");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        for pid in std::fs::read_to_string(pids).unwrap().split_whitespace() {
            let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let gone = || state().is_empty() || state().contains(") Z ");
            let deadline = Instant::now() + PLENTY;
            while !gone() {
                assert!(Instant::now() < deadline, "{}", state());
                thread::sleep(LOOK);
            }
        }
    }

    /// Its child keeps the pipe open.
    #[test]
    fn one_that_leaves_a_child_behind_is_not_waited_for() {
        let began = Instant::now();
        let error = ran("sleep 30 & exit 0", Duration::from_secs(1)).unwrap_err();
        assert_eq!(error, "stub did not answer in time");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn one_that_floods_is_cut_off() {
        let began = Instant::now();
        assert_eq!(ran("exec yes", PLENTY).unwrap_err(), "stub printed more than 1024 KiB");
        assert!(began.elapsed() < PLENTY);
    }

    #[test]
    fn one_that_is_no_program_says_so() {
        let error = run(Path::new("/no/such/smartctl"), &[], Instant::now() + PLENTY).unwrap_err();
        assert!(error.starts_with("smartctl cannot be started: "), "{error}");
    }

    #[test]
    fn programs_are_found_by_absolute_folders_alone() {
        let folder = tempfile::tempdir().unwrap();
        let program = stub(folder.path(), "true");
        std::fs::write(folder.path().join("text"), "").unwrap();
        let path = std::env::join_paths([Path::new("relative"), folder.path()]).unwrap();
        assert_eq!(find_in("stub", &path), Some(program));
        assert_eq!((find_in("text", &path), find_in("nothing-of-that-name", &path)), (None, None));
    }
}
