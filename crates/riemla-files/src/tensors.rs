//! Named tensors in safetensors files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use crate::atomic::write_file;
use crate::checksum;
use crate::error::name;
use crate::open::read_file;
use crate::{Error, Result};

/// Number types that can be read.
const ACCEPTED: &str = "F64, F32, F16 and BF16";

/// A tensor that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Dimensions.
    pub dims: Vec<usize>,
    /// Entries, row-major; not checked for NaN.
    pub values: Vec<f64>,
}

/// A tensor to be written as F64.
#[derive(Debug, Clone)]
pub struct TensorRef<'a> {
    /// Its name.
    pub name: String,
    /// Dimensions.
    pub dims: Vec<usize>,
    /// Pieces that make up its entries, row-major.
    pub pieces: Vec<&'a [f64]>,
}

impl<'a> TensorRef<'a> {
    /// A tensor in one piece.
    pub fn new(name: impl Into<String>, dims: Vec<usize>, values: &'a [f64]) -> Self {
        Self { name: name.into(), dims, pieces: vec![values] }
    }
}

/// A safetensors file in memory.
pub struct TensorFile {
    file: String,
    bytes: Vec<u8>,
}

/// Whether bytes are what `torch.save` writes: an archive, or a pickle of protocol 2 and above before version 1.6.
/// Safetensors begin with the length of their header, whose eighth byte is 0.
fn is_pickle(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
        || (bytes.starts_with(b"\x80") && bytes.get(7).is_some_and(|byte| *byte != 0))
}

impl TensorFile {
    /// Reads a whole file of any program. If riemla wrote it, its checksum must be right.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, bytes) = (name(path), read_file(path)?);
        if is_pickle(&bytes) {
            return Err(Error::Pickle { file });
        }
        if checksum::tensors_are_whole(&bytes) == Some(false) {
            let remedy = "copy it again; if another program changed it, remove `checksum` from its metadata";
            checksum::check_tensors(&file, &bytes, remedy)?;
        }
        Ok(Self { file, bytes })
    }

    /// Reads a whole file that riemla wrote; if it is not as it was written, the error has `remedy`.
    pub fn open_ours(path: &Path, remedy: &'static str) -> Result<Self> {
        let (file, bytes) = (name(path), read_file(path)?);
        checksum::check_tensors(&file, &bytes, remedy)?;
        Ok(Self { file, bytes })
    }

    /// Takes bytes under a name for messages.
    pub fn from_bytes(file: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { file: file.into(), bytes }
    }

    /// Name in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Names, types and dimensions, sorted by name.
    pub fn list(&self) -> Result<BTreeMap<String, (Dtype, Vec<usize>)>> {
        let tensors = self.parse()?;
        let entry = |(name, view): (&str, safetensors::tensor::TensorView<'_>)| {
            (name.to_string(), (view.dtype(), view.shape().to_vec()))
        };
        Ok(tensors.iter().map(entry).collect())
    }

    /// One tensor as 64-bit numbers.
    pub fn get(&self, name: &str) -> Result<Tensor> {
        let tensors = self.parse()?;
        let Ok(view) = tensors.tensor(name) else {
            let there = tensors.names().join(", ");
            let problems = vec![format!("`{name}` is missing (the file has: {there})")];
            return Err(Error::Tensors { file: self.file.clone(), problems });
        };
        let values = numbers(view.dtype(), view.data()).ok_or_else(|| Error::Dtype {
            file: self.file.clone(),
            array: name.into(),
            dtype: format!("{:?}", view.dtype()),
            accepted: ACCEPTED,
        })?;
        Ok(Tensor { dims: view.shape().to_vec(), values })
    }

    /// One tensor that must have the given dimensions and only finite entries.
    pub fn get_checked(&self, name: &str, dims: &[usize]) -> Result<Vec<f64>> {
        let tensor = self.get(name)?;
        let problem = if tensor.dims != dims {
            format!("`{name}` has shape {:?}, expected {dims:?}", tensor.dims)
        } else if let Some(k) = tensor.values.iter().position(|value| !value.is_finite()) {
            format!("`{name}` contains {} at flat index {k}", tensor.values[k])
        } else {
            return Ok(tensor.values);
        };
        Err(Error::Tensors { file: self.file.clone(), problems: vec![problem] })
    }

    fn parse(&self) -> Result<SafeTensors<'_>> {
        use safetensors::SafeTensorError as E;
        if self.bytes.is_empty() {
            return Err(Error::Empty {
                file: self.file.clone(),
                expected: "a safetensors header was expected",
            });
        }
        SafeTensors::deserialize(&self.bytes).map_err(|error| match error {
            E::HeaderTooSmall | E::InvalidHeaderLength => {
                self.truncated("its header", self.announced_header())
            }
            E::MetadataIncompleteBuffer => match self.announced_end() {
                Some(end) if end > self.bytes.len() as u64 => self.truncated("its tensors", end),
                _ => Error::format(&self.file, "safetensors", "bytes are left over after its tensors"),
            },
            other => Error::format(&self.file, "safetensors", other.to_string()),
        })
    }

    fn truncated(&self, what: &str, expected: u64) -> Error {
        let found = self.bytes.len() as u64;
        Error::Truncated { file: self.file.clone(), what: what.into(), expected, found }
    }

    /// End of the header according to its length field.
    fn announced_header(&self) -> u64 {
        match self.bytes.first_chunk::<8>() {
            Some(length) => u64::from_le_bytes(*length).saturating_add(8),
            None => 8,
        }
    }

    /// End of the data according to the header.
    fn announced_end(&self) -> Option<u64> {
        let header = usize::try_from(self.announced_header()).ok()?;
        let tensors: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(self.bytes.get(8..header)?).ok()?;
        let ends = tensors.values().filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
        ends.max().map(|end| end.saturating_add(header as u64))
    }
}

