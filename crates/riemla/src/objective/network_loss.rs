//! The loss of a network on data: scaled negative log-likelihood plus the prior's term.

use std::sync::Arc;

use super::blocks::{self, Block};
use super::likelihood::{Likelihood, OutputLoss};
use super::pool::Pool;
use super::{Objective, Prior, Probe, TwiceDifferentiable};
use crate::data::Dataset;
use crate::linalg::vector::{dot, scale};
use crate::nn::{Adjoint, Adjoints, Along, Network, Trace};
use crate::{Error, Result};

/// L(θ) = s·Σₙ −log p(yₙ | f(xₙ; θ)) + ½ Σ δ θ², without the likelihood's constants.
///
/// The sum runs over all data (s = 1), over a batch of B of N samples (s = N/B), or over rows with weights.
pub struct NetworkLoss {
    network: Arc<Network>,
    likelihood: Likelihood,
    rule: Box<dyn OutputLoss>,
    prior: Prior,
    data: Arc<Dataset>,
    blocks: Arc<[Block]>,
    scale: f64,
    pool: Pool<Workspace>,
}

/// Buffers of one evaluation, and what a gradient can reuse of the last value.
pub(super) struct Workspace {
    /// One trace per block, or a single one if all together would be too large.
    values: Vec<Trace>,
    residuals: Vec<Vec<f64>>,
    tangents: Option<Trace>,
    seconds: Option<Trace>,
    adjoint: Adjoint,
    d_adjoint: Option<Adjoint>,
    output: Vec<f64>,
    scratch: Vec<f64>,
}

/// Numbers that the kept traces may take in all (256 MB); beyond, gradients run forward again.
const KEPT_NUMBERS: usize = 32 * 1024 * 1024;

impl NetworkLoss {
    /// The loss on all of `data`.
    pub fn new(
        network: Arc<Network>,
        data: impl Into<Arc<Dataset>>,
        likelihood: Likelihood,
        prior: Prior,
    ) -> Result<Self> {
        let data = data.into();
        blocks::check(&network, &data, &likelihood)?;
        crate::error::check_len("prior's number of weights", network.dim(), prior.dim())?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let blocks = blocks::pack_blocks(&network, &data, &rows).into();
        let rule = likelihood.rule();
        Ok(Self { network, likelihood, rule, prior, data, blocks, scale: 1.0, pool: Pool::default() })
    }

    /// The loss on the given rows, its likelihood scaled by N/B.
    pub fn on_rows(&self, rows: &[usize]) -> Result<Self> {
        let scale = self.data.len() as f64 / rows.len() as f64;
        self.on_weighted_rows(rows, &vec![scale; rows.len()])
    }

    /// The loss on the given rows, each counted with a weight (times its own, where the data have weights).
    pub fn on_weighted_rows(&self, rows: &[usize], weights: &[f64]) -> Result<Self> {
        let data = &self.data;
        if rows.is_empty() || rows.iter().any(|&row| row >= data.len()) {
            return Err(Error::range(
                "batch rows",
                format!("{} rows", rows.len()),
                format!("between 1 and {} rows, each below that", data.len()),
            ));
        }
        crate::error::check_len("weights of the batch's rows", rows.len(), weights.len())?;
        weights.iter().try_for_each(|w| crate::error::check_positive("weight of a batch's row", *w))?;
        let mut blocks = blocks::pack_blocks(&self.network, data, rows);
        // One factor for all is applied once, to the sum.
        let equal = weights.iter().all(|weight| *weight == weights[0]);
        if !equal {
            blocks::multiply_weights(&mut blocks, weights);
        }
        Ok(Self {
            network: self.network.clone(),
            likelihood: self.likelihood,
            rule: self.likelihood.rule(),
            prior: self.prior.clone(),
            data: data.clone(),
            blocks: blocks.into(),
            scale: if equal { weights[0] } else { 1.0 },
            pool: Pool::default(),
        })
    }

