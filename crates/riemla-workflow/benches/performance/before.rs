//! The same draws by an older build of this benchmark, in the same run: `-- [draws] --old PROGRAM`.
//!
//! The older program is made from an older checkout with this file, `fits.rs`, and the lines of main.rs that call
//! them; so only what both have is used here.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice};
use riemla::data::Dataset;
use riemla::geometry::{ConstrainedLeapfrog, Integrator};
use riemla::nn::Network;
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::ode::DormandPrince;
use riemla::posterior::{Method, MetricChoice, Posterior, PosteriorConfig, Strength};
use riemla::train::{MiniBatch, Rule, Schedule, minibatch};

use super::model::banana;
use super::scaling::image_network;

/// Seed of the tangents: not that of the search for the strength.
pub const SEED: u64 = 1;

/// Draws that are compared.
struct Row {
    problem: &'static str,
    prior: &'static str,
    method: Method,
    /// The default metric; otherwise the paper's at strength 1.
    by_default: bool,
    count: u64,
}

fn rows() -> [Row; 6] {
    let row = |problem, prior, method, by_default, count| Row { problem, prior, method, by_default, count };
    [
        row("banana", "optimised", Method::RiemLa, true, 40),
        row("banana", "fixed", Method::RiemLa, true, 40),
        row("banana", "optimised", Method::LinRiemLa, true, 40),
        row("banana", "optimised", Method::RiemLa, false, 20),
        row("banana", "fixed", Method::RiemLa, false, 20),
        row("MNIST", "optimised", Method::RiemLa, true, 3),
    ]
}

/// The first digits of MNIST, if the data are in `directory`.
pub fn digits(directory: &Path, rows: usize) -> Option<Dataset> {
    let file = |part: &str| directory.join(format!("mnist/train-{part}-ubyte.gz"));
    let range = riemla_files::LabelRange::default();
    let options = riemla_files::ReadOptions::default();
    let data = riemla_files::read_images(&file("images-idx3"), &file("labels-idx1"), range, options).ok()?;
    let rows: Vec<usize> = (0..rows).collect();
    Some(data.select(&rows).unwrap())
}

/// The paper's image network on 5000 digits, trained by its protocol, if the data are in `directory`.
pub fn images(directory: &Path, quick: bool) -> Option<(NetworkLoss, Laplace)> {
    let data = digits(directory, if quick { 300 } else { 5000 })?;
    let network = Arc::new(Network::new(&image_network()).unwrap());
    // The paper's protocol: one step follows the sum over its batch, with a weight decay of 5e-4.
    let batch_size = 125;
    let share = batch_size as f64 / data.len() as f64;
    let prior = Prior::isotropic(5e-4 / share, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(0);
    let training = MiniBatch {
        rule: Rule::Sgd { momentum: 0.0 },
        learning_rate: Schedule::Cosine { initial: 1e-3 },
        epochs: if quick { 20 } else { 100 },
        batch_size,
        seed: 0,
        gradient_scale: share,
    };
    minibatch(&loss, &mut theta, &training, Control::default()).unwrap();
    let config = LaplaceConfig { prior: PriorChoice::Optimize, ..LaplaceConfig::default() };
    let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
    Some((loss, laplace))
}

impl Row {
    fn problem(&self, root: &Path, data: &Path) -> Option<(NetworkLoss, Arc<Laplace>)> {
        if self.problem == "MNIST" {
            return images(data, false).map(|(loss, laplace)| (loss, Arc::new(laplace)));
        }
        let banana = banana(root);
        let laplace = banana.laplace(self.prior == "optimised");
        Some((banana.loss, laplace))
    }

    fn config(&self) -> PosteriorConfig {
        if self.by_default {
            PosteriorConfig { metric: MetricChoice::Preconditioned, ..PosteriorConfig::new(self.method) }
        } else {
            PosteriorConfig::paper(self.method)
        }
    }

    /// Converged curves: Dormand-Prince at rtol 1e-10, on images the leapfrog at a tolerance of 1e-8.
    fn reference(&self) -> Integrator {
        if self.problem == "MNIST" {
            Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(1e-8))
        } else {
            Integrator::DormandPrince(DormandPrince { rtol: 1e-10, atol: 1e-12, ..DormandPrince::default() })
        }
    }
}

