//! Runs a program with a time limit, and ends it when the user interrupts.

use std::io::{ErrorKind, Read};
use std::mem;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which the end of a program, its time limit and an interrupt are looked for.
const POLL: Duration = Duration::from_millis(20);
/// Longest wait for the rest of what a program said, once it has ended: a process that it left behind may hold
/// the pipes for ever.
const REST: Duration = Duration::from_secs(2);

/// How a program ended that ended by itself.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code or signal.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, without white space at either end.
    pub stderr: String,
}

/// Why a program did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It could not be started.
    #[error("could not be started: {0}")]
    Start(std::io::Error),
    /// It took too long and was killed.
    #[error("did not end within {0} s")]
    Slow(u64),
    /// The user wants to stop, and it was killed.
    #[error("interrupted")]
    Interrupted,
}

/// Runs a program to its end, without input, its messages in English.
///
/// It gets a process group of its own, so that Ctrl-C reaches the coordinator alone.
///
/// # Errors
/// When it cannot be started, exceeds `limit`, or `interrupted` says so; it is then killed.
pub fn run(
    command: &mut Command,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Ended, ProgramError> {
    let mut child = command
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(ProgramError::Start)?;
    let stdout = Reader::start(child.stdout.take());
    let stderr = Reader::start(child.stderr.take());
    let started = Instant::now();
    let failure = loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let deadline = Instant::now() + REST;
                let collect = |pipe: &Reader| pipe.bytes(deadline, interrupted);
                let (stdout, stderr) = (collect(&stdout)?, collect(&stderr)?);
                let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
                return Ok(Ended { status, stdout, stderr });
            }
            Ok(None) if interrupted() => break ProgramError::Interrupted,
            Ok(None) if started.elapsed() > limit => break ProgramError::Slow(limit.as_secs()),
            Ok(None) => thread::sleep(POLL),
            Err(error) => break ProgramError::Start(error),
        }
    };
    // The readers are not waited for: a grandchild may still hold the pipes.
    let _ = child.kill();
    let _ = child.wait();
    Err(failure)
}

/// A thread that reads a pipe, and what it has read so far.
struct Reader {
    thread: thread::JoinHandle<()>,
    read: Arc<Mutex<Vec<u8>>>,
}

impl Reader {
    fn start(pipe: Option<impl Read + Send + 'static>) -> Self {
        let read = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&read);
        let thread = thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut part = [0; 8192];
            loop {
                match pipe.read(&mut part) {
                    Ok(0) => return,
                    Ok(length) => locked(&into).extend_from_slice(&part[..length]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Self { thread, read }
    }

    /// All that came, once the pipe is closed or the time is up.
    fn bytes(&self, deadline: Instant, interrupted: &dyn Fn() -> bool) -> Result<Vec<u8>, ProgramError> {
        while !self.thread.is_finished() && Instant::now() < deadline {
            if interrupted() {
                return Err(ProgramError::Interrupted);
            }
            thread::sleep(POLL);
        }
        Ok(mem::take(&mut locked(&self.read)))
    }
}

fn locked(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_what_a_program_says() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo ' err ' >&2; exit 3"]);
        let ended = run(&mut command, Duration::from_secs(20), &|| false).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!((ended.stdout.as_slice(), ended.stderr.as_str()), (b"out\n".as_slice(), "err"));
    }

    #[test]
    fn does_not_wait_for_what_a_program_left_behind() {
        // The process left behind ends by itself, later than anybody should wait for it.
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; sleep 12 & exit 4"]);
        let started = Instant::now();
        let ended = run(&mut command, Duration::from_secs(60), &|| false).unwrap();
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert_eq!(ended.status.code(), Some(4));
        assert_eq!((ended.stdout.as_slice(), ended.stderr.as_str()), (b"out\n".as_slice(), "err"));

        let started = Instant::now();
        // Not before the program itself has ended.
        let late = || started.elapsed() > Duration::from_secs(1);
        let interrupted = run(&mut command, Duration::from_secs(60), &late);
        assert!(matches!(interrupted, Err(ProgramError::Interrupted)), "{interrupted:?}");
    }

    #[test]
    fn ends_what_takes_too_long_or_is_interrupted() {
        let sleep = |limit, interrupted: &dyn Fn() -> bool| {
            run(Command::new("sleep").arg("60"), Duration::from_millis(limit), interrupted).unwrap_err()
        };
        assert!(matches!(sleep(100, &|| false), ProgramError::Slow(0)));
        assert!(matches!(sleep(60_000, &|| true), ProgramError::Interrupted));
        let missing = run(&mut Command::new("/nonexistent/program"), Duration::from_secs(1), &|| false);
        assert!(matches!(missing.unwrap_err(), ProgramError::Start(_)));
    }
}
