//! Triangular systems with one right-hand side: every step of a geodesic in the default metric solves two.
//!
//! Four columns at a time, so that the right-hand side is read once for four columns of the matrix. Half the
//! time of faer's solvers, which are made for many right-hand sides, and as fast as a product with a stored
//! inverse would be, without its memory (docs/decisions/0024-one-gradient-per-step.md).

use super::simd::{Isa, Kernel, dispatch, mul_add};

/// Columns that are worked on together.
const WIDTH: usize = 4;

/// b ← L⁻¹b for a lower triangular L of which `column(j)` is column j; nothing above the diagonal is read.
pub fn solve_lower<'a>(column: impl Fn(usize) -> &'a [f64], b: &mut [f64]) {
    dispatch(Forward(column, b));
}

/// b ← L⁻ᵀb for the same L.
pub fn solve_lower_transpose<'a>(column: impl Fn(usize) -> &'a [f64], b: &mut [f64]) {
    dispatch(Backward(column, b));
}

struct Forward<'b, F>(F, &'b mut [f64]);

impl<'a, F: Fn(usize) -> &'a [f64]> Kernel for Forward<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (column, b) = (self.0, self.1);
        let dim = b.len();
        for start in (0..dim).step_by(WIDTH) {
            let end = (start + WIDTH).min(dim);
            for j in start..end {
                let entries = &column(j)[j..end];
                b[j] /= entries[0];
                let x = b[j];
                b[j + 1..end].iter_mut().zip(&entries[1..]).for_each(|(b, entry)| *b -= entry * x);
            }
            if end < dim {
                let (solved, rest) = b.split_at_mut(end);
                let x: [f64; WIDTH] = std::array::from_fn(|k| -solved[start + k]);
                let [c0, c1, c2, c3] = std::array::from_fn(|k| &column(start + k)[end..dim]);
                for ((((b, c0), c1), c2), c3) in rest.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                    let pair = mul_add::<I>(*c2, x[2], mul_add::<I>(*c3, x[3], *b));
                    *b = mul_add::<I>(*c0, x[0], mul_add::<I>(*c1, x[1], pair));
                }
            }
        }
    }
}

struct Backward<'b, F>(F, &'b mut [f64]);

impl<'a, F: Fn(usize) -> &'a [f64]> Kernel for Backward<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (column, b) = (self.0, self.1);
        let dim = b.len();
        for start in (0..dim).step_by(WIDTH).rev() {
            let end = (start + WIDTH).min(dim);
            if end < dim {
                let below = std::array::from_fn(|k| &column(start + k)[end..dim]);
                let sums = products::<I>(below, &b[end..]);
                b[start..end].iter_mut().zip(sums).for_each(|(b, sum)| *b -= sum);
            }
            for j in (start..end).rev() {
                let entries = &column(j)[j..end];
                let known: f64 = entries[1..].iter().zip(&b[j + 1..end]).map(|(entry, x)| entry * x).sum();
                b[j] = (b[j] - known) / entries[0];
            }
        }
    }
}

/// Inner products of four columns with `x`.
#[inline(always)]
fn products<I: Isa>(columns: [&[f64]; WIDTH], x: &[f64]) -> [f64; WIDTH] {
    const LANES: usize = 8;
    let mut sums = [[0.0; LANES]; WIDTH];
    let [c0, c1, c2, c3] = columns.map(|column| column.as_chunks::<LANES>().0);
    let (chunks, rest) = x.as_chunks::<LANES>();
    for ((((x, c0), c1), c2), c3) in chunks.iter().zip(c0).zip(c1).zip(c2).zip(c3) {
        for lane in 0..LANES {
            sums[0][lane] = mul_add::<I>(c0[lane], x[lane], sums[0][lane]);
            sums[1][lane] = mul_add::<I>(c1[lane], x[lane], sums[1][lane]);
            sums[2][lane] = mul_add::<I>(c2[lane], x[lane], sums[2][lane]);
            sums[3][lane] = mul_add::<I>(c3[lane], x[lane], sums[3][lane]);
        }
    }
    std::array::from_fn(|k| {
        let tail = &columns[k][chunks.len() * LANES..];
        sums[k].iter().sum::<f64>() + tail.iter().zip(rest).map(|(c, x)| c * x).sum::<f64>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::portable;

    /// Columns of L, NaN wherever nothing may be read.
    fn matrix(dim: usize) -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| match i.cmp(&j) {
            std::cmp::Ordering::Equal => 2.0 + (i as f64).sin(),
            std::cmp::Ordering::Greater if i < dim => ((i * dim + j) as f64 * 0.7).cos() / 3.0,
            _ => f64::NAN,
        };
        (0..dim).map(|j| (0..dim + 3).map(|i| entry(i, j)).collect()).collect()
    }

    #[test]
    fn solutions_multiply_back() {
        for dim in [0, 1, 3, 4, 5, 8, 17, 31, 50] {
            let l = matrix(dim);
            let column = |j: usize| &l[j][..];
            let b: Vec<f64> = (0..dim).map(|i| (i as f64 * 1.3).sin() + 0.2).collect();
            let (mut x, mut y) = (b.clone(), b.clone());
            solve_lower(column, &mut x);
            solve_lower_transpose(column, &mut y);
            let size = x.iter().chain(&y).fold(1.0, |size: f64, v| size.max(v.abs()));
            for i in 0..dim {
                let forward: f64 = (0..=i).map(|j| l[j][i] * x[j]).sum();
                let backward: f64 = (i..dim).map(|k| l[i][k] * y[k]).sum();
                assert!((forward - b[i]).abs() < 1e-12 * size, "{dim}, row {i}: {forward} for {}", b[i]);
                assert!((backward - b[i]).abs() < 1e-12 * size, "{dim}, column {i}: {backward} for {}", b[i]);
            }
            let (mut plain_x, mut plain_y) = (b.clone(), b.clone());
            portable(Forward(column, &mut plain_x));
            portable(Backward(column, &mut plain_y));
            for (fast, plain) in x.iter().chain(&y).zip(plain_x.iter().chain(&plain_y)) {
                assert!((fast - plain).abs() <= 1e-12 * size, "{dim}: {fast} for {plain}");
            }
        }
    }
}
