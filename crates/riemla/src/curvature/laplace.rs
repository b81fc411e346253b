//! The Laplace approximation: a Gaussian at the trained weights.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::low_rank::EigenReport;
use super::matrix::CurvatureMatrix;
use super::structure::Precision;
use super::subset::{Subset, SubsetRanges};
use super::{Curvature, Structure};
use crate::linalg::vector::{dot, norm};
use crate::objective::{Likelihood, NetworkLoss, Objective as _, Prior, PriorPrecision};
use crate::random::{Rng, fill_normal};
use crate::train::{Lbfgs, lbfgs};
use crate::{Error, Result};

/// Where prior precision (and, in regression, the noise) come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorChoice {
    /// As in the loss that was trained.
    Keep,
    /// This value; the noise as in the loss.
    Fixed(PriorPrecision),
    /// The scalar precision (and noise) that maximise the marginal likelihood.
    Optimize,
}

/// Refitting the weights after the prior changed, in turn until both settle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Refit {
    /// Largest number of rounds.
    pub max_rounds: usize,
    /// Settled when log δ (and log σ) change by less.
    pub tolerance: f64,
}

impl Default for Refit {
    fn default() -> Self {
        Self { max_rounds: 30, tolerance: 1e-3 }
    }
}

/// Choices of a Laplace approximation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaplaceConfig {
    /// Which second derivative.
    pub curvature: Curvature,
    /// How much of it.
    pub structure: Structure,
    /// Of which weights.
    pub subset: Subset,
    /// Prior precision.
    pub prior: PriorChoice,
    /// Refit the weights in turn with the prior (only with [`PriorChoice::Optimize`]).
    pub refit: Option<Refit>,
}

impl Default for LaplaceConfig {
    fn default() -> Self {
        Self {
            curvature: Curvature::Ggn,
            structure: Structure::Full,
            subset: Subset::All,
            prior: PriorChoice::Optimize,
            refit: None,
        }
    }
}

/// N(θ*, P⁻¹) on the chosen weights, P = curvature + prior precision.
#[derive(Debug, Clone)]
pub struct Laplace {
    /// The trained weights θ* (refitted if asked for).
    pub theta: Vec<f64>,
    /// Prior in force.
    pub prior: Prior,
    /// Likelihood in force (with the noise that was chosen).
    pub likelihood: Likelihood,
    /// Log marginal likelihood; none for per-layer priors or a prior precision of 0.
    pub log_marginal_likelihood: Option<f64>,
    /// ‖∇L(θ*)‖ under that prior: not small means θ* is not a minimum of this loss.
    pub gradient_norm: f64,
    /// Rounds of refitting that were run.
    pub refit_rounds: usize,
    /// Whether refitting settled within its rounds; none without refitting.
    pub refit_settled: Option<bool>,
    /// How the iteration for the eigenpairs ended, with a low-rank structure.
    pub eigenpairs: Option<EigenReport>,
    subset: SubsetRanges,
    precision: Arc<dyn Precision>,
}

impl Laplace {
    /// Fits the Gaussian at `theta`.
    pub fn fit(loss: &NetworkLoss, theta: &[f64], config: &LaplaceConfig) -> Result<Self> {
        crate::error::check_len("weights", loss.dim(), theta.len())?;
        crate::error::check_finite("weights", theta)?;
        let subset = config.subset.ranges(loss.network())?;
        let mut round = Self::round(loss, theta, config, &subset)?;
        let Some(refit) = config.refit else { return Ok(round) };
        if config.prior != PriorChoice::Optimize {
            return Err(Error::Unsupported("refitting the weights goes with an optimised prior".into()));
        }
        for rounds in 1..=refit.max_rounds {
            let refitted = loss.with(round.likelihood, round.prior.clone())?;
            let mut theta = round.theta.clone();
            lbfgs(&refitted, &mut theta, &Lbfgs::default(), &mut |_| std::ops::ControlFlow::Continue(()))?;
            let next = Self::round(&refitted, &theta, config, &subset)?;
            let change = round.change_of_hyperparameters(&next);
            round = next;
            round.refit_rounds = rounds;
            round.refit_settled = Some(change < refit.tolerance);
            if change < refit.tolerance {
                break;
            }
        }
        Ok(round)
    }

