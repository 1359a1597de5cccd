//! `drivestone report`

use std::path::Path;

use super::arguments::{Format, Report};
use super::exit::{self, Failure};
use super::output;
use crate::analysis::{ResultAnalysis, Source, analyze, analyze_redacted};
use crate::durable;
use crate::report;
use crate::result::bundle;
use crate::result::redact::Redaction;

/// Reports results.
pub fn report(arguments: &Report) -> Result<(), Failure> {
    let redaction = arguments.redact.then(|| Redaction::of_results(&arguments.results)).transpose()?;
    let analyzed = arguments.results.iter().map(|path| match &redaction {
        Some(redaction) => analyze_redacted(path, redaction),
        None => analyze(path),
    });
    let results = analyzed.collect::<Result<Vec<_>, _>>()?;
    if arguments.redact && results.iter().any(|result| matches!(result.source, Source::Imported(_))) {
        output::warning("what imported logs say of hosts and drives is not redacted; look at the report");
    }
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

/// A report must not take the place of what it is made from.
fn refuse_result_files(path: &Path) -> Result<(), Failure> {
    // The path itself, or the folder that it is in.
    let is_of_a_result = |path: &Path| {
        path.file_name().is_some_and(|name| bundle::FILES.iter().any(|file| name == *file))
            && bundle::is_result(durable::folder_of(path))
    };
    match path.ancestors().take(2).any(is_of_a_result) {
        false => Ok(()),
        true => Err(Failure::new(
            exit::USAGE,
            format!("--out {}: is part of a result; choose another name", path.display()),
        )),
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
    refuse_result_files(path)?;
    let written = match std::fs::metadata(path) {
        // A device, a pipe: written to, not replaced.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => std::fs::write(path, &text),
        _ => durable::write(path, text.as_bytes()),
    };
    written.map_err(|error| Failure::new(exit::USAGE, format!("{}: {error}", path.display())))
}
