//! Training on mini-batches: one pass over shuffled data per epoch.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::rule::Stepper;
use super::run::{Best, Level, Run, check_start};
use super::{Progress, Rule, Schedule, TrainReport, TrainStatus};
use crate::Control;
use crate::error::{Error, Result, check_positive};
use crate::linalg::vector::{axpy, norm};
use crate::random::{Purpose, stream};

/// An objective that is a sum over data, and can be estimated from some of them.
pub trait Stochastic: Sync {
    /// Number of data N.
    fn len(&self) -> usize;

    /// Number of parameters K.
    fn weights(&self) -> usize;

    /// Writes the gradient and returns the value of the whole objective as estimated from the
    /// B data at `indices`: negative log-likelihood × N/B, plus the whole prior.
    fn batch_value_and_gradient(&self, indices: &[usize], theta: &[f64], gradient: &mut [f64]) -> f64;

    /// A stateful evaluator for batches of up to `largest` data.
    ///
    /// The default forwards to the method above. Override it to keep buffers between batches.
    fn batch_probe(&self, largest: usize) -> Box<dyn BatchProbe + '_> {
        let _ = largest;
        Box::new(DirectBatchProbe(self))
    }

    /// Whether there are no data.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// [`Stochastic::batch_value_and_gradient`] with buffers of its own.
pub trait BatchProbe {
    /// Writes the gradient and returns the value, both estimated from the data at `indices`.
    fn value_and_gradient(&mut self, indices: &[usize], theta: &[f64], gradient: &mut [f64]) -> f64;
}

struct DirectBatchProbe<'a, S: Stochastic + ?Sized>(&'a S);

impl<S: Stochastic + ?Sized> BatchProbe for DirectBatchProbe<'_, S> {
    fn value_and_gradient(&mut self, indices: &[usize], theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.0.batch_value_and_gradient(indices, theta, gradient)
    }
}

/// Settings of [`minibatch`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MiniBatch {
    /// Update rule.
    pub rule: Rule,
    /// Learning rate per epoch: constant within one.
    pub learning_rate: Schedule,
    /// Number of passes over the data.
    pub epochs: usize,
    /// Data per step, from 1 to N; the last batch of an epoch has what remains.
    pub batch_size: usize,
    /// Seed of the shuffling.
    pub seed: u64,
    /// Multiplied into the gradient: 1 for the sum over the data, 1/N for the mean.
    #[serde(default = "one")]
    pub gradient_scale: f64,
}

fn one() -> f64 {
    1.0
}

impl MiniBatch {
    fn check(&self, len: usize) -> Result<()> {
        self.rule.check()?;
        self.learning_rate.check()?;
        check_positive("gradient_scale", self.gradient_scale)?;
        if (1..=len).contains(&self.batch_size) {
            Ok(())
        } else {
            Err(Error::range("batch_size", self.batch_size, format!("from 1 to the number of rows, {len}")))
        }
    }
}

/// Mini-batch training from `theta`, which it moves.
///
/// The order of the data in epoch e depends on (seed, e) alone. Where the run leaves the
/// domain, `theta` goes back to the beginning of the epoch with the lowest mean value. The
/// value and gradient norm of the report are those of all data at the returned parameters, for
/// which there is one more pass.
pub fn minibatch(
    objective: &dyn Stochastic,
    theta: &mut [f64],
    config: &MiniBatch,
    control: Control<'_, Progress>,
) -> Result<TrainReport> {
    minibatch_seen(objective, theta, config, control, &mut |_| ())
}

/// [`minibatch`] with `seen` called with the parameters at the end of every epoch.
pub(crate) fn minibatch_seen(
    objective: &dyn Stochastic,
    theta: &mut [f64],
    config: &MiniBatch,
    control: Control<'_, Progress>,
    seen: &mut dyn FnMut(&[f64]),
) -> Result<TrainReport> {
    config.check(objective.len())?;
    check_start(objective.weights(), theta)?;
    let mut run = Run::new(config.epochs, control);
    let mut pass = Pass::new(objective, config.batch_size);
    let mut stepper = Stepper::new(config.rule, theta.len());
    let mut best = Best::new(theta);
    let mut start = theta.to_vec();
    let mut status = TrainStatus::IterationLimit;
    let mut done = 0;
    while done < config.epochs {
        pass.shuffle(config.seed, done);
        start.copy_from_slice(theta);
        let rate = config.learning_rate.at(done, config.epochs);
        let mean = pass.over_data(theta, |g, theta| stepper.step(rate, config.gradient_scale, g, theta));
        if !mean.is_finite() {
            status = TrainStatus::NonFinite;
            break;
        }
        best.offer(&start, mean);
        done += 1;
        seen(theta);
        if run.observe(done, mean) && done < config.epochs {
            status = TrainStatus::Stopped;
            break;
        }
    }
    let mut level = pass.level(theta);
    if !level.is_finite() || status == TrainStatus::NonFinite {
        status = TrainStatus::NonFinite;
        best.restore(theta);
        level = pass.level(theta);
    }
    Ok(run.finish(status, level, pass.evaluations, done))
}

/// One pass over the data in batches.
struct Pass<'a> {
    probe: Box<dyn BatchProbe + 'a>,
    order: Vec<usize>,
    batch_size: usize,
    gradient: Vec<f64>,
    mean_gradient: Vec<f64>,
    evaluations: usize,
}

impl<'a> Pass<'a> {
    fn new(objective: &'a dyn Stochastic, batch_size: usize) -> Self {
        Self {
            probe: objective.batch_probe(batch_size),
            order: (0..objective.len()).collect(),
            batch_size,
            gradient: vec![0.0; objective.weights()],
            mean_gradient: vec![0.0; objective.weights()],
            evaluations: 0,
        }
    }

    /// Puts the data in the order of the epoch, whatever the order was before.
    fn shuffle(&mut self, seed: u64, epoch: usize) {
        for (i, index) in self.order.iter_mut().enumerate() {
            *index = i;
        }
        self.order.shuffle(&mut stream(seed, Purpose::Shuffle, epoch as u64));
    }

    /// Value and gradient norm for all data.
    fn level(&mut self, theta: &mut [f64]) -> Level {
        self.over_data(theta, |_, _| ())
    }

    /// Calls `update` with the gradient of each batch; returns value and gradient norm averaged
    /// over the data (exact where `update` leaves the parameters alone), or the first level
    /// that is not finite.
    fn over_data(&mut self, theta: &mut [f64], mut update: impl FnMut(&[f64], &mut [f64])) -> Level {
        let mut mean = 0.0;
        self.mean_gradient.fill(0.0);
        for batch in self.order.chunks(self.batch_size) {
            let value = self.probe.value_and_gradient(batch, theta, &mut self.gradient);
            self.evaluations += 1;
            let level = Level { value, gradient_norm: norm(&self.gradient) };
            if !level.is_finite() {
                return level;
            }
            let weight = batch.len() as f64 / self.order.len() as f64;
            mean += weight * value;
            axpy(weight, &self.gradient, &mut self.mean_gradient);
            update(&self.gradient, theta);
        }
        Level { value: mean, gradient_norm: norm(&self.mean_gradient) }
    }
}
