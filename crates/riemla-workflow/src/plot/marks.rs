//! Marks: lines, points, error bars, bands and reference lines, drawn into a panel.

use super::palette::{Marker, Style};
use super::panel::{Panel, shorten, text_width};
use super::svg::{Element, Svg, path_data};

/// Series with more points than this get no tooltip per point: the file would grow for marks too
/// dense to point at.
const MOST_TOOLTIPS: usize = 400;

/// How far a point may reach over the border: one that lies on it is drawn whole.
pub(crate) const POINT_ROOM: f64 = 5.0;

type Pixel = (f64, f64);

/// Opens the group of a series; its colour is inherited by all marks in it.
pub(crate) fn open_series(svg: &mut Svg, style: Style) {
    svg.element("g")
        .attr("class", if style.dashed { "dashed" } else { "solid" })
        .attr("style", &format!("--c:{}", style.color.css()))
        .open();
}

/// One point symbol of radius `r`, still open for a tooltip.
pub(crate) fn draw_marker(svg: &mut Svg, marker: Marker, (x, y): (f64, f64), r: f64) -> Element<'_> {
    let path = |corners: &[(f64, f64)], closed| {
        path_data(corners.iter().map(|(a, b)| (x + a * r, y + b * r)), closed)
    };
    let polygon = |corners: &[(f64, f64)]| (path(corners, true), "dot");
    let strokes = |a: [(f64, f64); 2], b: [(f64, f64); 2]| (path(&a, false) + &path(&b, false), "cross");
    let (data, class) = match marker {
        Marker::Circle => {
            return svg.element("circle").attr("class", "dot").num("cx", x).num("cy", y).num("r", r);
        }
        Marker::Square => return svg.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r, "dot"),
        Marker::Triangle => polygon(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
        Marker::Down => polygon(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
        Marker::Diamond => polygon(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
        Marker::Cross => strokes([(-0.8, -0.8), (0.8, 0.8)], [(-0.8, 0.8), (0.8, -0.8)]),
        Marker::Plus => strokes([(-1.1, 0.0), (1.1, 0.0)], [(0.0, -1.1), (0.0, 1.1)]),
    };
    svg.path(&data, class)
}

/// A curve through points; it is interrupted where a point has no place on the axes.
pub(crate) fn draw_curve(svg: &mut Svg, panel: &Panel, points: &[(f64, f64)], class: &str, tooltip: &str) {
    let pixels: Vec<Option<(f64, f64)>> = points.iter().map(|(x, y)| panel.at(*x, *y)).collect();
    let runs = pixels.split(Option::is_none).filter(|run| run.len() > 1);
    let data: String = runs.map(|run| path_data(run.iter().copied().flatten(), false)).collect();
    if data.is_empty() {
        return;
    }
    let path = svg.path(&data, class);
    if tooltip.is_empty() { path.end() } else { path.titled(tooltip) }
}

/// The area between two curves over the same x; interrupted where one of them has no place.
pub(crate) fn draw_band(
    svg: &mut Svg,
    panel: &Panel,
    x: &[f64],
    lower: &[f64],
    upper: &[f64],
    tooltip: &str,
) {
    let place = |i: usize| {
        let low = panel.at(x[i], *lower.get(i)?)?;
        Some((low, panel.at(x[i], *upper.get(i)?)?))
    };
    let pixels: Vec<_> = (0..x.len()).map(place).collect();
    let outline = |run: &[Option<(Pixel, Pixel)>]| {
        let there = run.iter().flatten().map(|(low, _)| *low);
        let back = run.iter().rev().flatten().map(|(_, high)| *high);
        path_data(there.chain(back), true)
    };
    let data: String = pixels.split(Option::is_none).filter(|run| run.len() > 1).map(outline).collect();
    if !data.is_empty() {
        svg.path(&data, "band").titled(tooltip);
    }
}

/// Points with tooltips made by `tooltip(i)`.
pub(crate) fn draw_points(
    svg: &mut Svg,
    panel: &Panel,
    points: &[(f64, f64)],
    marker: Marker,
    tooltip: impl Fn(usize) -> String,
) {
    let radius = if points.len() > 150 { 2.6 } else { 3.8 };
    for (i, pixel) in points.iter().enumerate().filter_map(|(i, (x, y))| Some((i, panel.at(*x, *y)?))) {
        let mark = draw_marker(svg, marker, pixel, radius);
        if points.len() <= MOST_TOOLTIPS { mark.titled(&tooltip(i)) } else { mark.end() }
    }
}

/// A vertical bar with caps from `low` to `high` at `x`.
pub(crate) fn draw_error_bar(svg: &mut Svg, panel: &Panel, x: f64, low: f64, high: f64) {
    // On a logarithmic axis a bar that reaches zero runs off the bottom.
    let bottom = panel.at_y(low).or_else(|| low.is_finite().then_some(panel.bottom() + 20.0));
    if let (Some(x), Some(low), Some(high)) = (panel.at_x(x), bottom, panel.at_y(high)) {
        let cap = |y| path_data([(x - 3.0, y), (x + 3.0, y)], false);
        let stem = path_data([(x, low), (x, high)], false);
        svg.path(&(cap(low) + &stem + &cap(high)), "error").end();
    }
}

/// A horizontal bar with caps from `low` to `high` at pixel height `y`, cut at the border.
pub(crate) fn draw_interval(svg: &mut Svg, panel: &Panel, y: f64, low: f64, high: f64) {
    // On a logarithmic axis a bar that reaches zero runs to the border.
    let left = panel.at_x(low).unwrap_or(panel.left).max(panel.left);
    if let Some(right) = panel.at_x(high).map(|x| x.min(panel.right())) {
        let cap = |x| path_data([(x, y - 3.0), (x, y + 3.0)], false);
        let stem = path_data([(left, y), (right, y)], false);
        svg.path(&(cap(left) + &stem + &cap(right)), "error").end();
    }
}

/// A labelled line across the panel, e.g. a target value.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    kind: ReferenceKind,
    label: String,
}

