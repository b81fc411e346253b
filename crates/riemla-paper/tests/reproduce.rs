//! Runs `riemla reproduce` and `riemla data` as a user would: small runs, kills, a full disk.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Scratch, content, scratch, text};

/// The pinwheel is generated: its experiment needs no data.
const RUN: &str = "reproduce pinwheel --quick --prior optimized --preset paper --preset calibrated";

/// Everything that must be the same: all files but the report and the log of times, with the times
/// of results and records taken out.
fn results(scratch: &Scratch, out: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = content(&scratch.join(out));
    // A run that is killed while it writes leaves what it had begun.
    let kept = |name: &str| !name.contains(".riemla-tmp-") && name != "report.html" && name != "results.md";
    files.retain(|name, _| kept(name));
    for (name, bytes) in &mut files {
        match name.as_str() {
            "results.csv" => *bytes = without_column(&text(bytes), 11).into_bytes(),
            name if name == "runs.jsonl" || name.ends_with("calibration.json") => {
                *bytes = without_seconds(&text(bytes)).into_bytes();
            }
            _ => {}
        }
    }
    files
}

fn without_column(csv: &str, column: usize) -> String {
    let line = |line: &str| {
        let fields = line.split(',').enumerate().filter(|(i, _)| *i != column).map(|(_, field)| field);
        fields.collect::<Vec<_>>().join(",")
    };
    csv.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// JSON with the numbers after "seconds", "fit_seconds" and "seconds_per_sample" taken out, and the checksums that
/// depend on them.
fn without_seconds(json: &str) -> String {
    let json: String = json.split("crc32-").map(|part| part.get(8..).unwrap_or(part)).collect();
    let json = json.replace("\"fit_seconds", "\"seconds");
    let mut parts = json.split("\"seconds");
    let mut kept = parts.next().unwrap_or_default().to_string();
    for part in parts {
        kept += part.find([',', '}', '\n']).map_or("", |end| &part[end..]);
    }
    kept
}

fn start(scratch: &Scratch, arguments: &str) -> Child {
    scratch
        .riemla(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn wait_for(child: &mut Child, ready: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(120) {
        if ready() {
            return true;
        }
        if child.try_wait().expect("a status").is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("nothing happened for two minutes");
}

#[test]
fn a_killed_run_goes_on_with_the_same_bits_on_any_number_of_threads() {
    let scratch = scratch();
    let done = scratch.run(&format!("{RUN} --out whole --quiet --threads 2"));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(done.stderr.is_empty());
    let html = scratch.read("whole/report.html");
    assert!(html.starts_with("<!doctype html>") && html.contains("riem-la, calibrated"));
    assert!(html.contains("<svg"), "figures are drawn");

    // Killed when the log of the paper's geodesics has a few draws, then when the search for the strength of
    // the other preset has made a trial, then when it has just been found.
    let place = scratch.join("killed/samples/pinwheel/seed-0/optimized");
    // Header and two records of 605 weights.
    let some_draws =
        || fs::metadata(place.join("paper/riem-la/draws.log")).is_ok_and(|m| m.len() > 2 * 8 * 605);
    let strength = || place.join("calibrated/riem-la/calibration.json").is_file();
    let trial = || place.join("calibrated/riem-la.strength.trials.json").is_file() || strength();
    let kills: [(&dyn Fn() -> bool, &str); 3] =
        [(&some_draws, ""), (&trial, "--resume"), (&strength, "--resume")];
    for (ready, more) in kills {
        let mut child = start(&scratch, &format!("{RUN} --out killed --threads 1 {more}"));
        let caught = wait_for(&mut child, ready);
        child.kill().expect("SIGKILL");
        child.wait().expect("it ended");
        assert!(caught, "the run was over before it could be killed");
    }
    let refused = scratch.fails(&format!("{RUN} --out killed"));
    assert!(refused.contains("--resume"), "{refused}");
    scratch.ok(&format!("{RUN} --out killed --quiet --resume --threads 1"));

    let (whole, killed) = (results(&scratch, "whole"), results(&scratch, "killed"));
    assert_eq!(whole.keys().collect::<Vec<_>>(), killed.keys().collect::<Vec<_>>());
    for (name, bytes) in &whole {
        assert!(killed[name] == *bytes, "{name} differs");
    }
    assert!(whole.keys().any(|name| name.ends_with("paper/riem-la/samples.safetensors")));
    assert!(text(&whole["results.csv"]).lines().count() > 20);
}

/// All cells are done, so that nothing is run: the change is reported nevertheless, and nothing is overwritten.
#[test]
fn weights_that_changed_after_the_last_cell_are_reported() {
    let scratch = scratch();
    let run = "reproduce pinwheel --quick --prior optimized --samples 2 --preset paper --quiet --out out";
    scratch.ok(run);
    let files = results(&scratch, "out");
    scratch.ok(&format!("{run} --resume"));
    let place = scratch.join("out/fits/pinwheel/seed-0");
    let mut model = riemla_files::Model::read(&place).expect("a model");
    model.theta[3] += 1e-9;
    model.write(&place, riemla_files::Existing::Replace).expect("writes");
    let message = scratch.fails(&format!("{run} --resume"));
    for part in ["runs.jsonl", "seed 0", "the trained weights differ", "--out"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(results(&scratch, "out")["runs.jsonl"], files["runs.jsonl"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_reports_what_is_there_and_the_report_can_be_made_again() {
    let scratch = scratch();
    let mut child = start(&scratch, &format!("{RUN} --out out --samples 500"));
    let log = scratch.join("out/samples/pinwheel/seed-0/optimized/paper/riem-la/draws.log");
    assert!(wait_for(&mut child, || fs::metadata(&log).is_ok_and(|m| m.len() > 3 * 8 * 605)));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
    let html = scratch.read("out/report.html");
    assert!(html.contains("Some draws are missing: pinwheel, seed 0, prior optimized, paper, riem-la"));
    assert!(
        scratch.read("out/runs.jsonl").lines().count() >= 4,
        "map, la, lin-la and what there is of riem-la"
    );
    // The report again, from what is saved.
    fs::remove_file(scratch.join("out/report.html")).expect("removes");
    scratch.ok("reproduce report out");
    assert_eq!(scratch.read("out/report.html"), html);
}

/// Settings in an experiment's file take the place of --preset; what is done is not done again.
#[test]
fn a_study_of_settings_reports_which_rule_wins() {
    let scratch = scratch();
    let study = "reproduce strength --quick --quiet --out out";
    scratch.ok(study);
    let first = results(&scratch, "out");
    let records = text(&first["runs.jsonl"]);
    for setting in ["a=0.03", "a=0.3", "virial", "loss-rise", "held-out"] {
        assert!(records.contains(&format!("\"preset\":\"{setting}\"")), "{setting}");
    }
    assert!(!records.contains("\"preset\":\"paper\""));
    let found = "samples/pinwheel/seed-0/optimized/held-out/riem-la/calibration.json";
    assert!(first.contains_key(found) && first.contains_key(&found.replace("held-out", "virial")));
    assert!(!first.contains_key(&found.replace("held-out", "a-0.3")), "a number is not searched for");
    let summary = text(&first["strength.md"]);
    for part in ["Lowest test NLL most often:", "| held-out |", "search, in draws"] {
        assert!(summary.contains(part), "{part}");
    }
    assert!(
        text(&first["results.csv"]).lines().any(|l| l.starts_with("strength,pinwheel,pinwheel,optimized"))
    );
    scratch.ok(&format!("{study} --resume --preset paper"));
    assert!(results(&scratch, "out") == first, "nothing was left to do");
}

/// A study of the pinwheel, as its file says it.
fn study_of_pinwheel(settings: &str) -> String {
    format!(
        r#"
name = "study"
title = "A study"
about = "The pinwheel."
takes = {{ time = "seconds", memory = "little" }}
seeds = 1
samples = 3
settings = ["calibrated"]
uses = ["pinwheel"]
quick = {{ seeds = 1, samples = 3, epochs = 500, rows = 60 }}
{settings}
"#
    )
}

/// The searched prior has weights of its own, at a minimum under it.
#[test]
fn a_study_of_priors_reports_what_remains_of_the_lead() {
    let scratch = scratch();
    let settings = r#"methods = ["map", "lin-la", "riem-la"]
priors = ["optimized", "searched"]"#;
    scratch.write("study.toml", study_of_pinwheel(settings));
    let study = "reproduce study.toml --quick --quiet --out out";
    scratch.ok(study);
    let first = results(&scratch, "out");
    // As they are on the disk: `results` leaves the seconds out.
    let runs = scratch.read("out/runs.jsonl");
    let objects = runs.lines().filter_map(|line| Some(&line[line.find('{')?..=line.rfind('}')?]));
    let records: Vec<serde_json::Value> =
        objects.map(|object| serde_json::from_str(object).expect("a record")).collect();
    let gradient = |prior: &str| {
        let record = records.iter().find(|r| r["prior"] == prior && r["method"] == "map").expect("a record");
        assert!(record["model"]["log_marginal_likelihood"].is_number());
        record["model"]["gradient_norm"].as_f64().expect("a number")
    };
    assert!(gradient("searched") < 1e-4 && gradient("optimized") > 1e-2, "only one is at a minimum");
    let page = text(&first["prior.md"]);
    for part in ["pinwheel, optimized", "pinwheel, searched", "over lin-la, searched"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!first.contains_key("strength.md"), "no study of settings");
    assert!(text(&first["results.csv"]).lines().any(|l| l.starts_with("study,pinwheel,pinwheel,searched")));
    scratch.ok(&format!("{study} --resume"));
    assert!(results(&scratch, "out") == first, "nothing was left to do");
}

/// With no time at all only what has geodesics is left out; with more it is run.
#[test]
fn what_would_take_too_long_is_not_run_but_listed_with_an_estimate() {
    let scratch = scratch();
    let settings = |longest: f64| {
        let methods = "methods = [\"map\", \"lin-la\", \"riem-la\"]\npriors = [\"fixed\"]";
        let structure = "approximations = [{ name = \"kron\", structure = \"kron\" }]";
        study_of_pinwheel(&format!("{methods}\n{structure}\nlongest_cell_seconds = {longest:.1}"))
    };
    scratch.write("study.toml", settings(0.0));
    let study = "reproduce study.toml --quick --quiet --out out";
    scratch.ok(study);
    let methods = |csv: &str| {
        csv.lines().skip(1).filter_map(|line| line.split(',').nth(3).map(String::from)).collect::<Vec<_>>()
    };
    assert_eq!(methods(&scratch.read("out/study.csv")), ["map", "lin-la"]);
    let page = scratch.read("out/study.md");
    assert!(page.contains("Not run: pinwheel kron (riem-la: ") && page.contains(" per draw)"), "{page}");
    assert!(!scratch.join("out/samples/pinwheel-kron/seed-0/fixed/calibrated").exists(), "no draws");
    let before = scratch.bytes("out/runs.jsonl");
    scratch.ok(&format!("{study} --resume"));
    assert_eq!(scratch.bytes("out/runs.jsonl"), before, "it is not looked at again");
    scratch.write("study.toml", settings(1e6));
    scratch.ok(&format!("{study} --resume"));
    assert_eq!(methods(&scratch.read("out/study.csv")), ["map", "lin-la", "riem-la"]);
    assert!(!scratch.read("out/study.md").contains("Not run"));
}

#[test]
fn lists_and_mistakes() {
    let scratch = scratch();
    let list = scratch.ok("reproduce list");
    for part in [
        "logistic",
        "regression-gap",
        "uci",
        "fashion-mnist",
        "ood",
        "batches",
        "strength",
        "truth",
        "time:",
        "memory:",
    ] {
        assert!(list.contains(part), "{part}");
    }
    for (arguments, code, words) in [
        ("reproduce bananas", 1, "fashion-mnist"),
        ("reproduce no/such.toml", 1, "no/such.toml"),
        ("reproduce banana --seeds 0", 2, "--seeds"),
        ("reproduce banana --preset fast", 2, "calibrated"),
        ("reproduce", 2, "EXPERIMENT"),
        ("reproduce report", 1, "takes one directory"),
        ("reproduce report no/such/directory", 1, "no results"),
        ("reproduce list banana", 1, "no further arguments"),
        ("reproduce truth --preset paper", 1, "leave out --prior and --preset"),
        ("reproduce truth --samples 1", 1, "at least 2"),
        ("data fetch imagenet", 1, "fashion_mnist"),
        ("data fetch", 2, "NAME"),
    ] {
        let failed = scratch.run(arguments);
        assert_eq!(failed.status.code(), Some(code), "{arguments}");
        assert!(text(&failed.stderr).contains(words), "{arguments}: {}", text(&failed.stderr));
    }
}

#[test]
fn an_experiment_without_its_data_says_what_to_do() {
    let scratch = scratch();
    let message = scratch.fails("reproduce mnist --quick --quiet --data-dir empty --out out");
    assert!(message.contains("riemla data fetch mnist"), "{message}");
    assert!(message.starts_with("error: mnist: ") && !message.contains("mnist: mnist:"), "{message}");
    let message = text(&scratch.run("reproduce mnist --quick --data-dir empty --out again").stderr);
    assert!(message.contains("Done, with 1 failure, after"), "{message}");
}

#[test]
fn data_are_listed_and_checked() {
    let scratch = scratch();
    let listed = scratch.ok("data list --data-dir .");
    for part in ["CC BY-SA 4.0", "riemla data fetch kmnist", "generated", "origin:"] {
        assert!(listed.contains(part), "{part}");
    }
    scratch.write("banana.csv", "x1,x2,label\n1,2,0\n");
    let checked = scratch.run("data check --data-dir .");
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stdout).contains("SHA-256"), "{}", text(&checked.stdout));
    fs::remove_file(scratch.join("banana.csv")).expect("removes");
    scratch.ok("data check --data-dir .");
    assert_eq!(scratch.run("data check banana --data-dir .").status.code(), Some(1));
}

/// Serves the labels of a data set that does not exist in this repository: any file, so that the
/// checksum is wrong; the point is what is left behind.
fn serve(body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    format!("http://{address}")
}

#[test]
fn a_wrong_download_and_no_network_leave_nothing() {
    let scratch = scratch();
    let nobody = "http://127.0.0.1:9".to_string();
    for (mirror, words) in
        [(serve(b"not an image".to_vec()), "it was not kept"), (nobody, "check the network")]
    {
        let mut command = scratch.riemla("data fetch kmnist --quiet --data-dir new");
        let failed = command.env("RIEMLA_DATA_MIRROR", &mirror).output().expect("the program starts");
        assert_eq!(failed.status.code(), Some(1));
        assert!(text(&failed.stderr).contains(words), "{}", text(&failed.stderr));
        assert!(!scratch.join("new").exists());
    }
}

/// A limit on the size of files stands for a full disk: writing fails half-way. Needs the real file,
/// which is not part of the repository.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing() {
    let Some(source) = riemla_repository::data_directory("a full disk") else { return };
    let images = fs::read(source.join("kmnist/t10k-images-idx3-ubyte.gz")).expect("reads");
    let scratch = scratch();
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" data fetch kmnist --quiet --data-dir \"$1\"";
    let failed = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_riemla-paper")])
        .arg(scratch.join("data"))
        .env("RIEMLA_DATA_MIRROR", serve(images))
        .stdin(Stdio::null())
        .output()
        .expect("sh runs");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    assert!(text(&failed.stderr).contains("cannot write it"), "{}", text(&failed.stderr));
    let left = fs::read_dir(scratch.join("data/kmnist")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a half-written file was left");
}

#[test]
fn an_experiment_without_a_posterior_to_draw_is_no_success() {
    let failed = scratch().run("reproduce mnist --quick --prior fixed --out out");
    assert_eq!(failed.status.code(), Some(1));
    let message = text(&failed.stderr);
    assert!(message.contains("nothing to run") && message.contains("optimized"), "{message}");
}

#[test]
fn files_of_experiments_are_checked_before_anything_is_written() {
    let scratch = scratch();
    let good = include_str!("../experiments/logistic.toml");
    for (from, to, words) in [
        ("name = \"logistic\"", "name = \"../logistic\"", "letters, digits"),
        ("methods = [\"map\", \"la\", \"riem-la\"]", "methods = []", "no methods"),
        ("quick = { seeds = 1", "quick = { seeds = 0", "quick.seeds"),
        ("network = [2, 1]", "network = \"lenet\"", "networks.toml"),
    ] {
        assert!(good.contains(from), "{from}");
        scratch.write("mine.toml", good.replacen(from, to, 1));
        let message = scratch.fails("reproduce mine.toml --out out");
        assert!(message.contains(words), "{to}: {message}");
        assert!(!scratch.join("out").exists(), "{to}");
    }
}

/// The page in the repository is the one that its numbers make, and making it changes no numbers.
#[test]
fn the_committed_tables_are_made_from_the_committed_numbers() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let scratch = scratch();
    let csv = fs::read(docs.join("results/results.csv")).expect("reads");
    scratch.write("results.csv", &csv);
    scratch.ok("reproduce report .");
    assert!(scratch.bytes("results.csv") == csv, "the numbers were changed");
    let made = scratch.read("results.md");
    let kept = fs::read_to_string(docs.join("results.md")).expect("reads");
    let difference = made.lines().zip(kept.lines()).find(|(made, kept)| made != kept);
    assert!(difference.is_none() && made.len() == kept.len(), "docs/results.md is old: {difference:?}");
}
