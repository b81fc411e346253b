//! Runs the binary as a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A directory of its own for a test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("riemla-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("temporary directory");
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn riemla(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riemla"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    riemla(arguments).output().expect("the program starts")
}

fn demo(out: &Path, arguments: &[&str]) -> Output {
    riemla(&["demo", "--out"]).arg(out).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn results(out: &Path) -> Value {
    let bytes = fs::read(out.join("results.json")).expect("results.json is there");
    serde_json::from_slice(&bytes).expect("valid JSON")
}

/// The page is complete and refers to nothing outside of itself.
fn assert_self_contained(html: &str) {
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    let html = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http:", "https:", "src=", "<script", "<link", "@import", "url("] {
        assert!(!html.contains(outside), "{outside} in the report");
    }
    for address in html.split("href=\"").skip(1) {
        assert!(address.starts_with('#') || address.starts_with("data:"), "{}", &address[..40]);
    }
}

#[test]
fn help_and_version_say_what_there_is() {
    let help = run(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for part in ["demo", "Examples:", "Exit codes:", "130", "--threads"] {
        assert!(text(&help.stdout).contains(part), "{part}");
    }
    let help = text(&run(&["demo", "--help"]).stdout);
    for part in ["--out", "--seed", "--samples", "--strength", "--json", "--force", "--quiet", "Examples:"] {
        assert!(help.contains(part), "{part}");
    }
    assert_eq!(text(&run(&["--version"]).stdout), format!("riemla {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn mistakes_in_arguments_exit_with_2() {
    for (arguments, hint) in [
        (&["demo", "--samples", "0"][..], "at least 1"),
        (&["demo", "--samples", "99999999999999999999"], "at most 10000"),
        (&["demo", "--samples=-1"], "at least 1"),
        (&["demo", "--strength", "nan"], "above 0"),
        (&["demo", "--threads", "0"], "at least 1"),
        (&["demo", "--seed", "x"], "--seed"),
        (&["demo", "--seed", "-1"], "must be a whole number, at least 0"),
        (&["train", "--data", "a.csv", "--out", "m", "--seed", "-1"], "must be a whole number, at least 0"),
        (&["sample", "p", "--seed", "-1"], "must be a whole number, at least 0"),
        (&["sample", "p", "--samples", "-3"], "must be a whole number, at least 1 and at most 1000000"),
        (&["sample", "p", "--strength", "-1"], "above 0"),
        (&["sample", "p", "--threads", "-2"], "at least 1"),
        (&["fit", "m", "--data", "a.csv", "--rank", "-2"], "at least 0"),
        (&["evaluate", "p", "--data", "a.csv", "--resamples", "1"], "at least 2 and at most 1000000"),
        (&["dmo"], "demo"),
        (&[], "Usage"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(text(&output.stderr).contains(hint), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_demo_leaves_a_report_and_prints_its_scores() {
    let scratch = Scratch::new("demo");
    let out = scratch.join("new/place");
    let output = demo(&out, &["--samples", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for method in ["map", "la", "lin-la", "riem-la", "lin-riem-la"] {
        assert!(table.lines().any(|line| line.split(' ').next() == Some(method)), "{method} in {table}");
    }
    // Nothing but the closing line: no progress bars in pipes.
    assert_eq!(text(&output.stderr).lines().count(), 1);
    let html = fs::read_to_string(out.join("report.html")).expect("report.html is there");
    assert_self_contained(&html);
    let results = results(&out);
    assert_eq!(results["schema_version"], 1);
    assert_eq!(results["interrupted"], Value::Null);
    assert_eq!(results["methods"].as_array().map(Vec::len), Some(5));
    assert_eq!(results["methods"][3]["records"].as_array().map(Vec::len), Some(3));
    assert!(results["laplace"]["gradient_norm"].as_f64().is_some_and(|g| g < 1e-6), "not at the minimum");
    let picture = fs::metadata(out.join("confidence-maps.svg")).expect("the picture is there").len();
    assert!(picture < 400_000, "{picture} bytes");
    assert_eq!(fs::read_dir(&out).expect("lists").count(), 3);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let scratch = Scratch::new("threads");
    let run = |threads: &str| {
        let out = scratch.join(threads);
        let output = demo(&out, &["--samples", "4", "--seed", "3", "--json", "-q", "--threads", threads]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(output.stderr.is_empty());
        let mut printed: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");
        assert_eq!(printed, results(&out));
        assert_eq!(printed["timing"]["threads"].to_string(), threads);
        printed.as_object_mut().and_then(|o| o.remove("timing")).expect("times are kept apart");
        printed.to_string()
    };
    assert_eq!(run("1"), run("2"));
}

#[test]
fn one_draw_is_enough_and_earlier_output_is_replaced() {
    let scratch = Scratch::new("one");
    for seed in ["18446744073709551615", "0"] {
        let output = demo(&scratch.0, &["--samples", "1", "--quiet", "--seed", seed]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(results(&scratch.0)["config"]["seed"].to_string(), seed);
    }
}

#[test]
fn other_peoples_files_are_safe() {
    let scratch = Scratch::new("foreign");
    fs::write(scratch.join("thesis.tex"), "years of work").expect("writes");
    fs::write(scratch.join("report.html"), "someone's").expect("writes");
    let output = demo(&scratch.0, &["--samples", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("thesis.tex") && message.contains("--force"), "{message}");
    assert_eq!(fs::read_to_string(scratch.join("report.html")).expect("there"), "someone's");
    let output = demo(&scratch.0, &["--samples", "1", "--force"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(scratch.join("thesis.tex")).expect("there"), "years of work");
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_work() {
    let scratch = Scratch::new("unwritable");
    let file = scratch.join("file");
    fs::write(&file, "a file").expect("writes");
    for (out, what) in [(file.clone(), "is not a directory"), (file.join("below"), "cannot create")] {
        let output = demo(&out, &[]);
        assert_eq!(output.status.code(), Some(1));
        let message = text(&output.stderr);
        assert!(message.contains(what) && message.contains("help:"), "{message}");
    }
}

#[test]
fn absurd_strengths_are_no_panic() {
    let scratch = Scratch::new("strength");
    let output = demo(&scratch.0, &["--samples", "1", "--strength", "1e-300"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = demo(&scratch.0, &["--samples", "1", "--strength", "1e300"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("smaller --strength"), "{}", text(&output.stderr));
    let html = fs::read_to_string(scratch.join("report.html")).expect("what there is, is reported");
    assert!(html.contains("Note: there are no results for riem-la"));
}

/// Starts a long run and interrupts it after `wait`.
#[cfg(unix)]
fn interrupted(out: &Path, wait: Duration) -> Output {
    let child = riemla(&["demo", "--samples", "2000", "--out"])
        .arg(out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(wait);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    child.wait_with_output().expect("it ends")
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_reports_what_was_drawn() {
    let scratch = Scratch::new("interrupt");
    let mut wait = Duration::from_secs(2);
    let output = loop {
        let output = interrupted(&scratch.0, wait);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        // Too early for a draw on a busy machine: then nothing may have been written.
        if !text(&output.stderr).contains("before anything was finished") {
            break output;
        }
        assert_eq!(fs::read_dir(&scratch.0).expect("lists").count(), 0);
        wait *= 3;
    };
    assert!(text(&output.stderr).contains("Interrupted after"), "{}", text(&output.stderr));
    let html = fs::read_to_string(scratch.join("report.html")).expect("report.html is there");
    assert_self_contained(&html);
    assert!(html.contains("Note: interrupted after"));
    let results = results(&scratch.0);
    let (draws, of) = (&results["interrupted"]["draws"], &results["interrupted"]["of"]);
    assert!(draws.as_u64() >= Some(1) && draws.as_u64() < of.as_u64(), "{draws} of {of}");
}
