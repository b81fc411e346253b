//! The Laplace approximation: a Gaussian at the trained weights.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::hyperparameters::{self, Chosen, log_evidence, noise_of};
use super::low_rank::EigenReport;
use super::matrix::CurvatureMatrix;
use super::subset::Subset;
use super::{Curvature, Gaussian, Structure, output_noise};
use crate::linalg::vector::norm;
use crate::objective::{Likelihood, NetworkLoss, Objective as _, Prior, PriorPrecision};
use crate::train::{Lbfgs, TrainStatus, lbfgs};
use crate::{Control, Error, Result};

/// Where prior precision (and, in regression, the noise) come from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorChoice {
    /// As in the loss that was trained.
    Keep,
    /// This value; the noise as in the loss.
    Fixed(PriorPrecision),
    /// The scalar precision (and noise) that maximise the marginal likelihood. Noises of several outputs are chosen with
    /// the GGN alone, and kept with other curvatures.
    #[default]
    Optimize,
    /// One precision per layer (and the noise) that maximise it. Layers without uncertain weights
    /// keep theirs.
    OptimizePerLayer,
}

/// Refitting the weights after the prior changed, in turn until both settle; once, if the prior is not optimised.
///
/// They settle where the prior is best for weights that are held fixed. That is a minimum of the loss, but the
/// evidence can be higher elsewhere: for a search over all priors, from fresh weights, see
/// [`super::PriorSearch`].
///
/// Per-layer precisions may not settle: a network can shrink one layer and grow the next without
/// another prediction, round after round, while the evidence falls. The fit then ends with the best
/// round, and says that it did not settle.
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LaplaceConfig {
    /// Which second derivative.
    pub curvature: Curvature,
    /// How much of it.
    pub structure: Structure,
    /// Of which weights.
    pub subset: Subset,
    /// Prior precision.
    pub prior: PriorChoice,
    /// Refit the weights: in turn with the prior, where that is optimised.
    pub refit: Option<Refit>,
}

/// A network's Gaussian N(θ*, P⁻¹), P = curvature + prior precision, and how it was found.
#[derive(Debug, Clone)]
pub struct Laplace {
    /// The Gaussian at the trained weights θ* (refitted if asked for).
    pub gaussian: Arc<Gaussian>,
    /// Prior of the fit, with the precision that was chosen.
    pub prior: Prior,
    /// Likelihood of the fit, with the noise that was chosen.
    pub likelihood: Likelihood,
    /// Log marginal likelihood; none for a prior precision of 0.
    pub log_marginal_likelihood: Option<f64>,
    /// ‖∇L(θ*)‖ under that prior: not small means θ* is not a minimum of this loss.
    pub gradient_norm: f64,
    /// Whether the search for per-layer precisions reached a maximum; none without such a search.
    pub prior_settled: Option<bool>,
    /// Rounds of refitting that were run.
    pub refit_rounds: usize,
    /// Whether refitting settled within its rounds; none without refitting.
    pub refit_settled: Option<bool>,
    /// Whether a stop was requested before refitting ended: this is the last complete round.
    pub stopped: bool,
    /// How the iteration for the eigenpairs ended, with a low-rank structure.
    pub eigenpairs: Option<EigenReport>,
}

