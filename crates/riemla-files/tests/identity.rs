//! Whatever a result depends on, a change of it is seen and named.

mod common;

use std::fs;
use std::sync::Arc;

use common::{DIM, draws, fitted_to, model, origin, posterior, run};
use riemla::Control;
use riemla::curvature::{
    Curvature, DiagonalPrecision, Gaussian, Laplace, LaplaceConfig, Precision, PriorChoice, Structure, Subset,
};
use riemla::data::Dataset;
use riemla::data::toy::two_moons;
use riemla::nn::{Activation, Arithmetic, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior, PriorPrecision};
use riemla::posterior::{BatchDesign, BatchPlan, Method, MetricChoice, PosteriorConfig, Strength};
use riemla_files::samples::{read_samples, write_samples};
use riemla_files::{Digest, Error, Existing, FittedTo, Origin, RunInfo, SampleStore, SavedPosterior};

fn other() -> Digest {
    Digest::of_numbers([&[9.0][..]])
}

// Long on purpose: one change after the other, so that nothing a set depends on is forgotten.
#[test]
fn a_log_and_a_set_name_everything_that_has_changed() {
    let of = |depends_on: Origin| RunInfo { depends_on, ..run() };
    let data = |data: FittedTo| of(Origin { data: Some(data), ..origin() });
    let paper = PosteriorConfig::paper(Method::RiemLa);
    let config = |config: PosteriorConfig| RunInfo { config: config.into(), ..run() };
    let batch = Some(BatchPlan::new(8, BatchDesign::leverage()));
    let cases = [
        (RunInfo { seed: 6, ..run() }, "seed was 5, but is 6 now"),
        (
            config(PosteriorConfig { strength: Strength::Fixed(0.5), ..paper.clone() }),
            "config.strength.fixed was 1.0",
        ),
        (config(PosteriorConfig { strength: Strength::virial(), ..paper.clone() }), "config.strength was"),
        (
            config(PosteriorConfig { metric: MetricChoice::Preconditioned, ..paper.clone() }),
            "config.metric was",
        ),
        (config(PosteriorConfig { batch, ..paper.clone() }), "config.batch was not set"),
        (
            config(PosteriorConfig { arithmetic: Arithmetic::Single, ..paper.clone() }),
            "config.arithmetic was not set, but is \"single\" now",
        ),
        (config(PosteriorConfig { method: Method::LinRiemLa, ..paper }), "config.method was \"riem-la\""),
        (
            of(Origin { riemla_version: "0.0.9".into(), ..origin() }),
            "riemla_version was \"0.1.0\", but is \"0.0.9\"",
        ),
        (of(Origin { network: other(), ..origin() }), "the layers of the network differ"),
        (of(Origin { weights: other(), ..origin() }), "the trained weights differ"),
        (of(Origin { gaussian: other(), ..origin() }), "the curvatures of the Laplace approximation differ"),
        (
            of(Origin { prior_precision: vec![0.2], ..origin() }),
            "prior_precision was [0.1], but is [0.2] now",
        ),
        (
            of(Origin { likelihood: Some(Likelihood::Gaussian { sigma_noise: 0.7 }), ..origin() }),
            "sigma_noise was 0.5, but is 0.7 now",
        ),
        (of(Origin { uncertain_weights: vec![[1, DIM]], ..origin() }), "uncertain_weights was [[0,3]]"),
        (data(FittedTo { rows: 29, ..fitted_to() }), "data.rows was 30, but is 29 now"),
        (data(FittedTo { data: other(), ..fitted_to() }), "the values of the training data differ"),
        (data(FittedTo { held_out: None, ..fitted_to() }), "the values of the held-out data differ"),
    ];
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("draws.log");
    SampleStore::open(&log, &run()).unwrap().append(&draws(1)[0]).unwrap();
    write_samples(directory.path(), &run(), &draws(2)).unwrap();
    let second = directory.path().join("second.log");
    for (changed, message) in cases {
        for opened in [
            SampleStore::open(&log, &changed),
            SampleStore::continue_set(&second, directory.path(), &changed),
        ] {
            let error = opened.unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains(message) && text.contains("--name"), "{message}: {text}");
        }
        assert!(!second.exists());
    }
    assert_eq!(SampleStore::open(&log, &run()).unwrap().len(), 1);
    // A log that is gone begins with the finished set.
    let store = SampleStore::continue_set(&second, directory.path(), &run()).unwrap();
    assert_eq!((store.len(), store.missing(4)), (2, vec![2, 3]));
}

