//! From new data to a table of predictions, row by row: files may be larger than the memory.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use riemla::predict::Prediction;
use riemla::score::{max_probabilities, normal_quantile};
use riemla_files::table::{Values, read_table_from};
use riemla_files::{CsvReader, Format, Model, OutputFile, Table};

use super::error::{Result, WorkflowError};
use super::input::DataFiles;
use super::predictor::Predictor;
use crate::watch::Watch;

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
}

/// Writes a CSV table with a line of predictions per row of the data; returns the number of rows.
pub fn predict(
    predictor: &Predictor,
    model: &Model,
    config: &PredictConfig,
    out: &mut dyn Write,
    (stop, watch): (&AtomicBool, &dyn Watch),
) -> Result<usize> {
    if !(config.level > 0.0 && config.level < 1.0) {
        return Err(riemla::Error::range("level", config.level, "between 0 and 1").into());
    }
    watch.begin("predicting", 0);
    let mut writer = Writer { out: csv::Writer::from_writer(out), predictor, model, config, rows: 0 };
    let source = config.data.source()?;
    let Some(encoding) = &model.encoding else {
        if !config.keep.is_empty() {
            return Err(WorkflowError::unfit("columns can be kept only with a model that knows its columns"));
        }
        writer.chunk(None, &config.data.inputs(model)?)?;
        return writer.finish();
    };
    if source.format() != Format::Csv {
        let table = read_table_from(source, &encoding.text_columns())?;
        writer.chunk(Some(&table), &encoding.inputs(&table)?)?;
        return writer.finish();
    }
    let reader = CsvReader::new(source, &encoding.text_columns())?;
    let mut reader = reader.only(&encoding.columns(false), &config.keep);
    while let Some(table) = reader.next_chunk(CHUNK)? {
        if stop.load(Ordering::Relaxed) {
            return Err(WorkflowError::Interrupted);
        }
        writer.chunk(Some(&table), &encoding.inputs(&table)?)?;
        (0..table.rows).for_each(|_| watch.step());
    }
    if writer.rows == 0 {
        let file = reader.name().to_string();
        return Err(riemla_files::Error::Empty { file, expected: "there is a header but no rows" }.into());
    }
    writer.finish()
}

struct Writer<'a> {
    out: csv::Writer<&'a mut dyn Write>,
    predictor: &'a Predictor,
    model: &'a Model,
    config: &'a PredictConfig,
    rows: usize,
}

