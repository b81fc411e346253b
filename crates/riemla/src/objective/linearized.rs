//! The loss of the linearised network f(x; θ*) + J(x)(θ − θ*), J the Jacobian at θ*.
//!
//! J is never formed: the activations at θ* are kept, so that Jv costs two matrix products per
//! layer and no activation function (docs/decisions/0003-linearised-loss.md).

use std::sync::Mutex;

use super::blocks::Block;
use super::chunks::Chunks;
use super::linearized_probe::LinearizedProbe;
use super::network_loss::NetworkLoss;
use super::pool::{Pool, lock};
use super::{Objective, Probe, TwiceDifferentiable};
use crate::linalg::vector::{dot, scale};
use crate::nn::{Adjoint, Trace};
use crate::{Error, Result};

/// L_lin(θ): the likelihood of the linearised outputs plus the prior's term at θ.
pub struct LinearizedLoss {
    loss: NetworkLoss,
    center: Vec<f64>,
    /// Activations at the centre, one trace per block.
    values: Vec<Trace>,
    chunks: Chunks,
    pool: Pool<Workspace>,
    passes: Pool<Pass>,
}

/// What one evaluation keeps: θ − θ*, and outputs and residuals of all blocks.
pub(super) struct Workspace {
    pub(super) displacement: Vec<f64>,
    pub(super) blocks: Vec<Mutex<Outputs>>,
}

/// Linearised outputs of a block, and ∂loss/∂f there.
pub(super) struct Outputs {
    pub(super) f: Vec<f64>,
    residual: Vec<f64>,
}

/// Buffers for the passes over one block after another, of one thread.
pub(super) struct Pass {
    pub(super) tangents: Trace,
    adjoint: Adjoint,
    product: Vec<f64>,
    scratch: Vec<f64>,
}

impl LinearizedLoss {
    /// Linearises the network of `loss` at `center`.
    pub fn new(loss: NetworkLoss, center: &[f64]) -> Result<Self> {
        crate::error::check_len("centre of the linearisation", loss.dim(), center.len())?;
        crate::error::check_finite("centre of the linearisation", center)?;
        let network = loss.network();
        let values: Vec<Trace> = loss
            .blocks()
            .iter()
            .map(|block| {
                let mut values = Trace::of_values(network, block.n);
                network.forward(center, &block.x, &mut values);
                values
            })
            .collect();
        if values.iter().any(|v| v.output().iter().any(|f| !f.is_finite())) {
            return Err(Error::Unsupported("the network's outputs at the centre are not finite".into()));
        }
        let work = loss.samples().saturating_mul(network.work());
        let chunks = Chunks::new(values.len(), work, center.len());
        let (pool, passes) = (Pool::default(), Pool::default());
        Ok(Self { loss, center: center.to_vec(), values, chunks, pool, passes })
    }

    /// The loss whose network was linearised.
    pub fn exact(&self) -> &NetworkLoss {
        &self.loss
    }

    pub(super) fn workspace(&self) -> Workspace {
        let block = |values: &Trace| {
            let zeros = vec![0.0; values.output().len()];
            Mutex::new(Outputs { f: zeros.clone(), residual: zeros })
        };
        Workspace {
            displacement: vec![0.0; self.center.len()],
            blocks: self.values.iter().map(block).collect(),
        }
    }

    fn with_workspace<R>(&self, f: impl FnOnce(&mut Workspace) -> R) -> R {
        self.pool.with(|| self.workspace(), f)
    }

    fn pass(&self) -> Pass {
        let network = self.loss.network();
        let largest = self.loss.blocks().iter().map(|block| block.n).max().unwrap_or(0);
        Pass {
            tangents: Trace::new(network, largest),
            adjoint: Adjoint::new(network, largest),
            product: vec![0.0; network.outputs() * largest],
            scratch: vec![0.0; (network.outputs() + 1) * largest],
        }
    }

    /// Sums `term` over all blocks: it adds to a vector, which is `out` in the end, and returns numbers to add.
    pub(super) fn sum_blocks<const S: usize>(
        &self,
        out: &mut [f64],
        term: impl Fn(usize, &mut Pass, &mut [f64]) -> [f64; S] + Sync,
    ) -> [f64; S] {
        self.chunks.sum(out, &|blocks, out| {
            self.passes.with(
                || self.pass(),
                |pass| {
                    let mut sums = [0.0; S];
                    for b in blocks {
                        let more = term(b, pass, out);
                        sums.iter_mut().zip(more).for_each(|(s, m)| *s += m);
                    }
                    sums
                },
            )
        })
    }

    fn block(&self, b: usize) -> &Block {
        &self.loss.blocks()[b]
    }

    /// Runs Jv over block `b`; the result is the output of the tangents.
    pub(super) fn jvp_block(&self, b: usize, v: &[f64], tangents: &mut Trace) {
        let block = self.block(b);
        tangents.resize(block.n);
        self.loss.network().tangent(&self.center, v, &block.x, &self.values[b], tangents);
    }

    /// The linearised outputs of block `b`, that far from the centre.
    pub(super) fn outputs_of_block(
        &self,
        b: usize,
        displacement: &[f64],
        pass: &mut Pass,
        outputs: &mut [f64],
    ) {
        self.jvp_block(b, displacement, &mut pass.tangents);
        let start = self.values[b].output();
        for ((f, s), d) in outputs.iter_mut().zip(start).zip(pass.tangents.output()) {
            *f = s + d;
        }
    }

    /// Loss and residuals of block `b` from its outputs.
    fn loss_of_block(&self, b: usize, pass: &mut Pass, outputs: &mut Outputs) -> f64 {
        let Outputs { f, residual } = outputs;
        self.block(b).loss(self.loss.rule(), f, residual, &mut pass.scratch)
    }

