//! Two-dimensional convolution (correlation) with stride and zero padding.

use std::cell::RefCell;

use super::{At, Layer, Shape};
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
        let fits = rows.contains(&kernel[0]) && columns.contains(&kernel[1]);
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

    fn weight_count(&self) -> usize {
        let g = &self.geometry;
        g.out_channels * self.fan_in()
    }

    fn weights<'a>(&self, params: &'a [f64]) -> &'a [f64] {
        &params[..self.weight_count()]
    }

    /// Numbers per output channel of a block.
    fn plane(&self, n: usize) -> usize {
        let (h, w) = self.geometry.output_size();
        h * w * n
    }

    fn set_bias(&self, n: usize, params: &[f64], y: &mut [f64]) {
        if self.bias {
            let bias = &params[self.weight_count()..];
            for (plane, &b) in y.chunks_exact_mut(self.plane(n)).zip(bias) {
                plane.fill(b);
            }
        } else {
            y.fill(0.0);
        }
    }

    fn add(&self, n: usize, params: &[f64], x: &[f64], y: &mut [f64]) {
        with_scratch(|scratch| correlate(&self.geometry, n, x, self.weights(params), y, scratch));
    }

    fn add_weight_gradient(&self, n: usize, x: &[f64], u: &[f64], gradient: &mut [f64]) {
        let gradient = &mut gradient[..self.weight_count()];
        with_scratch(|scratch| correlate_weight_gradient(&self.geometry, n, x, u, gradient, scratch));
    }

    fn add_input_gradient(&self, n: usize, params: &[f64], u: &[f64], x_adjoint: &mut [f64]) {
        let weights = self.weights(params);
        with_scratch(|scratch| correlate_input_gradient(&self.geometry, n, weights, u, x_adjoint, scratch));
    }

    fn add_bias_gradient(&self, n: usize, u: &[f64], gradient: &mut [f64]) {
        if self.bias {
            let bias = &mut gradient[self.weight_count()..];
            for (g, plane) in bias.iter_mut().zip(u.chunks_exact(self.plane(n))) {
                *g += crate::linalg::vector::sum(plane);
            }
        }
    }
}

impl Layer for Conv2d {
    fn output(&self) -> Shape {
        let (height, width) = self.geometry.output_size();
        Shape::Image { channels: self.geometry.out_channels, height, width }
    }

    fn parameters(&self) -> Vec<(&'static str, Vec<usize>)> {
        let g = &self.geometry;
        let mut list = vec![("weight", vec![g.out_channels, g.in_channels, g.kernel.0, g.kernel.1])];
        if self.bias {
            list.push(("bias", vec![g.out_channels]));
        }
        list
    }

    fn fan_in(&self) -> usize {
        let g = &self.geometry;
        g.in_channels * g.kernel.0 * g.kernel.1
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
            x_adjoint.fill(0.0);
            self.add_input_gradient(at.n, at.params, y_adjoint, x_adjoint);
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
            dx_adjoint.fill(0.0);
            self.add_input_gradient(at.n, at.params, dy_adjoint, dx_adjoint);
            self.add_input_gradient(at.n, direction, y_adjoint, dx_adjoint);
        }
    }

    fn per_sample_gradient(&self, at: At<'_>, y_adjoint: &[f64], out: &mut [f64]) {
        let n = at.n;
        let (weights, bias) = out.split_at_mut(self.weight_count() * n);
        with_scratch(|scratch| {
            correlate_weight_gradient_per_sample(&self.geometry, n, at.x, y_adjoint, weights, scratch);
        });
        if self.bias {
            bias.fill(0.0);
            for (sums, plane) in bias.chunks_exact_mut(n).zip(y_adjoint.chunks_exact(self.plane(n))) {
                for position in plane.chunks_exact(n) {
                    for (s, u) in sums.iter_mut().zip(position) {
                        *s += u;
                    }
                }
            }
        }
    }

    fn positions(&self) -> Option<usize> {
        Some(self.plane(1))
    }

    fn patch(&self, n: usize, x: &[f64], position: usize, out: &mut [f64]) {
        let g = &self.geometry;
        let width = g.output_size().1;
        let (row, column) = (position / width * g.stride.0, position % width * g.stride.1);
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
