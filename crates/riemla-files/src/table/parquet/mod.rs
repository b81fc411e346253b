//! Parquet: flat tables of numbers, booleans and text.
//!
//! A reader of our own: see docs/decisions/0012-parquet.md. Lengths in headers are checked against the
//! bytes that are there, and everything that is decoded counts towards `max_bytes`.

mod decode;
mod footer;
mod page;
mod thrift;

use std::collections::HashSet;

use self::decode::Entries;
use self::footer::{Chunk, Field, Footer};
use self::page::{Content, Page};
use self::thrift::Reader;
use super::{Column, Table};
use crate::open::Source;
use crate::{Error, Result};

/// Reads a Parquet file as a table.
pub fn read_table(mut source: Source) -> Result<Table> {
    let file = source.name().to_string();
    let options = source.options;
    let bytes = source.rest()?;
    let invalid = |problem: String| Error::format(&file, "Parquet", problem);
    let Footer { fields, groups, rows } = footer::footer(&bytes).map_err(invalid)?;
    check_fields(&file, &fields, options.max_columns)?;
    if rows == 0 {
        return Err(Error::Empty { file, expected: "it has columns but no rows" });
    }
    // Numbers are the least that a table takes.
    let least = (rows as u64).saturating_mul(8).saturating_mul(fields.len() as u64);
    if least > options.max_bytes {
        return Err(Error::TooLarge { file, limit: options.max_bytes });
    }
    let mut left = options.max_bytes;
    let mut columns = Vec::with_capacity(fields.len());
    for (number, field) in fields.into_iter().enumerate() {
        let mut entries = Entries::new(field.physical);
        for group in &groups {
            let mut part = Part { file: &file, field: &field, left, limit: options.max_bytes };
            part.read(&bytes, &group.chunks[number], &mut entries)?;
            left = part.left;
        }
        columns.push(Column { name: field.name, values: entries.into() });
    }
    Ok(Table { columns, rows, ..Table::empty(&file) })
}

fn check_fields(file: &str, fields: &[Field], most: usize) -> Result<()> {
    let mut seen = HashSet::new();
    let problem = if fields.is_empty() {
        return Err(Error::Empty { file: file.into(), expected: "columns were expected" });
    } else if fields.len() > most {
        format!("{} columns, the limit is {most}", fields.len())
    } else if let Some(field) = fields.iter().find(|field| !seen.insert(&field.name)) {
        format!("two columns are called `{}`", field.name)
    } else {
        return Ok(());
    };
    Err(Error::format(file, "Parquet", problem))
}

/// Reads one column of one group of rows.
struct Part<'a> {
    file: &'a str,
    field: &'a Field,
    /// Bytes that may still be taken.
    left: u64,
    limit: u64,
}

