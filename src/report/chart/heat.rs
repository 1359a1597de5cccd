//! A heat map: rows against time, values as colours. It is drawn at the scale of the other charts.

use std::collections::BTreeMap;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::Scale;
use super::legend::HEIGHT as LEGEND;
use super::readout::{Readout, ReadoutSeries};
use super::svg::{DrawError, Drawing, FONT, INK, Root, SOFT_INK, TITLE, draw_title, text, text_width};
use crate::report::{ReportError, number};

const WIDTH: i32 = 1920;
/// Room on the right for half of the last label.
const RIGHT: i32 = 56;
/// Room below for ticks and the axis's label.
const BOTTOM: i32 = 88;
/// Columns; seconds share one when there are more.
const COLUMNS: usize = 300;
/// Steps of colour: as many as an eye tells apart.
const STEPS: usize = 12;
/// Seconds farther from T0 are no measurement.
const FARTHEST: i64 = 1_000_000_000;
/// Characters of a row's name.
const LONGEST_NAME: usize = 20;
/// Where there is no value.
const NOTHING: RGBColor = RGBColor(0xC9, 0xCE, 0xD4);

/// Rows of values over time.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// What it shows, without the unit.
    pub title: String,
    /// Unit of the values.
    pub unit: String,
    /// Text below the axis.
    pub x_label: String,
    /// Its colours, and what stands for several seconds.
    pub shade: Shade,
    /// From top to bottom.
    pub rows: Vec<HeatRow>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatRow {
    /// Its name.
    pub name: String,
    /// `(second, value)`; a second that is missing has no value.
    pub cells: Vec<(i64, f64)>,
}

/// Colours of one hue, light to dark: they differ in lightness, which every eye sees and paper keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shade {
    /// For rates: several seconds have their mean.
    Blues,
    /// For latencies: several seconds have their highest.
    Oranges,
}

impl Shade {
    fn colour(self, step: usize) -> RGBColor {
        let stops: [[f64; 3]; 3] = match self {
            Shade::Blues => [[239.0, 245.0, 251.0], [97.0, 163.0, 210.0], [8.0, 40.0, 92.0]],
            Shade::Oranges => [[255.0, 244.0, 230.0], [240.0, 140.0, 50.0], [104.0, 36.0, 0.0]],
        };
        let place = 2.0 * step.min(STEPS - 1) as f64 / (STEPS - 1) as f64;
        let (from, part) = if place < 1.0 { (0, place) } else { (1, place - 1.0) };
        let mix = |c: usize| (stops[from][c] + (stops[from + 1][c] - stops[from][c]) * part).round() as u8;
        RGBColor(mix(0), mix(1), mix(2))
    }

    /// Why a cell may have no value. A rate is 0 when nothing completed.
    fn missing(self) -> &'static str {
        match self {
            Shade::Blues => "not measured",
            Shade::Oranges => "nothing completed, or not measured",
        }
    }

    fn fold(self, values: &[f64]) -> f64 {
        match self {
            Shade::Blues => values.iter().sum::<f64>() / values.len() as f64,
            Shade::Oranges => values.iter().copied().fold(f64::MIN, f64::max),
        }
    }
}

/// A map worked out: columns of seconds, and a value or none for each row in them.
struct Grid {
    /// First and last second of each column.
    columns: Vec<(i64, i64)>,
    /// By row.
    values: Vec<Vec<Option<f64>>>,
    scale: Scale,
    low: f64,
    high: f64,
}

