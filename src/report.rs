//! What people read: tables and charts made from analyses, and from nothing else.

pub mod chart;
mod devices;
mod document;
mod environments;
mod fleet;
mod fleet_charts;
mod grid;
mod html;
mod imported;
mod json;
mod load;
mod machine;
pub mod number;
mod run_charts;
#[cfg(test)]
mod sample;
mod sweep;
mod table;
pub mod visible;
mod wear;

use std::fmt;
use std::str::FromStr;

use crate::analysis::ResultAnalysis;
pub use environments::{environments_as_json, render_environments};

/// A form of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for a terminal or a mail, 100 columns wide at most as long as its numbers permit.
    Table,
    /// One self-contained page for a browser or a printer.
    Html,
    /// For programs; versioned by its `schema`.
    Json,
}

impl Format {
    /// Every format, for messages that list the choices.
    pub const ALL: [Format; 3] = [Format::Table, Format::Html, Format::Json];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Html => "html",
            Format::Json => "json",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = ReportError;

    fn from_str(name: &str) -> Result<Self, ReportError> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| ReportError::UnknownFormat { name: name.to_owned() })
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A format that does not exist.
    #[error("unknown report format \"{name}\": use table, html or json")]
    UnknownFormat {
        /// As it was given.
        name: String,
    },
    /// The drawing library refused a chart.
    #[error("chart \"{title}\" cannot be drawn: {cause}")]
    Chart {
        /// Its title.
        title: String,
        /// What the library said.
        cause: String,
    },
    /// The page does not fit its template.
    #[error("html page cannot be rendered: {0}")]
    Page(#[from] minijinja::Error),
    /// The figures cannot be written as JSON.
    #[error("json report cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes results, in the order given, as one report.
///
/// # Errors
/// When a chart, the page or the JSON cannot be written. Figures never cause that, whatever they are:
/// one that is not finite is shown as missing.
pub fn render(format: Format, results: &[ResultAnalysis]) -> Result<String, ReportError> {
    match format {
        Format::Table => Ok(table::render(results)),
        Format::Html => html::render(results),
        Format::Json => json::render(results),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_makes_a_report_panic() {
        crate::analysis::hostile::each_hostile_result(|result| {
            for format in Format::ALL {
                render(format, std::slice::from_ref(result)).unwrap();
            }
        });
    }

    #[test]
    fn formats_are_found_by_their_names() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        let error = "pdf".parse::<Format>().unwrap_err().to_string();
        assert_eq!(error, "unknown report format \"pdf\": use table, html or json");
    }
}
