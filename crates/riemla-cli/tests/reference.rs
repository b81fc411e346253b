//! `riemla sample` with nuts, swag and ensemble: the same commands before and after.

mod common;

use common::{Scratch, columns};
use riemla_files::SavedPosterior;
use riemla_files::samples::read_samples;
use serde_json::Value;

const FILES: [&str; 4] = ["samples.safetensors", "samples.jsonl", "samples.json", "diagnostics.csv"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn assert_same_sets(scratch: &Scratch, one: &str, other: &str) {
    for file in FILES {
        let read = |name: &str| scratch.bytes(&format!("posterior/samples/{name}/{file}"));
        assert_eq!(read(one), read(other), "{file} of {one} and {other}");
    }
}

#[test]
fn chains_are_drawn_judged_and_used() {
    let scratch = common::scratch();
    scratch.posterior();
    let nuts = "sample posterior -m nuts --warmup 100";
    let sampled = json(&scratch.ok(&format!("{nuts} -n 121 --json")));
    assert_eq!((&sampled["draws"], &sampled["new_draws"]), (&Value::from(121), &Value::from(121)));
    let summary = &sampled["summary"];
    let ratio = summary["virial_ratio"].as_f64().expect("a number");
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
    for what in ["predictions", "loss", "weights"] {
        let r_hat = summary["chains"][what]["r_hat"].as_f64().expect("a number");
        assert!((0.9..3.0).contains(&r_hat), "{what}: {r_hat}");
    }
    assert!(summary["chains"]["record"]["warmup_gradients"].as_u64() > Some(1000));
    let warnings = sampled["warnings"].to_string();
    assert!(warnings.contains("R-hat of the predictions") && warnings.contains("at least 400"), "{warnings}");
    // In two parts, and on another number of threads: the same bits.
    scratch.ok(&format!("{nuts} -n 50 --name parts"));
    scratch.ok(&format!("--threads 1 {nuts} -n 121 --name parts"));
    assert_same_sets(&scratch, "nuts", "parts");
    assert_eq!(
        scratch.bytes("posterior/samples/nuts/chains.json"),
        scratch.bytes("posterior/samples/parts/chains.json")
    );
    // Complete: nothing is run again.
    let again = json(&scratch.ok(&format!("{nuts} -n 121 --json")));
    assert_eq!((&again["new_draws"], &again["summary"]), (&Value::from(0), summary));
    let (head, rows) = columns(&scratch.read("posterior/samples/nuts/diagnostics.csv"));
    assert_eq!(head.join(","), "draw,chain,loss,acceptance,tree_depth,gradients,diverging");
    assert!(rows.iter().enumerate().all(|(i, row)| row[0] == i.to_string() && row[1] == (i % 4).to_string()));
    assert_eq!(scratch.ok("predict posterior -m nuts --data test.csv").lines().count(), 61);
    assert!(scratch.ok("evaluate posterior --data test.csv --resamples 20").contains("\nnuts "));
    let inspected = scratch.ok("inspect posterior/samples/nuts");
    assert!(inspected.contains("method: nuts") && inspected.contains("divergences"), "{inspected}");
}

#[test]
fn baselines_depend_on_seed_and_number_alone() {
    let scratch = common::scratch();
    scratch.posterior();
    for method in ["swag", "ensemble"] {
        let sample = format!("sample posterior -m {method} --seed 3");
        scratch.ok(&format!("{sample} -n 4"));
        scratch.ok(&format!("{sample} -n 1 --name {method}-parts"));
        scratch.ok(&format!("--threads 1 {sample} -n 4 --name {method}-parts"));
        assert_same_sets(&scratch, method, &format!("{method}-parts"));
        let draws = read_samples(&scratch.join(&format!("posterior/samples/{method}"))).expect("reads").draws;
        assert!(draws[1..].iter().all(|draw| draw.theta != draws[0].theta));
        assert_eq!(scratch.ok(&format!("predict posterior -m {method} --data test.csv")).lines().count(), 61);
        scratch.ok(&format!("inspect posterior/samples/{method}"));
    }
    let table = scratch.ok("evaluate posterior --data test.csv --resamples 20");
    assert!(table.contains("\nswag ") && table.contains("\nensemble "), "{table}");
    assert_eq!(json(&scratch.ok("sample posterior -m ensemble --name five --json"))["draws"], 5);
    // The virial ratio of minima is 0, whatever they are worth: it is not shown.
    assert!(!scratch.ok("sample posterior -m ensemble --seed 3 -n 4").contains("virial"));
    assert!(scratch.ok("sample posterior -m swag --seed 3 -n 4").contains("virial ratio (ideal: 1)"));
    let compared = json(&scratch.ok("compare posterior --method swag,ensemble --json"));
    assert!(
        compared["a"]["virial_ratio"].is_number() && compared["b"]["virial_ratio"].is_null(),
        "{compared}"
    );
    // Members reach minima; the table has their losses.
    let (head, rows) = columns(&scratch.read("posterior/samples/ensemble/diagnostics.csv"));
    assert_eq!(head.join(","), "draw,training_seed,loss,gradient_norm");
    assert!(rows.iter().all(|row| row[3].parse::<f64>().expect("a number") < 1e-3), "{rows:?}");
}

#[test]
fn the_last_layer_alone_is_sampled_predicted_and_evaluated() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 8 --out model");
    scratch.ok("fit model --data train.csv --subset last-layer");
    let sampled = json(&scratch.ok("sample posterior -m nuts --warmup 100 -n 200 --json"));
    let ratio = sampled["summary"]["virial_ratio"].as_f64().expect("a number");
    // 18 weights, K = 18: the mean of 200 draws is within 0.3 of 1 at more than 4 standard errors.
    assert!((ratio - 1.0).abs() < 0.3, "{ratio}");
    scratch.ok("sample posterior -m riem-la -n 5 --strength 0.2");
    let saved = SavedPosterior::read(&scratch.join("posterior")).expect("reads");
    let theta = saved.laplace.gaussian.theta();
    for set in ["nuts", "riem-la"] {
        let draws = read_samples(&scratch.join(&format!("posterior/samples/{set}"))).expect("reads").draws;
        let held = theta.len() - 18;
        assert!(draws.iter().all(|draw| draw.theta[..held] == theta[..held]), "{set}");
        assert!(draws.iter().all(|draw| draw.theta[held..] != theta[held..]), "{set}");
    }
    assert_eq!(scratch.ok("predict posterior -m nuts --data test.csv").lines().count(), 61);
    let table = scratch.ok("evaluate posterior --data test.csv --resamples 20");
    assert!(table.contains("\nnuts ") && table.contains("\nla ") && table.contains("\nriem-la "), "{table}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let scratch = common::scratch();
    scratch.posterior();
    for (options, part) in [
        ("-m nuts --max-weights 41", "--max-weights 42"),
        ("-m nuts --strength 0.5", "--strength is an option of riem-la"),
        ("-m swag --arithmetic single", "--arithmetic is an option of riem-la"),
        ("-m swag --chains 2", "--chains is an option of nuts"),
        ("-m riem-la --iterations 5", "--iterations is an option of ensemble"),
        ("-m swag --rank 1", "rank is 1"),
        ("-m swag --epochs 3", "epochs is 3"),
        ("-m swag --learning-rate 1e12", "learning_rate"),
    ] {
        let message = scratch.fails(&format!("sample posterior {options}"));
        assert!(message.contains(part), "{options}: {message}");
    }
    assert!(!scratch.join("posterior/samples/nuts").exists());
    let output = scratch.run("sample posterior -m hmc");
    assert_eq!(output.status.code(), Some(2));
    assert!(common::text(&output.stderr).contains("nuts, swag or ensemble"));
    // Another warm-up gives other draws: they are not mixed.
    scratch.ok("sample posterior -m nuts --warmup 60 --chains 2 -n 20");
    let message = scratch.fails("sample posterior -m nuts --warmup 70 --chains 2 -n 20");
    assert!(message.contains("config.warmup was 60, but is 70 now"), "{message}");
    // A set with more draws than a later run makes, and without its record.
    std::fs::remove_file(scratch.join("posterior/samples/nuts/chains.json")).expect("removes");
    let fewer = json(&scratch.ok("sample posterior -m nuts --warmup 60 --chains 2 -n 10 --json"));
    assert_eq!((&fewer["draws"], &fewer["summary"]["chains"]["record"]), (&Value::from(20), &Value::Null));
}
