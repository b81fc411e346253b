//! `riemla sample --polish`: resumed, shared out and damaged as other draws are, and reported.

mod common;

use std::fs;

const DRAWS: &str = "samples/riem-la-polished/samples.safetensors";

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn polished_draws_are_resumed_and_shared_out_with_the_same_bits() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 9");
    let text = scratch.ok("sample posterior -n 9 --polish 40");
    for part in ["polish: gradients per draw", "polish: accepted", "second half", "nested R-hat"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let expected = scratch.bytes(&format!("posterior/{DRAWS}"));
    assert_ne!(expected, scratch.bytes("posterior/samples/riem-la/samples.safetensors"));
    let lines = scratch.read("posterior/samples/riem-la-polished/samples.jsonl");
    assert!(
        lines.lines().count() == 9 && lines.lines().all(|line| line.contains("\"polish\":{\"gradients\":"))
    );
    let table = scratch.read("posterior/samples/riem-la-polished/diagnostics.csv");
    assert!(
        table.lines().next().is_some_and(|head| head.ends_with("polish_loss_half,polish_loss_end")),
        "{table}"
    );
    // In parts, on other numbers of threads, and by processes that share them.
    scratch.ok("fit model --data train.csv --out other");
    scratch.ok("sample other -n 4 --polish 40 --threads 1");
    scratch.ok("sample other -n 9 --polish 40 --threads 3");
    assert_eq!(scratch.bytes(&format!("other/{DRAWS}")), expected);
    scratch.ok("fit model --data train.csv --out shared");
    for shard in ["1/2", "2/2"] {
        scratch.ok(&format!("sample shared -n 9 --polish 40 --shard {shard}"));
    }
    scratch.ok("sample shared -n 9 --polish 40");
    assert_eq!(scratch.bytes(&format!("shared/{DRAWS}")), expected);
    let summary = json(&scratch.ok("sample shared -n 9 --polish 40 --json"));
    let polish = &summary["summary"]["polish"];
    assert!(
        summary["new_draws"] == 0 && polish["draws"] == 9 && polish["gradients"].as_f64() > Some(30.0),
        "{summary}"
    );
    // They predict like any other set.
    scratch.ok("predict posterior --data test.csv --method riem-la-polished --out predictions.csv");
    let text = scratch.ok("evaluate posterior --data test.csv");
    assert!(text.contains("riem-la-polished"), "{text}");
}

#[test]
fn other_settings_and_damage_are_refused() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 3 --polish 20 --strength 0.3");
    let message = scratch.fails("sample posterior -n 3 --polish 30 --strength 0.3");
    assert!(message.contains("polish"), "{message}");
    let set = "posterior/samples/riem-la-polished";
    fs::remove_file(scratch.join(&format!("{set}/samples.json"))).expect("removes");
    scratch.reports_damage(
        &format!("{set}/polish.json"),
        "sample posterior -n 3 --polish 20 --strength 0.3",
        "remove it",
    );
    let found = json(&scratch.read(&format!("{set}/polish.json")));
    assert!(found["gradients"] == 20 && found["step"].as_f64() > Some(0.0), "{found}");
    // Without the file the same step is found again.
    let before = scratch.bytes(&format!("{set}/polish.json"));
    fs::remove_file(scratch.join(&format!("{set}/polish.json"))).expect("removes");
    scratch.ok("sample posterior -n 4 --polish 20 --strength 0.3");
    assert_eq!(scratch.bytes(&format!("{set}/polish.json")), before);
    let message = scratch.fails("sample posterior --method nuts --polish 20");
    assert!(message.contains("--polish is an option of"), "{message}");
    for wrong in ["--polish -1", "--polish many", "--polish 20 --batch 30"] {
        assert_eq!(scratch.run(&format!("sample posterior {wrong}")).status.code(), Some(2), "{wrong}");
    }
    scratch.ok("fit model --data train.csv --force");
    assert!(!scratch.join(&format!("{set}/polish.json")).exists(), "it is ours to replace");
}

#[test]
fn the_length_is_chosen_once() {
    let scratch = common::scratch();
    scratch.posterior();
    let summary = json(&scratch.ok("sample posterior -n 5 --polish auto --json"));
    let found = json(&scratch.read("posterior/samples/riem-la-polished/polish.json"));
    let levels = found["levels"].as_array().expect("levels");
    assert!(levels.len() >= 2 && levels.last().expect("one")["gradients"] == found["gradients"], "{found}");
    let spent = summary["summary"]["polish"]["gradients"].as_f64().expect("a number");
    let length = found["gradients"].as_f64().expect("a number");
    assert!((spent / length - 1.0).abs() < 0.3, "{spent} and {length}");
}
