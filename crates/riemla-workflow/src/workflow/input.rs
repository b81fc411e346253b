//! Data from files for a given model: tables through the model's encoding, arrays and images as
//! they are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use riemla::data::{Dataset, Targets};
use riemla::objective::TargetKind;
use riemla_files::encoding::{EncodingOptions, MissingValues, Tally, Task};
use riemla_files::idx::read_idx_from;
use riemla_files::table::{Column, ColumnKinds, Values, read_table_from};
use riemla_files::{CsvReader, Encoding, Format, Model, ReadOptions, Source, Table};

use super::error::{Result, WorkflowError};

/// Name of the target among the arrays of an NPZ file.
const TARGET_ARRAY: &str = "y";

/// Where data come from.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFiles {
    /// The table, array or images; `-` is standard input.
    pub data: PathBuf,
    /// Targets in a file of their own: for images and arrays.
    pub labels: Option<PathBuf>,
    /// Column of the target (several separated by commas in training), for models without an encoding; `y` or the
    /// last if none.
    pub target: Option<String>,
    /// Column of the weights of the rows, in training and fits; that of the model if none.
    pub weights: Option<String>,
    /// How the files are read.
    pub options: ReadOptions,
}

/// What is made of the columns of a table that a model is to know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnChoices {
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Columns of categories, whatever they look like.
    pub categorical: Vec<String>,
    /// What becomes of missing values.
    pub missing: MissingValues,
}

impl ColumnChoices {
    /// For a task, with everything else as usual.
    pub(super) fn options(&self, task: Task) -> EncodingOptions {
        let (categorical, missing) = (self.categorical.clone(), self.missing);
        EncodingOptions { categorical, missing, ..EncodingOptions::new(task) }
    }
}

impl DataFiles {
    /// One file.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), labels: None, target: None, weights: None, options: ReadOptions::default() }
    }

    /// Inputs and targets for a model, every row once; `notes` gets what the user should know about them.
    pub fn labelled(&self, model: &Model, notes: &mut Vec<String>) -> Result<Dataset> {
        self.read(model, notes, false)
    }

    /// The same with the weights of the rows, where the training of the model has them or they are asked for.
    pub fn for_training(&self, model: &Model, notes: &mut Vec<String>) -> Result<Dataset> {
        self.read(model, notes, true)
    }

    fn read(&self, model: &Model, notes: &mut Vec<String>, training: bool) -> Result<Dataset> {
        if let Some(encoding) = &model.encoding {
            let mut encoding = encoding.clone();
            encoding.weights = self.weights.clone().or(encoding.weights).filter(|_| training);
            let columns: Vec<String> =
                encoding.columns(true).into_iter().chain(encoding.weights.clone()).collect();
            let table = self.encoded_table(&encoding, &columns)?;
            let mut tally = Tally::default();
            let data = encoding.training_dataset(&table, &mut tally)?;
            notes.extend(self.in_words(&tally));
            return Ok(data);
        }
        let file = self.data.display().to_string();
        let mut arrays = self.arrays()?;
        let weights = self.weights.as_deref().map(|name| arrays.take_column(&file, name)).transpose()?;
        let target = arrays.take_target(self)?;
        check_width(&file, arrays.width, model)?;
        let targets = targets(&file, target, model)?;
        let unfit = |error| riemla_files::Error::Content { file: file.clone(), source: error };
        let data = Dataset::new(arrays.values, arrays.width, targets).map_err(unfit)?;
        Ok(match weights {
            Some(weights) if training => data.with_weights(weights).map_err(unfit)?,
            _ => data,
        })
    }

    /// Inputs for a model, row-major; targets are not needed, and left alone if they are there.
    pub fn inputs(&self, model: &Model, notes: &mut Vec<String>) -> Result<Vec<f64>> {
        if let Some(encoding) = &model.encoding {
            let mut tally = Tally::default();
            let table = self.encoded_table(encoding, &encoding.columns(false))?;
            let inputs = encoding.inputs(&table, &mut tally)?;
            notes.extend(self.in_words(&tally));
            return Ok(inputs);
        }
        let mut arrays = self.arrays()?;
        let width = arrays.width;
        if self.target.is_some() || width == inputs_of(model) + 1 {
            arrays.take_target(self)?;
        }
        check_width(&self.data.display().to_string(), arrays.width, model)?;
        Ok(arrays.values)
    }

    /// What an encoding did to values of these files, for the user.
    pub(super) fn in_words(&self, tally: &Tally) -> Vec<String> {
        tally.notes().iter().map(|note| format!("{}: {note}", self.data.display())).collect()
    }

    /// A whole table of any columns: for those who have no model yet.
    pub fn table(&self, choices: &ColumnChoices) -> Result<Table> {
        let source = self.source()?;
        if source.format() == Format::Idx {
            return Err(WorkflowError::unfit(format!(
                "{} contains images: give their labels with --labels",
                source.name()
            )));
        }
        let kinds = ColumnKinds { text: choices.categorical.clone(), ..ColumnKinds::default() };
        Ok(read_table_from(source, &kinds)?.without(&choices.ignore)?)
    }

    /// Opens the file, or standard input.
    pub fn source(&self) -> Result<Source> {
        open(&self.data, self.options)
    }

    fn encoded_table(&self, encoding: &Encoding, columns: &[String]) -> Result<Table> {
        let source = self.source()?;
        let kinds = encoding.kinds();
        if source.format() != Format::Csv {
            return Ok(read_table_from(source, &kinds)?);
        }
        let mut reader = CsvReader::new(source, &kinds)?.only(columns, &[])?;
        let file = reader.name().to_string();
        let empty = riemla_files::Error::Empty { file, expected: "it has a header but no rows" };
        Ok(reader.next_chunk(usize::MAX)?.ok_or(empty)?)
    }

    pub(super) fn arrays(&self) -> Result<Arrays> {
        Arrays::read(&self.data, self.options)
    }
}

