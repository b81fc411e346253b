//! The law of every public contract, for every implementation that ships with the library.

mod models;

use models::{
    GAUSSIAN, data, loss, mlp, network, normals, per_output, residual_cnn, residual_mlp, small_cnn,
};
use riemla::curvature::{
    DiagonalPrecision, FullPrecision, Subset, ggn_diagonal, ggn_full, hessian_diagonal, hessian_full,
};
use riemla::geometry::LossMetric;
use riemla::nn::{Activation, LayerSpec, NetworkSpec, Shape, Trace};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, Prior, PriorPrecision, Restricted};
use riemla::testing::{check_metric, check_precision, check_twice_differentiable};

/// The law for the loss, its linearisation, a batch of it, and it with some weights held fixed.
fn check_losses(spec: &NetworkSpec, likelihood: Likelihood, n: usize, precision: &PriorPrecision) {
    let network = network(spec);
    let data = data(&network, likelihood, n, 5);
    let prior = Prior::new(precision, &network).unwrap();
    let theta = network.initialize(2);
    let away: Vec<f64> = theta.iter().zip(normals(6, theta.len())).map(|(t, e)| t + 0.3 * e).collect();
    let rows: Vec<usize> = (0..n).rev().step_by(3).collect();
    for rows in [(0..n).collect(), rows] {
        let on = || {
            NetworkLoss::new(network.clone(), data.clone(), likelihood, prior.clone())
                .and_then(|loss| loss.on_rows(&rows))
                .unwrap()
        };
        check_twice_differentiable(&on(), &away, 1);
        check_twice_differentiable(&LinearizedLoss::new(on(), &theta).unwrap(), &away, 2);
        let some: Vec<usize> = (0..theta.len()).filter(|k| k % 3 != 1).collect();
        let chosen: Vec<f64> = some.iter().map(|&k| away[k]).collect();
        check_twice_differentiable(&Restricted::new(&on(), &theta, some), &chosen, 3);
    }
}

#[test]
fn losses_of_every_likelihood() {
    let per_layer = PriorPrecision::PerLayer(vec![0.1, 2.0, 0.0]);
    for (likelihood, outputs) in [
        (Likelihood::Categorical, 2),
        (Likelihood::Categorical, 5),
        (Likelihood::Bernoulli, 1),
        (GAUSSIAN, 1),
        (GAUSSIAN, 3),
        (per_output(&[0.3, 0.7, 2.0]), 3),
        (Likelihood::Heteroscedastic, 2),
        (Likelihood::Heteroscedastic, 6),
        (Likelihood::Poisson, 1),
        (Likelihood::Poisson, 3),
        (Likelihood::MultiLabel, 4),
    ] {
        let spec = NetworkSpec::mlp(&[3, 6, 5, outputs], Activation::Tanh);
        check_losses(&spec, likelihood, 20, &per_layer);
        check_losses(&spec, likelihood, 1, &PriorPrecision::Scalar(1.0));
    }
    check_losses(&small_cnn(), Likelihood::Categorical, 12, &PriorPrecision::PerLayer(vec![0.5, 3.0, 1.0]));
    check_losses(&small_cnn(), GAUSSIAN, 12, &PriorPrecision::Scalar(0.0));
}

#[test]
fn losses_of_networks_with_branches() {
    for spec in [residual_mlp(), residual_cnn()] {
        check_losses(&spec, Likelihood::Categorical, 12, &PriorPrecision::Scalar(0.4));
        check_losses(&spec, GAUSSIAN, 5, &PriorPrecision::Scalar(0.0));
    }
    let layers = network(&residual_mlp()).layer_ranges().len();
    let per_layer = PriorPrecision::PerLayer((0..layers).map(|l| 0.1 + l as f64).collect());
    check_losses(&residual_mlp(), GAUSSIAN, 12, &per_layer);
}

/// Branches by hand: y = W₂(tanh(W₁x + b₁) + x) + b₂, from the parts of the parameters by name.
#[test]
fn a_sum_adds_its_branches() {
    let linear = |outputs| LayerSpec::Linear { outputs, bias: true };
    let body = vec![linear(2), LayerSpec::Activation { function: Activation::Tanh }];
    let layers = vec![LayerSpec::Residual { body, shortcut: vec![] }, linear(1)];
    let network = network(&NetworkSpec { input: Shape::Features(2), layers });
    let names: Vec<&str> = network.parameters().iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["0.body.0.weight", "0.body.0.bias", "1.weight", "1.bias"]);
    let theta = normals(1, network.dim());
    let x = [0.3, -1.1];
    let mut values = Trace::new(&network, 1);
    network.forward(&theta, &x, &mut values);
    let hidden = |o: usize| (theta[2 * o] * x[0] + theta[2 * o + 1] * x[1] + theta[4 + o]).tanh() + x[o];
    let expected = theta[6] * hidden(0) + theta[7] * hidden(1) + theta[8];
    assert!((values.output()[0] - expected).abs() < 1e-14, "{:?} {expected}", values.output());
}

