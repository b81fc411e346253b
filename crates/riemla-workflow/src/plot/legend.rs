//! The legend: entries in rows above the drawing, wrapped to its width.

use super::marks::{draw_marker, open_series};
use super::palette::Style;
use super::panel::{shorten, text_width};
use super::svg::Svg;

/// Which mark stands in front of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Line,
    Point,
    LinePoint,
    Block,
    /// A band below which this many wider ones lie.
    Band(usize),
}

/// Named marks; empty by default.
#[derive(Default)]
pub(crate) struct Legend {
    entries: Vec<(String, Style, Key)>,
}

const ROW: f64 = 18.0;
const KEY: f64 = 26.0;

impl Legend {
    /// Adds an entry; a nameless or repeated one is left out.
    pub fn add(&mut self, name: &str, style: Style, key: Key) {
        if !name.is_empty() && !self.entries.iter().any(|(n, _, _)| n == name) {
            self.entries.push((name.into(), style, key));
        }
    }

    /// Draws the rows from `top` on and returns the height below them.
    pub fn draw(&self, svg: &mut Svg, left: f64, top: f64, width: f64) -> f64 {
        let (mut x, mut y) = (left, top);
        for (name, style, key) in &self.entries {
            let name = shorten(name, 12.0, width - KEY);
            let needed = KEY + text_width(&name, 12.0);
            if x > left && x + needed > left + width {
                (x, y) = (left, y + ROW);
            }
            draw_key(svg, x, y + 8.0, *style, *key);
            svg.label(x + KEY, y + 12.0, "", &name);
            x += needed + 14.0;
        }
        if self.entries.is_empty() { top } else { y + ROW + 2.0 }
    }
}

fn draw_key(svg: &mut Svg, x: f64, y: f64, style: Style, key: Key) {
    open_series(svg, style);
    if key == Key::Block {
        svg.rect(x + 3.0, y - 5.0, 16.0, 10.0, "bar").end();
    }
    if let Key::Band(below) = key {
        (0..=below).for_each(|_| svg.rect(x + 3.0, y - 5.0, 16.0, 10.0, "band").end());
    }
    if matches!(key, Key::Line | Key::LinePoint) {
        svg.line((x + 1.0, y), (x + 21.0, y), "line");
    }
    if matches!(key, Key::Point | Key::LinePoint) {
        draw_marker(svg, style.marker, (x + 11.0, y), 4.0).end();
    }
    svg.close();
}
