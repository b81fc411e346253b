//! A symmetric band made tridiagonal with the same eigenvalues: each column's entries are reflected away,
//! and what that fills in below is chased down the band.

use crate::linalg::simd::{Isa, Kernel, dispatch, mul_add};

/// A symmetric band, column by column from the diagonal down, with room for what is filled in.
pub(super) struct Band {
    n: usize,
    width: usize,
    entries: Vec<f64>,
}

impl Band {
    pub(super) fn zeros(n: usize, width: usize) -> Self {
        Self { n, width, entries: vec![0.0; 2 * width * n] }
    }

    /// The first `count` entries of column `j`, from the diagonal down.
    pub(super) fn column_mut(&mut self, j: usize, count: usize) -> &mut [f64] {
        &mut self.entries[2 * self.width * j..][..count]
    }

    /// Diagonal and subdiagonal of a tridiagonal matrix with the same eigenvalues.
    pub(super) fn tridiagonal(mut self) -> (Vec<f64>, Vec<f64>) {
        dispatch(Chase(&mut self));
        let columns = || self.entries.chunks_exact(2 * self.width);
        let below = columns().take(self.n.saturating_sub(1)).map(|column| column[1]).collect();
        (columns().map(|column| column[0]).collect(), below)
    }
}

struct Chase<'a>(&'a mut Band);

impl Kernel for Chase<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Band { n, width, entries } = self.0;
        let (n, width) = (*n, *width);
        let mut work = Work { stride: 2 * width - 1, entries, v: vec![0.0; width], w: vec![0.0; width] };
        for column in 0..n.saturating_sub(2) {
            let mut rows = (column + 1, width.min(n - column - 1));
            let mut tau = work.reflect::<I>(column, rows);
            loop {
                work.diagonal_block::<I>(rows, tau);
                let next = rows.0 + rows.1;
                if next == n {
                    break;
                }
                let below = (next, width.min(n - next));
                tau = work.block_below::<I>(rows, below, tau);
                rows = below;
            }
        }
    }
}

/// The band, the reflection I − τvvᵀ in force, and room for a product.
struct Work<'a> {
    /// Entry (i, j) is at j·stride + i.
    stride: usize,
    entries: &'a mut [f64],
    v: Vec<f64>,
    w: Vec<f64>,
}

/// First row, and how many.
type Rows = (usize, usize);

impl Work<'_> {
    /// Sets v to the reflection that leaves the first of these rows of a column alone; returns τ.
    #[inline(always)]
    fn reflect<I: Isa>(&mut self, j: usize, (first, count): Rows) -> f64 {
        let x = &mut self.entries[j * self.stride + first..][..count];
        let v = &mut self.v[..count];
        v.copy_from_slice(x);
        v[0] = 1.0;
        let rest = inner::<I>(&x[1..], &x[1..]);
        if rest == 0.0 {
            return 0.0;
        }
        let head = x[0];
        let beta = -(head * head + rest).sqrt().copysign(head);
        let factor = 1.0 / (head - beta);
        v[1..].iter_mut().for_each(|v| *v *= factor);
        x.fill(0.0);
        x[0] = beta;
        (beta - head) / beta
    }

    /// D ← HDH, H = I − τvvᵀ, for the diagonal block D of these rows.
    #[inline(always)]
    fn diagonal_block<I: Isa>(&mut self, (first, count): Rows, tau: f64) {
        let (v, w) = (&self.v[..count], &mut self.w[..count]);
        w.fill(0.0);
        for c in 0..count {
            let column = &self.entries[(first + c) * self.stride + first..][..count];
            w[c] += inner::<I>(&column[c..], &v[c..]);
            let below = column[c + 1..].iter().zip(&mut w[c + 1..]);
            below.for_each(|(d, w)| *w = mul_add::<I>(*d, v[c], *w));
        }
        let along = -0.5 * tau * tau * inner::<I>(w, v);
        w.iter_mut().zip(v).for_each(|(w, v)| *w = mul_add::<I>(tau, *w, along * v));
        for c in 0..count {
            let column = &mut self.entries[(first + c) * self.stride + first..][c..count];
            let (vc, wc) = (v[c], w[c]);
            for ((d, w), v) in column.iter_mut().zip(&w[c..]).zip(&v[c..]) {
                *d = mul_add::<I>(-*w, vc, mul_add::<I>(-*v, wc, *d));
            }
        }
    }

    /// B ← BH for the block B of the rows below, then the reflection that makes its first column zero
    /// but for its first entry, applied to B from the left; returns the new τ.
    #[inline(always)]
    fn block_below<I: Isa>(&mut self, (first, count): Rows, below: Rows, tau: f64) -> f64 {
        let u = &mut self.w[..below.1];
        u.fill(0.0);
        for c in 0..count {
            let column = &self.entries[(first + c) * self.stride + below.0..][..below.1];
            let factor = tau * self.v[c];
            u.iter_mut().zip(column).for_each(|(u, b)| *u = mul_add::<I>(*b, factor, *u));
        }
        for c in 0..count {
            let column = &mut self.entries[(first + c) * self.stride + below.0..][..below.1];
            let factor = -self.v[c];
            column.iter_mut().zip(&*u).for_each(|(b, u)| *b = mul_add::<I>(*u, factor, *b));
        }
        let tau = self.reflect::<I>(first, below);
        let v = &self.v[..below.1];
        for c in 1..count {
            let column = &mut self.entries[(first + c) * self.stride + below.0..][..below.1];
            let along = -tau * inner::<I>(v, column);
            column.iter_mut().zip(v).for_each(|(b, v)| *b = mul_add::<I>(*v, along, *b));
        }
        tau
    }
}

#[inline(always)]
fn inner<I: Isa>(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for l in 0..LANES {
            sums[l] = mul_add::<I>(a[l], b[l], sums[l]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    rest + sums.iter().sum::<f64>()
}
