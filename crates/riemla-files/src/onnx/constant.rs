//! Constant tensors: decoding them, and the few operations on them that exporters leave behind.

use std::path::PathBuf;
use std::rc::Rc;

use super::external;
use super::messages::Tensor;
use super::wire::{Malformed, Value};
use super::{Problem, Result};

/// Most dimensions of a tensor.
const MAX_RANK: usize = 8;

/// ONNX' numbers for types of numbers.
pub mod data_type {
    pub const FLOAT: i64 = 1;
    pub const INT32: i64 = 6;
    pub const INT64: i64 = 7;
    pub const BOOL: i64 = 9;
    pub const FLOAT16: i64 = 10;
    pub const DOUBLE: i64 = 11;
    pub const BFLOAT16: i64 = 16;
    /// Names in the order of their numbers.
    pub const NAMES: [&str; 17] = [
        "UNDEFINED",
        "FLOAT",
        "UINT8",
        "INT8",
        "UINT16",
        "INT16",
        "INT32",
        "INT64",
        "STRING",
        "BOOL",
        "FLOAT16",
        "DOUBLE",
        "UINT32",
        "UINT64",
        "COMPLEX64",
        "COMPLEX128",
        "BFLOAT16",
    ];
}
use data_type::{BFLOAT16, BOOL, DOUBLE, FLOAT, FLOAT16, INT32, INT64, NAMES};

/// Name of a type of numbers.
pub fn type_name(data_type: i64) -> String {
    let name = usize::try_from(data_type).ok().and_then(|i| NAMES.get(i));
    name.map_or_else(|| format!("number {data_type}"), |name| name.to_string())
}

/// Whether a type is one of real numbers that can be read.
pub fn is_real(data_type: i64) -> bool {
    matches!(data_type, FLOAT | DOUBLE | FLOAT16 | BFLOAT16)
}

/// The entries of a constant.
#[derive(Debug, Clone)]
pub enum Numbers {
    /// Real numbers.
    Real(Rc<Vec<f64>>),
    /// Integers: shapes, axes, indices.
    Integer(Rc<Vec<i64>>),
}

/// A constant tensor; copies share their entries.
#[derive(Debug, Clone)]
pub struct Constant {
    /// Name of the tensor in the file that it came from.
    pub origin: Rc<str>,
    pub dims: Vec<usize>,
    pub numbers: Numbers,
}

/// What decoding may take, so that a small file cannot ask for much memory.
pub struct Supply {
    /// Where files with further tensors may be; none if the model did not come from a file.
    pub directory: Option<PathBuf>,
    /// How many more numbers may be decoded or copied.
    left: u64,
    opened: Vec<PathBuf>,
}

impl Supply {
    /// Enough for every number of the file to be copied some times, and no more.
    pub fn new(directory: Option<PathBuf>, bytes: usize) -> Self {
        Self { directory, left: 1024 + 2 * bytes as u64, opened: Vec::new() }
    }

    /// Accounts for a number of copies.
    pub fn take(&mut self, numbers: usize) -> Result<()> {
        self.left = self.left.checked_sub(numbers as u64).ok_or_else(|| {
            Problem::Unsupported("its constants are used so often that memory would run out".into())
        })?;
        Ok(())
    }

    /// Accounts for a further file.
    pub fn opened(&mut self, path: PathBuf, bytes: u64) {
        if !self.opened.contains(&path) {
            self.opened.push(path);
            self.left = self.left.saturating_add(bytes.saturating_mul(2));
        }
    }
}

impl Constant {
    /// A list of real numbers.
    pub fn real(origin: &str, dims: Vec<usize>, values: Vec<f64>) -> Self {
        Self { origin: origin.into(), dims, numbers: Numbers::Real(Rc::new(values)) }
    }

    /// A list of integers.
    pub fn integer(origin: &str, dims: Vec<usize>, values: Vec<i64>) -> Self {
        Self { origin: origin.into(), dims, numbers: Numbers::Integer(Rc::new(values)) }
    }

