//! CSV with a header row, whole or in chunks of rows.

use std::collections::HashSet;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::dialect::Dialect;
use super::entry::{is_missing_number, number};
use super::{Column, ColumnKinds, Table, Values};
use crate::open::Source;
use crate::{Error, Result};

/// Reads a CSV file chunk by chunk: memory for one chunk only.
///
/// The delimiter is recognised unless given; fields may be quoted; surrounding blanks are ignored. A
/// column in which every entry is a number or missing is numeric, any other is text, chunk by
/// chunk: tell the kinds of columns when all chunks must agree.
pub struct CsvReader {
    file: String,
    reader: csv::Reader<Watched>,
    ended: Arc<AtomicBool>,
    delimiter: u8,
    decimal_comma: bool,
    header: Vec<String>,
    reading: Vec<Reading>,
    record: csv::ByteRecord,
}

/// What is made of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Numbers if all entries are numbers or missing, else text.
    Guess,
    /// Numbers.
    Numbers,
    /// Text.
    Text,
    /// Nothing.
    Skip,
}

/// The entries of one column as they stand in the file.
#[derive(Default)]
struct RawColumn {
    text: String,
    ends: Vec<usize>,
}

impl RawColumn {
    fn entries(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

impl CsvReader {
    /// Reads the header.
    pub fn new(source: Source, kinds: &ColumnKinds) -> Result<Self> {
        let Dialect { file, reader, delimiter, options, max_columns } = Dialect::recognise(source)?;
        let ended = Arc::new(AtomicBool::new(false));
        // Every record ends with a line feed for sure: see `line_of_record`.
        let reader = Watched { inner: Box::new(reader.chain(&b"\n"[..])), ended: ended.clone() };
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .delimiter(delimiter)
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(reader);
        let header = match reader.byte_headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(csv_error(&file, error)),
        };
        if header.is_empty() || header.iter().all(|field| field.trim_ascii().is_empty()) {
            return Err(Error::Empty { file, expected: "a header row with column names was expected" });
        }
        if ended.load(Ordering::Relaxed) {
            let problem = "line 1: a quote is opened and never closed; close it, or double it";
            return Err(Error::format(&file, "CSV", problem));
        }
        if header.len() > max_columns {
            let problem = format!("{} columns, the limit is {max_columns}", header.len());
            return Err(Error::format(&file, "CSV", problem));
        }
        let header = header.iter().map(|field| utf8(&file, 1, field).map(str::to_string));
        let header: Vec<String> = header.collect::<Result<_>>()?;
        check_header(&file, &header)?;
        let reading =
            header.iter().map(|name| match (kinds.text.contains(name), kinds.numbers.contains(name)) {
                (true, _) => Reading::Text,
                (false, true) => Reading::Numbers,
                (false, false) => Reading::Guess,
            });
        let reading = reading.collect();
        let (decimal_comma, record) = (options.decimal_comma, csv::ByteRecord::new());
        Ok(Self { file, reader, ended, delimiter, decimal_comma, header, reading, record })
    }

    /// Only these columns, and those to be copied as they are: all must be there, and what stands in
    /// others does not matter.
    pub fn only(mut self, names: &[String], copied: &[String]) -> Result<Self> {
        let absent = names.iter().chain(copied).filter(|name| !self.header.contains(name));
        let missing: Vec<String> = absent.cloned().collect();
        if !missing.is_empty() {
            return Err(Error::Columns { file: self.file, missing, present: self.header });
        }
        for (name, reading) in self.header.iter().zip(&mut self.reading) {
            *reading = match (names.contains(name), copied.contains(name)) {
                (true, _) => *reading,
                (false, true) => Reading::Text,
                (false, false) => Reading::Skip,
            };
        }
        Ok(self)
    }

    /// Name of the file in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Up to `rows` further rows; none at the end of the file.
    pub fn next_chunk(&mut self, rows: usize) -> Result<Option<Table>> {
        let mut raw: Vec<RawColumn> = self.header.iter().map(|_| RawColumn::default()).collect();
        let mut lines = Vec::new();
        while lines.len() < rows.max(1) {
            let Some(line) = self.next_record()? else { break };
            let fields = raw.iter_mut().zip(&self.record).zip(&self.reading);
            for ((column, field), _) in fields.filter(|(_, reading)| **reading != Reading::Skip) {
                column.text.push_str(utf8(&self.file, line, field)?);
                column.ends.push(column.text.len());
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(self.header.len());
        for ((name, raw), &reading) in self.header.iter().zip(raw).zip(&self.reading) {
            if reading != Reading::Skip {
                columns
                    .push(Column { name: name.clone(), values: self.values(name, &raw, &lines, reading)? });
            }
        }
        let (file, decimal_comma) = (self.file.clone(), self.decimal_comma);
        Ok(Some(Table { file, columns, rows: lines.len(), lines, decimal_comma }))
    }

    /// Reads one record with the right number of fields, and gives its line; none at the end.
    fn next_record(&mut self) -> Result<Option<u64>> {
        loop {
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => return Err(csv_error(&self.file, error)),
            }
            // Only a quote can keep the last line feed from ending the record.
            if self.ended.load(Ordering::Relaxed) {
                return Err(self.unclosed_quote());
            }
            let blank = self.record.len() == 1 && self.record[0].trim_ascii().is_empty();
            if blank && self.header.len() > 1 {
                continue;
            }
            let line = self.line_of_record();
            if self.record.len() == self.header.len() {
                return Ok(Some(line));
            }
            return Err(Error::Ragged {
                file: self.file.clone(),
                line,
                expected: self.header.len(),
                found: self.record.len(),
                delimiter: delimiter_name(self.delimiter),
            });
        }
    }

    /// The line on which the record just read begins. Counted from its end: the position the
    /// csv crate gives to a record is that of the blank lines before it.
    fn line_of_record(&self) -> u64 {
        self.reader.position().line().saturating_sub(1 + line_feeds(self.record.as_slice()))
    }

    /// The quote was opened in the last field: all that follows is part of it.
    fn unclosed_quote(&self) -> Error {
        let place = self.record.len().saturating_sub(1);
        let inside = self.record.get(place).map_or(0, line_feeds);
        let line = self.reader.position().line().saturating_sub(inside);
        let column = self.header.get(place).map_or(String::new(), |name| format!(", column `{name}`"));
        let problem =
            format!("line {line}{column}: a quote is opened and never closed; close it, or double it");
        Error::format(&self.file, "CSV", problem)
    }

    fn values(&self, name: &str, raw: &RawColumn, lines: &[u64], reading: Reading) -> Result<Values> {
        let value = |entry| match number(entry, self.decimal_comma) {
            None if is_missing_number(entry) => Some(f64::NAN),
            value => value,
        };
        let numbers = match reading {
            Reading::Text | Reading::Skip => false,
            Reading::Numbers => true,
            Reading::Guess => {
                raw.entries().all(|entry| value(entry).is_some())
                    && raw.entries().any(|entry| !is_missing_number(entry))
            }
        };
        if !numbers {
            return Ok(Values::Strings(raw.entries().map(str::to_string).collect()));
        }
        let text = |row: usize, entry: &str| Error::Text {
            file: self.file.clone(),
            line: lines[row],
            column: name.into(),
            value: entry.into(),
        };
        let checked =
            raw.entries().enumerate().map(|(row, entry)| value(entry).ok_or_else(|| text(row, entry)));
        Ok(Values::Numbers(checked.collect::<Result<_>>()?))
    }
}

/// Notices when the end of the file was reached.
struct Watched {
    inner: Box<dyn std::io::Read + Send>,
    ended: Arc<AtomicBool>,
}

impl std::io::Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            self.ended.store(true, Ordering::Relaxed);
        }
        Ok(count)
    }
}

