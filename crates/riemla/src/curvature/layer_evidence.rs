//! The Laplace evidence with one prior precision δ_l per layer, and its maximum.
//!
//! log p(D) ≈ log p(y|θ) + ½ Σ_l (k_l log δ_l − δ_l‖θ_l‖²) − ½ log det(C + Δ), Δ = δ_l on layer l. With
//! γ_l = k_l − δ_l tr_l (C + Δ)⁻¹, the number of weights of layer l that the data determine,
//! ∂/∂log δ_l = ½(γ_l − δ_l‖θ_l‖²) (MacKay 1992). Where C does not couple layers, each is a search on a
//! line that sees its whole range. The joint maximum, with the noise in regression, is then climbed to
//! with these derivatives from the best single precision: never below it, but perhaps not the highest.

use std::ops::Range;

use super::evidence::{Evidence, LOG_PRECISION};
use crate::Control;
use crate::linalg::dense::{add_gram_lower, view};
use crate::linalg::vector::{dot, scale};
use crate::linalg::{Cholesky, Matrix};
use crate::objective::Objective;
use crate::train::{Lbfgs, lbfgs};
use crate::{Error, Result};

/// Curvature of the likelihood, without the prior, as far as it couples layers.
pub enum LayeredCurvature<'a> {
    /// No coupling: the eigenvalues of every layer, in the order of the weights.
    Separable(Vec<f64>),
    /// All of it.
    Full(&'a Matrix),
    /// Eigenvalues, at least 0, and eigenvectors as columns.
    LowRank(&'a [f64], &'a Matrix),
}

/// What the evidence depends on at fixed weights.
pub struct LayerEvidence<'a> {
    tied: Evidence,
    curvature: Coupling<'a>,
    layers: Vec<Layer>,
}

/// Weights of one layer, among the uncertain ones.
#[derive(Debug, Clone)]
struct Layer {
    range: Range<usize>,
    square_norm: f64,
}

enum Coupling<'a> {
    Separable(Vec<f64>),
    Full(&'a Matrix),
    /// Λ^½ U_lᵀU_l Λ^½ of every layer.
    LowRank(Vec<Matrix>),
}

/// A maximum of the evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerOptimum {
    /// Prior precision of every layer.
    pub prior_precisions: Vec<f64>,
    /// Noise there; none in classification.
    pub sigma_noise: Option<f64>,
    /// Log marginal likelihood there: at least that of the best single precision.
    pub log_marginal_likelihood: f64,
    /// Whether the derivatives vanish there.
    pub settled: bool,
}

/// Derivatives per weight: where the climb ends, and below which it counts as settled.
const SLOPE_GOAL: f64 = 1e-9;
const SLOPE_SETTLED: f64 = 1e-5;
const MAX_ITERATIONS: usize = 300;

impl<'a> LayerEvidence<'a> {
    /// `tied` is the evidence with a single precision, of the same curvature; `theta` the uncertain
    /// weights, which `layers` cuts into pieces without gaps.
    pub fn new(
        tied: Evidence,
        curvature: LayeredCurvature<'a>,
        theta: &[f64],
        layers: &[Range<usize>],
    ) -> Result<Self> {
        let mut end = 0;
        for range in layers {
            if range.start != end || range.is_empty() {
                let expected = format!("to start at {end}, with at least one weight");
                return Err(Error::shape("a layer's weights", expected, format!("{range:?}")));
            }
            end = range.end;
        }
        crate::error::check_len("weights of all layers", theta.len(), end)?;
        let norm = |range: &Range<usize>| dot(&theta[range.clone()], &theta[range.clone()]);
        let layer = |range: &Range<usize>| Layer { range: range.clone(), square_norm: norm(range) };
        let (rows, curvature) = match curvature {
            LayeredCurvature::Separable(values) => (values.len(), Coupling::Separable(values)),
            LayeredCurvature::Full(matrix) => (matrix.rows(), Coupling::Full(matrix)),
            LayeredCurvature::LowRank(values, vectors) => {
                crate::error::check_len("eigenvalues", vectors.cols(), values.len())?;
                (vectors.rows(), Coupling::LowRank(grams(values, vectors, layers)))
            }
        };
        crate::error::check_len("rows of the curvature", theta.len(), rows)?;
        Ok(Self { tied, curvature, layers: layers.iter().map(layer).collect() })
    }