    /// All numbers times a factor.
    pub fn scaled(&self, factor: f64, supply: &mut Supply) -> Result<Self> {
        let values: Vec<f64> = self.reals()?.iter().map(|value| factor * value).collect();
        supply.take(values.len())?;
        Ok(Self::real(&self.origin, self.dims.clone(), values))
    }

    /// Decodes a tensor.
    pub fn decode(tensor: &Tensor<'_>, supply: &mut Supply) -> Result<Self> {
        let invalid = |problem: String| Problem::Invalid(format!("tensor `{}`: {problem}", tensor.name));
        let sizes = tensor.dims.iter().map(|dim| usize::try_from(*dim).ok()).collect::<Option<Vec<_>>>();
        let dims = sizes.filter(|dims| dims.len() <= MAX_RANK).ok_or_else(|| {
            invalid(format!("dimensions {} are impossible", super::attributes::shown(&tensor.dims)))
        })?;
        let width = width(tensor.data_type).ok_or_else(|| unreadable(tensor))?;
        let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let bytes = count.and_then(|count| count.checked_mul(width));
        let (Some(count), Some(bytes)) = (count, bytes) else {
            return Err(invalid(format!("dimensions {dims:?} are impossible")));
        };
        let wrong = |found| invalid(format!("{found} numbers for dimensions {dims:?}"));
        let numbers = if tensor.is_external {
            let raw = external::read(tensor, bytes, supply)?;
            supply.take(count)?;
            from_raw(tensor.data_type, &raw)
        } else if let Some(raw) = tensor.raw {
            if raw.len() != bytes {
                return Err(invalid(format!("{} bytes, dimensions {dims:?} need {bytes}", raw.len())));
            }
            supply.take(count)?;
            from_raw(tensor.data_type, raw)
        } else {
            let numbers =
                from_fields(tensor, supply).map_err(|Malformed(problem)| invalid(problem.into()))?;
            let found = match &numbers {
                Numbers::Real(values) => values.len(),
                Numbers::Integer(values) => values.len(),
            };
            if found != count {
                return Err(wrong(found));
            }
            numbers
        };
        Ok(Self { origin: tensor.name.as_ref().into(), dims, numbers })
    }

    /// The integers of a constant, if it has some.
    pub fn integers(&self) -> Option<&[i64]> {
        match &self.numbers {
            Numbers::Integer(values) => Some(values),
            Numbers::Real(_) => None,
        }
    }

    /// The real numbers of a constant, which must be finite.
    pub fn reals(&self) -> Result<&[f64]> {
        let Numbers::Real(values) = &self.numbers else {
            return Err(Problem::Invalid(format!("tensor `{}` holds integers", self.origin)));
        };
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(index) => Err(Problem::Invalid(format!(
                "tensor `{}` holds {} at flat index {index}; train it again",
                self.origin, values[index]
            ))),
        }
    }

    /// The one number, if there is just one.
    pub fn scalar(&self) -> Option<f64> {
        match &self.numbers {
            Numbers::Real(values) if values.len() == 1 => Some(values[0]),
            Numbers::Integer(values) if values.len() == 1 => Some(values[0] as f64),
            _ => None,
        }
    }

    /// The same numbers with other dimensions.
    pub fn reshaped(&self, dims: Vec<usize>) -> Self {
        Self { dims, ..self.clone() }
    }

    /// Axis i of the result is axis `permutation[i]` of this one.
    pub fn transposed(&self, permutation: &[usize], supply: &mut Supply) -> Result<Self> {
        let values = self.reals()?;
        if values.is_empty() {
            return Err(Problem::Invalid(format!("tensor `{}` is empty", self.origin)));
        }
        supply.take(values.len())?;
        let axes = super::layout::contiguous(&self.dims).unwrap_or_default();
        let moved: Vec<_> = permutation.iter().map(|axis| axes[*axis].clone()).collect();
        let dims = permutation.iter().map(|axis| self.dims[*axis]).collect();
        let flat = super::layout::reshape(&moved, &[values.len()]).unwrap_or_default();
        let order = flat.first().and_then(super::layout::order);
        let values = match order {
            Some(order) => order.into_iter().map(|place| values[place]).collect(),
            None => values.to_vec(),
        };
        Ok(Self { origin: self.origin.clone(), dims, numbers: Numbers::Real(Rc::new(values)) })
    }
}

