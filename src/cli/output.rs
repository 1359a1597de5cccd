//! The only place that writes to standard output and standard error.
#![expect(clippy::print_stderr, reason = "this is where messages are printed")]

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
    eprintln!("error: {text}");
}

/// A warning, on standard error.
pub fn warning(text: &str) {
    eprintln!("warning: {text}");
}

/// Progress and remarks, on standard error.
pub fn note(text: &str) {
    eprintln!("{text}");
}
