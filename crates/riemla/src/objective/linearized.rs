//! The loss of the linearised network f(x; θ*) + J(x)(θ − θ*), J the Jacobian at θ*.
//!
//! J is never formed: the activations at θ* are kept, so that Jv costs two matrix products per
//! layer and no activation function (docs/decisions/0003-linearised-loss.md).

use super::network_loss::NetworkLoss;
use super::pool::Pool;
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
    pool: Pool<Workspace>,
}

/// Buffers of one evaluation. Outputs and residuals are kept for all blocks.
struct Workspace {
    displacement: Vec<f64>,
    outputs: Vec<Vec<f64>>,
    residuals: Vec<Vec<f64>>,
    tangents: Trace,
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
                let mut values = Trace::new(network, block.n);
                network.forward(center, &block.x, &mut values);
                values
            })
            .collect();
        if values.iter().any(|v| v.output().iter().any(|f| !f.is_finite())) {
            return Err(Error::Unsupported("the network's outputs at the centre are not finite".into()));
        }
        Ok(Self { loss, center: center.to_vec(), values, pool: Pool::default() })
    }

    /// The loss whose network was linearised.
    pub fn exact(&self) -> &NetworkLoss {
        &self.loss
    }

    fn workspace(&self) -> Workspace {
        let network = self.loss.network();
        let largest = self.loss.blocks().iter().map(|block| block.n).max().unwrap_or(0);
        let per_block = || self.values.iter().map(|v| vec![0.0; v.output().len()]).collect();
        Workspace {
            displacement: vec![0.0; self.center.len()],
            outputs: per_block(),
            residuals: per_block(),
            tangents: Trace::new(network, largest),
            adjoint: Adjoint::new(network, largest),
            product: vec![0.0; network.outputs() * largest],
            scratch: vec![0.0; (network.outputs() + 1) * largest],
        }
    }

    fn with_workspace<R>(&self, f: impl FnOnce(&mut Workspace) -> R) -> R {
        self.pool.with(|| self.workspace(), f)
    }

    /// Runs Jv over block `b`; the result is the output of `tangents`.
    fn jvp_block(&self, b: usize, v: &[f64], tangents: &mut Trace) {
        let block = &self.loss.blocks()[b];
        tangents.resize(block.n);
        self.loss.network().tangent(&self.center, v, &block.x, &self.values[b], tangents);
    }

    /// Writes the linearised outputs at `theta` for all blocks.
    fn outputs_in(&self, theta: &[f64], w: &mut Workspace) {
        for ((d, t), c) in w.displacement.iter_mut().zip(theta).zip(&self.center) {
            *d = t - c;
        }
        for b in 0..self.values.len() {
            self.jvp_block(b, &w.displacement, &mut w.tangents);
            let start = self.values[b].output();
            for ((f, s), d) in w.outputs[b].iter_mut().zip(start).zip(w.tangents.output()) {
                *f = s + d;
            }
        }
    }

    /// Loss and residuals of the outputs in the workspace, plus the prior at `theta`.
    fn loss_in(&self, theta: &[f64], w: &mut Workspace) -> f64 {
        let mut nll = 0.0;
        for (b, block) in self.loss.blocks().iter().enumerate() {
            nll += block.loss(self.loss.rule(), &w.outputs[b], &mut w.residuals[b], &mut w.scratch);
        }
        self.loss.scale() * nll + self.loss.prior().value(theta)
    }

    fn gradient_in(&self, theta: &[f64], w: &mut Workspace, gradient: &mut [f64]) {
        gradient.fill(0.0);
        for b in 0..self.values.len() {
            self.vjp_block(b, w, gradient);
        }
        self.finish(theta, gradient);
    }

    fn value_and_gradient_in(&self, theta: &[f64], w: &mut Workspace, gradient: &mut [f64]) -> f64 {
        self.outputs_in(theta, w);
        let value = self.loss_in(theta, w);
        self.gradient_in(theta, w, gradient);
        value
    }

    /// Adds Jᵀ·residual of block `b`.
    fn vjp_block(&self, b: usize, w: &mut Workspace, gradient: &mut [f64]) {
        let (network, block) = (self.loss.network(), &self.loss.blocks()[b]);
        w.adjoint.seed(network, block.n).copy_from_slice(&w.residuals[b]);
        network.backward(&self.center, &block.x, &self.values[b], &mut w.adjoint, gradient);
    }

    fn finish(&self, theta: &[f64], gradient: &mut [f64]) {
        if self.loss.scale() != 1.0 {
            scale(self.loss.scale(), gradient);
        }
        self.loss.prior().add_product(theta, gradient);
    }

    /// Runs Jv over block `b` and writes ΛJv at the outputs of the workspace to `w.product`.
    fn curved_product(&self, b: usize, v: &[f64], w: &mut Workspace) -> usize {
        self.jvp_block(b, v, &mut w.tangents);
        let tangent = w.tangents.output();
        let product = &mut w.product[..tangent.len()];
        let block = &self.loss.blocks()[b];
        block.hessian_product(self.loss.rule(), &w.outputs[b], tangent, product, &mut w.scratch);
        tangent.len()
    }

    /// vᵀHv at the outputs of the workspace.
    fn curvature_in(&self, v: &[f64], w: &mut Workspace) -> f64 {
        let mut total = 0.0;
        for b in 0..self.values.len() {
            let len = self.curved_product(b, v, w);
            total += dot(w.tangents.output(), &w.product[..len]);
        }
        self.loss.scale() * total + self.loss.prior().quadratic(v)
    }
}

