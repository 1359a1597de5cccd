//! Exit codes, the same for every subcommand.

use crate::fleet::FleetError;
use crate::fleet::vms::VmsError;
use crate::report::ReportError;
use crate::result::{Ending, ResultError};
use crate::run::{Finish, RunError, Stage};
use crate::spec::SpecError;

/// A file or argument cannot be used.
pub const USAGE: u8 = 2;
/// A profile or plan is refused.
pub const REFUSED: u8 = 3;
/// Server or dataset could not be prepared.
pub const PREPARING: u8 = 4;
/// A run failed or is incomplete.
pub const RUN: u8 = 5;
/// Stopped by its user.
pub const INTERRUPTED: u8 = 130;

/// Why the program ends, and with which code. An empty message has been told already.
#[derive(Debug)]
pub struct Failure {
    /// For the user, on standard error.
    pub message: String,
    /// Exit code.
    pub code: u8,
}

impl Failure {
    /// A failure with a message.
    pub fn new(code: u8, message: impl ToString) -> Self {
        Self { message: message.to_string(), code }
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Failure::new(REFUSED, error)
    }
}

impl From<ResultError> for Failure {
    fn from(error: ResultError) -> Self {
        Failure::new(USAGE, error)
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Failure::new(USAGE, error)
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        let code = if matches!(error, FleetError::Interrupted) { INTERRUPTED } else { PREPARING };
        Failure::new(code, error)
    }
}

impl From<VmsError> for Failure {
    fn from(error: VmsError) -> Self {
        match error {
            error if error.is_interrupt() => Failure::new(INTERRUPTED, error),
            VmsError::Refused(reasons) => Failure::new(REFUSED, reasons.join("\nerror: ")),
            error => Failure::new(PREPARING, error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match &error {
            RunError::Bundle(_) => USAGE,
            RunError::Interrupted => INTERRUPTED,
            RunError::Probe { .. } => PREPARING,
        };
        Failure::new(code, error)
    }
}

/// The code for how a run ended, if it is not success.
pub fn after(finish: &Finish) -> Option<Failure> {
    let code = match (finish.ending, finish.stage) {
        (Ending::Complete, _) => return None,
        (Ending::Interrupted, _) => INTERRUPTED,
        (Ending::Failed, Stage::Preparing) => PREPARING,
        (Ending::Failed, Stage::Running) => RUN,
    };
    let mut message = finish.reason.clone().unwrap_or_default();
    if let Some(log_tail) = &finish.log_tail {
        message += &format!("\nend of the server's log:\n{log_tail}");
    }
    Some(Failure { message, code })
}
