//! CSV with a header row, whole or in chunks of rows.

use std::collections::HashSet;
use std::io::Read as _;

use super::{Column, Table, Values};
use crate::open::Source;
use crate::{Error, Result};

/// Reads a CSV file chunk by chunk: memory for one chunk only.
///
/// Fields are separated by commas and may be quoted; surrounding blanks are ignored. A column in
/// which every entry is a number is numeric, any other is text, chunk by chunk: name the columns
/// that are text in any case when all chunks must agree.
pub struct CsvReader {
    file: String,
    reader: csv::Reader<Box<dyn std::io::Read + Send>>,
    header: Vec<String>,
    reading: Vec<Reading>,
    record: csv::ByteRecord,
}

/// What is made of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Numbers if all entries are, else text.
    Guess,
    /// Text.
    Text,
    /// Text that may be empty.
    Verbatim,
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
    /// Reads the header. `text` names columns to be taken as text even if they look like numbers.
    pub fn new(source: Source, text: &[String]) -> Result<Self> {
        let mut source = source;
        if source.start.starts_with(b"\xef\xbb\xbf") {
            source.exact(&mut [0; 3], "the byte order mark")?;
        }
        let Source { file, reader, options, .. } = source;
        // Every record ends with a line feed for sure: see `line_of_record`.
        let reader: Box<dyn std::io::Read + Send> = Box::new(reader.chain(&b"\n"[..]));
        let terminator = csv::Terminator::Any(b'\n');
        let mut reader = csv::ReaderBuilder::new().flexible(true).terminator(terminator).from_reader(reader);
        let header = match reader.byte_headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(csv_error(&file, error)),
        };
        if header.is_empty() || header.iter().all(|field| field.trim_ascii().is_empty()) {
            return Err(Error::Empty { file, expected: "a header row with column names was expected" });
        }
        if header.len() > options.max_columns {
            let problem = format!("{} columns, the limit is {}", header.len(), options.max_columns);
            return Err(Error::format(&file, "CSV", problem));
        }
        let header = header.iter().map(|field| utf8(&file, 1, field).map(str::to_string));
        let header: Vec<String> = header.collect::<Result<_>>()?;
        check_header(&file, &header)?;
        let reading = |name| if text.contains(name) { Reading::Text } else { Reading::Guess };
        let reading = header.iter().map(reading).collect();
        Ok(Self { file, reader, header, reading, record: csv::ByteRecord::new() })
    }

    /// Only these columns, and those to be copied as they are (even if empty), as far as they are
    /// there: what stands in others does not matter.
    pub fn only(mut self, names: &[String], copied: &[String]) -> Self {
        for (name, reading) in self.header.iter().zip(&mut self.reading) {
            *reading = match (names.contains(name), copied.contains(name)) {
                (true, _) => *reading,
                (false, true) => Reading::Verbatim,
                (false, false) => Reading::Skip,
            };
        }
        self
    }

    /// Name of the file in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Up to `rows` further rows; none at the end of the file.
    pub fn next_chunk(&mut self, rows: usize) -> Result<Option<Table>> {
        let mut raw: Vec<RawColumn> = self.header.iter().map(|_| RawColumn::default()).collect();
        let mut lines = Vec::new();
        while lines.len() < rows.max(1) {
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(csv_error(&self.file, error)),
            }
            if self.record.len() == 1 && self.header.len() > 1 && self.record[0].trim_ascii().is_empty() {
                continue; // a blank line
            }
            let line = self.line_of_record();
            if self.record.len() != self.header.len() {
                return Err(Error::Ragged {
                    file: self.file.clone(),
                    line,
                    expected: self.header.len(),
                    found: self.record.len(),
                });
            }
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
            if reading == Reading::Skip {
                continue;
            }
            let values = convert(&self.file, name, &raw, &lines, reading)?;
            columns.push(Column { name: name.clone(), values });
        }
        Ok(Some(Table { file: self.file.clone(), columns, rows: lines.len(), lines }))
    }

    /// The line on which the record just read begins. Counted from its end: the position the
    /// csv crate gives to a record is that of the blank lines before it.
    fn line_of_record(&self) -> u64 {
        let breaks = self.record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        self.reader.position().line().saturating_sub(1 + breaks)
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
        let problem = "line 1 holds only numbers; a header row with column names was expected";
        return Err(Error::format(file, "CSV", problem));
    }
    Ok(())
}

/// Text that stands for "no value" among numbers.
fn is_missing(entry: &str) -> bool {
    const WORDS: [&str; 6] = ["?", "na", "n/a", "null", "none", "-"];
    entry.is_empty() || WORDS.iter().any(|word| entry.eq_ignore_ascii_case(word))
}

fn convert(file: &str, name: &str, raw: &RawColumn, lines: &[u64], reading: Reading) -> Result<Values> {
    let missing = |row: usize, entry: &str| Error::Missing {
        file: file.into(),
        line: lines[row],
        column: name.into(),
        value: entry.into(),
    };
    // One pass decides whether this is a column of numbers, with missing ones perhaps.
    let numbers = raw.entries().filter(|entry| entry.parse::<f64>().is_ok()).count();
    let gaps = raw.entries().filter(|entry| is_missing(entry)).count();
    if reading != Reading::Guess || numbers == 0 || numbers + gaps < lines.len() {
        let empty = raw.entries().position(str::is_empty).filter(|_| reading != Reading::Verbatim);
        return match empty {
            Some(row) => Err(missing(row, "")),
            None => Ok(Values::Strings(raw.entries().map(str::to_string).collect())),
        };
    }
    let number = |(row, entry): (usize, &str)| match entry.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(Error::NotFinite {
            file: file.into(),
            line: lines[row],
            column: name.into(),
            value: entry.into(),
        }),
        Err(_) => Err(missing(row, entry)),
    };
    Ok(Values::Numbers(raw.entries().enumerate().map(number).collect::<Result<_>>()?))
}

fn utf8<'a>(file: &str, line: u64, field: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(field).map(str::trim).map_err(|_| {
        Error::format(file, "CSV", format!("line {line}: not UTF-8 text; save it as UTF-8 or unpack it"))
    })
}

fn csv_error(file: &str, error: csv::Error) -> Error {
    let message = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => crate::open::read_error(file, "read it", error),
        _ => Error::format(file, "CSV", message),
    }
}
