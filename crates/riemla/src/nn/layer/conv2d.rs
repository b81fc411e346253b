//! Two-dimensional convolution (correlation) with stride, zero padding, dilation and groups of channels.

use std::cell::RefCell;
use std::ops::Range;

use super::affine::Affine;
use super::{Patch, Shape};
use crate::linalg::correlate::{
    Geometry, Scratch, Start, correlate, correlate_input_gradient, correlate_weight_gradient,
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

/// Settings of a convolution, as in PyTorch.
#[derive(Debug, Clone, Copy)]
pub struct Conv2dSettings {
    pub channels: usize,
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
    pub groups: usize,
    pub bias: bool,
}

/// y = W ⋆ x + b, W of shape (out channels, in channels / groups, kernel height, kernel width).
///
/// Each group of output channels sees its own group of input channels. Channels are the slowest axis
/// everywhere, so that groups are convolutions of their own on parts of the slices.
#[derive(Debug)]
pub struct Conv2d {
    /// Of one group.
    geometry: Geometry,
    groups: usize,
    bias: bool,
}

impl Conv2d {
    /// A convolution of images of the given shape.
    pub fn new(input: Shape, settings: Conv2dSettings) -> Result<Self> {
        let Shape::Image { channels: in_channels, height, width } = input else {
            return Err(Error::shape("input of a convolution", "an image", input));
        };
        let Conv2dSettings { channels, kernel, stride, padding, dilation, groups, bias } = settings;
        let fits = |axis: usize, size: usize| {
            let extent = kernel[axis].checked_sub(1).and_then(|steps| steps.checked_mul(dilation[axis]));
            let padded = size.saturating_add(2usize.saturating_mul(padding[axis]));
            padding[axis] <= 1 << 30 && extent.is_some_and(|extent| extent < padded)
        };
        let positive = [stride[0], stride[1], dilation[0], dilation[1], channels, in_channels, groups];
        if !fits(0, height) || !fits(1, width) || positive.contains(&0) {
            let value = format!(
                "{channels} channels, kernel {kernel:?}, stride {stride:?}, padding {padding:?}, \
                 dilation {dilation:?}, {groups} groups"
            );
            let requirement =
                format!("within the padded {input}, with stride, dilation, groups and channels at least 1");
            return Err(Error::range("convolution", value, requirement));
        }
        if !in_channels.is_multiple_of(groups) || !channels.is_multiple_of(groups) {
            let requirement = format!("a divisor of {in_channels} channels in and {channels} out");
            return Err(Error::range("groups of a convolution", groups, requirement));
        }
        let geometry = Geometry {
            in_channels: in_channels / groups,
            out_channels: channels / groups,
            height,
            width,
            kernel: kernel.into(),
            stride: stride.into(),
            padding: padding.into(),
            dilation: dilation.into(),
        };
        Ok(Self { geometry, groups, bias })
    }

    /// The parts of inputs, outputs and weights of group `g`.
    fn group(&self, n: usize, g: usize) -> Group {
        let part = |len: usize| g * len..(g + 1) * len;
        Group {
            x: part(n * self.geometry.input_len()),
            y: part(n * self.geometry.output_len()),
            weights: part(self.geometry.weight_len()),
            channels: part(self.geometry.out_channels),
        }
    }

    fn transpose(&self, n: usize, weights: &[f64], u: &[f64], start: Start<'_>, x_adjoint: &mut [f64]) {
        self.for_each_group(n, |g, scratch| {
            let (weights, u, x_adjoint) = (&weights[g.weights], &u[g.y], &mut x_adjoint[g.x]);
            correlate_input_gradient(&self.geometry, n, weights, u, start, x_adjoint, scratch);
        });
    }

    fn for_each_group(&self, n: usize, mut f: impl FnMut(Group, &mut Scratch)) {
        with_scratch(|scratch| (0..self.groups).for_each(|g| f(self.group(n, g), scratch)));
    }
}

/// Where a group's numbers lie.
struct Group {
    x: Range<usize>,
    y: Range<usize>,
    weights: Range<usize>,
    /// Of the output.
    channels: Range<usize>,
}

impl Affine for Conv2d {
    fn shape(&self) -> Shape {
        let (height, width) = self.geometry.output_size();
        Shape::Image { channels: self.channels(), height, width }
    }

    fn weight_dims(&self) -> Vec<usize> {
        let g = &self.geometry;
        vec![self.channels(), g.in_channels, g.kernel.0, g.kernel.1]
    }

    fn channels(&self) -> usize {
        self.groups * self.geometry.out_channels
    }

    fn groups(&self) -> Option<usize> {
        Some(self.groups)
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

    fn set(&self, n: usize, weights: &[f64], bias: &[f64], x: &[f64], y: &mut [f64]) {
        self.for_each_group(n, |g, scratch| {
            let start = Start::Constants(bias.get(g.channels).unwrap_or(&[]));
            correlate(&self.geometry, n, &x[g.x], &weights[g.weights], start, &mut y[g.y], scratch);
        });
    }

    fn add(&self, n: usize, weights: &[f64], x: &[f64], y: &mut [f64]) {
        self.for_each_group(n, |g, scratch| {
            let (weights, y) = (&weights[g.weights], &mut y[g.y]);
            correlate(&self.geometry, n, &x[g.x], weights, Start::Output, y, scratch);
        });
    }

    fn set_transposed(&self, n: usize, weights: &[f64], u: &[f64], x_adjoint: &mut [f64]) {
        self.transpose(n, weights, u, Start::Constants(&[]), x_adjoint);
    }

    fn add_transposed(&self, n: usize, weights: &[f64], u: &[f64], x_adjoint: &mut [f64]) {
        self.transpose(n, weights, u, Start::Output, x_adjoint);
    }

    fn add_weight_gradient(&self, n: usize, x: &[f64], u: &[f64], gradient: &mut [f64]) {
        self.for_each_group(n, |g, scratch| {
            let (x, u, gradient) = (&x[g.x], &u[g.y], &mut gradient[g.weights]);
            correlate_weight_gradient(&self.geometry, n, x, u, gradient, scratch);
        });
    }

    fn weight_gradients(&self, n: usize, x: &[f64], u: &[f64], out: &mut [f64]) {
        self.for_each_group(n, |g, scratch| {
            let out = &mut out[g.weights.start * n..g.weights.end * n];
            correlate_weight_gradient_per_sample(&self.geometry, n, &x[g.x], &u[g.y], out, scratch);
        });
    }

    fn inputs_at(&self, n: usize, x: &[f64], Patch { group, position }: Patch, out: &mut [f64]) {
        let g = &self.geometry;
        let x = &x[self.group(n, group).x];
        let width = g.output_size().1;
        let (row, column) = (position / width * g.stride.0, position % width * g.stride.1);
        let area = g.kernel.0 * g.kernel.1;
        for (tap, values) in out.chunks_exact_mut(n).enumerate() {
            let (channel, i, j) = (tap / area, tap % area / g.kernel.1, tap % g.kernel.1);
            let r = (row + i * g.dilation.0).wrapping_sub(g.padding.0);
            let q = (column + j * g.dilation.1).wrapping_sub(g.padding.1);
            if r < g.height && q < g.width {
                let from = ((channel * g.height + r) * g.width + q) * n;
                values.copy_from_slice(&x[from..from + n]);
            } else {
                values.fill(0.0);
            }
        }
    }
}
