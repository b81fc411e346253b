//! The preconditioned loss metric: its coordinates, its geodesics, and Gaussian targets.

mod models;

use std::sync::Arc;

use models::GAUSSIAN;
use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, Precision, PriorChoice, Structure, Subset};
use riemla::data::toy::two_moons;
use riemla::geometry::{
    ConstrainedLeapfrog, Integrator, LossGeometry, Metric, Status, Whitened, arc_length_factor,
    exponential_map, geodesic_of_metric,
};
use riemla::linalg::vector::dot;
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective as _, Prior, TwiceDifferentiable};
use riemla::ode::DormandPrince;
use riemla::posterior::{Method, MetricChoice, Posterior, PosteriorConfig, Strength};
use riemla::testing::{check_metric, check_objective, check_twice_differentiable};
use riemla::train::{Lbfgs, lbfgs};

fn classifier(structure: Structure, subset: Subset) -> (NetworkLoss, Laplace) {
    let network = models::mlp(&[2, 6, 2], Activation::Tanh);
    let data = two_moons(60, 0.2, 1).unwrap();
    let prior = Prior::isotropic(0.5, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data.clone(), Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let config = LaplaceConfig { prior: PriorChoice::Keep, structure, subset, ..Default::default() };
    let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
    (loss, laplace)
}

#[test]
fn whitened_coordinates_keep_the_laws_of_an_objective() {
    for structure in
        [Structure::Full, Structure::Diagonal, Structure::Kronecker, Structure::LowRank { rank: 5 }]
    {
        let (loss, laplace) = classifier(structure, Subset::All);
        let whitened = Whitened::new(&loss, laplace.gaussian.theta(), laplace.gaussian.precision()).unwrap();
        let u: Vec<f64> = (0..loss.dim()).map(|k| (k as f64 * 0.7).sin()).collect();
        check_objective(&whitened, &u, 1);
        check_twice_differentiable(&whitened, &u, 2);
    }
    let (loss, laplace) = classifier(Structure::Full, Subset::All);
    assert!(Whitened::new(&loss, &laplace.gaussian.theta()[1..], laplace.gaussian.precision()).is_err());
}

/// s(r)/r against the integral of √(1 + a²r²) that it is, by Simpson's rule.
#[test]
fn the_arc_length_is_the_integral_of_the_slope() {
    for x in [1e-9, 1e-3, 0.4, 3.0, 50.0] {
        let n = 20_000;
        let slope = |i: usize| (x * i as f64 / n as f64).hypot(1.0);
        let weight = |i: usize| {
            if i == 0 || i == n {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            }
        };
        let integral: f64 = (0..=n).map(|i| weight(i) * slope(i)).sum::<f64>() / (3.0 * n as f64);
        assert!((arc_length_factor(x) / integral - 1.0).abs() < 1e-10, "{x}");
    }
    assert_eq!(arc_length_factor(0.0), 1.0);
}

/// P + a²∇L∇Lᵀ in the coordinates of the weights: nothing of the code under test but the loss and P.
struct Direct<'a> {
    loss: &'a NetworkLoss,
    precision: &'a dyn Precision,
    strength: f64,
}

impl Metric for Direct<'_> {
    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn inner(&self, theta: &[f64], v: &[f64], w: &[f64]) -> f64 {
        let (mut gradient, mut pw) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
        self.loss.value_and_gradient(theta, &mut gradient);
        self.precision.mul(w, &mut pw);
        dot(v, &pw) + self.strength.powi(2) * dot(&gradient, v) * dot(&gradient, w)
    }

    fn acceleration(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let mut gradient = vec![0.0; theta.len()];
        let curvature = self.loss.gradient_and_curvature(theta, v, &mut gradient);
        out.copy_from_slice(&gradient);
        self.precision.solve(out);
        let a2 = self.strength.powi(2);
        let factor = -a2 * curvature / (1.0 + a2 * dot(&gradient, out));
        out.iter_mut().for_each(|o| *o *= factor);
    }
}

