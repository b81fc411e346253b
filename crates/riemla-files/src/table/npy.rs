//! NPY arrays: one- or two-dimensional, any real number type, as tables.

use super::{Column, Table, Values};
use crate::open::Source;
use crate::{Error, Result};

/// Number types that can be read.
const ACCEPTED: &str = "float16, float32, float64, bool and integers of 8 to 64 bits";

/// An array of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Dimensions.
    pub dims: Vec<usize>,
    /// Entries, row-major.
    pub values: Vec<f64>,
}

/// What the header says.
struct Header {
    kind: u8,
    width: usize,
    big_endian: bool,
    fortran: bool,
    dims: Vec<usize>,
}

/// Reads an NPY file as a table with columns `c0`, `c1`, ….
pub fn read_table(mut source: Source) -> Result<Table> {
    let array = read_array(&mut source, "array")?;
    let rows = rows(source.name(), "array", &array)?;
    let columns = columns(&array, rows, |j| format!("c{j}"));
    Ok(Table { columns, rows, ..Table::empty(source.name()) })
}

/// Number of rows of an array that is to become columns.
pub fn rows(file: &str, name: &str, array: &Array) -> Result<usize> {
    match array.dims.as_slice() {
        [rows, ..] if *rows > 0 && !array.values.is_empty() => Ok(*rows),
        [] => Err(Error::format(file, "NPY", format!("`{name}` is a single number, not an array"))),
        _ => Err(Error::Empty { file: file.into(), expected: "an array with rows was expected" }),
    }
}

/// The columns of an array; dimensions beyond the second are flattened.
pub fn columns(array: &Array, rows: usize, name: impl Fn(usize) -> String) -> Vec<Column> {
    let width = array.values.len() / rows;
    let column = |j: usize| {
        let values = array.values[j..].iter().step_by(width).copied().collect();
        Column { name: name(j), values: Values::Numbers(values) }
    };
    (0..width).map(column).collect()
}

/// Reads one array; `name` is its name in messages.
pub fn read_array(source: &mut Source, name: &str) -> Result<Array> {
    let header = read_header(source, name)?;
    let count = header.dims.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim as u64));
    let bytes = count.and_then(|count| count.checked_mul(header.width as u64));
    let bytes = bytes.ok_or_else(|| {
        Error::format(source.name(), "NPY", format!("`{name}` has impossible dimensions {:?}", header.dims))
    })?;
    if header.dims.get(1..).is_some_and(|dims| dims.iter().product::<usize>() > source.options.max_columns) {
        let problem = format!(
            "`{name}` has dimensions {:?}, the limit is {} columns",
            header.dims, source.options.max_columns
        );
        return Err(Error::format(source.name(), "NPY", problem));
    }
    let data = source.bytes(bytes, &format!("array `{name}`"))?;
    if !source.at_end()? {
        let problem = format!("bytes are left over after array `{name}`");
        return Err(Error::format(source.name(), "NPY", problem));
    }
    let values = data.chunks_exact(header.width).map(|bytes| number(bytes, &header)).collect();
    Ok(reorder(header, values))
}

/// Fortran order to row-major.
fn reorder(header: Header, values: Vec<f64>) -> Array {
    let Header { fortran, dims, .. } = header;
    if !fortran || dims.len() < 2 {
        return Array { dims, values };
    }
    let mut out = vec![0.0; values.len()];
    let mut index = vec![0; dims.len()];
    for value in values {
        let place = index.iter().zip(&dims).fold(0, |place, (i, dim)| place * dim + i);
        out[place] = value;
        for (i, dim) in index.iter_mut().zip(&dims) {
            *i += 1;
            if *i < *dim {
                break;
            }
            *i = 0;
        }
    }
    Array { dims, values: out }
}

fn read_header(source: &mut Source, name: &str) -> Result<Header> {
    let mut start = [0; 8];
    source.exact(&mut start, "the NPY header")?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err(Error::format(source.name(), "NPY", format!("`{name}` has the wrong magic bytes")));
    }
    let length = if start[6] == 1 {
        let mut bytes = [0; 2];
        source.exact(&mut bytes, "the NPY header")?;
        u64::from(u16::from_le_bytes(bytes))
    } else {
        let mut bytes = [0; 4];
        source.exact(&mut bytes, "the NPY header")?;
        u64::from(u32::from_le_bytes(bytes))
    };
    let bytes = source.bytes(length, "the NPY header")?;
    let text = String::from_utf8_lossy(&bytes);
    let invalid = || Error::format(source.name(), "NPY", format!("the header of `{name}` cannot be parsed"));
    let descr = field(&text, "descr").ok_or_else(invalid)?;
    let descr = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
    let (kind, width, big_endian) = descr.and_then(number_type).ok_or_else(|| Error::Dtype {
        file: source.name().into(),
        array: name.into(),
        dtype: descr.unwrap_or("a structure").into(),
        accepted: ACCEPTED,
    })?;
    let fortran = field(&text, "fortran_order").ok_or_else(invalid)?.starts_with("True");
    let shape = field(&text, "shape").and_then(|rest| rest.strip_prefix('('));
    let shape = shape.and_then(|rest| rest.split(')').next()).ok_or_else(invalid)?;
    let dims = shape.split(',').map(str::trim).filter(|dim| !dim.is_empty());
    let dims: Vec<usize> =
        dims.map(str::parse).collect::<std::result::Result<_, _>>().map_err(|_| invalid())?;
    if dims.len() > 32 {
        return Err(invalid());
    }
    Ok(Header { kind, width, big_endian, fortran, dims })
}

/// What follows the key of a Python dict literal.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let after = quoted.iter().find_map(|key| text.split_once(key.as_str()))?.1;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

/// Kind (as in numpy), width in bytes, byte order.
fn number_type(descr: &str) -> Option<(u8, usize, bool)> {
    let (&[order, kind], width) = descr.as_bytes().split_first_chunk::<2>()?;
    let width = std::str::from_utf8(width).ok()?.parse().ok()?;
    let valid = match kind {
        b'f' => matches!(width, 2 | 4 | 8),
        b'i' | b'u' => matches!(width, 1 | 2 | 4 | 8),
        b'b' => width == 1,
        _ => false,
    };
    (valid && matches!(order, b'<' | b'>' | b'|' | b'=')).then_some((kind, width, order == b'>'))
}

fn number(bytes: &[u8], header: &Header) -> f64 {
    let mut word = [0; 8];
    let width = header.width;
    word[..width].copy_from_slice(bytes);
    if header.big_endian {
        word[..width].reverse();
    }
    let bits = u64::from_le_bytes(word);
    match (header.kind, width) {
        (b'f', 8) => f64::from_bits(bits),
        (b'f', 4) => f64::from(f32::from_bits(bits as u32)),
        (b'f', _) => f64::from(half::f16::from_bits(bits as u16)),
        (b'i', _) => {
            let unused = 64 - 8 * width as u32;
            ((bits << unused) as i64 >> unused) as f64
        }
        _ => bits as f64,
    }
}
