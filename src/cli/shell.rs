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

/// Prints the manual page: the program's, then each subcommand's.
pub fn man() -> Result<(), Failure> {
    let mut text = Vec::new();
    let mut command = Arguments::command();
    command.build();
    let failed = |error: std::io::Error| Failure::new(exit::USAGE, error);
    clap_mangen::Man::new(command.clone()).render(&mut text).map_err(failed)?;
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        let page = clap_mangen::Man::new(subcommand.clone());
        page.render_synopsis_section(&mut text).map_err(failed)?;
        page.render_description_section(&mut text).map_err(failed)?;
        page.render_options_section(&mut text).map_err(failed)?;
    }
    output::print(&String::from_utf8_lossy(&text))
}
