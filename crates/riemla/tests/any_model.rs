//! Posteriors of models that are no networks, and of networks that hide that they are one.

mod models;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use models::{Hidden, mlp, normals};
use riemla::curvature::{
    DiagonalPrecision, FullPrecision, Gaussian, HessianSearch, Laplace, LaplaceConfig, Precision, PriorChoice,
};
use riemla::data::Dataset;
use riemla::data::toy::two_moons;
use riemla::error::Failure;
use riemla::geometry::Integrator;
use riemla::linalg::Matrix;
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior};
use riemla::ode::DormandPrince;
use riemla::posterior::{
    BatchDesign, BatchPlan, Method, Model, Outputs, Posterior, PosteriorConfig, SearchStatus, Strength,
    warnings,
};
use riemla::reference::{Nuts, nuts};
use riemla::train::{Lbfgs, lbfgs};
use riemla::{Control, Error, Result};

/// ½θᵀAθ with A = diag(scales) + uuᵀ.
struct Bowl {
    scales: Vec<f64>,
    u: Vec<f64>,
}

impl Bowl {
    fn new(k: usize) -> Self {
        let scales = (0..k).map(|i| 0.5 + i as f64).collect();
        Self { scales, u: normals(3, k) }
    }

    fn matrix(&self) -> Matrix {
        let k = self.u.len();
        let mut matrix = Matrix::zeros(k, k);
        for j in 0..k {
            (0..k).for_each(|i| matrix.column_mut(j)[i] = self.u[i] * self.u[j]);
        }
        matrix.add_diagonal(self.scales.iter().copied());
        matrix
    }
}

impl Objective for Bowl {
    fn dim(&self) -> usize {
        self.u.len()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let mut gradient = vec![0.0; theta.len()];
        self.value_and_gradient(theta, &mut gradient)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let inner: f64 = self.u.iter().zip(theta).map(|(u, t)| u * t).sum();
        for (((g, s), u), t) in gradient.iter_mut().zip(&self.scales).zip(&self.u).zip(theta) {
            *g = s * t + inner * u;
        }
        0.5 * gradient.iter().zip(theta).map(|(g, t)| g * t).sum::<f64>()
    }
}

impl Model for Bowl {}

fn log_det(matrix: &Matrix) -> f64 {
    FullPrecision::from_matrix(matrix).unwrap().log_det()
}

/// A Gaussian posterior: with its own precision every draw is θ* + v, at any strength, whatever the
/// structure; and the rule finds that no strength is needed.
#[test]
fn a_gaussian_density_is_drawn_exactly() {
    let bowl = Arc::new(Bowl::new(6));
    let given: Arc<dyn Precision> = Arc::new(FullPrecision::from_matrix(&bowl.matrix()).unwrap());
    let found =
        Gaussian::at_minimum(&*bowl, &[0.0; 6], HessianSearch::default(), Control::default()).unwrap();
    assert!((found.precision().log_det() - log_det(&bowl.matrix())).abs() < 1e-8);
    for gaussian in [Gaussian::new(vec![0.0; 6], given).unwrap(), found] {
        let gaussian = Arc::new(gaussian);
        let sample = |method, strength| {
            let config = PosteriorConfig { strength, ..PosteriorConfig::new(method) };
            let posterior = Posterior::new(bowl.clone(), gaussian.clone(), config).unwrap();
            let set = posterior.sample(5, 40, Control::default()).unwrap();
            assert!(set.failed.is_empty());
            let rises = posterior.loss_rises(&set.thetas()).unwrap();
            assert!((rises.iter().sum::<f64>() / 40.0 - 3.0).abs() < 4.0 * (3.0f64 / 40.0).sqrt());
            set
        };
        let straight = sample(Method::La, Strength::Fixed(1.0));
        for strength in [Strength::Fixed(0.3), Strength::Fixed(2.0), Strength::typical(), Strength::virial()]
        {
            let set = sample(Method::RiemLa, strength);
            for (a, b) in set.draws.iter().zip(&straight.draws) {
                let distance: f64 = a.theta.iter().zip(&b.theta).map(|(a, b)| (a - b).powi(2)).sum();
                assert!(distance.sqrt() < 1e-3, "{strength:?}: {distance:e}");
            }
        }
    }
}

impl Model for Hidden {
    fn prior(&self) -> Option<&Prior> {
        Some(self.0.prior())
    }
}

