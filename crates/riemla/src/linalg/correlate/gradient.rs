//! Weight gradients: inner products of shifted inputs with output gradients.

use super::Scratch;
use super::plan::{Plan, Segment, blocks};
use crate::linalg::simd::{Isa, Kernel, mul_add};

/// Partial sums of a gradient: the numbers in the widest vector register. Narrower ones leave some 0.
pub(super) const LANES: usize = 8;
/// Numbers in the registers of CPUs without the widest.
const NARROW: usize = 4;

/// What both kinds of weight gradient read.
#[derive(Clone, Copy)]
struct Source<'a> {
    plan: &'a Plan,
    scratch: &'a Scratch,
    x: &'a [f64],
    y_bar: &'a [f64],
}

/// A piece of the work: a few outputs × a few neighbouring taps, over a segment of row `r`.
struct Tile<'a> {
    r: usize,
    segment: &'a Segment,
    output: usize,
    tap: usize,
}

/// Adds the contribution of one tile, `OUT` outputs × `TAPS` taps, to a gradient.
trait AddTile<'a> {
    fn source(&self) -> Source<'a>;
    fn add<I: Isa, const OUT: usize, const TAPS: usize>(&mut self, tile: Tile<'a>);
}

/// Visits all tiles, row by row so that what a row reads stays in the first-level cache.
#[inline(always)]
fn add_tiles<'a, I: Isa, A: AddTile<'a>>(gradient: &mut A) {
    let Source { plan, scratch, .. } = gradient.source();
    for r in 0..plan.rows.output {
        for segment in &scratch.segments {
            for row in plan.rows.taps(r) {
                for block in blocks(plan.outputs) {
                    let mut taps = plan.tap_range(row, &segment.columns);
                    while !taps.is_empty() {
                        let tile = Tile { r, segment, output: block.start, tap: taps.start };
                        taps.start += match block.len() {
                            4 => add_tile::<I, 4, A>(gradient, tile, taps.len()),
                            2 => add_tile::<I, 2, A>(gradient, tile, taps.len()),
                            _ => add_tile::<I, 1, A>(gradient, tile, taps.len()),
                        }
                    }
                }
            }
        }
    }
}

/// Adds a tile of up to three taps and returns how many it took: 4 × 3 sums fill 16 registers. Of 32 they
/// leave room for 4 × 5.
#[inline(always)]
fn add_tile<'a, I: Isa, const OUT: usize, A: AddTile<'a>>(
    gradient: &mut A,
    tile: Tile<'a>,
    taps: usize,
) -> usize {
    match taps {
        1 => gradient.add::<I, OUT, 1>(tile),
        2 => gradient.add::<I, OUT, 2>(tile),
        4 if I::WIDE => gradient.add::<I, OUT, 4>(tile),
        5.. if I::WIDE => gradient.add::<I, OUT, 5>(tile),
        _ => gradient.add::<I, OUT, 3>(tile),
    }
    taps.min(if I::WIDE { 5 } else { 3 })
}

impl<'a> Source<'a> {
    /// Sums the products of vectors of x and ȳ, the first from number `first` of position `q` on.
    #[inline(always)]
    fn products<I: Isa, const OUT: usize, const TAPS: usize, const WIDE: usize>(
        &self,
        tile: &Tile,
        (q, first): (usize, usize),
        steps: Steps,
    ) -> [[[f64; WIDE]; TAPS]; OUT] {
        let mut sum = [[[0.0; WIDE]; TAPS]; OUT];
        let Some(last) = steps.count.checked_sub(1) else { return sum };
        let offsets = &self.scratch.offsets[tile.tap..tile.tap + TAPS];
        let corner = self.plan.corner(tile.r, tile.segment.start + q).wrapping_add(first);
        let y = self.plan.output(tile.r, tile.segment.start + q) + first;
        let (mut xs, mut ys) = ([corner; TAPS], [y; OUT]);
        for (x, offset) in xs.iter_mut().zip(offsets) {
            *x = x.wrapping_add(*offset);
        }
        for (o, y) in ys.iter_mut().enumerate() {
            *y += (tile.output + o) * self.plan.output_plane();
        }
        let xs = slices(self.x, &xs, last * steps.x + WIDE);
        let ys = slices(self.y_bar, &ys, last * steps.y + WIDE);
        for j in 0..steps.count {
            let (x, y) = (load::<WIDE, TAPS>(&xs, j * steps.x), load::<WIDE, OUT>(&ys, j * steps.y));
            add_outer::<I, OUT, TAPS, WIDE>(&mut sum, &x, &y);
        }
        sum
    }

