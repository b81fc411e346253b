//! How a CSV file is written: its delimiter, line ends and byte order mark, recognised from its beginning.

use std::io::{BufRead, Cursor, Read};

use crate::open::{CsvOptions, Source, read_error};
use crate::{Error, Result};

/// Bytes that the recognition looks at.
const SAMPLE: u64 = 1 << 16;
/// Delimiters that are recognised, the usual one first.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// Text in lines that end with a line feed, and the delimiter of its fields.
pub struct Dialect {
    pub file: String,
    pub reader: Box<dyn Read + Send>,
    pub delimiter: u8,
    pub options: CsvOptions,
    pub max_columns: usize,
}

impl Dialect {
    /// Looks at the beginning of a file.
    pub fn recognise(source: Source) -> Result<Self> {
        let Source { file, mut reader, options, .. } = source;
        let mut sample = Vec::new();
        (&mut reader).take(SAMPLE).read_to_end(&mut sample).map_err(|e| read_error(&file, "read it", e))?;
        let whole = (sample.len() as u64) < SAMPLE;
        if sample.starts_with(b"\xff\xfe") || sample.starts_with(b"\xfe\xff") {
            return Err(Error::format(&file, "CSV", "it is UTF-16 text; save it as UTF-8"));
        }
        if sample.starts_with(b"\xef\xbb\xbf") {
            sample.drain(..3);
        }
        let carriage_returns = ends_with_carriage_returns(&sample);
        if carriage_returns {
            line_feeds(&mut sample);
        }
        let delimiter = options.csv.delimiter.unwrap_or_else(|| delimiter(&sample, whole));
        let rest: Box<dyn BufRead + Send> =
            if carriage_returns { Box::new(std::io::BufReader::new(LineFeeds(reader))) } else { reader };
        let reader = Box::new(Cursor::new(sample).chain(rest));
        Ok(Self { file, reader, delimiter, options: options.csv, max_columns: options.max_columns })
    }
}

/// Whether lines end with a carriage return alone, as on old Macs.
fn ends_with_carriage_returns(sample: &[u8]) -> bool {
    // One at the very end of the sample may be followed by a line feed.
    let inside = sample.split_last().map_or(sample, |(_, before)| before);
    inside.contains(&b'\r') && !sample.contains(&b'\n')
}

fn line_feeds(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
}

/// Turns carriage returns into line feeds.
struct LineFeeds<R>(R);

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        line_feeds(&mut buffer[..count]);
        Ok(count)
    }
}

/// The delimiter that cuts all rows of the sample into as many fields as the header, most of them if there
/// are several; the one that the header has most of if there is none. The sample may be the whole file.
fn delimiter(sample: &[u8], whole: bool) -> u8 {
    let fields = DELIMITERS.map(|delimiter| (field_counts(sample, whole, delimiter), delimiter));
    // The first of equals: comma before semicolon before tab.
    let most = |regular: bool| {
        let fitting = fields.iter().filter(|((header, same), _)| *header > 1 && (*same || !regular));
        fitting.rev().max_by_key(|((header, _), _)| *header).map(|(_, delimiter)| *delimiter)
    };
    most(true).or_else(|| most(false)).unwrap_or(b',')
}

/// Fields of the header, and whether all rows of the sample have as many.
fn field_counts(sample: &[u8], whole: bool, delimiter: u8) -> (usize, bool) {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(sample);
    let records = reader.into_byte_records().map_while(std::result::Result::ok);
    let blank = |record: &csv::ByteRecord| record.len() == 1 && record[0].trim_ascii().is_empty();
    let mut counts: Vec<usize> = records.filter(|record| !blank(record)).map(|record| record.len()).collect();
    if !whole && counts.len() > 1 {
        counts.pop(); // a part of a row
    }
    let header = counts.first().copied().unwrap_or(0);
    (header, counts.iter().all(|count| *count == header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_recognised() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n", b';'),
            ("a\tb\n1 2\tx, y\n", b'\t'),
            ("\"a;b\",c\n\"1;2\",3\n", b','),
            ("\"a,b\";c\n\"1,2\n3\";3\n", b';'),
            ("weight;kg,height\n1,2\n", b','),
            ("a;b;c\n1;2\n", b';'),
            ("a,b\n1;2,3;4\n1,2,3\n", b','),
            ("a;b\n", b';'),
            ("alone\n1\n2\n", b','),
            ("", b','),
        ] {
            assert_eq!(delimiter(text.as_bytes(), true) as char, expected as char, "{text:?}");
        }
        assert_eq!(delimiter(b"a;b,c;d\n1,5;2,5;3\n1,5;2", false), b';', "the last row is not whole");
    }

    #[test]
    fn old_line_ends_are_recognised() {
        for (text, expected) in
            [("a,b\r1,2\r", true), ("a,b\r\n1,2\r\n", false), ("a,b\n1,2\n", false), ("a,b\r", false)]
        {
            assert_eq!(ends_with_carriage_returns(text.as_bytes()), expected, "{text:?}");
        }
    }
}
