//! Curvature, evidence and the Laplace approximation: reference values and failures.

mod common;
mod models;

use common::{Fixture, assert_close, banana, both, snelson};
use riemla::Control;
use riemla::Error;
use riemla::curvature::{
    Curvature, Evidence, Gaussian, Laplace, LaplaceConfig, PriorChoice, Refit, Structure, Subset,
    SubsetRanges, ggn_diagonal, ggn_full, hessian_diagonal, hessian_full,
};
use riemla::linalg::factor::symmetric_eigenvalues;
use riemla::linalg::vector::{dot, norm};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior, PriorPrecision};
use riemla::random::{Purpose, stream};

fn all(f: &Fixture) -> SubsetRanges {
    Subset::All.ranges(&f.network).unwrap()
}

fn keep() -> LaplaceConfig {
    LaplaceConfig { prior: PriorChoice::Keep, ..Default::default() }
}

fn sigma(likelihood: Likelihood) -> Option<f64> {
    if let Likelihood::Gaussian { sigma_noise } = likelihood { Some(sigma_noise) } else { None }
}

#[test]
fn curvature_is_the_references() {
    for f in both() {
        let (loss, theta, k) = (f.loss(f.scalar("prior_precision")), f.array("theta"), f.network.dim());
        let ggn = ggn_full(&loss, theta, &all(&f));
        let hessian = hessian_full(&loss, theta, &all(&f)).unwrap();
        assert_close("diagonal of the GGN", &ggn_diagonal(&loss, theta, &all(&f)), f.array("ggn_diag"), 1e-9);
        let entries = hessian_diagonal(&loss, theta, &all(&f)).unwrap();
        assert_close("diagonal of the Hessian", &entries, f.array("hess_diag"), 1e-9);
        let mut product = vec![0.0; k];
        for i in 0..5 {
            ggn.mul_vector(f.row("V", i, k), &mut product);
            assert_close("GGN·V", &product, f.row("ggn_V", i, k), 1e-9);
            hessian.mul_vector(f.row("V", i, k), &mut product);
            assert_close("Hessian·V", &product, f.row("hess_V", i, k), 1e-9);
        }
        if f.name == "snelson15" {
            assert_close("GGN", ggn.as_slice(), f.array("ggn"), 1e-9);
            assert_close("Hessian", hessian.as_slice(), f.array("hess_nll"), 1e-9);
        }
    }
}

/// The evidence of the full GGN at the reference's weights.
fn evidence(f: &Fixture) -> Evidence {
    let (loss, theta) = (f.loss(f.scalar("prior_precision")), f.array("theta"));
    let values = symmetric_eigenvalues("GGN", &ggn_full(&loss, theta, &all(f))).unwrap();
    let evidence = Evidence::new(values, dot(theta, theta), loss.log_likelihood(theta));
    let Some(sigma) = sigma(f.likelihood) else { return evidence };
    let square_error = 2.0 * sigma * sigma * f.scalar("nll");
    evidence.with_noise(sigma, f.data.len(), square_error)
}

#[test]
fn evidence_is_the_references() {
    for f in both() {
        let (given, best) = (f.scalar("prior_precision"), f.scalar("prior_precision_opt"));
        let (evidence, noise) = (evidence(&f), sigma(f.likelihood));
        let at = |delta: f64| evidence.log_marginal_likelihood(delta, noise).unwrap();
        assert_close("log_marglik", &[at(given)], &[f.scalar("log_marglik")], 1e-8);
        assert_close("log_marglik_opt", &[at(best)], &[f.scalar("log_marglik_opt")], 1e-8);
        let found = evidence.best_precision(noise).unwrap();
        assert_close("prior_precision_opt", &[found], &[best], 1e-6);
        let fitted = Laplace::fit(&f.loss(given), f.array("theta"), &keep(), Control::default()).unwrap();
        let value = fitted.log_marginal_likelihood.unwrap();
        assert_close("log_marglik of a fit", &[value], &[f.scalar("log_marglik")], 1e-8);
        assert_eq!((fitted.prior.scalar(), fitted.likelihood), (Some(given), f.likelihood));
    }
    let f = banana();
    let fitted =
        Laplace::fit(&f.loss(1.0), f.array("theta"), &LaplaceConfig::default(), Control::default()).unwrap();
    assert_close("δ", &[fitted.prior.scalar().unwrap()], &[f.scalar("prior_precision_opt")], 1e-6);
    let value = fitted.log_marginal_likelihood.unwrap();
    assert_close("log_marglik_opt of a fit", &[value], &[f.scalar("log_marglik_opt")], 1e-8);
}

