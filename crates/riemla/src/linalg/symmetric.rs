//! A symmetric matrix kept for products with one vector: every step of a geodesic in the default metric makes one.
//!
//! Packed into tiles of 8 × 8, those on and below the diagonal only: each entry below the diagonal is read once, in the order of
//! memory, and serves both halves. Half the memory of the whole matrix, and a quarter of the time that its lower triangle takes
//! where its columns lie (docs/decisions/0024-one-gradient-per-step.md).

use super::simd::{Isa, Kernel, dispatch, mul_add};

/// Rows and columns of a tile: 8 columns' sums fill the registers of AVX-512, and were the fastest with AVX2 as well.
const TILE: usize = 8;

/// Columns of a tile, or sums for them.
type Tile = [[f64; TILE]; TILE];

/// A symmetric matrix.
#[derive(Debug, Clone)]
pub struct Symmetric {
    dim: usize,
    /// Columns of tiles, each from the diagonal down; past the last row and column there are zeros.
    tiles: Vec<Tile>,
}

impl Symmetric {
    /// The matrix of which `column(j)` is column j; nothing above the diagonal is read.
    pub fn new<'a>(dim: usize, column: impl Fn(usize) -> &'a [f64]) -> Self {
        let entry = |i: usize, j: usize| if i.max(j) < dim { column(i.min(j))[i.max(j)] } else { 0.0 };
        let tile = |down: usize, across: usize| {
            std::array::from_fn(|j| std::array::from_fn(|i| entry(down * TILE + i, across * TILE + j)))
        };
        let count = dim.div_ceil(TILE);
        let mut tiles = Vec::with_capacity(count * (count + 1) / 2);
        for across in 0..count {
            tiles.extend((across..count).map(|down| tile(down, across)));
        }
        Self { dim, tiles }
    }

    /// out ← Ax.
    pub fn mul(&self, x: &[f64], out: &mut [f64]) {
        assert!(x.len() == self.dim && out.len() == self.dim, "Symmetric::mul: lengths");
        dispatch(Product(self, x, out));
    }
}

struct Product<'a>(&'a Symmetric, &'a [f64], &'a mut [f64]);

impl Kernel for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self(matrix, x, out) = self;
        out.fill(0.0);
        let (x, x_rest) = x.as_chunks::<TILE>();
        let (out, out_rest) = out.as_chunks_mut::<TILE>();
        // The rows that do not fill a tile, with zeros after them.
        let mut last_x = [0.0; TILE];
        last_x[..x_rest.len()].copy_from_slice(x_rest);
        let mut last_out = [0.0; TILE];
        let ragged = usize::from(!x_rest.is_empty());
        let mut tiles = &matrix.tiles[..];
        for (across, factors) in x.iter().enumerate() {
            let (column, next) = tiles.split_at(x.len() - across + ragged);
            let (done, rest) = out.split_at_mut(across + 1);
            let mut sums = [[0.0; TILE]; TILE];
            for ((tile, x), out) in column[1..].iter().zip(&x[across + 1..]).zip(rest) {
                both_halves::<I>(tile, factors, x, out, &mut sums);
            }
            if ragged == 1 {
                both_halves::<I>(&column[column.len() - 1], factors, &last_x, &mut last_out, &mut sums);
            }
            let out = &mut done[across];
            one_half::<I>(&column[0], factors, out);
            for lane in 0..TILE {
                out.iter_mut().zip(&sums).for_each(|(out, sums)| *out += sums[lane]);
            }
            tiles = next;
        }
        if ragged == 1 {
            one_half::<I>(&tiles[0], &last_x, &mut last_out);
            out_rest.copy_from_slice(&last_out[..out_rest.len()]);
        }
    }
}

/// out ← out + Σ factorₖ·columnₖ.
#[inline(always)]
fn one_half<I: Isa>(tile: &Tile, factors: &[f64; TILE], out: &mut [f64; TILE]) {
    for (column, factor) in tile.iter().zip(factors) {
        for lane in 0..TILE {
            out[lane] = mul_add::<I>(column[lane], *factor, out[lane]);
        }
    }
}

/// out ← out + Σ factorₖ·columnₖ, and sumsₖ ← sumsₖ + columnₖ·x, lane by lane.
#[inline(always)]
fn both_halves<I: Isa>(
    tile: &Tile,
    factors: &[f64; TILE],
    x: &[f64; TILE],
    out: &mut [f64; TILE],
    sums: &mut Tile,
) {
    // Two chains of additions instead of one: half the time to wait for.
    let (mut even, mut odd) = (*out, [0.0; TILE]);
    for k in (0..TILE).step_by(2) {
        for lane in 0..TILE {
            even[lane] = mul_add::<I>(tile[k][lane], factors[k], even[lane]);
            odd[lane] = mul_add::<I>(tile[k + 1][lane], factors[k + 1], odd[lane]);
            sums[k][lane] = mul_add::<I>(tile[k][lane], x[lane], sums[k][lane]);
            sums[k + 1][lane] = mul_add::<I>(tile[k + 1][lane], x[lane], sums[k + 1][lane]);
        }
    }
    for lane in 0..TILE {
        out[lane] = even[lane] + odd[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::portable;

    /// Columns of A, NaN wherever nothing may be read.
    fn matrix(dim: usize) -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| {
            if (j..dim).contains(&i) { ((i * dim + j) as f64 * 0.7).cos() } else { f64::NAN }
        };
        (0..dim).map(|j| (0..dim + 3).map(|i| entry(i, j)).collect()).collect()
    }

    #[test]
    fn the_lower_triangle_stands_for_both_halves() {
        for dim in [0, 1, 3, 7, 8, 9, 12, 16, 17, 31, 50] {
            let a = matrix(dim);
            let kept = Symmetric::new(dim, |j| &a[j][..]);
            let x: Vec<f64> = (0..dim).map(|i| (i as f64 * 1.3).sin() + 0.2).collect();
            let (mut fast, mut plain) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
            kept.mul(&x, &mut fast);
            portable(Product(&kept, &x, &mut plain));
            for i in 0..dim {
                let exact: f64 = (0..dim).map(|j| a[i.min(j)][i.max(j)] * x[j]).sum();
                assert!(
                    (fast[i] - exact).abs() < 1e-13 * dim as f64,
                    "{dim}, row {i}: {} for {exact}",
                    fast[i]
                );
                assert!(
                    (plain[i] - exact).abs() < 1e-13 * dim as f64,
                    "{dim}, row {i}: {} for {exact}",
                    plain[i]
                );
            }
        }
    }
}
