//! The legend above a plot: as many rows as its names need.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::prepared::Prepared;
use super::svg::{DrawError, FONT, INK, SHADE, colour_of, text, text_width};
use super::{Chart, Style};

/// Height of a row, pixels.
pub(super) const HEIGHT: i32 = 38;
/// Width of a swatch.
const SWATCH: i32 = 34;

/// Entries that stand side by side.
pub(super) type LegendRow = Vec<Entry>;

/// A swatch and a name.
pub(super) struct Entry {
    x: i32,
    name: String,
    colour: RGBColor,
    filled: bool,
}

/// Entries for every series, and for what is shaded, in rows no wider than `width` pixels.
pub(super) fn rows(chart: &Chart, prepared: &Prepared, width: i32) -> Vec<LegendRow> {
    let series = chart.series.iter().zip(&prepared.series).map(|(series, places)| {
        let known = if places.is_empty() { " (no data)" } else { "" };
        (format!("{}{known}", series.name), colour_of(series), series.style == Style::Stacked)
    });
    let shaded = chart.shaded.iter().map(|shaded| (shaded.label.clone(), SHADE, true));
    let mut rows: Vec<LegendRow> = Vec::new();
    let mut x = width;
    for (name, colour, filled) in series.chain(shaded) {
        let needed = SWATCH + 12 + text_width(&name);
        if x + needed > width {
            rows.push(Vec::new());
            x = 4;
        }
        if let Some(row) = rows.last_mut() {
            row.push(Entry { x, name, colour, filled });
        }
        x += needed + 28;
    }
    rows
}

impl Entry {
    /// Draws it around a height.
    pub(super) fn draw<'a>(
        &self,
        root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
        y: i32,
    ) -> Result<(), DrawError<'a>> {
        let half = if self.filled { 10 } else { 3 };
        root.draw(&Rectangle::new([(self.x, y - half), (self.x + SWATCH, y + half)], self.colour.filled()))?;
        let style = text(FONT, &INK, HPos::Left, VPos::Center);
        root.draw_text(&self.name, &style, (self.x + SWATCH + 12, y))
    }
}
