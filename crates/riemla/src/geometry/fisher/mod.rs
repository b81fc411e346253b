//! The Fisher metric G = s·Σₙ JₙᵀΛₙJₙ + δ of a network: the curvature of the Laplace approximation,
//! at every point.
//!
//! Λ is the Fisher information of the outputs, which does not depend on the targets, and G is the pull-back of it by
//! the network plus the flat prior. Such geodesics need no derivative of G: with ḟ = Jċ and f̈ = J̇ċ along a straight
//! line, and the Christoffel symbols Γ of Λ (½ ∂Λ[ḟ]ḟ where Λ is a Hessian),
//!
//! G c̈ = −s·Σₙ Jₙᵀ{Λ f̈ + Γ(ḟ, ḟ)}.
//!
//! Exact for Gaussian posteriors: a linear network with Gaussian noise gives straight lines.

mod solve;

pub use solve::FisherSolve;

use super::Metric;
use crate::curvature::{Precision, SubsetRanges};
use crate::linalg::vector::{dot, scale};
use crate::nn::{Adjoint, Trace};
use crate::objective::{NetworkLoss, Objective as _};
use crate::{Error, Result};

/// The Fisher metric on the uncertain weights, the others held fixed.
pub struct FisherMetric<'a> {
    loss: &'a NetworkLoss,
    subset: &'a SubsetRanges,
    /// All weights; those of the subset are replaced.
    fixed: &'a [f64],
    linearized: bool,
    solve: FisherSolve,
    /// Prior precision of the uncertain weights.
    prior: Vec<f64>,
    /// Close to G: the preconditioner that all solves share.
    shared: Option<&'a dyn Precision>,
}

/// The network at one point: activations, and outputs (which differ where it is linearised).
struct Point {
    /// Where the Jacobian is taken.
    at: Vec<f64>,
    values: Vec<Trace>,
    outputs: Vec<Vec<f64>>,
}

impl<'a> FisherMetric<'a> {
    /// The metric of the loss's network, likelihood, data and prior. `fixed` are all weights, of
    /// which `subset` moves.
    pub fn new(loss: &'a NetworkLoss, fixed: &'a [f64], subset: &'a SubsetRanges) -> Result<Self> {
        crate::error::check_len("weights", loss.dim(), fixed.len())?;
        if subset.as_slice().last().is_none_or(|range| range.end > fixed.len()) {
            return Err(Error::range("subset of weights", subset.len(), format!("within {}", fixed.len())));
        }
        let prior = subset.gather(&loss.prior().diagonal());
        let columns = loss.rule().factor_columns(loss.network().outputs());
        let solve = FisherSolve::choose(subset.len(), loss.samples() * columns, &prior);
        Ok(Self { loss, subset, fixed, linearized: false, solve, prior, shared: None })
    }

    /// That of the network linearised at the fixed weights.
    pub fn linearized(mut self) -> Self {
        self.linearized = true;
        self
    }

    /// With a precision that is close to G, as that of a Laplace approximation is around its centre. From some
    /// number of weights on, systems are solved by a few conjugate gradients preconditioned with it, without a matrix
    /// of their own.
    pub fn sharing(mut self, precision: &'a dyn Precision) -> Result<Self> {
        crate::error::check_len("precision of the uncertain weights", self.subset.len(), precision.dim())?;
        self.shared = Some(precision);
        if self.subset.len() >= solve::SHARED_FROM {
            self.solve = FisherSolve::Shared;
        }
        Ok(self)
    }

    /// With another way to solve G x = b than the one chosen by size.
    pub fn with_solve(mut self, solve: FisherSolve) -> Result<Self> {
        if solve == FisherSolve::Dual && self.prior.iter().any(|p| *p <= 0.0) {
            return Err(Error::range("prior_precision", 0, "above 0 for the dual solve"));
        }
        if solve == FisherSolve::Shared && self.shared.is_none() {
            return Err(Error::Unsupported("a shared solve needs a precision: call sharing first".into()));
        }
        self.solve = solve;
        Ok(self)
    }

    /// How G x = b is solved.
    pub fn solve(&self) -> FisherSolve {
        self.solve
    }

    /// All weights for uncertain ones `s`.
    fn embed(&self, s: &[f64]) -> Vec<f64> {
        let mut full = self.fixed.to_vec();
        self.subset.indices().zip(s).for_each(|(k, v)| full[k] = *v);
        full
    }

    fn direction(&self, v: &[f64]) -> Vec<f64> {
        self.subset.scatter(v, self.fixed.len())
    }

