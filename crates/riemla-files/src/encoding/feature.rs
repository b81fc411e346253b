//! How one column becomes inputs of a network: a scaled number, or one input per category.

use serde::{Deserialize, Serialize};

use super::EncodingOptions;
use crate::error::{Error, Result};
use crate::table::{Table, Values};

/// Most categories of a text column: beyond, it is a name or free text rather than a category.
pub const MOST_CATEGORIES: usize = 100;

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

    /// Mean and (population) standard deviation of the values of a column.
    pub(super) fn fit(
        table: &Table,
        column: &str,
        values: &[f64],
        options: &EncodingOptions,
    ) -> Result<Self> {
        let chosen: Option<Vec<f64>> = options
            .rows
            .as_ref()
            .map(|rows| rows.iter().filter_map(|&row| values.get(row).copied()).collect());
        let values = chosen.as_deref().filter(|chosen| !chosen.is_empty()).unwrap_or(values);
        let n = values.len() as f64;
        let mean = values.iter().map(|value| value / n).sum::<f64>();
        let std = (values.iter().map(|value| (value - mean).powi(2) / n).sum::<f64>()).sqrt();
        // A constant column may show rounding errors.
        let constant = values.iter().all(|value| *value == values[0]);
        let scale = if constant { Self { mean: values[0], std: 1.0 } } else { Self { mean, std } };
        if scale.is_valid() {
            return Ok(scale);
        }
        let problem = "its values are too large or too small to be standardised; rescale it first".into();
        Err(Error::Column { file: table.file.clone(), column: column.into(), problem })
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

/// What becomes of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Feature {
    /// One input: (value − mean) / std.
    Number {
        /// Name of the column.
        column: String,
        /// Its mean in training, or 0.
        mean: f64,
        /// Its standard deviation in training, or 1; 1 as well for constant columns.
        std: f64,
    },
    /// One input per category: 1 for the row's own, 0 for the others.
    Categories {
        /// Name of the column.
        column: String,
        /// The categories, sorted.
        categories: Vec<String>,
    },
}

impl Feature {
    /// What the training table calls for.
    pub(super) fn fit(table: &Table, column: &str, options: &EncodingOptions) -> Result<Self> {
        match &table.column(column)?.values {
            Values::Numbers(values) => {
                let scale = if options.standardize {
                    Scale::fit(table, column, values, options)?
                } else {
                    Scale::IDENTITY
                };
                Ok(Self::Number { column: column.into(), mean: scale.mean, std: scale.std })
            }
            Values::Strings(values) => {
                let categories = sorted_names(values);
                if categories.len() > MOST_CATEGORIES {
                    let count = categories.len();
                    let problem = format!(
                        "text with {count} different values, more than the {MOST_CATEGORIES} that can be \
                         categories; leave the column out (--ignore), or put numbers in it"
                    );
                    return Err(Error::Column { file: table.file.clone(), column: column.into(), problem });
                }
                Ok(Self::Categories { column: column.into(), categories })
            }
        }
    }

    /// Name of the column.
    pub fn column(&self) -> &str {
        match self {
            Self::Number { column, .. } | Self::Categories { column, .. } => column,
        }
    }

    /// Number of inputs.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Categories { categories, .. } => categories.len(),
        }
    }

    /// Writes the inputs of this column to columns `at`, … of row-major `inputs` with `width` columns.
    pub(super) fn encode(&self, table: &Table, inputs: &mut [f64], at: usize, width: usize) -> Result<()> {
        match self {
            Self::Number { column, mean, std } => {
                let scale = Scale { mean: *mean, std: *std };
                for (row, value) in inputs.chunks_exact_mut(width).zip(table.numbers(column)?) {
                    row[at] = scale.encode(*value);
                }
            }
            Self::Categories { column, categories } => {
                let names = text_of(table, column)?;
                for (row, k) in
                    inputs.chunks_exact_mut(width).zip(indices(table, column, &names, categories)?)
                {
                    row[at + k] = 1.0;
                }
            }
        }
        Ok(())
    }

    /// What a file may have got wrong, in words.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Number { mean, std, .. } => {
                let scale = Scale { mean: *mean, std: *std };
                (!scale.is_valid()).then(|| format!("its scale {scale:?} must be finite with std above 0"))
            }
            Self::Categories { categories, .. } => {
                let strange = categories.is_empty() || sorted_names(categories).len() != categories.len();
                strange.then(|| "its categories must be at least one, all different".into())
            }
        }
    }
}

/// All different names, sorted.
pub(super) fn sorted_names(values: &[String]) -> Vec<String> {
    let mut names: Vec<String> = values.to_vec();
    names.sort_unstable();
    names.dedup();
    names
}

/// The entries of a column as text.
fn text_of(table: &Table, column: &str) -> Result<Vec<String>> {
    Ok(match &table.column(column)?.values {
        Values::Strings(strings) => strings.clone(),
        Values::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
    })
}

/// The place of each entry among the known names; unknown ones are an error that lists them.
pub(super) fn indices(
    table: &Table,
    column: &str,
    entries: &[String],
    known: &[String],
) -> Result<Vec<usize>> {
    let index: std::collections::HashMap<&str, usize> =
        known.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect();
    let found = |entry: &String| index.get(entry.as_str()).copied();
    let Some(first) = entries.iter().position(|entry| found(entry).is_none()) else {
        return Ok(entries.iter().filter_map(found).collect());
    };
    let unknown: Vec<String> = entries.iter().filter(|entry| found(entry).is_none()).cloned().collect();
    Err(Error::UnknownClass {
        file: table.file.clone(),
        line: table.line(first),
        column: column.into(),
        unknown: sorted_names(&unknown),
        known: known.to_vec(),
    })
}
