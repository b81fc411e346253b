//! Likelihoods and generalised linear models next to scipy, torch and scikit-learn; noises and predictions of the kinds
//! that have no closed form elsewhere.
//!
//! Goldens: `testdata/likelihoods.json`, written by `testdata/likelihoods.py` (versions inside).

mod models;

use std::sync::Arc;

use models::{normals, per_output};
use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, PriorSearch};
use riemla::data::Dataset;
use riemla::nn::{Activation, LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::posterior::{Method, Posterior, PosteriorConfig};
use riemla::predict::Prediction;
use riemla::score::{count_coverage, count_nll, count_quantile, log_probability, poisson_deviance};
use riemla::train::{Lbfgs, lbfgs};
use serde_json::Value;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/likelihoods.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// A linear model without intercept.
fn linear(inputs: usize, outputs: usize) -> Arc<Network> {
    let layers = vec![LayerSpec::Linear { outputs, bias: false }];
    Arc::new(Network::new(&NetworkSpec { input: Shape::Features(inputs), layers }).unwrap())
}

fn minimum(loss: &NetworkLoss, start: Vec<f64>) -> Vec<f64> {
    let mut theta = start;
    let config = Lbfgs { gradient_tolerance: 1e-10, ..Lbfgs::default() };
    lbfgs(loss, &mut theta, &config, Control::default()).unwrap();
    theta
}

fn assert_close(what: &str, found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (k, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}, {k}: {a} and not {b}");
    }
}

/// The outputs of the identity are its inputs.
#[test]
fn log_likelihoods_are_those_of_scipy_and_torch() {
    let golden = golden();
    let outputs = numbers(&golden["outputs"]);
    let logs = numbers(&golden["log_variances"]);
    let pairs: Vec<f64> = outputs.chunks(3).zip(logs.chunks(3)).flat_map(|(f, s)| [f, s].concat()).collect();
    for (name, likelihood, inputs, targets) in [
        ("gaussian-per-output", per_output(&numbers(&golden["sigmas"])), &outputs, "values"),
        ("heteroscedastic", Likelihood::Heteroscedastic, &pairs, "values"),
        ("poisson", Likelihood::Poisson, &outputs, "counts"),
        ("multi-label", Likelihood::MultiLabel, &outputs, "labels"),
    ] {
        let width = likelihood.outputs_for(3);
        let data = Dataset::regression(inputs.clone(), width, numbers(&golden[targets]), 3).unwrap();
        let prior = Prior::isotropic(1.0, width * width).unwrap();
        let loss = NetworkLoss::new(linear(width, width), data, likelihood, prior).unwrap();
        let identity: Vec<f64> =
            (0..width * width).map(|k| f64::from(u8::from(k / width == k % width))).collect();
        let wanted = golden["log_likelihoods"][name].as_f64().unwrap();
        assert_close(name, &[loss.log_likelihood(&identity)], &[wanted], 1e-12);
    }
}

#[test]
fn regressions_are_those_of_scikit_learn() {
    let golden = golden();
    let poisson = &golden["poisson_regression"];
    let x = numbers(&poisson["x"]);
    let fit = |data: Dataset, likelihood, outputs: usize, precision: &Value| {
        let prior = Prior::isotropic(precision.as_f64().unwrap(), 4 * outputs).unwrap();
        let loss = NetworkLoss::new(linear(4, outputs), data, likelihood, prior).unwrap();
        minimum(&loss, vec![0.0; 4 * outputs])
    };
    let counts = || Dataset::regression(x.clone(), 4, numbers(&poisson["y"]), 1).unwrap();
    let plain = fit(counts(), Likelihood::Poisson, 1, &poisson["prior_precision"]);
    assert_close("PoissonRegressor", &plain, &numbers(&poisson["weights"]), 1e-6);
    let weighted = counts().with_weights(numbers(&poisson["sample_weight"])).unwrap();
    let weighted = fit(weighted, Likelihood::Poisson, 1, &poisson["prior_precision_weighted"]);
    assert_close("with sample_weight", &weighted, &numbers(&poisson["weights_weighted"]), 1e-6);
    let logistic = &golden["logistic_regressions"];
    let labels = Dataset::regression(x.clone(), 4, numbers(&logistic["labels"]), 2).unwrap();
    let found = fit(labels, Likelihood::MultiLabel, 2, &logistic["prior_precision"]);
    let wanted: Vec<f64> = logistic["weights"].as_array().unwrap().iter().flat_map(numbers).collect();
    assert_close("LogisticRegression per label", &found, &wanted, 1e-6);
}

