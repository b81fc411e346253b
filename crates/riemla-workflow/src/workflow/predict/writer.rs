//! Tables of predictions as text: CSV, or a JSON object per line.

use std::io::Write;

use riemla_files::table::{Column, Values};
use serde::Deserialize;

use crate::workflow::error::{Result, WorkflowError};

/// How predictions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// A header and a line per row.
    #[default]
    Csv,
    /// A JSON object per line; missing values are null.
    #[serde(rename = "jsonl")]
    JsonLines,
}

/// Writes columns in pieces of some rows.
pub(in crate::workflow) enum Writer<'a> {
    Csv { out: Box<csv::Writer<&'a mut dyn Write>>, begun: bool },
    JsonLines(&'a mut dyn Write),
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut dyn Write, format: OutputFormat) -> Self {
        match format {
            OutputFormat::Csv => Self::Csv { out: Box::new(csv::Writer::from_writer(out)), begun: false },
            OutputFormat::JsonLines => Self::JsonLines(out),
        }
    }

    /// Writes some rows, with a header before the first.
    pub fn write(&mut self, columns: &[Column], rows: usize) -> Result<()> {
        match self {
            Self::Csv { out, begun } => {
                if !*begun {
                    *begun = true;
                    out.write_record(columns.iter().map(|column| &column.name)).map_err(csv_error)?;
                }
                for row in 0..rows {
                    out.write_record(columns.iter().map(|column| text(&column.values, row)))
                        .map_err(csv_error)?;
                }
                Ok(())
            }
            Self::JsonLines(out) => {
                (0..rows).try_for_each(|row| out.write_all(object(columns, row).as_bytes())).map_err(io_error)
            }
        }
    }

    pub fn finish(self) -> Result<()> {
        match self {
            Self::Csv { mut out, .. } => out.flush(),
            Self::JsonLines(out) => out.flush(),
        }
        .map_err(io_error)
    }
}

/// A cell of a CSV file.
fn text(values: &Values, row: usize) -> String {
    match values {
        Values::Strings(strings) => strings[row].clone(),
        Values::Numbers(numbers) if numbers[row].is_nan() => String::new(),
        Values::Numbers(numbers) => numbers[row].to_string(),
    }
}

/// A row as a line of JSON, its keys in the order of the columns.
fn object(columns: &[Column], row: usize) -> String {
    let field = |column: &Column| {
        let value = match &column.values {
            Values::Strings(strings) => serde_json::Value::from(strings[row].as_str()),
            Values::Numbers(numbers) => serde_json::Value::from(numbers[row]),
        };
        format!("{}:{value}", serde_json::Value::from(column.name.as_str()))
    };
    format!("{{{}}}\n", columns.iter().map(field).collect::<Vec<_>>().join(","))
}

fn csv_error(error: csv::Error) -> WorkflowError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => io_error(error),
        other => io_error(std::io::Error::other(format!("{other:?}"))),
    }
}

fn io_error(source: std::io::Error) -> WorkflowError {
    riemla_files::Error::Io { file: "predictions".into(), action: "write them", source }.into()
}
