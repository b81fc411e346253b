//! Two-dimensional correlation (a network's convolution) and its gradients, samples contiguous.
//!
//! Activations are `[channel][row][column][sample]`: channel c, row r, column q of n samples is
//! the slice of length n at ((c·height + r)·width + q)·n. Weights are `(out, in, kernel rows,
//! kernel columns)`, row-major, as in PyTorch.
//!
//! With samples innermost no patch matrix is needed: at stride 1 a whole output row is one run
//! of numbers, and each weight multiplies one shifted run of the input. At the borders, taps that
//! fall on padding are left out rather than multiplied by stored zeros, so nothing is padded.

mod gradient;
mod output;
mod plan;
#[cfg(test)]
mod tests;

use super::simd::dispatch;
use gradient::LANES;
use plan::{Plan, Segment};

/// Shapes of a two-dimensional correlation; pairs are (rows, columns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels of the input.
    pub in_channels: usize,
    /// Channels of the output.
    pub out_channels: usize,
    /// Rows of the input.
    pub height: usize,
    /// Columns of the input.
    pub width: usize,
    /// Size of the kernel.
    pub kernel: (usize, usize),
    /// Step between neighbouring outputs, each at least 1.
    pub stride: (usize, usize),
    /// Zeros to imagine around the input, on either side.
    pub padding: (usize, usize),
    /// Step in the input between neighbouring taps of the kernel, each at least 1.
    pub dilation: (usize, usize),
}

impl Geometry {
    /// Rows and columns of the output: ⌊(size + 2·padding − extent)/stride⌋ + 1 with the kernel's extent
    /// (kernel − 1)·dilation + 1, or 0 where it does not fit.
    ///
    /// # Panics
    /// If a stride is 0.
    pub fn output_size(&self) -> (usize, usize) {
        let size = |input: usize, extent: usize, stride: usize, padding: usize| {
            assert!(stride > 0, "correlate: a stride is 0");
            (input + 2 * padding).checked_sub(extent).map_or(0, |room| room / stride + 1)
        };
        let (rows, columns) = self.extent();
        (
            size(self.height, rows, self.stride.0, self.padding.0),
            size(self.width, columns, self.stride.1, self.padding.1),
        )
    }

    /// Rows and columns that the kernel spans.
    fn extent(&self) -> (usize, usize) {
        let span = |kernel: usize, dilation: usize| kernel.saturating_sub(1) * dilation + 1;
        (span(self.kernel.0, self.dilation.0), span(self.kernel.1, self.dilation.1))
    }

    /// Numbers per sample in the input: in_channels·height·width.
    pub fn input_len(&self) -> usize {
        self.in_channels * self.height * self.width
    }

    /// Numbers per sample in the output: out_channels·output rows·output columns.
    pub fn output_len(&self) -> usize {
        let (rows, columns) = self.output_size();
        self.out_channels * rows * columns
    }

    /// Number of weights: out_channels·in_channels·kernel rows·kernel columns.
    pub fn weight_len(&self) -> usize {
        self.out_channels * self.in_channels * self.kernel.0 * self.kernel.1
    }

    fn check(&self, n: usize, input: usize, output: usize) {
        assert_eq!(input, n * self.input_len(), "correlate: length of the input, {self:?}, n = {n}");
        assert_eq!(output, n * self.output_len(), "correlate: length of the output, {self:?}, n = {n}");
    }

    fn check_weights(&self, weights: usize) {
        assert_eq!(weights, self.weight_len(), "correlate: number of weights, {self:?}");
    }
}

/// Working memory of the functions here. It only grows, so repeated calls do not allocate.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Weights in the order of the loops.
    packed: Vec<f64>,
    /// Offset of each tap's input from that of the first tap.
    offsets: Vec<usize>,
    /// Number of each tap's weight within its output channel.
    weights: Vec<usize>,
    segments: Vec<Segment>,
    /// Output gradients spread out by the stride, or partial sums of weight gradients.
    buffer: Vec<f64>,
}

/// What a sum over taps starts from.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// What is in the output: the sum is added to it.
    Output,
    /// One number per output channel, as a bias; 0 if there are none. The output is overwritten.
    Constants(&'a [f64]),
}

