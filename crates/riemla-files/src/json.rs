//! JSON files with a format version and a checksum, and numbers that JSON has no word for.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::atomic::write_file;
use crate::checksum::{Style, damaged, seal, unseal};
use crate::error::name;
use crate::open::read_file;
use crate::{Error, Result};

/// The version of all formats that this crate writes. Version 1 had no checksums and no identities.
pub const FORMAT_VERSION: u64 = 2;

/// Largest JSON file that is read.
const MAX_BYTES: u64 = 256 << 20;

#[derive(serde::Deserialize)]
struct Version {
    format_version: u64,
}

/// Writes an object with a `format_version` as indented JSON with a checksum.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(Error::json(&name(path)))?;
    write_file(path, |writer| writer.write_all(seal(&text, Style::Pretty).as_bytes()))
}

/// Reads what [`write_json`] wrote. A file of another format version is reported as such, one that is
/// not as it was written as damaged, with `remedy`.
pub fn read_json<T: DeserializeOwned>(path: &Path, remedy: &'static str) -> Result<T> {
    let file = name(path);
    let length = std::fs::metadata(path).map_err(Error::io(&file, "read it"))?.len();
    if length > MAX_BYTES {
        return Err(Error::TooLarge { file, limit: MAX_BYTES });
    }
    let bytes = read_file(path)?;
    match unseal(&bytes, Style::Pretty) {
        Some(json) => parse_json(&file, &json),
        None => Err(not_whole(&file, &bytes, remedy)),
    }
}

/// Writes objects as lines of JSON, each with a checksum.
pub fn write_json_lines(path: &Path, values: impl IntoIterator<Item = impl Serialize>) -> Result<()> {
    write_file(path, |writer| {
        for value in values {
            writeln!(writer, "{}", seal(&serde_json::to_string(&value)?, Style::Line))?;
        }
        Ok(())
    })
}

/// Reads what [`write_json_lines`] wrote.
pub fn read_json_lines<T: DeserializeOwned>(path: &Path, remedy: &'static str) -> Result<Vec<T>> {
    let file = name(path);
    let bytes = read_file(path)?;
    let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let value = |(number, line): (usize, &[u8])| {
        let json = unseal(line, Style::Line).ok_or_else(|| Error::Damaged {
            file: file.clone(),
            problem: format!("the checksum of line {} does not match its content", number + 1),
            remedy,
        })?;
        serde_json::from_slice(&json).map_err(|error| Error::Json {
            file: file.clone(),
            line: number + 1,
            column: error.column(),
            message: error.to_string(),
        })
    };
    lines.map(value).collect()
}

/// Why a file without a right checksum is refused: it may be of an earlier version, which had none.
fn not_whole(file: &str, bytes: &[u8], remedy: &'static str) -> Error {
    match serde_json::from_slice(bytes) {
        Ok(Version { format_version: found }) if found < FORMAT_VERSION => {
            Error::Version { file: file.into(), found, supported: FORMAT_VERSION }
        }
        _ if bytes.is_empty() => damaged(file, "it is empty", remedy),
        _ => damaged(file, "its checksum does not match its content", remedy),
    }
}

/// Reads an object with a `format_version` from bytes that are known to be whole.
pub(crate) fn parse_json<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T> {
    let Version { format_version: found } = serde_json::from_slice(bytes).map_err(Error::json(file))?;
    if found != FORMAT_VERSION {
        return Err(Error::Version { file: file.into(), found, supported: FORMAT_VERSION });
    }
    serde_json::from_slice(bytes).map_err(Error::json(file))
}

/// For `#[serde(with)]`: numbers that may be NaN or infinite, as the strings Python's `float`
/// understands.
pub mod any_number {
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Any {
        Number(f64),
        Word(String),
    }

    /// Writes a number, or one of the words `nan`, `inf`, `-inf`.
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            serializer.serialize_f64(*value)
        } else {
            let word = if value.is_nan() {
                "nan"
            } else if *value > 0.0 {
                "inf"
            } else {
                "-inf"
            };
            serializer.serialize_str(word)
        }
    }

    /// Reads what [`serialize`] wrote.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Any::deserialize(deserializer)? {
            Any::Number(number) => Ok(number),
            Any::Word(word) => match word.as_str() {
                "nan" => Ok(f64::NAN),
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                other => Err(serde::de::Error::custom(format!("`{other}` is not a number"))),
            },
        }
    }
}
