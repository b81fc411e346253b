//! Predictions against reference values and against Bayesian linear regression in closed form.

mod common;
mod models;

use std::sync::Arc;

use common::{assert_close, both};
use riemla::Control;
use riemla::curvature::{DiagonalPrecision, Gaussian, Laplace, LaplaceConfig, PriorChoice};
use riemla::data::{Dataset, Targets};
use riemla::linalg::vector::dot;
use riemla::linalg::{Cholesky, Matrix};
use riemla::nn::{Activation, LayerSpec, NetworkSpec, Shape};
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::posterior::{Method, Model as _, NetworkOutputs, Outputs as _, Posterior, PosteriorConfig};
use riemla::predict::{Prediction, Predictor};
use riemla::train::{Lbfgs, lbfgs};

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[test]
fn outputs_are_the_references() {
    for f in both() {
        let (x, theta, k) = (f.array("x_test"), f.array("theta"), f.network.dim());
        let model = NetworkOutputs::new(f.network.clone(), f.likelihood).unwrap();
        let at_map = model.evaluate(&[theta], x).unwrap();
        assert_close("f_test_map", &at_map[0], f.array("f_test_map"), 1e-9);
        assert_close(
            "f_train",
            &model.evaluate(&[theta], f.array("x")).unwrap()[0],
            f.array("f_train"),
            1e-9,
        );
        let draws: Vec<Vec<f64>> = (0..5).map(|i| sum(theta, f.row("V", i, k))).collect();
        let draws: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
        let exact = model.evaluate(&draws, x).unwrap();
        let linearized = model.evaluate_linearized(theta, &draws, x).unwrap();
        let len = at_map[0].len();
        for i in 0..5 {
            assert_close("la_f_test", &exact[i], f.row("la_f_test", i, len), 1e-9);
            assert_close("linla_f_test", &linearized[i], f.row("linla_f_test", i, len), 1e-9);
            let jvp: Vec<f64> = linearized[i].iter().zip(&at_map[0]).map(|(l, f)| l - f).collect();
            assert_close("jvp_test", &jvp, f.row("jvp_test", i, len), 1e-9);
        }
        let ends: Vec<&[f64]> = (0..25).map(|i| f.row("geo_end", i, k)).collect();
        for (i, out) in model.evaluate(&ends, x).unwrap().iter().enumerate() {
            assert_close("geo_f_test", out, f.row("geo_f_test", i, len), 1e-9);
        }
        let ends: Vec<&[f64]> = (0..25).map(|i| f.row("lin_end", i, k)).collect();
        for (i, out) in model.evaluate_linearized(theta, &ends, x).unwrap().iter().enumerate() {
            assert_close("lin_f_test", out, f.row("lin_f_test", i, len), 1e-9);
        }
    }
}

/// y = w·x with w ~ N(0, I/δ) and noise σ: everything is known.
struct LinearRegression {
    data: Dataset,
    delta: f64,
    sigma: f64,
}

const D: usize = 4;

impl LinearRegression {
    fn new(delta: f64, sigma: f64) -> Self {
        let targets = Targets::Values { values: models::normals(2, 30), outputs: 1 };
        Self { data: Dataset::new(models::normals(1, 30 * D), D, targets).unwrap(), delta, sigma }
    }

    fn targets(&self) -> &[f64] {
        let Targets::Values { values, .. } = self.data.targets() else { panic!() };
        values
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.data.inputs()[i * D..(i + 1) * D]
    }

    /// The trained network and its Laplace approximation.
    fn fit(&self) -> (NetworkLoss, Laplace) {
        let layers = vec![LayerSpec::Linear { outputs: 1, bias: false }];
        let network = models::network(&NetworkSpec { input: Shape::Features(D), layers });
        let likelihood = Likelihood::Gaussian { sigma_noise: self.sigma };
        let prior = Prior::isotropic(self.delta, D).unwrap();
        let loss = NetworkLoss::new(network, self.data.clone(), likelihood, prior).unwrap();
        let mut theta = vec![0.0; D];
        lbfgs(
            &loss,
            &mut theta,
            &Lbfgs { gradient_tolerance: 1e-11, ..Default::default() },
            Control::default(),
        )
        .unwrap();
        let config = LaplaceConfig { prior: PriorChoice::Keep, ..Default::default() };
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        (loss, laplace)
    }

