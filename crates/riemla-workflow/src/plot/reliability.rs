//! Reliability diagram: how often predictions of a given confidence are right.

use riemla::score::ReliabilityBin;

use super::axis::{Axis, Scale};
use super::marks::{draw_curve, draw_points, open_series};
use super::palette::{Color, Style};
use super::panel::{Panel, Size, no_data, start};
use super::svg::Svg;
use super::ticks::short;

/// Whether a bin can be drawn.
fn valid(bin: &ReliabilityBin) -> bool {
    let share = 0.0..=1.0;
    bin.count > 0 && share.contains(&bin.confidence) && share.contains(&bin.accuracy)
}

/// Accuracy against confidence with the diagonal, and the number of predictions below.
#[derive(Clone, Debug, PartialEq)]
pub struct ReliabilityDiagram {
    title: String,
    bins: Vec<ReliabilityBin>,
    style: Style,
    size: Size,
}

const COUNTS_HEIGHT: f64 = 46.0;

impl ReliabilityDiagram {
    /// Bins that are empty or hold values outside 0..1 are left out. A title that names a method
    /// brings its colour.
    pub fn new(title: impl Into<String>, bins: Vec<ReliabilityBin>) -> Self {
        let title = title.into();
        let style = Style::named(&title, 0);
        let mut bins: Vec<_> = bins.into_iter().filter(valid).collect();
        bins.sort_by(|a, b| a.confidence.total_cmp(&b.confidence));
        Self { title, bins, style, size: Size::new(320.0, 350.0) }
    }

    builder! {
        /// Another look.
        style: Style;
        /// Another size than 320 × 350.
        size: Size;
    }

    /// Number of predictions.
    pub fn total(&self) -> usize {
        self.bins.iter().map(|b| b.count).sum()
    }

    /// Expected calibration error: the mean of |accuracy − confidence|, weighted by count.
    /// `None` without predictions.
    pub fn ece(&self) -> Option<f64> {
        let gap = |b: &ReliabilityBin| b.count as f64 * (b.accuracy - b.confidence).abs();
        let total = self.total();
        (total > 0).then(|| self.bins.iter().map(gap).sum::<f64>() / total as f64)
    }

    /// A caption with the calibration error and what it was computed from.
    pub fn caption(&self) -> String {
        let Some(ece) = self.ece() else { return format!("{}: no data", self.title) };
        let bins = self.bins.len();
        format!("{}: ECE {:.2} % ({} predictions, {bins} bins)", self.title, 100.0 * ece, self.total())
    }

    fn tooltip(&self, i: usize) -> String {
        let b = &self.bins[i];
        let (confidence, accuracy) = (short(b.confidence, 3), short(b.accuracy, 3));
        format!("confidence {confidence}, accuracy {accuracy}, {} predictions", b.count)
    }

    /// Each bin's gap to the diagonal as a bar, joined by a line through the accuracies.
    fn draw_bins(&self, svg: &mut Svg, panel: &Panel) {
        let points: Vec<_> = self.bins.iter().map(|b| (b.confidence, b.accuracy)).collect();
        open_series(svg, self.style);
        for (i, (confidence, accuracy)) in points.iter().enumerate() {
            let ends =
                panel.at(*confidence, accuracy.max(*confidence)).zip(panel.at_y(accuracy.min(*confidence)));
            if let Some(((x, high), low)) = ends {
                svg.rect(x - 5.0, high, 10.0, low - high, "gap").titled(&self.tooltip(i));
            }
        }
        draw_curve(svg, panel, &points, "line", "");
        draw_points(svg, panel, &points, self.style.marker, |i| self.tooltip(i));
        svg.close();
    }

    fn draw_counts(&self, svg: &mut Svg, panel: &Panel) {
        let gaps = self.bins.windows(2).map(|pair| pair[1].confidence - pair[0].confidence);
        let width = (0.9 * panel.width * gaps.fold(0.1, f64::min)).max(2.0);
        open_series(svg, Style::plain(Color::Quiet));
        for (i, bin) in self.bins.iter().enumerate() {
            if let Some((x, y)) = panel.at(bin.confidence, bin.count as f64) {
                svg.rect(x - width / 2.0, y, width, panel.bottom() - y, "bar").titled(&self.tooltip(i));
            }
        }
        svg.close();
    }

    /// The panel of accuracies and, sharing its x, the panel of counts below it.
    fn panels(&self, top: f64) -> Option<(Panel, Panel)> {
        let unit = |label: &str| Axis::linear(label).range(0.0, 1.0).fit([]);
        let most = self.bins.iter().map(|b| b.count).max()? as f64;
        let main = Panel::place(self.size, top, unit("confidence")?, unit("accuracy")?);
        let mut counts: Scale = Axis::linear("").range(0.0, 1.15 * most).fit([])?;
        counts.ticks.clear();
        let (left, width) = (main.left, main.width);
        let height = main.height - COUNTS_HEIGHT - 8.0;
        let lower = Panel {
            x: main.x.clone(),
            y: counts,
            left,
            width,
            top: main.top + height + 8.0,
            height: COUNTS_HEIGHT,
        };
        let x = main.x.clone().without_labels();
        Some((Panel { x, height, ..main }, lower))
    }

    /// Draws the diagram.
    pub fn to_svg(&self) -> String {
        let (mut svg, top) = start(self.size, &self.title, &Default::default());
        let Some((main, lower)) = self.panels(top) else { return no_data(self.size, &self.title) };
        main.draw_ground(&mut svg);
        main.clip(&mut svg);
        draw_curve(&mut svg, &main, &[(0.0, 0.0), (1.0, 1.0)], "reference", "perfectly calibrated");
        svg.close();
        self.draw_bins(&mut svg, &main);
        main.draw_axes(&mut svg);
        let ece = format!("ECE {:.2} %", 100.0 * self.ece().unwrap_or(0.0));
        svg.label(main.left + 8.0, main.top + 18.0, "note halo", &ece);
        lower.draw_ground(&mut svg);
        lower.clip(&mut svg);
        self.draw_counts(&mut svg, &lower);
        svg.close();
        lower.draw_axes(&mut svg);
        svg.label(lower.left + 5.0, lower.top + 14.0, "halo", &format!("n = {}", self.total()));
        svg.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_error_is_the_weighted_gap() {
        let bin = |confidence, accuracy, count| {
            let (lower, upper) = (0.0, 1.0);
            ReliabilityBin { lower, upper, count, confidence, accuracy }
        };
        let bins = vec![bin(0.6, 0.5, 10), bin(0.9, 1.0, 30), bin(0.7, f64::NAN, 0), bin(0.8, 0.8, 0)];
        let diagram = ReliabilityDiagram::new("la", bins);
        assert!((diagram.ece().expect("has data") - 0.1).abs() < 1e-12);
        assert_eq!(diagram.total(), 40);
        assert_eq!(diagram.caption(), "la: ECE 10.00 % (40 predictions, 2 bins)");
        assert_eq!(ReliabilityDiagram::new("la", vec![]).ece(), None);
    }
}
