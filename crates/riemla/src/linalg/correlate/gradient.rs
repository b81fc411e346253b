//! Weight gradients: inner products of shifted inputs with output gradients.

use super::Scratch;
use super::plan::{Plan, Segment, blocks};
use crate::linalg::simd::{Kernel, mul_add};

/// Numbers in a vector register.
const LANES: usize = 4;

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
    fn add<const FMA: bool, const OUT: usize, const TAPS: usize>(&mut self, tile: Tile<'a>);
}

/// Visits all tiles, row by row so that what a row reads stays in the first-level cache.
#[inline(always)]
fn add_tiles<'a, const FMA: bool, A: AddTile<'a>>(gradient: &mut A) {
    let Source { plan, scratch, .. } = gradient.source();
    for r in 0..plan.rows.output {
        for segment in &scratch.segments {
            for row in plan.rows.taps(r) {
                for block in blocks(plan.outputs) {
                    let mut taps = plan.tap_range(row, &segment.columns);
                    while !taps.is_empty() {
                        let tile = Tile { r, segment, output: block.start, tap: taps.start };
                        taps.start += match block.len() {
                            4 => add_tile::<FMA, 4, A>(gradient, tile, taps.len()),
                            2 => add_tile::<FMA, 2, A>(gradient, tile, taps.len()),
                            _ => add_tile::<FMA, 1, A>(gradient, tile, taps.len()),
                        }
                    }
                }
            }
        }
    }
}

/// Adds a tile of up to three taps and returns how many it took: 4 × 3 sums fill the registers.
#[inline(always)]
fn add_tile<'a, const FMA: bool, const OUT: usize, A: AddTile<'a>>(
    gradient: &mut A,
    tile: Tile<'a>,
    taps: usize,
) -> usize {
    match taps {
        1 => gradient.add::<FMA, OUT, 1>(tile),
        2 => gradient.add::<FMA, OUT, 2>(tile),
        _ => gradient.add::<FMA, OUT, 3>(tile),
    }
    taps.min(3)
}

impl<'a> Source<'a> {
    /// Where the inputs and output gradients of a tile start, at position `q` of its segment.
    #[inline(always)]
    fn starts<const OUT: usize, const TAPS: usize>(
        &self,
        tile: &Tile,
        q: usize,
    ) -> ([usize; TAPS], [usize; OUT]) {
        let offsets = &self.scratch.offsets[tile.tap..tile.tap + TAPS];
        let corner = self.plan.corner(tile.r, tile.segment.start + q);
        let y = self.plan.output(tile.r, tile.segment.start + q);
        let plane = self.plan.output_plane();
        (
            std::array::from_fn(|t| corner.wrapping_add(offsets[t])),
            std::array::from_fn(|o| y + (tile.output + o) * plane),
        )
    }

    /// Index of the weight of output `o` and tap `t` of a tile.
    #[inline(always)]
    fn weight(&self, tile: &Tile, o: usize, t: usize) -> usize {
        (tile.output + o) * self.plan.taps() + self.plan.weight_of(tile.tap + t)
    }
}

/// The gradient summed over samples.
pub(super) struct Summed<'a> {
    source: Source<'a>,
    gradient: &'a mut [f64],
}

impl<'a> Summed<'a> {
    pub fn new(
        plan: &'a Plan,
        scratch: &'a Scratch,
        x: &'a [f64],
        y_bar: &'a [f64],
        gradient: &'a mut [f64],
    ) -> Self {
        Self { source: Source { plan, scratch, x, y_bar }, gradient }
    }
}

impl Kernel for Summed<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        add_tiles::<FMA, _>(&mut self);
    }
}

