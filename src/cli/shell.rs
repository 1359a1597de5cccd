//! `drivestone completions` and `drivestone man`

use clap::CommandFactory as _;

use super::arguments::Arguments;
use super::exit::{self, Failure};
use super::output;

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "drivestone", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}

/// Prints the manual page of the program or of a subcommand.
pub fn man(subcommand: Option<&str>) -> Result<(), Failure> {
    let mut program = Arguments::command();
    program.build();
    let command = match subcommand {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::new(
                exit::USAGE,
                format!("there is no subcommand `{name}`; `drivestone --help` lists them"),
            )
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(|error| Failure::new(exit::USAGE, error))?;
    output::print(&String::from_utf8_lossy(&text))
}