/// The entries as 64-bit numbers; none for types that are not real numbers.
fn numbers(dtype: Dtype, data: &[u8]) -> Option<Vec<f64>> {
    fn each<const N: usize>(data: &[u8], convert: impl Fn([u8; N]) -> f64) -> Option<Vec<f64>> {
        Some(data.as_chunks::<N>().0.iter().map(|bytes| convert(*bytes)).collect())
    }
    match dtype {
        Dtype::F64 => each(data, f64::from_le_bytes),
        Dtype::F32 => each(data, |bytes| f64::from(f32::from_le_bytes(bytes))),
        Dtype::F16 => each(data, |bytes| f64::from(half::f16::from_le_bytes(bytes))),
        Dtype::BF16 => each(data, |bytes| f64::from(half::bf16::from_le_bytes(bytes))),
        _ => None,
    }
}

/// Writes tensors as F64, in the given order, without a copy of them in memory.
pub fn write_tensors(path: &Path, tensors: &[TensorRef<'_>]) -> Result<()> {
    write_file(path, |writer| write_to(writer, tensors))
}

fn write_to(writer: &mut BufWriter<File>, tensors: &[TensorRef<'_>]) -> std::io::Result<()> {
    let mut header = checksum::tensor_metadata();
    let mut offset = 0;
    for tensor in tensors {
        let end = offset + 8 * tensor.pieces.iter().map(|piece| piece.len()).sum::<usize>();
        debug_assert_eq!(end - offset, 8 * tensor.dims.iter().product::<usize>());
        let entry =
            serde_json::json!({ "dtype": "F64", "shape": tensor.dims, "data_offsets": [offset, end] });
        header += &format!(",{}:{entry}", serde_json::Value::from(tensor.name.as_str()));
        offset = end;
    }
    header.push('}');
    // Blanks up to a multiple of 8, so that the numbers are aligned in a mapped file.
    let blanks = header.len().next_multiple_of(8) - header.len();
    header += &" ".repeat(blanks);
    let mut start = (header.len() as u64).to_le_bytes().to_vec();
    start.extend(header.into_bytes());
    let pieces = || tensors.iter().flat_map(|tensor| tensor.pieces.iter().copied());
    checksum::seal_tensors(&mut start, pieces());
    writer.write_all(&start)?;
    pieces().flatten().try_for_each(|value| writer.write_all(&value.to_le_bytes()))
}
