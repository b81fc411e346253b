//! Opening files for reading: gzip by content, and a limit against decompression bombs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::name;
use crate::{Error, Result};

/// Limits of reading, and how CSV files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Most bytes to take from one file, after decompression.
    pub max_bytes: u64,
    /// Most columns of a table.
    pub max_columns: usize,
    /// How CSV files are written.
    pub csv: CsvOptions,
}

/// How CSV files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CsvOptions {
    /// What is between the fields; comma, semicolon or tab, whichever fits, if none.
    pub delimiter: Option<u8>,
    /// Whether numbers have a decimal comma, and not a point.
    pub decimal_comma: bool,
}

impl Default for ReadOptions {
    /// 4 GiB and 100 000 columns.
    fn default() -> Self {
        Self { max_bytes: 4 << 30, max_columns: 100_000, csv: CsvOptions::default() }
    }
}

/// Formats of data that are recognised by their first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with a header row: whatever is none of the others.
    Csv,
    /// One array of numpy.
    Npy,
    /// Several arrays of numpy.
    Npz,
    /// Columns of numbers and text.
    Parquet,
    /// Images or labels in the format of MNIST.
    Idx,
}

/// A source of bytes with the name it has in messages: a file, or standard input.
pub struct Source {
    pub(crate) file: String,
    /// The first bytes (up to 8), which the reader delivers again.
    pub(crate) start: Vec<u8>,
    pub(crate) reader: Box<dyn BufRead + Send>,
    pub(crate) options: ReadOptions,
}

impl Source {
    /// Opens a file; gzip is recognised by its first bytes and decompressed.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let file = name(path);
        let handle = File::open(path).map_err(Error::io(&file, "open it"))?;
        if handle.metadata().map_err(Error::io(&file, "open it"))?.is_dir() {
            return Err(Error::format(
                &file,
                "data",
                "it is a directory, but a file is needed; give a file \
                 in it",
            ));
        }
        Self::from_reader(file, handle, options)
    }

    /// Takes any stream, for example standard input, under a name for messages.
    pub fn from_reader(
        file: impl Into<String>,
        reader: impl Read + Send + 'static,
        options: ReadOptions,
    ) -> Result<Self> {
        let file = file.into();
        let mut reader = reader;
        let first = first_bytes(&mut reader, &file, 2)?;
        let zipped = first == [0x1f, 0x8b];
        let reader = BufReader::with_capacity(1 << 16, io::Cursor::new(first).chain(reader));
        let reader: Box<dyn Read + Send> =
            if zipped { Box::new(MultiGzDecoder::new(reader)) } else { Box::new(reader) };
        let mut limited = Limited { inner: reader, left: options.max_bytes, limit: options.max_bytes };
        let start = first_bytes(&mut limited, &file, 8)?;
        let reader = BufReader::with_capacity(1 << 16, io::Cursor::new(start.clone()).chain(limited));
        Ok(Self { file, start, reader: Box::new(reader), options })
    }

    /// Bytes in memory, taken as they are.
    pub(crate) fn plain(file: String, bytes: Vec<u8>, options: ReadOptions) -> Self {
        let start = bytes[..bytes.len().min(8)].to_vec();
        Self { file, start, reader: Box::new(io::Cursor::new(bytes)), options }
    }

    /// What the first bytes say it is.
    pub fn format(&self) -> Format {
        match self.start.as_slice() {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Npz,
            [b'P', b'A', b'R', b'1', ..] => Format::Parquet,
            [0, 0, 8..=14, count, ..] if *count > 0 => Format::Idx,
            _ => Format::Csv,
        }
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Fills `buffer`; `what` names the part in the error if the file ends before.
    pub(crate) fn exact(&mut self, buffer: &mut [u8], what: &str) -> Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => return Err(self.truncated(what, buffer.len() as u64, filled as u64)),
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    /// Reads exactly `count` bytes. Memory grows with the bytes that really come, so that a
    /// header that lies about its length costs nothing.
    pub(crate) fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>> {
        if count > self.options.max_bytes {
            return Err(Error::TooLarge { file: self.file.clone(), limit: self.options.max_bytes });
        }
        let mut bytes = Vec::new();
        let mut taken = (&mut self.reader).take(count);
        if let Err(error) = taken.read_to_end(&mut bytes) {
            return Err(self.failed(error));
        }
        if (bytes.len() as u64) < count {
            return Err(self.truncated(what, count, bytes.len() as u64));
        }
        Ok(bytes)
    }

    /// Everything up to the end.
    pub(crate) fn rest(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Hands everything that is left to `take`, piece by piece.
    pub fn for_each_piece(&mut self, mut take: impl FnMut(&[u8])) -> Result<()> {
        loop {
            let piece = match self.reader.fill_buf() {
                Ok([]) => return Ok(()),
                Ok(piece) => piece,
                Err(error) => return Err(read_error(&self.file, "read it", error)),
            };
            take(piece);
            let length = piece.len();
            self.reader.consume(length);
        }
    }

    /// Whether nothing is left.
    pub(crate) fn at_end(&mut self) -> Result<bool> {
        match self.reader.fill_buf() {
            Ok(buffer) => Ok(buffer.is_empty()),
            Err(error) => Err(read_error(&self.file, "read it", error)),
        }
    }

    pub(crate) fn failed(&self, error: io::Error) -> Error {
        read_error(&self.file, "read it", error)
    }

    fn truncated(&self, what: &str, expected: u64, found: u64) -> Error {
        Error::Truncated { file: self.file.clone(), what: what.into(), expected, found }
    }
}

/// Reads a whole file without decompression.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(Error::io(&name(path), "read it"))
}

/// Marks the error that [`Limited`] raises.
#[derive(Debug, thiserror::Error)]
#[error("more than {0} bytes")]
struct LimitReached(u64);

/// Turns an error of reading into ours, gzip damage and the limit included.
pub(crate) fn read_error(file: &str, action: &'static str, error: io::Error) -> Error {
    if let Some(LimitReached(limit)) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return Error::TooLarge { file: file.into(), limit: *limit };
    }
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if action == "read it" => {
            Error::format(file, "gzip", format!("{error}; copy or download it again"))
        }
        io::ErrorKind::UnexpectedEof if action == "read it" => {
            Error::format(file, "gzip", "it is truncated; copy or download it again")
        }
        _ => Error::Io { file: file.into(), action, source: error },
    }
}

/// Fails, rather than ends, when more than `left` bytes come.
struct Limited<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte more than allowed may be asked for: it tells an end from an excess.
        let most = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inner.read(&mut buffer[..most])?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(LimitReached(self.limit))),
        }
        Ok(read)
    }
}

/// Up to `count` first bytes of a stream, however few it delivers at a time.
fn first_bytes(reader: &mut impl Read, file: &str, count: u64) -> Result<Vec<u8>> {
    let mut first = Vec::new();
    reader.take(count).read_to_end(&mut first).map_err(Error::io(file, "read it"))?;
    Ok(first)
}
