//! The files of a run: each has a key and is checked, and only what a run wrote is continued.

mod common;

use std::fs;

#[test]
fn fits_and_strengths_of_experiments_have_a_key() {
    let scratch = common::scratch();
    let run = "reproduce pinwheel --quick --preset calibrated --seeds 1 --prior optimized --out r --samples";
    scratch.ok(&format!("{run} 2"));
    let place = "r/samples/pinwheel/seed-0/optimized/calibrated";
    // Of another seed: the same names, other weights.
    scratch
        .ok("reproduce pinwheel --quick --preset calibrated --seeds 2 --prior optimized --samples 2 --out s");
    let other = "s/samples/pinwheel/seed-1/optimized/calibrated";
    for (file, part) in [
        ("riem-la/calibration.json".to_string(), "the trained weights differ"),
        ("riem-la/samples.json".to_string(), "another set"),
    ] {
        let whole = scratch.bytes(&format!("{place}/{file}"));
        fs::copy(scratch.join(&format!("{other}/{file}")), scratch.join(&format!("{place}/{file}")))
            .expect("copies");
        let message = scratch.fails(&format!("{run} 3 --resume -q"));
        assert!(message.contains(part), "{file}: {message}");
        scratch.write(&format!("{place}/{file}"), whole);
        // Else the draws would be read from there.
        fs::remove_file(scratch.join(&format!("{place}/riem-la/draws.log"))).ok();
    }
    let own = scratch.bytes("r/fits/pinwheel/seed-0.json");
    fs::copy(scratch.join("s/fits/pinwheel/seed-1.json"), scratch.join("r/fits/pinwheel/seed-0.json"))
        .expect("copies");
    let message = scratch.fails(&format!("{run} 3 --resume -q"));
    assert!(message.contains("seed was 1, but is 0 now"), "{message}");
    scratch.write("r/fits/pinwheel/seed-0.json", own);
    scratch.ok(&format!("{run} 3 --resume -q"));
}

#[test]
fn results_of_experiments() {
    let scratch = common::scratch();
    let run =
        "reproduce pinwheel --quick --preset calibrated --seeds 1 --samples 2 --prior optimized --out r";
    scratch.ok(run);
    let resume = format!("{run} --resume --quiet");
    scratch.reports_damage("r/runs.jsonl", &resume, "remove it");
    scratch.reports_damage("r/runs.jsonl", "reproduce report r", "remove it");
    // With the records gone everything else is read again.
    fs::remove_file(scratch.join("r/runs.jsonl")).expect("removes");
    let place = "r/samples/pinwheel/seed-0/optimized/calibrated";
    for file in [
        "r/fits/pinwheel/seed-0.json".to_string(),
        "r/fits/pinwheel/seed-0/weights.safetensors".into(),
        "r/fits/pinwheel/seed-0/model.json".into(),
        format!("{place}/riem-la/calibration.json"),
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
        fs::remove_file(scratch.join(&format!("{place}/riem-la/draws.log"))).ok();
    }
    scratch.ok(&resume);
}

#[test]
fn results_are_continued_only_where_a_run_began_them() {
    let scratch = common::scratch();
    fs::create_dir(scratch.join("d")).expect("makes");
    scratch.write("d/results.csv", "something of mine");
    scratch.write("d/report.html", "something of mine");
    for resume in ["", "--resume"] {
        scratch.refuses(&format!("reproduce banana --quick --out d {resume}"), &["did not write", "--out"]);
        scratch.refuses(&format!("reproduce truth --quick --out d {resume}"), &["did not write", "--out"]);
    }
    scratch.refuses("reproduce report d", &["report.html", "move it elsewhere"]);
    // A file of an experiment is not replaced by the copy that is kept of it.
    fs::create_dir_all(scratch.join("r/experiments")).expect("makes");
    scratch.write("r/riemla.json", "{\"format_version\": 1, \"riemla_version\": \"0.1.0\"}");
    scratch.write("r/experiments/mine.toml", include_str!("../experiments/banana.toml"));
    let message = scratch.fails("reproduce r/experiments/mine.toml --quick --out r --resume");
    assert!(message.contains("mine.toml is in r") && message.contains("copy it elsewhere"), "{message}");
}
