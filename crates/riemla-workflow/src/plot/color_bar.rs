//! The colour bar of confidence maps: below one map, or on its own for several.

use super::panel::Size;
use super::raster::{Belief, data_address};
use super::svg::Svg;

/// Explains the colours of maps with a given number of classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ColorBar {
    classes: usize,
    label: String,
}

const STEPS: usize = 64;

impl ColorBar {
    /// For binary maps: the probability of class 1 from 0 to 1.
    pub fn binary(label: impl Into<String>) -> Self {
        Self { classes: 2, label: label.into() }
    }

    /// For maps with several classes: the largest probability from 1/classes to 1 in the hue of
    /// each class.
    pub fn multiclass(classes: usize, label: impl Into<String>) -> Self {
        Self { classes: classes.max(3), label: label.into() }
    }

    /// Height of the coloured part.
    fn thickness(&self) -> f64 {
        if self.classes == 2 { 12.0 } else { 6.0 * self.classes as f64 }
    }

    /// Height that the bar with its label and numbers takes.
    pub(crate) fn height(&self) -> f64 {
        self.thickness() + 42.0
    }

    /// Rows of beliefs from left to right: one row for two classes, else one per class.
    fn beliefs(&self) -> Vec<Option<Belief>> {
        let share = |i: usize| i as f64 / (STEPS - 1) as f64;
        if self.classes == 2 {
            return (0..STEPS).map(|i| Some(binary_belief(share(i)))).collect();
        }
        let row = |class| (0..STEPS).map(move |i| Some(Belief { class, certainty: share(i) }));
        (0..self.classes).flat_map(row).collect()
    }

    fn marks(&self) -> Vec<(f64, String)> {
        if self.classes == 2 {
            return vec![(0.0, "0".into()), (0.5, "0.5".into()), (1.0, "1".into())];
        }
        vec![(0.0, format!("{:.2}", 1.0 / self.classes as f64)), (1.0, "1".into())]
    }

    /// Draws the bar with its label above and numbers below.
    pub(crate) fn draw(&self, svg: &mut Svg, left: f64, top: f64, width: f64) {
        let thickness = self.thickness();
        svg.label(left + width / 2.0, top + 15.0, "middle", &self.label);
        if let Some(image) = data_address(STEPS, &self.beliefs(), self.classes) {
            svg.image(left, top + 21.0, width, thickness, &image);
        }
        svg.rect(left, top + 21.0, width, thickness, "edge").end();
        for (at, text) in self.marks() {
            svg.label(left + at * width, top + thickness + 36.0, "middle", &text);
        }
    }

    /// The bar as a figure of its own, to be shared by several maps.
    pub fn to_svg(&self) -> String {
        let size = Size { width: 320.0, height: self.height() };
        let mut svg = Svg::new(size.width, size.height, &format!("Colour bar: {}", self.label));
        self.draw(&mut svg, 16.0, 0.0, size.width - 32.0);
        svg.finish()
    }
}

/// What a probability of class 1 says.
pub(crate) fn binary_belief(p: f64) -> Belief {
    Belief { class: usize::from(p >= 0.5), certainty: (2.0 * p - 1.0).abs() }
}
