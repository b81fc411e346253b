//! Histograms of one or several sets of numbers on shared bins.

use super::axis::Axis;
use super::legend::{Key, Legend};
use super::marks::{Reference, draw_curve, open_series};
use super::palette::Style;
use super::panel::{Panel, Size, framed, no_data};
use super::svg::Svg;
use super::ticks::{drawable, extent, short, widen};

/// Overlaid histograms with equal bins. One set shows counts, several show shares of each set,
/// so that sets of different sizes can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    title: String,
    label: String,
    bins: usize,
    range: Option<(f64, f64)>,
    sets: Vec<(String, Style, Vec<f64>)>,
    references: Vec<Reference>,
    size: Size,
}

impl Histogram {
    /// An empty histogram of a quantity called `label`, with 30 bins.
    pub fn new(title: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            label: label.into(),
            bins: 30,
            range: None,
            sets: Vec::new(),
            references: Vec::new(),
            size: Size::FIGURE,
        }
    }

    /// Adds a set of numbers; methods have their fixed colours by `name`.
    pub fn values(mut self, name: impl Into<String>, values: Vec<f64>) -> Self {
        let name = name.into();
        let style = Style::named(&name, self.sets.len());
        self.sets.push((name, style, values));
        self
    }

    /// Another look of the set that was added last.
    pub fn style(mut self, style: Style) -> Self {
        self.sets.iter_mut().last().into_iter().for_each(|set| set.1 = style);
        self
    }

    /// The number of bins, 1 to 500.
    pub fn bins(mut self, bins: usize) -> Self {
        self.bins = bins.clamp(1, 500);
        self
    }

    /// Shows `lo..hi`; numbers outside fall into no bin.
    pub fn range(mut self, lo: f64, hi: f64) -> Self {
        self.range = (drawable(lo) && drawable(hi)).then(|| widen(lo, hi));
        self
    }

    builder! {
        /// Adds a labelled reference line, e.g. an expected value.
        reference: Reference => references;
        /// Another size than [`Size::FIGURE`].
        size: Size;
    }

    fn shares(&self) -> bool {
        self.sets.len() > 1
    }

    /// Height of each bin of each set, over bins that cut `lo..hi` equally.
    fn heights(&self, lo: f64, hi: f64) -> Vec<Vec<f64>> {
        let count = |values: &[f64]| {
            let mut bins = vec![0.0; self.bins];
            let inside = values.iter().filter(|v| (lo..=hi).contains(*v));
            for v in inside {
                let i = ((v - lo) / (hi - lo) * self.bins as f64) as usize;
                bins[i.min(self.bins - 1)] += 1.0;
            }
            let total = values.iter().filter(|v| v.is_finite()).count().max(1) as f64;
            let unit = if self.shares() { total } else { 1.0 };
            bins.iter().map(|b| b / unit).collect()
        };
        self.sets.iter().map(|(_, _, values)| count(values)).collect()
    }

    fn draw_set(&self, svg: &mut Svg, panel: &Panel, i: usize, heights: &[f64], (lo, hi): (f64, f64)) {
        let width = (hi - lo) / self.bins as f64;
        let edge = |bin: usize| lo + bin as f64 * width;
        let class = if self.shares() { "bar soft" } else { "bar" };
        open_series(svg, self.sets[i].1);
        let mut outline = vec![(lo, 0.0)];
        for (bin, height) in heights.iter().enumerate() {
            outline.extend([(edge(bin), *height), (edge(bin + 1), *height)]);
            let corners = panel.at(edge(bin), *height).zip(panel.at(edge(bin + 1), 0.0));
            if let Some(((x0, y0), (x1, y1))) = corners.filter(|_| *height > 0.0) {
                let what = if self.shares() { "share" } else { "count" };
                let tip = format!(
                    "{} to {}: {what} {}",
                    short(edge(bin), 3),
                    short(edge(bin + 1), 3),
                    short(*height, 3)
                );
                svg.rect(x0, y0, x1 - x0, y1 - y0, class).titled(&tip);
            }
        }
        outline.push((hi, 0.0));
        if self.shares() {
            draw_curve(svg, panel, &outline, "line", &self.sets[i].0);
        }
        svg.close();
    }

    /// Draws the histogram.
    pub fn to_svg(&self) -> String {
        let mut legend = Legend::default();
        for (name, style, _) in &self.sets {
            legend.add(name, *style, Key::Block);
        }
        let data = extent(self.sets.iter().flat_map(|(_, _, values)| values.iter().copied()));
        let Some(range) = data.map(|(lo, hi)| self.range.unwrap_or(widen(lo, hi))) else {
            return no_data(self.size, &self.title);
        };
        let heights = self.heights(range.0, range.1);
        let tallest = heights.iter().flatten().copied().fold(0.0, f64::max).max(1e-3);
        let x = Axis::linear(self.label.as_str()).range(range.0, range.1).fit([]);
        let y = Axis::linear(if self.shares() { "share" } else { "count" }).fit([0.0, tallest]);
        let place = |top| x.zip(y).map(|(x, y)| Panel::place(self.size, top, x, y));
        let inside = |svg: &mut Svg, panel: &Panel| {
            heights.iter().enumerate().for_each(|(i, h)| self.draw_set(svg, panel, i, h, range));
            self.references.iter().for_each(|r| r.draw_line(svg, panel));
        };
        framed((self.size, &self.title, &legend), place, inside, |svg, panel| {
            self.references.iter().for_each(|r| r.draw_label(svg, panel));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_in_the_range_is_counted_once() {
        let values = vec![0.0, 0.1, 0.5, 0.999, 1.0, 2.0, f64::NAN];
        let histogram = Histogram::new("", "x").bins(4).values("a", values);
        let heights = histogram.heights(0.0, 1.0);
        assert_eq!(heights, [[2.0, 0.0, 1.0, 2.0]]);
        let shared = histogram.values("b", vec![0.5]).heights(0.0, 2.0);
        assert!((shared[0].iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
