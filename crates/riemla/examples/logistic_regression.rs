//! A model and likelihood of your own: logistic regression with two weights.
//!
//! Mode by L-BFGS, the Gaussian there from Hessian-vector products, draws along geodesics of the paper's
//! metric at several strengths and of the default, next to the exact moments from a grid.
//!
//! `cargo run --release -p riemla --example logistic_regression`

use std::fmt::Write as _;
use std::sync::Arc;

use riemla::curvature::{Gaussian, HessianSearch};
use riemla::objective::{Objective, TwiceDifferentiable};
use riemla::posterior::{Method, Model, Posterior, PosteriorConfig, Strength};
use riemla::random::{Purpose, fill_normal, stream};
use riemla::train::{Lbfgs, lbfgs};
use riemla::{Control, Result};

/// L(θ) = Σₙ log(1 + exp(−sₙ xₙ·θ)) + (δ/2)‖θ‖², labels sₙ = ±1, no bias.
pub struct Logistic {
    points: Vec<[f64; 2]>,
    signs: Vec<f64>,
    prior_precision: f64,
}

impl Logistic {
    /// `n` points around (1, 1) and (−1, −1), with standard deviation 1.
    pub fn generate(n: usize, prior_precision: f64, seed: u64) -> Self {
        let mut noise = vec![0.0; 2 * n];
        fill_normal(&mut stream(seed, Purpose::Data, 0), &mut noise);
        let signs: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let points = noise.chunks_exact(2).zip(&signs).map(|(e, s)| [s + e[0], s + e[1]]).collect();
        Self { points, signs, prior_precision }
    }

    /// For every point: its input, its label and the margin s x·θ.
    fn margins<'a>(&'a self, theta: &'a [f64]) -> impl Iterator<Item = ([f64; 2], f64, f64)> + 'a {
        let pairs = self.points.iter().zip(&self.signs);
        pairs.map(|(x, s)| (*x, *s, s * (x[0] * theta[0] + x[1] * theta[1])))
    }
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

impl Objective for Logistic {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, theta: &[f64]) -> f64 {
        // log(1 + e⁻ᵐ) without overflow for large −m.
        let loss: f64 = self.margins(theta).map(|(_, _, m)| (-m).max(0.0) + (-m.abs()).exp().ln_1p()).sum();
        loss + 0.5 * self.prior_precision * (theta[0] * theta[0] + theta[1] * theta[1])
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&[self.prior_precision * theta[0], self.prior_precision * theta[1]]);
        for (x, s, m) in self.margins(theta) {
            let residual = -s * sigmoid(-m);
            gradient[0] += residual * x[0];
            gradient[1] += residual * x[1];
        }
        self.value(theta)
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl Model for Logistic {}

impl TwiceDifferentiable for Logistic {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        let mut product = [0.0; 2];
        self.hvp(theta, v, &mut product);
        v[0] * product[0] + v[1] * product[1]
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&[self.prior_precision * v[0], self.prior_precision * v[1]]);
        for (x, _, m) in self.margins(theta) {
            let along = sigmoid(m) * sigmoid(-m) * (x[0] * v[0] + x[1] * v[1]);
            out[0] += along * x[0];
            out[1] += along * x[1];
        }
    }
}

/// Means and standard deviations of both weights under weighted points.
fn moments(weighted: &[(f64, [f64; 2])]) -> ([f64; 2], [f64; 2]) {
    let total: f64 = weighted.iter().map(|(w, _)| w).sum();
    let mean = [0, 1].map(|k| weighted.iter().map(|(w, p)| w * p[k]).sum::<f64>() / total);
    let variance =
        [0, 1].map(|k| weighted.iter().map(|(w, p)| w * (p[k] - mean[k]).powi(2)).sum::<f64>() / total);
    (mean, variance.map(f64::sqrt))
}

/// The posterior on a grid of eight Laplace standard deviations around the mode.
fn grid(model: &Logistic, mode: &[f64], deviations: [f64; 2]) -> Vec<(f64, [f64; 2])> {
    const NODES: i32 = 161;
    let lowest = model.value(mode);
    let place =
        |k: usize, i: i32| mode[k] + deviations[k] * 16.0 * (f64::from(i) / f64::from(NODES - 1) - 0.5);
    let nodes = (0..NODES).flat_map(|i| (0..NODES).map(move |j| [place(0, i), place(1, j)]));
    nodes.map(|p| ((lowest - model.value(&p)).exp(), p)).collect()
}

/// What the example finds, by name of the approximation.
pub struct Row {
    /// Which approximation.
    pub name: String,
    /// Means of the weights.
    pub mean: [f64; 2],
    /// Their standard deviations.
    pub deviation: [f64; 2],
    /// Virial ratio of the draws; none for the grid.
    pub virial: Option<f64>,
}

/// Strengths of the paper's metric that are compared; 1 is the paper's.
const STRENGTHS: [f64; 3] = [1.0, 0.3, 0.1];
const DRAWS: u64 = 1000;

/// Exact moments, the Laplace approximation, geodesics at several strengths, and the default.
pub fn compare(model: Logistic) -> Result<Vec<Row>> {
    let model = Arc::new(model);
    let mut mode = vec![0.0; model.dim()];
    lbfgs(&*model, &mut mode, &Lbfgs::default(), Control::default())?;
    let gaussian =
        Arc::new(Gaussian::at_minimum(&*model, &mode, HessianSearch::default(), Control::default())?);
    // Rows of the identity: their inverse quadratic forms are the variances.
    let variances = gaussian.precision().inverse_quadratic(&mut [1.0, 0.0, 0.0, 1.0], 2);
    let (mean, deviation) = moments(&grid(&model, &mode, [variances[0].sqrt(), variances[1].sqrt()]));
    let mut rows = vec![Row { name: "exact (grid)".into(), mean, deviation, virial: None }];

    let mut add = |name: &str, config: PosteriorConfig| -> Result<()> {
        let posterior = Posterior::new(model.clone(), gaussian.clone(), config)?;
        let set = posterior.sample(1, DRAWS, Control::default())?;
        let points: Vec<_> = set.draws.iter().map(|draw| (1.0, [draw.theta[0], draw.theta[1]])).collect();
        let (mean, deviation) = moments(&points);
        let virial = Some(posterior.virial_ratio(&set.thetas())?);
        rows.push(Row { name: format!("{name} ({} of {DRAWS})", points.len()), mean, deviation, virial });
        Ok(())
    };
    add("la", PosteriorConfig::new(Method::La))?;
    for strength in STRENGTHS {
        let config =
            PosteriorConfig { strength: Strength::Fixed(strength), ..PosteriorConfig::paper(Method::RiemLa) };
        add(&format!("riem-la, a = {strength}"), config)?;
    }
    add("riem-la, default", PosteriorConfig::new(Method::RiemLa))?;
    Ok(rows)
}

/// The whole report.
pub fn run() -> Result<String> {
    let mut out = format!("{:<32}{:>18}{:>22}{:>10}\n", "", "mean", "standard deviation", "virial");
    for row in compare(Logistic::generate(20, 0.1, 1))? {
        let virial = row.virial.map_or("-".into(), |v| format!("{v:.3}"));
        let pair = |p: [f64; 2]| format!("{:.3}, {:.3}", p[0], p[1]);
        let _ =
            writeln!(out, "{:<32}{:>18}{:>22}{virial:>10}", row.name, pair(row.mean), pair(row.deviation));
    }
    Ok(out)
}

fn main() -> Result<()> {
    print!("{}", run()?);
    Ok(())
}
