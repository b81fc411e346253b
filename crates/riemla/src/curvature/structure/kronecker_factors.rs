//! A Kronecker-factored precision from factors of one's own.

use std::sync::Arc;

use super::KroneckerPrecision;
use super::kronecker::{BlockShape, KroneckerBlock};
use crate::linalg::Matrix;
use crate::linalg::factor::SymmetricEigen;
use crate::{Error, Result};

/// The precision A ⊗ B + δI of one layer's weights: row by row (outputs × inputs), then its biases.
#[derive(Debug, Clone, Copy)]
pub struct KroneckerFactors<'a> {
    /// A, symmetric, of the inputs of the layer; with a bias its last row and column are those of the bias.
    pub inputs: &'a Matrix,
    /// B, symmetric, of the outputs of the layer.
    pub outputs: &'a Matrix,
    /// Whether the layer has a bias.
    pub bias: bool,
    /// δ, the precision of the prior.
    pub prior_precision: f64,
}

impl KroneckerPrecision {
    /// The precision of layers one after the other. An error unless every block is positive definite.
    pub fn from_factors(layers: &[KroneckerFactors<'_>]) -> Result<Self> {
        let dim = layers.iter().map(|layer| layer.inputs.rows() * layer.outputs.rows()).sum();
        let mut start = 0;
        let block = |layer: &KroneckerFactors<'_>| {
            let KroneckerFactors { inputs, outputs, bias, prior_precision } = *layer;
            for (what, factor) in [("factor of the inputs", inputs), ("factor of the outputs", outputs)] {
                crate::error::check_len(&format!("columns of the {what}"), factor.rows(), factor.cols())?;
                if factor.rows() == 0 {
                    return Err(Error::shape(what, "at least one row", 0));
                }
            }
            let fan_in = inputs.rows() - usize::from(bias);
            let shape = BlockShape { start, fan_in, bias, outputs: outputs.rows() };
            let eigen = |what, factor| SymmetricEigen::new(what, factor).map(Arc::new);
            let block = KroneckerBlock::new(
                shape,
                eigen("factor of the inputs", inputs)?,
                eigen("factor of the outputs", outputs)?,
            );
            start += block.len();
            block.check(prior_precision, dim).map(|()| (block, prior_precision))
        };
        Ok(Self::from_blocks(layers.iter().map(block).collect::<Result<_>>()?))
    }
}
