//! Confidence map: the predicted class over a plane, its certainty, the boundary and the data.

use super::axis::Axis;
use super::color_bar::{ColorBar, binary_belief};
use super::contour::contour;
use super::grid::{Grid, PlotError};
use super::legend::{Key, Legend};
use super::palette::{Color, Style};
use super::panel::{Panel, Size, no_data, start};
use super::raster::{Belief, data_address};
use super::svg::{Svg, path_data};

/// A heat map of predictions over two inputs. Hue is the predicted class; the map fades to the
/// colour of the page where the model is unsure.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfidenceMap {
    title: String,
    axes: (String, String),
    /// One grid (probability of class 1), or one per class.
    grids: Vec<Grid>,
    data: Vec<(f64, f64, usize)>,
    levels: Vec<f64>,
    bar: Option<String>,
    legend: bool,
    size: Size,
}

impl ConfidenceMap {
    fn new(title: impl Into<String>, grids: Vec<Grid>, bar: &str) -> Self {
        Self {
            title: title.into(),
            axes: (String::new(), String::new()),
            grids,
            data: Vec::new(),
            levels: Vec::new(),
            bar: Some(bar.into()),
            legend: false,
            size: Size::new(320.0, 330.0),
        }
    }

    /// The probability of class 1 on a grid; the boundary is drawn at 0.5.
    pub fn binary(title: impl Into<String>, probability: Grid) -> Self {
        Self::new(title, vec![probability], "probability of class 1")
    }

    /// The probability of each class on the same grid; boundaries are drawn where the most
    /// probable class changes.
    pub fn multiclass(title: impl Into<String>, probabilities: Vec<Grid>) -> Result<Self, PlotError> {
        let count = probabilities.len();
        let differs = probabilities.iter().position(|g| !g.same_nodes(&probabilities[0]));
        match differs {
            Some(index) => Err(PlotError::GridsDiffer { index, count }),
            None if count < 2 => Err(PlotError::GridsDiffer { index: count, count }),
            None => Ok(Self::new(title, probabilities, "largest class probability")),
        }
    }

    /// A density by its height relative to the top: one hue, from clear to full, without a bar, and contours at
    /// one, two and three deviations of a Gaussian.
    pub fn density(title: impl Into<String>, height: Grid) -> Self {
        // The "probability of class 1" never falls below a half.
        let share = |height: &f64| 0.5 + 0.5 * height.max(1e-9);
        let grid = height.with_values(height.values().iter().map(share).collect());
        let levels = [0.606_5, 0.135_3, 0.011_1].map(|height| 0.5 + 0.5 * height);
        Self::binary(title, grid).color_bar(None).contours(&levels)
    }

    /// Labels of the two inputs.
    pub fn axes(mut self, x: impl Into<String>, y: impl Into<String>) -> Self {
        self.axes = (x.into(), y.into());
        self
    }

    /// More contour lines, of the probability of class 1 (or of the largest probability).
    pub fn contours(mut self, levels: &[f64]) -> Self {
        self.levels = levels.to_vec();
        self
    }

    /// The label of the colour bar, or `None` to leave it out: several maps share a
    /// [`ColorBar`] of their own.
    pub fn color_bar(mut self, label: Option<&str>) -> Self {
        self.bar = label.map(Into::into);
        self
    }

    builder! {
        /// Data points (x, y, class), drawn on top.
        data: Vec<(f64, f64, usize)>;
        /// Names the classes of the data points above the map.
        legend: bool;
        /// Another size than 320 × 330.
        size: Size;
    }

    fn classes(&self) -> usize {
        self.grids.len().max(2)
    }

