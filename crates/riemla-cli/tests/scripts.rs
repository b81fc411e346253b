//! The scripts that compare with scikit-learn, on their smallest table.

mod common;

use std::path::Path;
use std::process::Command;

use common::{columns, text};

#[test]
fn the_comparisons_write_their_tables_and_do_nothing_twice() {
    let Some(python) = riemla_repository::python("sklearn", "comparisons with scikit-learn") else { return };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let scratch = common::scratch();
    let run = |script: &str, more: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(scripts.join(script)).args(["--riemla", env!("CARGO_BIN_EXE_riemla"), "--out"]);
        command.arg(scratch.path()).args(more);
        let output = command.output().expect("python starts");
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    for (script, more, file, lines) in
        [("compare-sklearn", &["--draws", "2"][..], "sklearn", 7), ("compare-networks", &[], "networks", 4)]
    {
        let arguments = [&["--sets", "iris", "--splits", "1"], more].concat();
        let (done, _, said) = run(script, &arguments);
        assert!(done, "{script}: {said}");
        let csv = scratch.read(&format!("{file}.csv"));
        let (head, rows) = columns(&csv);
        assert_eq!((head[0].as_str(), rows.len()), ("set", lines), "{csv}");
        assert!(scratch.read(&format!("{file}.md")).contains("| iris |"));
        let (done, printed, said) = run(script, &arguments);
        assert!(done && !printed.contains("iris 0"), "{printed}{said}");
        assert_eq!(scratch.read(&format!("{file}.csv")), csv);
        let (done, _, said) = run(script, &["--sets", "irises"]);
        assert!(!done && said.contains("no such table: irises; there are iris"), "{said}");
    }
}
