//! Dots with intervals: a row per name, in it numbers of several sources below each other.

use super::axis::Axis;
use super::marks::{draw_interval, draw_marker, open_series};
use super::palette::{Marker, Style};
use super::panel::{Panel, Size, no_data, start};
use super::svg::Svg;
use super::ticks::{Tick, drawable, short};

/// A number with its uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Where it comes from, for the tooltip.
    pub source: String,
    /// The number.
    pub value: f64,
    /// Half the length of its interval; 0 for none.
    pub reach: f64,
    /// Shape: says where it comes from. The colour is that of the row.
    pub marker: Marker,
    /// Whether it is filled.
    pub filled: bool,
}

/// Rows of dots over one axis. A row whose name begins with a method has its colour.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalPlot {
    title: String,
    axis: Axis,
    rows: Vec<(String, Vec<Dot>)>,
}

const WIDTH: f64 = 340.0;
/// Height of a dot's line, and of the gap between rows.
const LINE: f64 = 13.0;
const GAP: f64 = 7.0;
/// Heights of title and axis.
const AROUND: f64 = 68.0;

impl IntervalPlot {
    /// An empty plot; `axis` is the horizontal one.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self { title: title.into(), axis, rows: Vec::new() }
    }

    /// Adds a row, unless it has no dots.
    pub fn row(mut self, name: impl Into<String>, dots: Vec<Dot>) -> Self {
        self.rows.extend(Some((name.into(), dots)).filter(|(_, dots)| !dots.is_empty()));
        self
    }

    /// Height of a row in pixels.
    fn height((_, dots): &(String, Vec<Dot>)) -> f64 {
        LINE * dots.len() as f64 + GAP
    }

    /// The panel, whose y is the distance from the top in pixels, negative.
    fn panel(&self, size: Size, top: f64, total: f64) -> Option<Panel> {
        let dots = || self.rows.iter().flat_map(|(_, dots)| dots).filter(|dot| drawable(dot.value));
        dots().next()?;
        let x = self
            .axis
            .fit(dots().flat_map(|dot| [dot.value - dot.reach, dot.value, dot.value + dot.reach]))?;
        let mut y = Axis::linear("").range(-total, 0.0).fit([])?;
        let mut above = 0.0;
        y.ticks.clear();
        for row in &self.rows {
            let at = -above - 0.5 * Self::height(row);
            y.ticks.push(Tick { at, label: row.0.clone() });
            above += Self::height(row);
        }
        Some(Panel::place(size, top, x, y))
    }

    fn draw_row(svg: &mut Svg, panel: &Panel, i: usize, (name, dots): &(String, Vec<Dot>), above: f64) {
        let color = Style::named(name, i).color;
        for (k, dot) in dots.iter().enumerate() {
            let Some((x, y)) = panel.at(dot.value, -above - 0.5 * GAP - LINE * (k as f64 + 0.5)) else {
                continue;
            };
            open_series(svg, Style { color, marker: dot.marker, dashed: !dot.filled });
            if dot.reach > 0.0 {
                draw_interval(svg, panel, y, dot.value - dot.reach, dot.value + dot.reach);
            }
            let reach = if dot.reach > 0.0 { format!(" ± {}", short(dot.reach, 2)) } else { String::new() };
            let tip = format!("{name}, {}: {}{reach}", dot.source, short(dot.value, 4));
            draw_marker(svg, dot.marker, (x, y), 4.0).titled(&tip);
            svg.close();
        }
    }

    /// Draws the plot.
    pub fn to_svg(&self) -> String {
        let total: f64 = self.rows.iter().map(Self::height).sum();
        let size = Size::new(WIDTH, total + AROUND);
        let (mut svg, top) = start(size, &self.title, &Default::default());
        let Some(panel) = self.panel(size, top, total) else { return no_data(size, &self.title) };
        panel.draw_ground(&mut svg);
        let mut above = 0.0;
        for (i, row) in self.rows.iter().enumerate() {
            Self::draw_row(&mut svg, &panel, i, row, above);
            above += Self::height(row);
        }
        panel.draw_axes(&mut svg);
        svg.finish()
    }
}
