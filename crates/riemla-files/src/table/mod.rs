//! Tabular data: named columns of numbers or text, from CSV, NPY, NPZ or Parquet.

mod csv;
mod npy;
mod npz;
mod parquet;

use std::path::Path;

pub use self::csv::CsvReader;
pub use self::npy::Array;

use crate::open::{Format, ReadOptions, Source};
use crate::{Error, Result};

/// The entries of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Finite numbers.
    Numbers(Vec<f64>),
    /// Text, at least one of which is not a number.
    Strings(Vec<String>),
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// One entry per row.
    pub values: Values,
}

/// A table with named columns of equal length, without missing values.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Where it came from, for messages.
    pub file: String,
    /// The columns, in the order of the file.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub rows: usize,
    /// For messages: the line each row began at; empty if the file has no lines.
    pub lines: Vec<u64>,
}

impl Table {
    /// Names of all columns, in order.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| self.missing_columns(vec![name.into()]))
    }

    /// The table without the given columns, all of which must be there.
    pub fn without(mut self, names: &[String]) -> Result<Self> {
        let absent = names.iter().filter(|name| self.columns.iter().all(|column| column.name != **name));
        let absent: Vec<String> = absent.cloned().collect();
        if !absent.is_empty() {
            return Err(self.missing_columns(absent));
        }
        self.columns.retain(|column| !names.contains(&column.name));
        Ok(self)
    }

    /// The numbers of a column; text in it is an error that names the line.
    pub fn numbers(&self, name: &str) -> Result<&[f64]> {
        match &self.column(name)?.values {
            Values::Numbers(numbers) => Ok(numbers),
            Values::Strings(strings) => {
                let row = strings.iter().position(|s| s.parse::<f64>().is_err()).unwrap_or(0);
                Err(Error::Text {
                    file: self.file.clone(),
                    line: self.line(row),
                    column: name.into(),
                    value: strings.get(row).cloned().unwrap_or_default(),
                })
            }
        }
    }

    /// Line (or, without lines, row from 1) of a row, for messages.
    pub fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or(row as u64 + 1)
    }

    pub(crate) fn missing_columns(&self, missing: Vec<String>) -> Error {
        Error::Columns { file: self.file.clone(), missing, present: self.names() }
    }
}

/// Reads a whole table. The format is recognised by content: NPY, NPZ, Parquet, otherwise CSV; any of
/// them may be compressed with gzip.
pub fn read_table(path: &Path, options: ReadOptions) -> Result<Table> {
    read_table_from(Source::open(path, options)?, &[])
}

/// The arrays of an NPZ file, by name, of any shapes.
pub fn read_npz(path: &Path, options: ReadOptions) -> Result<Vec<(String, Array)>> {
    npz::read_arrays(Source::open(path, options)?)
}

/// As [`read_table`], from any source; `text` names CSV columns to be taken as text even if all
/// their entries look like numbers.
pub fn read_table_from(source: Source, text: &[String]) -> Result<Table> {
    match source.format() {
        Format::Npy => npy::read_table(source),
        Format::Npz => npz::read_table(source),
        Format::Parquet => parquet::read_table(source),
        Format::Csv | Format::Idx => {
            let mut reader = CsvReader::new(source, text)?;
            let file = reader.name().to_string();
            let empty = Error::Empty { file, expected: "there is a header but no rows" };
            reader.next_chunk(usize::MAX)?.ok_or(empty)
        }
    }
}
