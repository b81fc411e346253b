//! The Python example of docs/formats.md, run as it stands there, if Python has safetensors.

mod common;

use std::process::Command;

use common::{DIM, draws, run};
use riemla_files::samples::write_samples;

#[test]
fn the_documented_python_lines_read_the_samples() {
    let python = std::env::var("RIEMLA_PYTHON").unwrap_or("python3".into());
    let ready = Command::new(&python).args(["-c", "import safetensors.numpy"]).output();
    if !ready.is_ok_and(|output| output.status.success()) {
        eprintln!("NOT TESTED: {python} has no safetensors; set RIEMLA_PYTHON");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let posterior = directory.path().join("posterior");
    std::fs::create_dir(&posterior).unwrap();
    write_samples(&posterior, &run(), &draws(4)).unwrap();
    let document = include_str!("../../../docs/formats.md");
    let (_, rest) = document.split_once("```python\n").unwrap();
    let (lines, _) = rest.split_once("```").unwrap();
    assert_eq!(lines.lines().count(), 3);
    let script = format!("{lines}assert draws.shape == (4, {DIM}) and draws[3, 0] == 1.0, draws");
    let output = Command::new(&python).args(["-c", &script]).current_dir(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
