//! JSON files with a format version, and numbers that JSON has no word for.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::atomic::write_file;
use crate::error::name;
use crate::open::read_file;
use crate::{Error, Result};

/// The version of all formats that this crate writes.
pub const FORMAT_VERSION: u64 = 1;

/// Largest JSON file that is read.
const MAX_BYTES: u64 = 256 << 20;

#[derive(serde::Deserialize)]
struct Version {
    format_version: u64,
}

/// Writes a value as indented JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_file(path, |writer| {
        serde_json::to_writer_pretty(&mut *writer, value)?;
        writer.write_all(b"\n")
    })
}

/// Reads a value after its `format_version`, so that a newer format is reported as such.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let file = name(path);
    let length = std::fs::metadata(path).map_err(Error::io(&file, "read it"))?.len();
    if length > MAX_BYTES {
        return Err(Error::TooLarge { file, limit: MAX_BYTES });
    }
    parse_json(&file, &read_file(path)?)
}

/// As [`read_json`], from bytes.
pub fn parse_json<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T> {
    if bytes.is_empty() {
        return Err(Error::Empty { file: file.into(), expected: "JSON was expected" });
    }
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
