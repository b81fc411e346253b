//! The drawing area of a plot: title, legend and axes around a rectangle of data coordinates.

use super::axis::Scale;
use super::legend::Legend;
use super::svg::Svg;

/// Width and height of a plot in user units. Text is 12 units high, and a plot fills the width
/// it is given: a wide plot has small text on a phone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Horizontal extent.
    pub width: f64,
    /// Vertical extent.
    pub height: f64,
}

impl Size {
    /// A figure on its own.
    pub const FIGURE: Self = Self { width: 440.0, height: 300.0 };
    /// One of several small multiples, about square.
    pub const SMALL: Self = Self { width: 320.0, height: 310.0 };

    /// Any size of at least 160 × 120.
    pub fn new(width: f64, height: f64) -> Self {
        let sane = |v: f64, least: f64| if v.is_finite() { v.clamp(least, 4000.0) } else { least };
        Self { width: sane(width, 160.0), height: sane(height, 120.0) }
    }
}

/// Estimated width of text of the given size, good enough for margins.
pub(crate) fn text_width(text: &str, font: f64) -> f64 {
    let wide = |c: char| match c {
        'i' | 'l' | 'j' | 't' | 'f' | '.' | ',' | ' ' | '\'' | '|' | '¹' => 0.34,
        'm' | 'w' | 'M' | 'W' | '×' => 0.85,
        c if c.is_uppercase() => 0.68,
        _ => 0.57,
    };
    font * text.chars().map(wide).sum::<f64>()
}

/// Shortens text that is wider than `room` and marks the cut with `…`.
pub(crate) fn shorten(text: &str, font: f64, room: f64) -> String {
    if text_width(text, font) <= room {
        return text.to_string();
    }
    let mut out = String::new();
    for c in text.chars() {
        if text_width(&out, font) + 1.5 * font > room {
            break;
        }
        out.push(c);
    }
    out.trim_end().to_string() + "…"
}

/// A rectangle with a horizontal and a vertical scale.
pub(crate) struct Panel {
    pub x: Scale,
    pub y: Scale,
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Starts a drawing with its title and legend; the second value is the first free height.
pub(crate) fn start(size: Size, title: &str, legend: &Legend) -> (Svg, f64) {
    let mut svg = Svg::new(size.width, size.height, title);
    let mut top = 10.0;
    if !title.is_empty() {
        let text = shorten(title, 13.0, size.width - 8.0);
        svg.label(4.0, 15.0, "name", &text);
        top = 26.0;
    }
    let top = legend.draw(&mut svg, 4.0, top, size.width - 8.0);
    (svg, top)
}

/// A drawing of one panel: its ground, what is cut off at its border, its axes, and what lies above all.
pub(crate) fn framed(
    (size, title, legend): (Size, &str, &Legend),
    place: impl FnOnce(f64) -> Option<Panel>,
    inside: impl FnOnce(&mut Svg, &Panel),
    above: impl FnOnce(&mut Svg, &Panel),
) -> String {
    let (mut svg, top) = start(size, title, legend);
    let Some(panel) = place(top) else { return no_data(size, title) };
    panel.draw_ground(&mut svg);
    panel.clip(&mut svg);
    inside(&mut svg, &panel);
    svg.close();
    panel.draw_axes(&mut svg);
    above(&mut svg, &panel);
    svg.finish()
}

/// The plot that stands in for one without anything to show.
pub(crate) fn no_data(size: Size, title: &str) -> String {
    let (mut svg, top) = start(size, title, &Legend::default());
    let (width, height) = (size.width - 8.0, size.height - top - 4.0);
    svg.rect(4.0, top, width, height, "panel").end();
    svg.rect(4.0, top, width, height, "edge").end();
    svg.label(size.width / 2.0, top + height / 2.0 + 4.0, "middle", "no data");
    svg.finish()
}

impl Panel {
    /// Places a panel below `top` in a drawing of the given size, leaving room for the labels.
    pub fn place(size: Size, top: f64, x: Scale, y: Scale) -> Self {
        let longest = y.ticks.iter().map(|t| text_width(&t.label, 12.0)).fold(0.0, f64::max);
        let left = longest.min(0.35 * size.width) + 12.0 + if y.label.is_empty() { 0.0 } else { 18.0 };
        let below = if x.ticks.iter().all(|t| t.label.is_empty()) { 4.0 } else { 20.0 }
            + if x.label.is_empty() { 0.0 } else { 18.0 };
        let last = x.ticks.last().map_or(0.0, |t| text_width(&t.label, 12.0) / 2.0);
        let width = (size.width - left - last.max(10.0)).max(20.0);
        Self { left, top: top + 2.0, width, height: (size.height - top - 2.0 - below).max(20.0), x, y }
    }