#[test]
fn losses_of_networks_with_more_inputs_than_any_layer_has_outputs() {
    for sizes in [&[30, 2][..], &[30, 4, 2]] {
        let spec = NetworkSpec::mlp(sizes, Activation::Tanh);
        check_losses(&spec, Likelihood::Categorical, 9, &PriorPrecision::Scalar(1.0));
    }
}

#[test]
fn losses_of_more_samples_than_fit_one_block() {
    // A sample's trace has 602 numbers, so a block of 64 Ki numbers holds 108 samples: 3 blocks
    // of unequal sizes.
    let spec = NetworkSpec::mlp(&[3, 300, 2], Activation::Tanh);
    check_losses(&spec, Likelihood::Categorical, 250, &PriorPrecision::Scalar(0.5));
    check_losses(&spec, GAUSSIAN, 250, &PriorPrecision::Scalar(0.5));
}

#[test]
fn blocks_do_not_change_the_loss() {
    use riemla::objective::Objective as _;
    let network = mlp(&[3, 300, 2], Activation::Tanh);
    let data = data(&network, Likelihood::Categorical, 250, 5);
    let prior = Prior::isotropic(0.0, network.dim()).unwrap();
    let theta = network.initialize(1);
    let on = |rows: &[usize]| {
        let loss = NetworkLoss::new(network.clone(), data.clone(), Likelihood::Categorical, prior.clone())
            .and_then(|loss| loss.on_rows(rows));
        let loss = loss.unwrap();
        loss.value(&theta) / loss.scale()
    };
    let all: Vec<usize> = (0..250).collect();
    let parts: f64 = all.chunks(30).map(on).sum();
    let whole = on(&all);
    assert!((whole - parts).abs() < 1e-11 * whole, "{whole} and {parts}");
}

#[test]
fn precisions_of_networks() {
    for (network, likelihood) in [
        (mlp(&[2, 7, 3], Activation::Tanh), Likelihood::Categorical),
        (mlp(&[1, 9, 1], Activation::SOFTPLUS), GAUSSIAN),
        (network(&small_cnn()), Likelihood::Categorical),
        (network(&residual_mlp()), GAUSSIAN),
        (network(&residual_cnn()), Likelihood::Categorical),
    ] {
        let loss = loss(&network, likelihood, 40, 0.3);
        let theta = network.initialize(1);
        for subset in [Subset::All, Subset::LastLayer] {
            let ranges = subset.ranges(&network).unwrap();
            let prior = ranges.gather(&loss.prior().diagonal());
            let full = FullPrecision::new(&ggn_full(&loss, &theta, &ranges), &prior).unwrap();
            check_precision(&full, 1);
            let diagonal = DiagonalPrecision::new(&ggn_diagonal(&loss, &theta, &ranges), &prior).unwrap();
            check_precision(&diagonal, 2);
            // The exact Hessian is indefinite at a random point: a large prior makes it definite.
            let large = vec![1e3; prior.len()];
            let hessian = hessian_full(&loss, &theta, &ranges).unwrap();
            check_precision(&FullPrecision::new(&hessian, &large).unwrap(), 3);
            let entries = hessian_diagonal(&loss, &theta, &ranges).unwrap();
            check_precision(&DiagonalPrecision::new(&entries, &large).unwrap(), 4);
        }
    }
}

#[test]
fn loss_metrics() {
    let network = mlp(&[2, 6, 2], Activation::Tanh);
    let theta = network.initialize(1);
    let v: Vec<f64> = normals(4, theta.len()).iter().map(|e| 0.3 * e).collect();
    for strength in [0.0, 0.01, 0.3, 1.0] {
        let exact = loss(&network, Likelihood::Categorical, 20, 0.5);
        check_metric(&LossMetric::new(&exact, strength).unwrap(), &theta, &v);
        let linearized = LinearizedLoss::new(exact, &network.initialize(2)).unwrap();
        check_metric(&LossMetric::new(&linearized, strength).unwrap(), &theta, &v);
    }
}
