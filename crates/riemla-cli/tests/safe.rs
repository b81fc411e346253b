//! Nobody's files are lost: only what riemla wrote is replaced, never an input, never through a link.

mod common;

use std::fs;

use common::{Scratch, text};

/// A table and a network in a directory with other files.
fn precious(scratch: &Scratch) {
    scratch.moons();
    fs::create_dir(scratch.join("precious")).expect("makes");
    for name in ["train.csv", "test.csv"] {
        fs::copy(scratch.join(name), scratch.join("precious").join(name)).expect("copies");
    }
    scratch.write("precious/thesis.tex", "years of work");
}

#[test]
fn directories_of_other_people_are_never_replaced() {
    let scratch = common::scratch();
    precious(&scratch);
    scratch.ok("train --data train.csv --hidden 3 --out model");
    scratch.ok("export model --out net.safetensors");
    scratch.write(
        "net.toml",
        "input = 2\nlayers = [{ type = \"linear\", outputs = 3 }, { type = \"activation\", function = \"tanh\" }, \
         { type = \"linear\", outputs = 2 }]",
    );
    for command in [
        "train --data train.csv --hidden 3",
        "train --data precious/train.csv --hidden 3",
        "fit model --data train.csv",
        "fit model --data precious/train.csv",
        "import net.safetensors --network net.toml",
    ] {
        for force in ["", "--force"] {
            let parts = ["precious", "nothing was changed", "--out"];
            let parts = if command.contains("precious") { &["precious", "is an input"][..] } else { &parts };
            scratch.refuses(&format!("{command} --out precious {force}"), parts);
            scratch.refuses(&format!("{command} --out / {force}"), &["/", "choose a name"]);
            scratch.refuses(&format!("{command} --out . {force}"), &["choose a name"]);
            scratch.refuses(&format!("{command} --out net.toml {force}"), &["net.toml", "not a directory"]);
        }
    }
    scratch.refuses("fit model --data train.csv --out model --force", &["model", "is an input"]);
    // A model of riemla's with one other file in it, wherever it is.
    scratch.ok("fit model --data train.csv --out p");
    scratch.ok("sample p -m la -n 3");
    for place in ["p/notes.txt", "p/samples/notes.txt", "p/samples/la/notes.txt"] {
        scratch.write(place, "mine");
        let name = place.strip_prefix("p/").expect("in p");
        scratch.refuses("fit model --data train.csv --out p --force", &[name, "did not write"]);
        fs::remove_file(scratch.join(place)).expect("removes");
    }
    scratch.ok("fit model --data train.csv --out p --force");
    assert!(!scratch.join("p/samples").exists(), "draws of the old posterior are gone");
    // Another program's description does not make a directory ours.
    fs::create_dir(scratch.join("other")).expect("makes");
    scratch.write("other/model.json", "{\"name\": \"a network\"}");
    scratch.write("other/weights.safetensors", "numbers");
    scratch.refuses("train --data train.csv --out other --force", &["model.json", "did not write"]);
}

#[test]
fn every_set_of_draws_is_recognised_as_ours() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 3 --strength auto");
    scratch.ok("sample posterior -m nuts --warmup 50 -n 8");
    scratch.write("posterior/samples/nuts/.riemla-tmp-1-0-samples.json", "left by a killed process");
    scratch.write("posterior/samples/riem-la/calibration.trials.json", "{}");
    scratch.ok("fit model --data train.csv --force");
    assert!(!scratch.join("posterior/samples").exists());
    let left: Vec<_> =
        fs::read_dir(scratch.path()).expect("lists").filter_map(|e| Some(e.ok()?.file_name())).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{left:?}");
}

#[test]
fn files_are_replaced_only_if_they_are_ours_or_when_told_and_inputs_never() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -m la -n 3");
    let commands = [
        ("export posterior", "--out"),
        ("predict posterior --data test.csv -m la", "--out"),
        ("evaluate posterior --data test.csv --ood train.csv --resamples 5", "--report"),
        ("compare posterior -m la,lin-la --data test.csv", "--out"),
    ];
    for (command, option) in commands {
        for input in ["test.csv", "posterior/posterior.json", "posterior/samples/la/samples.json"] {
            if command.starts_with("export") && input == "test.csv" {
                continue;
            }
            scratch
                .refuses(&format!("{command} {option} {input} --force"), &[input, "input of this command"]);
        }
        scratch.refuses(&format!("{command} {option} model --force"), &["model", "is a directory"]);
        scratch.write("mine.txt", "something of mine");
        scratch.refuses(&format!("{command} {option} mine.txt"), &["mine.txt already exists", "--force"]);
        scratch.ok(&format!("{command} {option} mine.txt --force"));
        assert_ne!(scratch.bytes("mine.txt"), b"something of mine");
        if command.starts_with("export") {
            scratch.refuses(&format!("{command} {option} mine.txt"), &["already exists"]);
        } else {
            scratch.ok(&format!("{command} {option} mine.txt"));
        }
        // Earlier results may be in the posterior itself.
        scratch.ok(&format!("{command} {option} posterior/result"));
        let again = scratch.run(&format!("{command} {option} posterior/result --force"));
        assert_eq!(again.status.code(), Some(if command.starts_with("export") { 1 } else { 0 }));
        fs::remove_file(scratch.join("posterior/result")).expect("removes");
    }
    scratch
        .refuses("evaluate posterior --data train.csv --ood test.csv --report test.csv --force", &["input"]);
}