    /// The same data and network under another likelihood (noise) and prior.
    pub fn with(&self, likelihood: Likelihood, prior: Prior) -> Result<Self> {
        likelihood.check_outputs(self.network.outputs())?;
        if std::mem::discriminant(&likelihood) != std::mem::discriminant(&self.likelihood) {
            return Err(Error::Unsupported(
                "the kind of likelihood is fixed once the data are packed".into(),
            ));
        }
        crate::error::check_len("prior's number of weights", self.network.dim(), prior.dim())?;
        Ok(Self {
            network: self.network.clone(),
            likelihood,
            rule: likelihood.rule(),
            prior,
            data: self.data.clone(),
            blocks: self.blocks.clone(),
            scale: self.scale,
            pool: Pool::default(),
        })
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// All the data it was made with, also where it sums over a batch of them.
    pub fn data(&self) -> &Arc<Dataset> {
        &self.data
    }

    /// The likelihood.
    pub fn likelihood(&self) -> Likelihood {
        self.likelihood
    }

    /// Its functions of the outputs.
    pub(crate) fn rule(&self) -> &dyn OutputLoss {
        &*self.rule
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The packed data.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Factor on the likelihood: N/B for a batch, 1 for all data and where the rows of a batch have weights.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of samples the sum runs over.
    pub fn samples(&self) -> usize {
        self.blocks.iter().map(|block| block.n).sum()
    }

    /// Sum of the weights of these samples; their number if each counts once.
    pub fn total_weight(&self) -> f64 {
        let of_block = |block: &Block| match block.weights.is_empty() {
            true => block.n as f64,
            false => block.weights.iter().sum(),
        };
        self.blocks.iter().map(of_block).sum()
    }

    /// log p(y | θ) with all constants, scaled like the loss.
    pub fn log_likelihood(&self, theta: &[f64]) -> f64 {
        let constant: f64 = self.blocks.iter().map(|block| block.constant(&*self.rule)).sum();
        self.prior.value(theta) - self.value(theta) - self.scale * constant
    }

    pub(super) fn workspace(&self) -> Workspace {
        let (network, blocks) = (&self.network, &self.blocks);
        let largest = blocks.iter().map(|block| block.n).max().unwrap_or(0);
        let keep = self.samples() * network.trace_len() <= KEPT_NUMBERS;
        let kept = if keep { &blocks[..] } else { &blocks[..1] };
        let outputs = network.outputs();
        Workspace {
            values: kept.iter().map(|block| Trace::new(network, block.n)).collect(),
            residuals: kept.iter().map(|block| vec![0.0; outputs * block.n]).collect(),
            tangents: None,
            seconds: None,
            adjoint: Adjoint::new(network, largest),
            d_adjoint: None,
            output: vec![0.0; outputs * largest],
            scratch: vec![0.0; (outputs + 1) * largest],
        }
    }

    fn with_workspace<R>(&self, f: impl FnOnce(&mut Workspace) -> R) -> R {
        self.pool.with(|| self.workspace(), f)
    }

    /// Runs block `b` forward: values, residuals and the loss of that block.
    fn forward_block(&self, b: usize, theta: &[f64], w: &mut Workspace) -> f64 {
        let block = &self.blocks[b];
        let slot = w.slot(b, block.n);
        let values = &mut w.values[slot];
        self.network.forward(theta, &block.x, values);
        block.loss(&*self.rule, values.output(), &mut w.residuals[slot], &mut w.scratch)
    }

    fn value_in(&self, theta: &[f64], w: &mut Workspace) -> f64 {
        let nll: f64 = (0..self.blocks.len()).map(|b| self.forward_block(b, theta, w)).sum();
        self.scale * nll + self.prior.value(theta)
    }

    /// The gradient at the point of the last [`Self::value_in`].
    fn gradient_in(&self, theta: &[f64], w: &mut Workspace, gradient: &mut [f64]) {
        gradient.fill(0.0);
        for b in 0..self.blocks.len() {
            if !w.keeps(self.blocks.len()) {
                self.forward_block(b, theta, w);
            }
            self.backward_block(b, theta, w, gradient);
        }
        self.finish_gradient(theta, gradient);
    }

    fn backward_block(&self, b: usize, theta: &[f64], w: &mut Workspace, gradient: &mut [f64]) {
        let block = &self.blocks[b];
        let slot = w.slot(b, block.n);
        w.adjoint.seed(&self.network, block.n).copy_from_slice(&w.residuals[slot]);
        self.network.backward(theta, &block.x, &w.values[slot], &mut w.adjoint, gradient);
    }

    fn finish_gradient(&self, theta: &[f64], gradient: &mut [f64]) {
        if self.scale != 1.0 {
            scale(self.scale, gradient);
        }
        self.prior.add_product(theta, gradient);
    }

    /// Taylor pass over block `b` after its forward pass: vᵀHv of its loss.
    fn curvature_block(&self, b: usize, theta: &[f64], v: &[f64], w: &mut Workspace) -> f64 {
        let block = &self.blocks[b];
        let slot = w.slot(b, block.n);
        let values = &w.values[slot];
        let tangents = w.tangents.get_or_insert_with(|| Trace::new(&self.network, block.n));
        let seconds = w.seconds.get_or_insert_with(|| Trace::new(&self.network, block.n));
        tangents.resize(block.n);
        seconds.resize(block.n);
        self.network.tangent(theta, v, &block.x, values, tangents);
        self.network.second(theta, v, &block.x, values, tangents, seconds);
        let product = &mut w.output[..tangents.output().len()];
        block.hessian_product(&*self.rule, values.output(), tangents.output(), product, &mut w.scratch);
        2.0 * dot(&w.residuals[slot], seconds.output()) + dot(tangents.output(), product)
    }

    /// Adds the Hessian-vector product of block `b` after its forward pass.
    fn hvp_block(&self, b: usize, theta: &[f64], v: &[f64], w: &mut Workspace, out: &mut [f64]) {
        let block = &self.blocks[b];
        let slot = w.slot(b, block.n);
        let values = &w.values[slot];
        let tangents = w.tangents.get_or_insert_with(|| Trace::new(&self.network, block.n));
        tangents.resize(block.n);
        self.network.tangent(theta, v, &block.x, values, tangents);
        let adjoint = &mut w.adjoint;
        let largest = w.output.len() / self.network.outputs();
        let d_adjoint = w.d_adjoint.get_or_insert_with(|| Adjoint::new(&self.network, largest));
        adjoint.seed(&self.network, block.n).copy_from_slice(&w.residuals[slot]);
        let d_seed = d_adjoint.seed(&self.network, block.n);
        block.hessian_product(&*self.rule, values.output(), tangents.output(), d_seed, &mut w.scratch);
        let along = Along { direction: v, values, tangents };
        let adjoints = Adjoints { adjoint, derivative: d_adjoint };
        self.network.backward_tangent(theta, &block.x, along, adjoints, out);
    }
}

impl Workspace {
    fn keeps(&self, blocks: usize) -> bool {
        self.values.len() == blocks
    }

    /// Index of the trace for block `b`, sized for it.
    fn slot(&mut self, b: usize, n: usize) -> usize {
        if b < self.values.len() && self.values[b].n() == n {
            return b;
        }
        let outputs = self.residuals[0].len() / self.values[0].n().max(1);
        self.values[0].resize(n);
        self.residuals[0].resize(outputs * n, 0.0);
        0
    }
}

impl Objective for NetworkLoss {
    fn dim(&self) -> usize {
        self.network.dim()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.with_workspace(|w| self.value_in(theta, w))
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.with_workspace(|w| {
            gradient.fill(0.0);
            let mut nll = 0.0;
            for b in 0..self.blocks.len() {
                nll += self.forward_block(b, theta, w);
                self.backward_block(b, theta, w, gradient);
            }
            self.finish_gradient(theta, gradient);
            self.scale * nll + self.prior.value(theta)
        })
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        let dim = self.dim();
        Box::new(NetworkProbe {
            loss: self,
            workspace: self.workspace(),
            base: vec![0.0; dim],
            direction: vec![0.0; dim],
            point: vec![0.0; dim],
        })
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for NetworkLoss {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        self.with_workspace(|w| {
            let mut total = 0.0;
            for b in 0..self.blocks.len() {
                self.forward_block(b, theta, w);
                total += self.curvature_block(b, theta, v, w);
            }
            self.scale * total + self.prior.quadratic(v)
        })
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        self.with_workspace(|w| {
            out.fill(0.0);
            for b in 0..self.blocks.len() {
                self.forward_block(b, theta, w);
                self.hvp_block(b, theta, v, w, out);
            }
            self.finish_gradient(v, out);
        });
    }

    fn gradient_and_curvature(&self, theta: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        self.with_workspace(|w| {
            gradient.fill(0.0);
            let (mut nll, mut total) = (0.0, 0.0);
            for b in 0..self.blocks.len() {
                nll += self.forward_block(b, theta, w);
                total += self.curvature_block(b, theta, v, w);
                self.backward_block(b, theta, w, gradient);
            }
            self.finish_gradient(theta, gradient);
            let inside = nll.is_finite() && self.prior.value(theta).is_finite();
            if inside { self.scale * total + self.prior.quadratic(v) } else { f64::NAN }
        })
    }
}

/// A gradient after a value at the same point costs only the reverse pass.
struct NetworkProbe<'a> {
    loss: &'a NetworkLoss,
    workspace: Workspace,
    base: Vec<f64>,
    direction: Vec<f64>,
    point: Vec<f64>,
}

impl Probe for NetworkProbe<'_> {
    fn value(&mut self, theta: &[f64]) -> f64 {
        self.point.copy_from_slice(theta);
        self.loss.value_in(theta, &mut self.workspace)
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        self.base.copy_from_slice(base);
        self.direction.copy_from_slice(direction);
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        super::probe::point_on_line(&self.base, &self.direction, t, &mut self.point);
        self.loss.value_in(&self.point, &mut self.workspace)
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        self.loss.gradient_in(&self.point, &mut self.workspace, gradient);
    }
}
