//! The Fisher metric: its law, its three solves, Gaussian targets, and brute-force Christoffel symbols.

mod models;

use std::sync::Arc;

use models::{GAUSSIAN, mlp, normals};
use riemla::Control;
use riemla::Error;
use riemla::curvature::{
    DiagonalPrecision, Laplace, LaplaceConfig, PriorChoice, Subset, SubsetRanges, ggn_full,
};
use riemla::geometry::{FisherMetric, FisherSolve, Integrator, Metric, Status, geodesic_of_metric};
use riemla::linalg::Matrix;
use riemla::linalg::factor::Cholesky;
use riemla::linalg::vector::{axpy, distance, dot, norm};
use riemla::nn::{Activation, Network};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, Objective, Prior};
use riemla::ode::DormandPrince;
use riemla::posterior::{BatchDesign, BatchPlan, Method, MetricChoice, Posterior, PosteriorConfig, Strength};
use riemla::testing::{assert_vectors, check_metric};
use riemla::train::{Lbfgs, lbfgs};

fn cases() -> [(Arc<Network>, Likelihood); 8] {
    [
        (mlp(&[2, 4, 3], Activation::Tanh), Likelihood::Categorical),
        (mlp(&[2, 5, 1], Activation::SOFTPLUS), Likelihood::Bernoulli),
        (mlp(&[1, 6, 2], Activation::Tanh), GAUSSIAN),
        (mlp(&[1, 6, 2], Activation::Tanh), models::per_output(&[0.3, 1.4])),
        (mlp(&[2, 5, 2], Activation::Tanh), Likelihood::Heteroscedastic),
        (mlp(&[2, 5, 2], Activation::Tanh), Likelihood::Poisson),
        (mlp(&[2, 5, 2], Activation::Tanh), Likelihood::MultiLabel),
        (models::network(&models::small_cnn()), Likelihood::Categorical),
    ]
}

fn all(network: &Network) -> SubsetRanges {
    Subset::All.ranges(network).unwrap()
}

#[test]
fn the_speed_is_constant_at_random_points() {
    for (network, likelihood) in cases() {
        let loss = models::loss(&network, likelihood, 12, 0.4);
        let center = network.initialize(7);
        for subset in [Subset::All, Subset::LastLayer] {
            let subset = subset.ranges(&network).unwrap();
            for seed in 0..3 {
                let theta = subset.gather(&network.initialize(seed));
                let v: Vec<f64> = normals(seed, theta.len()).iter().map(|e| 0.5 * e).collect();
                let metric = FisherMetric::new(&loss, &center, &subset).unwrap();
                check_metric(&metric, &theta, &v);
                check_metric(&metric.linearized(), &theta, &v);
            }
        }
    }
}

#[test]
fn the_metric_is_the_curvature_of_the_laplace_approximation() {
    for (network, likelihood) in cases() {
        let loss = models::loss(&network, likelihood, 9, 0.4);
        let (theta, subset) = (network.initialize(1), all(&network));
        let metric = FisherMetric::new(&loss, &theta, &subset).unwrap();
        let (v, w) = (normals(1, theta.len()), normals(2, theta.len()));
        let mut product = vec![0.0; v.len()];
        ggn_full(&loss, &theta, &subset).mul_vector(&v, &mut product);
        axpy(0.4, &v, &mut product);
        assert_vectors("inner", &[metric.inner(&theta, &v, &w)], &[dot(&w, &product)], 1e-10, 1.0);
        assert_vectors("loss", &[metric.loss(&theta)], &[loss.value(&theta)], 1e-14, 1.0);
        let center = network.initialize(2);
        let linear = FisherMetric::new(&loss, &center, &subset).unwrap().linearized().loss(&theta);
        let exact = models::loss(&network, likelihood, 9, 0.4);
        let expected = LinearizedLoss::new(exact, &center).unwrap().value(&theta);
        assert_vectors("linearised loss", &[linear], &[expected], 1e-12, 1.0);
    }
}

