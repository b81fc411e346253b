//! The linear layer y = xWᵀ + b, W of shape (outputs, inputs).

use super::{At, Layer, Shape};
use crate::linalg::dense::{View, add_product, set_product, view, view_mut};
use crate::{Error, Result};

/// y = Wx + b for each sample.
#[derive(Debug)]
pub struct Linear {
    inputs: usize,
    outputs: usize,
    bias: bool,
}

impl Linear {
    /// A linear layer for vectors of the given shape.
    pub fn new(input: Shape, outputs: usize, bias: bool) -> Result<Self> {
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
        Ok(Self { inputs, outputs, bias })
    }

    /// Wᵀ as an inputs × outputs matrix: row-major W read column by column.
    fn weights<'a>(&self, params: &'a [f64]) -> View<'a> {
        view(&params[..self.inputs * self.outputs], self.inputs, self.outputs)
    }

    fn bias<'a>(&self, params: &'a [f64]) -> &'a [f64] {
        &params[self.inputs * self.outputs..]
    }

    /// y ← the bias in every sample.
    fn set_bias(&self, n: usize, params: &[f64], y: &mut [f64]) {
        if self.bias {
            for (column, &b) in y.chunks_exact_mut(n).zip(self.bias(params)) {
                column.fill(b);
            }
        } else {
            y.fill(0.0);
        }
    }

    /// y ← y + x·Wᵀ with W from `params`.
    fn add(&self, n: usize, params: &[f64], x: &[f64], y: &mut [f64]) {
        add_product(view_mut(y, n, self.outputs), 1.0, view(x, n, self.inputs), self.weights(params));
    }

    /// Weight gradient += uᵀx.
    fn add_weight_gradient(&self, n: usize, x: &[f64], u: &[f64], gradient: &mut [f64]) {
        let g = view_mut(&mut gradient[..self.inputs * self.outputs], self.inputs, self.outputs);
        add_product(g, 1.0, view(x, n, self.inputs).transpose(), view(u, n, self.outputs));
    }

    fn add_bias_gradient(&self, n: usize, u: &[f64], gradient: &mut [f64]) {
        if self.bias {
            for (g, column) in gradient[self.inputs * self.outputs..].iter_mut().zip(u.chunks_exact(n)) {
                *g += crate::linalg::vector::sum(column);
            }
        }
    }
}

impl Layer for Linear {
    fn output(&self) -> Shape {
        Shape::Features(self.outputs)
    }

    fn parameters(&self) -> Vec<(&'static str, Vec<usize>)> {
        let mut list = vec![("weight", vec![self.outputs, self.inputs])];
        if self.bias {
            list.push(("bias", vec![self.outputs]));
        }
        list
    }

    fn fan_in(&self) -> usize {
        self.inputs
    }

    fn forward(&self, n: usize, params: &[f64], x: &[f64], y: &mut [f64]) {
        self.set_bias(n, params, y);
        self.add(n, params, x, y);
    }

    fn tangent(&self, at: At<'_>, direction: &[f64], dx: Option<&[f64]>, dy: &mut [f64]) {
        self.set_bias(at.n, direction, dy);
        self.add(at.n, direction, at.x, dy);
        if let Some(dx) = dx {
            self.add(at.n, at.params, dx, dy);
        }
    }

    fn second(
        &self,
        at: At<'_>,
        direction: &[f64],
        dx: Option<&[f64]>,
        d2x: Option<&[f64]>,
        d2y: &mut [f64],
    ) {
        d2y.fill(0.0);
        if let Some(dx) = dx {
            self.add(at.n, direction, dx, d2y);
        }
        if let Some(d2x) = d2x {
            self.add(at.n, at.params, d2x, d2y);
        }
    }

    fn backward(
        &self,
        at: At<'_>,
        y_adjoint: &[f64],
        x_adjoint: Option<&mut [f64]>,
        gradient: Option<&mut [f64]>,
    ) {
        if let Some(gradient) = gradient {
            self.add_weight_gradient(at.n, at.x, y_adjoint, gradient);
            self.add_bias_gradient(at.n, y_adjoint, gradient);
        }
        if let Some(x_adjoint) = x_adjoint {
            let u = view(y_adjoint, at.n, self.outputs);
            set_product(view_mut(x_adjoint, at.n, self.inputs), u, self.weights(at.params).transpose());
        }
    }

    fn backward_tangent(
        &self,
        at: At<'_>,
        direction: &[f64],
        dx: Option<&[f64]>,
        y_adjoint: &[f64],
        dy_adjoint: &[f64],
        dx_adjoint: Option<&mut [f64]>,
        d_gradient: &mut [f64],
    ) {
        self.backward(at, dy_adjoint, None, Some(d_gradient));
        if let Some(dx) = dx {
            self.add_weight_gradient(at.n, dx, y_adjoint, d_gradient);
        }
        if let Some(dx_adjoint) = dx_adjoint {
            let (u, du) = (view(y_adjoint, at.n, self.outputs), view(dy_adjoint, at.n, self.outputs));
            let (n, inputs) = (at.n, self.inputs);
            set_product(view_mut(dx_adjoint, n, inputs), du, self.weights(at.params).transpose());
            add_product(view_mut(dx_adjoint, n, inputs), 1.0, u, self.weights(direction).transpose());
        }
    }

    fn per_sample_gradient(&self, at: At<'_>, y_adjoint: &[f64], out: &mut [f64]) {
        let n = at.n;
        let (weights, bias) = out.split_at_mut(self.inputs * self.outputs * n);
        for (rows, u) in weights.chunks_exact_mut(self.inputs * n).zip(y_adjoint.chunks_exact(n)) {
            for (row, x) in rows.chunks_exact_mut(n).zip(at.x.chunks_exact(n)) {
                for ((r, u), x) in row.iter_mut().zip(u).zip(x) {
                    *r = u * x;
                }
            }
        }
        if self.bias {
            bias.copy_from_slice(y_adjoint);
        }
    }

    fn positions(&self) -> Option<usize> {
        Some(1)
    }

    fn patch(&self, _n: usize, x: &[f64], _position: usize, out: &mut [f64]) {
        out.copy_from_slice(x);
    }
}