    fn point(&self, theta: &[f64]) -> Point {
        let full = self.embed(theta);
        let network = self.loss.network();
        let at = if self.linearized { self.fixed.to_vec() } else { full.clone() };
        let values: Vec<Trace> = self
            .loss
            .blocks()
            .iter()
            .map(|block| {
                let mut values = Trace::new(network, block.n);
                network.forward(&at, &block.x, &mut values);
                values
            })
            .collect();
        let mut outputs: Vec<Vec<f64>> = values.iter().map(|v| v.output().to_vec()).collect();
        let mut point = Point { at, values, outputs: Vec::new() };
        if self.linearized {
            let displacement: Vec<f64> = full.iter().zip(self.fixed).map(|(t, c)| t - c).collect();
            for (b, output) in outputs.iter_mut().enumerate() {
                let moved = self.tangent(&point, b, &displacement);
                crate::linalg::vector::axpy(1.0, moved.output(), output);
            }
        }
        point.outputs = outputs;
        point
    }

    /// Jv on block `b`, v a direction of all weights.
    fn tangent(&self, point: &Point, b: usize, v: &[f64]) -> Trace {
        let (network, block) = (self.loss.network(), &self.loss.blocks()[b]);
        let mut tangents = Trace::new(network, block.n);
        network.tangent(&point.at, v, &block.x, &point.values[b], &mut tangents);
        tangents
    }

    /// ΛJv on block `b`.
    fn curved(&self, point: &Point, b: usize, tangent: &[f64]) -> Vec<f64> {
        let block = &self.loss.blocks()[b];
        let mut product = vec![0.0; tangent.len()];
        let mut scratch = self.scratch(block.n);
        block.fisher_product(self.loss.rule(), &point.outputs[b], tangent, &mut product, &mut scratch);
        product
    }

    fn scratch(&self, n: usize) -> Vec<f64> {
        vec![0.0; (self.loss.network().outputs() + 1) * n]
    }

    /// Adds Jᵀu of block `b` to a vector of all weights.
    fn pull_back(&self, point: &Point, b: usize, u: &[f64], sum: &mut [f64]) {
        let (network, block) = (self.loss.network(), &self.loss.blocks()[b]);
        let mut adjoint = Adjoint::new(network, block.n);
        adjoint.seed(network, block.n).copy_from_slice(u);
        network.backward(&point.at, &block.x, &point.values[b], &mut adjoint, sum);
    }

    /// Λ f̈ + Γ(ḟ, ḟ) on block `b`.
    fn force(&self, point: &Point, b: usize, v: &[f64]) -> Vec<f64> {
        let (network, block) = (self.loss.network(), &self.loss.blocks()[b]);
        let tangents = self.tangent(point, b, v);
        let mut force = vec![0.0; tangents.output().len()];
        let mut scratch = self.scratch(block.n);
        let rule = self.loss.rule();
        block.christoffel(rule, &point.outputs[b], tangents.output(), &mut force, &mut scratch);
        if !self.linearized {
            let mut seconds = Trace::new(network, block.n);
            network.second(&point.at, v, &block.x, &point.values[b], &tangents, &mut seconds);
            // The Taylor coefficient is half of f̈.
            let curved = self.curved(point, b, seconds.output());
            crate::linalg::vector::axpy(2.0, &curved, &mut force);
        }
        force
    }

    /// G·v for a direction of the uncertain weights.
    fn product(&self, point: &Point, v: &[f64]) -> Vec<f64> {
        let full = self.direction(v);
        let mut sum = vec![0.0; full.len()];
        for b in 0..self.loss.blocks().len() {
            let tangents = self.tangent(point, b, &full);
            self.pull_back(point, b, &self.curved(point, b, tangents.output()), &mut sum);
        }
        let mut product = self.subset.gather(&sum);
        for ((p, v), prior) in product.iter_mut().zip(v).zip(&self.prior) {
            *p = self.loss.scale() * *p + prior * v;
        }
        product
    }
}

impl Metric for FisherMetric<'_> {
    fn dim(&self) -> usize {
        self.subset.len()
    }

    fn inner(&self, theta: &[f64], v: &[f64], w: &[f64]) -> f64 {
        dot(w, &self.product(&self.point(theta), v))
    }

    fn acceleration(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let point = self.point(theta);
        if point.outputs.iter().flatten().any(|f| !f.is_finite()) {
            out.fill(f64::NAN);
            return;
        }
        let full = self.direction(v);
        let mut sum = vec![0.0; full.len()];
        for b in 0..self.loss.blocks().len() {
            self.pull_back(&point, b, &self.force(&point, b, &full), &mut sum);
        }
        out.copy_from_slice(&self.subset.gather(&sum));
        scale(-self.loss.scale(), out);
        if !self.solve_in_place(&point, out) {
            out.fill(f64::NAN);
        }
    }

    fn loss(&self, theta: &[f64]) -> f64 {
        if !self.linearized {
            return self.loss.value(&self.embed(theta));
        }
        let point = self.point(theta);
        let mut nll = 0.0;
        for (block, outputs) in self.loss.blocks().iter().zip(&point.outputs) {
            let (mut residual, mut scratch) = (outputs.clone(), self.scratch(block.n));
            nll += block.loss(self.loss.rule(), outputs, &mut residual, &mut scratch);
        }
        self.loss.scale() * nll + self.loss.prior().value(&self.embed(theta))
    }
}