#[test]
fn the_three_solves_agree_and_are_chosen_by_size() {
    for (network, likelihood) in cases() {
        let (theta, subset) = (network.initialize(1), all(&network));
        let v = normals(3, theta.len());
        for (n, chosen) in [(3, FisherSolve::Dual), (200, FisherSolve::Dense)] {
            let data = models::data(&network, likelihood, n, 5);
            let prior = Prior::isotropic(0.4, network.dim()).unwrap();
            // On a batch, so that the scale N/B is not 1.
            let rows: Vec<usize> = (0..n).step_by(2).collect();
            let loss = NetworkLoss::new(network.clone(), data.clone(), likelihood, prior)
                .and_then(|loss| loss.on_rows(&rows))
                .unwrap();
            let metric = || FisherMetric::new(&loss, &theta, &subset).unwrap();
            assert_eq!(metric().solve(), chosen);
            let mut results = Vec::new();
            for solve in [FisherSolve::Dense, FisherSolve::Dual, FisherSolve::ConjugateGradients] {
                let mut out = vec![f64::NAN; v.len()];
                metric().with_solve(solve).unwrap().acceleration(&theta, &v, &mut out);
                results.push(out);
            }
            assert_vectors("dual", &results[1], &results[0], 1e-8, 1e-12);
            assert_vectors("conjugate gradients", &results[2], &results[0], 1e-8, 1e-12);
            // A preconditioner only changes the way to the solution.
            let near = DiagonalPrecision::new(&vec![1.0; v.len()], &vec![0.4; v.len()]).unwrap();
            let mut shared = vec![f64::NAN; v.len()];
            let sharing = metric().sharing(&near).unwrap().with_solve(FisherSolve::Shared).unwrap();
            sharing.acceleration(&theta, &v, &mut shared);
            assert_vectors("shared", &shared, &results[0], 1e-5, 1e-8);
            assert!(matches!(metric().with_solve(FisherSolve::Shared), Err(Error::Unsupported(_))));
            let other = DiagonalPrecision::new(&[1.0], &[0.4]).unwrap();
            assert!(metric().sharing(&other).is_err());
        }
        let flat = models::loss(&network, likelihood, 3, 0.0);
        let metric = FisherMetric::new(&flat, &theta, &subset).unwrap();
        assert_ne!(metric.solve(), FisherSolve::Dual);
        assert!(matches!(metric.with_solve(FisherSolve::Dual), Err(Error::Range { .. })));
    }
}

/// c̈ᵏ = −Γᵏᵢⱼ vⁱvʲ with Γ = ½G⁻¹(∂ᵢGⱼ + ∂ⱼGᵢ − ∂Gᵢⱼ), ∂G by central differences.
#[test]
fn the_acceleration_is_that_of_brute_force_christoffel_symbols() {
    for (network, likelihood) in [
        (mlp(&[2, 2], Activation::Tanh), Likelihood::Categorical),
        (mlp(&[2, 1], Activation::Tanh), Likelihood::Bernoulli),
        (mlp(&[1, 2, 3], Activation::Tanh), Likelihood::Categorical),
        (mlp(&[1, 2, 1], Activation::Tanh), GAUSSIAN),
        (mlp(&[1, 2, 2], Activation::Tanh), Likelihood::Heteroscedastic),
        (mlp(&[1, 2, 1], Activation::Tanh), Likelihood::Poisson),
        (mlp(&[1, 2, 2], Activation::Tanh), Likelihood::MultiLabel),
    ] {
        let loss = models::loss(&network, likelihood, 8, 0.3);
        let (theta, subset) = (network.initialize(4), all(&network));
        let k = theta.len();
        let tensor = |shift: Option<(usize, f64)>| {
            let mut at = theta.clone();
            if let Some((i, h)) = shift {
                at[i] += h;
            }
            let mut g = ggn_full(&loss, &at, &subset);
            g.add_diagonal(vec![0.3; k]);
            g
        };
        let h = 1e-5;
        let v = normals(6, k);
        let mut force = vec![0.0; k];
        for i in 0..k {
            let (plus, minus) = (tensor(Some((i, h))), tensor(Some((i, -h))));
            let entries = plus.as_slice().iter().zip(minus.as_slice()).map(|(p, m)| (p - m) / (2.0 * h));
            let d = Matrix::from_columns(k, k, entries.collect());
            let mut dv = vec![0.0; k];
            d.mul_vector(&v, &mut dv);
            // ∂ᵢG vⁱ v, and half of vᵀ∂ᵢG v.
            axpy(-v[i], &dv, &mut force);
            force[i] += 0.5 * dot(&v, &dv);
        }
        let cholesky = Cholesky::new("G", "", &tensor(None)).unwrap();
        cholesky.solve_lower(&mut force);
        cholesky.solve_upper(&mut force);
        let mut acceleration = vec![f64::NAN; k];
        FisherMetric::new(&loss, &theta, &subset).unwrap().acceleration(&theta, &v, &mut acceleration);
        assert_vectors("acceleration", &acceleration, &force, 1e-6, 1e-6);
    }
}

