//! Arguments, subcommands, exit codes.

/// Entry point of the program.
#[must_use]
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