    /// Pixel of a data point; `None` where a coordinate has no place.
    pub fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.at_x(x)?, self.at_y(y)?))
    }

    /// Horizontal pixel of a data value.
    pub fn at_x(&self, x: f64) -> Option<f64> {
        self.x.unit(x).map(|u| self.left + u * self.width)
    }

    /// Vertical pixel of a data value; larger values are higher up.
    pub fn at_y(&self, y: f64) -> Option<f64> {
        self.y.unit(y).map(|u| self.bottom() - u * self.height)
    }

    /// Pixel of the right edge.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Pixel of the bottom edge.
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// True for pixels inside the border.
    pub fn contains(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right()).contains(&x) && (self.top..=self.bottom()).contains(&y)
    }

    /// Background and grid: what lies below the marks.
    pub fn draw_ground(&self, svg: &mut Svg) {
        svg.rect(self.left, self.top, self.width, self.height, "panel").end();
        svg.group("grid");
        for x in self.x.ticks.iter().filter_map(|t| self.at_x(t.at)) {
            svg.line((x, self.top), (x, self.bottom()), "");
        }
        for y in self.y.ticks.iter().filter_map(|t| self.at_y(t.at)) {
            svg.line((self.left, y), (self.right(), y), "");
        }
        svg.close();
    }

    /// Border, tick labels and axis labels: what lies above the marks.
    pub fn draw_axes(&self, svg: &mut Svg) {
        svg.rect(self.left, self.top, self.width, self.height, "edge").end();
        self.draw_x_labels(svg);
        let room = self.left - 12.0 - if self.y.label.is_empty() { 0.0 } else { 18.0 };
        for tick in self.y.ticks.iter().filter(|t| !t.label.is_empty()) {
            if let Some(y) = self.at_y(tick.at) {
                svg.label(self.left - 8.0, y + 4.0, "end", &shorten(&tick.label, 12.0, room + 3.0));
            }
        }
        if !self.y.label.is_empty() {
            let (x, y) = (13.0, self.top + self.height / 2.0);
            svg.element("text")
                .attr("class", "middle")
                .attr("transform", &format!("translate({x:.1} {y:.1}) rotate(-90)"))
                .text(&shorten(&self.y.label, 12.0, self.height + 20.0));
        }
    }

    fn draw_x_labels(&self, svg: &mut Svg) {
        let mut free = f64::NEG_INFINITY;
        for tick in self.x.ticks.iter().filter(|t| !t.label.is_empty()) {
            let half = text_width(&tick.label, 12.0) / 2.0;
            if let Some(x) = self.at_x(tick.at).filter(|x| x - half >= free) {
                svg.label(x, self.bottom() + 16.0, "middle", &tick.label);
                free = x + half + 4.0;
            }
        }
        if !self.x.label.is_empty() {
            let middle = self.left + self.width / 2.0;
            svg.label(
                middle,
                self.bottom() + 34.0,
                "middle",
                &shorten(&self.x.label, 12.0, self.width + 40.0),
            );
        }
    }

    /// Opens a part that is cut off at the border of the panel (close it with `Svg::close`).
    /// A nested `svg` needs no id, so that many plots can share one page.
    pub fn clip(&self, svg: &mut Svg) {
        self.clip_around(svg, 0.0);
    }

    /// Like `clip`, with some room beyond the border.
    pub fn clip_around(&self, svg: &mut Svg, room: f64) {
        let (l, t, w, h) =
            (self.left - room, self.top - room, self.width + 2.0 * room, self.height + 2.0 * room);
        svg.element("svg")
            .place(l, t, w, h)
            .attr("viewBox", &format!("{l:.2} {t:.2} {w:.2} {h:.2}"))
            .attr("preserveAspectRatio", "none")
            .attr("overflow", "hidden")
            .open();
    }
}