impl Objective for LinearizedLoss {
    fn dim(&self) -> usize {
        self.center.len()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.with_workspace(|w| {
            self.outputs_in(theta, w);
            self.loss_in(theta, w)
        })
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.with_workspace(|w| self.value_and_gradient_in(theta, w, gradient))
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        let zeros = vec![0.0; self.dim()];
        let workspace = self.workspace();
        Box::new(LinearizedProbe {
            loss: self,
            base_outputs: workspace.outputs.clone(),
            slopes: workspace.outputs.clone(),
            workspace,
            base: zeros.clone(),
            direction: zeros.clone(),
            point: zeros,
            line_known: false,
        })
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for LinearizedLoss {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        self.with_workspace(|w| {
            self.outputs_in(theta, w);
            self.curvature_in(v, w)
        })
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        self.with_workspace(|w| {
            self.outputs_in(theta, w);
            out.fill(0.0);
            for b in 0..self.values.len() {
                let len = self.curved_product(b, v, w);
                w.residuals[b].copy_from_slice(&w.product[..len]);
                self.vjp_block(b, w, out);
            }
            self.finish(v, out);
        });
    }

    fn gradient_and_curvature(&self, theta: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        self.with_workspace(|w| {
            self.outputs_in(theta, w);
            let value = self.loss_in(theta, w);
            self.gradient_in(theta, w, gradient);
            if value.is_finite() { self.curvature_in(v, w) } else { f64::NAN }
        })
    }
}

/// Outputs are linear in θ, so values along a line need no pass through the network once it is known.
struct LinearizedProbe<'a> {
    loss: &'a LinearizedLoss,
    workspace: Workspace,
    base: Vec<f64>,
    direction: Vec<f64>,
    point: Vec<f64>,
    base_outputs: Vec<Vec<f64>>,
    slopes: Vec<Vec<f64>>,
    /// Whether these are of the present line: a single point on it is cheaper without.
    line_known: bool,
}

impl LinearizedProbe<'_> {
    fn learn_line(&mut self) {
        self.loss.outputs_in(&self.base, &mut self.workspace);
        std::mem::swap(&mut self.base_outputs, &mut self.workspace.outputs);
        for (b, slope) in self.slopes.iter_mut().enumerate() {
            self.loss.jvp_block(b, &self.direction, &mut self.workspace.tangents);
            slope.copy_from_slice(self.workspace.tangents.output());
        }
        self.line_known = true;
    }
}

impl Probe for LinearizedProbe<'_> {
    fn value(&mut self, theta: &[f64]) -> f64 {
        self.point.copy_from_slice(theta);
        self.loss.outputs_in(theta, &mut self.workspace);
        self.loss.loss_in(theta, &mut self.workspace)
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        self.base.copy_from_slice(base);
        self.direction.copy_from_slice(direction);
        self.line_known = false;
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        if !self.line_known {
            self.learn_line();
        }
        super::probe::point_on_line(&self.base, &self.direction, t, &mut self.point);
        let lines = self.base_outputs.iter().zip(&self.slopes);
        for (output, (base, slope)) in self.workspace.outputs.iter_mut().zip(lines) {
            super::probe::point_on_line(base, slope, t, output);
        }
        self.loss.loss_in(&self.point, &mut self.workspace)
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        self.loss.gradient_in(&self.point, &mut self.workspace, gradient);
    }

    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        super::probe::point_on_line(&self.base, &self.direction, t, &mut self.point);
        self.loss.value_and_gradient_in(&self.point, &mut self.workspace, gradient)
    }
}
