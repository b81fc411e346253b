//! The loop that sums over taps: for outputs from inputs, and for input gradients.

use super::Scratch;
use super::plan::{Plan, Segment, blocks};
use crate::linalg::simd::{Kernel, mul_add};
use std::ops::Range;

/// y ← y + packed weights ⋆ x.
pub(super) struct Accumulate<'a> {
    plan: &'a Plan,
    packed: &'a [f64],
    offsets: &'a [usize],
    segments: &'a [Segment],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl<'a> Accumulate<'a> {
    pub fn new(plan: &'a Plan, scratch: &'a Scratch, x: &'a [f64], y: &'a mut [f64]) -> Self {
        let Scratch { packed, offsets, segments, .. } = scratch;
        Self { plan, packed, offsets, segments, x, y }
    }
}

impl Kernel for Accumulate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let taps = self.plan.taps();
        for r in 0..self.plan.rows.output {
            for segment in self.segments {
                for block in blocks(self.plan.outputs) {
                    let packed = &self.packed[block.start * taps..block.end * taps];
                    match block.len() {
                        4 => self.segment::<FMA, 4, 12>(r, segment, block.start, packed),
                        2 => self.segment::<FMA, 2, 16>(r, segment, block.start, packed),
                        _ => self.segment::<FMA, 1, 32>(r, segment, block.start, packed),
                    }
                }
            }
        }
    }
}

impl Accumulate<'_> {
    /// A segment of row `r` for `OUT` outputs, in tiles of `WIDE` numbers, then 4, then 1.
    #[inline(always)]
    fn segment<const FMA: bool, const OUT: usize, const WIDE: usize>(
        &mut self,
        r: usize,
        segment: &Segment,
        output: usize,
        packed: &[f64],
    ) {
        let (packed, _) = packed.as_chunks::<OUT>();
        let rows = self.plan.rows.taps(r);
        let (runs, length) = self.plan.runs(segment);
        for run in 0..runs {
            let corner = self.plan.corner(r, segment.start + run);
            let to = output * self.plan.output_plane() + self.plan.output(r, segment.start + run);
            let (wide, narrow) = (length - length % WIDE, length - length % 4);
            for j in (0..wide).step_by(WIDE) {
                let at = (corner.wrapping_add(j), to + j);
                self.tile::<FMA, OUT, WIDE>(packed, &rows, &segment.columns, at);
            }
            for j in (wide..narrow).step_by(4) {
                let at = (corner.wrapping_add(j), to + j);
                self.tile::<FMA, OUT, 4>(packed, &rows, &segment.columns, at);
            }
            for j in narrow..length {
                let at = (corner.wrapping_add(j), to + j);
                self.tile::<FMA, OUT, 1>(packed, &rows, &segment.columns, at);
            }
        }
    }

    /// `OUT` outputs × `WIDE` numbers, summed over all taps in registers.
    #[inline(always)]
    fn tile<const FMA: bool, const OUT: usize, const WIDE: usize>(
        &mut self,
        packed: &[[f64; OUT]],
        rows: &Range<usize>,
        columns: &Range<usize>,
        (corner, to): (usize, usize),
    ) {
        let mut sum = [[0.0; WIDE]; OUT];
        for row in rows.clone() {
            let range = self.plan.tap_range(row, columns);
            for (weights, offset) in packed[range.clone()].iter().zip(&self.offsets[range]) {
                let from = corner.wrapping_add(*offset);
                let x = &self.x[from..from + WIDE];
                for (sum, weight) in sum.iter_mut().zip(weights) {
                    for (sum, x) in sum.iter_mut().zip(x) {
                        *sum = mul_add::<FMA>(*weight, *x, *sum);
                    }
                }
            }
        }
        for (o, sum) in sum.iter().enumerate() {
            let to = to + o * self.plan.output_plane();
            for (y, sum) in self.y[to..to + WIDE].iter_mut().zip(sum) {
                *y += sum;
            }
        }
    }
}
