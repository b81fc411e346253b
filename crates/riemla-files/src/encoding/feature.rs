//! How one column becomes inputs of a network: a scaled number, or one input per category.

use serde::{Deserialize, Serialize};

use super::categories::{self, Known, places, sorted_names, text_of};
use super::looks;
use super::scale::Scale;
use super::tally::Tally;
use super::{EncodingOptions, MissingValues};
use crate::error::Result;
use crate::table::{Table, Values};

/// What becomes of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Feature {
    /// One input: (value − mean) / std; perhaps a second: 1 where the value is missing.
    Number {
        /// Name of the column.
        column: String,
        /// Its mean in training, or 0.
        mean: f64,
        /// Its standard deviation in training, or 1; 1 as well for constant columns.
        std: f64,
        /// What a missing value is taken as: the mean in training. None if it is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fill: Option<f64>,
        /// Whether there is an input for missing values.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        indicator: bool,
    },
    /// One input per category: 1 for the row's own, 0 for the others. An unknown category is 0 in all.
    Categories {
        /// Name of the column.
        column: String,
        /// The categories, sorted.
        categories: Vec<String>,
        /// Whether there is an input, after those, for all other categories.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        other: bool,
        /// What a missing value is taken as: the most frequent category in training. None if it is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fill: Option<String>,
        /// Whether there is an input, the last, for missing values instead.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        indicator: bool,
    },
}

impl Feature {
    /// What the training table calls for.
    pub(super) fn fit(
        table: &Table,
        column: &str,
        options: &EncodingOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        if options.categorical.iter().any(|name| name == column) {
            return categories::fit(table, column, options, notes);
        }
        if matches!(table.column(column)?.values, Values::Strings(_)) {
            looks::check(table, column, notes)?;
            return categories::fit(table, column, options, notes);
        }
        let values = table.numbers_with_gaps(column)?;
        let impute = options.missing != MissingValues::Error;
        let fitted = match options.standardize || impute {
            true => Scale::fit(table, column, values, options)?,
            false => Scale::IDENTITY,
        };
        let gaps = values.iter().any(|value| value.is_nan());
        let Scale { mean, std } = if options.standardize { fitted } else { Scale::IDENTITY };
        Ok(Self::Number {
            column: column.into(),
            mean,
            std,
            fill: impute.then_some(fitted.mean),
            indicator: gaps && options.missing == MissingValues::Indicator,
        })
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
            Self::Number { indicator, .. } => 1 + usize::from(*indicator),
            Self::Categories { categories, other, indicator, .. } => {
                categories.len() + usize::from(*other) + usize::from(*indicator)
            }
        }
    }

    /// Writes the inputs of this column to columns `at`, … of row-major `inputs` with `width` columns.
    pub(super) fn encode(
        &self,
        table: &Table,
        (inputs, width): (&mut [f64], usize),
        at: usize,
        tally: &mut Tally,
    ) -> Result<()> {
        let rows = inputs.chunks_exact_mut(width).enumerate();
        match self {
            Self::Number { column, mean, std, fill, indicator } => {
                let scale = Scale { mean: *mean, std: *std };
                for ((row, inputs), &value) in rows.zip(table.numbers_with_gaps(column)?) {
                    if value.is_nan() {
                        let fill = fill.ok_or_else(|| table.missing(column, row))?;
                        tally.missing(column, if *indicator { "imputed and marked" } else { "imputed" });
                        inputs[at] = scale.encode(fill);
                        if *indicator {
                            inputs[at + 1] = 1.0;
                        }
                    } else {
                        inputs[at] = scale.encode(value);
                    }
                }
            }
            Self::Categories { column, categories, other, fill, indicator } => {
                let (places, after) = (places(categories), categories.len());
                let filled = fill.as_deref().and_then(|fill| places.get(fill).copied());
                let gap = if *indicator { Some(after + usize::from(*other)) } else { filled };
                let made = if *indicator { "treated as a category" } else { "imputed" };
                let known = Known { column, places, other: other.then_some(after), gap, made };
                for ((row, inputs), entry) in rows.zip(&text_of(table, column)?) {
                    if let Some(place) = known.place(table, (row, entry), tally)? {
                        inputs[at + place] = 1.0;
                    }
                }
            }
        }
        Ok(())
    }

    /// What a file may have got wrong, in words.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Number { mean, std, fill, .. } => {
                let scale = Scale { mean: *mean, std: *std };
                if !scale.is_valid() {
                    return Some(format!("its scale {scale:?} must be finite with std above 0"));
                }
                let strange = fill.is_some_and(|fill| !fill.is_finite());
                strange.then(|| "the value that replaces missing values must be finite".into())
            }
            Self::Categories { categories, fill, .. } => {
                if categories.is_empty() || sorted_names(categories).len() != categories.len() {
                    return Some("its categories must be at least one, all different".into());
                }
                let strange = fill.as_ref().is_some_and(|fill| !categories.contains(fill));
                strange.then(|| "the value that replaces missing values must be one of its categories".into())
            }
        }
    }
}
