//! Data of a training: read, encoded, and a part of the rows held out.

use riemla::data::Dataset;
use riemla_files::encoding::Tally;
use riemla_files::{Encoding, EncodingOptions, HeldOut, Table, Task, TrainingData};

use super::{ClassWeight, TrainConfig};
use crate::likelihood::LikelihoodName;
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::input::{looks_like_classes, looks_like_label};

/// Data made ready for training.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The columns of the table; none for arrays.
    pub encoding: Option<Encoding>,
    /// Rows to train on, and rows held out.
    pub data: TrainingData,
    /// How these were chosen.
    pub held_out: Option<HeldOut>,
    /// Classes or numbers.
    pub task: Task,
    /// What the user should know about the table.
    pub notes: Vec<String>,
}

fn held_out_rows(config: &TrainConfig, rows: usize) -> Result<usize> {
    if !(0.0..1.0).contains(&config.validation) {
        let what = "share of rows to hold out";
        return Err(riemla::Error::range(what, config.validation, "at least 0 and below 1").into());
    }
    let held_out = (config.validation * rows as f64).round() as usize;
    Ok(held_out.min(rows.saturating_sub(2)))
}

/// Reads the files of a training, encodes them and holds rows out.
pub(in crate::workflow) fn prepare(config: &TrainConfig) -> Result<Prepared> {
    if config.data.labels.is_some() {
        return prepare_arrays(config);
    }
    let table = config.data.table(&config.columns)?;
    let weights = config.data.weights.as_deref();
    let targets = table.target_columns(config.data.target.as_deref(), weights)?;
    let task = match config.likelihood.map(LikelihoodName::task).or(config.task) {
        Some(task) => task,
        None => looks_like(&table, &targets)?,
    };
    let held_out = held_out_rows(config, table.rows)?;
    let rows = HeldOut::trained_rows(table.rows, held_out, config.seed);
    let options = EncodingOptions {
        target: Some(targets.join(",")),
        weights: config.data.weights.clone(),
        standardize: config.standardize,
        rows,
        ..config.columns.options(task)
    };
    let (encoding, mut notes) = Encoding::fit(&table, &options)?;
    let mut tally = Tally::default();
    let data = encoding.training_dataset(&table, &mut tally)?;
    notes.extend(tally.notes());
    let (held_out, data) = split(data, held_out, config.seed);
    Ok(Prepared { encoding: Some(encoding), data, held_out, task, notes })
}

/// What target columns look like. Counts look like classes or numbers: they must be asked for.
fn looks_like(table: &Table, targets: &[String]) -> Result<Task> {
    if let [target] = targets {
        let classes = looks_like_classes(table, target)?;
        return Ok(if classes { Task::Classification } else { Task::Regression });
    }
    let labels = targets.iter().map(|target| looks_like_label(table, target)).collect::<Result<Vec<_>>>()?;
    Ok(if labels.iter().all(|label| *label) { Task::Labels } else { Task::Regression })
}

/// Images and arrays as they are; labels from their own file.
fn prepare_arrays(config: &TrainConfig) -> Result<Prepared> {
    if config.data.weights.is_some() {
        return Err(WorkflowError::unfit(
            "weights of rows (--weights) are a column of a table, and images and arrays with --labels have none",
        ));
    }
    let mut arrays = config.data.arrays()?;
    let target = arrays.take_target(&config.data)?;
    let whole = target.values.iter().all(|value| value.fract() == 0.0 && *value >= 0.0);
    let asked = config.likelihood.map(LikelihoodName::task).or(config.task);
    let task = asked.unwrap_or(if whole { Task::Classification } else { Task::Regression });
    let data = match task {
        Task::Classification if !whole => {
            return Err(WorkflowError::unfit("labels of classes must be whole numbers counted from 0"));
        }
        Task::Classification => {
            let labels = target.values.iter().map(|value| *value as usize).collect();
            Dataset::classification(arrays.values, arrays.width, labels)?
        }
        Task::Regression | Task::Counts | Task::Labels => {
            Dataset::regression(arrays.values, arrays.width, target.values, target.width)?
        }
    };
    let held_out = held_out_rows(config, data.len())?;
    let (held_out, data) = split(data, held_out, config.seed);
    Ok(Prepared { encoding: None, data, held_out, task, notes: Vec::new() })
}

fn split(data: Dataset, held_out: usize, seed: u64) -> (Option<HeldOut>, TrainingData) {
    let all = |data| (None, TrainingData { train: data, validation: None });
    if held_out == 0 {
        return all(data);
    }
    match HeldOut::choose(&data, held_out, seed) {
        Some((record, parts)) => (Some(record), parts),
        None => all(data),
    }
}

/// The data with the weights of their classes; the weights are kept with the model, so that a fit has the same.
pub(super) fn weighted(mut prepared: Prepared, choice: &ClassWeight) -> Result<(Prepared, Option<Vec<f64>>)> {
    if *choice == ClassWeight::Equal {
        return Ok((prepared, None));
    }
    let classes = classes(&prepared);
    let train = prepared.data.train;
    let weights = match choice {
        _ if prepared.task != Task::Classification => {
            return Err(WorkflowError::unfit("weights of classes are for classification, not for numbers"));
        }
        ClassWeight::Named(given) => {
            let names = prepared.encoding.as_ref().and_then(Encoding::classes);
            let names: Vec<String> =
                names.map_or_else(|| (0..classes).map(|k| k.to_string()).collect(), <[String]>::to_vec);
            let mut weights = vec![1.0; classes];
            for (name, weight) in given {
                let Some(k) = names.iter().position(|known| known == name) else {
                    let known = names.join(", ");
                    return Err(WorkflowError::unfit(format!("no class {name}; the classes are {known}")));
                };
                weights[k] = *weight;
            }
            weights
        }
        ClassWeight::Equal | ClassWeight::Balanced => train.balanced_weights(classes)?,
    };
    prepared.data.train = train.with_class_weights(&weights)?;
    Ok((prepared, Some(weights)))
}

/// Number of classes.
pub(super) fn classes(prepared: &Prepared) -> usize {
    match prepared.encoding.as_ref().and_then(Encoding::classes) {
        Some(classes) => classes.len(),
        None => {
            let all = [Some(&prepared.data.train), prepared.data.validation.as_ref()];
            let labels = all.into_iter().flatten().filter_map(Dataset::labels).flatten();
            labels.max().map_or(0, |max| max + 1)
        }
    }
}