#[test]
fn gaussian_targets_give_straight_lines() {
    let network = mlp(&[3, 2], Activation::Tanh);
    let loss = models::loss(&network, GAUSSIAN, 30, 0.5);
    let (theta, subset) = (network.initialize(1), all(&network));
    let v = normals(2, theta.len());
    let metric = FisherMetric::new(&loss, &theta, &subset).unwrap();
    let geodesic =
        geodesic_of_metric(&metric, &DormandPrince::default(), &theta, &v, 3, Control::default()).unwrap();
    let mut straight = theta.clone();
    axpy(1.0, &v, &mut straight);
    assert!(distance(&geodesic.end, &straight) < 1e-13 * norm(&straight));
    assert_eq!((geodesic.status, geodesic.path.len()), (Status::Reached, 3));
    assert!(geodesic.diagnostics.speed_drift < 1e-13 && geodesic.diagnostics.loss_bound.is_infinite());
    assert_eq!(geodesic.diagnostics.loss_end, loss.value(&geodesic.end));
    assert!(
        geodesic_of_metric(&metric, &DormandPrince::default(), &theta[1..], &v, 0, Control::default())
            .is_err()
    );
}

#[test]
fn posteriors_run_with_the_fisher_metric() {
    let network = mlp(&[2, 4, 2], Activation::Tanh);
    let data = Arc::new(riemla::data::toy::two_moons(40, 0.2, 1).unwrap());
    let prior = Prior::isotropic(0.5, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data.clone(), Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    for subset in [Subset::All, Subset::LastLayer] {
        let config = LaplaceConfig { prior: PriorChoice::Keep, subset, ..Default::default() };
        let laplace = Arc::new(Laplace::fit(&loss, &theta, &config, Control::default()).unwrap());
        let make = |config| Posterior::of_network(&loss, &laplace, config);
        for method in [Method::RiemLa, Method::LinRiemLa] {
            for batch in [None, Some(BatchPlan::new(20, BatchDesign::Stratified))] {
                let config = PosteriorConfig { batch, ..PosteriorConfig::fisher(method) };
                let posterior = make(config).unwrap();
                let set = posterior.sample(1, 4, Control::default()).unwrap();
                assert!(set.failed.is_empty() && set.max_speed_drift() < 2e-3, "{:?}", set.failed);
                assert!(set.calibration.is_none());
                let traced = posterior.trace_geodesic(1, 2, 4).unwrap();
                assert_eq!(traced.end, set.draws[2].theta);
                // Distances from θ* in the metric are those of the tangents: |v|² ~ χ²(K).
                let last = network.last_layer().start;
                let fixed = laplace.gaussian.subset().len() < theta.len();
                assert!(!fixed || set.draws.iter().all(|d| d.theta[..last] == theta[..last]));
            }
        }
        // Combinations without a meaning.
        let leapfrog =
            PosteriorConfig { metric: MetricChoice::Fisher, ..PosteriorConfig::paper(Method::RiemLa) };
        assert!(matches!(make(leapfrog.clone()), Err(Error::Unsupported(_))));
        let strength = Strength::virial();
        let ruled = PosteriorConfig { strength, ..PosteriorConfig::fisher(Method::RiemLa) };
        assert!(matches!(make(ruled), Err(Error::Unsupported(_))));
        assert!(matches!(leapfrog.integrator, Integrator::ConstrainedLeapfrog(_)));
    }
    assert_eq!(serde_json::to_string(&MetricChoice::Fisher).unwrap(), "\"fisher\"");
    assert_eq!(serde_json::from_str::<MetricChoice>("\"loss\"").unwrap(), MetricChoice::Loss);
}