/// Opens a file, or standard input for `-`.
fn open(path: &Path, options: ReadOptions) -> Result<Source> {
    Ok(if path == Path::new("-") {
        Source::from_reader("standard input", std::io::stdin(), options)?
    } else {
        Source::open(path, options)?
    })
}

/// Numbers in rows, without names that matter.
pub(super) struct Arrays {
    names: Vec<String>,
    pub width: usize,
    pub rows: usize,
    pub values: Vec<f64>,
}

impl Arrays {
    fn read(path: &Path, options: ReadOptions) -> Result<Self> {
        let source = open(path, options)?;
        if source.format() == Format::Idx {
            let idx = read_idx_from(source)?;
            let (width, rows) = (idx.item_len(), idx.dims[0]);
            let values = idx.data.iter().map(|byte| f64::from(*byte) / 255.0).collect();
            return Ok(Self { names: vec![], width, rows, values });
        }
        let table = read_table_from(source, &ColumnKinds::default())?;
        let (rows, width) = (table.rows, table.columns.len());
        let mut values = vec![0.0; rows * width];
        for (j, Column { name, .. }) in table.columns.iter().enumerate() {
            let column = table.numbers(name)?;
            values.chunks_exact_mut(width).zip(column).for_each(|(row, value)| row[j] = *value);
        }
        Ok(Self { names: table.names(), width, rows, values })
    }

    /// The targets: from their own file, or a column that is then no input any more.
    pub fn take_target(&mut self, files: &DataFiles) -> Result<Arrays> {
        if let Some(path) = &files.labels {
            return labels(path, files, self.rows);
        }
        let name = files.data.display();
        if self.names.is_empty() {
            return Err(WorkflowError::unfit(format!(
                "{name} contains images without labels: give them with --labels"
            )));
        }
        let file = name.to_string();
        let known = |wanted: &str| self.names.iter().any(|name| name == wanted);
        let columns: Vec<String> = match &files.target {
            Some(target) if known(target) => vec![target.clone()],
            Some(targets) => targets.split(',').map(|target| target.trim().to_string()).collect(),
            None if known(TARGET_ARRAY) => vec![TARGET_ARRAY.into()],
            None => self.names.last().cloned().into_iter().collect(),
        };
        if self.width <= columns.len() {
            return Err(WorkflowError::unfit(format!(
                "{file} has only one column; give targets with --labels"
            )));
        }
        let taken: Vec<Vec<f64>> =
            columns.iter().map(|column| self.take_column(&file, column)).collect::<Result<_>>()?;
        let values = (0..self.rows).flat_map(|row| taken.iter().map(move |column| column[row])).collect();
        Ok(Arrays { width: columns.len(), names: columns, rows: self.rows, values })
    }

