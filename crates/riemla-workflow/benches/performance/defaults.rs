//! Draws as they are made by default: the preconditioned metric at the strength that its rule finds.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::Laplace;
use riemla::geometry::Integrator;
use riemla::objective::NetworkLoss;
use riemla::posterior::{Method, Posterior, PosteriorConfig};

use super::before::SEED;
use super::integrators::{Cost, Family, Kind, dormand_prince, leapfrog};
use super::model::Banana;

/// A family of draws by default, and what its rows in the table begin with.
pub struct Defaults {
    pub problem: &'static str,
    samples: usize,
    weights: usize,
    pub family: Family,
}

impl Defaults {
    fn new(
        problem: &'static str,
        (loss, laplace): (&NetworkLoss, Arc<Laplace>),
        prior: &'static str,
        (linearized, count): (bool, u64),
        reference: &Integrator,
    ) -> Self {
        let method = if linearized { Method::LinRiemLa } else { Method::RiemLa };
        let posterior = Posterior::of_network(loss, &laplace, PosteriorConfig::new(method)).unwrap();
        let found = posterior.calibration(0, &[], Control::default()).unwrap();
        let strength = found.expect("the default strength is a rule").strength;
        let kind = Kind { linearized, preconditioned: true, strength, seed: SEED, count, reference };
        let (samples, weights) = (loss.samples(), laplace.gaussian.theta().len());
        Self { problem, samples, weights, family: Family::new(loss, laplace, prior, &kind) }
    }
}

/// The draws of banana: exact and linearised loss, prior optimised and fixed.
pub fn banana(banana: &Banana, count: u64) -> Vec<Defaults> {
    let exact = &dormand_prince(1e-10, 1e-12);
    [("optimised", true, false), ("optimised", true, true), ("fixed", false, false)]
        .map(|(prior, optimized, linearized)| {
            let problem = (&banana.loss, banana.laplace(optimized));
            Defaults::new("banana", problem, prior, (linearized, count), exact)
        })
        .into()
}

/// The image network on digits, if the data are in `directory`. The comparison is the leapfrog itself at a
/// tolerance of 1e-8: Dormand-Prince would take an hour.
pub fn images(directory: &Path, quick: bool) -> Option<Defaults> {
    let (loss, laplace) = super::before::images(directory, quick)?;
    let count = if quick { 1 } else { 2 };
    Some(Defaults::new("MNIST", (&loss, Arc::new(laplace)), "optimised", (false, count), &leapfrog(1e-8)))
}

/// One row per family, and the cost of the first: what other programs are compared with.
pub fn section(all: &[Defaults]) -> (String, Cost) {
    let mut page = String::from(
        "## One posterior sample with the default settings\n\nPreconditioned metric, strength by its rule, constrained leapfrog. Tangents of the first draws of a seed\nthat played no part in the choice of the integrator's constants or of the strength. Errors against\nDormand-Prince at rtol 1e-10 (MNIST: the leapfrog at a tolerance of 1e-8). Cost in forward passes: a value 1, a\ngradient after it 2.\n\n| problem | method | K | N | prior precision | strength | gradients | values | cost | ms | end-loss error | end-point error | unfinished |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut first = None;
    for Defaults { problem, samples, weights, family } in all {
        let cost = family.cost(&Integrator::default());
        let _ = writeln!(
            page,
            "| {problem} | {} | {weights} | {samples} | {:.3} | {:.3} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1e} | {:.1e} | {} |",
            family.method,
            family.precision,
            family.strength,
            cost.gradients,
            cost.values,
            cost.forward_passes(),
            cost.milliseconds,
            cost.loss_error,
            cost.error,
            cost.unfinished
        );
        first.get_or_insert(cost);
    }
    (page + "\n", first.unwrap_or_default())
}