impl Grid {
    fn of(map: &HeatMap) -> Self {
        let good = |cell: &&(i64, f64)| {
            cell.0.unsigned_abs() <= FARTHEST.unsigned_abs() && Scale::Linear.place(cell.1).is_some()
        };
        let mut seconds: Vec<i64> =
            map.rows.iter().flat_map(|row| row.cells.iter().filter(good).map(|cell| cell.0)).collect();
        seconds.sort_unstable();
        seconds.dedup();
        let each = seconds.len().div_ceil(COLUMNS).max(1);
        let columns: Vec<(i64, i64)> =
            seconds.chunks(each).filter_map(|part| Some((*part.first()?, *part.last()?))).collect();
        let values = map.rows.iter().map(|row| {
            let mut parts: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
            for (second, value) in row.cells.iter().filter(good) {
                let column = seconds.partition_point(|known| known < second) / each;
                parts.entry(column).or_default().push(*value);
            }
            let fold = |column| parts.get(&column).map(|values| map.shade.fold(values));
            (0..columns.len()).map(fold).collect()
        });
        let values: Vec<Vec<Option<f64>>> = values.collect();
        // Warm-up would set the scale; what is beyond it has the outermost colour.
        let warmup = columns.partition_point(|column| column.0 < 0);
        let from = if warmup < columns.len() { warmup } else { 0 };
        let all =
            || values.iter().flat_map(move |row: &Vec<Option<f64>>| row.iter().skip(from).flatten().copied());
        let high = all().fold(0.0, f64::max);
        let scale = match map.shade {
            Shade::Blues => Scale::Linear,
            Shade::Oranges => Scale::for_spread(all()),
        };
        let positive = all().filter(|value| *value > 0.0).fold(high, f64::min);
        let low = if scale == Scale::Linear { 0.0 } else { positive };
        Self { columns, values, scale, low, high }
    }

    /// Step of colour of a value.
    fn step(&self, value: f64) -> usize {
        let place = |value| self.scale.place(value);
        let bounds = place(self.low).zip(place(self.high));
        let Some(((low, high), at)) = bounds.zip(place(value).or(place(self.low))) else { return 0 };
        if high <= low {
            // Nothing but zeros was measured: a stall is light, and warm-up beyond it is dark.
            return if at > high { STEPS - 1 } else { 0 };
        }
        (((at - low) / (high - low)).clamp(0.0, 1.0) * (STEPS - 1) as f64).round() as usize
    }
}

/// Draws a heat map. Whatever its figures are, this ends, and no coordinate is infinite.
///
/// # Errors
/// When the drawing library refuses.
pub fn draw(map: &HeatMap) -> Result<Drawing, ReportError> {
    let grid = Grid::of(map);
    let mut svg = String::new();
    let readout = draw_into(&mut svg, map, &grid)
        .map_err(|cause| ReportError::Chart { title: map.title.clone(), cause: cause.to_string() })?;
    Ok(Drawing { svg, readout })
}

/// Where the rows lie, pixels.
struct Frame {
    left: i32,
    top: i32,
    row: i32,
    rows: i32,
    columns: i32,
}

impl Frame {
    /// Left edge of a column.
    fn x(&self, column: usize) -> i32 {
        let width = i64::from(WIDTH - RIGHT - self.left);
        self.left + (width * column as i64 / i64::from(self.columns.max(1))) as i32
    }

    fn bottom(&self) -> i32 {
        self.top + self.row * self.rows
    }
}

fn draw_into<'a>(svg: &'a mut String, map: &HeatMap, grid: &Grid) -> Result<Readout, DrawError<'a>> {
    let names: Vec<String> = map.rows.iter().map(|row| short(&row.name)).collect();
    let rows = i32::try_from(map.rows.len()).unwrap_or(1).clamp(1, 1000);
    let frame = Frame {
        left: names.iter().map(|name| text_width(name)).max().unwrap_or(0).max(60) + 24,
        top: TITLE + LEGEND + 18,
        row: (420 / rows).clamp(28, 48),
        rows,
        columns: i32::try_from(grid.columns.len()).unwrap_or(1),
    };
    let height = frame.bottom() + BOTTOM;
    let root = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
    draw_title(&root, &map.title, &map.unit)?;
    draw_legend(&root, map, grid, frame.left)?;
    for (number, (name, values)) in names.iter().zip(&grid.values).enumerate().take(rows as usize) {
        let y = frame.top + frame.row * number as i32;
        let style = text(FONT, &SOFT_INK, HPos::Right, VPos::Center);
        root.draw_text(name, &style, (frame.left - 12, y + frame.row / 2))?;
        draw_row(&root, map.shade, grid, values, &frame, y)?;
    }
    draw_axis(&root, map, grid, &frame)?;
    root.present()?;
    Ok(readout(map, grid, &frame))
}