    /// Covariance of the observations, XXᵀ/δ + σ²I.
    fn covariance(&self) -> Cholesky {
        let n = self.data.len();
        let mut matrix = Matrix::zeros(n, n);
        for j in 0..n {
            for i in 0..n {
                matrix.column_mut(j)[i] = dot(self.row(i), self.row(j)) / self.delta;
            }
        }
        matrix.add_diagonal(vec![self.sigma * self.sigma; n]);
        Cholesky::new("covariance of y", "", &matrix).unwrap()
    }

    /// Mean and variance of w·x given the data, in the dual form: another formula than P⁻¹.
    fn predict(&self, x: &[f64]) -> (f64, f64) {
        let covariance = self.covariance();
        let cross: Vec<f64> = (0..self.data.len()).map(|i| dot(self.row(i), x) / self.delta).collect();
        let mut solved = cross.clone();
        covariance.solve_lower(&mut solved);
        covariance.solve_upper(&mut solved);
        (dot(&solved, self.targets()), dot(x, x) / self.delta - dot(&solved, &cross))
    }
}

const CASES: [(f64, f64); 3] = [(1.0, 0.5), (0.03, 0.1), (20.0, 2.0)];

#[test]
fn closed_form_predictions_of_linear_regression_are_exact() {
    let x = models::normals(9, 7 * D);
    for (delta, sigma) in CASES {
        let problem = LinearRegression::new(delta, sigma);
        let (loss, laplace) = problem.fit();
        let (mean, variance): (Vec<f64>, Vec<f64>) = x.chunks_exact(D).map(|x| problem.predict(x)).unzip();
        let predictor = Posterior::of_network(&loss, &laplace, PosteriorConfig::new(Method::LinLa))
            .and_then(|posterior| posterior.predictor())
            .unwrap();
        let out = loss.outputs().unwrap().linearized_moments(&laplace.gaussian, &x).unwrap();
        assert_close("mean", &out.mean, &mean, 1e-9);
        assert_close("variance", &out.variance, &variance, 1e-9);
        let prediction = predictor.predict_closed_form(&x).unwrap();
        let values = prediction.values().unwrap();
        assert_close("epistemic", &values.epistemic_variance, &variance, 1e-9);
        let total: Vec<f64> = variance.iter().map(|v| v + sigma * sigma).collect();
        assert_close("variance of an observation", &values.variance(), &total, 1e-9);
    }
}

#[test]
fn evidence_of_linear_regression_is_the_exact_marginal_likelihood() {
    for (delta, sigma) in CASES {
        let problem = LinearRegression::new(delta, sigma);
        let covariance = problem.covariance();
        let mut white = problem.targets().to_vec();
        covariance.solve_lower(&mut white);
        let n = problem.data.len() as f64;
        let exact =
            -0.5 * (dot(&white, &white) + covariance.log_det() + n * (2.0 * std::f64::consts::PI).ln());
        let laplace = problem.fit().1;
        assert_close("log p(D)", &[laplace.log_marginal_likelihood.unwrap()], &[exact], 1e-10);
    }
}

