//! Flipped bits in the files of every stage: the commands that use them say so and what to do.

mod common;

use std::fs;

use common::{Scratch, text};

/// Flips a bit at several places of a file and runs a command, which must name the file and a remedy.
fn is_reported(scratch: &Scratch, file: &str, command: &str, remedy: &str) {
    let whole = scratch.bytes(file);
    for part in 0..8 {
        let place = (whole.len() - 1) * part / 7;
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << part;
        scratch.write(file, &damaged);
        let message = scratch.fails(command);
        let name = file.rsplit('/').next().expect("a name");
        for expected in [name, "damaged", remedy] {
            assert!(message.contains(expected), "{command}, byte {place}: {expected}: {message}");
        }
    }
    scratch.write(file, &whole);
    scratch.ok(command);
}

#[test]
fn models_posteriors_and_draws() {
    let scratch = Scratch::new();
    scratch.posterior();
    scratch.ok("sample posterior -n 3");
    scratch.ok("sample posterior -m nuts --warmup 50 -n 8");
    for file in ["model/model.json", "model/weights.safetensors"] {
        is_reported(&scratch, file, "export model --out net.safetensors --force", "riemla train");
    }
    let predict = "predict posterior -m riem-la --data test.csv --out predictions.csv";
    for file in
        ["model.json", "weights.safetensors", "posterior.json", "posterior.safetensors", "data.safetensors"]
    {
        is_reported(&scratch, &format!("posterior/{file}"), predict, "riemla fit");
        is_reported(&scratch, &format!("posterior/{file}"), "sample posterior -n 3", "riemla fit");
    }
    for file in ["samples.json", "samples.safetensors", "samples.jsonl"] {
        is_reported(&scratch, &format!("posterior/samples/riem-la/{file}"), predict, "samples.*");
        let evaluate = "evaluate posterior --data test.csv --resamples 5";
        is_reported(&scratch, &format!("posterior/samples/riem-la/{file}"), evaluate, "samples.*");
    }
    let set = "posterior/samples/riem-la";
    is_reported(&scratch, &format!("{set}/calibration.json"), "sample posterior -n 3", "remove it");
    let chains = "sample posterior -m nuts --warmup 50 -n 8";
    is_reported(&scratch, "posterior/samples/nuts/chains.json", chains, "remove it");
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
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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

#[test]
fn results_of_experiments() {
    let scratch = Scratch::new();
    let run =
        "reproduce pinwheel --quick --preset calibrated --seeds 1 --samples 2 --prior optimized --out r";
    scratch.ok(run);
    let resume = format!("{run} --resume --quiet");
    is_reported(&scratch, "r/runs.jsonl", &resume, "remove it");
    is_reported(&scratch, "r/runs.jsonl", "reproduce report r", "remove it");
    // With the records gone everything else is read again.
    fs::remove_file(scratch.join("r/runs.jsonl")).expect("removes");
    let place = "r/samples/pinwheel/seed-0/optimized/calibrated";
    for file in [
        "r/fits/pinwheel/seed-0.json".to_string(),
        "r/fits/pinwheel/seed-0/weights.safetensors".into(),
        "r/fits/pinwheel/seed-0/model.json".into(),
        format!("{place}/riem-la.strength.json"),
        format!("{place}/riem-la/samples.safetensors"),
    ] {
        let whole = scratch.bytes(&file);
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        scratch.write(&file, damaged);
        let message = scratch.fails(&resume);
        assert!(message.contains("is damaged") && message.contains("again"), "{file}: {message}");
        scratch.write(&file, whole);
        fs::remove_file(scratch.join("r/runs.jsonl")).ok();
    }
    scratch.ok(&resume);
}