    /// The log marginal likelihood, and its derivatives in log δ_l and, last, log σ in regression.
    pub fn value_and_gradient(
        &self,
        precisions: &[f64],
        sigma_noise: Option<f64>,
    ) -> Result<(f64, Vec<f64>)> {
        crate::error::check_len("per-layer prior precisions", self.layers.len(), precisions.len())?;
        let positive = |&delta: &f64| crate::error::check_positive("prior_precision", delta);
        precisions.iter().try_for_each(positive)?;
        sigma_noise.map_or(Ok(()), |sigma| crate::error::check_positive("sigma_noise", sigma))?;
        let factor = self.tied.rescale(sigma_noise);
        let (log_det, gamma) = self.log_det(factor, precisions)?;
        let mut value = self.tied.log_likelihood_at(sigma_noise) - 0.5 * log_det;
        let mut gradient = Vec::with_capacity(gamma.len() + 1);
        for ((layer, delta), gamma) in self.layers.iter().zip(precisions).zip(&gamma) {
            let penalty = delta * layer.square_norm;
            value += 0.5 * (layer.range.len() as f64 * delta.ln() - penalty);
            gradient.push(0.5 * (gamma - penalty));
        }
        if let Some(sigma) = sigma_noise {
            gradient.extend(self.tied.noise_slope(sigma, gamma.iter().sum()));
        }
        Ok((value, gradient))
    }

    /// log det(f·C + Δ) and γ of every layer.
    fn log_det(&self, factor: f64, precisions: &[f64]) -> Result<(f64, Vec<f64>)> {
        let layers = self.layers.iter().zip(precisions);
        match &self.curvature {
            Coupling::Separable(values) => {
                let mut log_det = 0.0;
                let gamma = layers.map(|(layer, delta)| {
                    let (log, gamma) = layer_sums(&values[layer.range.clone()], factor, *delta);
                    log_det += log;
                    gamma
                });
                let gamma = gamma.collect();
                if f64::is_nan(log_det) { Err(not_definite(values.len())) } else { Ok((log_det, gamma)) }
            }
            Coupling::Full(matrix) => {
                let mut precision = (*matrix).clone();
                scale(factor, precision.as_mut_slice());
                precision.add_diagonal(layers.clone().flat_map(|(l, d)| l.range.clone().map(|_| *d)));
                let cholesky = Cholesky::in_place("curvature + prior", "raise prior_precision", precision)?;
                let inverse = cholesky.inverse_diagonal();
                let gamma = layers.map(|(layer, delta)| {
                    let trace: f64 = inverse[layer.range.clone()].iter().sum();
                    layer.range.len() as f64 - delta * trace
                });
                Ok((cholesky.log_det(), gamma.collect()))
            }
            Coupling::LowRank(grams) => {
                let prior: f64 = layers.map(|(layer, delta)| layer.range.len() as f64 * delta.ln()).sum();
                let (log_det, gamma) = low_rank(grams, factor, precisions)?;
                Ok((prior + log_det, gamma))
            }
        }
    }

    /// A maximum over all δ_l and, in regression, σ.
    pub fn optimum(&self) -> Result<LayerOptimum> {
        let tied = self.tied.optimum()?;
        let mut x = vec![tied.prior_precision.ln(); self.layers.len()];
        if let Coupling::Separable(values) = &self.curvature {
            let factor = self.tied.rescale(tied.sigma_noise);
            for (l, (layer, x)) in self.layers.iter().zip(&mut x).enumerate() {
                *x = search_layer(layer, &values[layer.range.clone()], factor)
                    .ok_or_else(|| edge(l, layer))?;
            }
        }
        x.extend(tied.sigma_noise.map(f64::ln));
        let climb = Climb(self);
        let weights = self.layers.last().map_or(0, |layer| layer.range.end) as f64;
        let gradient_tolerance = SLOPE_GOAL * weights;
        let settings = Lbfgs { gradient_tolerance, max_iterations: MAX_ITERATIONS, ..Lbfgs::default() };
        let report = lbfgs(&climb, &mut x, &settings, Control::default())?;
        let (prior_precisions, sigma_noise) = climb.split(&x);
        if let Some(l) = (0..self.layers.len()).find(|&l| !climb.inside(x[l] * EDGE)) {
            return Err(edge(l, &self.layers[l]));
        }
        Ok(LayerOptimum {
            prior_precisions,
            sigma_noise,
            log_marginal_likelihood: -report.value,
            settled: report.gradient_norm <= SLOPE_SETTLED * weights,
        })
    }
}

/// So close to the end of the range that it is no maximum.
const EDGE: f64 = 1.02;

fn edge(l: usize, layer: &Layer) -> Error {
    Error::Unsupported(format!(
        "the evidence grows towards the edge of the searched range of prior_precision in layer {l} of \
         those with uncertain weights (‖θ‖² = {:.3e}): set prior_precision to values",
        layer.square_norm
    ))
}