#[test]
fn counts_of_uncertain_rates_are_negative_binomial() {
    for case in golden()["gamma_poisson"].as_array().unwrap() {
        let (mean, variance) = (case["mean"].as_f64().unwrap(), case["variance"].as_f64().unwrap());
        let found: Vec<f64> =
            numbers(&case["counts"]).iter().map(|y| log_probability(*y, mean, variance)).collect();
        assert_close("log probabilities", &found, &numbers(&case["log_probabilities"]), 1e-9);
        let found: Vec<f64> =
            numbers(&case["shares"]).iter().map(|share| count_quantile(*share, mean, variance)).collect();
        assert_close("quantiles", &found, &numbers(&case["quantiles"]), 0.0);
    }
    // Both branches of the sum meet: at 1001 terms by logarithms of gamma functions and by Euler and Maclaurin.
    let total: f64 = (0..4000).map(|y| log_probability(f64::from(y), 1000.0, 9900.0).exp()).sum();
    assert!((total - 1.0).abs() < 1e-8, "{total}");
    let total: f64 = (0..4000).map(|y| log_probability(f64::from(y), 1000.0, 10100.0).exp()).sum();
    assert!((total - 1.0).abs() < 1e-8, "{total}");
}

#[test]
fn scores_of_counts_by_hand() {
    assert_close("deviance", &[poisson_deviance(&[2.0, 3.0], &[0.0, 3.0]).unwrap()], &[2.0], 1e-15);
    let nll = count_nll(&[2.0], &[0.0], &[3.0]).unwrap();
    assert_close("nll", &[nll], &[2.0 - 3.0 * 2f64.ln() + 6f64.ln()], 1e-15);
    // P(0) = 0.999: the interval is [0, 0].
    assert_eq!(count_coverage(&[0.001, 0.001], &[0.0; 2], &[0.0, 1.0], 0.95).unwrap(), 0.5);
    assert!(count_nll(&[-1.0], &[0.0], &[3.0]).is_err() && poisson_deviance(&[1.0], &[-1.0]).is_err());
}

/// Two outputs with noises 0.1 and 1 and another scale of the signal.
fn two_outputs(n: usize) -> Dataset {
    let (x, e) = (normals(1, n), normals(2, 2 * n));
    let y = (0..n).flat_map(|i| [x[i].sin() + 0.1 * e[2 * i], 2.0 * x[i] + e[2 * i + 1]]).collect();
    Dataset::regression(x, 1, y, 2).unwrap()
}

/// The evidence as a function of both noises, weights and prior held, by finite differences: the fit's noises are where
/// it is stationary. Twice the noise of one output is not.
#[test]
fn noises_of_outputs_maximise_the_evidence() {
    let network = models::mlp(&[1, 5, 2], Activation::Tanh);
    let prior = Prior::isotropic(0.3, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), two_outputs(60), per_output(&[1.0, 1.0]), prior).unwrap();
    let theta = minimum(&loss, network.initialize(3));
    let fit = Laplace::fit(&loss, &theta, &LaplaceConfig::default(), Control::default()).unwrap();
    let Likelihood::GaussianPerOutput { sigma_noise } = fit.likelihood else { panic!("the same kind") };
    let sigmas = sigma_noise.sigmas().to_vec();
    let evidence = |logs: [f64; 2]| {
        let noise = per_output(&[sigmas[0] * logs[0].exp(), sigmas[1] * logs[1].exp()]);
        let loss = loss.with(noise, fit.prior.clone()).unwrap();
        let keep = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        Laplace::fit(&loss, &theta, &keep, Control::default()).unwrap().log_marginal_likelihood.unwrap()
    };
    let h = 1e-3;
    for step in [[h, 0.0], [0.0, h]] {
        let slope = (evidence(step) - evidence(step.map(|s| -s))) / (2.0 * h);
        let beyond = evidence(step.map(|s| 0.7 * s.signum() * f64::from(u8::from(s != 0.0))));
        // The steps end when log σ moves by 0.001: of 60 numbers that is a slope of about 0.1.
        assert!(slope.abs() < 0.2, "{step:?}: {slope}");
        assert!(beyond < evidence([0.0; 2]) - 1.0, "{step:?}: {beyond}");
    }
}

#[test]
fn training_finds_the_noise_of_every_output() {
    let network = models::mlp(&[1, 8, 2], Activation::Tanh);
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    let loss = NetworkLoss::new(network, two_outputs(200), per_output(&[0.5, 0.5]), prior).unwrap();
    for prior in [PriorChoice::Optimize, PriorChoice::Keep] {
        let search = PriorSearch { prior, ..PriorSearch::default() };
        let found = search.run(&loss, Control::default()).unwrap();
        let Likelihood::GaussianPerOutput { sigma_noise } = found.loss.likelihood() else {
            panic!("the same kind")
        };
        // A standard deviation of 200 numbers is known to 5 %; three of those.
        let [first, second] = sigma_noise.sigmas() else { panic!("two") };
        assert!((first / 0.1 - 1.0).abs() < 0.15 && (second - 1.0).abs() < 0.15, "{first} {second}");
        assert!(found.report.gradient_norm < 1e-3, "{:?}", found.report);
    }
}

