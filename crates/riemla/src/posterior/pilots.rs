//! The draws that a rule looks at: the first of the seed, the same tangents and batches at every strength.

use std::ops::Range;

use rayon::prelude::*;

use super::geodesics::DrawLoss;
use super::ratio::Height;
use super::{MetricChoice, Posterior};
use crate::geometry::{ConstrainedLeapfrog, Geodesic, Integrator, Status};
use crate::linalg::vector::{dot, norm};
use crate::objective::{Objective, check_failure};
use crate::{Control, Result};

/// Step tolerance of the search: the loss level of a draw needs less accuracy than its place. At 1e-4 the levels of
/// banana are up to 1 % too high, at 3e-4 up to 6 %, at 1e-3 up to 40 %.
const SEARCH_TOLERANCE: f64 = 1e-4;

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

impl Posterior {
    /// What a pilot of the search for the strength costs of a draw at the same strength: pilots are followed less
    /// accurately. Measured: about the fourth root of the quotient of the tolerances.
    pub fn share_of_pilot(&self) -> f64 {
        match (coarse(&self.config.integrator), &self.config.integrator) {
            (Integrator::ConstrainedLeapfrog(coarse), Integrator::ConstrainedLeapfrog(fine)) => {
                (fine.tolerance / coarse.tolerance).powf(0.25)
            }
            _ => 1.0,
        }
    }
}

/// The draws that a rule looks at.
pub(super) struct Pilots<'a> {
    posterior: &'a Posterior,
    integrator: Integrator,
    heights: Heights<'a>,
    pilots: Vec<Pilot>,
}

struct Pilot {
    v: Vec<f64>,
    /// The loss of its geodesic: that of all data, or of its batch.
    loss: DrawLoss,
}

impl<'a> Pilots<'a> {
    pub fn new(posterior: &'a Posterior, seed: u64) -> Result<Self> {
        let pilot = |index| {
            let v = posterior.tangent(seed, index, 0);
            Ok(Pilot { v, loss: posterior.draw_loss(seed, index)? })
        };
        let count = posterior.config().strength.pilots() as u64;
        let pilots = (0..count).map(pilot).collect::<Result<_>>()?;
        let integrator = coarse(&posterior.config().integrator);
        Ok(Self { posterior, integrator, heights: Heights::new(posterior)?, pilots })
    }

    pub fn len(&self) -> usize {
        self.pilots.len()
    }

    /// 2‖v‖/K on average, the length being that of the metric without its loss term: see `search`.
    pub fn natural_strength(&self) -> f64 {
        let k = self.posterior.gaussian().subset().len() as f64;
        let length = match self.posterior.config().metric {
            MetricChoice::Preconditioned => k.sqrt(),
            _ => self.pilots.iter().map(|pilot| norm(&pilot.v)).sum::<f64>() / self.pilots.len() as f64,
        };
        2.0 * length / k
    }

    /// Some of the pilot geodesics at one strength.
    pub fn run(&self, pilots: Range<usize>, strength: f64, control: Control<'_>) -> Result<Vec<Geodesic>> {
        let geodesic = |pilot: &Pilot| {
            self.posterior.follow(&pilot.loss, strength, &self.integrator, &pilot.v, 0, control)
        };
        self.pilots[pilots].par_iter().with_max_len(1).map(geodesic).collect()
    }

    /// How high the pilots from `first` on end; none where a geodesic did not finish. A gradient each.
    pub fn heights(&self, first: usize, geodesics: &[Geodesic]) -> Result<Vec<Option<Height>>> {
        let pairs = self.pilots[first..].iter().zip(geodesics);
        let height = |(pilot, geodesic): (&Pilot, &Geodesic)| {
            (geodesic.status == Status::Reached).then(|| self.heights.of(&pilot.v, &geodesic.end))
        };
        let heights = pairs.map(height).collect();
        check_failure(self.heights.loss)?;
        Ok(heights)
    }
}

/// Measures how high draws lie.
pub(super) struct Heights<'a> {
    posterior: &'a Posterior,
    /// The loss of the posterior: on all data.
    loss: &'a dyn Objective,
    loss_start: f64,
    gradient: Vec<f64>,
}

impl<'a> Heights<'a> {
    pub fn new(posterior: &'a Posterior) -> Result<Self> {
        let (loss, theta) = (posterior.objective()?, posterior.gaussian().theta());
        let mut gradient = vec![0.0; theta.len()];
        let loss_start = loss.value_and_gradient(theta, &mut gradient);
        check_failure(loss)?;
        Ok(Self { posterior, loss, loss_start, gradient })
    }

    /// Of the end of the geodesic with tangent `v`.
    pub fn of(&self, v: &[f64], end: &[f64]) -> Height {
        let gaussian = self.posterior.gaussian();
        let k = gaussian.subset().len() as f64;
        let slope = dot(&self.gradient, v);
        let mut gradient = vec![0.0; end.len()];
        let rise = self.loss.value_and_gradient(end, &mut gradient) - self.loss_start;
        let virial = dot(&gradient, end) - dot(&gradient, gaussian.theta());
        let moving = gaussian.subset().gather(v);
        let mut product = vec![0.0; moving.len()];
        gaussian.precision().mul(&moving, &mut product);
        Height {
            rise: (rise - slope) / (0.5 * k),
            virial: (virial - slope) / k,
            tangent: dot(&moving, &product) / k,
        }
    }
}
