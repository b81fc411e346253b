//! What is known about a tensor of the graph, and operations on shapes and constants.

use super::chain::Data;
use super::constant::data_type::{DOUBLE, FLOAT, INT32, INT64};
use super::constant::{Constant, Numbers, Supply, type_name};
use super::function::Binary;
use super::{Problem, Result};

/// Longest list of sizes.
const MAX_SIZES: usize = 64;

/// A tensor of the graph.
#[derive(Debug, Clone)]
pub enum Known {
    /// The same for all inputs.
    Constant(Constant),
    /// Part of a shape; none stands for the size of the batch.
    Sizes(Vec<Option<i64>>),
    /// Depends on the input.
    Data(Data),
}

/// A problem that says what an operation was given.
fn unfit(known: &Known, what: &str) -> Problem {
    let found = match known {
        Known::Constant(constant) => format!("the constant `{}`", constant.origin),
        Known::Sizes(_) => "a shape".into(),
        Known::Data(_) => "a tensor that depends on the input".into(),
    };
    Problem::Unsupported(format!("{found} stands where {what} was expected"))
}

impl Known {
    /// Data that depend on the input.
    pub fn data(&self) -> Result<&Data> {
        match self {
            Known::Data(data) => Ok(data),
            other => Err(unfit(other, "a tensor that depends on the input")),
        }
    }

    /// A constant.
    pub fn constant(&self) -> Result<&Constant> {
        match self {
            Known::Constant(constant) => Ok(constant),
            other => Err(unfit(other, "a constant")),
        }
    }

    /// A list of sizes, from a shape or a constant.
    pub fn sizes(&self) -> Result<Vec<Option<i64>>> {
        match self {
            Known::Sizes(sizes) => Ok(sizes.clone()),
            Known::Constant(constant) => {
                let integers = constant.integers().filter(|list| list.len() <= MAX_SIZES);
                let sizes = integers.map(|list| list.iter().map(|size| Some(*size)).collect());
                sizes.ok_or_else(|| unfit(self, "a short list of integers"))
            }
            Known::Data(_) => Err(unfit(self, "a list of sizes")),
        }
    }

    /// A list of integers that do not depend on the batch.
    pub fn integers(&self) -> Result<Vec<i64>> {
        let all: Option<Vec<i64>> = self.sizes()?.into_iter().collect();
        all.ok_or_else(|| Problem::Unsupported("it depends on the size of the batch".into()))
    }

    /// The same numbers in another type.
    pub fn cast(&self, to: i64, supply: &mut Supply) -> Result<Self> {
        let real = matches!(to, FLOAT | DOUBLE);
        let integer = matches!(to, INT32 | INT64);
        match self {
            Known::Data(_) if real => Ok(self.clone()),
            Known::Sizes(_) if integer => Ok(self.clone()),
            Known::Constant(constant) => match &constant.numbers {
                Numbers::Real(_) if real => Ok(self.clone()),
                Numbers::Integer(_) if integer => Ok(self.clone()),
                Numbers::Integer(values) if real => {
                    supply.take(values.len())?;
                    let values = values.iter().map(|value| *value as f64).collect();
                    Ok(Known::Constant(Constant::real(&constant.origin, constant.dims.clone(), values)))
                }
                _ => Err(Problem::Unsupported(format!("it casts constants to {}", type_name(to)))),
            },
            _ => Err(Problem::Unsupported(format!("it casts to {}, which changes numbers", type_name(to)))),
        }
    }
}

/// An index from the end, or from the start, as one from the start.
pub fn position(index: i64, length: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

/// The entries of a list of sizes at given places.
pub fn gather(sizes: &[Option<i64>], places: &[i64]) -> Result<Known> {
    let entry = |place: &i64| {
        let place = position(*place, sizes.len());
        place.map(|place| sizes[place]).ok_or_else(|| Problem::Invalid("an index is out of range".into()))
    };
    places.iter().map(entry).collect::<Result<_>>().map(Known::Sizes)
}

/// A part of a list of sizes.
pub fn slice(sizes: &[Option<i64>], start: i64, end: i64) -> Known {
    let length = sizes.len() as i64;
    let place = |index: i64| {
        let index = if index < 0 { index.saturating_add(length) } else { index };
        index.clamp(0, length) as usize
    };
    let (start, end) = (place(start), place(end));
    Known::Sizes(sizes.get(start..end).unwrap_or_default().to_vec())
}

/// Lists of sizes one after another.
pub fn concat(lists: &[&Known]) -> Result<Known> {
    let mut all = Vec::new();
    for list in lists {
        all.extend(list.sizes()?);
        if all.len() > MAX_SIZES {
            return Err(Problem::Unsupported(format!("it joins more than {MAX_SIZES} sizes")));
        }
    }
    Ok(Known::Sizes(all))
}

/// Arithmetic of sizes.
pub fn compute(function: Binary, a: &Known, b: &Known) -> Result<Known> {
    let (a, b) = (a.integers()?, b.integers()?);
    let length = a.len().max(b.len());
    if a.is_empty() || b.is_empty() || [a.len(), b.len()].iter().any(|n| *n != 1 && *n != length) {
        return Err(Problem::Invalid("two shapes do not fit together".into()));
    }
    let entry = |i: usize| {
        let (a, b) = (a[i % a.len()], b[i % b.len()]);
        let result = match function {
            Binary::Add => a.checked_add(b),
            Binary::Subtract => a.checked_sub(b),
            Binary::Multiply => a.checked_mul(b),
            Binary::Divide => a.checked_div(b),
            _ => None,
        };
        result.map(Some).ok_or_else(|| Problem::Unsupported(format!("it computes with sizes {a} and {b}")))
    };
    (0..length).map(entry).collect::<Result<_>>().map(Known::Sizes)
}

/// The dimensions of a sample after a Reshape to `target`, which must leave the batch first.
/// `batch` is the size of the batch if the model fixes it.
pub fn target_dims(
    target: &[Option<i64>],
    present: &[usize],
    batch: Option<i64>,
    allow_zero: bool,
) -> Result<Vec<usize>> {
    let total: usize = present.iter().product();
    let unsupported = || moves_batch(target, present);
    let Some((first, rest)) = target.split_first() else { return Err(unsupported()) };
    let mut open = None;
    let mut dims = Vec::with_capacity(rest.len());
    for (i, size) in rest.iter().enumerate() {
        dims.push(match size {
            Some(-1) if open.is_none() => {
                open = Some(i);
                1
            }
            Some(0) if !allow_zero => *present.get(i).ok_or_else(unsupported)?,
            Some(size) => usize::try_from(*size).ok().filter(|size| *size > 0).ok_or_else(unsupported)?,
            None => return Err(unsupported()),
        });
    }
    let product = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
    let product = product.filter(|product| total.is_multiple_of(*product)).ok_or_else(unsupported)?;
    if let Some(open) = open {
        dims[open] = total / product;
    }
    let keeps_batch = match first {
        None => true,
        Some(-1) => open.is_none(),
        Some(0) => !allow_zero,
        Some(size) => batch == Some(*size),
    };
    if keeps_batch && (open.is_some() || product == total) { Ok(dims) } else { Err(unsupported()) }
}

fn moves_batch(target: &[Option<i64>], present: &[usize]) -> Problem {
    let shown: Vec<String> =
        target.iter().map(|size| size.map_or("batch".into(), |size| size.to_string())).collect();
    Problem::Unsupported(format!(
        "it reshapes samples of {present:?} to [{}], which does not keep the batch first",
        shown.join(", ")
    ))
}
