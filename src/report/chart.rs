//! The one model of a chart. Drawing it, and reading values off it, are renderings of this.

pub mod heat;
mod legend;
mod prepared;
pub mod readout;
mod scale;
pub mod svg;
mod thin;

pub use scale::Scale;

/// A chart of one quantity, or of several in the same unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows, without the unit.
    pub title: String,
    /// Unit of y, such as `ms`; empty for a plain count.
    pub unit: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is drawn, first at the back.
    pub series: Vec<Series>,
    /// What stands at some places on x, such as what tells one run from another; written above the points there.
    pub labels: Vec<(f64, String)>,
    /// A range of x that is set off, such as warm-up.
    pub shaded: Option<Shaded>,
    /// How much room it takes.
    pub size: Size,
    /// Said in its middle when there is no point to draw.
    pub when_empty: String,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Text beside it; empty for none.
    pub label: String,
    /// How values become places.
    pub scale: Scale,
    /// Shown from here to there whatever the data; values outside are drawn at the edge. `None`: as the
    /// data want it, a linear y from 0.
    pub bounds: Option<(f64, f64)>,
}

impl Axis {
    /// An axis that follows its data, without label.
    #[must_use]
    pub fn of(scale: Scale) -> Self {
        Self { label: String::new(), scale, bounds: None }
    }
}

/// Named points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// `(x, y)` in any order; `None` is a gap.
    pub points: Vec<(f64, Option<f64>)>,
    /// How it is drawn.
    pub style: Style,
    /// Its colour.
    pub colour: Colour,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line.
    Line,
    /// A line with its points marked.
    Marked,
    /// Marked points, joined in the order in which they are given: a curve that may turn back on x.
    Curve,
    /// A line with its area down to the axis filled.
    Area,
    /// An area on top of the stacked series before it.
    Stacked,
}

/// A range of x that is set off.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaded {
    /// First x.
    pub from: f64,
    /// Last x.
    pub to: f64,
    /// What it is, for the legend.
    pub label: String,
}

/// How much room a chart takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// The whole width of a page.
    Wide,
    /// Half of it.
    Half,
}

/// Colours that people with colour-blindness tell apart (after Okabe and Ito), dark enough for paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Reads and what is first.
    Blue,
    /// Writes and what is second.
    Vermilion,
    /// Flushes and what is third.
    Green,
    /// A fourth.
    Purple,
    /// Something in the background, such as a maximum.
    Grey,
}

impl Colour {
    /// Red, green, blue.
    #[must_use]
    pub fn rgb(self) -> (u8, u8, u8) {
        match self {
            Colour::Blue => (0x00, 0x68, 0xB0),
            Colour::Vermilion => (0xD5, 0x5E, 0x00),
            Colour::Green => (0x00, 0x8F, 0x6B),
            Colour::Purple => (0xB0, 0x57, 0x94),
            Colour::Grey => (0xA3, 0xAB, 0xB5),
        }
    }

    /// The same for CSS.
    #[must_use]
    pub fn css(self) -> String {
        let (red, green, blue) = self.rgb();
        format!("#{red:02X}{green:02X}{blue:02X}")
    }
}