/// Takes the draws of one row on one thread and prints, after "draws:", the strength, milliseconds, gradients and
/// values per draw, curves that did not finish, and the losses at the ends. The strength is `strength`, or found.
pub fn child(root: &Path, data: &Path, index: usize, strength: Option<f64>, converged: bool) {
    let row = &rows()[index];
    let Some((loss, laplace)) = row.problem(root, data) else { return };
    let mut config = row.config();
    if row.by_default {
        let strength = strength.unwrap_or_else(|| {
            let posterior = Posterior::of_network(&loss, &laplace, config.clone()).unwrap();
            posterior.calibration(0, &[], Control::default()).unwrap().expect("a rule by default").strength
        });
        config.strength = Strength::Fixed(strength);
    }
    if converged {
        config.integrator = row.reference();
    }
    let strength = config.strength.fixed().unwrap_or(f64::NAN);
    let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(if converged { 0 } else { 1 }).build().unwrap();
    let clock = Instant::now();
    let set = threads.install(|| posterior.sample(SEED, row.count, Control::default()).unwrap());
    let n = set.draws.len() as f64;
    let milliseconds = 1e3 * clock.elapsed().as_secs_f64() / n;
    let geodesics: Vec<_> = set.draws.iter().filter_map(|draw| draw.geodesic).collect();
    let mean = |of: &dyn Fn(usize) -> f64| (0..geodesics.len()).map(of).sum::<f64>() / n;
    let gradients = mean(&|i| geodesics[i].counters.gradients as f64);
    let values = mean(&|i| geodesics[i].counters.values as f64);
    let unfinished: usize = geodesics.iter().map(|geodesic| geodesic.attempts - 1).sum();
    print!("draws: {strength} {milliseconds} {gradients} {values} {unfinished}");
    geodesics.iter().for_each(|geodesic| print!(" {}", geodesic.diagnostics.loss_end));
    println!();
}

/// What a child printed.
struct Measured {
    strength: f64,
    milliseconds: f64,
    gradients: f64,
    values: f64,
    unfinished: f64,
    losses: Vec<f64>,
}

impl Measured {
    fn run(program: &str, index: usize, strength: Option<f64>, converged: bool) -> Option<Self> {
        let strength = strength.map_or("rule".into(), |strength| strength.to_string());
        let exact = if converged { "converged" } else { "as-is" };
        let output = Command::new(program).args(["draw-row", &index.to_string(), &strength, exact]).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers = text.lines().find_map(|line| line.strip_prefix("draws: "))?;
        let numbers: Vec<f64> = numbers.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [strength, milliseconds, gradients, values, unfinished] = *numbers.first_chunk()?;
        Some(Self { strength, milliseconds, gradients, values, unfinished, losses: numbers[5..].to_vec() })
    }

    /// Mean relative error of the losses at the ends.
    fn error(&self, converged: &Self) -> f64 {
        let pairs = self.losses.iter().zip(&converged.losses);
        pairs.map(|(loss, exact)| (loss - exact).abs() / exact).sum::<f64>() / self.losses.len() as f64
    }
}

/// The table of draws before and now, with the strength of today's rule in both.
pub fn section(old: &str) -> String {
    let mut page = String::from(
        "## Against the code before\n\nThe same draws (tangents, prior and strength) by this program and by an older build of it, one after the \
         other on one thread; wall time per draw. Errors of the loss at the end, relative, against converged curves: \
         Dormand-Prince at rtol 1e-10, on MNIST the leapfrog at a tolerance of 1e-8. `default` is the preconditioned \
         metric at the strength of its rule, `paper` the metric I + ∇L∇Lᵀ at strength 1.\n\n\
         | problem | prior | method | metric | strength | ms | before | ratio | gradients, values | before | end-loss error | before | unfinished | before |\n",
    );
    page += &"|---".repeat(14);
    page += "|\n";
    let own = std::env::current_exe().unwrap_or_default().display().to_string();
    for (index, row) in rows().iter().enumerate() {
        let Some(now) = Measured::run(&own, index, None, false) else {
            let _ = writeln!(page, "| {} | not measured: no data |", row.problem);
            continue;
        };
        let strength = Some(now.strength);
        let before = Measured::run(old, index, strength, false);
        let exact = Measured::run(&own, index, strength, true);
        let (Some(before), Some(exact)) = (before, exact) else { continue };
        let metric = if row.by_default { "default" } else { "paper" };
        let line = format!(
            "| {} | {} | {} | {metric} | {:.3} | {:.1} | {:.1} | {:.2} | {:.0}, {:.0} | {:.0}, {:.0} | {:.1e} | {:.1e} | {} | {} |",
            row.problem,
            row.prior,
            row.method,
            now.strength,
            now.milliseconds,
            before.milliseconds,
            now.milliseconds / before.milliseconds,
            now.gradients,
            now.values,
            before.gradients,
            before.values,
            now.error(&exact),
            before.error(&exact),
            now.unfinished,
            before.unfinished
        );
        // The last rows take minutes.
        eprintln!("{line}");
        page += &line;
        page.push('\n');
    }
    page + "\n"
}
