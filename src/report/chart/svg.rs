//! A chart as a static SVG: for paper, for browsers without scripts, and as the ground for the readout.
//!
//! plotters draws at whole pixels, so a drawing has twice the pixels that a page gives it. Labels are
//! placed here: plotters would clip the last one and knows no percentile axis.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::legend::{self, LegendRow};
use super::prepared::{Prepared, PreparedSeries};
use super::readout::Readout;
use super::scale::Tick;
use super::{Chart, Series, Size, Style};
use crate::report::ReportError;

/// Size of text, pixels of the drawing.
pub(super) const FONT: f64 = 25.0;
pub(super) const INK: RGBColor = RGBColor(0x2B, 0x33, 0x3C);
pub(super) const SOFT_INK: RGBColor = RGBColor(0x5A, 0x65, 0x70);
const GRID: RGBColor = RGBColor(0xE2, 0xE6, 0xEA);
const FAINT_GRID: RGBColor = RGBColor(0xF0, 0xF2, 0xF4);
const AXIS: RGBColor = RGBColor(0x8E, 0x98, 0xA3);
pub(super) const SHADE: RGBColor = RGBColor(0xEC, 0xEE, 0xF1);
/// Height of the title with the space below it.
pub(super) const TITLE: i32 = 54;
/// Room on the right for half of the last label.
const RIGHT: i32 = 56;

pub(super) type Root<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// A chart as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// A whole `<svg>` element.
    pub svg: String,
    /// The figures behind it.
    pub readout: Readout,
}

/// Draws a chart. Whatever its figures are, this ends, and no coordinate is infinite.
///
/// # Errors
/// When the drawing library refuses.
pub fn draw(chart: &Chart) -> Result<Drawing, ReportError> {
    let prepared = Prepared::of(chart);
    let mut svg = String::new();
    let readout = draw_into(&mut svg, chart, &prepared)
        .map_err(|cause| ReportError::Chart { title: chart.title.clone(), cause: cause.to_string() })?;
    Ok(Drawing { svg, readout })
}

fn draw_into<'a>(svg: &'a mut String, chart: &Chart, prepared: &Prepared) -> Result<Readout, DrawError<'a>> {
    let (width, height) = match chart.size {
        Size::Wide => (1920, 580),
        Size::Half => (940, 560),
    };
    let root = SVGBackend::with_string(svg, (width, height)).into_drawing_area();
    let legend = legend::rows(chart, prepared, width as i32 - RIGHT);
    let bottom = if chart.x.label.is_empty() { 52 } else { 88 };
    let top = TITLE + legend::HEIGHT * legend.len() as i32 + 18;
    let down = chart.y.scale.ticks(prepared.y.0, prepared.y.1, 5.0);
    let left =
        down.iter().map(|tick| text_width(&tick.label)).max().unwrap_or(0).max(text_width("10,000")) + 24;
    let room = f64::from(width as i32 - left - RIGHT);
    let across = chart.x.scale.ticks(prepared.x.0, prepared.x.1, (room / 100.0).floor());
    let context = ChartBuilder::on(&root)
        .margin_left(left)
        .margin_right(RIGHT)
        .margin_top(top)
        .margin_bottom(bottom)
        .build_cartesian_2d(prepared.x.0..prepared.x.1, prepared.y.0..prepared.y.1)?;
    let plot = context.plotting_area();
    draw_head(&root, chart, &legend)?;
    draw_shade(plot, chart, prepared)?;
    draw_grid(&root, plot, prepared, &across, &down)?;
    draw_x_label(&root, plot, chart, height as i32)?;
    if prepared.series.iter().all(PreparedSeries::is_empty) {
        let (x, y) = plot.get_pixel_range();
        let middle = (x.start.midpoint(x.end), y.start.midpoint(y.end));
        root.draw_text(&chart.when_empty, &text(FONT, &SOFT_INK, HPos::Center, VPos::Center), middle)?;
    }
    draw_all_series(plot, chart, prepared)?;
    draw_labels(&root, plot, chart, prepared)?;
    let axis = |y| plot.draw(&PathElement::new([(prepared.x.0, y), (prepared.x.1, y)], AXIS.stroke_width(2)));
    axis(prepared.y.0)?;
    let place = |x: f64| plot.map_coordinate(&(x.clamp(prepared.x.0, prepared.x.1), prepared.y.0)).0;
    let readout = Readout::of(chart, prepared, plot.get_pixel_range(), place);
    root.present()?;
    Ok(readout)
}

