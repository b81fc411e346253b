//! The linear layer y = xWᵀ + b, W of shape (outputs, inputs).

use super::affine::Affine;
use super::{Patch, Shape};
use crate::linalg::dense::{View, ViewMut, add_product, view, view_mut};
use crate::linalg::single::add_product_in_single;
use crate::nn::Arithmetic;
use crate::{Error, Result};

/// y = Wx + b for each sample.
#[derive(Debug)]
pub struct Linear {
    inputs: usize,
    outputs: usize,
    bias: bool,
    /// Whether products are made in single precision.
    single: bool,
}

/// Fewest inputs and outputs for products in single precision: with fewer, the conversion takes what they gain.
const WIDE: usize = 32;

impl Linear {
    /// A linear layer for vectors of the given shape.
    pub fn new(input: Shape, outputs: usize, bias: bool, arithmetic: Arithmetic) -> Result<Self> {
        let Shape::Features(inputs) = input else {
            return Err(Error::shape(
                "input of a linear layer",
                "features (add a flatten layer before it)",
                input,
            ));
        };
        if inputs == 0 || outputs == 0 {
            return Err(Error::range(
                "size of a linear layer",
                format!("{inputs}→{outputs}"),
                "at least 1→1",
            ));
        }
        let single = arithmetic == Arithmetic::Single && inputs.min(outputs) >= WIDE;
        Ok(Self { inputs, outputs, bias, single })
    }

    /// Wᵀ as an inputs × outputs matrix: row-major W read column by column.
    fn transposed<'a>(&self, weights: &'a [f64]) -> View<'a> {
        view(weights, self.inputs, self.outputs)
    }

    /// C ← C + A·B.
    fn add_product(&self, c: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        if self.single { add_product_in_single(c, a, b) } else { add_product(c, 1.0, a, b) }
    }
}

impl Affine for Linear {
    fn shape(&self) -> Shape {
        Shape::Features(self.outputs)
    }

    fn weight_dims(&self) -> Vec<usize> {
        vec![self.outputs, self.inputs]
    }

    fn channels(&self) -> usize {
        self.outputs
    }

    fn weights_per_channel(&self) -> usize {
        self.inputs
    }

    fn places(&self) -> usize {
        1
    }

    fn has_bias(&self) -> bool {
        self.bias
    }

    fn add(&self, n: usize, weights: &[f64], x: &[f64], y: &mut [f64]) {
        self.add_product(view_mut(y, n, self.outputs), view(x, n, self.inputs), self.transposed(weights));
    }

    fn add_transposed(&self, n: usize, weights: &[f64], u: &[f64], x_adjoint: &mut [f64]) {
        let weights = self.transposed(weights).transpose();
        self.add_product(view_mut(x_adjoint, n, self.inputs), view(u, n, self.outputs), weights);
    }

    fn add_weight_gradient(&self, n: usize, x: &[f64], u: &[f64], gradient: &mut [f64]) {
        let gradient = view_mut(gradient, self.inputs, self.outputs);
        self.add_product(gradient, view(x, n, self.inputs).transpose(), view(u, n, self.outputs));
    }

    fn weight_gradients(&self, n: usize, x: &[f64], u: &[f64], out: &mut [f64]) {
        for (rows, u) in out.chunks_exact_mut(self.inputs * n).zip(u.chunks_exact(n)) {
            for (row, x) in rows.chunks_exact_mut(n).zip(x.chunks_exact(n)) {
                for ((r, u), x) in row.iter_mut().zip(u).zip(x) {
                    *r = u * x;
                }
            }
        }
    }

    fn inputs_at(&self, _n: usize, x: &[f64], _patch: Patch, out: &mut [f64]) {
        out.copy_from_slice(x);
    }
}
