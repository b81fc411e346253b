//! What tests need from outside: the real data sets, and Python.
//!
//! Where it is missing, a test is not run, which is printed (past the capture of `cargo test`) and counted: a line is
//! added to the file `$RIEMLA_SKIPPED`, which scripts/check reads. Where `CI` is set, the test fails instead.

use std::env::{self, var_os};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory of the real data sets: `$RIEMLA_DATA_DIR`, or ../shared/data beside the clone.
///
/// # Panics
///
/// If it is not there and `CI` is set; otherwise it is `None`, and the test is counted as not run.
pub fn data_directory(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let directory = var_os("RIEMLA_DATA_DIR").map_or(beside, PathBuf::from);
    if directory.join("MANIFEST.md").is_file() {
        return Some(directory);
    }
    let remedy = "put the data sets there, or name their directory in RIEMLA_DATA_DIR";
    not_run(test, &format!("no MANIFEST.md in {}: {remedy}", directory.display()));
    None
}

/// A Python that has `module`: `$RIEMLA_PYTHON`, or python3.
///
/// # Panics
///
/// If there is none and `CI` is set; otherwise it is `None`, and the test is counted as not run.
pub fn python(module: &str, test: &str) -> Option<String> {
    let python = env::var("RIEMLA_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut import = Command::new(&python);
    import.args(["-c", &format!("import {module}")]).stdout(Stdio::null()).stderr(Stdio::null());
    if import.status().is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let remedy = "install it with pip, or name another Python in RIEMLA_PYTHON";
    not_run(test, &format!("{python} has no module {module}: {remedy}"));
    None
}

/// Fails in continuous integration; elsewhere prints and counts.
fn not_run(test: &str, reason: &str) {
    let strict = var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!strict, "CI is set, so `{test}` must run, but {reason}");
    let line = format!("NOT RUN: {test}: {reason}\n");
    // Not by eprintln: that is captured and thrown away when a test passes.
    std::io::stderr().write_all(line.as_bytes()).expect("stderr can be written");
    if let Some(file) = var_os("RIEMLA_SKIPPED") {
        let opened = OpenOptions::new().create(true).append(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", Path::new(&file).display()));
    }
}
