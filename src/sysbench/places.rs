//! Where figures stand in a log, for refusing them.

use std::collections::BTreeMap;

use super::SysbenchError;

/// The places of a run's figures.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The file's name.
    pub file: String,
    /// Line of each interval.
    pub intervals: Vec<usize>,
    /// Line of each figure of the summary and the head, by its label.
    pub figures: BTreeMap<&'static str, usize>,
}

impl Places {
    /// A file of which nothing but the name is known.
    pub fn of_file(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Refuses a figure of the summary or the head.
    pub fn refuse(&self, field: &'static str, value: impl ToString, expected: String) -> SysbenchError {
        impossible(&self.file, self.figures.get(field).copied(), field, value, expected)
    }

    /// Refuses a figure of an interval, given by its place in the run.
    pub fn refuse_interval(
        &self,
        interval: usize,
        field: &str,
        value: impl ToString,
        expected: String,
    ) -> SysbenchError {
        impossible(&self.file, self.intervals.get(interval).copied(), field, value, expected)
    }
}

/// A figure that cannot be.
pub fn impossible(
    file: &str,
    line: Option<usize>,
    field: &str,
    value: impl ToString,
    expected: impl Into<String>,
) -> SysbenchError {
    SysbenchError::Impossible {
        place: line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
        field: field.to_owned(),
        value: value.to_string(),
        expected: expected.into(),
    }
}
