//! An axis: its label, its scale (linear, logarithmic, categories) and the range it shows.

use super::ticks::{
    SMALLEST, Tick, drawable, extent, linear_ticks, log_ticks, nice_log_range, nice_range, widen,
};

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Linear,
    Log,
    Categories(Vec<String>),
}

/// What a plot shows along one direction. Without [`Axis::range`] it adapts to the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    label: String,
    kind: Kind,
    range: Option<(f64, f64)>,
    target: usize,
}

impl Axis {
    fn new(label: impl Into<String>, kind: Kind) -> Self {
        Self { label: label.into(), kind, range: None, target: 5 }
    }

    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label, Kind::Linear)
    }

    /// A logarithmic axis; values that are not positive are left out of the plot.
    pub fn log(label: impl Into<String>) -> Self {
        Self::new(label, Kind::Log)
    }

    /// Named places at 0, 1, 2, …
    pub fn categories<S: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let last = names.len() as f64 - 0.5;
        Self { range: Some((-0.5, last)), ..Self::new(label, Kind::Categories(names)) }
    }

    /// Shows exactly `lo..hi`, whatever the data; a range that cannot be drawn is ignored.
    pub fn range(mut self, lo: f64, hi: f64) -> Self {
        let valid =
            drawable(lo) && drawable(hi) && lo != hi && (self.kind != Kind::Log || lo.min(hi) > SMALLEST);
        if valid {
            self.range = Some((lo.min(hi), lo.max(hi)));
        }
        self
    }

    /// About how many ticks (5 unless said); logarithmic axes choose their own.
    pub fn ticks(mut self, target: usize) -> Self {
        self.target = target.clamp(1, 20);
        self
    }

    /// Fixes range and ticks for values that must be visible. `None` if there is nothing to show.
    pub(crate) fn fit(&self, values: impl IntoIterator<Item = f64>) -> Option<Scale> {
        let log = self.kind == Kind::Log;
        let data = extent(values.into_iter().filter(|v| !log || *v > SMALLEST));
        let (lo, hi) = match (self.range, data) {
            (Some(range), _) => range,
            (None, None) => return None,
            (None, Some((lo, hi))) if log => nice_log_range(lo, hi),
            (None, Some((lo, hi))) => nice_range(lo, hi, self.target),
        };
        let ticks = match &self.kind {
            Kind::Linear => linear_ticks(lo, hi, self.target),
            Kind::Log => log_ticks(lo, hi),
            Kind::Categories(names) => category_ticks(names),
        };
        let (lo, hi) = widen(lo, hi);
        Some(Scale { label: self.label.clone(), log, lo, hi, ticks })
    }
}

fn category_ticks(names: &[String]) -> Vec<Tick> {
    names.iter().enumerate().map(|(i, name)| Tick { at: i as f64, label: name.clone() }).collect()
}

/// An axis with its range and ticks decided: maps data to the unit interval.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub label: String,
    pub ticks: Vec<Tick>,
    log: bool,
    lo: f64,
    hi: f64,
}

impl Scale {
    /// Where a value lies between the ends (0 and 1); outside of that beyond them. `None` for
    /// values without a place on the axis.
    pub fn unit(&self, value: f64) -> Option<f64> {
        if !drawable(value) || (self.log && value <= SMALLEST) {
            return None;
        }
        let unit = if self.log {
            (value / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        // Far outside: browsers draw coordinates beyond about 1e6 wrongly.
        Some(unit.clamp(-50.0, 50.0))
    }

    /// The same scale without tick labels, for a panel whose neighbour carries them.
    pub fn without_labels(mut self) -> Self {
        self.label.clear();
        self.ticks.iter_mut().for_each(|t| t.label.clear());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_map_ends_to_the_unit_interval() {
        let linear = Axis::linear("x").range(-2.0, 2.0).fit([]).expect("range given");
        assert_eq!(linear.unit(-2.0), Some(0.0));
        assert_eq!(linear.unit(0.0), Some(0.5));
        let log = Axis::log("x").range(1.0, 100.0).fit([]).expect("range given");
        assert!((log.unit(10.0).expect("positive") - 0.5).abs() < 1e-12);
        assert_eq!(log.unit(0.0), None);
        assert_eq!(log.unit(f64::NAN), None);
    }

    #[test]
    fn nothing_to_show_is_none() {
        assert!(Axis::linear("x").fit([f64::NAN, f64::INFINITY]).is_none());
        assert!(Axis::log("x").fit([-1.0, 0.0]).is_none());
        assert!(Axis::linear("x").range(f64::NAN, 1.0).fit([]).is_none());
    }
}
