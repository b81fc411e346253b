//! Predictions of a regression: mean, ± bands, sample curves and the data.

use super::axis::Axis;
use super::legend::{Key, Legend};
use super::marks::{draw_band, draw_curve, draw_points, open_series};
use super::palette::{Color, Style};
use super::panel::{Panel, Size, framed};
use super::svg::Svg;
use super::ticks::short;

/// A band from `lower` to `upper` over the x of the chart.
#[derive(Clone, Debug, PartialEq)]
struct Band {
    name: String,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// A predictive mean over `x` with what surrounds it.
#[derive(Clone, Debug, PartialEq)]
pub struct BandChart {
    title: String,
    axes: (Axis, Axis),
    x: Vec<f64>,
    mean: Vec<f64>,
    bands: Vec<Band>,
    samples: Vec<Vec<f64>>,
    data: Vec<(f64, f64)>,
    style: Style,
    size: Size,
}

impl BandChart {
    /// The mean `mean[i]` at `x[i]`, x ascending.
    pub fn new(title: impl Into<String>, axes: (Axis, Axis), x: Vec<f64>, mean: Vec<f64>) -> Self {
        Self {
            title: title.into(),
            axes,
            x,
            mean,
            bands: Vec::new(),
            samples: Vec::new(),
            data: Vec::new(),
            style: Style::series(0),
            size: Size::FIGURE,
        }
    }

    /// A band mean ± `half_width[i]`; wider bands first, they are drawn in order.
    pub fn band(self, name: impl Into<String>, half_width: &[f64]) -> Self {
        let lower = self.mean.iter().zip(half_width).map(|(m, w)| m - w).collect();
        let upper = self.mean.iter().zip(half_width).map(|(m, w)| m + w).collect();
        self.band_between(name, lower, upper)
    }

    /// A band between two curves, e.g. quantiles.
    pub fn band_between(mut self, name: impl Into<String>, lower: Vec<f64>, upper: Vec<f64>) -> Self {
        self.bands.push(Band { name: name.into(), lower, upper });
        self
    }

    builder! {
        /// A sampled function, drawn thin.
        sample: Vec<f64> => samples;
        /// Observations (x, y).
        data: Vec<(f64, f64)>;
        /// The look of mean and bands, e.g. `Style::method(MethodName::RiemLa)`.
        style: Style;
        /// Another size than [`Size::FIGURE`].
        size: Size;
    }

    fn panel(&self, top: f64) -> Option<Panel> {
        let data = self.data.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let x = self.axes.0.fit(self.x.iter().copied().chain(data.clone().map(|p| p.0)))?;
        // Sample curves may run far off: mean, bands and data decide what is visible.
        let bands = self.bands.iter().flat_map(|b| b.lower.iter().chain(&b.upper));
        let y = self.axes.1.fit(self.mean.iter().chain(bands).copied().chain(data.map(|p| p.1)))?;
        Some(Panel::place(self.size, top, x, y))
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        legend.add("mean", self.style, Key::Line);
        for (below, band) in self.bands.iter().enumerate() {
            legend.add(&band.name, self.style, Key::Band(below));
        }
        if !self.data.is_empty() {
            legend.add("data", Style::plain(Color::Ink), Key::Point);
        }
        legend
    }

    fn draw_prediction(&self, svg: &mut Svg, panel: &Panel) {
        let curve = |values: &[f64]| self.x.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>();
        open_series(svg, self.style);
        for band in &self.bands {
            draw_band(svg, panel, &self.x, &band.lower, &band.upper, &band.name);
        }
        for (i, sample) in self.samples.iter().enumerate() {
            draw_curve(svg, panel, &curve(sample), "thin", &format!("sample {i}"));
        }
        draw_curve(svg, panel, &curve(&self.mean), "line", "mean");
        svg.close();
    }

    /// Draws the chart.
    pub fn to_svg(&self) -> String {
        let inside = |svg: &mut Svg, panel: &Panel| {
            self.draw_prediction(svg, panel);
            let style = Style::plain(Color::Ink);
            open_series(svg, style);
            draw_points(svg, panel, &self.data, style.marker, |i| {
                format!("({}, {})", short(self.data[i].0, 4), short(self.data[i].1, 4))
            });
            svg.close();
        };
        framed((self.size, &self.title, &self.legend()), |top| self.panel(top), inside, |_, _| {})
    }
}
