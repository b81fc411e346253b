//! Flipped bits in the files of every stage: the commands that use them say so and what to do.

mod common;

use std::fs;

use common::text;

#[test]
fn models_posteriors_and_draws() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 3");
    scratch.ok("sample posterior -m nuts --warmup 50 -n 8");
    for file in ["model/model.json", "model/weights.safetensors"] {
        scratch.reports_damage(file, "export model --out net.safetensors --force", "riemla train");
    }
    let predict = "predict posterior -m riem-la --data test.csv --out predictions.csv";
    for file in
        ["model.json", "weights.safetensors", "posterior.json", "posterior.safetensors", "data.safetensors"]
    {
        scratch.reports_damage(&format!("posterior/{file}"), predict, "riemla fit");
        scratch.reports_damage(&format!("posterior/{file}"), "sample posterior -n 3", "riemla fit");
    }
    for file in ["samples.json", "samples.safetensors", "samples.jsonl"] {
        scratch.reports_damage(&format!("posterior/samples/riem-la/{file}"), predict, "samples.*");
        let evaluate = "evaluate posterior --data test.csv --resamples 5";
        scratch.reports_damage(&format!("posterior/samples/riem-la/{file}"), evaluate, "samples.*");
    }
    let set = "posterior/samples/riem-la";
    scratch.reports_damage(&format!("{set}/calibration.json"), "sample posterior -n 3", "remove it");
    let chains = "sample posterior -m nuts --warmup 50 -n 8";
    scratch.reports_damage("posterior/samples/nuts/chains.json", chains, "remove it");
    // The remedies help.
    let whole = scratch.bytes(&format!("{set}/calibration.json"));
    scratch.write(&format!("{set}/calibration.json"), "{}");
    scratch.fails("sample posterior -n 3");
    fs::remove_file(scratch.join(&format!("{set}/calibration.json"))).expect("removes");
    scratch.ok("sample posterior -n 3");
    let strength =
        |bytes: &[u8]| text(bytes).lines().find(|line| line.contains("strength")).map(str::to_string);
    assert_eq!(strength(&scratch.bytes(&format!("{set}/calibration.json"))), strength(&whole));
    let whole = scratch.bytes(&format!("{set}/samples.safetensors"));
    for file in ["samples.json", "samples.safetensors", "samples.jsonl"] {
        fs::remove_file(scratch.join(&format!("{set}/{file}"))).expect("removes");
    }
    scratch.ok("sample posterior -n 3");
    assert_eq!(scratch.bytes(&format!("{set}/samples.safetensors")), whole);
}

#[test]
fn trials_of_a_search() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 2");
    let set = "posterior/samples/riem-la";
    // As if the search were not finished yet.
    let place = scratch.join(&format!("{set}/calibration.trials.json"));
    fs::rename(scratch.join(&format!("{set}/calibration.json")), &place).expect("moves");
    let mut trials = fs::read(&place).expect("reads");
    trials[30] ^= 4;
    fs::write(place, trials).expect("writes");
    let message = scratch.fails("sample posterior -n 2");
    assert!(
        message.contains("calibration.trials.json is damaged") && message.contains("remove it"),
        "{message}"
    );
}

#[test]
fn a_log_of_draws_says_what_it_lost_and_draws_it_again() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 6 --strength 0.1");
    let set = "posterior/samples/riem-la";
    let (log, draws) =
        (scratch.bytes(&format!("{set}/draws.log")), scratch.bytes(&format!("{set}/samples.safetensors")));
    let mut damaged = log.clone();
    damaged[log.len() / 2] ^= 1;
    scratch.write(&format!("{set}/draws.log"), &damaged);
    let output = scratch.run("sample posterior -n 6 --strength 0.1");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let message = text(&output.stderr);
    assert!(message.contains("draws.log was damaged") && message.contains("drawn again"), "{message}");
    let new = text(&output.stdout).lines().find(|line| line.starts_with("of which new")).map(str::to_string);
    assert!(new.is_some_and(|line| line.ends_with(" 1")), "{}", text(&output.stdout));
    assert_eq!(scratch.bytes(&format!("{set}/samples.safetensors")), draws, "the same bits");
    damaged = log;
    damaged[20] ^= 1;
    scratch.write(&format!("{set}/draws.log"), &damaged);
    let message = scratch.fails("sample posterior -n 6 --strength 0.1");
    assert!(message.contains("draws.log is damaged") && message.contains("remove it"), "{message}");
}
