//! Gradient descent and Adam on the whole objective.

use serde::{Deserialize, Serialize};

use super::rule::Stepper;
use super::run::{Best, Evaluator, Run, check_start};
use super::{Progress, Rule, Schedule, TrainReport, TrainStatus};
use crate::Control;
use crate::error::{Result, check_positive};
use crate::objective::{Objective, check_failure};

/// Settings of [`gradient_descent`]. The default is the paper's learning rate, and no epochs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradientDescent {
    /// Learning rate per epoch.
    pub learning_rate: Schedule,
    /// Number of steps.
    pub epochs: usize,
    /// Share of the last step's direction that is kept, in [0, 1).
    pub momentum: f64,
    /// Multiplied into the gradient: 1 for the sum over the data, 1/N for the mean.
    pub gradient_scale: f64,
}

impl Default for GradientDescent {
    fn default() -> Self {
        Self { learning_rate: Schedule::Constant(1e-3), epochs: 0, momentum: 0.0, gradient_scale: 1.0 }
    }
}

/// Settings of [`adam`]. The default is PyTorch's, and no epochs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adam {
    /// Learning rate per epoch.
    pub learning_rate: Schedule,
    /// Decay of the mean gradient, in [0, 1).
    pub beta1: f64,
    /// Decay of the mean squared gradient, in [0, 1).
    pub beta2: f64,
    /// Keeps the denominator above zero.
    pub epsilon: f64,
    /// Number of steps.
    pub epochs: usize,
    /// Multiplied into the gradient: 1 for the sum over the data, 1/N for the mean.
    pub gradient_scale: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            epochs: 0,
            gradient_scale: 1.0,
        }
    }
}

/// Full-batch gradient descent with momentum, from `theta`, which it moves.
///
/// ```
/// use riemla::Control;
/// use riemla::objective::Objective;
/// use riemla::train::{GradientDescent, Schedule, gradient_descent};
///
/// struct Parabola; // θ²/2
/// impl Objective for Parabola {
///     fn dim(&self) -> usize { 1 }
///     fn value(&self, theta: &[f64]) -> f64 { 0.5 * theta[0] * theta[0] }
///     fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
///         gradient[0] = theta[0];
///         self.value(theta)
///     }
/// }
///
/// let config =
///     GradientDescent { learning_rate: Schedule::Constant(0.5), epochs: 3, ..Default::default() };
/// let mut theta = [8.0];
/// let report = gradient_descent(&Parabola, &mut theta, &config, Control::default())?;
/// assert_eq!(theta, [1.0]);
/// assert_eq!(report.history, [32.0, 8.0, 2.0, 0.5]);
/// # Ok::<(), riemla::Error>(())
/// ```
pub fn gradient_descent(
    objective: &dyn Objective,
    theta: &mut [f64],
    config: &GradientDescent,
    control: Control<'_, Progress>,
) -> Result<TrainReport> {
    let GradientDescent { learning_rate, epochs, momentum, gradient_scale } = *config;
    let plan = Plan { rule: Rule::Sgd { momentum }, learning_rate, epochs, gradient_scale };
    descend(objective, theta, &plan, control)
}

/// Full-batch Adam, from `theta`, which it moves.
pub fn adam(
    objective: &dyn Objective,
    theta: &mut [f64],
    config: &Adam,
    control: Control<'_, Progress>,
) -> Result<TrainReport> {
    let Adam { learning_rate, beta1, beta2, epsilon, epochs, gradient_scale } = *config;
    let plan = Plan { rule: Rule::Adam { beta1, beta2, epsilon }, learning_rate, epochs, gradient_scale };
    descend(objective, theta, &plan, control)
}

struct Plan {
    rule: Rule,
    learning_rate: Schedule,
    epochs: usize,
    gradient_scale: f64,
}

/// `epochs` steps; one evaluation more than steps, so that the end point is known too.
fn descend(
    objective: &dyn Objective,
    theta: &mut [f64],
    plan: &Plan,
    control: Control<'_, Progress>,
) -> Result<TrainReport> {
    plan.rule.check()?;
    plan.learning_rate.check()?;
    check_positive("gradient_scale", plan.gradient_scale)?;
    check_start(objective.dim(), theta)?;
    let mut run = Run::new(plan.epochs, control);
    let mut evaluator = Evaluator::new(objective);
    let mut stepper = Stepper::new(plan.rule, theta.len());
    let mut best = Best::new(theta);
    let mut gradient = vec![0.0; theta.len()];
    let mut epoch = 0;
    let (status, level) = loop {
        let level = evaluator.evaluate(theta, &mut gradient);
        if !level.is_finite() {
            best.restore(theta);
            break (TrainStatus::NonFinite, if epoch == 0 { level } else { best.level });
        }
        best.offer(theta, level);
        let stop = run.observe(epoch, level);
        if epoch == plan.epochs {
            break (TrainStatus::IterationLimit, level);
        }
        if stop {
            break (TrainStatus::Stopped, level);
        }
        let rate = plan.learning_rate.at(epoch, plan.epochs);
        stepper.step(rate, plan.gradient_scale, &gradient, theta);
        epoch += 1;
    };
    check_failure(objective)?;
    Ok(run.finish(status, level, evaluator.evaluations, epoch))
}
