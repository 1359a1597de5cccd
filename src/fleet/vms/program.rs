//! Runs a program with a time limit, and ends it when the user interrupts.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which the end of a program, its time limit and an interrupt are looked for.
const POLL: Duration = Duration::from_millis(20);

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
    let stdout = read_all(child.stdout.take());
    let stderr = read_all(child.stderr.take());
    let started = Instant::now();
    let failure = loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let collect = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
                let stderr = String::from_utf8_lossy(&collect(stderr)).trim().to_owned();
                return Ok(Ended { status, stdout: collect(stdout), stderr });
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

fn read_all(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
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
