//! `riemla compare`, as a user would.

mod common;

use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn two_sets_of_one_posterior() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 40 --metric loss --strength 3 --polish 0 --seed 5");
    scratch.ok("sample posterior -m la -n 60");
    let sets = "posterior/samples/la posterior/samples/riem-la";
    let found = json(&scratch.ok(&format!("compare {sets} --data test.csv --out r.html --json")));
    assert_eq!((&found["a"]["set"], &found["b"]["method"]), (&Value::from("la"), &Value::from("riem-la")));
    assert_eq!((&found["a"]["draws"], &found["b"]["draws"]), (&Value::from(60), &Value::from(40)));
    assert_eq!(found["reference"], "b");
    // The same numbers by other commands.
    let sampled =
        json(&scratch.ok("sample posterior -n 40 --metric loss --strength 3 --polish 0 --seed 5 --json"));
    for (name, of_set) in
        [("virial_ratio", &found["b"]["virial_ratio"]), ("loss_rise", &found["b"]["loss_rise"])]
    {
        let expected = number(&sampled["summary"][name]);
        assert!((number(of_set) / expected - 1.0).abs() < 1e-9, "{name}: {of_set} {expected}");
    }
    let evaluated = json(&scratch.ok("evaluate posterior --data test.csv --resamples 20 --json"));
    let methods = evaluated["methods"].as_array().expect("a list");
    for (name, side) in [("la", "a"), ("riem-la", "b")] {
        let method = methods.iter().find(|method| method["method"] == name).expect("is there");
        for score in ["accuracy", "nll", "brier", "ece"] {
            assert_eq!(found["scores"][score][side], method["scores"][score]["estimate"], "{name} {score}");
        }
    }
    assert!(found["a"]["k_hat"].is_number() && found["b"]["k_hat"].is_null());
    let html = scratch.read("r.html");
    assert!(html.contains("k-hat of la") && html.contains("nll") && !html.contains("<script"));
    scratch.ok(&format!("compare {sets} --out r.html"));
}

#[test]
fn sets_of_one_kind_differ_by_chance_only() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 40 --metric loss --strength 3 --polish 0 --seed 5");
    scratch.ok("sample posterior -m la -n 60");
    scratch.ok("sample posterior -m la -n 60 --seed 9 --name again");
    let found = json(&scratch.ok("compare posterior --method la,riem-la --json"));
    let same = json(&scratch.ok("compare posterior --method again,la --json"));
    // Fixed seeds: wide bounds for two sets of one kind, and a factor that no chance gives for another kind.
    let times = |found: &Value| {
        number(&found["energy_distance"]["value"]) / number(&found["energy_distance"]["null"])
    };
    assert!((0.4..1.6).contains(&times(&same)), "{}", times(&same));
    assert!(times(&found) > 5.0, "{}", times(&found));
    let ratio = number(&same["sd_ratio"]["mean"]);
    assert!((0.8..1.25).contains(&ratio), "{ratio}");

    // The other reference: ratios turn over, distances between equal sets vanish.
    let turned = json(&scratch.ok("compare posterior --method again,la --reference a --json"));
    let product = number(&turned["sd_ratio"]["max"]) * number(&same["sd_ratio"]["min"]);
    assert!((product - 1.0).abs() < 1e-9, "{product}");
    let output = scratch.run("compare posterior posterior --method la --json");
    assert!(common::text(&output.stderr).contains("same tangent vectors"));
    let equal = json(&common::text(&output.stdout));
    let zero = [&equal["wasserstein"]["in_reference_sd"]["max"], &equal["energy_distance"]["value"]];
    assert!(zero.iter().all(|value| number(value).abs() < 1e-10), "{zero:?}");
}

#[test]
fn posteriors_with_other_priors_without_data_and_of_other_networks() {
    let scratch = common::scratch();
    scratch.sine();
    scratch.ok("train --data train.csv --target price --task regression --hidden 6 --out model");
    scratch.ok("fit model --data train.csv --prior-precision 1 --out loose");
    scratch.ok("fit model --data train.csv --prior-precision 100 --without-data --out tight");
    let output = scratch.run("compare tight loose --method la --data test.csv --json");
    let notes = common::text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{notes}");
    let found = json(&common::text(&output.stdout));
    assert!(notes.contains("different priors") && notes.contains("without its data"), "{notes}");
    assert!(found["a"]["loss_rise"].is_null() && found["b"]["loss_rise"].is_number());
    assert!(number(&found["sd_ratio"]["max"]) < 1.0, "a tighter prior: {}", found["sd_ratio"]);
    assert!(number(&found["output_sd_ratio"]["outputs"]) < 1.0 && found["a"]["probability_sd"].is_null());
    // In the units of the table, as predictions are.
    let (head, rows) = common::columns(&scratch.ok("predict loose --method la --data test.csv"));
    assert_eq!(head[4], "epistemic_std");
    let mean =
        rows.iter().map(|row| row[4].parse::<f64>().expect("a number")).sum::<f64>() / rows.len() as f64;
    let spread = number(&found["b"]["output_sd"]);
    assert!((spread / mean - 1.0).abs() < 1e-9, "{spread} {mean}");
    assert!(
        found["scores"]["rmse"]["a"].is_number() && found["scores"]["nlpd"]["difference"]["low"].is_number()
    );
    let printed = scratch.ok("compare tight/samples/la loose/samples/lin-la");
    assert!(printed.contains("Wasserstein-1") && printed.contains("by chance"), "{printed}");

    scratch.ok("train --data train.csv --target price --task regression --hidden 5 --out other");
    scratch.ok("fit other --data train.csv --out other-posterior");
    let message = scratch.fails("compare loose other-posterior --method la");
    assert!(message.contains("different parameters") && message.contains("0.weight"), "{message}");
    let message = scratch.fails("compare loose tight --method map,la");
    assert!(message.contains("at least 2"), "{message}");
    assert!(scratch.fails("compare loose").contains("--method"));
    assert!(scratch.fails("compare nowhere").contains("nowhere does not exist"));
    assert!(scratch.fails("compare model loose --method la").contains("not a posterior directory"));
    assert!(scratch.fails("compare loose tight").contains("no draws yet"));
}
