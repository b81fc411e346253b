//! How the cost of an evaluation grows with data and weights, and how sampling uses the cores.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use riemla::Control;
use riemla::data::Dataset;
use riemla::nn::{Activation, LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior};
use riemla::posterior::{Method, Posterior, PosteriorConfig};

use super::timing::fastest;

fn loss(spec: &NetworkSpec, n: usize) -> NetworkLoss {
    let network = Arc::new(Network::new(spec).unwrap());
    let d = network.inputs();
    let inputs: Vec<f64> = (0..n * d).map(|i| (i as f64 * 0.618).sin()).collect();
    let labels = (0..n).map(|i| i % network.outputs()).collect();
    let data = Dataset::classification(inputs, d, labels).unwrap();
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    NetworkLoss::new(network, data.clone(), Likelihood::Categorical, prior).unwrap()
}

/// The convolutional network of the paper's image experiments (K = 1828).
pub fn image_network() -> NetworkSpec {
    let tanh = LayerSpec::Activation { function: Activation::Tanh };
    let conv = LayerSpec::Conv2d {
        channels: 4,
        kernel: [5, 5],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
        groups: 1,
        bias: true,
    };
    let pool = LayerSpec::AveragePool { kernel: [2, 2], stride: None };
    let linear = |outputs| LayerSpec::Linear { outputs, bias: true };
    let layers = [
        conv.clone(),
        tanh.clone(),
        pool.clone(),
        conv,
        tanh.clone(),
        pool,
        LayerSpec::Flatten,
        linear(16),
        tanh.clone(),
        linear(10),
        tanh,
        linear(10),
    ];
    NetworkSpec { input: Shape::Image { channels: 1, height: 28, width: 28 }, layers: layers.into() }
}

fn row(page: &mut String, name: &str, spec: &NetworkSpec, n: usize) {
    let loss = loss(spec, n);
    let theta = loss.network().initialize(0);
    let mut gradient = vec![0.0; theta.len()];
    let value = fastest(0.4, || {
        std::hint::black_box(loss.value(&theta));
    });
    let both = fastest(0.4, || {
        std::hint::black_box(loss.value_and_gradient(&theta, &mut gradient));
    });
    let per = both * 1e9 / (n as f64 * theta.len() as f64);
    let _ = writeln!(
        page,
        "| {name} | {} | {n} | {:.3} | {:.3} | {per:.3} |",
        theta.len(),
        value * 1e3,
        both * 1e3
    );
}

/// Tables over N and width, the image network, and the speed-up of a second core.
pub fn section(root: &Path, quick: bool) -> String {
    let mut page = String::from(
        "## Cost of an evaluation\n\n| network | weights K | samples N | `value`, ms | `value_and_gradient`, ms | ns per sample and weight |\n|---|---|---|---|---|---|\n",
    );
    let mlp = |sizes: &[usize]| NetworkSpec::mlp(sizes, Activation::Tanh);
    for n in [100, 1_000, 10_000, 100_000] {
        row(&mut page, "2-16-16-2", &mlp(&[2, 16, 16, 2]), n);
    }
    for width in [16, 32, 64, 128, 256, 512] {
        row(&mut page, &format!("20-{width}-{width}-5"), &mlp(&[20, width, width, 5]), 1_000);
    }
    row(&mut page, "image network of the paper", &image_network(), if quick { 500 } else { 5_000 });
    page + &cores(root, quick)
}

/// Wall time of the same samples on one and on two threads.
fn cores(root: &Path, quick: bool) -> String {
    let banana = super::model::banana(root);
    let laplace = banana.laplace(true);
    let posterior =
        Posterior::of_network(&banana.loss, &laplace, PosteriorConfig::paper(Method::RiemLa)).unwrap();
    let count = if quick { 8 } else { 60 };
    let seconds = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        (0..3)
            .map(|_| {
                let clock = Instant::now();
                let set = pool.install(|| posterior.sample(0, count, Control::default()).unwrap());
                assert_eq!(set.draws.len() as u64, count);
                clock.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min)
    });
    format!(
        "\n## Two cores\n\n{count} `riem-la` samples of banana (K = {}, default settings): {:.2} s on one thread, {:.2} s on two, a speed-up of {:.2}.\n",
        banana.network.dim(),
        seconds[0],
        seconds[1],
        seconds[0] / seconds[1]
    )
}