#[test]
fn closed_form_and_monte_carlo_agree_where_both_are_exact() {
    // 4000 draws: the mean has a standard error of √(var/4000), the variance of var·√(2/3999).
    // Bounds of 4.5 of these over 7 points each: two-sided level 1e-4; a variance that is wrong
    // by a factor of 2 is 45 standard errors off.
    let problem = LinearRegression::new(1.0, 0.5);
    let (loss, laplace) = problem.fit();
    let x = models::normals(9, 7 * D);
    let draw = |i| {
        let mut rng = riemla::random::stream(3, riemla::random::Purpose::Draw, i);
        sum(laplace.gaussian.theta(), &laplace.gaussian.draw_tangent(&mut rng))
    };
    let draws: Vec<Vec<f64>> = (0..4000).map(draw).collect();
    let draws: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
    let posterior = Posterior::of_network(&loss, &laplace, PosteriorConfig::new(Method::La)).unwrap();
    let sampled = posterior.predict(&draws, &x).unwrap();
    let exact = loss.outputs().unwrap().linearized_moments(&laplace.gaussian, &x).unwrap();
    let sampled = sampled.values().unwrap();
    for i in 0..7 {
        let variance = exact.variance[i];
        let z = (sampled.mean[i] - exact.mean[i]) / (variance / 4000.0).sqrt();
        assert!(z.abs() < 4.5, "mean off by {z:.1} standard errors");
        let z = (sampled.epistemic_variance[i] / variance - 1.0) / (2.0f64 / 3999.0).sqrt();
        assert!(z.abs() < 4.5, "variance off by {z:.1} standard errors");
    }
}

#[test]
fn class_probabilities_split_their_entropy() {
    let network = models::mlp(&[2, 5, 3], riemla::nn::Activation::Tanh);
    let thetas: Vec<Vec<f64>> = (0..20).map(|i| models::normals(i, network.dim())).collect();
    let thetas: Vec<&[f64]> = thetas.iter().map(Vec::as_slice).collect();
    let x = models::normals(40, 600 * 2);
    let model = NetworkOutputs::new(network, Likelihood::Categorical).unwrap();
    let outputs = model.evaluate(&thetas, &x).unwrap();
    let prediction = Prediction::from_outputs(&outputs, 3, Likelihood::Categorical).unwrap();
    let classes = prediction.classes().unwrap();
    let (aleatoric, epistemic) = (classes.aleatoric.as_ref().unwrap(), classes.epistemic.as_ref().unwrap());
    assert_eq!(classes.entropy.len(), 600);
    for i in 0..600 {
        let p = &classes.probabilities[3 * i..3 * i + 3];
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p.iter().all(|p| *p >= 0.0));
        assert!((classes.entropy[i] - aleatoric[i] - epistemic[i]).abs() < 1e-12);
        assert!(epistemic[i] > 0.0 && classes.entropy[i] <= 3f64.ln() + 1e-12);
    }
}

/// One linear layer: outputs are linear in the weights, so their spread is known; that of probabilities is
/// the spread of the predictions of single draws.
#[test]
fn the_spread_of_outputs_is_that_of_single_draws() {
    let network = models::mlp(&[1, 2], Activation::Tanh);
    // Weights w₀, w₁, biases b₀, b₁.
    let thetas: [&[f64]; 3] = [&[0.0, 1.0, 0.0, 0.0], &[1.0, 1.0, 0.0, 1.0], &[2.0, 1.0, 0.0, 2.0]];
    let inputs = [1.0, -2.0];
    let white = DiagonalPrecision::new(&[1.0; 4], &[0.0; 4]).unwrap();
    let gaussian = Arc::new(Gaussian::new(vec![0.0; 4], Arc::new(white)).unwrap());
    let predictor = |likelihood| {
        let outputs = NetworkOutputs::new(network.clone(), likelihood).unwrap();
        Predictor::new(Arc::new(outputs), Method::La, gaussian.clone())
    };
    for likelihood in [Likelihood::Categorical, models::GAUSSIAN] {
        let predictor = predictor(likelihood);
        let spread = predictor.spread(&thetas, &inputs).unwrap();
        assert_eq!(spread.outputs, [1.0, 1.0, 2.0, 1.0]);
        let Some(found) = spread.probabilities else {
            assert_eq!(likelihood, models::GAUSSIAN);
            continue;
        };
        let first = |theta: &&[f64]| {
            let one = predictor.predict(&[theta], &inputs).unwrap();
            one.classes().unwrap().probabilities[3]
        };
        let p: Vec<f64> = thetas.iter().map(first).collect();
        let mean = p.iter().sum::<f64>() / 3.0;
        let expected = (p.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
        assert!((found[3] - expected).abs() < 1e-15 && (found[2] - expected).abs() < 1e-15);
    }
    assert!(predictor(models::GAUSSIAN).spread(&thetas[..1], &inputs).is_err());
}
