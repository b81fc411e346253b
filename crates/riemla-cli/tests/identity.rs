//! Draws, strengths and fits are used again only if nothing that they depend on has changed; what has
//! changed is named.

mod common;

use std::fs;
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("makes");
    for entry in fs::read_dir(from).expect("lists").map(|entry| entry.expect("an entry")) {
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).expect("copies");
        }
    }
}

// Long on purpose: one change after the other, so that nothing a set depends on is forgotten.
#[test]
fn draws_of_another_posterior_are_refused_with_what_changed() {
    let scratch = common::scratch();
    scratch.sine();
    scratch.ok("train --data train.csv --target price --task regression --hidden 4 --out model");
    scratch.ok("train --data train.csv --target price --task regression --hidden 4 --seed 2 --out second");
    scratch.ok("train --data train.csv --target price --task regression --hidden 4 --activation sigmoid --out sigmoid");
    scratch.write("more.csv", scratch.read("train.csv") + "0.5,104\n");
    let fit = "--prior-precision 1";
    scratch.ok(&format!("fit model --data train.csv {fit} --out p"));
    scratch.ok("sample p -m la -n 4");
    // A strength also where only the last layer is uncertain, for which the default is the Fisher metric.
    scratch.ok("sample p -n 3 --metric preconditioned");
    for (i, (model, data, options, parts)) in [
        ("model", "train.csv", "--prior-precision 2", &["prior_precision was [1.0], but is [2.0] now"][..]),
        ("model", "train.csv", "--prior-precision auto", &["prior_precision", "sigma_noise"]),
        (
            "model",
            "train.csv",
            "--prior-precision 1 --curvature ef",
            &["curvatures of the Laplace approximation differ"],
        ),
        ("model", "train.csv", "--prior-precision 1 --structure diagonal", &["Laplace approximation differ"]),
        (
            "model",
            "train.csv",
            "--prior-precision 1 --subset last-layer",
            &["uncertain_weights was [[0,13]]"],
        ),
        ("model", "more.csv", "--prior-precision 1 --other-data", &["data.rows was 68, but is 81 now"]),
        ("second", "train.csv", fit, &["the trained weights differ"]),
        ("sigmoid", "train.csv", fit, &["the layers of the network differ"]),
    ]
    .into_iter()
    .enumerate()
    {
        scratch.ok(&format!("fit {model} --data {data} {options} --out q{i}"));
        copy(&scratch.join("p/samples"), &scratch.join(&format!("q{i}/samples")));
        for command in [
            format!("sample q{i} -m la -n 6"),
            format!("sample q{i} -n 4 --metric preconditioned"),
            format!("predict q{i} -m la --data test.csv"),
            format!("evaluate q{i} --data test.csv --resamples 5"),
        ] {
            let message = scratch.fails(&command);
            parts.iter().for_each(|part| assert!(message.contains(part), "{command}: {part}: {message}"));
            assert!(message.contains("--name") || message.contains("riemla sample"), "no remedy: {message}");
        }
        // The strength alone.
        fs::remove_dir_all(scratch.join(&format!("q{i}/samples"))).expect("removes");
        scratch.ok(&format!("sample q{i} -n 1 --metric preconditioned"));
        let (strength, set) = ("p/samples/riem-la/calibration.json", format!("q{i}/samples/riem-la"));
        fs::copy(scratch.join(strength), scratch.join(&set).join("calibration.json")).expect("copies");
        let message = scratch.fails(&format!("sample q{i} -n 2 --metric preconditioned"));
        parts.iter().for_each(|part| assert!(message.contains(part), "strength: {part}: {message}"));
        assert!(message.contains("calibration.json"), "{message}");
        // What is said about draws: not about those of another posterior, and not about others of the same one.
        fs::remove_dir_all(scratch.join(&format!("q{i}/samples"))).expect("removes");
        scratch.ok(&format!("sample q{i} -m la -n 4"));
        fs::copy(
            scratch.join("p/samples/la/summary.json"),
            scratch.join(&format!("q{i}/samples/la/summary.json")),
        )
        .expect("copies");
        let message = scratch.fails(&format!("evaluate q{i} --data test.csv --resamples 5"));
        parts.iter().for_each(|part| assert!(message.contains(part), "summary: {part}: {message}"));
        assert!(message.contains("summary.json"), "{message}");
    }
    let summary = || {
        let text = scratch.ok("evaluate p --data test.csv --resamples 5 --json");
        let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let methods = found["methods"].as_array().expect("methods").clone();
        methods.into_iter().find(|method| method["method"] == "la").expect("la")["draws_summary"].clone()
    };
    assert_eq!(summary()["draws"], 4);
    let kept = fs::read(scratch.join("p/samples/la/summary.json")).expect("reads");
    scratch.ok("sample p -m la -n 5");
    assert_eq!(summary()["draws"], 5);
    fs::write(scratch.join("p/samples/la/summary.json"), kept).expect("writes");
    assert_eq!(summary(), serde_json::Value::Null, "it is about four of five draws");
}

