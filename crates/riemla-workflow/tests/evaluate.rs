//! What scores were made from: every input that changes is seen.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use riemla::curvature::{LaplaceConfig, PriorChoice};
use riemla::data::toy::two_moons;
use riemla::nn::Activation;
use riemla::objective::PriorPrecision;
use riemla::posterior::{Method, PosteriorConfig};
use riemla::score::Bootstrap;
use riemla_files::Existing;
use riemla_files::identity::differences;
use riemla_workflow::watch::{Session, Silent};
use riemla_workflow::workflow::guarantees::Wanted;
use riemla_workflow::workflow::members::Weighting;
use riemla_workflow::workflow::{
    DataFiles, EvaluateConfig, FitConfig, NetworkChoice, SampleConfig, TrainConfig, evaluate, fit, sample,
    train,
};
use serde_json::Value;

/// All that scores depend on, the same except for one thing.
#[derive(Clone)]
struct Case {
    training_seed: u64,
    prior: f64,
    draws: u64,
    draw_seed: u64,
    test: u64,
    strange: u64,
    validation: Option<u64>,
    resamples: usize,
    max_error: Option<f64>,
}

impl Case {
    fn new() -> Self {
        Self {
            training_seed: 1,
            prior: 1.0,
            draws: 4,
            draw_seed: 1,
            test: 2,
            strange: 3,
            validation: Some(4),
            resamples: 5,
            max_error: None,
        }
    }

    /// The evaluation as JSON, made in a directory of its own.
    fn evaluated(&self, scratch: &Path) -> Value {
        let table = |seed: u64| DataFiles::new(table(scratch, seed));
        let config = TrainConfig {
            network: NetworkChoice::Hidden(vec![3], Activation::Tanh),
            prior: PriorChoice::Fixed(PriorPrecision::Scalar(1.0)),
            baselines: false,
            seed: self.training_seed,
            ..TrainConfig::new(table(1).data)
        };
        let model = train(&config, Session::silent()).expect("trains").model;
        let prior = PriorChoice::Fixed(PriorPrecision::Scalar(self.prior));
        let laplace = LaplaceConfig { prior, ..LaplaceConfig::default() };
        let config = FitConfig {
            data: table(1),
            laplace,
            may_be_low_rank: false,
            memory: None,
            keep_data: true,
            other_data: false,
        };
        let fitted = fit(model, &config, Session::silent()).expect("fits").posterior;
        let place = tempfile::tempdir_in(scratch).expect("a directory");
        let posterior = place.path().join("posterior");
        fitted.write(&posterior, Existing::Refuse).expect("writes");
        let config = SampleConfig::new(PosteriorConfig::new(Method::La), self.draws, self.draw_seed);
        sample(&posterior, &config, Session::silent()).expect("draws");
        let config = EvaluateConfig {
            data: table(self.test),
            ood: vec![table(self.strange)],
            validation: self.validation.map(table),
            sets: Vec::new(),
            bootstrap: Bootstrap { resamples: self.resamples, ..Bootstrap::default() },
            wanted: Wanted { max_error: self.max_error, conformal: None },
            weighting: Weighting::Equal,
        };
        evaluate(&posterior, &config, &Silent).expect("scores").to_json()
    }
}

fn table(scratch: &Path, seed: u64) -> PathBuf {
    let data = two_moons(60, 0.2, seed).expect("data");
    let mut text = String::from("x,y,kind\n");
    for (x, label) in data.inputs().chunks(2).zip(data.labels().expect("labels")) {
        writeln!(text, "{},{},{}", x[0], x[1], ["a", "b"][*label]).expect("a string");
    }
    let path = scratch.join(format!("{seed}.csv"));
    std::fs::write(&path, text).expect("writes");
    path
}

fn of_set(evaluation: &Value, name: &str) -> Value {
    let methods = evaluation["methods"].as_array().expect("methods");
    methods.iter().find(|method| method["method"] == name).expect("the set")["made_from"].clone()
}

type Change = fn(&mut Case);

#[test]
fn every_input_of_scores_changes_their_identity() {
    let scratch = tempfile::tempdir().expect("a directory");
    let first = Case::new().evaluated(scratch.path());
    assert_eq!(Case::new().evaluated(scratch.path())["made_from"], first["made_from"]);
    assert_eq!(first["made_from"]["test"].as_str().map(str::len), Some(32));
    let cases: [(Change, &str); 8] = [
        (|case| case.training_seed = 9, "posterior"),
        (|case| case.prior = 1.5, "posterior"),
        (|case| case.test = 7, "the values of the test data differ"),
        (|case| case.strange = 7, "the out-of-distribution data differ"),
        (|case| case.validation = Some(7), "held_out was"),
        (|case| case.validation = None, "held_out was"),
        (|case| case.resamples = 6, "bootstrap.resamples was 5, but is 6 now"),
        (|case| case.max_error = Some(0.3), "wanted.max_error was not set, but is 0.3 now"),
    ];
    for (change, words) in cases {
        let mut case = Case::new();
        change(&mut case);
        let found = differences(&first["made_from"], &case.evaluated(scratch.path())["made_from"]);
        // Another training holds out other rows, by which inputs are scaled.
        assert!(found.len() == 1 || case.training_seed == 9, "{words}: {found:?}");
        assert!(found.iter().any(|text| text.contains(words)), "{words}: {found:?}");
    }
    // The draws belong to one method.
    for change in [Case { draws: 5, ..Case::new() }, Case { draw_seed: 2, ..Case::new() }] {
        let other = change.evaluated(scratch.path());
        assert_eq!(other["made_from"], first["made_from"]);
        assert_ne!(of_set(&other, "la"), of_set(&first, "la"));
        assert_eq!(of_set(&other, "map"), of_set(&first, "map"));
    }
    // The same weights predict differently by another method.
    assert_ne!(of_set(&first, "lin-la")["method"], of_set(&first, "la")["method"]);
}
