//! Finding the strength of the metric by the rules of [`Strength`].
//!
//! The virial identity: for any density p ∝ exp(−L) on ℝᴷ that falls off at infinity and any fixed
//! point θ*, the divergence of (θ − θ*)p integrates to 0, so E[(θ − θ*)·∇L(θ)] = K. θ* need not be a
//! minimum and nothing is to be corrected. With g = ∇L(θ*) not zero, though, the few pilots add the
//! noise of g·v, whose mean over tangent vectors v is exactly 0: it is subtracted as a control
//! variate, the same for every strength. (Subtracting g·(θ − θ*) instead would be wrong: that mean
//! is not 0 for the posterior, −gᵀP⁻¹g if it is Gaussian.)
//!
//! L is the loss of the posterior that is approximated: on all data even if each geodesic sees only
//! a batch. A geodesic avoids the rises of its own batch's loss, not those of the others, so that on
//! the batch losses the draws would look narrower than they are.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::geodesics::DrawLoss;
use super::search::{self, Estimate, SearchStatus};
use super::strength::growth_factor;
use super::{MetricChoice, Posterior, Statistic, Strength};
use crate::geometry::{ConstrainedLeapfrog, Counters, Geodesic, Integrator, Status};
use crate::linalg::vector::{dot, norm};
use crate::objective::{Objective, check_failure};
use crate::{Control, Error, Result};

/// One strength that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The strength.
    pub strength: f64,
    /// What the rule looks at: a ratio that should be 1, or the held-out score.
    pub value: f64,
    /// Standard error of a ratio.
    pub error: f64,
    /// Pilot geodesics that reached their end.
    pub finished: usize,
    /// What it cost.
    pub counters: Counters,
}

/// A strength found by a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The rule.
    pub rule: Strength,
    /// The strength a.
    pub strength: f64,
    /// How the search ended.
    pub status: SearchStatus,
    /// The strengths tried, in order.
    pub trials: Vec<Trial>,
    /// What the trials cost together.
    pub counters: Counters,
}

/// Step tolerance of the search: the loss level of a draw needs less accuracy than its place.
const SEARCH_TOLERANCE: f64 = 1e-4;

/// Pilots that are run before the first look.
const WAVE: usize = 3;

/// The integrator of the search. Only the constrained one stays on the graph of the loss whatever
/// its tolerance; Dormand-Prince at a loose tolerance draws from somewhere else.
fn coarse(integrator: &Integrator) -> Integrator {
    match integrator {
        Integrator::ConstrainedLeapfrog(settings) if settings.fixed_steps.is_none() => {
            let tolerance = settings.tolerance.max(SEARCH_TOLERANCE);
            Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog { tolerance, ..settings.clone() })
        }
        other => other.clone(),
    }
}

/// Applies the posterior's rule under `seed`, with the trials that are known.
pub(super) fn calibrate(
    posterior: &Posterior,
    seed: u64,
    known: &[Trial],
    control: Control<'_, Trial>,
) -> Result<Calibration> {
    let rule = posterior.config().strength;
    let pilots = Pilots::new(posterior, seed)?;
    let natural = pilots.natural_strength();
    let mut search = Search { pilots, rule, known, control, trials: Vec::new() };
    let (x, status) = match rule {
        Strength::Fixed(strength) => {
            let (trials, counters) = (Vec::new(), Counters::default());
            return Ok(Calibration { rule, strength, status: SearchStatus::Converged, trials, counters });
        }
        Strength::HeldOut { .. } if posterior.validation.is_none() => {
            let remedy = "a held-out strength needs held-out data: call Posterior::with_held_out";
            return Err(Error::Unsupported(remedy.into()));
        }
        Strength::HeldOut { .. } => {
            search::minimum(|x| Ok(search.trial(natural * x)?.map(|estimate| estimate.value)))?
        }
        Strength::Virial { .. } | Strength::LossRise { .. } | Strength::Typical { .. } => {
            search::root(|x| search.trial(natural * x))?
        }
    };
    let strength = natural * x;
    let status = if control.is_stopped() { SearchStatus::Stopped } else { status };
    let trials = search.trials;
    let mut counters = Counters::default();
    trials.iter().for_each(|trial| counters += trial.counters);
    Ok(Calibration { rule, strength, status, trials, counters })
}