    /// Adds Jᵀu of block `b`.
    fn vjp_block(&self, b: usize, u: &[f64], adjoint: &mut Adjoint, gradient: &mut [f64]) {
        let (network, block) = (self.loss.network(), self.block(b));
        adjoint.seed(network, block.n).copy_from_slice(u);
        network.backward(&self.center, &block.x, &self.values[b], adjoint, gradient);
    }

    /// Runs Jv over block `b`, writes ΛJv at its outputs to the pass's product, and returns its length.
    fn curved_product(&self, b: usize, v: &[f64], pass: &mut Pass, outputs: &Outputs) -> usize {
        self.jvp_block(b, v, &mut pass.tangents);
        let tangent = pass.tangents.output();
        let product = &mut pass.product[..tangent.len()];
        self.block(b).hessian_product(self.loss.rule(), &outputs.f, tangent, product, &mut pass.scratch);
        tangent.len()
    }

    pub(super) fn displace(&self, theta: &[f64], w: &mut Workspace) {
        for ((d, t), c) in w.displacement.iter_mut().zip(theta).zip(&self.center) {
            *d = t - c;
        }
    }

    /// The value at `theta`; outputs and residuals stay in the workspace.
    pub(super) fn value_in(&self, theta: &[f64], w: &mut Workspace) -> f64 {
        self.displace(theta, w);
        let [nll] = self.sum_blocks(&mut [], |b, pass, _| {
            let outputs = &mut lock(&w.blocks[b]);
            self.outputs_of_block(b, &w.displacement, pass, &mut outputs.f);
            [self.loss_of_block(b, pass, outputs)]
        });
        self.finish_value(theta, nll)
    }

    /// Value and gradient, block by block while a block's activations are in the cache.
    pub(super) fn value_and_gradient_in(
        &self,
        theta: &[f64],
        w: &mut Workspace,
        gradient: &mut [f64],
    ) -> f64 {
        self.displace(theta, w);
        let [nll] = self.sum_blocks(gradient, |b, pass, gradient| {
            let outputs = &mut lock(&w.blocks[b]);
            self.outputs_of_block(b, &w.displacement, pass, &mut outputs.f);
            let nll = self.loss_of_block(b, pass, outputs);
            self.vjp_block(b, &outputs.residual, &mut pass.adjoint, gradient);
            [nll]
        });
        self.finish_gradient(theta, gradient);
        self.finish_value(theta, nll)
    }

    /// The value from the outputs in the workspace.
    pub(super) fn value_of_outputs(&self, theta: &[f64], w: &Workspace) -> f64 {
        let [nll] =
            self.sum_blocks(&mut [], |b, pass, _| [self.loss_of_block(b, pass, &mut lock(&w.blocks[b]))]);
        self.finish_value(theta, nll)
    }

    /// The gradient from the residuals in the workspace.
    pub(super) fn gradient_in(&self, theta: &[f64], w: &Workspace, gradient: &mut [f64]) {
        self.sum_blocks(gradient, |b, pass, gradient| {
            self.vjp_block(b, &lock(&w.blocks[b]).residual, &mut pass.adjoint, gradient);
            []
        });
        self.finish_gradient(theta, gradient);
    }

    fn finish_value(&self, theta: &[f64], nll: f64) -> f64 {
        self.loss.scale() * nll + self.loss.prior().value(theta)
    }

    fn finish_gradient(&self, theta: &[f64], gradient: &mut [f64]) {
        if self.loss.scale() != 1.0 {
            scale(self.loss.scale(), gradient);
        }
        self.loss.prior().add_product(theta, gradient);
    }
}

impl Objective for LinearizedLoss {
    fn dim(&self) -> usize {
        self.center.len()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.with_workspace(|w| self.value_in(theta, w))
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.with_workspace(|w| self.value_and_gradient_in(theta, w, gradient))
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        Box::new(LinearizedProbe::new(self))
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for LinearizedLoss {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        let [total] = self.with_workspace(|w| {
            self.displace(theta, w);
            self.sum_blocks(&mut [], |b, pass, _| {
                let outputs = &mut lock(&w.blocks[b]);
                self.outputs_of_block(b, &w.displacement, pass, &mut outputs.f);
                let len = self.curved_product(b, v, pass, outputs);
                [dot(pass.tangents.output(), &pass.product[..len])]
            })
        });
        self.loss.scale() * total + self.loss.prior().quadratic(v)
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        self.with_workspace(|w| {
            self.displace(theta, w);
            self.sum_blocks(out, |b, pass, out| {
                let outputs = &mut lock(&w.blocks[b]);
                self.outputs_of_block(b, &w.displacement, pass, &mut outputs.f);
                let len = self.curved_product(b, v, pass, outputs);
                self.vjp_block(b, &pass.product[..len], &mut pass.adjoint, out);
                []
            })
        });
        self.finish_gradient(v, out);
    }

    fn gradient_and_curvature(&self, theta: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        let [nll, total] = self.with_workspace(|w| {
            self.displace(theta, w);
            self.sum_blocks(gradient, |b, pass, gradient| {
                let outputs = &mut lock(&w.blocks[b]);
                self.outputs_of_block(b, &w.displacement, pass, &mut outputs.f);
                let nll = self.loss_of_block(b, pass, outputs);
                self.vjp_block(b, &outputs.residual, &mut pass.adjoint, gradient);
                let len = self.curved_product(b, v, pass, outputs);
                [nll, dot(pass.tangents.output(), &pass.product[..len])]
            })
        });
        self.finish_gradient(theta, gradient);
        let curvature = self.loss.scale() * total + self.loss.prior().quadratic(v);
        if self.finish_value(theta, nll).is_finite() { curvature } else { f64::NAN }
    }
}
