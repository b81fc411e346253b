//! Functions of a parameter vector: the contract everything geometric is built on.

mod blocks;
mod chunks;
mod likelihood;
mod linearized;
mod linearized_probe;
mod network_loss;
mod network_passes;
mod network_probe;
mod pool;
mod prior;
mod probe;
mod restricted;
mod tail;

pub(crate) use blocks::Block;
pub(crate) use blocks::block_samples;
#[cfg(test)]
pub(crate) use likelihood::{BlockTargets, OutputLoss};
pub use likelihood::{Likelihood, OutputNoise, TargetKind};
pub use linearized::LinearizedLoss;
pub use network_loss::NetworkLoss;
pub(crate) use pool::Pool;
pub use prior::{Prior, PriorPrecision};
pub use probe::{DirectProbe, Probe};
pub use restricted::Restricted;

use crate::error::Failure;

/// A function ℝᴷ → ℝ with a gradient: a loss, or minus any log-density.
///
/// Pure: the same point gives the same bits, from any thread. A value that is not finite means
/// "outside the domain". Implement the three required methods and every integrator and sampler that
/// needs no second derivatives works.
pub trait Objective: Send + Sync {
    /// Number of parameters K.
    fn dim(&self) -> usize;

    /// The value at `theta`.
    fn value(&self, theta: &[f64]) -> f64;

    /// Writes the gradient at `theta` and returns the value.
    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64;

    /// A stateful evaluator with its own buffers, for loops that evaluate many points.
    ///
    /// The default forwards to the methods above. Override it where a gradient can reuse the
    /// work of the value at the same point, or where values along a line are cheap.
    fn probe(&self) -> Box<dyn Probe + '_> {
        Box::new(DirectProbe::new(self))
    }

    /// The second derivatives, if it knows them.
    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        None
    }

    /// Why it can no longer be evaluated, if it failed.
    ///
    /// An objective that calls a function, a file or a device keeps the first error, and returns NaN
    /// from then on. Whoever evaluates it asks here before it believes that a point lies outside the
    /// domain, and returns [`crate::Error::Objective`].
    fn failure(&self) -> Option<Failure> {
        None
    }
}

/// An error if the objective failed.
pub(crate) fn check_failure(objective: &dyn Objective) -> crate::Result<()> {
    objective.failure().map_or(Ok(()), |failure| Err(crate::Error::Objective(failure)))
}

/// An [`Objective`] that also knows its second derivative along a direction.
///
/// Return it from [`Objective::second_derivatives`], where everything that needs it looks.
pub trait TwiceDifferentiable: Objective {
    /// vᵀHv at `theta`.
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64;

    /// Writes Hv at `theta`.
    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]);

    /// Writes the gradient and returns vᵀHv: what the geodesic equation needs, in one pass
    /// where the implementation can share work. NaN outside the domain, where the value is not
    /// finite but the derivatives may be: integrators that ask for no values must notice.
    fn gradient_and_curvature(&self, theta: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        let value = self.value_and_gradient(theta, gradient);
        if value.is_finite() { self.curvature_along(theta, v) } else { f64::NAN }
    }
}

/// The second derivatives of an objective, or an error that says what needs them.
pub(crate) fn second_derivatives<'a>(
    objective: &'a dyn Objective,
    what: &str,
) -> crate::Result<&'a dyn TwiceDifferentiable> {
    objective.second_derivatives().ok_or_else(|| {
        crate::Error::Unsupported(format!(
            "{what} needs second derivatives, which this model does not provide: implement \
             Objective::second_derivatives, or use the constrained leapfrog"
        ))
    })
}