fn line_feeds(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn delimiter_name(delimiter: u8) -> String {
    match delimiter {
        b',' => "commas".into(),
        b';' => "semicolons".into(),
        b'\t' => "tabs".into(),
        other => format!("`{}`", char::from(other)),
    }
}

fn check_header(file: &str, header: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    for (i, name) in header.iter().enumerate() {
        let problem = if name.is_empty() {
            format!("column {} has no name", i + 1)
        } else if !seen.insert(name) {
            format!("two columns are called `{name}`")
        } else {
            continue;
        };
        return Err(Error::format(file, "CSV", format!("line 1: {problem}; every column needs its own")));
    }
    if header.iter().all(|name| name.parse::<f64>().is_ok()) {
        let problem = "line 1 contains only numbers; a header row with column names was expected";
        return Err(Error::format(file, "CSV", problem));
    }
    Ok(())
}

fn utf8<'a>(file: &str, line: u64, field: &'a [u8]) -> Result<&'a str> {
    let problem = match std::str::from_utf8(field) {
        Ok(text) if !text.contains('\0') => return Ok(text.trim()),
        Ok(_) => "NUL bytes: the file is damaged or not text; save it again as UTF-8",
        Err(_) => "not UTF-8 text; save it as UTF-8, or decompress it",
    };
    Err(Error::format(file, "CSV", format!("line {line}: {problem}")))
}

fn csv_error(file: &str, error: csv::Error) -> Error {
    let message = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => crate::open::read_error(file, "read it", error),
        _ => Error::format(file, "CSV", message),
    }
}
