//! Two environments beside each other, as text.

use super::ReportError;
use super::table::{fact_table, wrapped};
use super::visible::visible;
use crate::analysis::{EnvironmentComparison, EnvironmentDifference};

/// The comparison for programs.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn environments_as_json(comparison: &EnvironmentComparison) -> Result<String, ReportError> {
    Ok(serde_json::to_string_pretty(comparison)? + "\n")
}

/// Said where a result tells nothing.
const NOTHING: &str = "-";

/// What two environments differ in, for a terminal.
#[must_use]
pub fn render_environments(comparison: &EnvironmentComparison) -> String {
    let EnvironmentComparison { results: [a, b], compared, differences } = comparison;
    let mut blocks = vec![format!("A  {a}\nB  {b}\n")];
    blocks.push(match differences.len() {
        0 => wrapped(&format!("The environments are the same in all {compared} facts.")),
        n => wrapped(&format!("{n} of {compared} facts differ.")),
    });
    let mut rest = differences.as_slice();
    while let Some(first) = rest.first() {
        let (group, others) = rest.split_at(rest.partition_point(|d| d.group == first.group));
        rest = others;
        let value = |value: &Option<String>| value.as_deref().unwrap_or(NOTHING).to_owned();
        let row = |d: &EnvironmentDifference| [d.fact.clone(), value(&d.values[0]), value(&d.values[1])];
        blocks.push(fact_table([&first.group, "A", "B"], group.iter().map(row)));
    }
    visible(&blocks.join("\n"))
}
