//! Geodesics of the banana problem: cost per sample, and error against cost.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use riemla::Control;
use riemla::curvature::Laplace;
use riemla::geometry::{ConstrainedLeapfrog, Geodesic, Integrator, LossGeometry, Status, exponential_map};
use riemla::linalg::vector::distance;
use riemla::objective::{LinearizedLoss, NetworkLoss, TwiceDifferentiable};
use riemla::ode::DormandPrince;
use riemla::random::{Purpose, stream};
use riemla_workflow::plot::{Axis, Chart, Series, Size, standalone};

use super::model::Banana;

/// One family of geodesics with converged end points.
pub struct Family {
    pub method: &'static str,
    pub precision: f64,
    pub strength: f64,
    prior: &'static str,
    objective: Box<dyn TwiceDifferentiable + Send>,
    laplace: Arc<Laplace>,
    preconditioned: bool,
    tangents: Vec<Vec<f64>>,
    converged: Vec<Geodesic>,
}

/// Which geodesics: of which loss and metric, from which tangents, against what they are compared.
pub struct Kind<'a> {
    pub linearized: bool,
    pub preconditioned: bool,
    pub strength: f64,
    pub seed: u64,
    pub count: u64,
    pub reference: &'a Integrator,
}

/// Means over the tangents of one family with one integrator.
#[derive(Default)]
pub struct Cost {
    pub milliseconds: f64,
    pub gradients: f64,
    pub values: f64,
    curvatures: f64,
    pub error: f64,
    pub loss_error: f64,
    drift: f64,
    pub unfinished: usize,
}

impl Cost {
    /// In forward passes: a value is 1, a gradient after it 2 more, a right-hand side 7.
    pub fn forward_passes(&self) -> f64 {
        if self.curvatures > 0.0 { 7.0 * self.curvatures } else { self.values + 2.0 * self.gradients }
    }
}

pub fn leapfrog(tolerance: f64) -> Integrator {
    Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(tolerance))
}

pub fn dormand_prince(rtol: f64, atol: f64) -> Integrator {
    Integrator::DormandPrince(DormandPrince { rtol, atol, ..DormandPrince::default() })
}

impl Family {
    /// The geodesics of `laplace`, fitted for `loss`.
    pub fn new(loss: &NetworkLoss, laplace: Arc<Laplace>, prior: &'static str, kind: &Kind) -> Self {
        let loss = laplace.loss(loss).unwrap();
        let objective: Box<dyn TwiceDifferentiable + Send> = if kind.linearized {
            Box::new(LinearizedLoss::new(loss, laplace.gaussian.theta()).unwrap())
        } else {
            Box::new(loss)
        };
        let tangent = |i| laplace.gaussian.draw_tangent(&mut stream(kind.seed, Purpose::Draw, i));
        let mut family = Self {
            method: if kind.linearized { "lin-riem-la" } else { "riem-la" },
            prior,
            precision: laplace.prior.scalar().unwrap_or(f64::NAN),
            strength: kind.strength,
            objective,
            tangents: (0..kind.count).map(tangent).collect(),
            laplace,
            preconditioned: kind.preconditioned,
            converged: Vec::new(),
        };
        family.converged = family.tangents.par_iter().map(|v| family.follow(kind.reference, v)).collect();
        family
    }

    fn follow(&self, integrator: &Integrator, v: &[f64]) -> Geodesic {
        let gaussian = &self.laplace.gaussian;
        let preconditioner = self.preconditioned.then(|| gaussian.precision());
        let geometry = LossGeometry { strength: self.strength, preconditioner };
        exponential_map(&*self.objective, geometry, integrator, gaussian.theta(), v, 0, Control::default())
            .unwrap()
    }

    /// Runs all tangents one after the other on one thread.
    pub fn cost(&self, integrator: &Integrator) -> Cost {
        let n = self.tangents.len() as f64;
        let start = self.laplace.gaussian.theta();
        let mut cost = Cost::default();
        for (v, reference) in self.tangents.iter().zip(&self.converged) {
            let mut fastest = f64::INFINITY;
            let mut last = None;
            for _ in 0..2 {
                let clock = Instant::now();
                last = Some(self.follow(integrator, v));
                fastest = fastest.min(clock.elapsed().as_secs_f64());
                // Long runs are hardly disturbed.
                if fastest > 0.2 {
                    break;
                }
            }
            let Some(geodesic) = last else { continue };
            cost.milliseconds += 1e3 * fastest / n;
            cost.gradients += geodesic.counters.gradients as f64 / n;
            cost.values += geodesic.counters.values as f64 / n;
            cost.curvatures += geodesic.counters.curvatures as f64 / n;
            cost.error += distance(&geodesic.end, &reference.end) / distance(&reference.end, start) / n;
            let loss = reference.diagnostics.loss_end;
            cost.loss_error += (geodesic.diagnostics.loss_end - loss).abs() / loss / n;
            cost.drift = cost.drift.max(geodesic.diagnostics.speed_drift);
            cost.unfinished += usize::from(geodesic.status != Status::Reached);
        }
        cost
    }
}

