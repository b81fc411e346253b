//! Running the binary in a directory of its own.
#![allow(dead_code)] // each test binary uses its own part

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use riemla::data::{Targets, toy};

/// A directory for a test, removed at its end.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("temporary directory"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.join(name), content).expect("writes");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program with arguments separated by blanks, in this directory.
    pub fn riemla(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_riemla"));
        command.current_dir(self.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.riemla(arguments).output().expect("the program starts")
    }

    /// Runs what must succeed; returns what it printed.
    pub fn ok(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "riemla {arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs what must fail with code 1; returns the message.
    pub fn fails(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "riemla {arguments}: {}", text(&output.stderr));
        let message = text(&output.stderr);
        assert!(message.starts_with("error: ") && !message.contains("panicked"), "{message}");
        message
    }

    /// Two half circles with text labels: `train.csv` and `test.csv`.
    pub fn moons(&self) {
        for (name, rows, seed) in [("train.csv", 120, 1), ("test.csv", 60, 2)] {
            let data = toy::two_moons(rows, 0.25, seed).expect("data");
            let labels = data.labels().expect("classes");
            let mut text = String::from("x,y,kind\n");
            for (row, label) in data.inputs().chunks(2).zip(labels) {
                text += &format!("{},{},{}\n", row[0], row[1], ["north", "south"][*label]);
            }
            self.write(name, text);
        }
    }

    /// A noisy sine: `train.csv` and `test.csv`.
    pub fn sine(&self) {
        for (name, rows, seed) in [("train.csv", 80, 1), ("test.csv", 40, 2)] {
            let data = toy::sine_with_gap(rows, 0.1, seed).expect("data");
            let Targets::Values { values, .. } = data.targets() else { panic!("values") };
            let rows = data.inputs().iter().zip(values).map(|(x, y)| format!("{x},{}\n", 100.0 + 20.0 * y));
            self.write(name, "x,price\n".to_string() + &rows.collect::<String>());
        }
    }

    /// A small posterior of the half circles at `posterior/`.
    pub fn posterior(&self) {
        self.moons();
        self.ok("train --data train.csv --hidden 8 --out model");
        self.ok("fit model --data train.csv");
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The columns of a CSV text without quotes.
pub fn columns(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
    let head = lines.next().unwrap_or_default();
    (head, lines.collect())
}
