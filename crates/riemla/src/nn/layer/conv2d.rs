//! Two-dimensional convolution (correlation) with stride and zero padding.

use std::cell::RefCell;

use super::Shape;
use super::affine::Affine;
use crate::linalg::correlate::{
    Geometry, Scratch, correlate, correlate_input_gradient, correlate_weight_gradient,
    correlate_weight_gradient_per_sample,
};
use crate::{Error, Result};

thread_local! {
    /// Padded copies of inputs; grows to the largest layer and is reused from then on.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

fn with_scratch(f: impl FnOnce(&mut Scratch)) {
    SCRATCH.with(|scratch| f(&mut scratch.borrow_mut()));
}

/// y = W ⋆ x + b, W of shape (out channels, in channels, kernel height, kernel width).
#[derive(Debug)]
pub struct Conv2d {
    geometry: Geometry,
    bias: bool,
}

impl Conv2d {
    /// A convolution of images of the given shape.
    pub fn new(
        input: Shape,
        channels: usize,
        kernel: [usize; 2],
        stride: [usize; 2],
        padding: [usize; 2],
        bias: bool,
    ) -> Result<Self> {
        let Shape::Image { channels: in_channels, height, width } = input else {
            return Err(Error::shape("input of a convolution", "an image", input));
        };
        let rows = 1..=height.saturating_add(2usize.saturating_mul(padding[0]));
        let columns = 1..=width.saturating_add(2usize.saturating_mul(padding[1]));
        let sane = padding.iter().all(|p| *p <= 1 << 30);
        let fits = sane && rows.contains(&kernel[0]) && columns.contains(&kernel[1]);
        if !fits || stride.contains(&0) || channels == 0 || in_channels == 0 {
            let value =
                format!("{channels} channels, kernel {kernel:?}, stride {stride:?}, padding {padding:?}");
            let requirement = format!("within the padded {input}, with stride and channels at least 1");
            return Err(Error::range("convolution", value, requirement));
        }
        let geometry = Geometry {
            in_channels,
            out_channels: channels,
            height,
            width,
            kernel: kernel.into(),
            stride: stride.into(),
            padding: padding.into(),
        };
        Ok(Self { geometry, bias })
    }
}

impl Affine for Conv2d {
    fn shape(&self) -> Shape {
        let (height, width) = self.geometry.output_size();
        Shape::Image { channels: self.geometry.out_channels, height, width }
    }

    fn weight_dims(&self) -> Vec<usize> {
        let g = &self.geometry;
        vec![g.out_channels, g.in_channels, g.kernel.0, g.kernel.1]
    }

    fn channels(&self) -> usize {
        self.geometry.out_channels
    }

    fn weights_per_channel(&self) -> usize {
        let g = &self.geometry;
        g.in_channels * g.kernel.0 * g.kernel.1
    }

    fn places(&self) -> usize {
        let (height, width) = self.geometry.output_size();
        height * width
    }

    fn has_bias(&self) -> bool {
        self.bias
    }

    fn add(&self, n: usize, weights: &[f64], x: &[f64], y: &mut [f64]) {
        with_scratch(|scratch| correlate(&self.geometry, n, x, weights, y, scratch));
    }

    fn add_transposed(&self, n: usize, weights: &[f64], u: &[f64], x_adjoint: &mut [f64]) {
        with_scratch(|scratch| correlate_input_gradient(&self.geometry, n, weights, u, x_adjoint, scratch));
    }

    fn add_weight_gradient(&self, n: usize, x: &[f64], u: &[f64], gradient: &mut [f64]) {
        with_scratch(|scratch| correlate_weight_gradient(&self.geometry, n, x, u, gradient, scratch));
    }

    fn weight_gradients(&self, n: usize, x: &[f64], u: &[f64], out: &mut [f64]) {
        with_scratch(|scratch| {
            correlate_weight_gradient_per_sample(&self.geometry, n, x, u, out, scratch);
        });
    }

    fn inputs_at(&self, n: usize, x: &[f64], place: usize, out: &mut [f64]) {
        let g = &self.geometry;
        let width = g.output_size().1;
        let (row, column) = (place / width * g.stride.0, place % width * g.stride.1);
        let area = g.kernel.0 * g.kernel.1;
        for (tap, values) in out.chunks_exact_mut(n).enumerate() {
            let (channel, i, j) = (tap / area, tap % area / g.kernel.1, tap % g.kernel.1);
            let (r, q) = ((row + i).wrapping_sub(g.padding.0), (column + j).wrapping_sub(g.padding.1));
            if r < g.height && q < g.width {
                let from = ((channel * g.height + r) * g.width + q) * n;
                values.copy_from_slice(&x[from..from + n]);
            } else {
                values.fill(0.0);
            }
        }
    }
}
