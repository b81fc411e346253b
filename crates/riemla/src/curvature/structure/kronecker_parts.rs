//! A Kronecker-factored precision as named arrays, seven per block, and back.

use std::sync::Arc;

use super::kronecker::{BlockShape, KroneckerBlock, KroneckerPrecision};
use super::parts::check_orthonormal;
use super::{NamedArray, PrecisionParts};
use crate::curvature::Structure;
use crate::linalg::Matrix;
use crate::linalg::factor::SymmetricEigen;
use crate::{Error, Result};

/// Arrays of one block: the eigenpairs of both factors and three numbers.
const ARRAYS_PER_BLOCK: usize = 7;

/// Blocks with their prior precisions as arrays.
pub(super) fn take_apart(blocks: &[(KroneckerBlock, f64)]) -> PrecisionParts {
    let mut arrays = Vec::with_capacity(ARRAYS_PER_BLOCK * blocks.len());
    for (i, (block, delta)) in blocks.iter().enumerate() {
        let mut push = |name: &str, dims: Vec<usize>, values: Vec<f64>| {
            arrays.push(NamedArray { name: format!("block.{i}.{name}"), dims, values });
        };
        for (factor, eigen) in ["a", "b"].into_iter().zip(block.factors()) {
            let n = eigen.values.len();
            push(&format!("{factor}.values"), vec![n], eigen.values.clone());
            // Columns one after the other are the rows of the transpose.
            push(&format!("{factor}.vectors"), vec![n, n], eigen.vectors.as_slice().to_vec());
        }
        push("bias", vec![1], vec![f64::from(u8::from(block.shape().bias))]);
        push("scale", vec![1], vec![block.scale]);
        push("prior_precision", vec![1], vec![*delta]);
    }
    PrecisionParts { structure: Structure::Kronecker, arrays }
}

impl KroneckerPrecision {
    pub(super) fn from_parts(parts: &PrecisionParts) -> Result<Self> {
        let count = parts.arrays.len() / ARRAYS_PER_BLOCK;
        if count == 0 || parts.arrays.len() != ARRAYS_PER_BLOCK * count {
            let expected = format!("{ARRAYS_PER_BLOCK} for each of at least one block");
            return Err(Error::shape("arrays of a Kronecker precision", expected, parts.arrays.len()));
        }
        let mut start = 0;
        let mut blocks = Vec::with_capacity(count);
        for i in 0..count {
            let (block, delta) = read_block(parts, i, start)?;
            start += block.len();
            blocks.push((block, delta));
        }
        Ok(Self::from_blocks(blocks))
    }
}

fn read_block(parts: &PrecisionParts, i: usize, start: usize) -> Result<(KroneckerBlock, f64)> {
    let number = |name: &str, allowed: fn(f64) -> bool, requirement: &str| {
        let array = parts.array(&format!("block.{i}.{name}"))?;
        match array.values[..] {
            [value] if allowed(value) => Ok(value),
            [value] => Err(Error::range(format!("block.{i}.{name}"), value, requirement)),
            _ => Err(Error::shape(format!("array `block.{i}.{name}`"), "1 number", array.values.len())),
        }
    };
    let a = read_factor(parts, &format!("block.{i}.a"))?;
    let b = read_factor(parts, &format!("block.{i}.b"))?;
    let bias = number("bias", |v| v == 0.0 || v == 1.0, "0 or 1")? == 1.0;
    let scale = number("scale", |v| v > 0.0, "above 0")?;
    let delta = number("prior_precision", |v| v >= 0.0, "at least 0")?;
    let shape =
        BlockShape { start, fan_in: a.values.len() - usize::from(bias), bias, outputs: b.values.len() };
    let mut block = KroneckerBlock::new(shape, Arc::new(a), Arc::new(b));
    block.scale = scale;
    block.check(delta, start + block.len())?;
    Ok((block, delta))
}

/// Eigenvalues in ascending order from 0 on, and as many orthonormal eigenvectors.
fn read_factor(parts: &PrecisionParts, name: &str) -> Result<SymmetricEigen> {
    let values = &parts.array(&format!("{name}.values"))?.values;
    let n = values.len();
    if n == 0 {
        return Err(Error::shape(format!("array `{name}.values`"), "at least 1 number", 0));
    }
    if let Some(bad) = values.iter().find(|v| **v < 0.0) {
        return Err(Error::range(format!("eigenvalue in `{name}.values`"), bad, "at least 0"));
    }
    if !values.is_sorted() {
        return Err(Error::range(format!("`{name}.values`"), "not sorted", "in ascending order"));
    }
    let what = format!("{name}.vectors");
    let vectors = parts.array_of(&what, &[n, n])?;
    let vectors = Matrix::from_columns(n, n, vectors.values.clone());
    check_orthonormal(&what, &vectors)?;
    Ok(SymmetricEigen { values: values.clone(), vectors })
}