#[derive(Clone, Debug, PartialEq)]
enum ReferenceKind {
    Horizontal(f64),
    Vertical(f64),
    Curve(Vec<(f64, f64)>),
}

impl Reference {
    /// A line at height `y`.
    pub fn horizontal(y: f64, label: impl Into<String>) -> Self {
        Self { kind: ReferenceKind::Horizontal(y), label: label.into() }
    }

    /// A line at `x`.
    pub fn vertical(x: f64, label: impl Into<String>) -> Self {
        Self { kind: ReferenceKind::Vertical(x), label: label.into() }
    }

    /// A curve, e.g. a slope of known order; labelled at its last visible point.
    pub fn curve(points: Vec<(f64, f64)>, label: impl Into<String>) -> Self {
        Self { kind: ReferenceKind::Curve(points), label: label.into() }
    }

    /// Coordinates that an adapting axis should include, as (x values, y values).
    pub(crate) fn needs(&self) -> (Vec<f64>, Vec<f64>) {
        match &self.kind {
            ReferenceKind::Horizontal(y) => (Vec::new(), vec![*y]),
            ReferenceKind::Vertical(x) => (vec![*x], Vec::new()),
            ReferenceKind::Curve(_) => (Vec::new(), Vec::new()),
        }
    }

    /// Draws the line; call inside the clipped part.
    pub(crate) fn draw_line(&self, svg: &mut Svg, panel: &Panel) {
        match &self.kind {
            ReferenceKind::Horizontal(y) => {
                if let Some(y) = panel.at_y(*y) {
                    svg.line((panel.left, y), (panel.right(), y), "reference");
                }
            }
            ReferenceKind::Vertical(x) => {
                if let Some(x) = panel.at_x(*x) {
                    svg.line((x, panel.top), (x, panel.bottom()), "reference");
                }
            }
            ReferenceKind::Curve(points) => draw_curve(svg, panel, points, "reference", &self.label),
        }
    }

    /// Draws the label above everything else, inside the panel.
    pub(crate) fn draw_label(&self, svg: &mut Svg, panel: &Panel) {
        let text = shorten(&self.label, 12.0, panel.width - 12.0);
        let width = text_width(&text, 12.0);
        if let Some((x, y)) = self.label_end(panel, width).filter(|_| !text.is_empty()) {
            svg.label(x.max(panel.left + width + 4.0), y, "note halo end", &text);
        }
    }

    /// Where a label of the given width ends: above a horizontal line, beside a vertical one,
    /// below the last visible point of a curve; on the other side where there is no room.
    fn label_end(&self, panel: &Panel, width: f64) -> Option<(f64, f64)> {
        match &self.kind {
            ReferenceKind::Horizontal(y) => {
                let y = panel.at_y(*y)?;
                Some((panel.right() - 5.0, if y > panel.top + 17.0 { y - 5.0 } else { y + 15.0 }))
            }
            ReferenceKind::Vertical(x) => {
                let (x, right) = (panel.at_x(*x)?, panel.at_x(*x)? + 5.0 + width);
                Some((if right < panel.right() { right } else { x - 5.0 }, panel.top + 15.0))
            }
            ReferenceKind::Curve(points) => {
                let mut pixels = points.iter().rev().filter_map(|(x, y)| panel.at(*x, *y));
                let (x, y) = pixels.find(|pixel| panel.contains(*pixel))?;
                let below = y + 17.0;
                Some((x, if below < panel.bottom() - 4.0 { below } else { y - 8.0 }))
            }
        }
    }
}
