//! A small model, a posterior and draws for the tests.
#![allow(dead_code)] // each test binary uses its own part

use std::sync::Arc;

use riemla::curvature::{Laplace, LaplaceConfig, Structure, Subset};
use riemla::data::toy::two_moons;
use riemla::geometry::{Counters, Diagnostics, Status};
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior, PriorPrecision};
use riemla::posterior::{Draw, GeodesicSummary, Method, PolishSummary, PosteriorConfig};
use riemla_files::encoding::{Encoding, Feature, Target};
use riemla_files::{Digest, FittedTo, Model, Origin, RunInfo, SavedPosterior, TrainingData, TrainingRecord};

pub fn model() -> Model {
    let network = NetworkSpec::mlp(&[2, 4, 2], Activation::Tanh);
    let theta = Network::new(&network).unwrap().initialize(3);
    let features = ["x", "y"].map(|name| Feature::Number {
        column: name.into(),
        mean: 0.1 + 0.2,
        std: 1.0 / 3.0,
        fill: None,
        indicator: false,
    });
    let classes = vec!["a".to_string(), "b".to_string()];
    Model {
        network,
        likelihood: Likelihood::Categorical,
        prior_precision: PriorPrecision::Scalar(0.1),
        encoding: Some(Encoding {
            features: features.to_vec(),
            target: Target::Classes { column: "kind".into(), classes, text: true },
            weights: None,
        }),
        training: Some(TrainingRecord {
            class_weights: None,
            method: "lbfgs".into(),
            seed: Some(1),
            samples: 30,
            loss: f64::INFINITY,
            gradient_norm: 1e-7 / 3.0,
            iterations: 10,
            status: "converged".into(),
            data: None,
            held_out: None,
        }),
        theta,
    }
}

pub fn posterior(structure: Structure, subset: Subset) -> SavedPosterior {
    let model = model();
    let network = Arc::new(Network::new(&model.network).unwrap());
    let data = two_moons(30, 0.2, 1).unwrap();
    let prior = Prior::new(&model.prior_precision, &network).unwrap();
    let loss = NetworkLoss::new(network, data.clone(), model.likelihood, prior).unwrap();
    let config = LaplaceConfig { structure, subset, ..LaplaceConfig::default() };
    let laplace = Laplace::fit(&loss, &model.theta, &config, riemla::Control::default()).unwrap();
    let training = TrainingData { validation: Some(data.select(&[3, 1]).unwrap()), train: data };
    let fitted_to = FittedTo::from(&training);
    SavedPosterior { model, config, laplace, data: Some(training), fitted_to }
}

pub const DIM: usize = 3;

pub fn run() -> RunInfo {
    RunInfo::new(PosteriorConfig::paper(Method::RiemLa), 5, DIM, origin())
}

/// Made up, but of the right form.
pub fn fitted_to() -> FittedTo {
    let digest = |number: f64| Digest::of_numbers([&[number][..]]);
    FittedTo { rows: 30, data: digest(4.0), held_out_rows: 2, held_out: Some(digest(5.0)) }
}

/// Made up, but of the right form.
pub fn origin() -> Origin {
    let digest = |number: f64| Digest::of_numbers([&[number][..]]);
    Origin {
        riemla_version: env!("CARGO_PKG_VERSION").into(),
        network: digest(1.0),
        weights: digest(2.0),
        gaussian: digest(3.0),
        prior_precision: vec![0.1],
        likelihood: Some(Likelihood::Gaussian { sigma_noise: 0.5 }),
        uncertain_weights: vec![[0, DIM]],
        data: Some(fitted_to()),
    }
}

pub fn draws(count: u64) -> Vec<Draw> {
    let summary = |i: u64| GeodesicSummary {
        status: Status::Reached,
        t: 1.0,
        counters: Counters { values: i as usize, gradients: 20, curvatures: 0, steps: 9, rejections: 1 },
        diagnostics: Diagnostics {
            speed: 1.0 / 3.0,
            speed_drift: 1e-9 / 7.0,
            loss_start: 1.0,
            loss_end: 2.0,
            speed_correction: 1e-4,
            loss_bound: 3.0,
        },
        attempts: 1,
    };
    let polish = |i: u64| PolishSummary {
        gradients: 101,
        proposals: 10,
        accepted: i as usize % 11,
        acceptance: 0.7,
        loss_start: 2.0,
        loss_half: 1.0 / 3.0,
        loss_end: 1e-300,
        square_start: 1.5,
        square_end: f64::INFINITY,
        overlap: -0.1,
    };
    let draw = |i| {
        let polish = Some(polish(i));
        Draw { polish, ..Draw::new(i, vec![i as f64 / 3.0; DIM], Some(summary(i))) }
    };
    (0..count).map(draw).collect()
}

/// Puts the right checksum into JSON, wherever one still ends it.
pub fn repair_json(bytes: &mut [u8]) {
    repair_object(bytes, b",\n  \"checksum\": \"crc32-");
}

/// The same for each line.
pub fn repair_lines(bytes: &mut [u8]) {
    bytes.split_mut(|byte| *byte == b'\n').for_each(|line| repair_object(line, b",\"checksum\":\"crc32-"));
}

fn repair_object(bytes: &mut [u8], before: &[u8]) {
    let Some(end) = bytes.windows(before.len()).rposition(|window| window == before) else { return };
    let sum = format!("{:08x}", crc32fast::hash(&bytes[..end]));
    if let Some(place) = bytes.get_mut(end + before.len()..).and_then(|rest| rest.get_mut(..8)) {
        place.copy_from_slice(sum.as_bytes());
    }
}

/// Puts the right checksum into a safetensors file.
pub fn repair_tensors(bytes: &mut [u8]) {
    const PLACE: usize = 8 + "{\"__metadata__\":{\"checksum\":\"crc32-".len();
    if let Some(place) = bytes.get_mut(PLACE..PLACE + 8) {
        place.fill(b'0');
        let sum = format!("{:08x}", crc32fast::hash(bytes));
        bytes[PLACE..PLACE + 8].copy_from_slice(sum.as_bytes());
    }
}
