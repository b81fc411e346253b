//! What a network predicts: a class, numbers, counts or labels, from one column or several.

use riemla::data::Targets;
use riemla::objective::TargetKind;
use serde::{Deserialize, Serialize};

use super::categories::{places, sorted_names};
use super::looks;
use super::scale::Scale;
use super::{EncodingOptions, Task};
use crate::error::{Error, Result};
use crate::table::entry::is_missing;
use crate::table::{ColumnKinds, Table, Values};

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
    /// Several real numbers.
    Values {
        /// One column each, in the order of the outputs.
        columns: Vec<TargetNumber>,
    },
    /// Counts, one column each.
    Counts {
        /// Names of the columns.
        columns: Vec<String>,
    },
    /// Labels with two values each.
    Labels {
        /// One column each, in the order of the outputs.
        columns: Vec<Label>,
    },
}

/// One of several real targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetNumber {
    /// Name of the column.
    pub column: String,
    /// Its mean in training, or 0.
    pub mean: f64,
    /// Its standard deviation in training, or 1.
    pub std: f64,
}

/// A label: which of its two values is 0, and which is 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Name of the column.
    pub column: String,
    /// The value that is 0: the first by letters, or the number 0.
    pub no: String,
    /// The value that is 1.
    pub yes: String,
    /// Whether the column is text (and not 0 and 1).
    pub text: bool,
}

impl Target {
    /// What the training table calls for.
    pub(super) fn fit(
        table: &Table,
        mut columns: Vec<String>,
        options: &EncodingOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        match options.task {
            Task::Counts => {
                columns.iter().try_for_each(|column| counts(table, column).map(drop))?;
                return Ok(Self::Counts { columns });
            }
            Task::Labels => {
                let labels = columns.into_iter().map(|column| Label::fit(table, column));
                return Ok(Self::Labels { columns: labels.collect::<Result<_>>()? });
            }
            Task::Classification | Task::Regression => {}
        }
        let Some(column) = columns.pop() else { return Err(table.missing_columns(Vec::new())) };
        if options.task == Task::Classification {
            if !columns.is_empty() {
                let problem = "a class is one column; several columns are numbers (--likelihood gaussian), counts \
                               (poisson) or labels of two values each (multi-label)";
                return Err(Error::Column { file: table.file.clone(), column, problem: problem.into() });
            }
            let declared = options.categorical.contains(&column);
            if !declared {
                looks::check(table, &column, notes)?;
            }
            return fit_classes(table, column, declared);
        }
        columns.push(column);
        let number = |column: String| {
            let values = table.numbers(&column)?;
            let standardize = options.standardize_target;
            let Scale { mean, std } =
                if standardize { Scale::fit(table, &column, values, options)? } else { Scale::IDENTITY };
            Ok(TargetNumber { column, mean, std })
        };
        let mut columns: Vec<TargetNumber> = columns.into_iter().map(number).collect::<Result<_>>()?;
        if columns.len() == 1
            && let Some(TargetNumber { column, mean, std }) = columns.pop()
        {
            return Ok(Self::Value { column, mean, std });
        }
        Ok(Self::Values { columns })
    }

    /// Names of the columns.
    pub(super) fn columns(&self) -> Vec<&str> {
        match self {
            Self::Classes { column, .. } | Self::Value { column, .. } => vec![column],
            Self::Values { columns } => columns.iter().map(|number| number.column.as_str()).collect(),
            Self::Counts { columns } => columns.iter().map(String::as_str).collect(),
            Self::Labels { columns } => columns.iter().map(|label| label.column.as_str()).collect(),
        }
    }

    /// Scales of real targets.
    pub(super) fn scales(&self) -> Vec<Scale> {
        match self {
            Self::Value { mean, std, .. } => vec![Scale { mean: *mean, std: *std }],
            Self::Values { columns } => {
                columns.iter().map(|number| Scale { mean: number.mean, std: number.std }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The kind of target that a likelihood must be for.
    pub fn kind(&self) -> TargetKind {
        match self {
            Self::Classes { .. } => TargetKind::Classes,
            Self::Value { .. } | Self::Values { .. } => TargetKind::Values,
            Self::Counts { .. } => TargetKind::Counts,
            Self::Labels { .. } => TargetKind::Labels,
        }
    }

    /// What a reader must take the columns as.
    pub(super) fn add_kinds(&self, kinds: &mut ColumnKinds) {
        match self {
            Self::Classes { column, text, .. } => kinds.text.extend(text.then(|| column.clone())),
            Self::Labels { columns } => {
                for label in columns {
                    let list = if label.text { &mut kinds.text } else { &mut kinds.numbers };
                    list.push(label.column.clone());
                }
            }
            other => kinds.numbers.extend(other.columns().into_iter().map(str::to_string)),
        }
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
            Self::Value { .. } | Self::Values { .. } => {
                let encode = |(column, scale): (&str, Scale)| {
                    Ok(table.numbers(column)?.iter().map(|value| scale.encode(*value)).collect())
                };
                side_by_side(self.columns().into_iter().zip(self.scales()).map(encode))
            }
            Self::Counts { columns } => {
                side_by_side(columns.iter().map(|column| counts(table, column).map(<[f64]>::to_vec)))
            }
            Self::Labels { columns } => side_by_side(columns.iter().map(|label| label.encode(table))),
        }
    }
}

/// Columns as row-major targets.
fn side_by_side(columns: impl Iterator<Item = Result<Vec<f64>>>) -> Result<Targets> {
    let columns: Vec<Vec<f64>> = columns.collect::<Result<_>>()?;
    let rows = columns.first().map_or(0, Vec::len);
    let values = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
    Ok(Targets::Values { values, outputs: columns.len() })
}

/// The numbers of a column, all of them counts.
fn counts<'a>(table: &'a Table, column: &str) -> Result<&'a [f64]> {
    let numbers = table.numbers(column)?;
    match numbers.iter().position(|number| *number < 0.0 || number.fract() != 0.0) {
        None => Ok(numbers),
        Some(row) => {
            let problem = format!("{} is not a count (a whole number from 0)", numbers[row]);
            Err(table.cell(column, row, problem))
        }
    }
}

impl Label {
    fn fit(table: &Table, column: String) -> Result<Self> {
        let names = class_names(table, &column, is_missing)?;
        let text = matches!(table.column(&column)?.values, Values::Strings(_));
        let (no, yes) = match sorted_names(&names).as_slice() {
            found if !text && found.iter().all(|name| name == "0" || name == "1") => ("0".into(), "1".into()),
            [no, yes] if text => (no.clone(), yes.clone()),
            found => {
                let some = found.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ");
                let problem = format!("a label is 0 or 1, or text with two values; this column has {some}");
                return Err(Error::Column { file: table.file.clone(), column, problem });
            }
        };
        Ok(Self { column, no, yes, text })
    }

    fn encode(&self, table: &Table) -> Result<Vec<f64>> {
        let names = class_names(table, &self.column, is_missing)?;
        let value = |name: &String| match name {
            name if *name == self.yes => Some(1.0),
            name if *name == self.no => Some(0.0),
            _ => None,
        };
        let known = [self.no.clone(), self.yes.clone()];
        let found: Option<Vec<f64>> = names.iter().map(value).collect();
        found.ok_or_else(|| unknown_class(table, &self.column, &names, &known))
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