/// Neighbours of one colour are one rectangle.
fn draw_row<'a>(
    root: &Root<'a>,
    shade: Shade,
    grid: &Grid,
    values: &[Option<f64>],
    frame: &Frame,
    y: i32,
) -> Result<(), DrawError<'a>> {
    let steps: Vec<Option<usize>> = values.iter().map(|value| value.map(|v| grid.step(v))).collect();
    let mut column = 0;
    for same in steps.chunk_by(|a, b| a == b) {
        let colour = same.first().copied().flatten().map_or(NOTHING, |step| shade.colour(step));
        // Neighbours overlap by a pixel, or edges would shine through.
        let corners = [(frame.x(column), y), (frame.x(column + same.len()) + 1, y + frame.row - 2)];
        root.draw(&Rectangle::new(corners, colour.filled()))?;
        column += same.len();
    }
    Ok(())
}

fn draw_legend<'a>(root: &Root<'a>, map: &HeatMap, grid: &Grid, left: i32) -> Result<(), DrawError<'a>> {
    let y = TITLE + LEGEND / 2;
    let style = text(FONT, &INK, HPos::Left, VPos::Center);
    let low = number::significant(grid.low, 3);
    root.draw_text(&low, &style, (left, y))?;
    let mut x = left + text_width(&low) + 8;
    for step in 0..STEPS {
        root.draw(&Rectangle::new([(x, y - 12), (x + 26, y + 12)], map.shade.colour(step).filled()))?;
        x += 26;
    }
    let logarithmic = if grid.scale == Scale::Log { ", equal steps for equal factors" } else { "" };
    let high = format!("{} {}{logarithmic}", number::significant(grid.high, 3), map.unit);
    root.draw_text(&high, &style, (x + 8, y))?;
    if grid.values.iter().flatten().any(Option::is_none) {
        x += 8 + text_width(&high) + 40;
        root.draw(&Rectangle::new([(x, y - 12), (x + 34, y + 12)], NOTHING.filled()))?;
        root.draw_text(map.shade.missing(), &style, (x + 46, y))?;
    }
    Ok(())
}

fn draw_axis<'a>(root: &Root<'a>, map: &HeatMap, grid: &Grid, frame: &Frame) -> Result<(), DrawError<'a>> {
    let (Some(first), Some(last)) = (grid.columns.first(), grid.columns.last()) else {
        let middle = ((frame.left + WIDTH - RIGHT) / 2, frame.top + frame.row * frame.rows / 2);
        let style = text(FONT, &SOFT_INK, HPos::Center, VPos::Center);
        return root.draw_text("no data: nothing was measured", &style, middle);
    };
    let style = text(FONT, &SOFT_INK, HPos::Center, VPos::Top);
    let bottom = frame.bottom();
    for tick in Scale::Seconds.ticks(first.0 as f64, last.1 as f64, 18.0) {
        let x = frame.x(grid.columns.partition_point(|column| (column.1 as f64) < tick.at));
        root.draw(&PathElement::new([(x, bottom), (x, bottom + 8)], SOFT_INK.stroke_width(2)))?;
        root.draw_text(&tick.label, &style, (x, bottom + 12))?;
    }
    if first.0 < 0 && last.1 >= 0 {
        let x = frame.x(grid.columns.partition_point(|column| column.1 < 0));
        root.draw(&PathElement::new([(x, frame.top - 6), (x, bottom)], INK.stroke_width(3)))?;
    }
    let label = text(FONT, &SOFT_INK, HPos::Center, VPos::Center);
    root.draw_text(&map.x_label, &label, ((frame.left + WIDTH - RIGHT) / 2, bottom + BOTTOM - 22))
}

