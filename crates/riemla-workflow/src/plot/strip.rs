//! Strip plots: every number of several groups as a point on the group's row.

use super::axis::Axis;
use super::marks::{Reference, draw_points, open_series};
use super::palette::Style;
use super::panel::{Panel, Size, framed};
use super::svg::Svg;
use super::ticks::{drawable, short};

/// Rows of points, one row per group, with a mark at each group's median.
#[derive(Clone, Debug, PartialEq)]
pub struct StripPlot {
    title: String,
    axis: Axis,
    groups: Vec<(String, Vec<f64>)>,
    references: Vec<Reference>,
    size: Size,
}

impl StripPlot {
    /// An empty plot; `axis` is the horizontal one.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self { title: title.into(), axis, groups: Vec::new(), references: Vec::new(), size: Size::FIGURE }
    }

    /// Adds a row; methods have their fixed colours by `name`.
    pub fn group(mut self, name: impl Into<String>, values: Vec<f64>) -> Self {
        self.groups.push((name.into(), values));
        self
    }

    builder! {
        /// Adds a labelled reference line.
        reference: Reference => references;
        /// Another size than [`Size::FIGURE`].
        size: Size;
    }

    fn panel(&self, top: f64) -> Option<Panel> {
        let values = self.groups.iter().flat_map(|(_, values)| values.iter().copied());
        let needed = self.references.iter().flat_map(|r| r.needs().0);
        values.clone().any(drawable).then_some(())?;
        let x = self.axis.fit(values.chain(needed))?;
        let y = Axis::categories("", self.groups.iter().rev().map(|(name, _)| name.as_str())).fit([])?;
        Some(Panel::place(self.size, top, x, y))
    }

    fn draw_group(&self, svg: &mut Svg, panel: &Panel, i: usize) {
        let (name, values) = &self.groups[i];
        let row = (self.groups.len() - 1 - i) as f64;
        // A single point needs no room beside others, and is its own median.
        let spread = |k: usize| if values.len() > 1 { jitter(k) } else { 0.0 };
        let points: Vec<_> = values.iter().enumerate().map(|(k, v)| (*v, row + spread(k))).collect();
        let style = Style::named(name, i);
        open_series(svg, style);
        draw_points(svg, panel, &points, style.marker, |k| format!("{name}: {}", short(values[k], 4)));
        let median = median(values).filter(|_| values.len() > 1);
        if let Some((at, (x, y))) = median.and_then(|m| Some((m, panel.at(m, row)?))) {
            let half = 0.38 * panel.height / self.groups.len() as f64;
            svg.rect(x - 1.5, y - half, 3.0, 2.0 * half, "median")
                .titled(&format!("median {}", short(at, 4)));
        }
        svg.close();
    }

    /// Draws the plot.
    pub fn to_svg(&self) -> String {
        let inside = |svg: &mut Svg, panel: &Panel| {
            self.references.iter().for_each(|r| r.draw_line(svg, panel));
            (0..self.groups.len()).for_each(|i| self.draw_group(svg, panel, i));
        };
        framed(
            (self.size, &self.title, &Default::default()),
            |top| self.panel(top),
            inside,
            |svg, panel| {
                self.references.iter().for_each(|r| r.draw_label(svg, panel));
            },
        )
    }
}

/// Vertical spread in −0.28..0.28 by the golden ratio: even, and the same on every run.
fn jitter(k: usize) -> f64 {
    ((k as f64 * 0.618_033_988_749_895).fract() - 0.5) * 0.56
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| drawable(*v)).collect();
    sorted.sort_by(f64::total_cmp);
    let (n, last) = (sorted.len(), sorted.len().checked_sub(1)?);
    Some(0.5 * (sorted[last / 2] + sorted[n / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_ignores_what_is_missing() {
        assert_eq!(median(&[3.0, f64::NAN, 1.0]), Some(2.0));
        assert_eq!(median(&[3.0, 9.0, 1.0]), Some(3.0));
        assert_eq!(median(&[f64::NAN]), None);
    }
}