/// The same except for one thing.
struct Case {
    spec: NetworkSpec,
    theta: Vec<f64>,
    data: Dataset,
    likelihood: Likelihood,
    config: LaplaceConfig,
}

impl Case {
    fn new() -> Self {
        let spec = NetworkSpec::mlp(&[2, 4, 2], Activation::Tanh);
        let theta = Network::new(&spec).unwrap().initialize(3);
        let prior = PriorChoice::Fixed(PriorPrecision::Scalar(1.0));
        let config = LaplaceConfig { prior, ..LaplaceConfig::default() };
        Self {
            spec,
            theta,
            data: two_moons(30, 0.2, 1).unwrap(),
            likelihood: Likelihood::Categorical,
            config,
        }
    }

    fn origin(&self) -> serde_json::Value {
        let network = std::sync::Arc::new(Network::new(&self.spec).unwrap());
        let prior = Prior::isotropic(1.0, network.dim()).unwrap();
        let loss = NetworkLoss::new(network, self.data.clone(), self.likelihood, prior).unwrap();
        let laplace = Laplace::fit(&loss, &self.theta, &self.config, Control::default()).unwrap();
        let held_out = self.data.select(&[0, 1]).unwrap();
        let data = FittedTo::new(&self.data, Some(&held_out));
        serde_json::to_value(Origin::new(&self.spec, &laplace, data)).unwrap()
    }
}

#[test]
fn every_input_of_a_posterior_changes_its_identity() {
    let first = Case::new().origin();
    assert_eq!(Case::new().origin(), first);
    let next = |value: f64| f64::from_bits(value.to_bits() + 1);
    let changed = |change: &dyn Fn(&mut Case)| {
        let mut case = Case::new();
        change(&mut case);
        let now = case.origin();
        let fields = first.as_object().unwrap().iter().filter(|(key, value)| now[key.as_str()] != **value);
        fields.map(|(key, _)| key.clone()).collect::<Vec<_>>()
    };
    let has = |change: &dyn Fn(&mut Case), field: &str| {
        let found = changed(change);
        assert!(found.iter().any(|key| key == field), "{field} is not among {found:?}");
    };
    has(&|case| case.theta[5] = next(case.theta[5]), "weights");
    has(&|case| case.spec = NetworkSpec::mlp(&[2, 4, 2], Activation::Sigmoid), "network");
    has(&|case| case.config.prior = PriorChoice::Fixed(PriorPrecision::Scalar(1.5)), "prior_precision");
    has(&|case| case.config.subset = Subset::LastLayer, "uncertain_weights");
    has(&|case| case.config.structure = Structure::Diagonal, "gaussian");
    has(&|case| case.config.curvature = Curvature::EmpiricalFisher, "gaussian");
    has(&|case| case.data = two_moons(31, 0.2, 1).unwrap(), "data");
    let value = |case: &mut Case| {
        let mut inputs = case.data.inputs().to_vec();
        inputs[7] = next(inputs[7]);
        case.data = Dataset::new(inputs, 2, case.data.targets().clone()).unwrap();
    };
    has(&value, "data");
    let label = |case: &mut Case| {
        let mut labels = case.data.labels().unwrap().to_vec();
        labels[7] = 1 - labels[7];
        case.data = Dataset::classification(case.data.inputs().to_vec(), 2, labels).unwrap();
    };
    has(&label, "data");
    // Noise, with numbers as targets.
    let numbers = |sigma_noise: f64| {
        let mut case = Case::new();
        let values = case.data.inputs().to_vec();
        case.data = Dataset::regression(case.data.inputs().to_vec(), 2, values, 2).unwrap();
        case.likelihood = Likelihood::Gaussian { sigma_noise };
        case.origin()["likelihood"].clone()
    };
    assert_ne!(numbers(0.5), numbers(0.6));
}

