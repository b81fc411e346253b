//! One evaluation of the banana loss against its bare matrix products and tanh.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use riemla::linalg::dense::{add_product, set_product, view, view_mut};
use riemla::linalg::elementwise::tanh;
use riemla::objective::{LinearizedLoss, Objective, TwiceDifferentiable};

use super::timing::fastest;

const N: usize = 265;

/// The eight matrix products of a forward and a reverse pass through 2-16-16-2, in place.
struct Products {
    x: [Vec<f64>; 4],
    w: [Vec<f64>; 3],
    gradient: [Vec<f64>; 3],
}

const SIZES: [usize; 4] = [2, 16, 16, 2];

impl Products {
    fn new() -> Self {
        let numbers = |len: usize| (0..len).map(|i| (i as f64 * 0.37).sin()).collect::<Vec<f64>>();
        Self {
            x: SIZES.map(|s| numbers(N * s)),
            w: [0, 1, 2].map(|l| numbers(SIZES[l] * SIZES[l + 1])),
            gradient: [0, 1, 2].map(|l| numbers(SIZES[l] * SIZES[l + 1])),
        }
    }

    fn run(&mut self) {
        for l in 0..3 {
            let (input, rest) = self.x.split_at_mut(l + 1);
            let (inputs, outputs) = (SIZES[l], SIZES[l + 1]);
            let x = view(&input[l], N, inputs);
            set_product(view_mut(&mut rest[0], N, outputs), x, view(&self.w[l], inputs, outputs));
        }
        for l in (0..3).rev() {
            let (inputs, outputs) = (SIZES[l], SIZES[l + 1]);
            let (input, rest) = self.x.split_at_mut(l + 1);
            let u = view(&rest[0], N, outputs);
            let g = view_mut(&mut self.gradient[l], inputs, outputs);
            add_product(g, 1e-9, view(&input[l], N, inputs).transpose(), u);
            if l > 0 {
                set_product(
                    view_mut(&mut input[l], N, inputs),
                    u,
                    view(&self.w[l], inputs, outputs).transpose(),
                );
            }
        }
    }
}

fn row(page: &mut String, what: &str, seconds: f64, bare: f64) {
    let _ = writeln!(page, "| {what} | {:.1} | {:.2} |", seconds * 1e6, seconds / bare);
}

/// Times of single evaluations.
pub fn section() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let banana = super::model::banana(&root);
    let loss = &banana.loss;
    let linearized =
        LinearizedLoss::new(loss.with(loss.likelihood(), loss.prior().clone()).unwrap(), &banana.theta);
    let linearized = linearized.unwrap();
    let theta = &banana.theta;
    let v: Vec<f64> = (0..theta.len()).map(|i| (i as f64).cos()).collect();
    let mut gradient = vec![0.0; theta.len()];
    let mut products = Products::new();
    let products_only = fastest(0.5, || products.run());
    let z: Vec<f64> = (0..2 * N * 16).map(|i| (i as f64 * 0.1).sin() * 3.0).collect();
    let mut y = z.clone();
    let tanh_only = fastest(0.5, || tanh(black_box(&z), &mut y));
    let tanh_std = fastest(0.5, || y.iter_mut().zip(&z).for_each(|(y, z)| *y = black_box(*z).tanh()));
    let bare = products_only + tanh_only;
    let mut page = String::from(
        "## One evaluation: banana, 2-16-16-2, N = 265\n\n| | µs | relative to products + tanh |\n|---|---|---|\n",
    );
    row(&mut page, "its 8 matrix products alone", products_only, bare);
    row(&mut page, "its 8480 tanh alone, vectorised", tanh_only, bare);
    row(&mut page, "its 8480 tanh alone, standard library", tanh_std, bare);
    row(
        &mut page,
        "`value`",
        fastest(0.5, || {
            black_box(loss.value(theta));
        }),
        bare,
    );
    row(
        &mut page,
        "`value_and_gradient`",
        fastest(0.5, || {
            black_box(loss.value_and_gradient(theta, &mut gradient));
        }),
        bare,
    );
    row(
        &mut page,
        "`gradient_and_curvature` (one right-hand side)",
        fastest(0.5, || {
            black_box(loss.gradient_and_curvature(theta, &v, &mut gradient));
        }),
        bare,
    );
    row(&mut page, "`hvp`", fastest(0.5, || loss.hvp(theta, &v, &mut gradient)), bare);
    row(
        &mut page,
        "linearised `value_and_gradient`",
        fastest(0.5, || {
            black_box(linearized.value_and_gradient(theta, &mut gradient));
        }),
        bare,
    );
    row(
        &mut page,
        "linearised `gradient_and_curvature`",
        fastest(0.5, || {
            black_box(linearized.gradient_and_curvature(theta, &v, &mut gradient));
        }),
        bare,
    );
    page + "\nNone of these allocates (tests/allocations.rs counts).\n\n"
}
