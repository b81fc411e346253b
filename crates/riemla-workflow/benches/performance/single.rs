//! Draws of wide networks with products in single precision against double: `… --bench performance -- single`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, Structure};
use riemla::data::Dataset;
use riemla::geometry::Integrator;
use riemla::linalg::vector::distance;
use riemla::nn::{Activation, Arithmetic, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::posterior::{Draw, Method, Posterior, PosteriorConfig, Strength};
use riemla::train::{Lbfgs, lbfgs};

use super::before::SEED;
use super::integrators::leapfrog;
use super::timing::thread_seconds;

/// Iterations of L-BFGS before the fit.
const TRAINING: usize = 100;

/// A wide network, trained and fitted.
struct Problem {
    name: &'static str,
    loss: NetworkLoss,
    laplace: Laplace,
}

impl Problem {
    fn new(name: &'static str, data: Dataset, sizes: &[usize]) -> Self {
        let network = Arc::new(Network::new(&NetworkSpec::mlp(sizes, Activation::Tanh)).unwrap());
        let prior = Prior::isotropic(1.0, network.dim()).unwrap();
        let mut theta = network.initialize(0);
        let loss = NetworkLoss::new(network, data, Likelihood::Categorical, prior).unwrap();
        let training = Lbfgs { max_iterations: TRAINING, ..Lbfgs::default() };
        lbfgs(&loss, &mut theta, &training, Control::default()).unwrap();
        let config = LaplaceConfig { structure: Structure::Kronecker, ..LaplaceConfig::default() };
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        Self { name, loss, laplace }
    }

    /// Draws, and milliseconds of each if they are made on one thread.
    fn draws(&self, config: &PosteriorConfig, (threads, count): (usize, u64)) -> (Vec<Draw>, f64) {
        let posterior = Posterior::of_network(&self.loss, &self.laplace, config.clone()).unwrap();
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        threads.install(|| {
            let before = thread_seconds();
            let set = posterior.sample(SEED, count, Control::default()).unwrap();
            (set.draws, 1e3 * (thread_seconds() - before) / count as f64)
        })
    }

    /// The strength that the rule of the default finds.
    fn strength(&self, arithmetic: Arithmetic) -> f64 {
        let config = PosteriorConfig { arithmetic, ..PosteriorConfig::new(Method::RiemLa) };
        let posterior = Posterior::of_network(&self.loss, &self.laplace, config).unwrap();
        posterior.calibration(0, &[], Control::default()).unwrap().expect("a rule by default").strength
    }

    /// A row for each arithmetic, at the strength that the rule finds in double.
    fn rows(&self, count: u64) -> String {
        let strength = self.strength(Arithmetic::Double);
        let config = |arithmetic, integrator| PosteriorConfig {
            arithmetic,
            integrator,
            strength: Strength::Fixed(strength),
            ..PosteriorConfig::new(Method::RiemLa)
        };
        let (converged, _) = self.draws(&config(Arithmetic::Double, leapfrog(1e-8)), (0, count));
        let mut page = String::new();
        for arithmetic in Arithmetic::ALL {
            let (draws, milliseconds) = self.draws(&config(arithmetic, Integrator::default()), (1, count));
            let (loss_error, error) = errors(&draws, &converged, self.laplace.gaussian.theta());
            let gradients: usize = draws.iter().filter_map(|d| Some(d.geodesic?.counters.gradients)).sum();
            let found = if arithmetic == Arithmetic::Double { strength } else { self.strength(arithmetic) };
            let _ = writeln!(
                page,
                "| {} | {} | {} | {arithmetic} | {found:.6} | {:.0} | {milliseconds:.0} | {loss_error:.1e} | {error:.1e} |",
                self.name,
                self.loss.samples(),
                self.laplace.gaussian.theta().len(),
                gradients as f64 / count as f64,
            );
        }
        page
    }
}

/// Mean relative errors of the loss at the end, and of the end.
fn errors(draws: &[Draw], converged: &[Draw], start: &[f64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let mut sums = (0.0, 0.0);
    for (draw, reference) in draws.iter().zip(converged) {
        let loss = |draw: &Draw| draw.geodesic.map_or(f64::NAN, |geodesic| geodesic.diagnostics.loss_end);
        sums.0 += (loss(draw) / loss(reference) - 1.0).abs() / n;
        sums.1 += distance(&draw.theta, &reference.theta) / distance(&reference.theta, start) / n;
    }
    sums
}

/// The table of draws in both precisions; the row of MNIST only where its data are in `directory`.
pub fn section(directory: &Path, quick: bool) -> String {
    let (count, digits) = if quick { (1, 300) } else { (4, 2000) };
    let mut page = String::from(
        "\n## Draws in single precision\n\nProducts of wide linear layers in double and in single precision \
         (`PosteriorConfig::arithmetic`): geodesics with the default settings on one thread, after 100 iterations of \
         L-BFGS, `kron`, all draws at the strength that its rule finds in double; the strength shown is what the rule \
         finds in that arithmetic. Errors against the leapfrog in double at a tolerance of 1e-8.\n\n\
         | network | N | K | arithmetic | strength | gradients | ms | end-loss error | end-point error |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let made_up = super::fits::classes(1000, 20, 5);
    page += &Problem::new("20-256-256-5", made_up, &[20, 256, 256, 5]).rows(count);
    if let Some(digits) = super::before::digits(directory, digits) {
        page += &Problem::new("784-200-10 on MNIST", digits, &[784, 200, 10]).rows(count);
    }
    page
}