/// The four families of the paper: `riem-la` and `lin-riem-la`, prior optimised and fixed.
pub fn families(banana: &Banana, strength: f64, count: u64) -> Vec<Family> {
    let reference = &dormand_prince(1e-10, 1e-12);
    [(false, true), (false, false), (true, true), (true, false)]
        .map(|(linearized, optimized)| {
            let prior = if optimized { "optimised" } else { "fixed" };
            let kind = Kind { linearized, preconditioned: false, strength, seed: 0, count, reference };
            Family::new(&banana.loss, banana.laplace(optimized), prior, &kind)
        })
        .into()
}

/// Cost per sample with the default settings and with the paper's.
pub fn samples_section(paper: &[Family], weaker: &[Family]) -> String {
    let mut page = String::from(
        "## One posterior sample in the paper's metric: banana\n\nMeans over the tangents of the first draws; end-point error relative to the distance from θ*, against\nDormand-Prince at rtol 1e-10.\n\n",
    );
    page += "| method | strength | prior precision | integrator | gradients | values | vᵀHv | ms | end-point error | end-loss error | worst speed drift |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
    let integrators = [
        ("constrained leapfrog, default", Integrator::default()),
        ("Dormand-Prince, paper's code (1e-6, 1e-3)", dormand_prince(1e-6, 1e-3)),
        ("Dormand-Prince, paper's text (1e-3, 1e-6)", dormand_prince(1e-3, 1e-6)),
        ("Dormand-Prince, converged (1e-6, 1e-9)", dormand_prince(1e-6, 1e-9)),
    ];
    for family in paper.iter().chain(weaker) {
        // The other integrators are about the paper's metric, which has strength 1.
        let shown = if family.strength == 1.0 { &integrators[..] } else { &integrators[..1] };
        for (name, integrator) in shown {
            let c = family.cost(integrator);
            let _ = writeln!(
                page,
                "| {} | {} | {:.3} ({}) | {name} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1e} | {:.1e} | {:.1e} |",
                family.method,
                family.strength,
                family.precision,
                family.prior,
                c.gradients,
                c.values,
                c.curvatures,
                c.milliseconds,
                c.error,
                c.loss_error,
                c.drift
            );
        }
    }
    page + "\n"
}

/// Error against cost for both integrators and several tolerances, as table and plot.
pub fn work_precision_section(families: &[Family]) -> (String, String) {
    let mut page = String::from(
        "## Work and precision\n\n![error against cost](images/work-precision.svg)\n\nCost in forward passes (a value 1, a gradient after it 2, a right-hand side of Dormand-Prince 7).\n\n| method | prior | integrator | tolerance | forward passes | ms | end-point error | end-loss error |\n|---|---|---|---|---|---|---|---|\n",
    );
    let axes = (Axis::log("milliseconds per sample"), Axis::log("error of the end point"));
    let mut chart = Chart::new("Relative end-point error against cost, banana, strength 1", axes.0, axes.1);
    for family in families {
        let label = format!("{}, {}", family.method, family.prior);
        let leapfrogs = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8].map(|t| (format!("{t:.0e}"), leapfrog(t)));
        let solvers = [(1e-3, 1e-6), (1e-6, 1e-3), (1e-6, 1e-6), (1e-7, 1e-7), (1e-8, 1e-8)]
            .map(|(r, a)| (format!("{r:.0e}, {a:.0e}"), dormand_prince(r, a)));
        for (name, runs) in [("constrained leapfrog", leapfrogs), ("Dormand-Prince", solvers)] {
            let mut points = Vec::new();
            for (tolerance, integrator) in runs {
                let c = family.cost(&integrator);
                let _ = writeln!(
                    page,
                    "| {} | {} | {name} | {tolerance} | {:.0} | {:.1} | {:.1e} | {:.1e} |",
                    family.method,
                    family.prior,
                    c.forward_passes(),
                    c.milliseconds,
                    c.error,
                    c.loss_error
                );
                points.push((c.milliseconds, c.error));
            }
            chart = chart.series(Series::line_points(format!("{label}: {name}"), points));
        }
    }
    (page + "\n", standalone(&chart.size(Size::new(720.0, 560.0)).to_svg()))
}