pub(super) fn draw_title<'a>(root: &Root<'a>, title: &str, unit: &str) -> Result<(), DrawError<'a>> {
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let style = TextStyle::from(("sans-serif", (FONT + 3.0) * 1.24).into_font().style(FontStyle::Bold))
        .color(&INK)
        .pos(Pos::new(HPos::Left, VPos::Center));
    root.draw_text(&format!("{title}{unit}"), &style, (4, TITLE / 2))
}

fn draw_head<'a>(root: &Root<'a>, chart: &Chart, legend: &[LegendRow]) -> Result<(), DrawError<'a>> {
    draw_title(root, &chart.title, &chart.unit)?;
    legend.iter().enumerate().try_for_each(|(row, entries)| {
        let y = TITLE + legend::HEIGHT * row as i32 + legend::HEIGHT / 2;
        entries.iter().try_for_each(|entry| entry.draw(root, y))
    })
}

fn draw_shade<'a>(plot: &Plot<'a>, chart: &Chart, prepared: &Prepared) -> Result<(), DrawError<'a>> {
    let Some(shaded) = &chart.shaded else { return Ok(()) };
    let place = |x| chart.x.scale.place(x).map(|x| x.clamp(prepared.x.0, prepared.x.1));
    if let (Some(from), Some(to)) = (place(shaded.from), place(shaded.to)) {
        plot.draw(&Rectangle::new([(from, prepared.y.0), (to, prepared.y.1)], SHADE.filled()))?;
    }
    Ok(())
}

fn draw_grid<'a>(
    root: &Root<'a>,
    plot: &Plot<'a>,
    prepared: &Prepared,
    across: &[Tick],
    down: &[Tick],
) -> Result<(), DrawError<'a>> {
    for tick in down.iter().filter(|tick| tick.at >= prepared.y.0) {
        let colour = if tick.label.is_empty() { FAINT_GRID } else { GRID };
        let line = [(prepared.x.0, tick.at), (prepared.x.1, tick.at)];
        plot.draw(&PathElement::new(line, colour.stroke_width(2)))?;
        let (x, y) = plot.map_coordinate(&(prepared.x.0, tick.at));
        root.draw_text(&tick.label, &text(FONT, &SOFT_INK, HPos::Right, VPos::Center), (x - 12, y))?;
    }
    let mut free_from = i32::MIN;
    for tick in across.iter().filter(|tick| tick.at >= prepared.x.0) {
        let (x, y) = plot.map_coordinate(&(tick.at, prepared.y.0));
        let half = text_width(&tick.label) / 2;
        plot.draw(&PathElement::new(
            [(tick.at, prepared.y.0), (tick.at, prepared.y.1)],
            FAINT_GRID.stroke_width(2),
        ))?;
        if x - half >= free_from {
            root.draw_text(&tick.label, &text(FONT, &SOFT_INK, HPos::Center, VPos::Top), (x, y + 12))?;
            free_from = x + half + 14;
        }
    }
    Ok(())
}

fn draw_x_label<'a>(
    root: &Root<'a>,
    plot: &Plot<'a>,
    chart: &Chart,
    height: i32,
) -> Result<(), DrawError<'a>> {
    if chart.x.label.is_empty() {
        return Ok(());
    }
    let (x, _) = plot.get_pixel_range();
    let middle = (x.start.midpoint(x.end), height - 22);
    root.draw_text(&chart.x.label, &text(FONT, &SOFT_INK, HPos::Center, VPos::Center), middle)
}

