//! One point of the search: the minimum of the loss under a prior, and its evidence.

use super::{PriorSearch, PriorTrial, TrialStart};
use crate::curvature::hyperparameters::noise_of;
use crate::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure, output_noise};
use crate::data::Targets;
use crate::linalg::vector::dot;
use crate::objective::{Likelihood, NetworkLoss, Objective as _, OutputNoise, Prior, PriorPrecision};
use crate::train::{TrainReport, TrainStatus};
use crate::{Control, Error, Result};

/// A descent ends at this share of √δ: the loss is then at most half its square, about 0.0005 nats, above
/// that of a minimum, whatever its curvature. Coarser ones end on saddles, whose evidence is too high.
const TOLERANCE: f64 = 0.03;
/// Most iterations of a descent on the way.
const ITERATIONS: usize = 1000;
/// The same where weights and prior are taken in turn, on the way and at the end, times the root of the number of weights: a convex
/// loss is then at most 5 % and 0.5 % of K above its minimum, where a draw is K/2 above it.
const TOLERANCES_IN_TURN: [f64; 2] = [0.3, 0.1];
const ITERATIONS_IN_TURN: usize = 200;
/// Candidates that are kept with their weights.
const KEPT: usize = 6;

/// Steps of the outputs' noises in a descent on the way.
const ROUGH_STEPS: usize = 3;

/// What is unknown.
pub(super) enum Unknown {
    /// ρ of all weights: log ρ is the coordinate.
    Scalar,
    /// ρ of every layer.
    PerLayer(usize),
    /// σ², for a prior that is given.
    Noise(Prior),
    /// Nothing, for a prior that is given.
    Nothing(Prior),
}

/// A minimum under some prior.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) at: Vec<f64>,
    pub(super) theta: Vec<f64>,
    pub(super) prior: Prior,
    pub(super) likelihood: Likelihood,
    pub(super) report: TrainReport,
    pub(super) log_likelihood: f64,
    /// Log marginal likelihood; −∞ if it is not known.
    pub(super) evidence: f64,
    /// Whether the descent went on to the recipe's gradient norm.
    pub(super) exact: bool,
}

/// The state of a search.
pub(super) struct Searcher<'a> {
    pub(super) settings: &'a PriorSearch,
    pub(super) loss: &'a NetworkLoss,
    pub(super) control: Control<'a, PriorTrial>,
    pub(super) unknown: Unknown,
    /// The best candidates, best first.
    pub(super) best: Vec<Candidate>,
    pub(super) trials: usize,
    pub(super) gradients: usize,
    /// The last evidence that could not be computed.
    pub(super) failure: Option<Error>,
    /// The highest coordinate. Noise is not above the targets: under a prior that is much too weak the evidence
    /// would explain the data by noise alone.
    pub(super) highest: f64,
    /// Whether weights and prior are taken in turn.
    pub(super) in_turn: bool,
    pub(super) structure: Structure,
    /// Noise of the last trial: the scale on which descents of the next are exact enough.
    pub(super) sigma: f64,
    /// That of every output, where each has its own; `sigma` is then their geometric mean.
    pub(super) noise: Option<OutputNoise>,
}

impl<'a> Searcher<'a> {
    pub(super) fn new(
        settings: &'a PriorSearch,
        loss: &'a NetworkLoss,
        control: Control<'a, PriorTrial>,
    ) -> Result<Self> {
        let sigma = noise_of(loss.likelihood());
        let noise = output_noise::of(loss.likelihood());
        let given =
            |prior: Prior| if sigma.is_some() { Unknown::Noise(prior) } else { Unknown::Nothing(prior) };
        let unknown = match &settings.prior {
            PriorChoice::Optimize => Unknown::Scalar,
            PriorChoice::OptimizePerLayer => Unknown::PerLayer(loss.network().layer_ranges().len()),
            PriorChoice::Keep => given(loss.prior().clone()),
            PriorChoice::Fixed(precision) => given(Prior::new(precision, loss.network())?),
        };
        let highest = match (&unknown, loss.data().targets()) {
            (Unknown::Noise(_), Targets::Values { values, .. }) => {
                (dot(values, values) / values.len() as f64).ln()
            }
            _ => f64::INFINITY,
        };
        let given = matches!(unknown, Unknown::Noise(_) | Unknown::Nothing(_));
        Ok(Self {
            highest,
            in_turn: settings.takes_turns(loss) && !given,
            settings,
            loss,
            control,
            unknown,
            best: Vec::new(),
            trials: 0,
            gradients: 0,
            failure: None,
            structure: settings.structure_for(loss.network()),
            sigma: sigma.or(noise.as_ref().map(geometric_mean)).unwrap_or(1.0),
            noise,
        })
    }