#[test]
fn regression_maximises_the_evidence_over_precision_and_noise_together() {
    let f = snelson();
    let evidence = evidence(&f);
    let best = evidence.optimum().unwrap();
    let (delta, sigma) = (best.prior_precision, best.sigma_noise.unwrap());
    let at =
        |s: f64, t: f64| evidence.log_marginal_likelihood(delta * s.exp(), Some(sigma * t.exp())).unwrap();
    let top = at(0.0, 0.0);
    assert_eq!(top, best.log_marginal_likelihood);
    let h = 1e-4;
    for slope in [(at(h, 0.0) - at(-h, 0.0)) / (2.0 * h), (at(0.0, h) - at(0.0, -h)) / (2.0 * h)] {
        assert!(slope.abs() < 1e-6, "slope {slope:.2e} at the optimum");
    }
    for i in -60..=60 {
        for j in -30..=30 {
            let value = at(0.15 * f64::from(i), 0.1 * f64::from(j));
            assert!(value <= top + 1e-9, "{value} above {top} at {i}, {j}");
        }
    }
    // The evidence at another noise must be that of a model computed with that noise.
    let noisy = f.loss(0.5).with(Likelihood::Gaussian { sigma_noise: sigma }, f.prior(delta)).unwrap();
    let direct = Laplace::fit(&noisy, f.array("theta"), &keep(), Control::default()).unwrap();
    assert_close("rescaled", &[top], &[direct.log_marginal_likelihood.unwrap()], 1e-10);
    // And a fit must put that noise into its precision.
    let fitted =
        Laplace::fit(&f.loss(0.5), f.array("theta"), &LaplaceConfig::default(), Control::default()).unwrap();
    let Likelihood::Gaussian { sigma_noise } = fitted.likelihood else { panic!("{:?}", fitted.likelihood) };
    assert_close("noise", &[sigma_noise], &[sigma], 1e-12);
    assert_close(
        "log det",
        &[fitted.gaussian.precision().log_det()],
        &[direct.gaussian.precision().log_det()],
        1e-10,
    );
}

#[test]
fn refitting_settles_with_weights_and_precision_both_stationary() {
    let network = models::mlp(&[1, 4, 1], Activation::Tanh);
    let data = riemla::data::toy::sine_with_gap(40, 0.1, 3).unwrap();
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    let likelihood = Likelihood::Gaussian { sigma_noise: 0.3 };
    let loss = NetworkLoss::new(network.clone(), data.clone(), likelihood, prior).unwrap();
    let refit = Some(Refit { max_rounds: 200, tolerance: 1e-7 });
    let config = LaplaceConfig { refit, ..Default::default() };
    let fitted = Laplace::fit(&loss, &network.initialize(1), &config, Control::default()).unwrap();
    assert!((2..200).contains(&fitted.refit_rounds), "{} rounds", fitted.refit_rounds);
    // θ minimises the loss under the final δ and σ …
    let settled = fitted.loss(&loss).unwrap();
    let mut gradient = vec![0.0; network.dim()];
    settled.value_and_gradient(fitted.gaussian.theta(), &mut gradient);
    assert!(norm(&gradient) < 1e-4 * norm(fitted.gaussian.theta()), "‖∇L‖ = {:.2e}", norm(&gradient));
    assert_close("gradient_norm", &[fitted.gradient_norm], &[norm(&gradient)], 1e-9);
    // … which maximise the evidence at θ.
    let again =
        Laplace::fit(&settled, fitted.gaussian.theta(), &LaplaceConfig::default(), Control::default())
            .unwrap();
    assert_close("δ", &[again.prior.scalar().unwrap()], &[fitted.prior.scalar().unwrap()], 1e-6);
    assert_close("σ", &[sigma(again.likelihood).unwrap()], &[sigma(fitted.likelihood).unwrap()], 1e-6);
    // With a prior that is kept, the weights go to their minimum under it.
    let kept =
        Laplace::fit(&loss, fitted.gaussian.theta(), &LaplaceConfig { refit, ..keep() }, Control::default())
            .unwrap();
    loss.value_and_gradient(kept.gaussian.theta(), &mut gradient);
    assert!(norm(&gradient) < 1e-4 * norm(kept.gaussian.theta()), "‖∇L‖ = {:.2e}", norm(&gradient));
    assert_eq!((kept.prior.scalar(), kept.likelihood), (Some(1.0), likelihood));
}

