//! `drivestone report`

use std::path::Path;

use super::arguments::{Format, Report};
use super::exit::{self, Failure};
use super::output;
use crate::analysis::{ResultAnalysis, analyze};
use crate::durable;
use crate::report;

/// Reports results.
pub fn report(arguments: &Report) -> Result<(), Failure> {
    let results =
        arguments.results.iter().map(|path| Ok(analyze(path)?)).collect::<Result<Vec<_>, Failure>>()?;
    let format = match arguments.format.unwrap_or_else(|| named_by(arguments.out.as_deref())) {
        Format::Table => report::Format::Table,
        Format::Html => report::Format::Html,
        Format::Json => report::Format::Json,
    };
    match &arguments.out {
        None => output::print(&report::render(format, &results)?),
        Some(path) => write(path, format, &results),
    }
}

/// The format that a file's name asks for.
fn named_by(out: Option<&Path>) -> Format {
    match out.and_then(Path::extension).and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => Format::Html,
        Some("json") => Format::Json,
        _ => Format::Table,
    }
}

/// Writes one report into a file, whole or not at all.
pub fn write(path: &Path, format: report::Format, results: &[ResultAnalysis]) -> Result<(), Failure> {
    let text = report::render(format, results)?;
    durable::write(path, text.as_bytes())
        .map_err(|error| Failure::new(exit::USAGE, format!("{}: {error}", path.display())))
}