    fn round(
        loss: &NetworkLoss,
        theta: &[f64],
        config: &LaplaceConfig,
        subset: &SubsetRanges,
    ) -> Result<Self> {
        let mut curvature = CurvatureMatrix::new(loss, theta, config.curvature, config.structure, subset)?;
        let evidence = evidence(loss, theta, subset, config.curvature, &curvature)?;
        let (prior, likelihood) = choose(loss, config, &evidence)?;
        if let (Likelihood::Gaussian { sigma_noise: old }, Likelihood::Gaussian { sigma_noise: new }) =
            (loss.likelihood(), likelihood)
        {
            curvature.scale((old / new).powi(config.curvature.noise_exponent()));
        }
        let precision = curvature.precision(&subset.gather(&prior.diagonal()))?;
        let log_marginal_likelihood = match prior.scalar() {
            Some(delta) if delta > 0.0 => {
                Some(evidence.log_marginal_likelihood(delta, noise_of(likelihood))?)
            }
            _ => None,
        };
        let mut gradient = vec![0.0; theta.len()];
        loss.with(likelihood, prior.clone())?.value_and_gradient(theta, &mut gradient);
        Ok(Self {
            theta: theta.to_vec(),
            prior,
            likelihood,
            log_marginal_likelihood,
            gradient_norm: norm(&gradient),
            refit_rounds: 0,
            refit_settled: None,
            eigenpairs: curvature.report(),
            subset: subset.clone(),
            precision,
        })
    }

    /// Largest change of log δ and log σ between two fits.
    fn change_of_hyperparameters(&self, other: &Self) -> f64 {
        let delta = |l: &Self| l.prior.scalar().unwrap_or(f64::NAN).ln();
        let sigma = |l: &Self| noise_of(l.likelihood).unwrap_or(1.0).ln();
        (delta(self) - delta(other)).abs().max((sigma(self) - sigma(other)).abs())
    }

    /// Puts a fitted approximation together again, for example from a file.
    ///
    /// `log_marginal_likelihood`, `gradient_norm` and `refit_rounds` are records of the fit; set
    /// them on the result.
    pub fn from_parts(
        theta: Vec<f64>,
        prior: Prior,
        likelihood: Likelihood,
        subset: SubsetRanges,
        precision: Arc<dyn Precision>,
    ) -> Result<Self> {
        crate::error::check_finite("weights", &theta)?;
        crate::error::check_len("prior of the weights", theta.len(), prior.dim())?;
        crate::error::check_len("precision of the uncertain weights", subset.len(), precision.dim())?;
        if let Some(range) = subset.as_slice().last().filter(|range| range.end > theta.len()) {
            return Err(Error::shape("uncertain weights", format!("below {}", theta.len()), range.end));
        }
        Ok(Self {
            theta,
            prior,
            likelihood,
            log_marginal_likelihood: None,
            gradient_norm: f64::NAN,
            refit_rounds: 0,
            refit_settled: None,
            eigenpairs: None,
            subset,
            precision,
        })
    }

    /// The uncertain weights.
    pub fn subset(&self) -> &SubsetRanges {
        &self.subset
    }

    /// The precision P on the uncertain weights.
    pub fn precision(&self) -> &dyn Precision {
        &*self.precision
    }

    /// The loss under the prior and noise in force.
    pub fn loss(&self, trained: &NetworkLoss) -> Result<NetworkLoss> {
        trained.with(self.likelihood, self.prior.clone())
    }

    /// A tangent vector v ~ N(0, P⁻¹), zero outside the uncertain weights.
    pub fn draw_tangent(&self, rng: &mut Rng) -> Vec<f64> {
        let mut v = vec![0.0; self.precision.dim()];
        fill_normal(rng, &mut v);
        self.precision.sqrt_solve(&mut v);
        self.subset.scatter(&v, self.theta.len())
    }
}

fn noise_of(likelihood: Likelihood) -> Option<f64> {
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
    let observations = (loss.samples() * loss.network().outputs()) as f64 * loss.scale();
    let evidence = evidence.with_noise(sigma, observations.round() as usize, square_error);
    Ok(evidence.with_noise_exponent(curvature.noise_exponent()))
}

fn choose(loss: &NetworkLoss, config: &LaplaceConfig, evidence: &Evidence) -> Result<(Prior, Likelihood)> {
    match &config.prior {
        PriorChoice::Keep => Ok((loss.prior().clone(), loss.likelihood())),
        PriorChoice::Fixed(precision) => Ok((Prior::new(precision, loss.network())?, loss.likelihood())),
        PriorChoice::Optimize => {
            let best = evidence.optimum()?;
            let likelihood = match best.sigma_noise {
                Some(sigma_noise) => Likelihood::Gaussian { sigma_noise },
                None => loss.likelihood(),
            };
            Ok((Prior::isotropic(best.prior_precision, loss.dim())?, likelihood))
        }
    }
}