    /// Index of the weight of output `o` and tap `t` of a tile.
    #[inline(always)]
    fn weight(&self, tile: &Tile, o: usize, t: usize) -> usize {
        (tile.output + o) * self.plan.taps() + self.scratch.weights[tile.tap + t]
    }

    /// Adds the sums of a tile to the numbers from `first` on of each weight's `n` in `gradient`.
    #[inline(always)]
    fn store<const OUT: usize, const TAPS: usize, const WIDE: usize>(
        &self,
        tile: &Tile,
        sum: &[[[f64; WIDE]; TAPS]; OUT],
        gradient: &mut [f64],
        (first, n): (usize, usize),
    ) {
        for (o, sum) in sum.iter().enumerate() {
            for (t, sum) in sum.iter().enumerate() {
                let start = self.weight(tile, o, t) * n + first;
                for (g, sum) in gradient[start..start + WIDE].iter_mut().zip(sum) {
                    *g += sum;
                }
            }
        }
    }
}

/// The gradient summed over samples, in [`LANES`] partial sums per weight.
pub(super) struct Summed<'a> {
    source: Source<'a>,
    lanes: &'a mut [f64],
}

impl<'a> Summed<'a> {
    pub fn new(
        plan: &'a Plan,
        scratch: &'a Scratch,
        x: &'a [f64],
        y_bar: &'a [f64],
        lanes: &'a mut [f64],
    ) -> Self {
        Self { source: Source { plan, scratch, x, y_bar }, lanes }
    }
}

impl Kernel for Summed<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        add_tiles::<I, _>(&mut self);
    }
}

impl<'a> AddTile<'a> for Summed<'a> {
    #[inline(always)]
    fn source(&self) -> Source<'a> {
        self.source
    }

    #[inline(always)]
    fn add<I: Isa, const OUT: usize, const TAPS: usize>(&mut self, tile: Tile<'a>) {
        if I::WIDE {
            self.add_vectors::<I, OUT, TAPS, LANES>(tile);
        } else {
            self.add_vectors::<I, OUT, TAPS, NARROW>(tile);
        }
    }
}

impl<'a> Summed<'a> {
    /// The tile in vectors of `WIDE` numbers.
    #[inline(always)]
    fn add_vectors<I: Isa, const OUT: usize, const TAPS: usize, const WIDE: usize>(
        &mut self,
        tile: Tile<'a>,
    ) {
        let (runs, length) = self.source.plan.runs(tile.segment);
        let (whole, rest) = (length / WIDE, length % WIDE);
        for run in 0..runs {
            // Carrying sums from run to run would be shorter, but they end up outside registers.
            let steps = Steps { x: WIDE, y: WIDE, count: whole };
            let sum = self.source.products::<I, OUT, TAPS, WIDE>(&tile, (run, 0), steps);
            self.source.store(&tile, &sum, self.lanes, (0, LANES));
            if rest > 0 {
                let (at, steps) = ((run, whole * WIDE), Steps { x: 1, y: 1, count: rest });
                let sum = self.source.products::<I, OUT, TAPS, 1>(&tile, at, steps);
                self.source.store(&tile, &sum, self.lanes, (0, LANES));
            }
        }
    }
}

