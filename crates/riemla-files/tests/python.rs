//! The Python example of docs/formats.md, run as it stands there.

mod common;

use std::process::Command;

use common::{DIM, draws, run};
use riemla_files::samples::write_samples;
use riemla_repository::python;

#[test]
fn the_documented_python_lines_read_the_samples() {
    let Some(python) = python("safetensors.numpy", "Python lines of docs/formats.md") else { return };
    let directory = tempfile::tempdir().unwrap();
    // Where `riemla sample` puts them.
    let samples = directory.path().join("posterior/samples/riem-la");
    std::fs::create_dir_all(&samples).unwrap();
    write_samples(&samples, &run(), &draws(4)).unwrap();
    let document = include_str!("../../../docs/formats.md");
    let (_, rest) = document.split_once("```python\n").unwrap();
    let (lines, _) = rest.split_once("```").unwrap();
    assert_eq!(lines.lines().count(), 3);
    let script = format!("{lines}assert draws.shape == (4, {DIM}) and draws[3, 0] == 1.0, draws");
    let output = Command::new(&python).args(["-c", &script]).current_dir(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
