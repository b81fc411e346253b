//! Products of a symmetric matrix with one vector: every step of a geodesic in the default metric makes one.
//!
//! Each entry below the diagonal is read once and serves both halves; four columns at a time, so that the vectors are read
//! once for four columns. Half the memory of a product with the whole matrix, and a third of the time of two triangular
//! solves (docs/decisions/0024-one-gradient-per-step.md).

use super::simd::{Isa, Kernel, dispatch, mul_add};

/// Columns that are worked on together.
const WIDTH: usize = 4;
/// Rows that are worked on together.
const LANES: usize = 8;

/// out ← Ax for a symmetric A of which `column(j)` is column j; nothing above the diagonal is read.
pub fn symmetric_product<'a>(column: impl Fn(usize) -> &'a [f64], x: &[f64], out: &mut [f64]) {
    assert_eq!(x.len(), out.len(), "symmetric_product: lengths");
    dispatch(Product(column, x, out));
}

struct Product<'b, F>(F, &'b [f64], &'b mut [f64]);

impl<'a, F: Fn(usize) -> &'a [f64]> Kernel for Product<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (column, x, out) = (self.0, self.1, self.2);
        let dim = x.len();
        out.fill(0.0);
        for start in (0..dim).step_by(WIDTH) {
            let end = (start + WIDTH).min(dim);
            for j in start..end {
                let entries = &column(j)[j..end];
                out[j] += entries[0] * x[j];
                for (i, entry) in (j + 1..end).zip(&entries[1..]) {
                    out[i] += entry * x[j];
                    out[j] += entry * x[i];
                }
            }
            if end < dim {
                let (done, rest) = out.split_at_mut(end);
                let below = std::array::from_fn(|k| &column(start + k)[end..dim]);
                let factors = std::array::from_fn(|k| x[start + k]);
                let sums = both_halves::<I>(below, factors, &x[end..], rest);
                done[start..].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

/// out ← out + Σ factorₖ·columnₖ; returns the inner products of the columns with `x`.
#[inline(always)]
fn both_halves<I: Isa>(
    columns: [&[f64]; WIDTH],
    factors: [f64; WIDTH],
    x: &[f64],
    out: &mut [f64],
) -> [f64; WIDTH] {
    let mut sums = [[0.0; LANES]; WIDTH];
    let [c0, c1, c2, c3] = columns.map(|column| column.as_chunks::<LANES>().0);
    let (x_chunks, x_rest) = x.as_chunks::<LANES>();
    let (out_chunks, out_rest) = out.as_chunks_mut::<LANES>();
    for (((((x, out), c0), c1), c2), c3) in x_chunks.iter().zip(out_chunks).zip(c0).zip(c1).zip(c2).zip(c3) {
        for lane in 0..LANES {
            let pair = mul_add::<I>(c2[lane], factors[2], mul_add::<I>(c3[lane], factors[3], out[lane]));
            out[lane] = mul_add::<I>(c0[lane], factors[0], mul_add::<I>(c1[lane], factors[1], pair));
            sums[0][lane] = mul_add::<I>(c0[lane], x[lane], sums[0][lane]);
            sums[1][lane] = mul_add::<I>(c1[lane], x[lane], sums[1][lane]);
            sums[2][lane] = mul_add::<I>(c2[lane], x[lane], sums[2][lane]);
            sums[3][lane] = mul_add::<I>(c3[lane], x[lane], sums[3][lane]);
        }
    }
    let first = x_chunks.len() * LANES;
    std::array::from_fn(|k| {
        let tail = &columns[k][first..];
        out_rest.iter_mut().zip(tail).for_each(|(out, entry)| *out += entry * factors[k]);
        sums[k].iter().sum::<f64>() + tail.iter().zip(x_rest).map(|(entry, x)| entry * x).sum::<f64>()
    })
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
        for dim in [0, 1, 3, 4, 5, 8, 12, 13, 17, 31, 50] {
            let a = matrix(dim);
            let column = |j: usize| &a[j][..];
            let x: Vec<f64> = (0..dim).map(|i| (i as f64 * 1.3).sin() + 0.2).collect();
            let (mut fast, mut plain) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
            symmetric_product(column, &x, &mut fast);
            portable(Product(column, &x, &mut plain));
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