/// Monte Carlo over Gaussian outputs next to the closed form: 4000 draws.
#[test]
fn closed_forms_agree_with_draws() {
    for (likelihood, outputs) in
        [(Likelihood::Heteroscedastic, 4), (Likelihood::Poisson, 2), (per_output(&[0.5, 2.0]), 2)]
    {
        let network = models::mlp(&[2, 3, outputs], Activation::Tanh);
        let loss = models::loss(&network, likelihood, 40, 2.0);
        let theta = minimum(&loss, network.initialize(1));
        let config = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        let config = PosteriorConfig { method: Method::LinLa, ..PosteriorConfig::default() };
        let posterior = Posterior::new(Arc::new(loss), laplace.gaussian.clone(), config).unwrap();
        let draws = posterior.sample(1, 4000, Control::default()).unwrap();
        let thetas = draws.thetas();
        let inputs = normals(3, 10);
        let predictor = posterior.predictor().unwrap();
        let of = |prediction: Prediction| {
            let p = prediction.values().unwrap().clone();
            assert_eq!(p.outputs, 2);
            (p.mean, p.epistemic_variance, p.aleatoric_variance)
        };
        let drawn = of(predictor.predict(&thetas, &inputs).unwrap());
        let closed = of(predictor.predict_closed_form(&inputs).unwrap());
        for k in 0..drawn.0.len() {
            let error = (closed.1[k] / 4000.0).sqrt();
            assert!((drawn.0[k] - closed.0[k]).abs() < 4.5 * error, "{likelihood:?}: mean {k}");
            assert!((drawn.1[k] / closed.1[k] - 1.0).abs() < 0.3, "{likelihood:?}: epistemic {k}");
            assert!((drawn.2[k] / closed.2[k] - 1.0).abs() < 0.1, "{likelihood:?}: aleatoric {k}");
        }
    }
}

/// The Hessian of a heteroscedastic likelihood is indefinite away from the targets, its GGN never: a fit with the
/// Hessian says so, one with the GGN works.
#[test]
fn the_ggn_of_a_heteroscedastic_likelihood_is_positive() {
    let network = models::mlp(&[1, 4, 2], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Heteroscedastic, 30, 1e-3);
    let theta = network.initialize(5);
    let fit = |curvature| {
        let config = LaplaceConfig { curvature, prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        Laplace::fit(&loss, &theta, &config, Control::default())
    };
    assert!(fit(riemla::curvature::Curvature::Ggn).is_ok());
    let error = fit(riemla::curvature::Curvature::Hessian).unwrap_err().to_string();
    assert!(error.contains("GGN") || error.contains("ggn"), "{error}");
}

/// y = x + σ(x)e with σ from 0.1 on the left to 1 on the right. 90 % intervals of a heteroscedastic network hold 90 % of
/// new targets on either side; those of one noise hold nearly all on the left and too few on the right. 400 rows a
/// side: four standard errors are 0.06.
#[test]
fn intervals_are_wide_where_the_noise_is() {
    let data = |n: usize, seed: u64| {
        let (x, e) = (normals(seed, n), normals(seed + 1, n));
        let x: Vec<f64> = x.iter().map(|x| x.tanh()).collect();
        let y = x.iter().zip(&e).map(|(x, e)| x + if *x < 0.0 { 0.1 * e } else { *e }).collect();
        Dataset::regression(x, 1, y, 1).unwrap()
    };
    let coverage = |likelihood: Likelihood| {
        let network = models::mlp(&[1, 8, likelihood.outputs_for(1)], Activation::Tanh);
        let prior = Prior::isotropic(1.0, network.dim()).unwrap();
        let loss = NetworkLoss::new(network, data(400, 1), likelihood, prior).unwrap();
        let found = PriorSearch::default().run(&loss, Control::default()).unwrap();
        let keep = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        let laplace = Laplace::fit(&found.loss, &found.theta, &keep, Control::default()).unwrap();
        let config = PosteriorConfig { method: Method::LinLa, ..PosteriorConfig::default() };
        let posterior = Posterior::new(Arc::new(found.loss), laplace.gaussian.clone(), config).unwrap();
        let test = data(800, 11);
        let prediction = posterior.predictor().unwrap().predict_closed_form(test.inputs()).unwrap();
        let p = prediction.values().unwrap();
        let riemla::data::Targets::Values { values, .. } = test.targets() else { panic!("values") };
        let mut inside = [(0.0, 0.0); 2];
        for (i, x) in test.inputs().iter().enumerate() {
            let side = &mut inside[usize::from(*x >= 0.0)];
            side.0 += f64::from(u8::from((values[i] - p.mean[i]).abs() <= 1.6449 * p.variance()[i].sqrt()));
            side.1 += 1.0;
        }
        inside.map(|(inside, all)| inside / all)
    };
    let right = coverage(Likelihood::Heteroscedastic);
    assert!(right.iter().all(|share| (share - 0.9).abs() < 0.06), "{right:?}");
    let wrong = coverage(Likelihood::Gaussian { sigma_noise: 0.5 });
    assert!(wrong[0] > 0.97 && wrong[1] < 0.88, "{wrong:?}");
}
