//! Pages: their headers, and their bytes without compression.

use std::borrow::Cow;
use std::io::Read as _;

use super::thrift::{Kind, Reader, Result};

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Entries of a column; with version 2, the lengths of both kinds of levels.
    Data { levels: Option<[usize; 2]> },
    /// The entries that other pages refer to.
    Dictionary,
    /// Anything else.
    Other,
}

/// A page with its bytes.
#[derive(Debug)]
pub struct Page<'a> {
    pub content: Content,
    pub values: usize,
    pub encoding: i64,
    pub bytes: Cow<'a, [u8]>,
}

#[derive(Default)]
struct Header {
    kind: i64,
    size: usize,
    compressed: usize,
    values: usize,
    encoding: i64,
    levels: [usize; 2],
    plain: bool,
}

/// Reads the next page; none if it has more than `limit` bytes without compression.
pub fn page<'a>(reader: &mut Reader<'a>, codec: i64, limit: u64) -> Result<Option<Page<'a>>> {
    let header = header(reader)?;
    let bytes = reader.take(header.compressed).map_err(|_| "a page is truncated")?;
    if header.size as u64 > limit {
        return Ok(None);
    }
    let content = match header.kind {
        0 => Content::Data { levels: None },
        2 => Content::Dictionary,
        3 => Content::Data { levels: Some(header.levels) },
        _ => Content::Other,
    };
    let bytes = match content {
        Content::Other => Cow::Borrowed(bytes),
        // Levels of version 2 are never compressed.
        Content::Data { levels: Some([a, b]) } => {
            let levels = a.checked_add(b).filter(|levels| *levels <= bytes.len().min(header.size));
            let (levels, values) = bytes.split_at(levels.ok_or("the levels of a page are truncated")?);
            let size = header.size - levels.len();
            if header.plain || size == 0 {
                Cow::Borrowed(bytes)
            } else {
                Cow::Owned([levels, &decompress(codec, values, size)?].concat())
            }
        }
        _ => decompress(codec, bytes, header.size)?,
    };
    Ok(Some(Page { content, values: header.values, encoding: header.encoding, bytes }))
}

fn header(reader: &mut Reader<'_>) -> Result<Header> {
    let mut header = Header::default();
    reader.fields(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::Integer) => header.kind = reader.integer()?,
            (2, Kind::Integer) => header.size = reader.size()?,
            (3, Kind::Integer) => header.compressed = reader.size()?,
            (5 | 7, Kind::Struct) => reader.fields(|reader, id, kind| {
                match (id, kind) {
                    (1, Kind::Integer) => header.values = reader.size()?,
                    (2, Kind::Integer) => header.encoding = reader.integer()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            (8, Kind::Struct) => reader.fields(|reader, id, kind| {
                match (id, kind) {
                    (1, Kind::Integer) => header.values = reader.size()?,
                    (4, Kind::Integer) => header.encoding = reader.integer()?,
                    (5, Kind::Integer) => header.levels[1] = reader.size()?,
                    (6, Kind::Integer) => header.levels[0] = reader.size()?,
                    (7, Kind::Bool(compressed)) => header.plain = !compressed,
                    _ => return Ok(matches!(kind, Kind::Bool(_))),
                }
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(header)
}

/// The bytes of a page without compression. Memory grows with what really comes out.
fn decompress(codec: i64, bytes: &[u8], size: usize) -> Result<Cow<'_, [u8]>> {
    let damaged = |error: String| format!("a page is damaged: {error}; copy or download it again");
    let out = match codec {
        0 => Cow::Borrowed(bytes),
        1 => {
            // Three bytes of Snappy make 64 at most: a header that says more lies.
            let announced = snap::raw::decompress_len(bytes).map_err(|error| damaged(error.to_string()))?;
            if announced != size || announced / 32 > bytes.len() {
                return Err(damaged(format!("{announced} bytes instead of {size}")));
            }
            let mut decoder = snap::raw::Decoder::new();
            Cow::Owned(decoder.decompress_vec(bytes).map_err(|error| damaged(error.to_string()))?)
        }
        2 => {
            let mut out = Vec::new();
            let mut reader = flate2::read::MultiGzDecoder::new(bytes).take(size as u64 + 1);
            reader.read_to_end(&mut out).map_err(|error| damaged(error.to_string()))?;
            Cow::Owned(out)
        }
        6 => {
            let mut out = Vec::new();
            let decoder = ruzstd::decoding::StreamingDecoder::new(bytes);
            let decoder = decoder.map_err(|error| damaged(error.to_string()))?;
            let read = decoder.take(size as u64 + 1).read_to_end(&mut out);
            read.map_err(|error| damaged(error.to_string()))?;
            Cow::Owned(out)
        }
        other => {
            const NAMES: [&str; 8] = ["", "", "", "LZO", "Brotli", "LZ4", "", "LZ4"];
            let name = usize::try_from(other).ok().and_then(|i| NAMES.get(i)).copied().unwrap_or("unknown");
            return Err(format!("{name} compression cannot be read; use none, Snappy, Gzip or Zstandard"));
        }
    };
    if out.len() == size { Ok(out) } else { Err(damaged(format!("{} bytes instead of {size}", out.len()))) }
}
