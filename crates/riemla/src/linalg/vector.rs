//! Vector arithmetic on slices, with a fixed order of summation.

use super::simd::{Isa, Kernel, dispatch, mul_add};

struct Dot<'a>(&'a [f64], &'a [f64]);

impl Kernel for Dot<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let (a, b) = (self.0, self.1);
        let mut acc = [0.0; 16];
        let (a_chunks, a_rest) = a.as_chunks::<16>();
        let (b_chunks, b_rest) = b.as_chunks::<16>();
        for (x, y) in a_chunks.iter().zip(b_chunks) {
            for j in 0..16 {
                acc[j] = mul_add::<I>(x[j], y[j], acc[j]);
            }
        }
        let mut sum = 0.0;
        for width in [8, 4, 2, 1] {
            for j in 0..width {
                acc[j] += acc[j + width];
            }
        }
        for (x, y) in a_rest.iter().zip(b_rest) {
            sum += x * y;
        }
        sum + acc[0]
    }
}

/// Inner product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "dot: lengths differ");
    dispatch(Dot(a, b))
}

/// Euclidean norm.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

struct Axpy<'a>(f64, &'a [f64], &'a mut [f64]);

impl Kernel for Axpy<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for (y, x) in self.2.iter_mut().zip(self.1) {
            *y = mul_add::<I>(self.0, *x, *y);
        }
    }
}

/// y ← y + a·x.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    assert_eq!(x.len(), y.len(), "axpy: lengths differ");
    dispatch(Axpy(a, x, y));
}

/// y ← a·y.
pub fn scale(a: f64, y: &mut [f64]) {
    for v in y {
        *v *= a;
    }
}

/// Euclidean distance of two points.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "distance: lengths differ");
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

struct Sum<'a>(&'a [f64]);

impl Kernel for Sum<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let mut acc = [0.0; 16];
        let (chunks, rest) = self.0.as_chunks::<16>();
        for x in chunks {
            for j in 0..16 {
                acc[j] += x[j];
            }
        }
        acc.iter().sum::<f64>() + rest.iter().sum::<f64>()
    }
}

/// Sum of all entries.
pub fn sum(a: &[f64]) -> f64 {
    dispatch(Sum(a))
}