fn not_definite(dim: usize) -> Error {
    Error::NotPositiveDefinite {
        what: "curvature + prior".into(),
        pivot: 0,
        dim,
        value: f64::NAN,
        remedy: "use the GGN instead of the Hessian, or train to a minimum first".into(),
    }
}

/// Σ log(fλ + δ) and Σ fλ/(fλ + δ).
fn layer_sums(values: &[f64], factor: f64, delta: f64) -> (f64, f64) {
    values.iter().fold((0.0, 0.0), |(log, gamma), value| {
        let shifted = factor * value + delta;
        (log + shifted.ln(), gamma + factor * value / shifted)
    })
}

/// The best log δ of a layer that is coupled to no other.
fn search_layer(layer: &Layer, values: &[f64], factor: f64) -> Option<f64> {
    let k = layer.range.len() as f64;
    let value = |s: f64| {
        let delta = s.exp();
        0.5 * (k * s - delta * layer.square_norm - layer_sums(values, factor, delta).0)
    };
    let slope = |s: f64| layer_sums(values, factor, s.exp()).1 - s.exp() * layer.square_norm;
    super::evidence::maximize_precision(value, slope)
}

/// Λ^½ U_lᵀU_l Λ^½ of every layer.
fn grams(values: &[f64], vectors: &Matrix, layers: &[Range<usize>]) -> Vec<Matrix> {
    let (k, r) = (vectors.rows(), values.len());
    let gram = |range: &Range<usize>| {
        let mut gram = Matrix::zeros(r, r);
        let rows = view(vectors.as_slice(), k, r).subrows(range.start, range.len());
        add_gram_lower(gram.view_mut(), rows);
        gram.mirror_lower();
        for (j, b) in values.iter().enumerate() {
            gram.column_mut(j).iter_mut().zip(values).for_each(|(g, a)| *g *= (a * b).sqrt());
        }
        gram
    };
    layers.iter().map(gram).collect()
}

/// log det M and γ_l = f/δ_l·tr(G_lM⁻¹), with M = I + Σ f/δ_l·G_l: Woodbury, so r × r only.
fn low_rank(grams: &[Matrix], factor: f64, precisions: &[f64]) -> Result<(f64, Vec<f64>)> {
    let r = grams.first().map_or(0, Matrix::rows);
    let mut m = Matrix::zeros(r, r);
    m.add_diagonal(std::iter::repeat_n(1.0, r));
    for (gram, delta) in grams.iter().zip(precisions) {
        crate::linalg::vector::axpy(factor / delta, gram.as_slice(), m.as_mut_slice());
    }
    let cholesky = Cholesky::new("curvature over prior", "raise prior_precision", &m)?;
    let mut inverse = Matrix::zeros(r, r);
    inverse.add_diagonal(std::iter::repeat_n(1.0, r));
    for j in 0..r {
        cholesky.solve_lower(inverse.column_mut(j));
        cholesky.solve_upper(inverse.column_mut(j));
    }
    let gamma = |(gram, delta): (&Matrix, &f64)| factor / delta * dot(gram.as_slice(), inverse.as_slice());
    Ok((cholesky.log_det(), grams.iter().zip(precisions).map(gamma).collect()))
}

/// The negative evidence as a function of the logarithms; not finite outside the searched range.
struct Climb<'a, 'b>(&'a LayerEvidence<'b>);

impl Climb<'_, '_> {
    fn inside(&self, log_precision: f64) -> bool {
        (LOG_PRECISION.0..=LOG_PRECISION.1).contains(&log_precision)
    }

    fn split(&self, x: &[f64]) -> (Vec<f64>, Option<f64>) {
        let (precisions, noise) = x.split_at(self.0.layers.len());
        (precisions.iter().map(|x| x.exp()).collect(), noise.first().map(|x| x.exp()))
    }
}

impl Objective for Climb<'_, '_> {
    fn dim(&self) -> usize {
        self.0.layers.len() + usize::from(self.0.tied.has_noise())
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.value_and_gradient(x, &mut vec![0.0; x.len()])
    }

    fn value_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        if !x[..self.0.layers.len()].iter().all(|x| self.inside(*x)) {
            return f64::INFINITY;
        }
        let (precisions, sigma) = self.split(x);
        let Ok((value, slopes)) = self.0.value_and_gradient(&precisions, sigma) else { return f64::INFINITY };
        gradient.iter_mut().zip(slopes).for_each(|(g, slope)| *g = -slope);
        -value
    }
}
