//! Weights of samples. The law: a sample of weight 2 is two equal samples, one of weight 0 is none, in everything that
//! a loss, a curvature and a posterior are.

use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{Curvature, Laplace, LaplaceConfig, PriorChoice, Structure};
use riemla::data::{Dataset, Targets};
use riemla::geometry::Metric as _;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{
    Likelihood, LinearizedLoss, NetworkLoss, Objective, OutputNoise, Prior, TwiceDifferentiable,
};
use riemla::random::{Purpose, fill_normal, stream};

const COUNTS: [usize; 7] = [1, 3, 0, 2, 1, 0, 4];

fn normals(len: usize, index: u64) -> Vec<f64> {
    let mut values = vec![0.0; len];
    fill_normal(&mut stream(3, Purpose::Data, index), &mut values);
    values
}

fn close(what: &str, a: &[f64], b: &[f64]) {
    let size = a.iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
    let gap = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(a.len() == b.len() && gap <= 1e-11 * size, "{what}: {gap:e} of {size:e}");
}

/// The same loss with weights and with repeated samples, for every likelihood.
fn pairs() -> Vec<(NetworkLoss, NetworkLoss, Vec<f64>)> {
    let cases = [
        (Likelihood::Categorical, 3, Targets::Classes(vec![0, 1, 2, 2, 1, 0, 1])),
        (Likelihood::Bernoulli, 1, Targets::Classes(vec![0, 1, 1, 0, 1, 0, 1])),
        (
            Likelihood::Gaussian { sigma_noise: 0.3 },
            2,
            Targets::Values { values: normals(14, 1), outputs: 2 },
        ),
        (
            Likelihood::GaussianPerOutput { sigma_noise: OutputNoise::new(&[0.3, 1.1]).expect("two") },
            2,
            Targets::Values { values: normals(14, 1), outputs: 2 },
        ),
        (Likelihood::Heteroscedastic, 4, Targets::Values { values: normals(14, 1), outputs: 2 }),
        (
            Likelihood::Poisson,
            2,
            Targets::Values { values: (0..14).map(|i| f64::from(i % 5)).collect(), outputs: 2 },
        ),
        (
            Likelihood::MultiLabel,
            2,
            Targets::Values { values: (0..14).map(|i| f64::from(i % 2)).collect(), outputs: 2 },
        ),
    ];
    let make = |(likelihood, outputs, targets): (Likelihood, usize, Targets)| {
        let spec = NetworkSpec::mlp(&[2, 4, outputs], Activation::Tanh);
        let network = Arc::new(Network::new(&spec).expect("a network"));
        let data = Dataset::new(normals(14, 0), 2, targets).expect("data");
        let rows: Vec<usize> =
            COUNTS.iter().enumerate().flat_map(|(row, count)| std::iter::repeat_n(row, *count)).collect();
        let repeated = data.select(&rows).expect("rows");
        let weighted = data.with_weights(COUNTS.map(|count| count as f64).to_vec()).expect("weights");
        let prior = Prior::isotropic(0.7, network.dim()).expect("a prior");
        let loss = |data| NetworkLoss::new(network.clone(), data, likelihood, prior.clone()).expect("a loss");
        (loss(weighted), loss(repeated), network.initialize(2))
    };
    cases.into_iter().map(make).collect()
}

#[test]
fn losses_and_derivatives_are_those_of_repeated_samples() {
    for (weighted, repeated, theta) in pairs() {
        let name = format!("{:?}", weighted.likelihood());
        let v = normals(theta.len(), 5);
        let of = |loss: &dyn TwiceDifferentiable| {
            let mut gradient = vec![0.0; theta.len()];
            let value = loss.value_and_gradient(&theta, &mut gradient);
            let mut product = vec![0.0; theta.len()];
            loss.hvp(&theta, &v, &mut product);
            [vec![value, loss.value(&theta), loss.curvature_along(&theta, &v)], gradient, product].concat()
        };
        close(&name, &of(&weighted), &of(&repeated));
        close(
            &format!("{name}, log likelihood"),
            &[weighted.log_likelihood(&theta), weighted.total_weight()],
            &[repeated.log_likelihood(&theta), repeated.samples() as f64],
        );
        let fisher = |loss: &NetworkLoss| {
            let all = riemla::curvature::Subset::All.ranges(loss.network()).expect("all weights");
            let metric = riemla::geometry::FisherMetric::new(loss, &theta, &all).expect("a metric");
            let mut acceleration = vec![0.0; theta.len()];
            metric.acceleration(&theta, &v, &mut acceleration);
            acceleration.push(metric.inner(&theta, &v, &v));
            acceleration
        };
        close(&format!("{name}, Fisher metric"), &fisher(&weighted), &fisher(&repeated));
        let linear = |loss: NetworkLoss| of(&LinearizedLoss::new(loss, &theta).expect("linearised"));
        close(&format!("{name}, linearised"), &linear(weighted), &linear(repeated));
    }
}

#[test]
fn curvatures_and_evidence_are_those_of_repeated_samples() {
    for (weighted, repeated, theta) in pairs() {
        let structures = [Structure::Full, Structure::Diagonal, Structure::Kronecker];
        let curvatures = [Curvature::Ggn, Curvature::EmpiricalFisher];
        for (structure, curvature) in structures.into_iter().flat_map(|s| curvatures.map(|c| (s, c))) {
            let name = format!("{:?}, {structure:?}, {curvature:?}", weighted.likelihood());
            let of = |loss: &NetworkLoss| {
                let config = LaplaceConfig {
                    structure,
                    curvature,
                    prior: PriorChoice::Keep,
                    ..LaplaceConfig::default()
                };
                let laplace = Laplace::fit(loss, &theta, &config, Control::default()).expect("a fit");
                let precision = laplace.gaussian.precision();
                let mut product = vec![0.0; theta.len()];
                precision.mul(&normals(theta.len(), 9), &mut product);
                product.push(precision.log_det());
                product.extend(laplace.log_marginal_likelihood);
                product
            };
            close(&name, &of(&weighted), &of(&repeated));
        }
    }
}

#[test]
fn a_batch_keeps_its_weights() {
    for (weighted, _, theta) in pairs() {
        let batch = weighted.on_rows(&[1, 3, 6]).expect("a batch");
        assert_eq!((batch.samples(), batch.total_weight()), (3, 9.0));
        // All rows in three batches, each scaled by 7/B: their mean with weights B/7 is the loss on all.
        let parts = [vec![0, 1], vec![2, 3, 4], vec![5, 6]];
        let share = |rows: &Vec<usize>| {
            let loss = weighted.on_rows(rows).expect("a batch");
            rows.len() as f64 / 7.0 * loss.value(&theta)
        };
        close("batches", &[parts.iter().map(share).sum()], &[weighted.value(&theta)]);
    }
}
