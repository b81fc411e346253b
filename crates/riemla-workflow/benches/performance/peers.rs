//! The same work by other programs, in the same run: JAX with diffrax, and torch.
//!
//! Their programs are in `$RIEMLA_PEERS`, or ../shared/peers beside the clone; Python is `$RIEMLA_PYTHON`, or
//! python3. What is not installed is not measured, and the page says so.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The programs, if they are there.
pub struct Peers {
    python: String,
    directory: Option<PathBuf>,
}

impl Peers {
    pub fn find(root: &Path) -> Self {
        let beside = root.join("../shared/peers");
        let directory = std::env::var_os("RIEMLA_PEERS").map_or(beside, PathBuf::from);
        let python = std::env::var("RIEMLA_PYTHON").unwrap_or_else(|_| "python3".into());
        Self { python, directory: directory.is_dir().then_some(directory) }
    }

    /// What a program prints, if it is there, its modules are installed, and it succeeds.
    fn run(&self, program: &str, modules: &str, arguments: &[&str]) -> Option<String> {
        let program = self.directory.as_ref()?.join(program);
        let mut import = Command::new(&self.python);
        import.args(["-c", &format!("import {modules}")]).stdout(Stdio::null()).stderr(Stdio::null());
        if !program.is_file() || !import.status().is_ok_and(|status| status.success()) {
            return None;
        }
        eprintln!("running {} {}", program.display(), arguments.join(" "));
        let output = Command::new(&self.python).arg(program).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// One evaluation: value, value and gradient, gradient and curvature, of a network.
    pub fn evaluation_section(&self, quick: bool) -> String {
        let mut page = String::from(
            "## One evaluation by other programs\n\nCPU time of one thread, double precision unless said otherwise, in this run. The same shapes are measured for\nriemla above.\n\n| program | network | value, ms | value and gradient, ms | gradient and vᵀHv, ms |\n|---|---|---|---|---|\n",
        );
        // As their programs call them, and as this page does.
        let all = [("banana", "banana"), ("mlp784", "784-200-10"), ("cnn", "CNN of the image experiments")];
        let networks = if quick { &all[..1] } else { &all };
        for (name, program, modules) in
            [("JAX", "evaluation_jax.py", "jax"), ("torch", "evaluation_torch.py", "torch")]
        {
            for precision in ["f64", "f32"] {
                let arguments: Vec<&str> =
                    [precision].into_iter().chain(networks.iter().map(|(name, _)| *name)).collect();
                let label =
                    if precision == "f64" { name.into() } else { format!("{name}, single precision") };
                let Some(printed) = self.run(program, modules, &arguments) else {
                    let _ = writeln!(page, "| {label} | | not measured | | |");
                    continue;
                };
                for (network, described) in networks {
                    let line = printed.lines().find(|line| line.contains(&format!(" {network} ")));
                    let cell = |word: &str| milliseconds(line.and_then(|line| number_after(line, word)));
                    let (value, gradient, curvature) = (cell("value"), cell("grad"), cell("gradcurv"));
                    let _ = writeln!(page, "| {label} | {described} | {value} | {gradient} | {curvature} |");
                }
            }
        }
        page + "\n"
    }

    /// Geodesics of banana in the default metric at this prior precision and strength; `ours` is what one costs
    /// here, in milliseconds.
    pub fn geodesics_section(&self, root: &Path, (precision, strength): (f64, f64), ours: f64) -> String {
        let mut page = format!(
            "## One posterior sample by JAX and diffrax\n\nThe same metric, prior precision and strength ({precision:.3}, {strength:.3}) from five other tangents, Dopri5, in this\nrun; ratio to the {ours:.1} ms of the first row above.\n\n| rtol, atol | ms | ratio | end-loss error |\n|---|---|---|---|\n"
        );
        let fixture = root.join("testdata/banana.npz");
        let (precision, strength) = (precision.to_string(), strength.to_string());
        let arguments = [&*fixture.to_string_lossy(), "opt", &precision, &strength, "preconditioned"];
        let Some(printed) = self.run("geodesics_jax.py", "jax, diffrax", &arguments) else {
            return page + "| not measured | | | |\n\n";
        };
        for line in printed.lines() {
            let parts = (number_after(line, "rtol"), number_after(line, "atol"), time_in(line));
            if let (Some(rtol), Some(atol), Some(time)) = parts {
                let error = number_after(line, "loss").map_or("–".into(), |error| format!("{error:.1e}"));
                let ratio = time / ours;
                let _ = writeln!(page, "| {rtol:.0e}, {atol:.0e} | {time:.1} | {ratio:.0} | {error} |");
            }
        }
        page + "\n"
    }
}

/// The number in the word after the last occurrence of `word`.
fn number_after(line: &str, word: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().rposition(|w| *w == word)?;
    words.get(place + 1)?.trim_end_matches([':', ',']).parse().ok()
}

/// The milliseconds of one geodesic: the number before "ms".
fn time_in(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|w| *w == "ms")?;
    words.get(place.checked_sub(1)?)?.parse().ok()
}

/// Microseconds as milliseconds.
fn milliseconds(microseconds: Option<f64>) -> String {
    microseconds.map_or("not measured".into(), |us| format!("{:.3}", us / 1e3))
}
