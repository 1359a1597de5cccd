//! Arguments, subcommands, exit codes.

mod arguments;
mod check;
mod clean;
mod devices;
mod discover;
mod env;
mod exit;
mod import;
mod iostat;
mod machines;
mod output;
mod plan;
mod report;
mod request;
mod run;
mod screen;
mod shell;
mod signals;
mod terminal;

use std::io::BufReader;
use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};
use exit::Failure;

/// Entry point of the program.
#[must_use]
pub fn main() -> ExitCode {
    let mut raw = std::env::args_os().skip(1).peekable();
    if raw.peek().is_some_and(|first| first == crate::server::shim::COMMAND) {
        let error = crate::server::shim::become_server(raw.skip(1));
        output::error(&format!("the server could not be started: {error}"));
        return ExitCode::from(exit::PREPARING);
    }
    let arguments = Arguments::parse();
    match dispatch(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            if !message.is_empty() {
                output::error(&message);
            }
            ExitCode::from(code)
        }
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Check(what) => check::check(&what),
        Command::Plan { what, json } => plan::plan(&what, json),
        Command::Run(run) => run::run(&run),
        Command::Clean(arguments) => clean::clean(&arguments),
        Command::Report(report) => report::report(&report),
        Command::Devices(arguments) => devices::devices(&arguments),
        Command::Discover(arguments) => discover::discover(&arguments),
        Command::Env(arguments) => env::env(&arguments),
        Command::Iostat(arguments) => iostat::iostat(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { command } => shell::man(command.as_deref()),
        Command::Agent { remove_program } => {
            if remove_program {
                crate::agent::remove_program();
            }
            crate::agent::serve(BufReader::new(std::io::stdin()), std::io::stdout());
            Ok(())
        }
    }
}
