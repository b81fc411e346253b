//! One evaluation of the banana loss against its bare matrix products and tanh, and of larger networks.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use riemla::data::Dataset;
use riemla::linalg::dense::{add_product, set_product, view, view_mut};
use riemla::linalg::elementwise::tanh;
use riemla::nn::{Activation, Arithmetic, LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, Prior, TwiceDifferentiable};

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

/// Names and times of the parts that no evaluation can do without.
fn bare_parts() -> [(&'static str, f64); 3] {
    let mut products = Products::new();
    let z: Vec<f64> = (0..2 * N * 16).map(|i| (i as f64 * 0.1).sin() * 3.0).collect();
    let mut y = z.clone();
    [
        ("its 8 matrix products alone", fastest(0.5, || products.run())),
        ("its 8480 tanh alone, vectorised", fastest(0.5, || tanh(black_box(&z), &mut y))),
        (
            "its 8480 tanh alone, standard library",
            fastest(0.5, || y.iter_mut().zip(&z).for_each(|(y, z)| *y = black_box(*z).tanh())),
        ),
    ]
}

/// Names and times of the evaluations of an objective.
fn evaluations(objective: &dyn TwiceDifferentiable, theta: &[f64]) -> [(&'static str, f64); 4] {
    let v: Vec<f64> = (0..theta.len()).map(|i| (i as f64).cos()).collect();
    let g = &mut vec![0.0; theta.len()];
    let value = fastest(0.5, || {
        black_box(objective.value(theta));
    });
    let gradient = fastest(0.5, || {
        black_box(objective.value_and_gradient(theta, g));
    });
    let curvature = fastest(0.5, || {
        black_box(objective.gradient_and_curvature(theta, &v, g));
    });
    let hvp = fastest(0.5, || objective.hvp(theta, &v, g));
    [
        ("`value`", value),
        ("`value_and_gradient`", gradient),
        ("`gradient_and_curvature` (one right-hand side)", curvature),
        ("`hvp`", hvp),
    ]
}

/// Times of single evaluations.
pub fn section() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let banana = super::model::banana(&root);
    let (loss, theta) = (&banana.loss, &banana.theta);
    let copy = loss.with(loss.likelihood(), loss.prior().clone()).unwrap();
    let linearized = LinearizedLoss::new(copy, theta).unwrap();
    let parts = bare_parts();
    let bare = parts[0].1 + parts[1].1;
    let mut page = String::from(
        "## One evaluation: banana, 2-16-16-2, N = 265\n\n| | µs | relative to products + tanh |\n|---|---|---|\n",
    );
    let mut row = |prefix: &str, (name, seconds): (&str, f64)| {
        let _ = writeln!(page, "| {prefix}{name} | {:.1} | {:.2} |", seconds * 1e6, seconds / bare);
    };
    parts.into_iter().for_each(|part| row("", part));
    evaluations(loss, theta).into_iter().for_each(|evaluation| row("", evaluation));
    evaluations(&linearized, theta).into_iter().for_each(|evaluation| row("linearised ", evaluation));
    page + "\nNone of these allocates (tests/allocations.rs counts).\n\n" + &large()
}

/// The network of the image experiments: 1828 weights.
fn images() -> NetworkSpec {
    let conv = || LayerSpec::Conv2d {
        channels: 4,
        kernel: [5, 5],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
        groups: 1,
        bias: true,
    };
    let tanh = || LayerSpec::Activation { function: Activation::Tanh };
    let pool = || LayerSpec::AveragePool { kernel: [2, 2], stride: None };
    let linear = |outputs| LayerSpec::Linear { outputs, bias: true };
    let mut layers = vec![conv(), tanh(), pool(), conv(), tanh(), pool(), LayerSpec::Flatten];
    layers.extend([linear(16), tanh(), linear(10), tanh(), linear(10)]);
    NetworkSpec { input: Shape::Image { channels: 1, height: 28, width: 28 }, layers }
}

/// A loss with made-up data and weights: times do not depend on them.
fn made_up(spec: &NetworkSpec, n: usize) -> (NetworkLoss, Vec<f64>) {
    let network = Arc::new(Network::new(spec).unwrap());
    let x = (0..n * network.inputs()).map(|i| (i as f64 * 0.7391).sin()).collect();
    let labels = (0..n).map(|i| i % network.outputs()).collect();
    let data = Dataset::classification(x, network.inputs(), labels).unwrap();
    let prior = Prior::isotropic(0.1, network.dim()).unwrap();
    let theta = network.initialize(0);
    (NetworkLoss::new(network, data, Likelihood::Categorical, prior).unwrap(), theta)
}

/// Times of larger networks: on one thread, and on all.
pub fn large() -> String {
    let on = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut page = format!(
        "## One evaluation: larger networks\n\nWall-clock time. Blocks of samples are shared among idle threads, with \
         the same bits on any number of them.\n\n\
         | network | N | K | | ms, 1 thread | ms, {all} threads |\n|---|---|---|---|---|---|\n"
    );
    let wide = || NetworkSpec::mlp(&[784, 200, 10], Activation::Tanh);
    for (name, spec, arithmetic) in [
        ("CNN of the image experiments", images(), Arithmetic::Double),
        ("784-200-10", wide(), Arithmetic::Double),
        ("784-200-10, single precision", wide(), Arithmetic::Single),
    ] {
        let (loss, theta) = made_up(&spec, 5000);
        let loss = loss.multiplying_in(arithmetic).unwrap();
        let one = on(1).install(|| evaluations(&loss, &theta));
        let many = on(all).install(|| evaluations(&loss, &theta));
        for ((what, one), (_, many)) in one.into_iter().zip(many) {
            let (k, one, many) = (theta.len(), one * 1e3, many * 1e3);
            let _ = writeln!(page, "| {name} | 5000 | {k} | {what} | {one:.1} | {many:.1} |");
        }
    }
    page + "\n"
}
