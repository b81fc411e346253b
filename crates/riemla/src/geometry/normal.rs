//! The normal of the graph of the loss at a point.

use super::LossGeometry;
use crate::linalg::vector::dot;

/// The normal (−w, 1) of the graph at a point.
pub(super) struct Normal {
    /// a∇L.
    pub g: Vec<f64>,
    /// P⁻¹g.
    pub w: Vec<f64>,
    /// g·w.
    pub gw: f64,
}

impl Normal {
    pub(super) fn zeros(dim: usize) -> Self {
        Self { g: vec![0.0; dim], w: vec![0.0; dim], gw: 0.0 }
    }

    /// Takes w from g.
    pub(super) fn settle(&mut self, geometry: &LossGeometry<'_>) {
        geometry.steepest(&self.g, &mut self.w);
        self.gw = dot(&self.g, &self.w);
    }

    /// ⟨n, n⟩.
    pub(super) fn square(&self) -> f64 {
        1.0 + self.gw
    }
}