fn unreadable(tensor: &Tensor<'_>) -> Problem {
    let (name, found) = (&tensor.name, type_name(tensor.data_type));
    Problem::Unsupported(format!(
        "tensor `{name}` has type {found}; FLOAT, DOUBLE, FLOAT16 and BFLOAT16 (INT32, INT64 for shapes) can be read"
    ))
}

fn width(data_type: i64) -> Option<usize> {
    match data_type {
        FLOAT | INT32 => Some(4),
        INT64 | DOUBLE => Some(8),
        FLOAT16 | BFLOAT16 => Some(2),
        BOOL => Some(1),
        _ => None,
    }
}

/// Entries as bytes, whose number was checked.
fn from_raw(data_type: i64, raw: &[u8]) -> Numbers {
    fn each<const N: usize, T>(raw: &[u8], convert: impl Fn([u8; N]) -> T) -> Rc<Vec<T>> {
        Rc::new(raw.as_chunks::<N>().0.iter().map(|bytes| convert(*bytes)).collect())
    }
    match data_type {
        FLOAT => Numbers::Real(each(raw, |bytes| f64::from(f32::from_le_bytes(bytes)))),
        DOUBLE => Numbers::Real(each(raw, f64::from_le_bytes)),
        FLOAT16 => Numbers::Real(each(raw, |bytes| f64::from(half::f16::from_le_bytes(bytes)))),
        BFLOAT16 => Numbers::Real(each(raw, |bytes| f64::from(half::bf16::from_le_bytes(bytes)))),
        INT32 => Numbers::Integer(each(raw, |bytes| i64::from(i32::from_le_bytes(bytes)))),
        BOOL => Numbers::Integer(each(raw, |[byte]| i64::from(byte != 0))),
        _ => Numbers::Integer(each(raw, i64::from_le_bytes)),
    }
}

/// Entries in fields of their type; 16-bit numbers stand among the 32-bit integers.
fn from_fields(tensor: &Tensor<'_>, supply: &mut Supply) -> super::wire::Result<Numbers> {
    let field = match tensor.data_type {
        FLOAT => 4,
        DOUBLE => 10,
        INT64 => 7,
        _ => 5,
    };
    let (mut reals, mut integers) = (Vec::new(), Vec::new());
    for (_, value) in tensor.typed.iter().filter(|(number, _)| *number == field) {
        match (field, *value) {
            (4, Value::Fixed32(bytes)) => reals.push(f64::from(f32::from_le_bytes(bytes))),
            (10, Value::Fixed64(bytes)) => reals.push(f64::from_le_bytes(bytes)),
            (4 | 10, value) => {
                let Numbers::Real(values) = from_raw(tensor.data_type, value.bytes()?) else { continue };
                reals.extend_from_slice(&values);
            }
            (_, value) => value.integers(&mut integers)?,
        }
    }
    let count = reals.len() + integers.len();
    supply.take(count).map_err(|_| Malformed("its numbers are used too often"))?;
    Ok(match tensor.data_type {
        FLOAT | DOUBLE => Numbers::Real(Rc::new(reals)),
        FLOAT16 => Numbers::Real(Rc::new(integers.iter().map(|bits| half(*bits)).collect())),
        BFLOAT16 => {
            let value = |bits: &i64| f64::from(half::bf16::from_bits(*bits as u16));
            Numbers::Real(Rc::new(integers.iter().map(value).collect()))
        }
        _ => Numbers::Integer(Rc::new(integers)),
    })
}

fn half(bits: i64) -> f64 {
    f64::from(half::f16::from_bits(bits as u16))
}
