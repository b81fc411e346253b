//! The loops against the definition, and the adjoint identities.

use super::*;
use crate::linalg::simd::{avx2, has_avx2, portable};
use crate::linalg::vector::dot;
use proptest::prelude::*;

fn noise(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Calls `visit(weight, input, output)` with the indices (without samples) of every product.
fn for_each_product(g: &Geometry, mut visit: impl FnMut(usize, usize, usize)) {
    let (out_h, out_w) = g.output_size();
    let (kh, kw) = g.kernel;
    for o in 0..g.out_channels {
        for c in 0..g.in_channels {
            for (r, q) in (0..out_h).flat_map(|r| (0..out_w).map(move |q| (r, q))) {
                for (i, j) in (0..kh).flat_map(|i| (0..kw).map(move |j| (i, j))) {
                    let row = r * g.stride.0 + i * g.dilation.0;
                    let column = q * g.stride.1 + j * g.dilation.1;
                    let inside = |v: usize, p: usize, size: usize| v >= p && v < size + p;
                    if inside(row, g.padding.0, g.height) && inside(column, g.padding.1, g.width) {
                        let (row, column) = (row - g.padding.0, column - g.padding.1);
                        visit(
                            ((o * g.in_channels + c) * kh + i) * kw + j,
                            (c * g.height + row) * g.width + column,
                            (o * out_h + r) * out_w + q,
                        );
                    }
                }
            }
        }
    }
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-11 * (1.0 + b.abs()))
}

fn geometries() -> impl Strategy<Value = (Geometry, usize)> {
    let channels = (1..=9_usize, 1..=9_usize);
    let shape = ((1..=5_usize, 1..=5_usize), (1..=3_usize, 1..=3_usize), (0..=3_usize, 0..=3_usize));
    let n = prop_oneof![0..=9_usize, Just(16), Just(19), Just(33)];
    let dilation = prop_oneof![Just((1, 1)), (1..=3_usize, 1..=3_usize)];
    (channels, (0..=6_usize, 0..=6_usize), shape, dilation, n).prop_map(
        |(channels, more, shape, dilation, n)| {
            let (kernel, stride, padding) = shape;
            let (in_channels, out_channels) = channels;
            let size = |kernel: usize, padding: usize, dilation: usize, more| {
                ((kernel - 1) * dilation + 1).saturating_sub(2 * padding).max(1) + more
            };
            let height = size(kernel.0, padding.0, dilation.0, more.0);
            let width = size(kernel.1, padding.1, dilation.1, more.1);
            (Geometry { in_channels, out_channels, height, width, kernel, stride, padding, dilation }, n)
        },
    )
}

/// One problem with random numbers and everything computed by the definition.
struct Case {
    x: Vec<f64>,
    w: Vec<f64>,
    y_bar: Vec<f64>,
    y: Vec<f64>,
    x_bar: Vec<f64>,
    w_bar: Vec<f64>,
    per_sample: Vec<f64>,
}