#[test]
fn per_layer_priors_enter_the_precision_layer_by_layer() {
    let network = models::mlp(&[2, 3, 2], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 15, 1.0);
    let theta = network.initialize(1);
    let prior = PriorChoice::Fixed(PriorPrecision::PerLayer(vec![0.5, 7.0]));
    let fitted =
        Laplace::fit(&loss, &theta, &LaplaceConfig { prior, ..Default::default() }, Control::default())
            .unwrap();
    let ggn = ggn_full(&loss, &theta, &Subset::All.ranges(&network).unwrap());
    let delta = |k: usize| if k < 9 { 0.5f64 } else { 7.0 };
    let mut precision = ggn.clone();
    precision.add_diagonal((0..network.dim()).map(delta));
    let eigenvalues = riemla::linalg::factor::symmetric_eigenvalues("P", &precision).unwrap();
    let log_det: f64 = eigenvalues.iter().map(|v| v.ln()).sum();
    let log_prior: f64 =
        theta.iter().enumerate().map(|(k, t)| 0.5 * (delta(k).ln() - delta(k) * t * t)).sum();
    let expected = loss.log_likelihood(&theta) + log_prior - 0.5 * log_det;
    assert!((fitted.log_marginal_likelihood.unwrap() - expected).abs() < 1e-9);
    for k in 0..network.dim() {
        let mut unit = vec![0.0; network.dim()];
        unit[k] = 1.0;
        let mut column = vec![0.0; network.dim()];
        fitted.gaussian.precision().mul(&unit, &mut column);
        let mut expected = ggn.column(k).to_vec();
        expected[k] += delta(k);
        assert_close("column of P", &column, &expected, 1e-12);
    }
}

#[test]
fn an_indefinite_hessian_is_an_error_with_numbers() {
    let f = banana();
    let loss = f.loss(1e-3);
    let theta = f.network.initialize(1);
    for structure in [Structure::Full, Structure::Diagonal] {
        let config = LaplaceConfig { curvature: Curvature::Hessian, structure, ..keep() };
        let error = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap_err();
        let Error::NotPositiveDefinite { pivot, dim, value, ref remedy, .. } = error else {
            panic!("{error}")
        };
        assert!(dim == 354 && pivot < dim && value < 0.0 && remedy.contains("GGN"), "{error}");
        let optimized = LaplaceConfig { prior: PriorChoice::Optimize, ..config };
        let error = Laplace::fit(&loss, &theta, &optimized, Control::default()).unwrap_err();
        assert!(matches!(error, Error::Unsupported(ref text) if text.contains("negative")), "{error}");
    }
}

#[test]
fn a_singular_curvature_without_prior_is_an_error() {
    // Softmax outputs do not change when all logits move together, so the GGN is singular however
    // many data there are; and with few data it is singular anyway.
    for (network, n) in [
        (models::mlp(&[2, 2], Activation::Tanh), 50),
        (models::mlp(&[2, 5, 3], Activation::Tanh), 100),
        (models::mlp(&[2, 8, 2], Activation::Tanh), 4),
    ] {
        for seed in 0..8 {
            let loss = models::loss(&network, Likelihood::Categorical, n, 0.0);
            let error = Laplace::fit(&loss, &network.initialize(seed), &keep(), Control::default());
            assert!(matches!(error, Err(Error::NotPositiveDefinite { .. })), "{:?}", error.map(|_| "fitted"));
        }
    }
    // Units that are off: zero curvature on the diagonal.
    let network = models::mlp(&[1, 2, 1], Activation::Relu);
    let loss = models::loss(&network, models::GAUSSIAN, 5, 0.0);
    let config = LaplaceConfig { structure: Structure::Diagonal, ..keep() };
    let error = Laplace::fit(&loss, &vec![0.0; network.dim()], &config, Control::default());
    assert!(matches!(error, Err(Error::NotPositiveDefinite { pivot: 0, value: 0.0, .. })));
}

#[test]
fn an_approximation_put_together_from_its_parts_draws_the_same_bits() {
    let network = models::mlp(&[2, 5, 2], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 20, 1.0);
    let theta = network.initialize(1);
    for structure in [Structure::Full, Structure::Diagonal] {
        let config = LaplaceConfig { structure, ..LaplaceConfig::default() };
        let fitted = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        let parts = fitted.gaussian.precision().parts().unwrap();
        let precision = parts.assemble().unwrap();
        let gaussian = Gaussian::on_subset(
            fitted.gaussian.theta().to_vec(),
            fitted.gaussian.subset().clone(),
            precision,
        );
        let again = Laplace::from_parts(gaussian.unwrap(), fitted.prior.clone(), fitted.likelihood).unwrap();
        let draw = |laplace: &Laplace| laplace.gaussian.draw_tangent(&mut stream(3, Purpose::Draw, 1));
        assert_eq!(draw(&fitted), draw(&again));
        assert_eq!(again.gaussian.precision().parts().unwrap(), parts);
    }
}