    /// The prediction at node number `n`.
    fn belief(&self, n: usize) -> Option<Belief> {
        let values = || self.grids.iter().map(|g| g.values()[n]);
        if values().any(|v| !v.is_finite()) {
            return None;
        }
        if self.grids.len() == 1 {
            return values().next().map(binary_belief);
        }
        let floor = 1.0 / self.classes() as f64;
        let (class, p) = values().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Belief { class, certainty: (p - floor) / (1.0 - floor) })
    }

    /// For each class the lead over its strongest rival, which is zero on the boundary.
    fn leads(&self) -> Vec<Grid> {
        let lead = |k: usize, n: usize| {
            let rivals = self.grids.iter().enumerate().filter(|(j, _)| *j != k);
            self.grids[k].values()[n] - rivals.map(|(_, g)| g.values()[n]).fold(f64::NEG_INFINITY, f64::max)
        };
        // The last class's boundary is made of the others' boundaries.
        (0..self.grids.len() - 1).map(|k| self.of_nodes(|n| lead(k, n))).collect()
    }

    fn largest(&self) -> Grid {
        let largest = |n: usize| self.grids.iter().map(|g| g.values()[n]).fold(f64::NAN, f64::max);
        self.of_nodes(largest)
    }

    /// A number per node.
    fn of_nodes(&self, number: impl Fn(usize) -> f64) -> Grid {
        self.grids[0].with_values((0..self.grids[0].values().len()).map(number).collect())
    }

    fn draw_heat(&self, svg: &mut Svg, panel: &Panel) {
        let (nx, ny) = self.grids[0].shape();
        let rows = (0..ny).rev();
        let beliefs: Vec<_> = rows.flat_map(|j| (0..nx).map(move |i| self.belief(j * nx + i))).collect();
        let Some(image) = data_address(nx, &beliefs, self.classes()) else { return };
        // Pixel centres lie on the nodes, so the image reaches half a cell beyond the range.
        let (dx, dy) = (panel.width / (nx - 1) as f64, panel.height / (ny - 1) as f64);
        let (left, top) = (panel.left - dx / 2.0, panel.top - dy / 2.0);
        svg.image(left, top, panel.width + dx, panel.height + dy, &image);
    }

    fn draw_contours(&self, svg: &mut Svg, panel: &Panel) {
        let single = self.grids.len() == 1;
        let (base, boundaries) = if single {
            (self.grids[0].clone(), vec![(self.grids[0].clone(), 0.5)])
        } else {
            (self.largest(), self.leads().into_iter().map(|g| (g, 0.0)).collect())
        };
        for level in self.levels.iter().filter(|l| l.is_finite()) {
            draw_lines(svg, panel, &base, *level, "contour minor", &format!("p = {level}"));
        }
        for (grid, level) in boundaries {
            draw_lines(svg, panel, &grid, level, "contour", "decision boundary");
        }
    }

    fn draw_data(&self, svg: &mut Svg, panel: &Panel) {
        let radius = if self.data.len() > 300 { 2.2 } else { 3.0 };
        let classes = self.data.iter().map(|d| d.2).max().map_or(0, |c| c + 1);
        for class in (0..classes).filter(|c| self.data.iter().any(|d| d.2 == *c)) {
            let style = format!("--c:{}", Color::Class(class).css());
            svg.element("g").attr("class", "data").attr("style", &style).open();
            let points = self.data.iter().filter(|d| d.2 == class);
            svg.element("title").text(&format!("class {class}: {} points", points.clone().count()));
            for (x, y) in points.filter_map(|(x, y, _)| panel.at(*x, *y)) {
                svg.element("circle").num("cx", x).num("cy", y).num("r", radius).end();
            }
            svg.close();
        }
    }

    fn key(&self) -> Legend {
        let mut legend = Legend::default();
        for class in (0..self.classes()).filter(|_| self.legend) {
            legend.add(&format!("class {class}"), Style::class(class), Key::Point);
        }
        legend
    }

    /// Draws the map.
    pub fn to_svg(&self) -> String {
        let bar = self.bar.as_ref().map(|label| match self.grids.len() {
            1 => ColorBar::binary(label.as_str()),
            n => ColorBar::multiclass(n, label.as_str()),
        });
        let below = bar.as_ref().map_or(0.0, ColorBar::height);
        let (mut svg, top) = start(self.size, &self.title, &self.key());
        let inner = Size { height: self.size.height - below, ..self.size };
        let fit = |label: &str, (lo, hi): (f64, f64)| Axis::linear(label).range(lo, hi).fit([]);
        let scales =
            fit(&self.axes.0, self.grids[0].x_range()).zip(fit(&self.axes.1, self.grids[0].y_range()));
        let any = (0..self.grids[0].values().len()).any(|n| self.belief(n).is_some());
        let Some((x, y)) = scales.filter(|_| any) else { return no_data(self.size, &self.title) };
        let panel = Panel::place(inner, top, x, y);
        panel.clip(&mut svg);
        self.draw_heat(&mut svg, &panel);
        self.draw_contours(&mut svg, &panel);
        self.draw_data(&mut svg, &panel);
        svg.close();
        panel.draw_axes(&mut svg);
        if let Some(bar) = bar {
            bar.draw(&mut svg, panel.left, self.size.height - below, panel.width);
        }
        svg.finish()
    }
}

fn draw_lines(svg: &mut Svg, panel: &Panel, grid: &Grid, level: f64, class: &str, tooltip: &str) {
    let line = |l: super::contour::Polyline| {
        path_data(l.points.iter().filter_map(|(x, y)| panel.at(*x, *y)), l.closed)
    };
    let data: String = contour(grid, level).into_iter().map(line).collect();
    if !data.is_empty() {
        svg.path(&data, class).titled(tooltip);
    }
}
