//! Polished draws: every draw is the start of a short Hamiltonian chain of its own, corrected by Metropolis tests.
//!
//! The chains are independent of each other, as the draws are, and have exp(−L) as their stationary density: the
//! longer they are, the less it matters where they began. Draw i depends on (seed, i, settings) alone, since step
//! size and length are found once per seed ([`PolishFound`]).

mod chain;
mod config;
mod judge;
mod run;
mod settle;

use std::sync::{Arc, PoisonError};

use rayon::prelude::*;

pub use chain::{HamiltonianChain, Leapfrog, Transition};
pub use config::{Mass, Polish, PolishLength};
pub use judge::PolishReport;
pub(super) use judge::{DRIFT_ERRORS, LOW_ACCEPTANCE};
pub use run::PolishSummary;
pub use settle::{LossLevel, PolishFound};

use self::run::{Course, Proposals};
use self::settle::{LENGTH_PILOTS, STEP_PILOTS, find_length, find_step};
use super::{Draw, Posterior};
use crate::curvature::{DiagonalPrecision, Precision};
use crate::linalg::vector::dot;
use crate::objective::{Objective, check_failure};
use crate::random::{Purpose, stream};
use crate::{Control, Error, Result};

/// Tangents that the variances of a diagonal mass are the mean over: they are known to 10 %.
const VARIANCE_TANGENTS: u64 = 200;

/// What chains move on: the loss of the uncertain weights, and a mass matrix.
pub(super) struct Target<'a> {
    objective: &'a dyn Objective,
    mass: Option<&'a dyn Precision>,
}

impl Posterior {
    /// Step size and length of the chains under `seed`; none where draws are not polished.
    ///
    /// Like the strength they are found once per seed and remembered.
    pub fn polish_found(&self, seed: u64, control: Control<'_>) -> Result<Option<Arc<PolishFound>>> {
        let Some(polish) = self.config.polish else { return Ok(None) };
        let found = || self.polishes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = found().get(&seed) {
            return Ok(Some(found.clone()));
        }
        // Not under the lock: two threads may do the same work, but none waits inside a pool.
        let settled = Arc::new(self.settle_polish(&polish, seed, control)?);
        found().insert(seed, settled.clone());
        Ok(Some(settled))
    }

    /// The same posterior with the step size and length that were found.
    pub fn with_polish_found(mut self, found: &PolishFound) -> Result<Self> {
        if let Some(polish) = &mut self.config.polish {
            polish.step = Some(found.step);
            polish.length = PolishLength::Gradients(found.gradients);
            polish.validate()?;
        }
        self.polishes = Default::default();
        Ok(self)
    }

    fn settle_polish(&self, polish: &Polish, seed: u64, control: Control<'_>) -> Result<PolishFound> {
        let pilots = match (polish.step, polish.length) {
            (Some(step), PolishLength::Gradients(gradients)) => {
                let nothing =
                    PolishFound { step, gradients, settled: None, levels: Vec::new(), search_gradients: 0 };
                return Ok(nothing);
            }
            (_, PolishLength::Auto) => LENGTH_PILOTS,
            (None, _) => STEP_PILOTS,
        };
        let (mut starts, mut spent) = self.pilots(seed, pilots, control)?;
        self.with_target(polish, |target| {
            // A draw outside the domain is no place to learn from.
            starts.retain(|start| target.objective.value(start).is_finite());
            check_failure(self.moving.model())?;
            if starts.is_empty() {
                let message =
                    "the loss is not finite at any of the first draws, so that they cannot be polished";
                return Err(Error::Unsupported(message.into()));
            }
            let step = match polish.step {
                Some(step) => step,
                None => {
                    let starts = &starts[..starts.len().min(STEP_PILOTS as usize)];
                    let (step, gradients) = find_step(target, polish, starts, seed, control)?;
                    spent += gradients;
                    step
                }
            };
            let mut found = PolishFound {
                step,
                gradients: 0,
                settled: None,
                levels: Vec::new(),
                search_gradients: spent,
            };
            match polish.length {
                PolishLength::Gradients(gradients) => found.gradients = gradients,
                PolishLength::Auto => {
                    let proposals = Proposals { step, leaps: polish.leaps };
                    let (levels, settled, gradients) =
                        find_length(target, &proposals, &starts, seed, control)?;
                    found.gradients = levels.last().map_or(1, |level| level.gradients);
                    found.settled = Some(settled);
                    found.levels = levels;
                    found.search_gradients += gradients;
                }
            }
            check_failure(self.moving.model())?;
            Ok(found)
        })
    }

