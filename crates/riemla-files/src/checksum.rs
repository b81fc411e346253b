//! Checksums in files: bytes that changed after they were written are reported, never used.
//!
//! A JSON object ends with a field `checksum`, of all bytes before it. A safetensors file begins
//! with one, of all other bytes: that is where its metadata may hold text of ours.

use crate::{Error, Result};

/// `crc32-` and eight digits.
const LENGTH: usize = 14;
const ZERO: &str = "crc32-00000000";

/// How a JSON object is written, and so how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Indented, a file of its own.
    Pretty,
    /// One line of several.
    Line,
}

impl Style {
    /// What stands around the checksum, and the end of the object without it.
    fn parts(self) -> [&'static str; 3] {
        match self {
            Self::Pretty => [",\n  \"checksum\": \"", "\"\n}\n", "\n}"],
            Self::Line => [",\"checksum\":\"", "\"}", "}"],
        }
    }
}

fn text(crc: u32) -> String {
    format!("crc32-{crc:08x}")
}

/// A JSON object, written by serde in this style and with at least one field, with its checksum.
pub(crate) fn seal(json: &str, style: Style) -> String {
    let [before, after, end] = style.parts();
    let body = json.strip_suffix(end).unwrap_or(json);
    format!("{body}{before}{}{after}", text(crc32fast::hash(body.as_bytes())))
}

/// The JSON object without its checksum; none if it has none or has changed.
pub(crate) fn unseal(bytes: &[u8], style: Style) -> Option<Vec<u8>> {
    let [before, after, end] = style.parts();
    let rest = bytes.strip_suffix(after.as_bytes())?;
    let (rest, sum) = rest.split_at_checked(rest.len().checked_sub(LENGTH)?)?;
    let body = rest.strip_suffix(before.as_bytes())?;
    (text(crc32fast::hash(body)).as_bytes() == sum).then(|| [body, end.as_bytes()].concat())
}

/// Begin of the header of a safetensors file; the rest are its tensors.
pub(crate) fn tensor_metadata() -> String {
    format!("{TENSORS_BEFORE}{ZERO}{TENSORS_AFTER}")
}

const TENSORS_BEFORE: &str = "{\"__metadata__\":{\"checksum\":\"";
const TENSORS_AFTER: &str = "\",\"format\":\"np\"}";
/// Where the checksum of a safetensors file is: after the length of the header.
const PLACE: usize = 8 + TENSORS_BEFORE.len();

/// Puts the checksum into the length and header of a safetensors file; `data` are the pieces of what follows.
pub(crate) fn seal_tensors<'a>(start: &mut [u8], data: impl Iterator<Item = &'a [f64]>) {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(start);
    // Many numbers at a time: the checksum of a few bytes costs nearly as much as that of a thousand.
    for numbers in data.flat_map(|piece| piece.chunks(512)) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|value| value.to_le_bytes()).collect();
        hasher.update(&bytes);
    }
    if let Some(place) = start.get_mut(PLACE..PLACE + LENGTH) {
        place.copy_from_slice(text(hasher.finalize()).as_bytes());
    }
}

/// Whether a safetensors file has a checksum, and whether it is right.
pub(crate) fn tensors_are_whole(bytes: &[u8]) -> Option<bool> {
    let sum = bytes.get(PLACE..PLACE + LENGTH)?;
    let marked = bytes[8..].starts_with(TENSORS_BEFORE.as_bytes()) && sum.starts_with(b"crc32-");
    marked.then(|| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[..PLACE]);
        hasher.update(ZERO.as_bytes());
        hasher.update(&bytes[PLACE + LENGTH..]);
        text(hasher.finalize()).as_bytes() == sum
    })
}

/// What is said of bytes that are not those that were written.
pub(crate) fn damaged(file: &str, problem: &'static str, remedy: &'static str) -> Error {
    Error::Damaged { file: file.into(), problem: problem.into(), remedy }
}

/// An error unless a safetensors file of ours is as it was written.
pub(crate) fn check_tensors(file: &str, bytes: &[u8], remedy: &'static str) -> Result<()> {
    match tensors_are_whole(bytes) {
        Some(true) => Ok(()),
        Some(false) => Err(damaged(file, "its checksum does not match its content", remedy)),
        None => Err(damaged(file, "it does not have the checksum that riemla wrote into it", remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_seen() {
        for (style, json) in [
            (Style::Pretty, "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}"),
            (Style::Line, "{\"a\":1,\"b\":[2]}"),
        ] {
            let sealed = seal(json, style);
            assert!(sealed.contains("crc32-") && sealed.len() > json.len());
            assert_eq!(unseal(sealed.as_bytes(), style).as_deref(), Some(json.as_bytes()));
            for place in 0..sealed.len() {
                for bit in 0..8 {
                    let mut changed = sealed.clone().into_bytes();
                    changed[place] ^= 1 << bit;
                    assert_eq!(unseal(&changed, style), None, "byte {place}, bit {bit}");
                }
                assert_eq!(unseal(&sealed.as_bytes()[..place], style), None, "cut at {place}");
            }
            assert_eq!(unseal(json.as_bytes(), style), None);
        }
    }
}
