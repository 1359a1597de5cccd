//! Printing: to standard output what was asked for, to standard error all the rest.

use std::io::{self, Write as _};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::exit::{self, Failure};
use crate::report::visible::visible;

/// Longest wait for standard error to take a text.
const PATIENCE: Duration = Duration::from_secs(2);

/// Prints to standard output. A reader that has gone (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(exit::USAGE, format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// An error, on standard error.
pub fn error(text: &str) {
    print_error(&format!("error: {text}\n"));
}

/// A warning, on standard error.
pub fn warning(text: &str) {
    print_error(&format!("warning: {text}\n"));
}

/// Progress and remarks, on standard error.
pub fn note(text: &str) {
    print_error(&format!("{text}\n"));
}

/// A terminal that has gone must not end a run (`eprintln!` would panic), and one that stands still must
/// not hold it: after a while the text is given up.
fn print_error(text: &str) {
    let text = visible(text);
    let (done, written) = channel();
    thread::spawn(move || {
        let _ = io::stderr().lock().write_all(text.as_bytes());
        let _ = done.send(());
    });
    let _ = written.recv_timeout(PATIENCE);
}
