//! The only place that writes to standard output and standard error.

use std::io::{self, Write as _};

use super::exit::{self, Failure};

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

/// A terminal that has gone must not end a run: `eprintln!` would panic.
fn print_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