fn draw_all_series<'a>(plot: &Plot<'a>, chart: &Chart, prepared: &Prepared) -> Result<(), DrawError<'a>> {
    let all: Vec<(&Series, &PreparedSeries)> = chart.series.iter().zip(&prepared.series).collect();
    // What lies on top of a stack reaches down to the axis and is drawn first; those below cover it.
    for (series, places) in all.iter().rev().filter(|(series, _)| series.style == Style::Stacked) {
        draw_series(plot, series, places, prepared.y.0)?;
    }
    for (series, places) in all.iter().filter(|(series, _)| series.style != Style::Stacked) {
        draw_series(plot, series, places, prepared.y.0)?;
    }
    Ok(())
}

fn draw_series<'a>(
    plot: &Plot<'a>,
    series: &Series,
    places: &PreparedSeries,
    foot: f64,
) -> Result<(), DrawError<'a>> {
    let colour = colour_of(series);
    for run in places.unbroken() {
        if let [only] = run.as_slice() {
            let radius = if series.style == Style::Curve { 8 } else { 4 };
            plot.draw(&Circle::new(*only, radius, colour.filled()))?;
            continue;
        }
        let fill = match series.style {
            Style::Line | Style::Marked | Style::Curve => None,
            Style::Area => Some(colour.mix(0.14)),
            Style::Stacked => Some(colour.mix(1.0)),
        };
        if let (Some(fill), Some(first), Some(last)) = (fill, run.first(), run.last()) {
            let mut outline = run.clone();
            outline.extend([(last.0, foot), (first.0, foot)]);
            plot.draw(&Polygon::new(outline, fill.filled()))?;
        }
        if matches!(series.style, Style::Marked | Style::Curve) {
            run.iter().try_for_each(|point| plot.draw(&Circle::new(*point, 8, colour.filled())))?;
        }
        if series.style != Style::Stacked {
            plot.draw(&PathElement::new(run, colour.stroke_width(3)))?;
        }
    }
    Ok(())
}

/// Labels stand above the highest point at their place; one that would cover another is left out.
fn draw_labels<'a>(
    root: &Root<'a>,
    plot: &Plot<'a>,
    chart: &Chart,
    prepared: &Prepared,
) -> Result<(), DrawError<'a>> {
    let (across, _) = plot.get_pixel_range();
    let mut taken: Vec<(i32, i32, i32)> = Vec::new();
    for (at, label) in &chart.labels {
        let Some(at) = chart.x.scale.place(*at).map(|at| at.clamp(prepared.x.0, prepared.x.1)) else {
            continue;
        };
        let points = prepared.series.iter().flat_map(|own| own.places.iter().flatten());
        let highest = points.filter(|point| point.0 == at).map(|point| point.1).reduce(f64::max);
        let Some(highest) = highest else { continue };
        let (x, y) = plot.map_coordinate(&(at, highest));
        let half = text_width(label) / 2;
        let x = x.clamp(across.start + half, (across.end - half).max(across.start + half));
        let (left, right, base) = (x - half, x + half, y - 16);
        if taken.iter().any(|other| left < other.1 && other.0 < right && (base - other.2).abs() < FONT as i32)
        {
            continue;
        }
        taken.push((left, right, base));
        root.draw_text(label, &text(FONT, &SOFT_INK, HPos::Center, VPos::Bottom), (x, base))?;
    }
    Ok(())
}

pub(super) fn colour_of(series: &Series) -> RGBColor {
    let (red, green, blue) = series.colour.rgb();
    RGBColor(red, green, blue)
}

/// plotters writes a font size divided by 1.24.
pub(super) fn text<'s>(size: f64, colour: &'s RGBColor, across: HPos, down: VPos) -> TextStyle<'s> {
    TextStyle::from(("sans-serif", size * 1.24).into_font()).color(colour).pos(Pos::new(across, down))
}

/// About the width of a text in [`FONT`], pixels, rather too wide: there is no font to measure with.
pub(super) fn text_width(text: &str) -> i32 {
    let ems = text.chars().map(|c| match c {
        'm' | 'w' | 'M' | 'W' | '%' => 0.97,
        'f' | 'i' | 'j' | 'l' | 'r' | 't' | 'I' | ' ' | ',' | '.' | '(' | ')' | '/' | '-' => 0.41,
        _ => 0.65,
    });
    (ems.sum::<f64>() * FONT).ceil() as i32
}

#[cfg(test)]
mod tests;