    /// The first draws of a seed before their polish, uncertain weights only, and their gradients. Draws that fail
    /// are left out, unless all do.
    fn pilots(&self, seed: u64, count: u64, control: Control<'_>) -> Result<(Vec<Vec<f64>>, usize)> {
        let reach = self.reach(seed, control)?;
        let indices: Vec<u64> = (0..count).collect();
        let draw = |&index: &u64| self.draw_unpolished(seed, index, reach, control);
        let drawn: Vec<Result<Draw>> = indices.par_iter().with_max_len(1).map(draw).collect();
        let (mut starts, mut gradients, mut failure) = (Vec::new(), 0, None);
        for draw in drawn {
            match draw {
                Ok(draw) => {
                    starts.push(self.gaussian.subset().gather(&draw.theta));
                    gradients += draw.geodesic.map_or(0, |geodesic| geodesic.counters.gradients);
                }
                Err(error @ Error::Unfinished { .. }) => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        match failure {
            Some(error) if starts.is_empty() => Err(error),
            _ => Ok((starts, gradients)),
        }
    }

    /// The diagonal precision with the variances of the Gaussian, as tangents of a fixed random stream show them.
    /// A mass matrix need not be exact: the error of 10 % costs next to nothing, the exact diagonal of P⁻¹ K solves.
    fn variances(&self) -> Result<&DiagonalPrecision> {
        if let Some(found) = self.variances.get() {
            return Ok(found);
        }
        let subset = self.gaussian.subset();
        let mut squares = vec![0.0; subset.len()];
        for i in 0..VARIANCE_TANGENTS {
            let v = self.gaussian.draw_tangent(&mut stream(0, Purpose::Average, i));
            for (sum, v) in squares.iter_mut().zip(subset.gather(&v)) {
                *sum += v * v;
            }
        }
        let precision: Vec<f64> = squares.iter().map(|sum| VARIANCE_TANGENTS as f64 / sum).collect();
        let found = DiagonalPrecision::new(&precision, &vec![0.0; precision.len()])?;
        Ok(self.variances.get_or_init(|| found))
    }

    /// Runs `work` on the loss of the uncertain weights.
    fn with_target<R>(&self, polish: &Polish, work: impl FnOnce(&Target<'_>) -> Result<R>) -> Result<R> {
        let objective = self.moving_objective()?;
        let mass: Option<&dyn Precision> = match polish.mass {
            Mass::Auto if self.model.rows().is_some() => Some(self.variances()?),
            Mass::Auto | Mass::Identity => None,
            Mass::Diagonal => Some(self.variances()?),
            Mass::Laplace => Some(self.gaussian.precision()),
        };
        if self.moving.all_uncertain() {
            return work(&Target { objective, mass });
        }
        let restricted = self.moving.on_uncertain(objective);
        work(&Target { objective: &restricted, mass })
    }

    /// The end of the chain that begins at a draw; the draw itself where draws are not polished.
    pub(super) fn polished(&self, seed: u64, draw: Draw, control: Control<'_>) -> Result<Draw> {
        let (Some(polish), Some(found)) = (&self.config.polish, self.polish_found(seed, control)?) else {
            return Ok(draw);
        };
        let proposals = Proposals { step: found.step, leaps: polish.leaps };
        let count = proposals.count(found.gradients);
        let start = self.gaussian.subset().gather(&draw.theta);
        let (end, summary) = self.with_target(polish, |target| {
            let chain = HamiltonianChain::new(target.objective, target.mass, &start)?;
            let loss_start = chain.loss();
            let mut course = Course::new(chain, stream(seed, Purpose::Polish, draw.index));
            let half = course.run_to(count / 2, &proposals, control);
            let loss_half = course.chain.loss();
            if !(half && course.run_to(count, &proposals, control)) {
                return Err(Error::Stopped { what: format!("draw {} was polished", draw.index) });
            }
            Ok((course.chain.theta().to_vec(), course.summary(loss_start, loss_half)))
        })?;
        check_failure(self.moving.model())?;
        let polish = Some(self.with_overlap(summary, &start, &end));
        Ok(Draw { theta: self.gaussian.embed(&end), polish, ..draw })
    }

    /// How much of its start an end still has, relative to the Gaussian.
    fn with_overlap(&self, summary: PolishSummary, start: &[f64], end: &[f64]) -> PolishSummary {
        let center = self.gaussian.subset().gather(self.gaussian.theta());
        let moved = |point: &[f64]| -> Vec<f64> { point.iter().zip(&center).map(|(p, c)| p - c).collect() };
        let (start, end) = (moved(start), moved(end));
        let k = center.len() as f64;
        let mut product = vec![0.0; center.len()];
        self.gaussian.precision().mul(&start, &mut product);
        let (square_start, overlap) = (dot(&start, &product) / k, dot(&end, &product) / k);
        self.gaussian.precision().mul(&end, &mut product);
        PolishSummary { square_start, overlap, square_end: dot(&end, &product) / k, ..summary }
    }
}