impl Part<'_> {
    fn invalid(&self, problem: impl AsRef<str>) -> Error {
        let problem = format!("column `{}`: {}", self.field.name, problem.as_ref());
        Error::format(self.file, "Parquet", problem)
    }

    fn take(&mut self, bytes: u64) -> Result<()> {
        let limit = self.limit;
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| Error::TooLarge { file: self.file.into(), limit })?;
        Ok(())
    }

    fn read(&mut self, bytes: &[u8], chunk: &Chunk, entries: &mut Entries) -> Result<()> {
        let mut reader = Reader::new(&bytes[chunk.start..chunk.start + chunk.length]);
        let mut dictionary = Entries::new(self.field.physical);
        let mut wanted = chunk.values;
        while wanted > 0 {
            let page = page::page(&mut reader, chunk.codec, self.left);
            let Some(page) = page.map_err(|problem| self.invalid(problem))? else {
                return Err(Error::TooLarge { file: self.file.into(), limit: self.limit });
            };
            match page.content {
                Content::Dictionary => {
                    dictionary = Entries::new(self.field.physical);
                    let size = decode::plain(self.field, &page.bytes, page.values, &mut dictionary)
                        .map_err(|problem| self.invalid(problem))?;
                    self.take(size)?;
                }
                Content::Data { levels } => {
                    wanted = wanted.checked_sub(page.values).ok_or_else(|| {
                        self.invalid("its pages contain more entries than the footer announces")
                    })?;
                    self.data(&page, levels, &dictionary, entries)?;
                }
                Content::Other => {}
            }
        }
        Ok(())
    }

    fn data(
        &mut self,
        page: &Page<'_>,
        levels: Option<[usize; 2]>,
        dictionary: &Entries,
        entries: &mut Entries,
    ) -> Result<()> {
        let (levels, values) = self.parts(page, levels)?;
        let Some(levels) = levels else { return self.decode(page, values, page.values, dictionary, entries) };
        let there = self.defined(levels, page.values)?;
        let (before, count) = (entries.len(), there.iter().filter(|there| **there).count());
        self.decode(page, values, count, dictionary, entries)?;
        self.take(entries.gap_size() * (page.values - count) as u64)?;
        entries.spread(before, &there);
        Ok(())
    }

    /// Adds `count` entries, all of which are there.
    fn decode(
        &mut self,
        page: &Page<'_>,
        values: &[u8],
        count: usize,
        dictionary: &Entries,
        entries: &mut Entries,
    ) -> Result<()> {
        let size = match page.encoding {
            0 => decode::plain(self.field, values, count, entries),
            2 | 8 => return self.referred(values, count, dictionary, entries),
            3 if self.field.physical == footer::Physical::Boolean => {
                return self.booleans(values, count, entries);
            }
            5 => decode::delta_integers(self.field, values, count, entries),
            6 => decode::delta_texts(values, count, entries),
            9 => decode::split(self.field, values, count, entries),
            7 => Err("encoding DELTA_BYTE_ARRAY cannot be read; write it with another".into()),
            other => Err(format!("encoding number {other} cannot be read")),
        };
        let size = size.map_err(|problem| self.invalid(problem))?;
        self.take(size)
    }

    /// The levels that tell which entries are there, if any may be missing, and the entries.
    fn parts<'p>(
        &self,
        page: &'p Page<'_>,
        levels: Option<[usize; 2]>,
    ) -> Result<(Option<&'p [u8]>, &'p [u8])> {
        let bytes: &[u8] = &page.bytes;
        if let Some([repeated, defined]) = levels {
            // Lengths were checked when the page was read.
            let (levels, values) = bytes.split_at(repeated + defined);
            return Ok((self.field.optional.then_some(&levels[repeated..]), values));
        }
        if !self.field.optional {
            return Ok((None, bytes));
        }
        let mut reader = Reader::new(bytes);
        let defined = reader.take(4).and_then(|length| {
            let length = length.first_chunk().map_or(0, |length| u32::from_le_bytes(*length));
            reader.take(length as usize)
        });
        Ok((Some(defined.map_err(|problem| self.invalid(problem))?), reader.rest))
    }

    /// Which entries are there.
    fn defined(&self, levels: &[u8], count: usize) -> Result<Vec<bool>> {
        let mut there = Vec::new();
        let counted = decode::hybrid(levels, 1, count, |level| {
            there.push(level == 1);
            Ok(())
        });
        counted.map_err(|problem| self.invalid(problem))?;
        Ok(there)
    }

    /// Entries as places in the dictionary.
    fn referred(&mut self, bytes: &[u8], count: usize, from: &Entries, to: &mut Entries) -> Result<()> {
        let Some((width, packed)) = bytes.split_first() else {
            return if count == 0 { Ok(()) } else { Err(self.invalid("a page has no entries")) };
        };
        let (limit, mut left) = (self.limit, self.left);
        let mut full = false;
        let read = decode::hybrid(packed, u32::from(*width), count, |index| {
            let size = to.push_from(from, usize::try_from(index).unwrap_or(usize::MAX))?;
            full = size > left;
            left = left.saturating_sub(size);
            if full { Err(String::new()) } else { Ok(()) }
        });
        if full {
            return Err(Error::TooLarge { file: self.file.into(), limit });
        }
        self.left = left;
        read.map_err(|problem| self.invalid(problem))
    }

    /// Booleans in runs, with their length before them.
    fn booleans(&mut self, bytes: &[u8], count: usize, to: &mut Entries) -> Result<()> {
        self.take(8 * count as u64)?;
        let Entries::Numbers(numbers) = to else { return Err(self.invalid("text in runs")) };
        let packed = bytes.get(4..).unwrap_or_default();
        let read = decode::hybrid(packed, 1, count, |value| {
            numbers.push(value as f64);
            Ok(())
        });
        read.map_err(|problem| self.invalid(problem))
    }
}
