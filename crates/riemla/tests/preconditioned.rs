//! The preconditioned loss metric: its coordinates, its geodesics, and Gaussian targets.

mod models;

use std::sync::Arc;

use models::GAUSSIAN;
use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure, Subset};
use riemla::data::toy::two_moons;
use riemla::geometry::{
    ConstrainedLeapfrog, Integrator, LossGeometry, LossMetric, Status, arc_length_factor, exponential_map,
};
use riemla::linalg::vector::norm;
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior, TwiceDifferentiable};
use riemla::ode::DormandPrince;
use riemla::posterior::{Method, MetricChoice, Posterior, PosteriorConfig, Strength};
use riemla::random::{Purpose, stream};
use riemla::testing::{assert_vectors, check_metric, check_twice_differentiable};
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

/// φ(u) = L(θ* + Su) with SSᵀ = P⁻¹, in whose coordinates the metric is I + a²∇φ∇φᵀ: another way to the same
/// geodesics, through S instead of P⁻¹.
struct Whitened<'a> {
    loss: &'a NetworkLoss,
    laplace: &'a Laplace,
}

impl Whitened<'_> {
    fn turned(&self, u: &[f64]) -> Vec<f64> {
        let mut turned = u.to_vec();
        self.laplace.gaussian.precision().sqrt_solve(&mut turned);
        turned
    }

    fn placed(&self, u: &[f64]) -> Vec<f64> {
        self.turned(u).iter().zip(self.laplace.gaussian.theta()).map(|(d, theta)| theta + d).collect()
    }

    /// S⁻¹v = SᵀPv.
    fn coordinates(&self, v: &[f64]) -> Vec<f64> {
        let mut z = vec![0.0; v.len()];
        self.laplace.gaussian.precision().mul(v, &mut z);
        self.laplace.gaussian.precision().sqrt_solve_transpose(&mut z);
        z
    }
}

impl Objective for Whitened<'_> {
    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn value(&self, u: &[f64]) -> f64 {
        self.loss.value(&self.placed(u))
    }

    fn value_and_gradient(&self, u: &[f64], gradient: &mut [f64]) -> f64 {
        let value = self.loss.value_and_gradient(&self.placed(u), gradient);
        self.laplace.gaussian.precision().sqrt_solve_transpose(gradient);
        value
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for Whitened<'_> {
    fn curvature_along(&self, u: &[f64], v: &[f64]) -> f64 {
        self.loss.curvature_along(&self.placed(u), &self.turned(v))
    }

    fn hvp(&self, u: &[f64], v: &[f64], out: &mut [f64]) {
        self.loss.hvp(&self.placed(u), &self.turned(v), out);
        self.laplace.gaussian.precision().sqrt_solve_transpose(out);
    }
}

#[test]
fn geodesics_are_those_of_the_plain_metric_in_white_coordinates() {
    let structures =
        [Structure::Full, Structure::Diagonal, Structure::Kronecker, Structure::LowRank { rank: 5 }];
    for (structure, strength) in structures.into_iter().zip([0.1, 0.5, 0.3, 0.2]) {
        let (loss, laplace) = classifier(structure, Subset::All);
        let v = laplace.gaussian.draw_tangent(&mut stream(3, Purpose::Draw, 0));
        let geometry = LossGeometry { strength, preconditioner: Some(laplace.gaussian.precision()) };
        check_metric(&LossMetric::new(&loss, geometry).unwrap(), laplace.gaussian.theta(), &v);
        let whitened = Whitened { loss: &loss, laplace: &laplace };
        check_twice_differentiable(&whitened, &vec![0.1; v.len()], 2);
        let mut z = whitened.coordinates(&v);
        let factor = arc_length_factor(strength * norm(&z));
        z.iter_mut().for_each(|z| *z *= factor);
        let solver = DormandPrince { rtol: 1e-10, atol: 1e-12, ..Default::default() };
        let exact = Integrator::DormandPrince(solver);
        let origin = vec![0.0; v.len()];
        let expected =
            exponential_map(&whitened, strength, &exact, &origin, &z, 0, Control::default()).unwrap();
        let ends = (whitened.placed(&expected.end), whitened.turned(&expected.velocity));
        let leapfrog = Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(1e-8));
        for (integrator, tolerance) in [(exact, 1e-6), (leapfrog, 1e-3)] {
            let theta = laplace.gaussian.theta();
            let found =
                exponential_map(&loss, geometry, &integrator, theta, &v, 3, Control::default()).unwrap();
            assert_eq!((found.status, expected.status), (Status::Reached, Status::Reached));
            for (what, a, b) in [("end", &found.end, &ends.0), ("velocity", &found.velocity, &ends.1)] {
                assert_vectors(&format!("{structure:?}, {what}"), a, b, tolerance, tolerance);
            }
            let (d, e) = (found.diagnostics, expected.diagnostics);
            let pairs = [(d.speed, e.speed), (d.loss_bound, e.loss_bound), (d.loss_end, e.loss_end)];
            pairs.iter().for_each(|(a, b)| assert!((a / b - 1.0).abs() < tolerance, "{d:?} {e:?}"));
            assert!(d.speed_drift < 1e-6, "{d:?}");
            assert_eq!(found.path[0].theta, theta);
            assert_eq!(found.path[2].theta, found.end);
        }
    }
}

#[test]
fn a_preconditioner_of_another_size_is_refused() {
    let (loss, _) = classifier(Structure::Full, Subset::All);
    let (_, other) = classifier(Structure::Full, Subset::LastLayer);
    let geometry = LossGeometry { strength: 0.1, preconditioner: Some(other.gaussian.precision()) };
    let zeros = vec![0.0; loss.dim()];
    let integrator = Integrator::default();
    assert!(exponential_map(&loss, geometry, &integrator, &zeros, &zeros, 0, Control::default()).is_err());
    assert!(LossMetric::new(&loss, geometry).is_err());
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