    /// Number of coordinates.
    pub(super) fn dim(&self) -> usize {
        match self.unknown {
            Unknown::Scalar | Unknown::Noise(_) => 1,
            Unknown::PerLayer(layers) => layers,
            Unknown::Nothing(_) => 0,
        }
    }

    /// Prior and likelihood at a point, with the noise σ where that is not a coordinate.
    fn prior_at(&self, at: &[f64], sigma: f64) -> Result<(Prior, Likelihood)> {
        let network = self.loss.network();
        let delta = |x: &f64| x.exp() / (sigma * sigma);
        let prior = match &self.unknown {
            Unknown::Scalar => Prior::isotropic(delta(&at[0]), network.dim())?,
            Unknown::PerLayer(_) => {
                Prior::new(&PriorPrecision::PerLayer(at.iter().map(delta).collect()), network)?
            }
            Unknown::Noise(prior) | Unknown::Nothing(prior) => prior.clone(),
        };
        let likelihood = match (self.loss.likelihood(), &self.unknown) {
            (Likelihood::Gaussian { .. }, Unknown::Noise(_)) => {
                Likelihood::Gaussian { sigma_noise: (0.5 * at[0]).exp() }
            }
            (Likelihood::Gaussian { .. }, _) => Likelihood::Gaussian { sigma_noise: sigma },
            (Likelihood::GaussianPerOutput { sigma_noise }, _) => {
                Likelihood::GaussianPerOutput { sigma_noise: self.noise.unwrap_or(sigma_noise) }
            }
            (other, _) => other,
        };
        Ok((prior, likelihood))
    }

    /// Descends from `theta` under the prior of a point; none after a stop.
    pub(super) fn try_at(
        &mut self,
        at: &[f64],
        theta: Vec<f64>,
        start: TrialStart,
    ) -> Result<Option<Candidate>> {
        if self.control.is_stopped() && !self.best.is_empty() {
            return Ok(None);
        }
        let found = self.descend(at, theta, start == TrialStart::Fresh, false)?;
        self.tell(&found, start);
        self.keep(found.clone());
        Ok((!self.control.is_stopped()).then_some(found))
    }

    /// Counts a trial, and shows it to the observer.
    pub(super) fn tell(&mut self, found: &Candidate, start: TrialStart) {
        self.trials += 1;
        let best = self.best.first().is_none_or(|best| found.evidence > best.evidence);
        let expected = self.expected();
        self.control.report(&PriorTrial {
            number: self.trials,
            expected: expected.max(self.trials),
            start,
            prior_precision: found.prior.to_precision(),
            sigma_noise: noise_of(found.likelihood)
                .or(output_noise::of(found.likelihood).as_ref().map(geometric_mean)),
            log_marginal_likelihood: Some(found.evidence).filter(|evidence| evidence.is_finite()),
            gradients: found.report.evaluations,
            best,
        });
    }

    /// Sorts a candidate in; the worst rough one makes room.
    pub(super) fn keep(&mut self, candidate: Candidate) {
        let place = self.best.partition_point(|other| other.evidence >= candidate.evidence);
        self.best.insert(place, candidate);
        if self.best.len() > KEPT
            && let Some(worst) = self.best.iter().rposition(|other| !other.exact)
        {
            self.best.remove(worst);
        }
    }

    /// The minimum under the prior of a point, and its evidence.
    pub(super) fn descend(
        &mut self,
        at: &[f64],
        mut theta: Vec<f64>,
        fresh: bool,
        exact: bool,
    ) -> Result<Candidate> {
        let mut report = self.settle(at, &mut theta, fresh, exact)?;
        let (_, likelihood) = self.prior_at(at, self.sigma)?;
        if let (Likelihood::Gaussian { sigma_noise }, Unknown::Scalar | Unknown::PerLayer(_)) =
            (likelihood, &self.unknown)
        {
            let loss = self.loss_at(at)?;
            let numbers = loss.total_weight() * loss.network().outputs() as f64 * loss.scale();
            let variance = 2.0 * sigma_noise * sigma_noise * loss.value(&theta) / numbers;
            self.sigma = if variance > 0.0 { variance.sqrt() } else { self.sigma };
        }
        let steps = if exact { output_noise::STEPS } else { ROUGH_STEPS };
        for _ in 0..steps {
            if report.status == TrainStatus::NonFinite || !self.noise_moves(at, &theta)? {
                break;
            }
            report = self.settle(at, &mut theta, false, exact)?;
        }
        let loss = self.loss_at(at)?;
        let (prior, likelihood) = (loss.prior().clone(), loss.likelihood());
        let evidence = if report.status == TrainStatus::NonFinite || self.control.is_stopped() {
            f64::NEG_INFINITY
        } else {
            self.evidence(&loss, &theta)?
        };
        let log_likelihood = loss.log_likelihood(&theta);
        Ok(Candidate { at: at.to_vec(), theta, prior, likelihood, report, log_likelihood, evidence, exact })
    }