fn moons() -> (NetworkLoss, Laplace) {
    let network = mlp(&[2, 5, 2], Activation::Tanh);
    let prior = Prior::isotropic(0.7, network.dim()).unwrap();
    let data = two_moons(60, 0.2, 1).unwrap();
    let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(2);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let config = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
    let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
    (loss, laplace)
}

fn opaque(loss: &NetworkLoss) -> Arc<Hidden> {
    Arc::new(Hidden(loss.with(loss.likelihood(), loss.prior().clone()).unwrap()))
}

#[test]
fn a_network_that_hides_it_gives_the_same_draws_search_and_warnings() {
    let (loss, laplace) = moons();
    for config in [
        PosteriorConfig::new(Method::RiemLa),
        PosteriorConfig::paper(Method::RiemLa),
        PosteriorConfig { strength: Strength::virial(), ..PosteriorConfig::paper(Method::RiemLa) },
        PosteriorConfig::new(Method::La),
        PosteriorConfig::new(Method::Map),
    ] {
        let open = Posterior::of_network(&loss, &laplace, config.clone()).unwrap();
        let hidden = Posterior::new(opaque(&loss), laplace.gaussian.clone(), config).unwrap();
        let (a, b) = (
            open.sample(3, 8, Control::default()).unwrap(),
            hidden.sample(3, 8, Control::default()).unwrap(),
        );
        assert_eq!((&a.draws, &a.calibration), (&b.draws, &b.calibration));
        assert_eq!(warnings(&a, &open).unwrap(), warnings(&b, &hidden).unwrap());
        let weights = |posterior: &Posterior| posterior.log_importance_weights(&a.thetas()).unwrap();
        assert_eq!(weights(&open), weights(&hidden));
    }
}

#[test]
fn an_error_names_what_the_model_lacks() {
    let (loss, laplace) = moons();
    let error =
        |config: PosteriorConfig| match Posterior::new(opaque(&loss), laplace.gaussian.clone(), config) {
            Ok(_) => panic!("no error"),
            Err(error) => error.to_string(),
        };
    let batch = Some(BatchPlan::new(5, BatchDesign::Uniform));
    let solver = Integrator::DormandPrince(DormandPrince::default());
    for (config, words) in [
        (PosteriorConfig::new(Method::LinLa), "no linearised outputs"),
        (PosteriorConfig::new(Method::LinRiemLa), "no linearised outputs"),
        (PosteriorConfig { batch, ..PosteriorConfig::new(Method::RiemLa) }, "no rows to draw batches from"),
        (PosteriorConfig::fisher(Method::RiemLa), "no Fisher metric"),
        (
            PosteriorConfig { integrator: solver, ..PosteriorConfig::new(Method::RiemLa) },
            "second derivatives",
        ),
    ] {
        let message = error(config);
        assert!(message.contains(words) && message.contains("use "), "{message}");
    }
    let plain = || {
        let config = PosteriorConfig::new(Method::RiemLa);
        Posterior::new(opaque(&loss), laplace.gaussian.clone(), config).unwrap()
    };
    for message in [
        plain().predict(&[laplace.gaussian.theta()], &[0.0, 0.0]).unwrap_err().to_string(),
        plain().with_held_out(two_moons(10, 0.2, 2).unwrap()).map(|_| ()).unwrap_err().to_string(),
    ] {
        assert!(message.contains("no outputs") && message.contains("Model::outputs"), "{message}");
    }
}

#[test]
fn the_hessian_of_any_objective_is_found_by_differences_products_and_lanczos() {
    let (loss, laplace) = moons();
    let theta = laplace.gaussian.theta();
    let at = |objective: &dyn Objective, search| {
        Gaussian::at_minimum(objective, theta, search, Control::default()).unwrap().precision().log_det()
    };
    let exact = at(&loss, HessianSearch::default());
    let differences = at(&*opaque(&loss), HessianSearch::default());
    assert!((exact - differences).abs() < 1e-5, "{exact} {differences}");
    // Beyond `dense` weights: 80 eigenvalues of a known matrix, the others equal.
    let k = 100;
    let scales = (0..k).map(|i| if i < 40 { 10.0 + i as f64 } else { 2.0 }).collect();
    let steps = Bowl { scales, u: vec![0.0; k] };
    let search = HessianSearch { dense: 50, rank: 40 };
    let found = Gaussian::at_minimum(&steps, &vec![0.0; k], search, Control::default()).unwrap();
    assert!((found.precision().log_det() - log_det(&steps.matrix())).abs() < 1e-4);
    let narrow = HessianSearch { dense: 50, rank: 10 };
    let found = Gaussian::at_minimum(&steps, &vec![0.0; k], narrow, Control::default()).unwrap();
    // The trace is kept: Hutchinson is exact for a diagonal matrix.
    let mut unit = vec![0.0; k];
    let mut trace = 0.0;
    for i in 0..k {
        unit.fill(0.0);
        unit[i] = 1.0;
        let mut image = vec![0.0; k];
        found.precision().mul(&unit, &mut image);
        trace += image[i];
    }
    let expected: f64 = steps.scales.iter().sum();
    assert!((trace / expected - 1.0).abs() < 1e-6, "{trace} {expected}");
}

