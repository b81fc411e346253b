//! How a table becomes a data set: which columns, in which scale, which classes.
//!
//! Fitted on the training table, kept in the model, applied to every later table.

use riemla::data::{Dataset, Targets};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::table::{Table, Values};

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

    /// Mean and (population) standard deviation of the values.
    fn fit(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().map(|value| value / n).sum::<f64>();
        let std = (values.iter().map(|value| (value - mean).powi(2) / n).sum::<f64>()).sqrt();
        // A constant column may show rounding errors.
        let constant = values.iter().all(|value| *value == values[0]);
        if constant { Self { mean: values[0], std: 1.0 } } else { Self { mean, std } }
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

/// One input of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Name of the column.
    pub column: String,
    /// Its mean in training, or 0.
    pub mean: f64,
    /// Its standard deviation in training, or 1; 1 as well for constant columns.
    pub std: f64,
}

impl Feature {
    /// Its scale.
    pub fn scale(&self) -> Scale {
        Scale { mean: self.mean, std: self.std }
    }
}

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
}

impl EncodingOptions {
    /// Standardised features and real targets, the last column as the target.
    pub fn new(task: Task) -> Self {
        Self { target: None, task, standardize: true, standardize_target: true }
    }
}

/// How tables become data sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// Inputs, in the order of the network.
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
            let values = table.numbers(&column.name)?;
            let scale =
                if options.standardize { fit_scale(table, &column.name, values)? } else { Scale::IDENTITY };
            features.push(Feature { column: column.name.clone(), mean: scale.mean, std: scale.std });
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
                let scale = if standardize { fit_scale(table, &target, values)? } else { Scale::IDENTITY };
                Target::Value { column: target, mean: scale.mean, std: scale.std }
            }
        };
        Ok(Self { features, target })
    }

    /// Checks what a file may have got wrong: no features, scales that are not positive numbers.
    pub(crate) fn check(&self, file: &str) -> Result<()> {
        let target = match &self.target {
            Target::Value { column, mean, std } => Some((column, Scale { mean: *mean, std: *std })),
            Target::Classes { .. } => None,
        };
        let scales = self.features.iter().map(|feature| (&feature.column, feature.scale())).chain(target);
        for (column, scale) in scales {
            if !(scale.mean.is_finite() && scale.std.is_finite() && scale.std > 0.0) {
                let problem = format!("its scale {scale:?} must be finite with std above 0");
                return Err(Error::Column { file: file.into(), column: column.clone(), problem });
            }
        }
        Ok(())
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
        match &self.target {
            Target::Classes { column, text: true, .. } => vec![column.clone()],
            _ => vec![],
        }
    }

    /// Encoded inputs, row-major rows × features. Columns may come in any order, with or without
    /// the target; missing or unexpected ones are an error that lists them.
    pub fn inputs(&self, table: &Table) -> Result<Vec<f64>> {
        self.check_columns(table, false)?;
        let width = self.features.len();
        let mut inputs = vec![0.0; table.rows * width];
        for (j, feature) in self.features.iter().enumerate() {
            let scale = feature.scale();
            for (i, value) in table.numbers(&feature.column)?.iter().enumerate() {
                inputs[i * width + j] = scale.encode(*value);
            }
        }
        Ok(inputs)
    }

    /// Encoded targets.
    pub fn targets(&self, table: &Table) -> Result<Targets> {
        match &self.target {
            Target::Classes { column, classes, .. } => {
                let labels = class_names(table, column)?;
                Ok(Targets::Classes(class_indices(table, column, &labels, classes)?))
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
        Dataset::new(inputs, self.features.len(), targets).map_err(Error::content(&table.file))
    }

    fn check_columns(&self, table: &Table, target: bool) -> Result<()> {
        let features = self.features.iter().map(|feature| feature.column.as_str());
        let needed: Vec<&str> = features.chain(target.then(|| self.target_column())).collect();
        let present: std::collections::HashSet<&str> =
            table.columns.iter().map(|c| c.name.as_str()).collect();
        let known: std::collections::HashSet<&str> =
            needed.iter().copied().chain(std::iter::once(self.target_column())).collect();
        let missing: Vec<_> =
            needed.iter().filter(|name| !present.contains(*name)).map(|s| s.to_string()).collect();
        let extra: Vec<_> = table.names().into_iter().filter(|name| !known.contains(name.as_str())).collect();
        if missing.is_empty() && extra.is_empty() {
            Ok(())
        } else {
            Err(table.missing_columns(missing, extra))
        }
    }
}

fn fit_scale(table: &Table, column: &str, values: &[f64]) -> Result<Scale> {
    let scale = Scale::fit(values);
    if scale.mean.is_finite() && scale.std.is_finite() && scale.std > 0.0 {
        return Ok(scale);
    }
    let problem = "its values are too large or too small to be standardised; rescale it first".into();
    Err(Error::Column { file: table.file.clone(), column: column.into(), problem })
}

fn fit_classes(table: &Table, column: String) -> Result<Target> {
    let text = matches!(table.column(&column)?.values, Values::Strings(_));
    let mut classes = class_names(table, &column)?;
    classes.sort_unstable();
    classes.dedup();
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

fn class_indices(table: &Table, column: &str, labels: &[String], classes: &[String]) -> Result<Vec<usize>> {
    let index: std::collections::HashMap<&str, usize> =
        classes.iter().enumerate().map(|(k, class)| (class.as_str(), k)).collect();
    let known = |label: &String| index.get(label.as_str()).copied();
    let Some(first) = labels.iter().position(|label| known(label).is_none()) else {
        return Ok(labels.iter().filter_map(known).collect());
    };
    let mut unknown: Vec<String> = labels.iter().filter(|label| known(label).is_none()).cloned().collect();
    unknown.sort_unstable();
    unknown.dedup();
    Err(Error::UnknownClass {
        file: table.file.clone(),
        line: table.line(first),
        column: column.into(),
        unknown,
        known: classes.to_vec(),
    })
}
