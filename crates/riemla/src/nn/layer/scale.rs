//! One factor and shift per feature or channel: batch normalisation in evaluation mode, for example.

use super::Shape;
use super::affine::Affine;
use crate::linalg::vector::{axpy, dot};

/// y = w·x + b, with one w and b per channel of an image or per feature of a vector.
#[derive(Debug)]
pub struct Scale {
    shape: Shape,
    channels: usize,
    bias: bool,
}

impl Scale {
    /// A scale layer for inputs of the given shape.
    pub fn new(shape: Shape, bias: bool) -> Self {
        let (Shape::Features(channels) | Shape::Image { channels, .. }) = shape;
        Self { shape, channels, bias }
    }

    /// Slices of one channel of two blocks, with the channel's number.
    fn planes<'a>(&self, x: &'a [f64], y: &'a [f64]) -> impl Iterator<Item = (usize, &'a [f64], &'a [f64])> {
        let len = x.len() / self.channels;
        x.chunks_exact(len).zip(y.chunks_exact(len)).enumerate().map(|(c, (x, y))| (c, x, y))
    }
}

impl Affine for Scale {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn weight_dims(&self) -> Vec<usize> {
        vec![self.channels]
    }

    fn channels(&self) -> usize {
        self.channels
    }

    fn weights_per_channel(&self) -> usize {
        1
    }

    fn places(&self) -> usize {
        self.shape.len() / self.channels
    }

    fn has_bias(&self) -> bool {
        self.bias
    }

    fn add(&self, _n: usize, weights: &[f64], x: &[f64], y: &mut [f64]) {
        let len = x.len() / self.channels;
        for ((w, x), y) in weights.iter().zip(x.chunks_exact(len)).zip(y.chunks_exact_mut(len)) {
            axpy(*w, x, y);
        }
    }

    fn add_transposed(&self, n: usize, weights: &[f64], u: &[f64], x_adjoint: &mut [f64]) {
        self.add(n, weights, u, x_adjoint);
    }

    fn add_weight_gradient(&self, _n: usize, x: &[f64], u: &[f64], gradient: &mut [f64]) {
        for (c, x, u) in self.planes(x, u) {
            gradient[c] += dot(x, u);
        }
    }

    fn weight_gradients(&self, n: usize, x: &[f64], u: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (c, x, u) in self.planes(x, u) {
            let out = &mut out[c * n..(c + 1) * n];
            for (x, u) in x.chunks_exact(n).zip(u.chunks_exact(n)) {
                out.iter_mut().zip(x).zip(u).for_each(|((o, x), u)| *o += x * u);
            }
        }
    }

    /// The matrices would be single numbers: the whole block is small enough.
    fn groups(&self) -> Option<usize> {
        None
    }

    fn start(&self) -> Option<Vec<f64>> {
        let mut start = vec![1.0; self.channels];
        if self.bias {
            start.resize(2 * self.channels, 0.0);
        }
        Some(start)
    }
}