impl<'a> AddTile<'a> for Summed<'a> {
    #[inline(always)]
    fn source(&self) -> Source<'a> {
        self.source
    }

    #[inline(always)]
    fn add<const FMA: bool, const OUT: usize, const TAPS: usize>(&mut self, tile: Tile<'a>) {
        let Source { plan, x, y_bar, .. } = self.source;
        let (runs, length) = plan.runs(tile.segment);
        let mut sum = [[[0.0; LANES]; TAPS]; OUT];
        for run in 0..runs {
            let (xs, ys) = self.source.starts::<OUT, TAPS>(&tile, run);
            let xs = xs.map(|start| &x[start..start + length]);
            let ys = ys.map(|start| &y_bar[start..start + length]);
            add_products::<FMA, OUT, TAPS>(&mut sum, xs, ys);
        }
        for o in 0..OUT {
            for t in 0..TAPS {
                let [a, b, c, d] = sum[o][t];
                self.gradient[self.source.weight(&tile, o, t)] += (a + c) + (b + d);
            }
        }
    }
}

/// Adds the inner products of all pairs of `xs` and `ys`, all of one length, lane by lane.
#[inline(always)]
fn add_products<const FMA: bool, const OUT: usize, const TAPS: usize>(
    sum: &mut [[[f64; LANES]; TAPS]; OUT],
    xs: [&[f64]; TAPS],
    ys: [&[f64]; OUT],
) {
    let (x_chunks, y_chunks) = (xs.map(|x| x.as_chunks::<LANES>()), ys.map(|y| y.as_chunks::<LANES>()));
    let chunks = y_chunks[0].0.len();
    let (x_whole, y_whole) = (x_chunks.map(|x| &x.0[..chunks]), y_chunks.map(|y| &y.0[..chunks]));
    let mut whole = *sum;
    for j in 0..chunks {
        for o in 0..OUT {
            for t in 0..TAPS {
                for lane in 0..LANES {
                    let (x, y) = (x_whole[t][j][lane], y_whole[o][j][lane]);
                    whole[o][t][lane] = mul_add::<FMA>(x, y, whole[o][t][lane]);
                }
            }
        }
    }
    *sum = whole;
    for o in 0..OUT {
        for t in 0..TAPS {
            for (x, y) in x_chunks[t].1.iter().zip(y_chunks[o].1) {
                sum[o][t][0] += x * y;
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
    fn add_samples<const FMA: bool, const OUT: usize, const TAPS: usize, const WIDE: usize>(
        &mut self,
        tile: &Tile,
        sample: usize,
    ) {
        let Source { plan, x, y_bar, .. } = self.source;
        let (xs, ys) = self.source.starts::<OUT, TAPS>(tile, 0);
        let mut sum = [[[0.0; WIDE]; TAPS]; OUT];
        for q in 0..tile.segment.positions {
            let (x_step, y_step) = (q * plan.columns.stride * plan.n + sample, q * plan.n + sample);
            let x: [&[f64]; TAPS] = xs.map(|start| &x[start + x_step..start + x_step + WIDE]);
            let y: [&[f64]; OUT] = ys.map(|start| &y_bar[start + y_step..start + y_step + WIDE]);
            for o in 0..OUT {
                for t in 0..TAPS {
                    for lane in 0..WIDE {
                        sum[o][t][lane] = mul_add::<FMA>(x[t][lane], y[o][lane], sum[o][t][lane]);
                    }
                }
            }
        }
        for o in 0..OUT {
            for t in 0..TAPS {
                let start = self.source.weight(tile, o, t) * plan.n + sample;
                for (g, sum) in self.gradients[start..start + WIDE].iter_mut().zip(sum[o][t]) {
                    *g += sum;
                }
            }
        }
    }
}

impl Kernel for PerSample<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        add_tiles::<FMA, _>(&mut self);
    }
}

impl<'a> AddTile<'a> for PerSample<'a> {
    #[inline(always)]
    fn source(&self) -> Source<'a> {
        self.source
    }

    #[inline(always)]
    fn add<const FMA: bool, const OUT: usize, const TAPS: usize>(&mut self, tile: Tile<'a>) {
        let n = self.source.plan.n;
        for sample in (0..n - n % LANES).step_by(LANES) {
            self.add_samples::<FMA, OUT, TAPS, LANES>(&tile, sample);
        }
        for sample in n - n % LANES..n {
            self.add_samples::<FMA, OUT, TAPS, 1>(&tile, sample);
        }
    }
}
