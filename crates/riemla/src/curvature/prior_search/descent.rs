//! Descents to the minimum under one prior.

use super::point::Searcher;
use super::whitened::Whitened;
use crate::Result;
use crate::curvature::Structure;
use crate::linalg::vector::norm;
use crate::objective::{NetworkLoss, Objective as _};
use crate::train::{Lbfgs, TrainReport, TrainStatus, lbfgs};

/// A descent ends at this share of √δ: the loss is then at most half its square, about 0.0005 nats, above
/// that of a minimum, whatever its curvature. Coarser ones end on saddles, whose evidence is too high.
const TOLERANCE: f64 = 0.03;
/// Most iterations of a descent on the way.
const ITERATIONS: usize = 1000;
/// Nats that a sparing descent may leave, as its curvature estimates them: on the way and in the end.
const ROUGH: f64 = 1e-3;
const EXACT: f64 = 1e-6;
/// Iterations after which a sparing descent takes a new curvature, which costs about six gradients.
const ROUND: usize = 40;

impl Searcher<'_> {
    /// Descends to the minimum under the prior and noise of a point.
    pub(super) fn settle(
        &mut self,
        at: &[f64],
        theta: &mut [f64],
        fresh: bool,
        exact: bool,
    ) -> Result<TrainReport> {
        let loss = self.loss_at(at)?;
        let mut recipe = self.settings.recipe;
        let rows = loss.samples();
        // With few rows L-BFGS finds as good minima from fresh weights as after Adam; with many,
        // mini-batches are the cheapest way to come near one.
        if fresh && (recipe.in_batches(rows) || self.dim() == 0) {
            let report = recipe.approach(&loss, self.settings.seed, theta, self.control.quiet())?;
            self.gradients += report.evaluations;
            // In mini-batches an iteration is a pass over the rows, and there is one more in the end.
            let passes = if recipe.in_batches(rows) { report.iterations + 1 } else { report.evaluations };
            self.row_visits += passes * rows;
        }
        recipe.iterations = if exact { recipe.iterations } else { recipe.iterations.min(ITERATIONS) };
        if self.sparing
            && let Some(report) = self.settle_whitened(&loss, theta, recipe.iterations, exact)?
        {
            return Ok(report);
        }
        let weakest = loss.prior().precisions().fold(f64::INFINITY, f64::min);
        let tolerance = (!exact).then(|| (TOLERANCE * weakest.sqrt()).max(recipe.gradient_tolerance));
        let report = recipe.polish(&loss, theta, tolerance, self.control.quiet())?;
        self.count(&loss, &report);
        Ok(report)
    }

    /// The same in coordinates in which the curvatures are alike, which are taken anew in every round; none where there are
    /// no Kronecker factors.
    fn settle_whitened(
        &mut self,
        loss: &NetworkLoss,
        theta: &mut [f64],
        iterations: usize,
        exact: bool,
    ) -> Result<Option<TrainReport>> {
        let nats: f64 = if exact { EXACT } else { ROUGH };
        let mut done = (0, 0);
        let mut report = loop {
            let Ok(fitted) = self.curvature(loss, theta, Structure::Kronecker) else {
                return Ok(None);
            };
            let settings = Lbfgs {
                memory: self.settings.recipe.memory,
                max_iterations: ROUND.min(iterations - done.0),
                gradient_tolerance: (2.0 * nats).sqrt(),
                ..Lbfgs::default()
            };
            let origin = theta.to_vec();
            let whitened = Whitened::new(loss, &origin, fitted.gaussian.precision());
            let mut z = vec![0.0; theta.len()];
            let report = lbfgs(&whitened, &mut z, &settings, self.control.quiet())?;
            whitened.weights(&z, theta);
            self.count(loss, &report);
            done = (done.0 + report.iterations, done.1 + report.evaluations);
            if report.status != TrainStatus::IterationLimit || done.0 >= iterations {
                break report;
            }
        };
        (report.iterations, report.evaluations) = done;
        let mut gradient = vec![0.0; theta.len()];
        report.value = loss.value_and_gradient(theta, &mut gradient);
        report.gradient_norm = norm(&gradient);
        Ok(Some(report))
    }

    fn count(&mut self, loss: &NetworkLoss, report: &TrainReport) {
        self.gradients += report.evaluations;
        self.row_visits += report.evaluations * loss.samples();
    }
}