#[test]
fn draws_with_other_settings_are_refused_with_what_changed() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 2");
    for (options, part) in [
        ("--seed 2", "seed was 1, but is 2 now"),
        ("--strength 0.3", "config.strength"),
        ("--strength virial", "config.strength"),
        ("--metric loss", "config.metric"),
        ("--preset paper", "config.integrator"),
        ("--polish 0", "config.polish was {"),
        ("--arithmetic single", "config.arithmetic was not set, but is \"single\" now"),
        ("--batch 20 --name riem-la", "config.batch"),
        ("-m lin-riem-la --name riem-la", "config.method was \"riem-la\""),
        ("-m nuts --name riem-la", "config"),
    ] {
        let message = scratch.fails(&format!("sample posterior -n 3 {options}"));
        assert!(message.contains(part) && message.contains("--name"), "{options}: {message}");
    }
    scratch.ok("sample posterior -n 2 --strength 0.2 --batch 20 --batch-design leverage");
    for (options, part) in [
        ("--batch 20 --batch-design uniform", "config.batch.design was \"leverage=0.5\""),
        ("--batch 20 --batch-design leverage=0.75", "config.batch.design was \"leverage=0.5\""),
        ("--batch 20 --batch-design leverage --batch-length full", "config.batch.length was \"auto\""),
        (
            "--batch 20 --batch-design leverage --batch-length 0.5",
            "config.batch.length was \"auto\", but is 0.5 now",
        ),
        ("--batch auto --batch-design leverage", "config.batch.size was 20, but is \"auto\" now"),
    ] {
        let message = scratch.fails(&format!("sample posterior -n 2 --strength 0.2 {options}"));
        assert!(message.contains(part) && message.contains("--name"), "{options}: {message}");
    }
    // Without its log a set goes on, and is not mistaken for another one either.
    let set = "posterior/samples/riem-la";
    let whole = scratch.bytes(&format!("{set}/samples.safetensors"));
    fs::remove_file(scratch.join(&format!("{set}/draws.log"))).expect("removes");
    assert!(scratch.fails("sample posterior -n 3 --seed 2").contains("seed was 1, but is 2 now"));
    assert_eq!(scratch.bytes(&format!("{set}/samples.safetensors")), whole);
    scratch.ok("sample posterior -n 2");
    assert_eq!(scratch.bytes(&format!("{set}/samples.safetensors")), whole);
    // Files that no run has made are left alone.
    fs::create_dir(scratch.join("posterior/samples/mine")).expect("makes");
    scratch.write("posterior/samples/mine/diagnostics.csv", "something of mine");
    let message = scratch.fails("sample posterior -m la -n 2 --name mine");
    assert!(message.contains("diagnostics.csv") && message.contains("--name"), "{message}");
    assert_eq!(scratch.read("posterior/samples/mine/diagnostics.csv"), "something of mine");
}

#[test]
fn data_that_the_model_or_posterior_does_not_know_are_refused() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 4 --out model");
    scratch.ok("train --data train.csv --hidden 4 --validation 0 --out all");
    let table = scratch.read("train.csv");
    let (head, rows) = table.split_once('\n').expect("a header");
    scratch.write("fewer.csv", format!("{head}\n{}", rows.split_once('\n').expect("rows").1));
    scratch.write("changed.csv", table.replacen(",north", ",south", 1));
    for model in ["model", "all"] {
        for (data, part) in [("fewer.csv", "119 rows instead of 120"), ("changed.csv", "other values")] {
            let message = scratch.fails(&format!("fit {model} --data {data} --out p -q"));
            for part in [part, data, "--other-data", "trained on"] {
                assert!(message.contains(part), "{model} {data}: {part}: {message}");
            }
            assert_eq!(message.contains("18 rows that training held out"), model == "model", "{message}");
            assert!(!scratch.join("p").exists());
            let output = scratch.run(&format!("fit {model} --data {data} --other-data --out p"));
            let message = common::text(&output.stderr);
            assert!(output.status.success() && message.contains(part), "{message}");
            assert_eq!(message.contains("18 rows that training held out"), model == "model", "{message}");
            fs::remove_dir_all(scratch.join("p")).expect("removes");
        }
    }
    // A posterior without its data takes those of the fit, and no others.
    scratch.ok("fit model --data train.csv --without-data --out without");
    scratch.ok("fit model --data train.csv --out with");
    for (posterior, remedy) in [("without", "give those"), ("with", "leave out --data")] {
        for data in ["fewer.csv", "changed.csv", "test.csv"] {
            let message = scratch.fails(&format!("sample {posterior} -m la -n 2 --data {data}"));
            for part in ["other data than the posterior was fitted to", data, remedy, "riemla fit"] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
        scratch.ok(&format!("sample {posterior} -m la -n 2 --data train.csv"));
    }
    // An imported model does not know its data; weights that are no minimum on them are reported at once.
    scratch.ok("export model --out net.safetensors");
    scratch.write(
        "net.toml",
        "input = 2\nlayers = [{ type = \"linear\", outputs = 4 }, { type = \"activation\", function = \"tanh\" }, \
         { type = \"linear\", outputs = 2 }]",
    );
    scratch
        .write("swapped.csv", table.replace("north", "up").replace("south", "north").replace("up", "south"));
    scratch.ok("import net.safetensors --network net.toml --data train.csv --standardize --out imported");
    let output = scratch.run("fit imported --data swapped.csv --prior-precision 1 --out p");
    let message = common::text(&output.stderr);
    assert!(
        message.contains("not a minimum") && message.contains("data that the model was trained on"),
        "{message}"
    );
}