/// The draws that a rule looks at: the same tangents and batches at every strength.
struct Pilots<'a> {
    posterior: &'a Posterior,
    integrator: Integrator,
    /// The loss of the posterior: on all data.
    loss: &'a dyn Objective,
    loss_start: f64,
    pilots: Vec<Pilot>,
}

struct Pilot {
    v: Vec<f64>,
    /// The loss of its geodesic: that of all data, or of its batch.
    loss: DrawLoss,
    /// ∇L(θ*)·v.
    slope: f64,
}

impl<'a> Pilots<'a> {
    fn new(posterior: &'a Posterior, seed: u64) -> Result<Self> {
        let (loss, theta) = (posterior.objective()?, posterior.gaussian().theta());
        let mut gradient = vec![0.0; theta.len()];
        let loss_start = loss.value_and_gradient(theta, &mut gradient);
        check_failure(loss)?;
        let pilot = |index| {
            let v = posterior.tangent(seed, index, 0);
            Ok(Pilot { slope: dot(&gradient, &v), v, loss: posterior.draw_loss(seed, index)? })
        };
        let count = posterior.config().strength.pilots() as u64;
        let pilots = (0..count).map(pilot).collect::<Result<_>>()?;
        let integrator = coarse(&posterior.config().integrator);
        Ok(Self { posterior, integrator, loss, loss_start, pilots })
    }

    /// 2‖v‖/K on average, the length being that of the metric without its loss term: see `search`.
    fn natural_strength(&self) -> f64 {
        let k = self.posterior.gaussian().subset().len() as f64;
        let length = match self.posterior.config().metric {
            MetricChoice::Preconditioned => k.sqrt(),
            _ => self.pilots.iter().map(|pilot| norm(&pilot.v)).sum::<f64>() / self.pilots.len() as f64,
        };
        2.0 * length / k
    }

    /// Some of the pilot geodesics at one strength.
    fn run(
        &self,
        wave: std::ops::Range<usize>,
        strength: f64,
        control: Control<'_>,
    ) -> Result<Vec<Geodesic>> {
        let geodesic = |pilot: &Pilot| {
            self.posterior.follow(&pilot.loss, strength, &self.integrator, &pilot.v, 0, control)
        };
        self.pilots[wave].par_iter().with_max_len(1).map(geodesic).collect()
    }

    /// How high the end of a pilot lies, in units of what is expected of typical draws.
    fn height(&self, pilot: &Pilot, end: &[f64]) -> Height {
        let gaussian = self.posterior.gaussian();
        let k = gaussian.subset().len() as f64;
        let mut gradient = vec![0.0; end.len()];
        let rise = self.loss.value_and_gradient(end, &mut gradient) - self.loss_start;
        let virial = dot(&gradient, end) - dot(&gradient, gaussian.theta());
        Height { rise: (rise - pilot.slope) / (0.5 * k), virial: (virial - pilot.slope) / k }
    }
}

/// Two ratios that are 1 on average for draws of a Gaussian posterior, the second for those of any.
struct Height {
    /// (L(θ) − L(θ*) − ∇L(θ*)·v)/(K/2).
    rise: f64,
    /// ((θ − θ*)·∇L(θ) − ∇L(θ*)·v)/K.
    virial: f64,
}

/// The strengths tried so far.
struct Search<'a> {
    pilots: Pilots<'a>,
    rule: Strength,
    known: &'a [Trial],
    control: Control<'a, Trial>,
    trials: Vec<Trial>,
}