#[test]
fn geodesics_are_those_of_the_metric_in_the_coordinates_of_the_weights() {
    let (loss, laplace) = classifier(Structure::Full, Subset::All);
    let v = laplace.gaussian.draw_tangent(&mut riemla::random::stream(3, riemla::random::Purpose::Draw, 0));
    for strength in [0.1, 0.5] {
        let metric = Direct { loss: &loss, precision: laplace.gaussian.precision(), strength };
        check_metric(&metric, laplace.gaussian.theta(), &v);
        let length = metric.inner(&vec![0.0; v.len()], &v, &v);
        let mut pv = vec![0.0; v.len()];
        laplace.gaussian.precision().mul(&v, &mut pv);
        let factor = arc_length_factor(strength * dot(&v, &pv).sqrt());
        assert!(length >= dot(&v, &pv) && factor > 1.0);
        let corrected: Vec<f64> = v.iter().map(|v| factor * v).collect();
        let solver = DormandPrince { rtol: 1e-10, atol: 1e-12, ..Default::default() };
        let expected =
            geodesic_of_metric(&metric, &solver, laplace.gaussian.theta(), &corrected, 0, Control::default())
                .unwrap();
        for (integrator, tolerance) in [
            (Integrator::DormandPrince(solver), 1e-6),
            (Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(1e-8)), 1e-3),
        ] {
            let found = exponential_map(
                &loss,
                LossGeometry { strength, preconditioner: Some(laplace.gaussian.precision()) },
                &integrator,
                laplace.gaussian.theta(),
                &v,
                3,
                Control::default(),
            )
            .unwrap();
            assert_eq!((found.status, expected.status), (Status::Reached, Status::Reached));
            for (what, a, b) in
                [("end", &found.end, &expected.end), ("velocity", &found.velocity, &expected.velocity)]
            {
                riemla::testing::assert_vectors(what, a, b, tolerance, tolerance);
            }
            assert_eq!(found.path[0].theta, laplace.gaussian.theta());
            assert_eq!(found.path[2].theta, found.end);
        }
    }
}

/// A linear network with Gaussian noise has a Gaussian posterior: every draw ends where its tangent
/// points, at any strength, so that the covariance is exact too. Without the correction of the
/// tangents they would fall short by a factor of 2 and more.
#[test]
fn gaussian_posteriors_are_exact_at_every_strength() {
    let network = models::mlp(&[3, 2], Activation::Tanh);
    let data = Arc::new(models::data(&network, GAUSSIAN, 30, 2));
    let prior = Prior::isotropic(0.5, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data.clone(), GAUSSIAN, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    for subset in [Subset::All, Subset::LastLayer] {
        let config = LaplaceConfig { prior: PriorChoice::Keep, subset, ..Default::default() };
        let laplace = Arc::new(Laplace::fit(&loss, &theta, &config, Control::default()).unwrap());
        let posterior = |method, strength| {
            let config = PosteriorConfig {
                metric: MetricChoice::Preconditioned,
                strength: Strength::Fixed(strength),
                ..PosteriorConfig::paper(method)
            };
            Posterior::of_network(&loss, &laplace, config).unwrap()
        };
        let exact = posterior(Method::La, 1.0).sample(1, 20, Control::default()).unwrap();
        for strength in [0.0, 0.3, 3.0] {
            for method in [Method::RiemLa, Method::LinRiemLa] {
                let found = posterior(method, strength).sample(1, 20, Control::default()).unwrap();
                for (a, b) in found.thetas().iter().zip(exact.thetas()) {
                    riemla::testing::assert_vectors("draw", a, b, 1e-3, 1e-3);
                }
            }
        }
    }
}

#[test]
fn the_metric_can_be_calibrated_and_bounds_the_rise_of_the_loss() {
    let (loss, laplace) = classifier(Structure::Full, Subset::All);
    let config = PosteriorConfig {
        metric: MetricChoice::Preconditioned,
        strength: Strength::virial(),
        ..PosteriorConfig::paper(Method::RiemLa)
    };
    let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
    let set = posterior.sample(2, 20, Control::default()).unwrap();
    assert!(set.failed.is_empty() && set.calibration.is_some(), "{:?}", set.failed);
    let strength = set.calibration.as_ref().unwrap().strength;
    let start = loss.value(posterior.gaussian().theta());
    for draw in &set.draws {
        let speed = draw.geodesic.as_ref().unwrap().diagnostics.speed;
        let rise = loss.value(&draw.theta) - start;
        assert!(strength * rise <= speed * (1.0 + 1e-6), "{rise} {speed}");
    }
}
