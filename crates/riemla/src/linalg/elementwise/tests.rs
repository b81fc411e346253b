//! Errors in units of the last place against libm, special values, and the portable twin.

use super::*;
use crate::linalg::simd::{avx2, has_avx2, portable};

type Slices = fn(&[f64], &mut [f64]);
type InPlace = fn(&mut [f64]);
type Scalar = fn(f64) -> f64;

/// Distance in representable numbers; 0 if both are NaN.
fn ulps(a: f64, b: f64) -> u64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u64::MAX };
    }
    let ordered = |v: f64| {
        let bits = v.to_bits() as i64;
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

/// A dense grid, every binary order of magnitude with both signs, and the edges of f64.
fn points() -> Vec<f64> {
    let mut points: Vec<f64> = (-400_000..=400_000).map(|i| i as f64 * 0.002).collect();
    points.extend((-200_000..=200_000).map(|i| i as f64 * 1.234567e-4));
    let mut state = 1_u64;
    for exponent in 0..2047_u64 {
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let magnitude = f64::from_bits((exponent << 52) | (state >> 12));
            points.extend([magnitude, -magnitude]);
        }
    }
    let edges = [0.0, f64::MIN_POSITIVE, 5e-324, 709.782712893384, 709.7827128933841, 745.13321910194];
    let more = [745.2, 708.3964185322641, f64::MAX, f64::INFINITY, f64::NAN, 19.06, 22.0, 1e-9];
    points.extend(edges.iter().chain(&more).flat_map(|v| [*v, -*v]));
    points
}

fn worst(ours: Slices, truth: Scalar) -> (u64, f64) {
    let x = points();
    let mut y = vec![0.0; x.len()];
    ours(&x, &mut y);
    x.iter().zip(&y).map(|(x, y)| (ulps(*y, truth(*x)), *x)).max_by_key(|w| w.0).unwrap()
}

fn sigmoid_reference(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

#[test]
fn errors_stay_below_four_ulps() {
    let cases: [(&str, Slices, Slices, Scalar); 3] = [
        ("exp", exp, |x, y| portable(Exp(x, y)), libm::exp),
        ("tanh", tanh, |x, y| portable(Tanh(x, y)), libm::tanh),
        ("sigmoid", sigmoid, |x, y| portable(Sigmoid(x, y)), sigmoid_reference),
    ];
    for (name, ours, twin, truth) in cases {
        for (version, f) in [("dispatched", ours), ("portable", twin)] {
            let (error, at) = worst(f, truth);
            println!("{name}, {version}: {error} ulp at {at:e}");
            assert!(error <= 4, "{name}, {version}: {error} ulp at {at:e}");
        }
    }
}

#[test]
fn portable_twin_agrees() {
    let x = points();
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let pairs: [(Slices, Slices); 3] = [
        (exp, |x, y| portable(Exp(x, y))),
        (tanh, |x, y| portable(Tanh(x, y))),
        (sigmoid, |x, y| portable(Sigmoid(x, y))),
    ];
    for (fast, twin) in pairs {
        fast(&x, &mut a);
        twin(&x, &mut b);
        assert!(a.iter().zip(&b).all(|(a, b)| ulps(*a, *b) <= 4));
    }
}

/// Vectors of 4 and of 8 numbers do the same operations.
#[test]
fn avx2_gives_the_same_bits() {
    if !has_avx2() {
        return;
    }
    let x = points();
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let pairs: [(Slices, Slices); 3] = [
        (exp, |x, y| avx2(Exp(x, y))),
        (tanh, |x, y| avx2(Tanh(x, y))),
        (sigmoid, |x, y| avx2(Sigmoid(x, y))),
    ];
    for (dispatched, narrow) in pairs {
        dispatched(&x, &mut a);
        narrow(&x, &mut b);
        assert!(a.iter().zip(&b).all(|(a, b)| ulps(*a, *b) == 0));
    }
}

#[test]
fn special_values() {
    let x = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e3, -1e3, 5e-324];
    let bits = |y: &[f64]| y.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let check = |f: Slices, expected: [f64; 8]| {
        let mut y = [0.0; 8];
        f(&x, &mut y);
        assert!(y[4].is_nan());
        y[4] = 0.0;
        assert_eq!(bits(&y), bits(&expected), "{y:?}");
    };
    check(exp, [1.0, 1.0, f64::INFINITY, 0.0, 0.0, f64::INFINITY, 0.0, 1.0]);
    check(tanh, [0.0, -0.0, 1.0, -1.0, 0.0, 1.0, -1.0, 5e-324]);
    check(sigmoid, [0.5, 0.5, 1.0, 0.0, 0.0, 1.0, 0.0, 0.5]);
}

#[test]
fn in_place_is_the_same_function() {
    let x: Vec<f64> = (0..37).map(|i| 0.3 * i as f64 - 5.0).collect();
    let pairs: [(Slices, InPlace); 3] =
        [(exp, exp_in_place), (tanh, tanh_in_place), (sigmoid, sigmoid_in_place)];
    for (to, in_place) in pairs {
        let (mut a, mut b) = (vec![0.0; x.len()], x.clone());
        to(&x, &mut a);
        in_place(&mut b);
        assert_eq!(a, b);
    }
}

#[test]
fn softmax_agrees_with_its_definition() {
    for (n, classes) in [(1, 1), (3, 2), (64, 10), (65, 3), (131, 4)] {
        let logits: Vec<f64> = (0..n * classes).map(|i| 900.0 * (0.7 * i as f64).sin()).collect();
        let (mut p, mut z) = (vec![9.0; n * classes], vec![9.0; n]);
        softmax_rows(&logits, n, classes, &mut p, &mut z);
        for i in 0..n {
            let column = || (0..classes).map(|c| logits[c * n + i]);
            let largest = column().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = column().map(|v| (v - largest).exp()).sum();
            assert!((z[i] - largest - sum.ln()).abs() <= 1e-12);
            for (c, v) in column().enumerate() {
                assert!(ulps(p[c * n + i], (v - largest).exp() / sum) <= 8);
            }
        }
    }
}

#[test]
fn softmax_of_logits_that_are_not_finite() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    // Samples: finite with one −∞; NaN first; NaN last; +∞; nothing but −∞.
    let logits = [1.0, nan, 0.0, inf, -inf, -inf, 0.0, nan, 0.0, -inf];
    let (mut p, mut z) = ([0.0; 10], [0.0; 5]);
    softmax_rows(&logits, 5, 2, &mut p, &mut z);
    assert_eq!((p[0], p[5], z[0]), (1.0, 0.0, 1.0));
    for i in 1..5 {
        assert!(p[i].is_nan() && p[5 + i].is_nan() && z[i].is_nan(), "sample {i}");
    }
    softmax_rows(&[], 0, 2, &mut [], &mut []);
}