#[test]
fn no_minimum_and_wrong_sizes_are_refused_with_a_remedy() {
    let saddle = Bowl { scales: vec![1.0, -1.0], u: vec![0.0; 2] };
    let search = HessianSearch::default();
    let error = Gaussian::at_minimum(&saddle, &[0.0; 2], search, Control::default()).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{error}");
    assert!(error.to_string().contains("train to a minimum"), "{error}");
    let error = Gaussian::at_minimum(&saddle, &[0.0; 3], search, Control::default()).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
    let flat = Arc::new(DiagonalPrecision::new(&[1.0; 3], &[0.0; 3]).unwrap());
    assert!(matches!(Gaussian::new(vec![0.0; 2], flat), Err(Error::Shape { .. })));
    let stop = std::sync::atomic::AtomicBool::new(true);
    let stopped = Gaussian::at_minimum(&Bowl::new(3), &[0.0; 3], search, Control::default().stopping(&stop));
    assert!(matches!(stopped, Err(Error::Stopped { .. })));
}

/// A bowl whose evaluation fails after some calls, as a callback or a device can.
struct Device {
    bowl: Bowl,
    calls_left: AtomicUsize,
    failure: OnceLock<Failure>,
}

#[derive(Debug, thiserror::Error, PartialEq)]
#[error("device {0} is gone")]
struct DeviceError(u32);

impl Device {
    fn new(calls: usize) -> Arc<Self> {
        let (calls_left, failure) = (AtomicUsize::new(calls), OnceLock::new());
        Arc::new(Self { bowl: Bowl::new(4), calls_left, failure })
    }
}

impl Objective for Device {
    fn dim(&self) -> usize {
        self.bowl.dim()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.value_and_gradient(theta, &mut vec![0.0; theta.len()])
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let left = self.calls_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if left.is_ok() {
            return self.bowl.value_and_gradient(theta, gradient);
        }
        self.failure.get_or_init(|| Failure::new(DeviceError(7)));
        f64::NAN
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.get().cloned()
    }
}

impl Model for Device {}

