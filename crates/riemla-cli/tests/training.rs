//! `riemla train` on tables whose best model is known, and the prior from training to fit.

mod common;

use common::{Scratch, text};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A table of ten inputs and a target that `f` makes of them and a noise of deviation 1.
fn table(scratch: &Scratch, name: &str, rows: usize, f: impl Fn(&[f64], f64) -> f64) {
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    // Sums of twelve uniform numbers are close to normal ones.
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let mut lines = (0..10).map(|j| format!("x{j},")).collect::<String>() + "y\n";
    for _ in 0..rows {
        let x: Vec<f64> = (0..10).map(|_| normal()).collect();
        let y = f(&x, normal());
        lines += &format!("{}{y}\n", x.iter().map(|x| format!("{x},")).collect::<String>());
    }
    scratch.write(name, lines);
}

/// A score of a part: of the network, or of a baseline.
fn score(trained: &Value, baseline: Option<&str>, part: &str, name: &str) -> f64 {
    let parts = match baseline {
        None => &trained["scores"],
        Some(baseline) => {
            let all = trained["baselines"].as_array().expect("a list");
            &all.iter().find(|b| b["name"] == baseline).expect("the baseline")["scores"]
        }
    };
    let part = parts.as_array().expect("a list").iter().find(|p| p["part"] == part).expect("the part");
    let scores = part["scores"].as_array().expect("a list");
    scores.iter().find(|s| s[0] == name).expect("the score")[1].as_f64().expect("a number")
}

#[test]
fn a_network_on_linear_data_does_not_get_stuck_far_from_the_linear_model() {
    let scratch = common::scratch();
    table(&scratch, "t.csv", 200, |x, noise| 3.0 * x[0] - 2.0 * x[1] + x[2] + 2.0 * noise);
    let trained = json(&scratch.ok("train --data t.csv --task regression --hidden 50 --out m --json"));
    let (own, linear) =
        (score(&trained, None, "validation", "rmse"), score(&trained, Some("linear"), "validation", "rmse"));
    assert!(own < 1.15 * linear, "{own} against {linear}");
    assert!(score(&trained, Some("constant"), "validation", "rmse") > 1.3 * own);
    assert!(trained["trials"].as_u64().expect("a number") > 20);
    assert!(trained["log_marginal_likelihood"].is_number());
    let words = scratch.ok("train --data t.csv --task regression --hidden 50 --out m2");
    for said in ["constant", "linear", "priors tried", "gradients in"] {
        assert!(words.contains(said), "{said}: {words}");
    }
}

#[test]
fn the_network_is_chosen_on_the_held_out_rows() {
    let scratch = common::scratch();
    scratch.moons();
    let trained = json(&scratch.ok("train --data train.csv --target kind --out m --json"));
    let tried = trained["tried"].as_array().expect("a list");
    let loss = |tried: &Value| tried["held_out"].as_f64().expect("a number");
    assert_eq!(tried.len(), 4);
    let chosen: Vec<&Value> = tried.iter().filter(|t| t["chosen"] == true).collect();
    assert_eq!(chosen.len(), 1);
    assert!(tried.iter().all(|t| loss(chosen[0]) <= loss(t)), "{tried:?}");
    assert_ne!(chosen[0]["hidden"], Value::Array(Vec::new()), "half circles need a hidden layer");
    assert_eq!(trained["weights"], chosen[0]["weights"]);
    assert_eq!(loss(chosen[0]), score(&trained, None, "validation", "nll"));
    // Without held-out rows the evidence chooses.
    let trained = json(&scratch.ok("train --data train.csv --validation 0 --out n --json"));
    let tried = trained["tried"].as_array().expect("a list");
    let evidence = |t: &Value| t["log_marginal_likelihood"].as_f64().expect("a number");
    let best = tried.iter().map(evidence).fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(trained["log_marginal_likelihood"].as_f64(), Some(best));
    let words = scratch.ok("train --data train.csv --target kind --out o");
    assert!(words.contains("chosen") && words.contains("50,50"), "{words}");
    // One that was asked for is not compared with others.
    let asked = json(&scratch.ok("train --data train.csv --target kind --hidden none --out p --json"));
    assert_eq!(asked["tried"], Value::Array(Vec::new()));
    let names: Vec<&Value> =
        asked["baselines"].as_array().expect("a list").iter().map(|b| &b["name"]).collect();
    assert_eq!(names, ["constant"], "the network is the linear model itself");
}

