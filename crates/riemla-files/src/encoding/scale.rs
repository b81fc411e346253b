//! Shift and scale of a column of numbers.

use super::EncodingOptions;
use crate::error::{Error, Result};
use crate::table::Table;

/// Shift and scale of a column: encoded = (value − mean) / std.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// What is subtracted.
    pub mean: f64,
    /// What is divided by; 1 for constant columns.
    pub std: f64,
}

impl Scale {
    /// Leaves values as they are.
    pub const IDENTITY: Self = Self { mean: 0.0, std: 1.0 };

    /// Mean and (population) standard deviation of the values of a column that are not missing: those of
    /// the chosen rows, or of all if these have none. A row of weight 2 counts as two, as it does in the loss.
    pub(super) fn fit(
        table: &Table,
        column: &str,
        values: &[f64],
        options: &EncodingOptions,
    ) -> Result<Self> {
        let problem = |problem: &str| Error::Column {
            file: table.file.clone(),
            column: column.into(),
            problem: problem.into(),
        };
        let weights = options.weights.as_deref().map(|weights| table.numbers(weights)).transpose()?;
        // Value and weight of a row that counts.
        let entry = |row: usize| {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            values.get(row).filter(|value| !value.is_nan() && weight > 0.0).map(|value| (*value, weight))
        };
        let chosen: Vec<(f64, f64)> = options.rows.iter().flatten().filter_map(|&row| entry(row)).collect();
        let values = if chosen.is_empty() { (0..values.len()).filter_map(entry).collect() } else { chosen };
        let Some(&(first, _)) = values.first() else {
            return Err(problem("all its values are missing; leave it out (--ignore)"));
        };
        let n: f64 = values.iter().map(|(_, weight)| weight).sum();
        let mean = values.iter().map(|(value, weight)| weight * value / n).sum::<f64>();
        let std =
            (values.iter().map(|(value, weight)| weight * (value - mean).powi(2) / n).sum::<f64>()).sqrt();
        // A constant column may show rounding errors.
        let constant = values.iter().all(|(value, _)| *value == first);
        let scale = if constant { Self { mean: first, std: 1.0 } } else { Self { mean, std } };
        if scale.is_valid() {
            return Ok(scale);
        }
        Err(problem("its values are too large or too small to be standardised; rescale it first"))
    }

    pub(super) fn is_valid(&self) -> bool {
        self.mean.is_finite() && self.std.is_finite() && self.std > 0.0
    }

    /// Value to encoded value.
    pub fn encode(&self, value: f64) -> f64 {
        (value - self.mean) / self.std
    }

    /// Encoded value to value: for predicted means. Standard deviations are multiplied by `std`.
    pub fn decode(&self, encoded: f64) -> f64 {
        encoded * self.std + self.mean
    }
}