#[track_caller]
fn assert_device<T>(result: Result<T>) {
    match result.map(|_| ()) {
        Err(Error::Objective(failure)) => {
            assert_eq!(failure.source().downcast_ref::<DeviceError>(), Some(&DeviceError(7)));
            assert_eq!(failure.to_string(), "device 7 is gone");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_objective_that_fails_says_why_wherever_it_is_used() {
    let search = HessianSearch::default();
    let gaussian =
        Arc::new(Gaussian::at_minimum(&Bowl::new(4), &[0.0; 4], search, Control::default()).unwrap());
    for calls in [0, 3, 40] {
        for strength in [Strength::Fixed(1.0), Strength::typical()] {
            let config = PosteriorConfig { strength, ..PosteriorConfig::new(Method::RiemLa) };
            let posterior = Posterior::new(Device::new(calls), gaussian.clone(), config).unwrap();
            assert_device(posterior.sample(1, 50, Control::default()));
        }
        assert_device(lbfgs(
            &*Device::new(calls.min(3)),
            &mut [1.0; 4],
            &Lbfgs::default(),
            Control::default(),
        ));
        let starts = vec![vec![0.1; 4]; 2];
        let config = Nuts { chains: 2, warmup: 60, ..Nuts::default() };
        assert_device(nuts(&*Device::new(calls), &starts, 50, 1, &config, Control::default()));
    }
    assert_device(Gaussian::at_minimum(&*Device::new(5), &[0.0; 4], search, Control::default()));
    let posterior = |calls| {
        Posterior::new(Device::new(calls), gaussian.clone(), PosteriorConfig::new(Method::La)).unwrap()
    };
    let one = posterior(1).sample(1, 1, Control::default()).unwrap();
    assert_device(warnings(&one, &posterior(0)));
    let posterior = posterior(1);
    let draws = posterior.sample(1, 3, Control::default()).unwrap();
    assert_device(posterior.loss_rises(&draws.thetas()));
    assert_device(posterior.virial_ratio(&draws.thetas()));
}

/// y = exp(θ₀ + θ₁x) + noise: a model with outputs of its own and no network.
struct Growth(Dataset);

const NOISE: f64 = 0.3;

impl Growth {
    fn new(rows: usize, seed: u64) -> Self {
        let inputs: Vec<f64> = (0..rows).map(|i| 2.0 * i as f64 / rows as f64 - 1.0).collect();
        let noise = normals(seed, rows);
        let values = inputs.iter().zip(&noise).map(|(x, e)| (0.3 + x).exp() + NOISE * e).collect();
        Self(Dataset::regression(inputs, 1, values, 1).unwrap())
    }

    fn rows(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let riemla::data::Targets::Values { values, .. } = self.0.targets() else { unreachable!() };
        self.0.inputs().iter().copied().zip(values.iter().copied())
    }
}

impl Objective for Growth {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.value_and_gradient(theta, &mut [0.0; 2])
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(theta);
        let mut value = 0.5 * (theta[0] * theta[0] + theta[1] * theta[1]);
        for (x, y) in self.rows() {
            let f = (theta[0] + theta[1] * x).exp();
            let residual = (f - y) / (NOISE * NOISE);
            value += 0.5 * (f - y) * residual;
            gradient[0] += residual * f;
            gradient[1] += residual * f * x;
        }
        value
    }
}

impl Model for Growth {
    fn outputs(&self) -> Option<Arc<dyn Outputs>> {
        Some(Arc::new(Curve))
    }
}

struct Curve;

impl Outputs for Curve {
    fn input_len(&self) -> usize {
        1
    }

    fn output_len(&self) -> usize {
        1
    }

    fn likelihood(&self) -> Likelihood {
        Likelihood::Gaussian { sigma_noise: NOISE }
    }

    fn evaluate(&self, thetas: &[&[f64]], inputs: &[f64]) -> Result<Vec<Vec<f64>>> {
        Ok(thetas.iter().map(|t| inputs.iter().map(|x| (t[0] + t[1] * x).exp()).collect()).collect())
    }
}

#[test]
fn a_model_with_outputs_of_its_own_predicts_and_is_tuned_on_held_out_rows() {
    let growth = Arc::new(Growth::new(30, 4));
    riemla::testing::check_objective(&*growth, &[0.2, 0.7], 1);
    let mut theta = vec![0.0; 2];
    lbfgs(&*growth, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let gaussian = Arc::new(
        Gaussian::at_minimum(&*growth, &theta, HessianSearch::default(), Control::default()).unwrap(),
    );
    let config = PosteriorConfig { strength: Strength::held_out(), ..PosteriorConfig::new(Method::RiemLa) };
    let posterior =
        Posterior::new(growth, gaussian, config).unwrap().with_held_out(Growth::new(20, 9).0).unwrap();
    let set = posterior.sample(1, 60, Control::default()).unwrap();
    assert_ne!(set.calibration.as_ref().unwrap().status, SearchStatus::Stopped);
    let prediction = posterior.predict(&set.thetas(), &[0.0, 1.0]).unwrap();
    let values = prediction.values().unwrap();
    assert!((values.mean[0] - 0.3f64.exp()).abs() < 0.3 && (values.mean[1] - 1.3f64.exp()).abs() < 0.5);
    assert!(values.epistemic_variance.iter().all(|v| (1e-4..0.2).contains(v)), "{values:?}");
    assert!(values.aleatoric_variance.iter().all(|v| *v == NOISE * NOISE));
    assert!(posterior.predictor().unwrap().predict_closed_form(&[0.0]).is_err());
}

/// What threads share must say so at compile time.
#[test]
fn what_threads_share_is_send_and_sync() {
    fn shared<T: Send + Sync + ?Sized>() {}
    shared::<Posterior>();
    shared::<dyn Model>();
    shared::<dyn Outputs>();
    shared::<Gaussian>();
    shared::<riemla::predict::Predictor>();
    shared::<Error>();
}
