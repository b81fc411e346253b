//! docs/guide.md, executed: every `sh` block, in order, in one directory.

mod common;

use std::path::Path;
use std::process::Command;

use common::text;

#[test]
fn the_commands_of_the_guide_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/guide.md")).expect("docs/guide.md is there");
    let scratch = common::scratch();
    for entry in std::fs::read_dir(root.join("docs/guide")).expect("docs/guide is there") {
        let entry = entry.expect("lists");
        std::fs::copy(entry.path(), scratch.join(&entry.file_name().to_string_lossy())).expect("copies");
    }
    let program =
        Path::new(env!("CARGO_BIN_EXE_riemla")).parent().expect("a directory").display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    let blocks: Vec<&str> =
        guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 8, "{} blocks", blocks.len());
    for block in blocks {
        let script = format!("set -e\n{block}");
        let output =
            Command::new("sh").args(["-c", &script]).current_dir(scratch.path()).env("PATH", &path).output();
        let output = output.expect("sh runs");
        assert!(output.status.success(), "{block}\n{}{}", text(&output.stdout), text(&output.stderr));
    }
    for file in ["report.html", "predictions.csv", "houses-report.html"] {
        assert!(scratch.join(file).exists(), "{file}");
    }
}
