//! Passes of a network loss over one block, and the buffers they need.

use super::network_loss::NetworkLoss;
use crate::linalg::vector::dot;
use crate::nn::{Adjoint, Adjoints, Along, Trace};

/// Buffers for the passes over one block after another, of one thread.
pub(super) struct Workspace {
    pub(super) state: State,
    pub(super) adjoint: Adjoint,
    pub(super) scratch: Vec<f64>,
    /// Values of which only the network's output is kept.
    output: Trace,
    tangents: Option<Trace>,
    seconds: Option<Trace>,
    d_adjoint: Option<Adjoint>,
    product: Vec<f64>,
}

/// What derivatives need of the values of a block: those of the layers, and ∂loss/∂f.
pub(super) struct State {
    values: Trace,
    residual: Vec<f64>,
}

impl State {
    fn resize(&mut self, n: usize, outputs: usize) {
        if self.values.n() != n {
            self.values.resize(n);
            self.residual.resize(outputs * n, 0.0);
        }
    }
}

impl NetworkLoss {
    /// Room for the state of a block of `n` samples.
    pub(super) fn state(&self, n: usize) -> State {
        let network = self.network();
        State { values: Trace::of_values(network, n), residual: vec![0.0; network.outputs() * n] }
    }

    pub(super) fn workspace(&self) -> Workspace {
        let network = self.network();
        let largest = self.blocks().iter().map(|block| block.n).max().unwrap_or(0);
        let outputs = network.outputs();
        Workspace {
            state: self.state(largest),
            adjoint: Adjoint::new(network, largest),
            scratch: vec![0.0; (outputs + 1) * largest],
            output: Trace::of_output(network, largest),
            tangents: None,
            seconds: None,
            d_adjoint: None,
            product: vec![0.0; outputs * largest],
        }
    }

    /// The loss of block `b` alone.
    pub(super) fn value_of_block(&self, b: usize, theta: &[f64], w: &mut Workspace) -> f64 {
        let block = &self.blocks()[b];
        w.output.resize(block.n);
        self.network().forward(theta, &block.x, &mut w.output);
        let residual = &mut w.product[..w.output.output().len()];
        block.loss(self.rule(), w.output.output(), residual, &mut w.scratch)
    }

    /// Runs block `b` forward and returns its loss.
    pub(super) fn forward_block(
        &self,
        b: usize,
        theta: &[f64],
        state: &mut State,
        scratch: &mut [f64],
    ) -> f64 {
        let block = &self.blocks()[b];
        state.resize(block.n, self.network().outputs());
        self.network().forward(theta, &block.x, &mut state.values);
        block.loss(self.rule(), state.values.output(), &mut state.residual, scratch)
    }

    /// Adds the gradient of block `b` after its forward pass.
    pub(super) fn backward_block(
        &self,
        b: usize,
        theta: &[f64],
        state: &State,
        adjoint: &mut Adjoint,
        gradient: &mut [f64],
    ) {
        let (network, block) = (self.network(), &self.blocks()[b]);
        adjoint.seed(network, block.n).copy_from_slice(&state.residual);
        network.backward(theta, &block.x, &state.values, adjoint, gradient);
    }

    /// Taylor pass over block `b` after its forward pass: vᵀHv of its loss.
    pub(super) fn curvature_of_block(&self, b: usize, theta: &[f64], v: &[f64], w: &mut Workspace) -> f64 {
        let (network, block) = (self.network(), &self.blocks()[b]);
        let values = &w.state.values;
        let tangents = w.tangents.get_or_insert_with(|| Trace::new(network, block.n));
        let seconds = w.seconds.get_or_insert_with(|| Trace::new(network, block.n));
        tangents.resize(block.n);
        seconds.resize(block.n);
        network.tangent(theta, v, &block.x, values, tangents);
        network.second(theta, v, &block.x, values, tangents, seconds);
        let product = &mut w.product[..tangents.output().len()];
        block.hessian_product(self.rule(), values.output(), tangents.output(), product, &mut w.scratch);
        2.0 * dot(&w.state.residual, seconds.output()) + dot(tangents.output(), product)
    }

    /// Adds the Hessian-vector product of block `b` after its forward pass.
    pub(super) fn hvp_of_block(
        &self,
        b: usize,
        theta: &[f64],
        v: &[f64],
        w: &mut Workspace,
        out: &mut [f64],
    ) {
        let (network, block) = (self.network(), &self.blocks()[b]);
        let State { values, residual } = &w.state;
        let tangents = w.tangents.get_or_insert_with(|| Trace::new(network, block.n));
        tangents.resize(block.n);
        network.tangent(theta, v, &block.x, values, tangents);
        let adjoint = &mut w.adjoint;
        let largest = w.product.len() / network.outputs();
        let d_adjoint = w.d_adjoint.get_or_insert_with(|| Adjoint::new(network, largest));
        adjoint.seed(network, block.n).copy_from_slice(residual);
        let d_seed = d_adjoint.seed(network, block.n);
        block.hessian_product(self.rule(), values.output(), tangents.output(), d_seed, &mut w.scratch);
        let along = Along { direction: v, values, tangents };
        let adjoints = Adjoints { adjoint, derivative: d_adjoint };
        network.backward_tangent(theta, &block.x, along, adjoints, out);
    }
}
