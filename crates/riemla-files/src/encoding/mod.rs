//! How a table becomes a data set: which columns, in which scale, which classes.
//!
//! Fitted on the training table, kept in the model, applied to every later table.

mod categories;
mod feature;
mod looks;
mod scale;
mod tally;
mod target;

use riemla::data::{Dataset, Targets};
use serde::{Deserialize, Serialize};

pub use categories::MOST_CATEGORIES;
pub use feature::Feature;
pub use looks::remarks;
pub use scale::Scale;
pub use tally::Tally;
pub use target::{Label, Target, TargetNumber};

use crate::error::{Error, Result};
use crate::table::{ColumnKinds, Table};

/// What kind of target to make of the target column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Classes.
    Classification,
    /// Real numbers.
    Regression,
    /// Whole numbers from 0.
    Counts,
    /// Labels with two values each.
    Labels,
}

/// What becomes of missing values of features; a missing target is always an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingValues {
    /// They are errors, in training and later.
    #[default]
    Error,
    /// Numbers become the mean, categories the most frequent one of the rows trained on.
    Impute,
    /// The same for numbers, with a further input that says so; for categories an input of its own. Only
    /// columns with missing values in training get one; later ones in others are imputed.
    Indicator,
}

/// Choices for fitting an encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodingOptions {
    /// Target column, or several separated by commas; the last one if none.
    pub target: Option<String>,
    /// Column of the weights of rows, which is no feature.
    pub weights: Option<String>,
    /// Classes, numbers, counts or labels.
    pub task: Task,
    /// Standardise features.
    pub standardize: bool,
    /// Standardise a real target; predictions must then be decoded.
    pub standardize_target: bool,
    /// Rows that scales and imputed values are taken from, for example those trained on; all if none.
    /// Classes and categories come from all rows in any case.
    pub rows: Option<Vec<usize>>,
    /// Columns of categories, whatever they look like. Only an empty entry is a missing value in them.
    pub categorical: Vec<String>,
    /// What becomes of missing values.
    pub missing: MissingValues,
}

impl EncodingOptions {
    /// Standardised features and real targets, the last column as the target.
    pub fn new(task: Task) -> Self {
        Self {
            target: None,
            weights: None,
            task,
            standardize: true,
            standardize_target: true,
            rows: None,
            categorical: Vec::new(),
            missing: MissingValues::default(),
        }
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
    /// Column that says how much a row counts in training; all count once if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
}

impl Encoding {
    /// The encoding that the training table calls for, and what the user should know about it.
    pub fn fit(table: &Table, options: &EncodingOptions) -> Result<(Self, Vec<String>)> {
        let targets = table.target_columns(options.target.as_deref(), options.weights.as_deref())?;
        for name in options.categorical.iter().chain(&options.weights) {
            table.column(name)?;
        }
        let (mut features, mut notes) = (Vec::new(), Vec::new());
        let no_feature = |name: &String| targets.contains(name) || options.weights.as_ref() == Some(name);
        for column in table.columns.iter().filter(|column| !no_feature(&column.name)) {
            features.push(Feature::fit(table, &column.name, options, &mut notes)?);
        }
        if features.is_empty() {
            let problem = "it is the only column, and at least one feature column is needed besides the \
                           target; if the columns are separated by another character than comma, semicolon \
                           or tab, give it with --delimiter";
            let column = targets.join(", ");
            return Err(Error::Column { file: table.file.clone(), column, problem: problem.into() });
        }
        let target = Target::fit(table, targets, options, &mut notes)?;
        Ok((Self { features, target, weights: options.weights.clone() }, notes))
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
        if self.target.columns().is_empty() {
            return problem("target", "there are no target columns".into());
        }
        match self.target_scales().iter().zip(self.target_columns()).find(|(scale, _)| !scale.is_valid()) {
            Some((scale, column)) => {
                problem(column, format!("its scale {scale:?} must be finite with std above 0"))
            }
            None => Ok(()),
        }
    }

    /// Names of the target columns.
    pub fn target_columns(&self) -> Vec<&str> {
        self.target.columns()
    }

    /// The classes; none if targets are numbers, counts or labels.
    pub fn classes(&self) -> Option<&[String]> {
        match &self.target {
            Target::Classes { classes, .. } => Some(classes),
            _ => None,
        }
    }

    /// Scale of every real target; none for classes, counts and labels.
    pub fn target_scales(&self) -> Vec<Scale> {
        self.target.scales()
    }

    /// What a reader must take the columns as, whatever they look like.
    pub fn kinds(&self) -> ColumnKinds {
        let mut kinds = ColumnKinds::default();
        for feature in &self.features {
            let list =
                if matches!(feature, Feature::Number { .. }) { &mut kinds.numbers } else { &mut kinds.text };
            list.push(feature.column().to_string());
        }
        self.target.add_kinds(&mut kinds);
        kinds.numbers.extend(self.weights.clone());
        kinds
    }

    /// Encoded inputs, row-major rows × features. Columns may come in any order, with or without
    /// the target; missing ones are an error that lists them, others do not matter. Values that were
    /// imputed or are unknown are added to `tally`.
    pub fn inputs(&self, table: &Table, tally: &mut Tally) -> Result<Vec<f64>> {
        self.check_columns(table, false)?;
        let width = self.width();
        let mut inputs = vec![0.0; table.rows * width];
        let mut at = 0;
        for feature in &self.features {
            feature.encode(table, (&mut inputs, width), at, tally)?;
            at += feature.width();
        }
        Ok(inputs)
    }

    /// Encoded targets.
    pub fn targets(&self, table: &Table) -> Result<Targets> {
        self.target.encode(table)
    }

    /// Inputs and targets.
    pub fn dataset(&self, table: &Table, tally: &mut Tally) -> Result<Dataset> {
        self.check_columns(table, true)?;
        let (inputs, targets) = (self.inputs(table, tally)?, self.targets(table)?);
        Dataset::new(inputs, self.width(), targets).map_err(Error::content(&table.file))
    }

    /// The same with the weights of the rows, where training has them.
    pub fn training_dataset(&self, table: &Table, tally: &mut Tally) -> Result<Dataset> {
        let data = self.dataset(table, tally)?;
        match &self.weights {
            None => Ok(data),
            Some(column) => {
                let weights = table.numbers(column)?.to_vec();
                data.with_weights(weights).map_err(|source| Error::Column {
                    file: table.file.clone(),
                    column: column.clone(),
                    problem: source.to_string(),
                })
            }
        }
    }

    /// Names of the columns that are read: features, and the targets if asked for.
    pub fn columns(&self, target: bool) -> Vec<String> {
        let features = self.features.iter().map(|feature| feature.column().to_string());
        let targets = if target { self.target_columns() } else { Vec::new() };
        features.chain(targets.into_iter().map(str::to_string)).collect()
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