#[test]
fn a_network_that_is_no_better_than_simple_models_is_reported() {
    let scratch = common::scratch();
    table(&scratch, "noise.csv", 100, |_, noise| noise);
    let output =
        scratch.run("train --data noise.csv --task regression --hidden 30 --prior-precision 0.01 --out m");
    let said = text(&output.stderr);
    for warning in
        ["no better than a constant model", "no better than a linear model", "much worse on held-out rows"]
    {
        assert!(said.contains(warning), "{warning}: {said}");
    }
    // By the evidence the network predicts nearly the mean.
    let output = scratch.run("train --data noise.csv --task regression --hidden 30 --out n");
    assert!(!text(&output.stderr).contains("much worse"), "{}", text(&output.stderr));
    // Nothing to say about a good one.
    table(&scratch, "clear.csv", 200, |x, noise| x[0] * x[1] + 0.1 * noise);
    let output = scratch.run("train --data clear.csv --task regression --hidden 16 --out o");
    assert!(!text(&output.stderr).contains("no better"), "{}", text(&output.stderr));
}

#[test]
fn a_fit_keeps_the_prior_of_the_training_unless_asked() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --target kind --hidden 8 --prior-precision 3 --out m");
    let gradient = |fitted: &Value| fitted["gradient_norm"].as_f64().expect("a number");
    let kept = json(&scratch.ok("fit m --data train.csv --out kept --json"));
    assert_eq!(kept["prior_precision"], 3.0);
    assert!(gradient(&kept) < 1e-4 && kept["warnings"] == Value::Array(Vec::new()), "{kept}");
    // Optimised: other weights, which are a minimum too.
    let best = json(&scratch.ok("fit m --data train.csv --prior-precision auto --out best --json"));
    assert_ne!(best["prior_precision"], 3.0);
    assert!(gradient(&best) < 0.05, "{best}");
    assert!(best["log_marginal_likelihood"].as_f64() > kept["log_marginal_likelihood"].as_f64());
    // A number: the weights stay, which is said, or are refitted if asked.
    let moved = json(&scratch.ok("fit m --data train.csv --prior-precision 0.01 --out moved --json"));
    assert!(gradient(&moved) > 1.0, "{moved}");
    let refitted = json(&scratch.ok("fit m --data train.csv --prior-precision 0.01 --refit --out r --json"));
    assert!(gradient(&refitted) < 1e-4 && refitted["prior_precision"] == 0.01, "{refitted}");
}

#[test]
fn one_precision_per_layer_goes_from_training_to_draws() {
    let scratch = common::scratch();
    scratch.moons();
    let options = "--target kind --hidden 6 --prior-precision per-layer";
    let trained = json(&scratch.ok(&format!("train --data train.csv {options} --out m --json")));
    let precisions = trained["prior_precision"].as_array().expect("one per layer");
    assert_eq!(precisions.len(), 2);
    let fitted = json(&scratch.ok("fit m --data train.csv --json"));
    assert_eq!(fitted["prior_precision"], trained["prior_precision"]);
    assert!(fitted["gradient_norm"].as_f64().expect("a number") < 1e-4);
    let difference = fitted["log_marginal_likelihood"].as_f64().expect("a number")
        - trained["log_marginal_likelihood"].as_f64().expect("a number");
    assert!(difference.abs() < 1e-6, "{difference}");
    scratch.ok("sample posterior -n 3");
    scratch.ok("predict posterior --data test.csv");
    let output = scratch.run("train --data train.csv --prior-precision layers --out n");
    let message = text(&output.stderr);
    assert!(message.contains("must be auto, per-layer, or a number above 0"), "{message}");
}

#[test]
fn weights_and_prior_can_be_found_in_turn() {
    let scratch = common::scratch();
    table(&scratch, "train.csv", 200, |x, noise| x[0] - 2.0 * x[1] + 0.5 * noise);
    let train = |way: &str| {
        json(&scratch.ok(&format!(
            "train --data train.csv --target y --task regression --hidden none --search {way} --out {way} --json"
        )))
    };
    let [ladder, turns] = ["ladder", "in-turn"].map(train);
    assert!(ladder["training"]["method"].as_str().expect("words").contains("ladder"));
    assert!(turns["training"]["method"].as_str().expect("words").contains("in turn"));
    let gradients = |trained: &Value| trained["gradients"].as_u64().expect("a number");
    assert!(4 * gradients(&turns) < gradients(&ladder), "{} {}", gradients(&turns), gradients(&ladder));
    for trained in [&ladder, &turns] {
        assert!(score(trained, None, "validation", "rmse") < 0.8, "noise of 0.5: {trained}");
    }
    scratch.ok("fit in-turn --data train.csv");
}
