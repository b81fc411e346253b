//! L-BFGS: a minimum to the accuracy of the arithmetic, from gradients alone.

mod line_search;
mod memory;

use serde::{Deserialize, Serialize};

use self::line_search::{Trial, search};
use self::memory::Memory;
use super::run::{Evaluator, Level, Run, check_start};
use super::{Progress, TrainReport, TrainStatus};
use crate::Control;
use crate::error::{Error, Result};
use crate::linalg::vector::dot;
use crate::objective::{Objective, check_failure};

/// Settings of [`lbfgs`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lbfgs {
    /// Number of past steps that model the Hessian, at least 1. Where curvatures differ by 1e6,
    /// 100 can save most of the evaluations that 20 needs.
    pub memory: usize,
    /// Most iterations.
    pub max_iterations: usize,
    /// The run has converged when the gradient norm is at most this.
    pub gradient_tolerance: f64,
    /// Rounding error of a value relative to its size. Below it, steps are judged by their
    /// slopes instead of their values.
    pub value_noise: f64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Self { memory: 20, max_iterations: 10_000, gradient_tolerance: 1e-8, value_noise: 1e-12 }
    }
}

impl Lbfgs {
    fn check(&self) -> Result<()> {
        if self.memory == 0 {
            return Err(Error::range("memory", 0, "at least 1"));
        }
        for (what, value) in
            [("gradient_tolerance", self.gradient_tolerance), ("value_noise", self.value_noise)]
        {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::range(what, value, "finite and at least 0"));
            }
        }
        Ok(())
    }
}

/// Minimises `objective` from `theta`, which it moves: L-BFGS with a line search that works
/// down to the rounding error of the value.
///
/// Points where the objective is not finite are walls that the line search steps back from; so
/// [`TrainStatus::NonFinite`] means that the start itself is outside the domain.
pub fn lbfgs(
    objective: &dyn Objective,
    theta: &mut [f64],
    config: &Lbfgs,
    control: Control<'_, Progress>,
) -> Result<TrainReport> {
    config.check()?;
    check_start(objective.dim(), theta)?;
    let mut run = Run::new(config.max_iterations, control);
    let mut state = State::new(objective, theta, config);
    let mut iteration = 0;
    let status = loop {
        if !state.level.is_finite() {
            break TrainStatus::NonFinite;
        }
        let stop = run.observe(iteration, state.level);
        if state.level.gradient_norm <= config.gradient_tolerance {
            break TrainStatus::Converged;
        }
        if iteration == config.max_iterations {
            break TrainStatus::IterationLimit;
        }
        if stop {
            break TrainStatus::Stopped;
        }
        if !state.advance() {
            break TrainStatus::NoProgress;
        }
        iteration += 1;
    };
    check_failure(objective)?;
    Ok(run.finish(status, state.level, state.evaluator.evaluations, iteration))
}

/// The point, the trial point, and the model of the Hessian.
struct State<'a> {
    evaluator: Evaluator<'a>,
    memory: Memory,
    theta: &'a mut [f64],
    gradient: Vec<f64>,
    level: Level,
    direction: Vec<f64>,
    trial: Vec<f64>,
    trial_gradient: Vec<f64>,
    noise: Noise,
}

impl<'a> State<'a> {
    fn new(objective: &'a dyn Objective, theta: &'a mut [f64], config: &Lbfgs) -> Self {
        let zeros = vec![0.0; theta.len()];
        let mut evaluator = Evaluator::new(objective);
        let mut gradient = zeros.clone();
        let level = evaluator.evaluate(theta, &mut gradient);
        Self {
            evaluator,
            memory: Memory::new(config.memory, theta.len()),
            trial: theta.to_vec(),
            theta,
            gradient,
            level,
            direction: zeros.clone(),
            trial_gradient: zeros,
            noise: Noise::new(config.value_noise),
        }
    }

    /// One iteration; false if not even the steepest descent leads anywhere.
    fn advance(&mut self) -> bool {
        let noise = self.noise.at(self.level.value);
        loop {
            let fresh = self.memory.is_empty();
            self.memory.direction(&self.gradient, &mut self.direction);
            let slope = dot(&self.direction, &self.gradient);
            let first = if fresh { (1.0 / self.level.gradient_norm).min(1.0) } else { 1.0 };
            // Not `slope >= 0.0`: a NaN must not go on.
            if slope < 0.0 && self.search(slope, first, noise) {
                return true;
            }
            if fresh {
                return false;
            }
            self.memory.clear();
        }
    }

    /// Searches along the direction and moves to the point found.
    fn search(&mut self, slope: f64, first: f64, noise: f64) -> bool {
        let origin = Trial { t: 0.0, value: self.level.value, slope };
        let mut level = self.level;
        let mut along = |t: f64| {
            for ((x, base), d) in self.trial.iter_mut().zip(&*self.theta).zip(&self.direction) {
                *x = base + t * d;
            }
            level = self.evaluator.evaluate(&self.trial, &mut self.trial_gradient);
            let slope = if level.is_finite() { dot(&self.trial_gradient, &self.direction) } else { f64::NAN };
            Trial { t, value: level.value, slope }
        };
        if search(&mut along, origin, first, noise).is_none() || self.trial == self.theta {
            return false;
        }
        self.memory.push(&self.trial, self.theta, &self.trial_gradient, &self.gradient);
        self.theta.copy_from_slice(&self.trial);
        std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
        self.level = level;
        true
    }
}

/// The absolute rounding error of values, from a running mean of their sizes (Hager and Zhang
/// 2005): the size of the present value alone is too small where it passes through zero.
struct Noise {
    relative: f64,
    weight: f64,
    mean: f64,
}

impl Noise {
    const FORGETTING: f64 = 0.7;

    fn new(relative: f64) -> Self {
        Self { relative, weight: 0.0, mean: 0.0 }
    }

    fn at(&mut self, value: f64) -> f64 {
        self.weight = 1.0 + Self::FORGETTING * self.weight;
        self.mean += (value.abs() - self.mean) / self.weight;
        self.relative * self.mean
    }
}
