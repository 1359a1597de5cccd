//! `drivestone env`

use std::path::Path;

use super::arguments::Env;
use super::exit::Failure;
use super::output;
use crate::analysis::compare_environments;
use crate::report;
use crate::result::redact::Redaction;

/// Shows what the environments of two results differ in.
pub fn env(arguments: &Env) -> Result<(), Failure> {
    let results: [&Path; 2] = [&arguments.first, &arguments.second];
    let redaction = arguments.redact.then(|| Redaction::of_results(&results)).transpose()?;
    let comparison = compare_environments(results, redaction.as_ref())?;
    output::print(&match arguments.json {
        true => report::environments_as_json(&comparison)?,
        false => report::render_environments(&comparison),
    })
}