/// Slices of one length, to be read in steps. (Loops, because `array::map` is not always inlined
/// into a function with other CPU features, which costs a call and all registers per step; one
/// length, because then one check of bounds serves all of them.)
#[inline(always)]
fn slices<'a, const M: usize>(from: &'a [f64], starts: &[usize; M], len: usize) -> [&'a [f64]; M] {
    let mut slices: [&[f64]; M] = [&[]; M];
    for (slice, start) in slices.iter_mut().zip(starts) {
        *slice = &from[*start..][..len];
    }
    slices
}

/// `WIDE` numbers of each slice.
#[inline(always)]
fn load<const WIDE: usize, const M: usize>(slices: &[&[f64]; M], start: usize) -> [[f64; WIDE]; M] {
    let mut values = [[0.0; WIDE]; M];
    for (values, slice) in values.iter_mut().zip(slices) {
        values.copy_from_slice(&slice[start..start + WIDE]);
    }
    values
}

/// Strides between the vectors to multiply, and their number.
struct Steps {
    x: usize,
    y: usize,
    count: usize,
}

/// Adds yₒ·xₜ, lane by lane, to the sum of output o and tap t.
#[inline(always)]
fn add_outer<I: Isa, const OUT: usize, const TAPS: usize, const WIDE: usize>(
    sum: &mut [[[f64; WIDE]; TAPS]; OUT],
    x: &[[f64; WIDE]; TAPS],
    y: &[[f64; WIDE]; OUT],
) {
    for (sum, y) in sum.iter_mut().zip(y) {
        for (sum, x) in sum.iter_mut().zip(x) {
            for ((sum, x), y) in sum.iter_mut().zip(x).zip(y) {
                *sum = mul_add::<I>(*x, *y, *sum);
            }
        }
    }
}

/// The gradient of each sample by itself: weight k of sample i at k·n + i.
pub(super) struct PerSample<'a> {
    source: Source<'a>,
    gradients: &'a mut [f64],
}

impl<'a> PerSample<'a> {
    pub fn new(
        plan: &'a Plan,
        scratch: &'a Scratch,
        x: &'a [f64],
        y_bar: &'a [f64],
        gradients: &'a mut [f64],
    ) -> Self {
        Self { source: Source { plan, scratch, x, y_bar }, gradients }
    }

    /// The tile for `WIDE` samples from `sample` on.
    #[inline(always)]
    fn add_samples<I: Isa, const OUT: usize, const TAPS: usize, const WIDE: usize>(
        &mut self,
        tile: &Tile,
        sample: usize,
    ) {
        let plan = self.source.plan;
        let steps = Steps { x: plan.columns.stride * plan.n, y: plan.n, count: tile.segment.positions };
        let sum = self.source.products::<I, OUT, TAPS, WIDE>(tile, (0, sample), steps);
        self.source.store(tile, &sum, self.gradients, (sample, plan.n));
    }
}

impl Kernel for PerSample<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        add_tiles::<I, _>(&mut self);
    }
}

impl<'a> AddTile<'a> for PerSample<'a> {
    #[inline(always)]
    fn source(&self) -> Source<'a> {
        self.source
    }

    #[inline(always)]
    fn add<I: Isa, const OUT: usize, const TAPS: usize>(&mut self, tile: Tile<'a>) {
        let n = self.source.plan.n;
        let wide = if I::WIDE { n - n % LANES } else { 0 };
        for sample in (0..wide).step_by(LANES) {
            self.add_samples::<I, OUT, TAPS, LANES>(&tile, sample);
        }
        for sample in (wide..n - n % NARROW).step_by(NARROW) {
            self.add_samples::<I, OUT, TAPS, NARROW>(&tile, sample);
        }
        for sample in n - n % NARROW..n {
            self.add_samples::<I, OUT, TAPS, 1>(&tile, sample);
        }
    }
}
