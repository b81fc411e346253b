//! The general chart: several series of lines, points or both over linear or logarithmic axes.

use super::axis::Axis;
use super::legend::{Key, Legend};
use super::marks::{POINT_ROOM, Reference, draw_curve, draw_error_bar, draw_points, open_series};
use super::palette::Style;
use super::panel::{Panel, Size, framed};
use super::svg::Svg;
use super::ticks::short;

/// Points of one name, drawn as a line, as points or as both.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    errors: Vec<f64>,
    style: Option<Style>,
    key: Key,
}

impl Series {
    fn new(name: impl Into<String>, points: Vec<(f64, f64)>, key: Key) -> Self {
        Self { name: name.into(), points, errors: Vec::new(), style: None, key }
    }

    /// A line through (x, y) in the given order.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, points, Key::Line)
    }

    /// Separate points.
    pub fn scatter(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, points, Key::Point)
    }

    /// Points joined by a line.
    pub fn line_points(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, points, Key::LinePoint)
    }

    /// Error bars y ± e, one `e` per point.
    pub fn errors(mut self, half_lengths: &[f64]) -> Self {
        self.errors = half_lengths.to_vec();
        self
    }

    /// A look other than that of the method of this name or of the next free series.
    pub fn style(mut self, style: Style) -> Self {
        self.style = Some(style);
        self
    }

    fn bars(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        self.points.iter().zip(&self.errors).map(|((x, y), error)| (*x, y - error, y + error))
    }

    fn tooltip(&self, i: usize) -> String {
        let (x, y) = self.points[i];
        let error = self.errors.get(i).map_or(String::new(), |error| format!(" ± {}", short(*error, 2)));
        let name = if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
        format!("{name}({}, {}{error})", short(x, 4), short(y, 4))
    }

    fn draw_line(&self, svg: &mut Svg, panel: &Panel, style: Style) {
        if self.key != Key::Point {
            open_series(svg, style);
            draw_curve(svg, panel, &self.points, "line", &self.name);
            svg.close();
        }
    }

    fn draw_points(&self, svg: &mut Svg, panel: &Panel, style: Style) {
        open_series(svg, style);
        for (x, low, high) in self.bars() {
            draw_error_bar(svg, panel, x, low, high);
        }
        if self.key != Key::Line {
            draw_points(svg, panel, &self.points, style.marker, |i| self.tooltip(i));
        }
        svg.close();
    }
}

/// A line chart, a scatter chart, or a mixture, depending on its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    references: Vec<Reference>,
    size: Size,
}

impl Chart {
    /// An empty chart with its axes.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new(), references: Vec::new(), size: Size::FIGURE }
    }

    builder! {
        /// Adds a series; later ones are drawn on top.
        series: Series => series;
        /// Adds a labelled reference line.
        reference: Reference => references;
        /// Another size than [`Size::FIGURE`].
        size: Size;
    }

    fn panel(&self, top: f64) -> Option<Panel> {
        let points = || self.series.iter().flat_map(|s| s.points.iter().copied());
        let bars = self.series.iter().flat_map(Series::bars).flat_map(|(_, low, high)| [low, high]);
        let (need_x, need_y): (Vec<_>, Vec<_>) = self.references.iter().map(Reference::needs).unzip();
        points().any(|(x, y)| x.is_finite() && y.is_finite()).then_some(())?;
        let x = self.x.fit(points().map(|p| p.0).chain(need_x.into_iter().flatten()))?;
        let y = self.y.fit(points().map(|p| p.1).chain(bars).chain(need_y.into_iter().flatten()))?;
        Some(Panel::place(self.size, top, x, y))
    }

    /// Draws the chart.
    pub fn to_svg(&self) -> String {
        let mut styles: Vec<Style> = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            styles.push(series.style.unwrap_or(Style::named(&series.name, i)).unlike(&styles));
        }
        let mut legend = Legend::default();
        for (series, style) in self.series.iter().zip(&styles) {
            legend.add(&series.name, *style, series.key);
        }
        let each = || self.series.iter().zip(&styles);
        let inside = |svg: &mut Svg, panel: &Panel| {
            self.references.iter().for_each(|r| r.draw_line(svg, panel));
            each().for_each(|(series, style)| series.draw_line(svg, panel, *style));
        };
        let above = |svg: &mut Svg, panel: &Panel| {
            panel.clip_around(svg, POINT_ROOM);
            each().for_each(|(series, style)| series.draw_points(svg, panel, *style));
            svg.close();
            self.references.iter().for_each(|r| r.draw_label(svg, panel));
        };
        framed((self.size, &self.title, &legend), |top| self.panel(top), inside, above)
    }
}