impl Case {
    fn new(g: &Geometry, n: usize) -> Self {
        let (x, w) = (noise(n * g.input_len(), 1), noise(g.weight_len(), 2));
        let y_bar = noise(n * g.output_len(), 3);
        let (mut y, mut x_bar) = (vec![0.0; y_bar.len()], vec![0.0; x.len()]);
        let (mut w_bar, mut per_sample) = (vec![0.0; w.len()], vec![0.0; n * w.len()]);
        for_each_product(g, |k, from, to| {
            for i in 0..n {
                y[to * n + i] += w[k] * x[from * n + i];
                x_bar[from * n + i] += w[k] * y_bar[to * n + i];
                w_bar[k] += x[from * n + i] * y_bar[to * n + i];
                per_sample[k * n + i] += x[from * n + i] * y_bar[to * n + i];
            }
        });
        Self { x, w, y_bar, y, x_bar, w_bar, per_sample }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn agrees_with_the_definition((g, n) in geometries()) {
        let case = Case::new(&g, n);
        let mut scratch = Scratch::default();
        // All but the last accumulate: start from 0 and call twice.
        let (mut y, mut x_bar) = (vec![0.0; case.y.len()], vec![0.0; case.x.len()]);
        let (mut w_bar, mut per_sample) = (vec![0.0; case.w.len()], vec![9.0; case.per_sample.len()]);
        for times in [1.0, 2.0] {
            let scaled = |v: &[f64]| v.iter().map(|v| times * v).collect::<Vec<_>>();
            correlate(&g, n, &case.x, &case.w, Start::Output, &mut y, &mut scratch);
            correlate_input_gradient(&g, n, &case.w, &case.y_bar, Start::Output, &mut x_bar, &mut scratch);
            correlate_weight_gradient(&g, n, &case.x, &case.y_bar, &mut w_bar, &mut scratch);
            correlate_weight_gradient_per_sample(&g, n, &case.x, &case.y_bar, &mut per_sample, &mut scratch);
            prop_assert!(close(&y, &scaled(&case.y)), "output");
            prop_assert!(close(&x_bar, &scaled(&case.x_bar)), "input gradient");
            prop_assert!(close(&w_bar, &scaled(&case.w_bar)), "weight gradient");
            prop_assert!(close(&per_sample, &case.per_sample), "weight gradient per sample");
        }
        // From constants: what was in the output does not matter.
        y.fill(9.0);
        x_bar.fill(9.0);
        let (bias, plane) = (noise(g.out_channels, 4), (n * g.output_len() / g.out_channels).max(1));
        let (constants, none) = (Start::Constants(&bias), Start::Constants(&[]));
        correlate(&g, n, &case.x, &case.w, constants, &mut y, &mut scratch);
        correlate_input_gradient(&g, n, &case.w, &case.y_bar, none, &mut x_bar, &mut scratch);
        let shifted: Vec<f64> = case.y.iter().enumerate().map(|(k, y)| y + bias[k / plane]).collect();
        prop_assert!(close(&y, &shifted), "output from constants");
        prop_assert!(close(&x_bar, &case.x_bar), "input gradient from 0");
    }

    #[test]
    fn gradients_are_adjoint((g, n) in geometries()) {
        let Case { x, w, y_bar, .. } = Case::new(&g, n);
        let mut scratch = Scratch::default();
        let (mut y, mut x_bar, mut w_bar) = (vec![0.0; y_bar.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
        correlate(&g, n, &x, &w, Start::Output, &mut y, &mut scratch);
        correlate_input_gradient(&g, n, &w, &y_bar, Start::Output, &mut x_bar, &mut scratch);
        correlate_weight_gradient(&g, n, &x, &y_bar, &mut w_bar, &mut scratch);
        let expected = dot(&y_bar, &y);
        let tolerance = 1e-12 * (1.0 + dot(&y, &y).sqrt() * dot(&y_bar, &y_bar).sqrt());
        prop_assert!((dot(&x_bar, &x) - expected).abs() <= tolerance, "input");
        prop_assert!((dot(&w_bar, &w) - expected).abs() <= tolerance, "weights");
    }
}

#[test]
fn portable_twin_agrees() {
    let g = Geometry {
        in_channels: 3,
        out_channels: 7,
        height: 9,
        width: 8,
        kernel: (5, 3),
        stride: (1, 1),
        padding: (2, 0),
        dilation: (1, 1),
    };
    let n = 10;
    let case = Case::new(&g, n);
    let (plan, mut scratch) = (Plan::forward(&g, n), Scratch::default());
    plan.fill(&mut scratch);
    plan.pack(&mut scratch.packed, |o, c, tap| case.w[(o * 3 + c) * 15 + tap]);
    let (plan, scratch, x, y_bar) = (&plan, &scratch, &case.x, &case.y_bar);
    let none = Start::Constants(&[]);
    type Version<'a> = Box<dyn FnMut(&mut [f64], &mut [f64]) + 'a>;
    let check = |mut version: Version<'_>| {
        let (mut y, mut lanes) = (vec![0.0; case.y.len()], vec![0.0; LANES * case.w.len()]);
        version(&mut y, &mut lanes);
        let w_bar: Vec<f64> = lanes.chunks(LANES).map(|lanes| lanes.iter().sum()).collect();
        assert!(close(&y, &case.y) && close(&w_bar, &case.w_bar));
        (y, w_bar)
    };
    check(Box::new(|y, lanes| {
        portable(output::Accumulate::new(plan, scratch, x, none, y));
        portable(gradient::Summed::new(plan, scratch, x, y_bar, lanes));
    }));
    let dispatched = check(Box::new(|y, lanes| {
        dispatch(output::Accumulate::new(plan, scratch, x, none, y));
        dispatch(gradient::Summed::new(plan, scratch, x, y_bar, lanes));
    }));
    if has_avx2() {
        // Outputs have the same bits with vectors of 4 and of 8.
        let narrow = check(Box::new(|y, lanes| {
            avx2(output::Accumulate::new(plan, scratch, x, none, y));
            avx2(gradient::Summed::new(plan, scratch, x, y_bar, lanes));
        }));
        assert!(narrow.0 == dispatched.0);
    }
}

#[test]
fn kernel_larger_than_input_gives_no_output() {
    let g = Geometry {
        in_channels: 1,
        out_channels: 1,
        height: 2,
        width: 9,
        kernel: (3, 3),
        stride: (1, 2),
        padding: (0, 0),
        dilation: (1, 1),
    };
    assert_eq!(g.output_size(), (0, 4));
    let mut scratch = Scratch::default();
    let mut x_bar = vec![0.0; 18];
    correlate(&g, 1, &[1.0; 18], &[1.0; 9], Start::Output, &mut [], &mut scratch);
    correlate_input_gradient(&g, 1, &[1.0; 9], &[], Start::Output, &mut x_bar, &mut scratch);
    assert_eq!(x_bar, [0.0; 18]);
}

/// <https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html>: no flip of the kernel.
#[test]
fn orientation_is_that_of_pytorch() {
    let g = Geometry {
        in_channels: 1,
        out_channels: 1,
        height: 2,
        width: 3,
        kernel: (2, 2),
        stride: (1, 1),
        padding: (0, 0),
        dilation: (1, 1),
    };
    let mut y = [0.0; 2];
    let (x, w) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 10.0, 100.0, 1000.0]);
    correlate(&g, 1, &x, &w, Start::Output, &mut y, &mut Scratch::default());
    assert_eq!(y, [5421.0, 6532.0]);
}