    /// A column that is then no input any more.
    pub fn take_column(&mut self, file: &str, wanted: &str) -> Result<Vec<f64>> {
        let place = self.names.iter().position(|name| name == wanted).ok_or_else(|| {
            let there = self.names.join(", ");
            WorkflowError::unfit(format!("{file}: missing column `{wanted}`; its columns are: {there}"))
        })?;
        let width = self.width - 1;
        let mut kept = Vec::with_capacity(self.rows * width);
        let mut taken = Vec::with_capacity(self.rows);
        for row in self.values.chunks_exact(self.width) {
            taken.push(row[place]);
            kept.extend(row.iter().enumerate().filter(|(j, _)| *j != place).map(|(_, value)| *value));
        }
        self.names.remove(place);
        (self.values, self.width) = (kept, width);
        Ok(taken)
    }
}

fn labels(path: &Path, files: &DataFiles, rows: usize) -> Result<Arrays> {
    let source = open(path, files.options)?;
    let labels = if source.format() == Format::Idx {
        let idx = read_idx_from(source)?;
        let values = idx.data.iter().map(|byte| f64::from(*byte)).collect();
        Arrays { names: vec![], width: idx.item_len(), rows: idx.dims[0], values }
    } else {
        Arrays::read(path, files.options)?
    };
    if labels.rows != rows {
        return Err(WorkflowError::unfit(format!(
            "{} has {} rows, but {} has {rows}; the numbers must be equal",
            path.display(),
            labels.rows,
            files.data.display()
        )));
    }
    Ok(labels)
}

/// Inputs of a model's network.
fn inputs_of(model: &Model) -> usize {
    model.network.input.len()
}

fn check_width(file: &str, width: usize, model: &Model) -> Result<()> {
    let needed = inputs_of(model);
    if width == needed {
        return Ok(());
    }
    Err(WorkflowError::unfit(format!(
        "{file}: {width} input columns, but the network takes {needed}; give the columns of the network, \
         in its order (--target names the column that is not an input)"
    )))
}

/// Targets in the form that the likelihood needs.
fn targets(file: &str, target: Arrays, model: &Model) -> Result<Targets> {
    if model.likelihood.kind() != TargetKind::Classes {
        return Ok(Targets::Values { outputs: target.width, values: target.values });
    }
    let class = |(row, value): (usize, &f64)| {
        let valid = *value >= 0.0 && *value < 1e6 && value.fract() == 0.0;
        valid.then_some(*value as usize).ok_or_else(|| {
            WorkflowError::unfit(format!(
                "{file}: target {value} in row {} is not a class; classes are numbered from 0",
                row + 1
            ))
        })
    };
    Ok(Targets::Classes(target.values.iter().enumerate().map(class).collect::<Result<_>>()?))
}

/// Whether a column of this table looks like classes: text, or few different whole numbers.
pub(super) fn looks_like_classes(table: &Table, column: &str) -> Result<bool> {
    Ok(match &table.column(column)?.values {
        Values::Strings(_) => true,
        Values::Numbers(numbers) => {
            let there = numbers.iter().filter(|n| !n.is_nan());
            let different: BTreeSet<i64> = there.clone().map(|n| *n as i64).collect();
            let whole = there.into_iter().all(|n| n.fract() == 0.0);
            whole && different.len() <= 20 && different.len() * 3 <= numbers.len()
        }
    })
}

/// Whether a column looks like a label: text with two values, or 0 and 1.
pub(super) fn looks_like_label(table: &Table, column: &str) -> Result<bool> {
    Ok(match &table.column(column)?.values {
        Values::Numbers(numbers) => numbers.iter().all(|n| *n == 0.0 || *n == 1.0),
        Values::Strings(entries) => entries.iter().collect::<BTreeSet<_>>().len() == 2,
    })
}