/// y ← start + w ⋆ x: y\[o, r, q\] += Σ w\[o, c, i, j\]·x\[c, r·stride + i·dilation − padding, …\].
///
/// `x` is n·[`Geometry::input_len`] long, `y` n·[`Geometry::output_len`].
///
/// # Panics
/// If a slice has the wrong length or a stride is 0.
pub fn correlate(
    geometry: &Geometry,
    n: usize,
    x: &[f64],
    weights: &[f64],
    start: Start<'_>,
    y: &mut [f64],
    scratch: &mut Scratch,
) {
    geometry.check(n, x.len(), y.len());
    geometry.check_weights(weights.len());
    let plan = Plan::forward(geometry, n);
    let area = geometry.kernel.0 * geometry.kernel.1;
    plan.fill(scratch);
    plan.pack(&mut scratch.packed, |o, c, tap| weights[(o * geometry.in_channels + c) * area + tap]);
    dispatch(output::Accumulate::new(&plan, scratch, x, start, y));
}

/// x̄ ← start + wᵀ ⋆ ȳ: the transpose of [`correlate`] in x, with ȳ shaped like y and x̄ like x.
///
/// # Panics
/// If a slice has the wrong length or a stride is 0.
pub fn correlate_input_gradient(
    geometry: &Geometry,
    n: usize,
    weights: &[f64],
    y_bar: &[f64],
    start: Start<'_>,
    x_bar: &mut [f64],
    scratch: &mut Scratch,
) {
    geometry.check(n, x_bar.len(), y_bar.len());
    geometry.check_weights(weights.len());
    // A correlation again, of ȳ (spread out by the stride) with the kernel turned by 180 degrees.
    let plan = Plan::transposed(geometry, n);
    let area = geometry.kernel.0 * geometry.kernel.1;
    plan.fill(scratch);
    plan.pack(&mut scratch.packed, |c, o, tap| {
        weights[(o * geometry.in_channels + c) * area + area - 1 - tap]
    });
    if geometry.stride == (1, 1) {
        dispatch(output::Accumulate::new(&plan, scratch, y_bar, start, x_bar));
    } else {
        let mut dilated = std::mem::take(&mut scratch.buffer);
        plan.dilate(geometry, y_bar, &mut dilated);
        dispatch(output::Accumulate::new(&plan, scratch, &dilated, start, x_bar));
        scratch.buffer = dilated;
    }
}

/// W̄ ← W̄ + Σ x·ȳ over samples and positions: the transpose of [`correlate`] in the weights.
///
/// # Panics
/// If a slice has the wrong length or a stride is 0.
pub fn correlate_weight_gradient(
    geometry: &Geometry,
    n: usize,
    x: &[f64],
    y_bar: &[f64],
    weight_gradient: &mut [f64],
    scratch: &mut Scratch,
) {
    geometry.check(n, x.len(), y_bar.len());
    geometry.check_weights(weight_gradient.len());
    let plan = Plan::forward(geometry, n);
    plan.fill(scratch);
    let mut lanes = std::mem::take(&mut scratch.buffer);
    lanes.clear();
    lanes.resize(weight_gradient.len() * LANES, 0.0);
    dispatch(gradient::Summed::new(&plan, scratch, x, y_bar, &mut lanes));
    for (g, lanes) in weight_gradient.iter_mut().zip(lanes.as_chunks::<LANES>().0) {
        let [a, b, c, d, e, f, g0, h] = lanes;
        *g += ((a + e) + (c + g0)) + ((b + f) + (d + h));
    }
    scratch.buffer = lanes;
}

/// The weight gradient of each sample by itself: weight k of sample i to `out[k*n + i]`.
///
/// Overwrites `out`, which is n·[`Geometry::weight_len`] long.
///
/// # Panics
/// If a slice has the wrong length or a stride is 0.
pub fn correlate_weight_gradient_per_sample(
    geometry: &Geometry,
    n: usize,
    x: &[f64],
    y_bar: &[f64],
    out: &mut [f64],
    scratch: &mut Scratch,
) {
    geometry.check(n, x.len(), y_bar.len());
    assert_eq!(out.len(), n * geometry.weight_len(), "correlate: length of the gradients, {geometry:?}");
    let plan = Plan::forward(geometry, n);
    plan.fill(scratch);
    out.fill(0.0);
    dispatch(gradient::PerSample::new(&plan, scratch, x, y_bar, out));
}