impl Search<'_> {
    /// What the rule looks at, at one strength; `None` if a stop was requested.
    fn trial(&mut self, strength: f64) -> Result<Option<Estimate>> {
        let known = self.known.iter().find(|trial| trial.strength == strength);
        let trial = match known {
            Some(&trial) => trial,
            None => {
                let Some(trial) = self.run(strength)? else { return Ok(None) };
                self.control.report(&trial);
                trial
            }
        };
        self.trials.push(trial);
        Ok(Some(Estimate { value: trial.value, error: trial.error }))
    }

    /// Pilots at one strength, in waves until they tell enough.
    fn run(&self, strength: f64) -> Result<Option<Trial>> {
        let (control, all) = (self.control, self.pilots.pilots.len());
        let (mut done, mut finished, mut counters) = (0, 0, Counters::default());
        let mut heights = Vec::new();
        loop {
            if control.is_stopped() {
                return Ok(None);
            }
            let wave = done..self.next_wave(done);
            let geodesics = self.pilots.run(wave.clone(), strength, control.quiet())?;
            if control.is_stopped() {
                return Ok(None);
            }
            geodesics.iter().for_each(|geodesic| counters += geodesic.counters);
            let ends = self.ends(wave.start, &geodesics);
            finished += ends.len();
            let estimate = if let Strength::HeldOut { .. } = self.rule {
                counters.values += ends.len();
                self.score(&ends)?
            } else {
                counters.gradients += ends.len();
                heights.extend(ends.iter().map(|(pilot, end)| self.pilots.height(pilot, end)));
                check_failure(self.pilots.loss)?;
                self.ratio(&heights)
            };
            done = wave.end;
            if estimate.is_enough() || done == all {
                let Estimate { value, error } = estimate;
                return Ok(Some(Trial { strength, value, error, finished, counters }));
            }
        }
    }

    /// Pilots after the next wave: a few tell most strengths to be far off. A held-out score tells
    /// nothing of its error, so that it takes all at once.
    fn next_wave(&self, done: usize) -> usize {
        let all = self.pilots.pilots.len();
        if matches!(self.rule, Strength::HeldOut { .. }) { all } else { (done + WAVE).min(all) }
    }

    /// Of the pilots from `first` on, those that reached their ends.
    fn ends<'g>(&self, first: usize, geodesics: &'g [Geodesic]) -> Vec<(&Pilot, &'g [f64])> {
        let pairs = self.pilots.pilots[first..].iter().zip(geodesics);
        pairs
            .filter(|(_, geodesic)| geodesic.status == Status::Reached)
            .map(|(pilot, geodesic)| (pilot, geodesic.end.as_slice()))
            .collect()
    }

    /// The held-out score of finished pilots; none finished is the worst.
    fn score(&self, ends: &[(&Pilot, &[f64])]) -> Result<Estimate> {
        let thetas: Vec<&[f64]> = ends.iter().map(|(_, end)| *end).collect();
        let score = self.pilots.posterior.validation.as_ref().filter(|_| !thetas.is_empty());
        let value = score.map_or(Ok(f64::INFINITY), |score| score(&thetas))?;
        Ok(Estimate { value, error: 0.0 })
    }

    /// The ratio of finished pilots. None finished means that the metric is too strong to integrate; a
    /// loss that is not finite means that it is too weak to keep the draws in its domain, and a negative
    /// average that it is too weak to keep them in the basin of θ*.
    fn ratio(&self, heights: &[Height]) -> Estimate {
        let k = self.pilots.posterior.gaussian().subset().len() as f64;
        let rise = || average(Statistic::Mean, k, heights, |height| height.rise);
        match self.rule {
            Strength::Virial { statistic, .. } => average(statistic, k, heights, |height| height.virial),
            Strength::LossRise { .. } => rise(),
            Strength::Typical { .. } => {
                let growth: Vec<f64> = heights.iter().map(|height| height.virial / height.rise).collect();
                // The median: otherwise the virial of a single far pilot would decide for all.
                let factor = growth_factor(Statistic::Median.of(&growth));
                let Estimate { value, error } = rise();
                Estimate { value: factor * value, error: factor * error }
            }
            Strength::Fixed(_) | Strength::HeldOut { .. } => Estimate { value: 1.0, error: 0.0 },
        }
    }
}

/// The average of a ratio and the standard error of its mean: at least that of exact draws, χ² with K
/// degrees of freedom each, since a few pilots can agree by chance.
fn average(statistic: Statistic, k: f64, heights: &[Height], ratio: fn(&Height) -> f64) -> Estimate {
    if heights.is_empty() {
        return Estimate { value: 0.0, error: 0.0 };
    }
    let values: Vec<f64> = heights.iter().map(ratio).collect();
    let value = statistic.of(&values);
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let error = (squares / ((n - 1.0).max(1.0) * n)).sqrt().max(value.abs() * (2.0 / (k * n)).sqrt());
    let left = value.is_nan() || value < 0.0;
    Estimate { value: if left { f64::INFINITY } else { value }, error }
}