impl Writer<'_> {
    /// Predicts and writes some rows.
    fn chunk(&mut self, table: Option<&Table>, inputs: &[f64]) -> Result<()> {
        let kept = table.map_or(Ok(Vec::new()), |table| kept_columns(table, &self.config.keep))?;
        let prediction = self.predictor.predict(inputs)?;
        let columns = match &prediction {
            Prediction::Classes(_) => self.class_columns(&prediction)?,
            Prediction::Values(_) => self.value_columns(&prediction),
        };
        if self.rows == 0 {
            let names = self.config.keep.iter().cloned().chain(columns.iter().map(|column| column.0.clone()));
            self.record(names)?;
        }
        let rows = columns.first().map_or(0, |column| column.1.len());
        for row in 0..rows {
            let fields = kept.iter().map(|column| column[row].clone());
            self.record(fields.chain(columns.iter().map(|column| column.1[row].clone())))?;
        }
        self.rows += rows;
        Ok(())
    }

    fn record(&mut self, fields: impl Iterator<Item = String>) -> Result<()> {
        self.out.write_record(fields).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => write_error(error),
            other => write_error(std::io::Error::other(format!("{other:?}"))),
        })
    }

    fn finish(mut self) -> Result<usize> {
        self.out.flush().map_err(write_error)?;
        Ok(self.rows)
    }

    /// The class, how sure of it, why unsure, and the probability of every class.
    fn class_columns(&self, prediction: &Prediction) -> Result<Vec<NamedColumn>> {
        let Some(p) = prediction.classes() else { return Ok(Vec::new()) };
        let names = class_names(self.model, p.classes);
        let best = |row: &[f64]| {
            let top =
                row.iter().enumerate().fold(0, |best, (k, value)| if *value > row[best] { k } else { best });
            names[top].clone()
        };
        let rows = p.probabilities.chunks_exact(p.classes);
        let mut columns = vec![
            ("prediction".to_string(), rows.clone().map(best).collect()),
            numbers("confidence", &max_probabilities(&p.probabilities, p.classes)?),
            numbers("entropy", &p.entropy),
        ];
        for (name, values) in [("aleatoric", &p.aleatoric), ("epistemic", &p.epistemic)] {
            columns.extend(values.as_ref().map(|values| numbers(name, values)));
        }
        for (k, class) in names.iter().enumerate() {
            let values: Vec<f64> = rows.clone().map(|row| row[k]).collect();
            columns.push(numbers(&format!("p_{class}"), &values));
        }
        Ok(columns)
    }

    /// Mean, standard deviation and interval of each output.
    fn value_columns(&self, prediction: &Prediction) -> Vec<NamedColumn> {
        let Some(p) = prediction.values() else { return Vec::new() };
        let z = normal_quantile(0.5 + 0.5 * self.config.level);
        let variance = p.variance();
        let mut columns = Vec::new();
        for k in 0..p.outputs {
            let suffix = if p.outputs > 1 { format!("_{k}") } else { String::new() };
            let of = |values: &[f64]| values.iter().skip(k).step_by(p.outputs).copied().collect::<Vec<f64>>();
            let roots = |values: Vec<f64>| values.iter().map(|v| v.sqrt()).collect::<Vec<f64>>();
            let (mean, std) = (of(&p.mean), roots(of(&variance)));
            let bound =
                |sign: f64| mean.iter().zip(&std).map(|(m, s)| m + sign * z * s).collect::<Vec<f64>>();
            for (name, values) in [
                ("mean", &mean),
                ("std", &std),
                ("lower", &bound(-1.0)),
                ("upper", &bound(1.0)),
                ("epistemic_std", &roots(of(&p.epistemic_variance))),
                ("aleatoric_std", &roots(of(&p.aleatoric_variance))),
            ] {
                columns.push(numbers(&format!("{name}{suffix}"), values));
            }
        }
        columns
    }
}

type NamedColumn = (String, Vec<String>);

fn numbers(name: &str, values: &[f64]) -> NamedColumn {
    (name.into(), values.iter().map(f64::to_string).collect())
}

/// Names of the classes; numbers if the model has none.
pub fn class_names(model: &Model, classes: usize) -> Vec<String> {
    let known = model.encoding.as_ref().and_then(|encoding| encoding.classes());
    known.map_or_else(|| (0..classes).map(|k| k.to_string()).collect(), <[String]>::to_vec)
}

fn kept_columns(table: &Table, keep: &[String]) -> Result<Vec<Vec<String>>> {
    let column = |name: &String| {
        Ok(match &table.column(name)?.values {
            Values::Strings(strings) => strings.clone(),
            Values::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
        })
    };
    keep.iter().map(column).collect()
}

fn write_error(source: std::io::Error) -> WorkflowError {
    riemla_files::Error::Io { file: "predictions".into(), action: "write them", source }.into()
}

/// Writes predictions to a file in one step: the old one stays until the new one is complete.
pub fn predict_to_file(
    predictor: &Predictor,
    model: &Model,
    config: &PredictConfig,
    output: &OutputFile,
    control: (&AtomicBool, &dyn Watch),
) -> Result<usize> {
    let mut failure = None;
    let mut rows = 0;
    let written = output.write(|writer| {
        match predict(predictor, model, config, writer, control) {
            Ok(count) => rows = count,
            Err(error) => failure = Some(error),
        }
        // Any error will do: it keeps the file from being put in place.
        if failure.is_some() { Err(std::io::Error::other("no predictions")) } else { Ok(()) }
    });
    match (failure, written) {
        (Some(error), _) => Err(error),
        (None, written) => written.map(|()| rows).map_err(WorkflowError::from),
    }
}
