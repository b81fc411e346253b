//! How a table becomes a data set: which columns, in which scale, which classes.
//!
//! Fitted on the training table, kept in the model, applied to every later table.

mod feature;

use riemla::data::{Dataset, Targets};
use serde::{Deserialize, Serialize};

pub use feature::{Feature, MOST_CATEGORIES, Scale};

use feature::{indices, sorted_names};

use crate::error::{Error, Result};
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

/// What kind of target to make of the target column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Classes.
    Classification,
    /// Real numbers.
    Regression,
}

/// Choices for fitting an encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodingOptions {
    /// Target column; the last one if none.
    pub target: Option<String>,
    /// Classes or numbers.
    pub task: Task,
    /// Standardise features.
    pub standardize: bool,
    /// Standardise a real target; predictions must then be decoded.
    pub standardize_target: bool,
    /// Rows that scales are taken from, for example those trained on; all if none. Classes and
    /// categories come from all rows in any case.
    pub rows: Option<Vec<usize>>,
}

impl EncodingOptions {
    /// Standardised features and real targets, the last column as the target.
    pub fn new(task: Task) -> Self {
        Self { target: None, task, standardize: true, standardize_target: true, rows: None }
    }
}

/// How tables become data sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// The columns that become inputs, in the order of the network.
    pub features: Vec<Feature>,
    /// The target.
    pub target: Target,
}

impl Encoding {
    /// The encoding that the training table calls for.
    pub fn fit(table: &Table, options: &EncodingOptions) -> Result<Self> {
        let last = table.columns.last().map(|column| column.name.clone());
        let target = options.target.clone().or(last).unwrap_or_default();
        table.column(&target)?;
        let mut features = Vec::new();
        for column in table.columns.iter().filter(|column| column.name != target) {
            features.push(Feature::fit(table, &column.name, options)?);
        }
        if features.is_empty() {
            let problem = "it is the only column: features are needed beside the target".into();
            return Err(Error::Column { file: table.file.clone(), column: target, problem });
        }
        let target = match options.task {
            Task::Classification => fit_classes(table, target)?,
            Task::Regression => {
                let values = table.numbers(&target)?;
                let standardize = options.standardize_target;
                let scale =
                    if standardize { Scale::fit(table, &target, values, options)? } else { Scale::IDENTITY };
                Target::Value { column: target, mean: scale.mean, std: scale.std }
            }
        };
        Ok(Self { features, target })
    }

    /// Checks what a file may have got wrong: no features, scales that are not positive numbers.
    pub(crate) fn check(&self, file: &str) -> Result<()> {
        let problem = |column: &str, problem: String| {
            Err(Error::Column { file: file.into(), column: column.into(), problem })
        };
        for feature in &self.features {
            if let Some(found) = feature.problem() {
                return problem(feature.column(), found);
            }
        }
        match self.target_scale() {
            Some(scale) if !scale.is_valid() => {
                problem(self.target_column(), format!("its scale {scale:?} must be finite with std above 0"))
            }
            _ => Ok(()),
        }
    }

    /// Name of the target column.
    pub fn target_column(&self) -> &str {
        match &self.target {
            Target::Classes { column, .. } | Target::Value { column, .. } => column,
        }
    }

    /// The classes; none in regression.
    pub fn classes(&self) -> Option<&[String]> {
        match &self.target {
            Target::Classes { classes, .. } => Some(classes),
            Target::Value { .. } => None,
        }
    }

    /// Scale of a real target; none in classification.
    pub fn target_scale(&self) -> Option<Scale> {
        match self.target {
            Target::Classes { .. } => None,
            Target::Value { mean, std, .. } => Some(Scale { mean, std }),
        }
    }

    /// Columns that a reader must take as text even if they look like numbers.
    pub fn text_columns(&self) -> Vec<String> {
        let categories = self.features.iter().filter(|f| matches!(f, Feature::Categories { .. }));
        let mut columns: Vec<String> = categories.map(|feature| feature.column().to_string()).collect();
        if let Target::Classes { column, text: true, .. } = &self.target {
            columns.push(column.clone());
        }
        columns
    }

    /// Encoded inputs, row-major rows × features. Columns may come in any order, with or without
    /// the target; missing ones are an error that lists them, others do not matter.
    pub fn inputs(&self, table: &Table) -> Result<Vec<f64>> {
        self.check_columns(table, false)?;
        let width = self.width();
        let mut inputs = vec![0.0; table.rows * width];
        let mut at = 0;
        for feature in &self.features {
            feature.encode(table, &mut inputs, at, width)?;
            at += feature.width();
        }
        Ok(inputs)
    }

    /// Encoded targets.
    pub fn targets(&self, table: &Table) -> Result<Targets> {
        match &self.target {
            Target::Classes { column, classes, .. } => {
                let labels = class_names(table, column)?;
                Ok(Targets::Classes(indices(table, column, &labels, classes)?))
            }
            Target::Value { column, mean, std } => {
                let scale = Scale { mean: *mean, std: *std };
                let values = table.numbers(column)?.iter().map(|value| scale.encode(*value)).collect();
                Ok(Targets::Values { values, outputs: 1 })
            }
        }
    }

    /// Inputs and targets.
    pub fn dataset(&self, table: &Table) -> Result<Dataset> {
        self.check_columns(table, true)?;
        let (inputs, targets) = (self.inputs(table)?, self.targets(table)?);
        Dataset::new(inputs, self.width(), targets).map_err(Error::content(&table.file))
    }

    /// Names of the columns that are read: features, and the target if asked for.
    pub fn columns(&self, target: bool) -> Vec<String> {
        let features = self.features.iter().map(|feature| feature.column().to_string());
        features.chain(target.then(|| self.target_column().to_string())).collect()
    }

    /// Number of inputs that a row becomes.
    pub fn width(&self) -> usize {
        self.features.iter().map(Feature::width).sum()
    }

    /// Columns that the model does not know are left alone.
    fn check_columns(&self, table: &Table, target: bool) -> Result<()> {
        let there = |name: &String| table.columns.iter().any(|column| column.name == *name);
        let missing: Vec<String> = self.columns(target).into_iter().filter(|name| !there(name)).collect();
        if missing.is_empty() { Ok(()) } else { Err(table.missing_columns(missing)) }
    }
}

fn fit_classes(table: &Table, column: String) -> Result<Target> {
    let text = matches!(table.column(&column)?.values, Values::Strings(_));
    let mut classes = sorted_names(&class_names(table, &column)?);
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

/// The class of every row as text.
fn class_names(table: &Table, column: &str) -> Result<Vec<String>> {
    match &table.column(column)?.values {
        Values::Strings(strings) => Ok(strings.clone()),
        Values::Numbers(numbers) => {
            match numbers.iter().find(|number| number.fract() != 0.0 || number.abs() >= 9e15) {
                None => Ok(numbers.iter().map(|number| (*number as i64).to_string()).collect()),
                Some(number) => Err(Error::Column {
                    file: table.file.clone(),
                    column: column.into(),
                    problem: format!(
                        "{number} is no class label (an integer or text); is this a regression?"
                    ),
                }),
            }
        }
    }
}
