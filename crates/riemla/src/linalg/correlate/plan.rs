//! Which kernel taps reach which outputs, and where the numbers lie.

use super::{Geometry, Scratch};
use std::ops::Range;

/// One spatial axis of a correlation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Length of the input.
    pub input: usize,
    /// Length of the output.
    pub output: usize,
    /// Length of the kernel.
    pub kernel: usize,
    /// Step in the input from one output to the next.
    pub stride: usize,
    /// Zeros before the input; negative where input is left out.
    pub padding: isize,
    /// Step in the input from one tap to the next.
    pub dilation: usize,
}

impl Axis {
    /// Where in the input the kernel starts for output `q`: before it, if negative.
    fn origin(&self, q: usize) -> isize {
        (q * self.stride) as isize - self.padding
    }

    /// The taps that fall on input, not padding, for output `q`.
    pub fn taps(&self, q: usize) -> Range<usize> {
        let (origin, dilation) = (self.origin(q), self.dilation as isize);
        // The number of taps that lie before a place.
        let before = |place: isize| {
            let taps = ((place - origin).max(0) + dilation - 1) / dilation;
            taps.min(self.kernel as isize) as usize
        };
        before(0)..before(self.input as isize)
    }
}

/// Neighbouring outputs of a row that see the same kernel columns.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// First output column.
    pub start: usize,
    /// Number of output columns.
    pub positions: usize,
    /// Kernel columns that fall on input.
    pub columns: Range<usize>,
}

/// A correlation as the loops see it. Taps are ordered (kernel row, kernel column, channel), so
/// that the taps of one kernel row and a range of its columns are neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub rows: Axis,
    pub columns: Axis,
    pub inputs: usize,
    pub outputs: usize,
    pub n: usize,
}

impl Plan {
    pub fn forward(g: &Geometry, n: usize) -> Self {
        let (height, width) = g.output_size();
        Self {
            rows: Axis {
                input: g.height,
                output: height,
                kernel: g.kernel.0,
                stride: g.stride.0,
                padding: g.padding.0 as isize,
                dilation: g.dilation.0,
            },
            columns: Axis {
                input: g.width,
                output: width,
                kernel: g.kernel.1,
                stride: g.stride.1,
                padding: g.padding.1 as isize,
                dilation: g.dilation.1,
            },
            inputs: g.in_channels,
            outputs: g.out_channels,
            n,
        }
    }

    /// The plan of the transpose: outputs become inputs, spread out by the stride.
    pub fn transposed(g: &Geometry, n: usize) -> Self {
        let forward = Self::forward(g, n);
        let turn = |a: Axis| Axis {
            input: a.output.checked_sub(1).map_or(0, |last| last * a.stride + 1),
            output: a.input,
            kernel: a.kernel,
            stride: 1,
            padding: (a.kernel.saturating_sub(1) * a.dilation) as isize - a.padding,
            dilation: a.dilation,
        };
        Self {
            rows: turn(forward.rows),
            columns: turn(forward.columns),
            inputs: g.out_channels,
            outputs: g.in_channels,
            n,
        }
    }

    /// Taps per output channel.
    pub fn taps(&self) -> usize {
        self.rows.kernel * self.columns.kernel * self.inputs
    }

    /// Taps of kernel row `row` and kernel columns `columns`, as a range in the order of taps.
    #[inline(always)]
    pub fn tap_range(&self, row: usize, columns: &Range<usize>) -> Range<usize> {
        let first = row * self.columns.kernel;
        (first + columns.start) * self.inputs..(first + columns.end) * self.inputs
    }

    /// Index of the input under the kernel's corner for output (r, q). It can lie before the
    /// slice and wraps then; adding the offset of a tap that falls on input wraps it back.
    #[inline(always)]
    pub fn corner(&self, r: usize, q: usize) -> usize {
        let position = self.rows.origin(r) * self.columns.input as isize + self.columns.origin(q);
        (position * self.n as isize) as usize
    }

    /// Index of output (r, q) of channel 0.
    #[inline(always)]
    pub fn output(&self, r: usize, q: usize) -> usize {
        (r * self.columns.output + q) * self.n
    }

    /// Numbers per output channel.
    #[inline(always)]
    pub fn output_plane(&self) -> usize {
        self.rows.output * self.columns.output * self.n
    }

    /// The contiguous runs of a segment: (how many, how long). At stride 1 it is a single one.
    #[inline(always)]
    pub fn runs(&self, segment: &Segment) -> (usize, usize) {
        if self.columns.stride == 1 { (1, segment.positions * self.n) } else { (segment.positions, self.n) }
    }

    /// Fills the offsets and weights of the taps and the segments of a row.
    pub fn fill(&self, scratch: &mut Scratch) {
        scratch.offsets.clear();
        scratch.weights.clear();
        for row in 0..self.rows.kernel {
            for column in 0..self.columns.kernel {
                for channel in 0..self.inputs {
                    let (r, q) = (row * self.rows.dilation, column * self.columns.dilation);
                    let place = (channel * self.rows.input + r) * self.columns.input + q;
                    let weight = (channel * self.rows.kernel + row) * self.columns.kernel + column;
                    scratch.offsets.push(place * self.n);
                    scratch.weights.push(weight);
                }
            }
        }
        scratch.segments.clear();
        for start in 0..self.columns.output {
            let columns = self.columns.taps(start);
            match scratch.segments.last_mut() {
                Some(last) if last.columns == columns => last.positions += 1,
                _ => scratch.segments.push(Segment { start, positions: 1, columns }),
            }
        }
    }

    /// Copies weights into the order of the loops: blocks of outputs, then taps, then the outputs
    /// of the block. `weight(output, input, tap)` counts taps of the kernel row-major.
    pub fn pack(&self, packed: &mut Vec<f64>, weight: impl Fn(usize, usize, usize) -> f64) {
        packed.clear();
        for block in blocks(self.outputs) {
            for position in 0..self.rows.kernel * self.columns.kernel {
                for channel in 0..self.inputs {
                    packed.extend(block.clone().map(|output| weight(output, channel, position)));
                }
            }
        }
    }

    /// Spreads ȳ out by the strides of `geometry`, zeros between.
    pub fn dilate(&self, geometry: &Geometry, y_bar: &[f64], dilated: &mut Vec<f64>) {
        let (height, width) = geometry.output_size();
        dilated.clear();
        dilated.resize(self.inputs * self.rows.input * self.columns.input * self.n, 0.0);
        for channel in 0..self.inputs {
            for r in 0..height {
                for q in 0..width {
                    let from = ((channel * height + r) * width + q) * self.n;
                    let row = channel * self.rows.input + r * geometry.stride.0;
                    let to = (row * self.columns.input + q * geometry.stride.1) * self.n;
                    dilated[to..to + self.n].copy_from_slice(&y_bar[from..from + self.n]);
                }
            }
        }
    }
}

/// Output channels in blocks of 4, and the rest of 2 and 1.
#[inline(always)]
pub(super) fn blocks(outputs: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let size = match outputs - start {
            0 => return None,
            1 => 1,
            2 | 3 => 2,
            _ => 4,
        };
        start += size;
        Some(start - size..start)
    })
}
