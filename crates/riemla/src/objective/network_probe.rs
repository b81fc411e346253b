//! Values of a network loss at many points, and gradients at some of them.

use std::sync::Mutex;

use super::network_loss::NetworkLoss;
use super::network_passes::State;
use super::pool::lock;
use super::probe::point_on_line;
use super::{Objective, Probe};

/// Where it pays, values keep what the gradient at the same point needs, which then costs the reverse pass
/// alone; elsewhere the gradient runs forward again, block by block.
pub(super) struct NetworkProbe<'a> {
    loss: &'a NetworkLoss,
    /// One for each block; none if they are not kept.
    kept: Vec<Mutex<State>>,
    /// Whether those are of the current point.
    current: bool,
    base: Vec<f64>,
    direction: Vec<f64>,
    point: Vec<f64>,
}

/// Numbers that always may be kept: what a cache can hold (8 MB).
const CACHED_NUMBERS: usize = 1024 * 1024;
/// Numbers that may be kept in all (256 MB).
const KEPT_NUMBERS: usize = 32 * 1024 * 1024;
/// Work per kept number beyond which it is cheaper to read it from memory than to compute it again.
const DENSE: usize = 60;

/// Whether values keep what gradients need.
fn keeps(loss: &NetworkLoss) -> bool {
    let per_sample = loss.network().trace_len().max(1);
    let numbers = loss.samples().saturating_mul(per_sample);
    let dense = loss.network().work() / per_sample >= DENSE;
    numbers <= if dense { KEPT_NUMBERS } else { CACHED_NUMBERS }
}

impl<'a> NetworkProbe<'a> {
    pub(super) fn new(loss: &'a NetworkLoss) -> Self {
        let blocks = if keeps(loss) { loss.blocks() } else { &[] };
        let zeros = vec![0.0; loss.dim()];
        Self {
            loss,
            kept: blocks.iter().map(|block| Mutex::new(loss.state(block.n))).collect(),
            current: false,
            base: zeros.clone(),
            direction: zeros.clone(),
            point: zeros,
        }
    }

    /// The value at the current point.
    fn value_here(&mut self) -> f64 {
        let Self { loss, kept, point, current, .. } = self;
        if kept.is_empty() {
            return loss.value(point);
        }
        *current = true;
        let [nll] = loss.sum_blocks(&mut [], |b, w, _| {
            [loss.forward_block(b, point, &mut lock(&kept[b]), &mut w.scratch)]
        });
        loss.finish_value(point, nll)
    }
}

impl Probe for NetworkProbe<'_> {
    fn value(&mut self, theta: &[f64]) -> f64 {
        self.point.copy_from_slice(theta);
        self.value_here()
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        self.base.copy_from_slice(base);
        self.direction.copy_from_slice(direction);
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        point_on_line(&self.base, &self.direction, t, &mut self.point);
        self.value_here()
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        let Self { loss, kept, point, current, .. } = self;
        if kept.is_empty() || !*current {
            loss.value_and_gradient(point, gradient);
            return;
        }
        loss.sum_blocks(gradient, |b, w, gradient| {
            loss.backward_block(b, point, &lock(&kept[b]), &mut w.adjoint, gradient);
            []
        });
        loss.finish_gradient(point, gradient);
    }

    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        point_on_line(&self.base, &self.direction, t, &mut self.point);
        self.current = false;
        self.loss.value_and_gradient(&self.point, gradient)
    }
}
