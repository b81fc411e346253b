//! Seconds and peak memory of fits, each in a process of its own: `… --bench performance -- fits`.
//!
//! `--old PROGRAM` adds columns of another build of this benchmark, made from an older checkout with this file
//! and the two lines of main.rs that call it.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, Structure, Subset};
use riemla::data::Dataset;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::train::{Lbfgs, lbfgs};

/// One fit: of a network on so many samples.
struct Row {
    network: &'static str,
    samples: usize,
    structure: Structure,
    last_layer: bool,
}

const LOW_RANK: Structure = Structure::LowRank { rank: 20 };
/// Iterations of L-BFGS before the fit: curvatures of fresh weights are unlike those of trained ones.
const TRAINING: usize = 20;
/// After so many seconds a fit is given up.
const PATIENCE: u64 = 400;

fn rows() -> Vec<Row> {
    let row = |network, samples, structure, last_layer| Row { network, samples, structure, last_layer };
    let mut rows = vec![
        row("2-16-16-2", 265, Structure::Full, false),
        row("image network of the paper", 1000, Structure::Full, false),
        row("20-64-64-5", 1000, Structure::Full, false),
    ];
    for network in ["784-12-20-10", "784-120-50-10", "784-1000-200-10"] {
        rows.push(row(network, 2000, Structure::Kronecker, false));
        rows.push(row(network, 2000, Structure::Full, true));
        rows.push(row(network, 2000, LOW_RANK, false));
    }
    rows
}

impl Row {
    fn spec(&self) -> NetworkSpec {
        let sizes: Option<Vec<usize>> = self.network.split('-').map(|size| size.parse().ok()).collect();
        sizes.map_or_else(super::scaling::image_network, |sizes| NetworkSpec::mlp(&sizes, Activation::Tanh))
    }

    fn loss(&self) -> NetworkLoss {
        let network = Arc::new(Network::new(&self.spec()).unwrap());
        let data = classes(self.samples, network.inputs(), network.outputs());
        let prior = Prior::isotropic(1.0, network.dim()).unwrap();
        NetworkLoss::new(network, data, Likelihood::Categorical, prior).unwrap()
    }

    fn structure_name(&self) -> String {
        match self.structure {
            Structure::LowRank { rank } => format!("low-rank {rank}"),
            Structure::Kronecker => "kron".into(),
            Structure::Full if self.last_layer => "full, last layer".into(),
            Structure::Full => "full".into(),
            Structure::Diagonal => "diagonal".into(),
        }
    }
}

/// Classes that can be told apart, with noise: `n` samples of `d` features.
pub fn classes(n: usize, d: usize, classes: usize) -> Dataset {
    let noise = |i: usize| 0.5 * (i as f64 * 0.618).sin();
    let center = |i: usize| 0.3 * (((i / d % classes) * 7 + i % d) as f64).sin();
    let inputs = (0..n * d).map(|i| noise(i) + center(i)).collect();
    Dataset::classification(inputs, d, (0..n).map(|i| i % classes).collect()).unwrap()
}

/// A line of /proc/self/status in megabytes.
fn status(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    number.map_or(f64::NAN, |kilobytes| kilobytes * 1024.0 / 1e6)
}

/// Makes one fit and prints its seconds, its peak beyond data and network in MB, and the weights it is of.
pub fn child(index: usize) {
    let row = &rows()[index];
    let loss = row.loss();
    let mut theta = loss.network().initialize(0);
    let training = Lbfgs { max_iterations: TRAINING, ..Lbfgs::default() };
    lbfgs(&loss, &mut theta, &training, Control::default()).unwrap();
    let subset = if row.last_layer { Subset::LastLayer } else { Subset::All };
    let config = LaplaceConfig { structure: row.structure, subset, ..LaplaceConfig::default() };
    // Linux then counts the peak from here; elsewhere there is no number.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (before, clock) = (status("VmRSS"), Instant::now());
    let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
    let seconds = clock.elapsed().as_secs_f64();
    let weights = laplace.gaussian.subset().len();
    println!("fit: {seconds} {} {weights}", status("VmHWM") - before);
}

/// Seconds, megabytes and weights, as a child printed them; none if it took too long or failed.
fn measure(program: &str, index: usize) -> Option<[f64; 3]> {
    let mut child = Command::new(program)
        .args(["fit-row", &index.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let clock = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if clock.elapsed() > Duration::from_secs(PATIENCE) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.lines().find_map(|line| line.strip_prefix("fit: "))?;
    let numbers: Vec<f64> = numbers.split(' ').filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

/// The table of fits.
pub fn section(quick: bool, old: Option<&String>) -> String {
    let mut page = String::from(
        "\n## Fits\n\nWall time of `Laplace::fit` with the prior precision by marginal likelihood, all cores, after 20 \
         iterations of L-BFGS on generated classes; peak memory beyond data and network. For the full structure also \
         in units of K² numbers, K the uncertain weights.\n\n| network | structure | uncertain weights | samples | s | MB | K² |",
    );
    page += if old.is_some() { " before: s | MB | K² |\n" } else { "\n" };
    page += &"|---".repeat(if old.is_some() { 10 } else { 7 });
    page += "|\n";
    let own = std::env::current_exe().unwrap_or_default().display().to_string();
    for (index, row) in rows().iter().enumerate().filter(|(index, _)| !quick || *index < 2) {
        let [new, before] = [Some(&own), old].map(|program| program.map(|program| measure(program, index)));
        let weights = new.flatten().or(before.flatten()).map_or(f64::NAN, |[.., weights]| weights);
        let _ = write!(page, "| {} | {} | {weights} | {} |", row.network, row.structure_name(), row.samples);
        for measured in [new, before].into_iter().flatten() {
            page += &match measured {
                None => format!(" not within {PATIENCE} | – | – |"),
                Some([seconds, megabytes, _]) if row.structure == Structure::Full => {
                    format!(
                        " {seconds:.2} | {megabytes:.0} | {:.2} |",
                        megabytes * 1e6 / 8.0 / weights.powi(2)
                    )
                }
                Some([seconds, megabytes, _]) => format!(" {seconds:.2} | {megabytes:.0} | – |"),
            };
        }
        page += "\n";
    }
    page
}
