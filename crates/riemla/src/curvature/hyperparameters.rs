//! Prior precision and noise of a Laplace approximation: kept, given, or by the evidence.

use std::ops::Range;

use super::evidence::Evidence;
use super::layer_evidence::LayerEvidence;
use super::matrix::CurvatureMatrix;
use super::structure::Precision;
use super::subset::SubsetRanges;
use super::{Curvature, LaplaceConfig, PriorChoice};
use crate::Result;
use crate::linalg::vector::dot;
use crate::nn::Network;
use crate::objective::{Likelihood, NetworkLoss, Objective as _, Prior, PriorPrecision};

/// The choice.
pub(super) struct Chosen {
    pub(super) prior: Prior,
    pub(super) likelihood: Likelihood,
    /// What it was made by. Its eigenvalues are expensive: none where nothing was optimised.
    pub(super) evidence: Option<Evidence>,
    /// Whether a search for per-layer precisions settled.
    pub(super) settled: Option<bool>,
}

pub(super) fn noise_of(likelihood: Likelihood) -> Option<f64> {
    match likelihood {
        Likelihood::Gaussian { sigma_noise } => Some(sigma_noise),
        _ => None,
    }
}

fn evidence(
    loss: &NetworkLoss,
    theta: &[f64],
    subset: &SubsetRanges,
    curvature: Curvature,
    matrix: &CurvatureMatrix,
) -> Result<Evidence> {
    let chosen = subset.gather(theta);
    let log_likelihood = loss.log_likelihood(theta);
    let evidence = Evidence::new(matrix.eigenvalues()?, dot(&chosen, &chosen), log_likelihood);
    let Some(sigma) = noise_of(loss.likelihood()) else { return Ok(evidence) };
    let square_error = 2.0 * sigma * sigma * (loss.value(theta) - loss.prior().value(theta));
    let observations = loss.total_weight() * loss.network().outputs() as f64 * loss.scale();
    let evidence = evidence.with_noise(sigma, observations.round() as usize, square_error);
    Ok(evidence.with_noise_exponent(curvature.noise_exponent()))
}

pub(super) fn choose(
    loss: &NetworkLoss,
    theta: &[f64],
    subset: &SubsetRanges,
    config: &LaplaceConfig,
    curvature: &CurvatureMatrix,
) -> Result<Chosen> {
    let optimized = matches!(config.prior, PriorChoice::Optimize | PriorChoice::OptimizePerLayer);
    let evidence =
        if optimized { Some(evidence(loss, theta, subset, config.curvature, curvature)?) } else { None };
    let likelihood = |sigma: Option<f64>| match sigma {
        Some(sigma_noise) => Likelihood::Gaussian { sigma_noise },
        None => loss.likelihood(),
    };
    let (prior, sigma_noise, settled) = match (&config.prior, &evidence) {
        (PriorChoice::Fixed(precision), _) => (Prior::new(precision, loss.network())?, None, None),
        (PriorChoice::Keep, _) | (_, None) => (loss.prior().clone(), None, None),
        (PriorChoice::Optimize, Some(evidence)) => {
            let best = evidence.optimum()?;
            (Prior::isotropic(best.prior_precision, loss.dim())?, best.sigma_noise, None)
        }
        (PriorChoice::OptimizePerLayer, Some(evidence)) => {
            let (layers, ranges): (Vec<usize>, Vec<Range<usize>>) =
                chosen_layers(loss.network(), subset).into_iter().unzip();
            let chosen = subset.gather(theta);
            let best =
                LayerEvidence::new(evidence.clone(), curvature.layered(), &chosen, &ranges)?.optimum()?;
            let kept = loss.prior().diagonal();
            let mut precisions: Vec<f64> =
                loss.network().layer_ranges().iter().map(|range| kept[range.start]).collect();
            layers.into_iter().zip(best.prior_precisions).for_each(|(l, delta)| precisions[l] = delta);
            let prior = Prior::new(&PriorPrecision::PerLayer(precisions), loss.network())?;
            (prior, best.sigma_noise, Some(best.settled))
        }
    };
    Ok(Chosen { prior, likelihood: likelihood(sigma_noise), evidence, settled })
}

/// Layers with uncertain weights: index among those with weights, and place among the uncertain ones.
fn chosen_layers(network: &Network, subset: &SubsetRanges) -> Vec<(usize, Range<usize>)> {
    let mut start = 0;
    let mut layers = Vec::new();
    for (l, layer) in network.layer_ranges().iter().enumerate() {
        let common = |r: &Range<usize>| r.end.min(layer.end).saturating_sub(r.start.max(layer.start));
        let count: usize = subset.as_slice().iter().map(common).sum();
        if count > 0 {
            layers.push((l, start..start + count));
        }
        start += count;
    }
    layers
}

/// The log marginal likelihood under the loss's own prior, by the precision's determinant; none
/// where an uncertain weight has no prior.
pub(super) fn log_evidence(
    loss: &NetworkLoss,
    theta: &[f64],
    subset: &SubsetRanges,
    precision: &dyn Precision,
) -> Option<f64> {
    let prior = loss.prior().diagonal();
    let term = |k: usize| prior[k].ln() - prior[k] * theta[k] * theta[k];
    let log_prior: f64 = subset.indices().map(term).sum();
    let value = loss.log_likelihood(theta) + 0.5 * (log_prior - precision.log_det());
    value.is_finite().then_some(value)
}
