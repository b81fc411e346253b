//! Tabular data: named columns of numbers or text, from CSV, NPY, NPZ or Parquet.

mod csv;
mod dialect;
pub(crate) mod entry;
mod npy;
mod npz;
mod parquet;

use std::path::Path;

pub use self::csv::CsvReader;
pub use self::npy::Array;

use crate::open::{Format, ReadOptions, Source};
use crate::{Error, Result};

/// The entries of a column, as the file has them.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers; NaN where there is none.
    Numbers(Vec<f64>),
    /// Text; empty, or a word such as `NA`, where there is none.
    Strings(Vec<String>),
}

/// What is known of the columns of a CSV file before it is read; other columns are recognised by their entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnKinds {
    /// Text, even if all entries look like numbers.
    pub text: Vec<String>,
    /// Numbers: text in them is an error.
    pub numbers: Vec<String>,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// One entry per row.
    pub values: Values,
}

impl Column {
    /// Number of missing values.
    pub fn missing(&self) -> usize {
        match &self.values {
            Values::Numbers(numbers) => numbers.iter().filter(|number| number.is_nan()).count(),
            Values::Strings(strings) => strings.iter().filter(|entry| entry::is_missing(entry)).count(),
        }
    }
}

/// A table with named columns of equal length. Values may be missing: [`Table::numbers`] refuses them, an
/// [`crate::Encoding`] does what it was fitted to do about them.
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
    /// Whether numbers in its text have a decimal comma.
    pub decimal_comma: bool,
}

impl Table {
    /// No columns and rows yet, of a file without lines.
    pub(crate) fn empty(file: &str) -> Self {
        Self { file: file.into(), columns: vec![], rows: 0, lines: vec![], decimal_comma: false }
    }

    /// Names of all columns, in order.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| self.missing_columns(vec![name.into()]))
    }

    /// The named target column, or several separated by commas (unless a column has that very name); the last one, or
    /// the one before the weights, if none is named.
    pub fn target_columns(&self, named: Option<&str>, weights: Option<&str>) -> Result<Vec<String>> {
        let is_there = |name: &str| self.columns.iter().any(|column| column.name == name);
        let names: Vec<String> = match named {
            Some(name) if is_there(name) => vec![name.to_string()],
            Some(names) => names.split(',').map(|name| name.trim().to_string()).collect(),
            None => {
                let mut others = self.columns.iter().filter(|column| weights != Some(column.name.as_str()));
                others.next_back().map(|column| column.name.clone()).into_iter().collect()
            }
        };
        let absent: Vec<String> = names.iter().filter(|name| !is_there(name)).cloned().collect();
        if !absent.is_empty() || names.is_empty() {
            return Err(self.missing_columns(absent));
        }
        let twice = names.iter().enumerate().find(|(k, name)| names[..*k].contains(name));
        if let Some((_, column)) = twice.or(names.iter().enumerate().find(|(_, name)| weights == Some(name)))
        {
            let problem = "it is named twice: a column is one target, or the weights of the rows".into();
            return Err(Error::Column { file: self.file.clone(), column: column.clone(), problem });
        }
        Ok(names)
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

    /// The numbers of a column; text, a missing value or an infinity in it is an error that names the line.
    pub fn numbers(&self, name: &str) -> Result<&[f64]> {
        let numbers = self.numbers_with_gaps(name)?;
        match numbers.iter().position(|number| number.is_nan()) {
            None => Ok(numbers),
            Some(row) => Err(self.cell(name, row, "missing value; fill it in or remove the row")),
        }
    }

    /// As [`Table::numbers`], with NaN for missing values.
    pub(crate) fn numbers_with_gaps(&self, name: &str) -> Result<&[f64]> {
        let (file, column) = (self.file.clone(), name.to_string());
        match &self.column(name)?.values {
            Values::Numbers(numbers) => match numbers.iter().position(|number| number.is_infinite()) {
                None => Ok(numbers),
                Some(row) => {
                    let (line, value) = (self.line(row), numbers[row].to_string());
                    Err(Error::NotFinite { file, line, column, value })
                }
            },
            Values::Strings(strings) => {
                let is_text = |entry: &String| {
                    entry::number(entry, self.decimal_comma).is_none() && !entry::is_missing_number(entry)
                };
                let Some(row) = strings.iter().position(is_text) else {
                    return Err(self.cell(name, 0, "this column contains text, but must contain numbers"));
                };
                Err(Error::Text { file, line: self.line(row), column, value: strings[row].clone() })
            }
        }
    }

    /// The error that a feature has no value in a row.
    pub(crate) fn missing(&self, column: &str, row: usize) -> Error {
        Error::Missing { file: self.file.clone(), line: self.line(row), column: column.into() }
    }

    /// An error about one cell.
    pub(crate) fn cell(&self, column: &str, row: usize, problem: impl Into<String>) -> Error {
        Error::Cell {
            file: self.file.clone(),
            line: self.line(row),
            column: column.into(),
            problem: problem.into(),
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
    read_table_from(Source::open(path, options)?, &ColumnKinds::default())
}

/// The arrays of an NPZ file, by name, of any shapes.
pub fn read_npz(path: &Path, options: ReadOptions) -> Result<Vec<(String, Array)>> {
    npz::read_arrays(Source::open(path, options)?)
}

/// As [`read_table`], from any source, with what is known of its columns.
pub fn read_table_from(source: Source, kinds: &ColumnKinds) -> Result<Table> {
    match source.format() {
        Format::Npy => npy::read_table(source),
        Format::Npz => npz::read_table(source),
        Format::Parquet => parquet::read_table(source),
        Format::Csv | Format::Idx => {
            let mut reader = CsvReader::new(source, kinds)?;
            let file = reader.name().to_string();
            let empty = Error::Empty { file, expected: "it has a header but no rows" };
            reader.next_chunk(usize::MAX)?.ok_or(empty)
        }
    }
}