impl Laplace {
    /// Fits the Gaussian at `theta`.
    ///
    /// A stop is looked for before the curvature, before its decomposition and in every iteration of
    /// refitting. After one, the last complete round is returned with `stopped`; before the first one
    /// there is none, and the error is [`Error::Stopped`].
    pub fn fit(
        loss: &NetworkLoss,
        theta: &[f64],
        config: &LaplaceConfig,
        control: Control<'_>,
    ) -> Result<Self> {
        let mut round = Self::round_with_noise(loss, theta, config, control)?;
        let Some(refit) = config.refit else { return Ok(round) };
        for rounds in 1..=refit.max_rounds {
            let refitted = loss.with(round.likelihood, round.prior.clone())?;
            let mut theta = round.gaussian.theta().to_vec();
            let report = lbfgs(&refitted, &mut theta, &Lbfgs::default(), control.quiet())?;
            if report.status == TrainStatus::NonFinite {
                let remedy = "finite: give a larger prior precision, or do not refit";
                return Err(Error::range("loss of the weights under the new prior", report.value, remedy));
            }
            let next = match Self::round_with_noise(&refitted, &theta, config, control) {
                Err(Error::Stopped { .. }) => {
                    round.stopped = true;
                    round.refit_settled = Some(false);
                    break;
                }
                next => next?,
            };
            if config.prior == PriorChoice::OptimizePerLayer && rounds > 1 && next.is_below(&round) {
                round.refit_settled = Some(false);
                break;
            }
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

    /// A round, repeated until noises of the outputs settle where they are chosen.
    fn round_with_noise(
        loss: &NetworkLoss,
        theta: &[f64],
        config: &LaplaceConfig,
        control: Control<'_>,
    ) -> Result<Self> {
        let mut round = Self::round(loss, theta, config, control)?;
        if !output_noise::is_chosen(loss.likelihood(), &config.prior, config.curvature) {
            return Ok(round);
        }
        for _ in 0..output_noise::STEPS {
            let Some(noise) = output_noise::of(round.likelihood) else { break };
            let sigma_noise = output_noise::next(&round.loss(loss)?, &noise, &round.gaussian, false)?;
            if output_noise::change(&noise, &sigma_noise) < output_noise::SETTLED {
                break;
            }
            let likelihood = Likelihood::GaussianPerOutput { sigma_noise };
            round = Self::round(&loss.with(likelihood, round.prior)?, theta, config, control)?;
        }
        Ok(round)
    }

    fn round(
        loss: &NetworkLoss,
        theta: &[f64],
        config: &LaplaceConfig,
        control: Control<'_>,
    ) -> Result<Self> {
        crate::error::check_len("weights", loss.dim(), theta.len())?;
        crate::error::check_finite("weights", theta)?;
        let subset = &config.subset.ranges(loss.network())?;
        control.check("the curvature")?;
        let mut curvature = CurvatureMatrix::new(loss, theta, config.curvature, config.structure, subset)?;
        control.check("the evidence")?;
        let Chosen { prior, likelihood, evidence, settled } =
            hyperparameters::choose(loss, theta, subset, config, &curvature)?;
        if let (Likelihood::Gaussian { sigma_noise: old }, Likelihood::Gaussian { sigma_noise: new }) =
            (loss.likelihood(), likelihood)
        {
            curvature.scale((old / new).powi(config.curvature.noise_exponent()));
        }
        let eigenpairs = curvature.report();
        let precision = curvature.into_precision(&subset.gather(&prior.diagonal()))?;
        let loss = loss.with(likelihood, prior)?;
        let log_marginal_likelihood = match (evidence, loss.prior().scalar()) {
            (Some(evidence), Some(delta)) => {
                Some(evidence.log_marginal_likelihood(delta, noise_of(likelihood))?)
            }
            _ => log_evidence(&loss, theta, subset, &*precision),
        };
        let mut gradient = vec![0.0; theta.len()];
        loss.value_and_gradient(theta, &mut gradient);
        Ok(Self {
            gaussian: Arc::new(Gaussian::on_subset(theta.to_vec(), subset.clone(), precision)?),
            prior: loss.prior().clone(),
            likelihood,
            log_marginal_likelihood,
            gradient_norm: norm(&gradient),
            prior_settled: settled,
            refit_rounds: 0,
            refit_settled: None,
            stopped: false,
            eigenpairs,
        })
    }

    /// Whether the evidence is lower than that of another fit.
    fn is_below(&self, other: &Self) -> bool {
        self.log_marginal_likelihood < other.log_marginal_likelihood
    }

    /// Largest change of log δ and log σ between two fits.
    fn change_of_hyperparameters(&self, other: &Self) -> f64 {
        let sigma = |l: &Self| noise_of(l.likelihood).unwrap_or(1.0);
        let noises = output_noise::of(self.likelihood).zip(output_noise::of(other.likelihood));
        let of_outputs = noises.map_or(0.0, |(a, b)| output_noise::change(&a, &b));
        let pairs = self.prior.precisions().zip(other.prior.precisions());
        let changes = pairs.chain([(sigma(self), sigma(other))]).map(|(a, b)| (a / b).ln().abs());
        changes.fold(of_outputs, |largest, c| if c.is_nan() { largest } else { c.max(largest) })
    }

    /// Puts a fitted approximation together again, for example from a file.
    ///
    /// The public fields that are not arguments are records of the fit; set them on the result.
    pub fn from_parts(gaussian: Gaussian, prior: Prior, likelihood: Likelihood) -> Result<Self> {
        crate::error::check_len("prior of the weights", gaussian.theta().len(), prior.dim())?;
        Ok(Self {
            gaussian: Arc::new(gaussian),
            prior,
            likelihood,
            log_marginal_likelihood: None,
            gradient_norm: f64::NAN,
            prior_settled: None,
            refit_rounds: 0,
            refit_settled: None,
            stopped: false,
            eigenpairs: None,
        })
    }

    /// The loss under the prior and noise of the fit.
    pub fn loss(&self, trained: &NetworkLoss) -> Result<NetworkLoss> {
        trained.with(self.likelihood, self.prior.clone())
    }
}
