//! What a network predicts: a class or a number, from one column.

use riemla::data::Targets;
use serde::{Deserialize, Serialize};

use super::categories::{places, sorted_names};
use super::looks;
use super::scale::Scale;
use super::{EncodingOptions, Task};
use crate::error::{Error, Result};
use crate::table::entry::is_missing;
use crate::table::{Table, Values};

/// What the network predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Target {
    /// A class: class k is `classes[k]`.
    Classes {
        /// Name of the column.
        column: String,
        /// The classes, sorted: numbers by value, text by letters.
        classes: Vec<String>,
        /// Whether the column is text (and not integers).
        text: bool,
    },
    /// A real number.
    Value {
        /// Name of the column.
        column: String,
        /// Its mean in training, or 0.
        mean: f64,
        /// Its standard deviation in training, or 1.
        std: f64,
    },
}

impl Target {
    /// What the training table calls for.
    pub(super) fn fit(
        table: &Table,
        column: String,
        options: &EncodingOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        if options.task == Task::Classification {
            let declared = options.categorical.contains(&column);
            if !declared {
                looks::check(table, &column, notes)?;
            }
            return fit_classes(table, column, declared);
        }
        let values = table.numbers(&column)?;
        let standardize = options.standardize_target;
        let scale = if standardize { Scale::fit(table, &column, values, options)? } else { Scale::IDENTITY };
        Ok(Self::Value { column, mean: scale.mean, std: scale.std })
    }

    /// Encoded targets.
    pub(super) fn encode(&self, table: &Table) -> Result<Targets> {
        match self {
            Self::Classes { column, classes, .. } => {
                let places = places(classes);
                let labels =
                    class_names(table, column, |entry| is_missing(entry) && !places.contains_key(entry))?;
                let found: Option<Vec<usize>> =
                    labels.iter().map(|label| places.get(label.as_str()).copied()).collect();
                found.map(Targets::Classes).ok_or_else(|| unknown_class(table, column, &labels, classes))
            }
            Self::Value { column, mean, std } => {
                let scale = Scale { mean: *mean, std: *std };
                let values = table.numbers(column)?.iter().map(|value| scale.encode(*value)).collect();
                Ok(Targets::Values { values, outputs: 1 })
            }
        }
    }
}

fn fit_classes(table: &Table, column: String, declared: bool) -> Result<Target> {
    let text = matches!(table.column(&column)?.values, Values::Strings(_));
    let is_gap = |entry: &str| if declared { entry.is_empty() } else { is_missing(entry) };
    let mut classes = sorted_names(&class_names(table, &column, is_gap)?);
    if !text {
        // Integers that a float holds exactly fit i64.
        classes.sort_by_key(|class| class.parse::<i64>().unwrap_or(i64::MAX));
    }
    if classes.len() < 2 {
        let problem = format!("only one class ({}); at least two are needed", classes.join(", "));
        return Err(Error::Column { file: table.file.clone(), column, problem });
    }
    Ok(Target::Classes { column, classes, text })
}

/// The class of every row as text; none may be missing.
fn class_names(table: &Table, column: &str, is_gap: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let missing = |row| {
        let problem = format!(
            "the target is missing; remove the row (or, if this is a class, add --categorical {column} in training)"
        );
        Err(table.cell(column, row, problem))
    };
    match &table.column(column)?.values {
        Values::Strings(strings) => match strings.iter().position(|entry| is_gap(entry)) {
            Some(row) => missing(row),
            None => Ok(strings.clone()),
        },
        Values::Numbers(numbers) => {
            if let Some(row) = numbers.iter().position(|number| number.is_nan()) {
                return missing(row);
            }
            match numbers.iter().position(|number| number.fract() != 0.0 || number.abs() >= 9e15) {
                None => Ok(numbers.iter().map(|number| (*number as i64).to_string()).collect()),
                Some(row) => {
                    let number = numbers[row];
                    let problem =
                        format!("{number} is not a class (an integer or text); is this a regression?");
                    Err(table.cell(column, row, problem))
                }
            }
        }
    }
}

fn unknown_class(table: &Table, column: &str, labels: &[String], known: &[String]) -> Error {
    let unknown: Vec<String> = labels.iter().filter(|label| !known.contains(label)).cloned().collect();
    let first = labels.iter().position(|label| !known.contains(label)).unwrap_or(0);
    Error::UnknownClass {
        file: table.file.clone(),
        line: table.line(first),
        column: column.into(),
        unknown: sorted_names(&unknown),
        known: known.to_vec(),
    }
}