    pub(super) fn loss_at(&self, at: &[f64]) -> Result<NetworkLoss> {
        let (prior, likelihood) = self.prior_at(at, self.sigma)?;
        self.loss.with(likelihood, prior)
    }

    /// Descends to the minimum under the prior and noise of a point.
    pub(super) fn settle(
        &mut self,
        at: &[f64],
        theta: &mut [f64],
        fresh: bool,
        exact: bool,
    ) -> Result<TrainReport> {
        let loss = self.loss_at(at)?;
        let weakest = loss.prior().precisions().fold(f64::INFINITY, f64::min);
        let mut recipe = self.settings.recipe;
        let (share, most) = match (self.in_turn, exact) {
            (true, _) => {
                let root = (theta.len() as f64).sqrt();
                (TOLERANCES_IN_TURN[usize::from(exact)] * root, ITERATIONS_IN_TURN)
            }
            (false, false) => (TOLERANCE, ITERATIONS),
            (false, true) => (0.0, recipe.iterations),
        };
        let tolerance = Some((share * weakest.sqrt()).max(recipe.gradient_tolerance));
        recipe.iterations = if exact { recipe.iterations } else { recipe.iterations.min(most) };
        // With few rows L-BFGS finds as good minima from fresh weights as after Adam; with many,
        // mini-batches are the cheapest way to come near one.
        if fresh && (recipe.in_batches(loss.data().len()) || self.dim() == 0) {
            let report = recipe.approach(&loss, self.settings.seed, theta, self.control.quiet())?;
            self.gradients += report.evaluations;
        }
        let report = recipe.polish(&loss, theta, tolerance, self.control.quiet())?;
        self.gradients += report.evaluations;
        Ok(report)
    }

    /// Takes the next noise of every output, where each has its own; whether it changed. The weights are then no minimum
    /// any more.
    fn noise_moves(&mut self, at: &[f64], theta: &[f64]) -> Result<bool> {
        let Some(noise) = self.noise else { return Ok(false) };
        if self.control.is_stopped() {
            return Ok(false);
        }
        let loss = self.loss_at(at)?;
        let Ok(fitted) = Laplace::fit(&loss, theta, &self.keeping(), self.control.quiet()) else {
            return Ok(false);
        };
        let with_prior = matches!(self.unknown, Unknown::Scalar | Unknown::PerLayer(_));
        let next = output_noise::next(&loss, &noise, &fitted.gaussian, with_prior)?;
        if output_noise::change(&noise, &next) < output_noise::SETTLED {
            return Ok(false);
        }
        (self.sigma, self.noise) = (geometric_mean(&next), Some(next));
        Ok(true)
    }

    /// The curvature under a prior that is given.
    fn keeping(&self) -> LaplaceConfig {
        LaplaceConfig { structure: self.structure, prior: PriorChoice::Keep, ..LaplaceConfig::default() }
    }

    /// The evidence at a minimum; −∞, with the cause kept, where there is none.
    fn evidence(&mut self, loss: &NetworkLoss, theta: &[f64]) -> Result<f64> {
        match Laplace::fit(loss, theta, &self.keeping(), self.control.quiet()) {
            Ok(fitted) => Ok(fitted.log_marginal_likelihood.unwrap_or(f64::NEG_INFINITY)),
            Err(error) => {
                self.failure = Some(error);
                Ok(f64::NEG_INFINITY)
            }
        }
    }

    /// Goes on to an exact minimum from the best candidate until none that is rough has a higher evidence.
    pub(super) fn confirm(&mut self) -> Result<()> {
        while let Some(first) = self.best.first()
            && !first.exact
        {
            if self.control.is_stopped() {
                return Ok(());
            }
            let Candidate { at, theta, likelihood, .. } = self.best.remove(0);
            self.noise = output_noise::of(likelihood).or(self.noise);
            let exact = self.descend(&at, theta, false, true)?;
            self.keep(exact);
        }
        Ok(())
    }
}

pub(super) fn geometric_mean(noise: &OutputNoise) -> f64 {
    let sigmas = noise.sigmas();
    (sigmas.iter().map(|sigma| sigma.ln()).sum::<f64>() / sigmas.len() as f64).exp()
}