fn readout(map: &HeatMap, grid: &Grid, frame: &Frame) -> Readout {
    let column = |(first, last): &(i64, i64)| match first == last {
        true => format!("{first} s"),
        false => format!("{first} – {last} s"),
    };
    let series = map.rows.iter().zip(&grid.values).map(|(row, values)| ReadoutSeries {
        name: short(&row.name),
        colour: "#A3ABB5".to_owned(),
        text: values.iter().map(|v| number::or_missing(*v, |v| number::significant(v, 4))).collect(),
    });
    Readout {
        plot: [frame.left, WIDTH - RIGHT, frame.top, frame.bottom()],
        px: (0..grid.columns.len()).map(|column| frame.x(column).midpoint(frame.x(column + 1))).collect(),
        at: grid.columns.iter().map(column).collect(),
        unit: map.unit.clone(),
        series: series.collect(),
    }
}

fn short(name: &str) -> String {
    match name.chars().count() > LONGEST_NAME {
        true => name.chars().take(LONGEST_NAME - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(shade: Shade, rows: Vec<Vec<(i64, f64)>>) -> HeatMap {
        let rows = rows.into_iter().enumerate();
        HeatMap {
            title: "Map".into(),
            unit: "ms".into(),
            x_label: "Time (s)".into(),
            shade,
            rows: rows.map(|(n, cells)| HeatRow { name: format!("vm{n}"), cells }).collect(),
        }
    }

    #[test]
    fn a_stall_is_light_a_loss_is_grey_and_an_hour_is_small() {
        let steady = |last| (0..last).map(|s| (s, 100.0)).collect::<Vec<_>>();
        let mut stalled = steady(6);
        stalled[3].1 = 0.0;
        let rows = vec![steady(6), stalled, steady(2)];
        let grid = Grid::of(&map(Shade::Blues, rows.clone()));
        assert_eq!((grid.step(100.0), grid.step(0.0)), (STEPS - 1, 0));
        assert_eq!(grid.values[2][1..4], [Some(100.0), None, None]);
        let drawn = draw(&map(Shade::Blues, rows)).unwrap();
        assert!(drawn.svg.contains("not measured") && drawn.svg.contains("#C9CED4"));
        assert!(!drawn.svg.contains("nothing completed"), "a stall has a value");
        assert_eq!(drawn.readout.series[1].text[3], "0");
        let mut warmed = vec![(-1, 100.0)];
        warmed.extend((0..6).map(|s| (s, 0.0)));
        let grid = Grid::of(&map(Shade::Blues, vec![warmed]));
        assert_eq!((grid.step(0.0), grid.step(100.0)), (0, STEPS - 1), "nothing completed after warm-up");
        let hours = (0..16).map(|n| (0..3600).map(|s| (s, ((s * 7 + n) % 90) as f64)).collect());
        let size = draw(&map(Shade::Oranges, hours.collect())).unwrap().svg.len();
        assert!(size < 700_000, "{size}");
    }

    #[test]
    fn steps_become_darker() {
        for shade in [Shade::Blues, Shade::Oranges] {
            let light = |step| {
                let RGBColor(red, green, blue) = shade.colour(step);
                0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue)
            };
            assert!((1..STEPS).all(|step| light(step) < light(step - 1)));
        }
    }

    proptest! {
        #[test]
        fn any_values_are_drawn(rows in prop::collection::vec(
            prop::collection::vec((any::<i64>(), any::<f64>()), 0..20), 0..5)) {
            for shade in [Shade::Blues, Shade::Oranges] {
                let drawn = draw(&map(shade, rows.clone())).unwrap();
                prop_assert!(!drawn.svg.contains("NaN") && !drawn.svg.contains("inf"));
                prop_assert!(drawn.readout.px.is_sorted());
            }
        }
    }
}