#[test]
fn files_of_different_fits_are_not_mixed() {
    let directory = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
    let first = posterior(Structure::Full, Subset::All);
    first.write(&a, Existing::Refuse).unwrap();
    let mut second = posterior(Structure::Full, Subset::All);
    second.model.theta[0] += 1e-9;
    second.config.curvature = Curvature::EmpiricalFisher;
    let network = std::sync::Arc::new(Network::new(&second.model.network).unwrap());
    let data = two_moons(30, 0.2, 2).unwrap();
    let prior = Prior::new(&second.model.prior_precision, &network).unwrap();
    let loss = NetworkLoss::new(network, data.clone(), second.model.likelihood, prior).unwrap();
    second.laplace = Laplace::fit(&loss, &second.model.theta, &second.config, Control::default()).unwrap();
    second.fitted_to = FittedTo::new(&data, None);
    second.data = Some(riemla_files::TrainingData { train: data, validation: None });
    second.write(&b, Existing::Refuse).unwrap();
    for file in ["weights.safetensors", "posterior.safetensors", "data.safetensors"] {
        let own = fs::read(a.join(file)).unwrap();
        fs::copy(b.join(file), a.join(file)).unwrap();
        let error = SavedPosterior::read(&a).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{file}: {error}");
        assert!(error.to_string().contains("another fit"), "{error}");
        fs::write(a.join(file), own).unwrap();
    }
    assert_eq!(SavedPosterior::read(&a).unwrap().origin(), first.origin());
    assert_ne!(model().digest(), second.model.digest());
}

#[test]
fn draws_of_another_set_are_not_mixed_in() {
    let directory = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
    for (place, shift) in [(&a, 0.0), (&b, 1e-12)] {
        fs::create_dir(place).unwrap();
        let mut draws = draws(3);
        draws[1].theta[0] += shift;
        write_samples(place, &run(), &draws).unwrap();
    }
    fs::copy(b.join("samples.safetensors"), a.join("samples.safetensors")).unwrap();
    let error = read_samples(&a).unwrap_err();
    assert!(error.to_string().contains("another set"), "{error}");
}

/// A precision of one's own, which does not say what it consists of.
#[derive(Debug)]
struct Own(DiagonalPrecision);

impl Precision for Own {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn mul(&self, x: &[f64], out: &mut [f64]) {
        self.0.mul(x, out);
    }

    fn solve(&self, x: &mut [f64]) {
        self.0.solve(x);
    }

    fn sqrt_solve(&self, x: &mut [f64]) {
        self.0.sqrt_solve(x);
    }

    fn sqrt_solve_transpose(&self, x: &mut [f64]) {
        self.0.sqrt_solve_transpose(x);
    }

    fn log_det(&self) -> f64 {
        self.0.log_det()
    }

    fn inverse_quadratic(&self, x: &mut [f64], count: usize) -> Vec<f64> {
        self.0.inverse_quadratic(x, count)
    }
}

#[test]
fn precisions_of_ones_own_are_told_apart() {
    let of = |diagonal: &[f64]| {
        let precision = Own(DiagonalPrecision::new(diagonal, &vec![0.0; diagonal.len()]).unwrap());
        let gaussian = Gaussian::new(vec![0.0; diagonal.len()], Arc::new(precision)).unwrap();
        Origin::of_model(&"mine", &gaussian).gaussian
    };
    let first = of(&[1.0, 2.0, 4.0]);
    assert_eq!(of(&[1.0, 2.0, 4.0]), first);
    // The same determinant.
    assert_ne!(of(&[1.0, 4.0, 2.0]), first);
    assert_ne!(of(&[1.0, 2.0, 4.1]), first);
    assert_ne!(of(&[1.0, 8.0]), first);
}
