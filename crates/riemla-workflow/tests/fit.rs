//! Which rows a fit sees: those that training held out never enter it unnoticed.

use std::fmt::Write as _;

use riemla::curvature::{LaplaceConfig, PriorChoice};
use riemla::data::toy::two_moons;
use riemla::nn::Activation;
use riemla_files::Model;
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::{FitConfig, Fitted, NetworkChoice, TrainConfig, WorkflowError, fit, train};

fn table(seed: u64) -> String {
    let data = two_moons(60, 0.2, seed).expect("data");
    let mut text = String::from("x,y,kind\n");
    for (x, label) in data.inputs().chunks(2).zip(data.labels().expect("labels")) {
        writeln!(text, "{},{},{}", x[0], x[1], ["a", "b"][*label]).expect("a string");
    }
    text
}

#[test]
fn a_record_without_a_digest_still_knows_its_held_out_rows() {
    let scratch = tempfile::tempdir().expect("a directory");
    let [own, other] = ["own.csv", "other.csv"].map(|name| scratch.path().join(name));
    std::fs::write(&own, table(1)).expect("writes");
    std::fs::write(&other, table(2)).expect("writes");
    let config = TrainConfig {
        network: NetworkChoice::Hidden(vec![4], Activation::Tanh),
        baselines: false,
        ..TrainConfig::new(&own)
    };
    let mut model = train(&config, Session::silent()).expect("trains").model;
    let training = model.training.as_mut().expect("a record");
    let held_out = training.held_out.expect("held-out rows").rows;
    // As records of other programs and of old.
    training.data = None;
    let fitted = |model: &Model, data, other_data| -> Result<Fitted, WorkflowError> {
        let laplace = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        let data = riemla_workflow::workflow::DataFiles::new(data);
        let config =
            FitConfig { data, laplace, may_be_low_rank: false, memory: None, keep_data: true, other_data };
        fit(model.clone(), &config, Session::silent())
    };
    assert_eq!(fitted(&model, &own, false).expect("fits").rows, (60 - held_out, held_out));
    let words = format!("{held_out} rows that training held out");
    let refused = fitted(&model, &other, false).expect_err("other data").to_string();
    assert!(refused.contains(&words) && refused.contains("--other-data"), "{refused}");
    let all = fitted(&model, &other, true).expect("fits");
    assert_eq!(all.rows, (60, 0));
    assert!(all.warnings.iter().any(|warning| warning.contains(&words)), "{:?}", all.warnings);
    // Nothing is known of a training without any record of its rows.
    model.training.as_mut().expect("a record").held_out = None;
    assert_eq!(fitted(&model, &other, false).expect("fits").rows, (60, 0));
}
