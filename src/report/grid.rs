//! Tables beside the headline, whatever they show.

/// A table: its title, column headers, and formatted cells.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Grid {
    pub title: String,
    /// What a reader should know of its columns; empty for nothing.
    pub hint: &'static str,
    pub headers: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
    /// How many columns at the beginning are labels, not figures.
    pub labels: usize,
}
