//! What linear, convolution and scale layers share: a map linear in weights and in the input, plus a bias.

use super::{At, Layer, Patch, Positions, Shape};
use crate::linalg::vector::sum;

/// y = W·x + b, where W·x is linear in both, and b is one number per channel of the output.
///
/// Implement it and the layer follows: all derivatives of a bilinear map are the map itself with
/// one of its arguments replaced.
pub(super) trait Affine: Send + Sync + std::fmt::Debug {
    /// Shape of one output sample.
    fn shape(&self) -> Shape;

    /// Dimensions of the weights; the first is the number of channels.
    fn weight_dims(&self) -> Vec<usize>;

    /// Number of output channels.
    fn channels(&self) -> usize;

    /// Number of weights per channel.
    fn weights_per_channel(&self) -> usize;

    /// Outputs per channel.
    fn places(&self) -> usize;

    /// Whether there is a bias.
    fn has_bias(&self) -> bool;

    /// y ← W·x + b, with one number of `bias` per channel; 0 if it is empty.
    fn set(&self, n: usize, weights: &[f64], bias: &[f64], x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        for (plane, &b) in y.chunks_exact_mut(self.places() * n).zip(bias) {
            plane.fill(b);
        }
        self.add(n, weights, x, y);
    }

    /// y += W·x.
    fn add(&self, n: usize, weights: &[f64], x: &[f64], y: &mut [f64]);

    /// x̄ ← Wᵀ·u.
    fn set_transposed(&self, n: usize, weights: &[f64], u: &[f64], x_adjoint: &mut [f64]) {
        x_adjoint.fill(0.0);
        self.add_transposed(n, weights, u, x_adjoint);
    }

    /// x̄ += Wᵀ·u.
    fn add_transposed(&self, n: usize, weights: &[f64], u: &[f64], x_adjoint: &mut [f64]);

    /// W̄ += the derivative of ⟨u, W·x⟩ in W.
    fn add_weight_gradient(&self, n: usize, x: &[f64], u: &[f64], gradient: &mut [f64]);

    /// The same for each sample on its own: weight k of sample i goes to `out[k*n + i]`.
    fn weight_gradients(&self, n: usize, x: &[f64], u: &[f64], out: &mut [f64]);

    /// The inputs that an output depends on, see [`Layer::patch`]; only called where there are groups.
    fn inputs_at(&self, _n: usize, _x: &[f64], _patch: Patch, _out: &mut [f64]) {}

    /// Groups of channels with inputs of their own; none if the weights should not be seen as matrices.
    fn groups(&self) -> Option<usize> {
        Some(1)
    }

    /// What the parameters are before training, if that is not random.
    fn start(&self) -> Option<Vec<f64>> {
        None
    }

    /// Number of weights, the bias not counted.
    fn weight_count(&self) -> usize {
        self.channels() * self.weights_per_channel()
    }
}

/// Weights and bias.
fn split<'a>(map: &dyn Affine, params: &'a [f64]) -> (&'a [f64], &'a [f64]) {
    params.split_at(map.weight_count())
}

impl<A: Affine> Layer for A {
    fn output(&self) -> Shape {
        self.shape()
    }

    fn parameters(&self) -> Vec<(&'static str, Vec<usize>)> {
        let mut list = vec![("weight", self.weight_dims())];
        if self.has_bias() {
            list.push(("bias", vec![self.channels()]));
        }
        list
    }

    fn fan_in(&self) -> usize {
        self.weights_per_channel()
    }

    fn forward(&self, n: usize, params: &[f64], x: &[f64], y: &mut [f64]) {
        let (weights, bias) = split(self, params);
        self.set(n, weights, bias, x, y);
    }

    fn needs_output(&self) -> bool {
        false
    }

    fn tangent(&self, at: At<'_>, direction: &[f64], dx: Option<&[f64]>, dy: &mut [f64]) {
        self.forward(at.n, direction, at.x, dy);
        if let Some(dx) = dx {
            self.add(at.n, split(self, at.params).0, dx, dy);
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
            self.add(at.n, split(self, direction).0, dx, d2y);
        }
        if let Some(d2x) = d2x {
            self.add(at.n, split(self, at.params).0, d2x, d2y);
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
            let (weights, bias) = gradient.split_at_mut(self.weight_count());
            self.add_weight_gradient(at.n, at.x, y_adjoint, weights);
            for (b, plane) in bias.iter_mut().zip(y_adjoint.chunks_exact(self.places() * at.n)) {
                *b += sum(plane);
            }
        }
        if let Some(x_adjoint) = x_adjoint {
            self.set_transposed(at.n, split(self, at.params).0, y_adjoint, x_adjoint);
        }
    }

    fn backward_tangent(
        &self,
        at: At<'_>,
        direction: &[f64],
        dx: Option<&[f64]>,
        y_adjoint: &[f64],
        dy_adjoint: &[f64],
        mut dx_adjoint: Option<&mut [f64]>,
        d_gradient: &mut [f64],
    ) {
        self.backward(at, dy_adjoint, dx_adjoint.as_deref_mut(), Some(d_gradient));
        if let Some(dx) = dx {
            self.add_weight_gradient(at.n, dx, y_adjoint, &mut d_gradient[..self.weight_count()]);
        }
        if let Some(dx_adjoint) = dx_adjoint {
            self.add_transposed(at.n, split(self, direction).0, y_adjoint, dx_adjoint);
        }
    }

    fn per_sample_gradient(&self, at: At<'_>, y_adjoint: &[f64], out: &mut [f64]) {
        let n = at.n;
        let (weights, bias) = out.split_at_mut(self.weight_count() * n);
        self.weight_gradients(n, at.x, y_adjoint, weights);
        bias.fill(0.0);
        for (sums, plane) in bias.chunks_exact_mut(n).zip(y_adjoint.chunks_exact(self.places() * n)) {
            for place in plane.chunks_exact(n) {
                sums.iter_mut().zip(place).for_each(|(s, u)| *s += u);
            }
        }
    }

    fn positions(&self) -> Option<Positions> {
        self.groups().map(|groups| Positions { count: self.places(), groups })
    }

    fn patch(&self, n: usize, x: &[f64], patch: Patch, out: &mut [f64]) {
        self.inputs_at(n, x, patch, out);
    }

    fn start(&self) -> Option<Vec<f64>> {
        Affine::start(self)
    }
}
