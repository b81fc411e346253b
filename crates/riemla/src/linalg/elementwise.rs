//! Exponential, tanh, logistic sigmoid and softmax of whole slices, vectorised by the compiler.
//!
//! Small networks spend more time in the standard library's scalar `tanh` than in products. The
//! functions here have no branches and no tables, so a plain loop over them becomes vector code.
//! Largest error: 4 units in the last place, also for results near 0 and for subnormal ones.

use super::simd::{Isa, Kernel, dispatch, mul_add};

/// 1.5·2⁵²: adding it rounds to an integer, which then sits in the low bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts; the first has 21 trailing zero bits, so that its multiples are exact.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
/// (eʳ − 1 − r)/r² on |r| ≤ 1.0005·ln(2)/2, interpolated at Chebyshev nodes; eʳ errs by 1.6e-17.
const POLYNOMIAL: [f64; 10] = [
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662399,
    0.008333333333330051,
    0.0013888888917281794,
    0.00019841269863105968,
    2.480152119021773e-5,
    2.7557268378684192e-6,
    2.7620138719733994e-7,
    2.5100424157005067e-8,
];

/// Writes x = k·ln 2 + r with |r| ≤ ln(2)/2 and returns (eʳ − 1, bits of k + `ROUND`).
#[inline(always)]
fn reduced_expm1<I: Isa>(x: f64) -> (f64, u64) {
    let shifted = mul_add::<I>(x, std::f64::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = mul_add::<I>(k, -LN2_LOW, mul_add::<I>(k, -LN2_HIGH, x));
    // Pairs of terms at a time (Estrin): half the dependent steps of Horner's rule.
    let c = &POLYNOMIAL;
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = mul_add::<I>(mul_add::<I>(c[3], r, c[2]), r2, mul_add::<I>(c[1], r, c[0]));
    let middle = mul_add::<I>(mul_add::<I>(c[7], r, c[6]), r2, mul_add::<I>(c[5], r, c[4]));
    let high = mul_add::<I>(c[9], r, c[8]);
    let q = mul_add::<I>(mul_add::<I>(high, r4, middle), r4, low);
    (mul_add::<I>(r2, q, r), shifted.to_bits())
}

/// eˣ. A NaN stays one, whatever the integer part of the computation makes of its bits.
#[inline(always)]
fn exp_one<I: Isa>(x: f64) -> f64 {
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let (p, bits) = reduced_expm1::<I>(x);
    // 2ᵏ in two factors: k reaches from −1076 to 1024, further than one exponent field.
    let k_plus_2048 = bits.wrapping_sub(ROUND.to_bits()).wrapping_add(2048);
    let half = k_plus_2048 >> 1;
    let rest = k_plus_2048.wrapping_sub(half);
    let power = |biased: u64| f64::from_bits(biased.wrapping_sub(1) << 52);
    (p + 1.0) * power(half) * power(rest)
}

/// tanh x = e/(e + 2) with e = exp(2|x|) − 1, sign from x; 1 beyond |x| = 20.
#[inline(always)]
fn tanh_one<I: Isa>(x: f64) -> f64 {
    let a = x.abs();
    let a = if a > 20.0 { 20.0 } else { a };
    let (p, bits) = reduced_expm1::<I>(a + a);
    let power = f64::from_bits(bits.wrapping_sub(ROUND.to_bits()).wrapping_add(1023) << 52);
    let e = mul_add::<I>(power, p, power - 1.0);
    (e / (e + 2.0)).copysign(x)
}

/// 1/(1 + e⁻ˣ), by the exponential of −|x| so that nothing overflows or cancels.
#[inline(always)]
fn sigmoid_one<I: Isa>(x: f64) -> f64 {
    let e = exp_one::<I>(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

macro_rules! elementwise {
    ($(#[$doc:meta])* $name:ident, $(#[$doc_in_place:meta])* $in_place:ident, $kernel:ident, $kernel_in_place:ident, $one:ident) => {
        struct $kernel<'a>(&'a [f64], &'a mut [f64]);

        impl Kernel for $kernel<'_> {
            type Output = ();
            #[inline(always)]
            fn run<I: Isa>(self) {
                for (y, x) in self.1.iter_mut().zip(self.0) {
                    *y = $one::<I>(*x);
                }
            }
        }

        struct $kernel_in_place<'a>(&'a mut [f64]);

        impl Kernel for $kernel_in_place<'_> {
            type Output = ();
            #[inline(always)]
            fn run<I: Isa>(self) {
                for y in self.0 {
                    *y = $one::<I>(*y);
                }
            }
        }

        $(#[$doc])*
        pub fn $name(x: &[f64], y: &mut [f64]) {
            assert_eq!(x.len(), y.len(), concat!(stringify!($name), ": lengths differ"));
            dispatch($kernel(x, y));
        }

        $(#[$doc_in_place])*
        pub fn $in_place(y: &mut [f64]) {
            dispatch($kernel_in_place(y));
        }
    };
}

elementwise!(
    /// yᵢ = exp(xᵢ): 0 and ∞ beyond the range of f64, NaN for NaN.
    ///
    /// # Panics
    /// If the lengths differ.
    exp,
    /// yᵢ ← exp(yᵢ).
    exp_in_place, Exp, ExpInPlace, exp_one
);
elementwise!(
    /// yᵢ = tanh(xᵢ): ±1 at ±∞, −0 for −0, NaN for NaN.
    ///
    /// # Panics
    /// If the lengths differ.
    tanh,
    /// yᵢ ← tanh(yᵢ).
    tanh_in_place, Tanh, TanhInPlace, tanh_one
);
elementwise!(
    /// yᵢ = 1/(1 + exp(−xᵢ)), accurate in both tails.
    ///
    /// # Panics
    /// If the lengths differ.
    sigmoid,
    /// yᵢ ← 1/(1 + exp(−yᵢ)).
    sigmoid_in_place, Sigmoid, SigmoidInPlace, sigmoid_one
);

struct Softmax<'a> {
    logits: &'a [f64],
    n: usize,
    probabilities: &'a mut [f64],
    log_normalizer: &'a mut [f64],
}

/// Samples treated together, so that their sums stay in the first-level cache.
const BLOCK: usize = 64;

impl Kernel for Softmax<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.n;
        for start in (0..n).step_by(BLOCK) {
            let width = BLOCK.min(n - start);
            let normalizer = &mut self.log_normalizer[start..start + width];
            let mut largest = [f64::NEG_INFINITY; BLOCK];
            let largest = &mut largest[..width];
            for logits in self.logits.chunks_exact(n) {
                for (m, z) in largest.iter_mut().zip(&logits[start..start + width]) {
                    *m = if *z > *m { *z } else { *m };
                }
            }
            let mut sum = [0.0; BLOCK];
            let sum = &mut sum[..width];
            for (logits, p) in self.logits.chunks_exact(n).zip(self.probabilities.chunks_exact_mut(n)) {
                let (logits, p) = (&logits[start..start + width], &mut p[start..start + width]);
                for i in 0..width {
                    p[i] = exp_one::<I>(logits[i] - largest[i]);
                    sum[i] += p[i];
                }
            }
            for p in self.probabilities.chunks_exact_mut(n) {
                for (p, s) in p[start..start + width].iter_mut().zip(sum.iter()) {
                    *p /= *s;
                }
            }
            for ((z, m), s) in normalizer.iter_mut().zip(largest.iter()).zip(sum.iter()) {
                *z = m + s.ln();
            }
        }
    }
}

/// Softmax over classes of `n` samples, samples contiguous: class c is `logits[c*n..(c+1)*n]`.
///
/// Writes `probabilities` (classes × n, the same layout) and `log_normalizer` (n numbers),
/// log Σ_c exp(logit_c). A sample with a NaN or +∞ logit, or with nothing but −∞, gives NaN.
///
/// # Panics
/// If `logits` and `probabilities` are not n·classes long, or `log_normalizer` not n.
pub fn softmax_rows(
    logits: &[f64],
    n: usize,
    classes: usize,
    probabilities: &mut [f64],
    log_normalizer: &mut [f64],
) {
    assert_eq!(logits.len(), n * classes, "softmax_rows: length of logits");
    assert_eq!(probabilities.len(), n * classes, "softmax_rows: length of probabilities");
    assert_eq!(log_normalizer.len(), n, "softmax_rows: length of log_normalizer");
    if n > 0 {
        dispatch(Softmax { logits, n, probabilities, log_normalizer });
    }
}

#[cfg(test)]
mod tests;
