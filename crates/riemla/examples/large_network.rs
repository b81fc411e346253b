//! Time and peak memory of the structures that fit a network of a million weights.
//!
//! `cargo run --release -p riemla --example large_network -- [kron|low-rank] [samples] [rank]`

use std::sync::Arc;
use std::time::Instant;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, Structure, memory_estimate};
use riemla::data::Dataset;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::posterior::{NetworkOutputs, Outputs as _};
use riemla::random::{Purpose, fill_normal, stream};

/// Largest resident size so far in megabytes (Linux), or 0.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse::<usize>().ok()).unwrap_or(0) / 1024
}

fn main() -> riemla::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |i: usize, default| arguments.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (samples, rank) = (number(2, 1000), number(3, 20));
    let structure = match arguments.get(1).map(String::as_str) {
        Some("low-rank") => Structure::LowRank { rank },
        _ => Structure::Kronecker,
    };
    let network = Arc::new(Network::new(&NetworkSpec::mlp(&[784, 1000, 200, 10], Activation::Tanh))?);
    let mut inputs = vec![0.0; samples * 784];
    fill_normal(&mut stream(1, Purpose::Data, 0), &mut inputs);
    let data = Dataset::classification(inputs.clone(), 784, (0..samples).map(|i| i % 10).collect())?;
    let prior = Prior::isotropic(1.0, network.dim())?;
    let loss = NetworkLoss::new(network.clone(), data.clone(), Likelihood::Categorical, prior)?;
    let theta = network.initialize(1);
    println!("{structure:?}, K = {}, {samples} samples; peak before: {} MB", network.dim(), peak());

    let start = Instant::now();
    let laplace =
        Laplace::fit(&loss, &theta, &LaplaceConfig { structure, ..Default::default() }, Control::default())?;
    let estimate = memory_estimate(structure, &network, laplace.gaussian.subset())? / (1 << 20);
    println!("fit {:.1?}, peak {} MB (estimate {estimate} MB)", start.elapsed(), peak());
    println!("log marginal likelihood {:?}, {:?}", laplace.log_marginal_likelihood, laplace.eigenpairs);

    let start = Instant::now();
    (0..10).for_each(|i| drop(laplace.gaussian.draw_tangent(&mut stream(1, Purpose::Draw, i))));
    println!("10 draws {:.1?}", start.elapsed());
    let start = Instant::now();
    let model = NetworkOutputs::new(network, Likelihood::Categorical)?;
    let outputs = model.linearized_moments(&laplace.gaussian, &inputs[..2 * 784])?;
    println!("linearised predictions at 2 points {:.1?}: {:.3?}", start.elapsed(), &outputs.variance[..3]);
    println!("peak {} MB", peak());
    Ok(())
}