#[cfg(unix)]
#[test]
fn links_are_neither_replaced_nor_followed() {
    use std::os::unix::fs::symlink;
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("train --data train.csv --hidden 3 --out real");
    scratch.write("mine.txt", "something of mine");
    symlink("real", scratch.join("link")).expect("links");
    symlink("mine.txt", scratch.join("file-link")).expect("links");
    symlink("nowhere", scratch.join("dangling")).expect("links");
    for out in ["link", "link/", "dangling", "file-link"] {
        for force in ["", "--force"] {
            scratch.refuses(&format!("train --data train.csv --out {out} {force}"), &["is a link to"]);
            scratch.refuses(&format!("fit model --data train.csv --out {out} {force}"), &["is a link to"]);
        }
    }
    for out in ["file-link", "dangling"] {
        scratch.refuses(&format!("export model --out {out} --force"), &["is a link to"]);
        scratch.refuses(
            &format!("predict posterior --data test.csv -m la --out {out} --force"),
            &["is a link to"],
        );
        let evaluate = "evaluate posterior --data test.csv --resamples 5 --report";
        scratch.refuses(&format!("{evaluate} {out} --force"), &["is a link to"]);
    }
    // An input that is reached through a link is an input all the same.
    fs::create_dir(scratch.join("data")).expect("makes");
    fs::rename(scratch.join("train.csv"), scratch.join("data/weights.safetensors")).expect("moves");
    fs::copy(scratch.join("real/model.json"), scratch.join("data/model.json")).expect("copies");
    symlink("data/weights.safetensors", scratch.join("train.csv")).expect("links");
    scratch.refuses("train --data train.csv --out data --force", &["is an input"]);
    // A link inside of a directory that is ours is not.
    symlink("../mine.txt", scratch.join("real/weights.safetensors.bak")).expect("links");
    scratch.refuses("train --data test.csv --out real --force", &["weights.safetensors.bak"]);
    let output = scratch.run("evaluate posterior --data test.csv --resamples 5 --report /dev/null --force");
    assert!(text(&output.stderr).contains("not a regular file"), "{}", text(&output.stderr));
}

#[test]
fn a_demonstration_and_a_manual_replace_only_their_own_files() {
    let scratch = common::scratch();
    fs::create_dir(scratch.join("d")).expect("makes");
    scratch.write("d/report.html", "something of mine");
    scratch.refuses("demo --samples 1 --out d", &["report.html", "--force"]);
    scratch.write("d/results.json", "{\"mine\": 1}");
    scratch.refuses("demo --samples 1 --out d", &["results.json", "--force"]);
    scratch.ok("demo --samples 1 --out d --force");
    scratch.ok("demo --samples 1 --out d");
    scratch.ok("man --out m");
    scratch.ok("man --out m");
    scratch.write("m/riemla-fit.1", "something of mine");
    scratch.refuses("man --out m", &["riemla-fit.1", "already exists"]);
    scratch.ok("man --out m --force");
    assert!(scratch.read("m/riemla-fit.1").contains(".TH riemla-fit"));
}

#[cfg(unix)]
#[test]
fn a_posterior_that_is_drawn_from_is_not_replaced() {
    let scratch = common::scratch();
    scratch.posterior();
    let mut child = scratch
        .riemla("sample posterior -n 1000000 --strength 0.5")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    let log = scratch.join("posterior/samples/riem-la/draws.log");
    while fs::metadata(&log).map_or(0, |m| m.len()) < 2000 {
        assert!(child.try_wait().expect("asks").is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let message = scratch.fails("fit model --data train.csv --force");
    assert!(message.contains("posterior is in use by another process"), "{message}");
    // Another set may be drawn at the same time.
    scratch.ok("sample posterior -m la -n 2");
    child.kill().expect("kills");
    child.wait().expect("ends");
    assert!(scratch.join("posterior/samples/riem-la/draws.log").exists());
    scratch.ok("fit model --data train.csv --force");
}
