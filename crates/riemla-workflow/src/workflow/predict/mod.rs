//! From new data to a table of predictions, row by row: files may be larger than the memory.

mod columns;
mod writer;

use std::io::Write;

use riemla_files::encoding::Tally;
use riemla_files::table::read_table_from;
use riemla_files::{CsvReader, Format, Model, OutputFile, Table};

use super::error::{Result, WorkflowError};
use super::guarantees::Guarantees;
use super::input::DataFiles;
use super::members::Together;
use crate::watch::Session;

pub use columns::{class_names, target_names};
pub use writer::OutputFormat;

use columns::{columns as predicted, kept};
pub(super) use writer::Writer;

/// Rows that are read, predicted and written at a time.
const CHUNK: usize = 2000;

/// What is asked of a prediction.
#[derive(Debug, Clone)]
pub struct PredictConfig {
    /// The new data.
    pub data: DataFiles,
    /// Probability that an interval of a real target holds.
    pub level: f64,
    /// Columns to copy to the output.
    pub keep: Vec<String>,
    /// How predictions are written.
    pub format: OutputFormat,
    /// What held-out rows say about them.
    pub guarantees: Guarantees,
}

/// What was predicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicted {
    /// Number of rows.
    pub rows: usize,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Writes a table with a line of predictions per row of the data.
pub fn predict(
    predictor: &Together,
    model: &Model,
    config: &PredictConfig,
    out: &mut dyn Write,
    session: Session<'_>,
) -> Result<Predicted> {
    if !(config.level > 0.0 && config.level < 1.0) {
        return Err(riemla::Error::range("level", config.level, "between 0 and 1").into());
    }
    session.watch.begin("predicting", 0);
    let writer = Writer::new(out, config.format);
    let mut run = Run { writer, predictor, model, config, rows: 0 };
    let mut notes = Vec::new();
    let Some(encoding) = &model.encoding else {
        if !config.keep.is_empty() {
            return Err(WorkflowError::unfit(
                "columns can be copied only if the model knows its columns: \
                 train on a table, or import with --data",
            ));
        }
        run.chunk(None, &config.data.inputs(model, &mut notes)?)?;
        return run.finish(notes);
    };
    let mut tally = Tally::default();
    let source = config.data.source()?;
    if source.format() != Format::Csv {
        let table = read_table_from(source, &encoding.kinds())?;
        run.chunk(Some(&table), &encoding.inputs(&table, &mut tally)?)?;
        return run.finish(config.data.in_words(&tally));
    }
    let reader = CsvReader::new(source, &encoding.kinds())?;
    let mut reader = reader.only(&encoding.columns(false), &config.keep)?;
    while let Some(table) = reader.next_chunk(CHUNK)? {
        if session.stopped() {
            return Err(WorkflowError::Interrupted);
        }
        run.chunk(Some(&table), &encoding.inputs(&table, &mut tally)?)?;
        (0..table.rows).for_each(|_| session.watch.step());
    }
    if run.rows == 0 {
        let file = reader.name().to_string();
        return Err(riemla_files::Error::Empty { file, expected: "it has a header but no rows" }.into());
    }
    run.finish(config.data.in_words(&tally))
}

/// What becomes of a chunk of rows.
struct Run<'a> {
    writer: Writer<'a>,
    predictor: &'a Together,
    model: &'a Model,
    config: &'a PredictConfig,
    rows: usize,
}

impl Run<'_> {
    /// Predicts and writes some rows.
    fn chunk(&mut self, table: Option<&Table>, inputs: &[f64]) -> Result<()> {
        let mut columns = table.map_or(Ok(Vec::new()), |table| kept(table, &self.config.keep))?;
        let prediction = self.predictor.predict(inputs)?;
        columns.extend(predicted(&prediction, self.model, self.config)?);
        let rows = inputs.len() / self.predictor.input_len().max(1);
        self.writer.write(&columns, rows)?;
        self.rows += rows;
        Ok(())
    }

    fn finish(self, notes: Vec<String>) -> Result<Predicted> {
        self.writer.finish()?;
        Ok(Predicted { rows: self.rows, notes })
    }
}

/// Writes predictions to a file in one step: the old one stays until the new one is complete.
pub fn predict_to_file(
    predictor: &Together,
    model: &Model,
    config: &PredictConfig,
    output: &OutputFile,
    session: Session<'_>,
) -> Result<Predicted> {
    let mut outcome = None;
    let written = output.write(|writer| {
        let predicted = outcome.insert(predict(predictor, model, config, writer, session));
        // Any error will do: it keeps the file from being put in place.
        if predicted.is_ok() { Ok(()) } else { Err(std::io::Error::other("no predictions")) }
    });
    match outcome {
        Some(Ok(predicted)) => written.map(|()| predicted).map_err(WorkflowError::from),
        Some(Err(error)) => Err(error),
        None => written.map_or_else(|error| Err(error.into()), |()| Err(WorkflowError::Interrupted)),
    }
}
