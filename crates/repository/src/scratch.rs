//! Running a program in a directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use riemla::data::{Targets, toy};
use riemla::random::{Purpose, fill_normal, stream};

/// A directory for a test, removed at its end, and the program that is run there.
pub struct Scratch {
    directory: tempfile::TempDir,
    program: &'static str,
}

impl Scratch {
    /// For a program: `env!("CARGO_BIN_EXE_riemla")`, which only tests of its own crate know.
    pub fn of(program: &'static str) -> Self {
        Self { directory: tempfile::tempdir().expect("temporary directory"), program }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of a file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.join(name), content).expect("writes");
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program with arguments separated by blanks, in this directory.
    pub fn riemla(&self, arguments: &str) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(self.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Runs the program, whatever comes out.
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

    /// Damages a file in eight places in turn: the command must say so, with a remedy, and run once it is whole again.
    pub fn reports_damage(&self, file: &str, command: &str, remedy: &str) {
        let whole = self.bytes(file);
        for part in 0..8 {
            let place = (whole.len() - 1) * part / 7;
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << part;
            self.write(file, &damaged);
            let message = self.fails(command);
            let name = file.rsplit('/').next().expect("a name");
            for expected in [name, "damaged", remedy] {
                assert!(message.contains(expected), "{command}, byte {place}: {expected}: {message}");
            }
        }
        self.write(file, &whole);
        self.ok(command);
    }

    /// Runs what must be refused with these words, and must leave every file as it is.
    pub fn refuses(&self, arguments: &str, parts: &[&str]) {
        let before = content(self.path());
        let message = self.fails(arguments);
        parts.iter().for_each(|part| assert!(message.contains(part), "{arguments}: {part}: {message}"));
        let after = content(self.path());
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{arguments}");
        assert!(before == after, "{arguments}: a file has changed");
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

    /// Few rows of six classes that are far apart: `train.csv` and `test.csv`.
    pub fn separable(&self) {
        for (name, rows, seed) in [("train.csv", 60, 1), ("test.csv", 60, 2)] {
            let mut noise = vec![0.0; 6 * rows];
            fill_normal(&mut stream(seed, Purpose::Data, 0), &mut noise);
            let mut text = String::from("u,v,w,x,y,z,kind\n");
            for (row, noise) in noise.chunks(6).enumerate() {
                let class = row % 6;
                let place = |(k, e): (usize, &f64)| format!("{}", 0.3 * e + f64::from(u8::from(k == class)));
                text += &noise.iter().enumerate().map(place).collect::<Vec<_>>().join(",");
                text += &format!(",{}\n", ["a", "b", "c", "d", "e", "f"][class]);
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

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The columns of a CSV text without quotes.
pub fn columns(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
    let head = lines.next().unwrap_or_default();
    (head, lines.collect())
}

/// All files below a directory with their contents; links by their targets.
pub fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![directory.to_path_buf()];
    while let Some(place) = todo.pop() {
        for entry in fs::read_dir(&place).expect("lists").map(|entry| entry.expect("an entry")) {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            let name = path.strip_prefix(directory).expect("inside").display().to_string();
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_symlink() {
                found.insert(name, fs::read_link(&path).expect("a link").display().to_string().into_bytes());
            } else {
                found.insert(name, fs::read(&path).expect("reads"));
            }
        }
    }
    found
}
