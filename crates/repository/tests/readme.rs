//! The README: its table of results says what docs/results/results.csv says, and its two commands are there.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Mean and standard error by (set, method, preset), prior optimised.
type Numbers = HashMap<(String, String, String), (f64, Option<f64>)>;

fn numbers(csv: &str) -> Numbers {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a header");
    let column = |name: &str| head.iter().position(|h| *h == name).expect("a column");
    let (train, test, prior) = (column("train_set"), column("test_set"), column("prior"));
    let (method, score, preset) = (column("method"), column("score"), column("preset"));
    let (mean, error) = (column("mean"), column("standard_error"));
    lines
        .filter(|row| row[score] == "nll" && row[prior] == "optimized" && row[train] == row[test])
        .map(|row| {
            let key = (row[train].into(), row[method].into(), row[preset].into());
            (key, (row[mean].parse().expect("a number"), row[error].parse().ok()))
        })
        .collect()
}

#[test]
fn the_table_of_results_is_that_of_the_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).expect("reads");
    let known = numbers(&fs::read_to_string(root.join("docs/results/results.csv")).expect("reads"));
    let columns =
        [("map", "any"), ("la", "any"), ("lin-la", "any"), ("riem-la", "calibrated"), ("riem-la", "paper")];
    let table = readme.split("| data set |").nth(1).expect("the table");
    let mut rows = 0;
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        for ((method, preset), cell) in columns.iter().zip(&cells[2..]) {
            let (mean, error) = known[&(cells[0].into(), (*method).into(), (*preset).into())];
            let expected = match error {
                Some(error) => format!("{mean:.3} ± {error:.3}"),
                None => format!("{mean:.3} (1 seed)"),
            };
            assert_eq!(*cell, expected, "{} {method} {preset}", cells[0]);
        }
        rows += 1;
    }
    assert_eq!(rows, 9);
}

/// One command shows a result, one runs the checks, and continuous integration runs that one.
#[test]
fn the_two_commands_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).expect("reads");
    let readme = read("README.md");
    let commands: Vec<&str> =
        readme.split("```sh\n").skip(1).map(|block| block.lines().next().expect("a command")).collect();
    assert_eq!(commands, ["cargo run --release -p riemla-cli -- demo", "./scripts/check"]);
    assert!(read(".ci/run").trim_end().ends_with("exec ./scripts/check"));
}
