//! The loop that sums over taps: for outputs from inputs, and for input gradients.

use super::plan::{Plan, Segment, blocks};
use super::{Scratch, Start};
use crate::linalg::simd::{Isa, Kernel, mul_add};
use std::ops::Range;

/// Runs a block for outputs 0 to 3. Not a loop: the compiler unrolls only so much at once, and sums whose loop it
/// does not unroll are not in registers.
macro_rules! each_output {
    ($output:ident, $body:expr) => {{
        {
            const $output: usize = 0;
            $body
        }
        {
            const $output: usize = 1;
            $body
        }
        {
            const $output: usize = 2;
            $body
        }
        {
            const $output: usize = 3;
            $body
        }
    }};
}

/// y ← start + packed weights ⋆ x.
pub(super) struct Accumulate<'a> {
    plan: &'a Plan,
    packed: &'a [f64],
    offsets: &'a [usize],
    segments: &'a [Segment],
    x: &'a [f64],
    start: Start<'a>,
    y: &'a mut [f64],
}

impl<'a> Accumulate<'a> {
    pub fn new(
        plan: &'a Plan,
        scratch: &'a Scratch,
        x: &'a [f64],
        start: Start<'a>,
        y: &'a mut [f64],
    ) -> Self {
        let Scratch { packed, offsets, segments, .. } = scratch;
        Self { plan, packed, offsets, segments, x, start, y }
    }
}

impl Kernel for Accumulate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let taps = self.plan.taps();
        for r in 0..self.plan.rows.output {
            for segment in self.segments {
                for block in blocks(self.plan.outputs) {
                    let packed = &self.packed[block.start * taps..block.end * taps];
                    // Sums that fill the registers, with room for weights and inputs.
                    match block.len() {
                        4 if I::WIDE => self.segment::<I, 4, 32>(r, segment, block.start, packed),
                        4 => self.segment::<I, 4, 12>(r, segment, block.start, packed),
                        2 if I::WIDE => self.segment::<I, 2, 32>(r, segment, block.start, packed),
                        2 => self.segment::<I, 2, 16>(r, segment, block.start, packed),
                        _ => self.segment::<I, 1, 32>(r, segment, block.start, packed),
                    }
                }
            }
        }
    }
}

impl Accumulate<'_> {
    /// A segment of row `r` for `OUT` outputs, in tiles of `WIDE` numbers, then 8, 4 and 1.
    #[inline(always)]
    fn segment<I: Isa, const OUT: usize, const WIDE: usize>(
        &mut self,
        r: usize,
        segment: &Segment,
        output: usize,
        packed: &[f64],
    ) {
        let (packed, _) = packed.as_chunks::<OUT>();
        let rows = self.plan.rows.taps(r);
        let mut start = [0.0; OUT];
        if let Start::Constants(constants) = self.start {
            start.iter_mut().zip(constants.iter().skip(output)).for_each(|(s, c)| *s = *c);
        }
        let (runs, length) = self.plan.runs(segment);
        for run in 0..runs {
            let corner = self.plan.corner(r, segment.start + run);
            let to = output * self.plan.output_plane() + self.plan.output(r, segment.start + run);
            let mut done = 0;
            macro_rules! tiles {
                ($wide:expr) => {
                    while length - done >= $wide {
                        let at = (corner.wrapping_add(done), to + done);
                        self.tile::<I, OUT, { $wide }>(packed, &rows, &segment.columns, &start, at);
                        done += $wide;
                    }
                };
            }
            tiles!(WIDE);
            if I::WIDE {
                tiles!(8);
            }
            tiles!(4);
            tiles!(1);
        }
    }

    /// `OUT` outputs × `WIDE` numbers, summed over all taps in registers.
    #[inline(always)]
    fn tile<I: Isa, const OUT: usize, const WIDE: usize>(
        &mut self,
        packed: &[[f64; OUT]],
        rows: &Range<usize>,
        columns: &Range<usize>,
        start: &[f64; OUT],
        (corner, to): (usize, usize),
    ) {
        let mut sum = [[0.0; WIDE]; OUT];
        each_output!(
            O,
            if let (Some(sum), Some(start)) = (sum.get_mut(O), start.get(O)) {
                *sum = [*start; WIDE];
            }
        );
        for row in rows.clone() {
            let range = self.plan.tap_range(row, columns);
            for (weights, offset) in packed[range.clone()].iter().zip(&self.offsets[range]) {
                let from = corner.wrapping_add(*offset);
                let x = &self.x[from..from + WIDE];
                each_output!(
                    O,
                    if let (Some(sum), Some(weight)) = (sum.get_mut(O), weights.get(O)) {
                        for (sum, x) in sum.iter_mut().zip(x) {
                            *sum = mul_add::<I>(*weight, *x, *sum);
                        }
                    }
                );
            }
        }
        let adds = matches!(self.start, Start::Output);
        each_output!(
            O,
            if let Some(sum) = sum.get(O) {
                let to = to + O * self.plan.output_plane();
                let y = &mut self.y[to..to + WIDE];
                for (y, sum) in y.iter_mut().zip(sum) {
                    *y = if adds { *y } else { 0.0 } + sum;
                }
            }
        );
    }
}
