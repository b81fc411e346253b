//! The loss metric with a preconditioner, P + a²∇L∇Lᵀ, and tangents corrected for its length.
//!
//! In coordinates u with θ = θ* + Su, SSᵀ = P⁻¹, it is the plain metric I + a²∇φ∇φᵀ of
//! φ(u) = L(θ* + Su): geodesics are those of a graph in either case, with vᵀPw for the inner product. On a
//! Gaussian target with precision P the geodesics from the mode are straight, and the one that ends at
//! distance r has the length
//! s(r) = ½[r√(1+a²r²) + asinh(ar)/a]. A tangent v with r = √(vᵀPv) lengthened to s(r) therefore ends at
//! θ* + v: Gaussian targets are exact at every strength. For other targets a·(L(θ) − L(θ*)) ≤ s(r) bounds
//! the rise of the loss, by about r²/2 once ar is large: what it would be on the Gaussian.

use crate::curvature::Precision;
use crate::linalg::vector::{dot, scale};
use crate::{Error, Result};

/// The metric that a loss L defines: I + a²∇L∇Lᵀ, or P + a²∇L∇Lᵀ with a precision P.
///
/// A plain number is the first with that strength a.
#[derive(Debug, Clone, Copy)]
pub struct LossGeometry<'a> {
    /// a; 1 is the paper's.
    pub strength: f64,
    /// P. Tangents are then lengthened so that on a Gaussian target with precision P the geodesic from
    /// the mode with velocity v ends at θ* + v.
    pub preconditioner: Option<&'a dyn Precision>,
}

impl From<f64> for LossGeometry<'_> {
    fn from(strength: f64) -> Self {
        Self { strength, preconditioner: None }
    }
}

impl LossGeometry<'_> {
    /// Checks strength and preconditioner for a loss of `dim` weights.
    pub(super) fn check(&self, dim: usize) -> Result<()> {
        check_strength(self.strength)?;
        self.preconditioner.map_or(Ok(()), |p| crate::error::check_len("precision", dim, p.dim()))
    }

    /// vᵀPw.
    pub(super) fn inner(&self, v: &[f64], w: &[f64]) -> f64 {
        let Some(precision) = self.preconditioner else { return dot(v, w) };
        let mut product = vec![0.0; w.len()];
        precision.mul(w, &mut product);
        dot(v, &product)
    }

    /// w ← P⁻¹g: the direction of steepest ascent.
    pub(super) fn steepest(&self, g: &[f64], w: &mut [f64]) {
        w.copy_from_slice(g);
        if let Some(precision) = self.preconditioner {
            precision.solve(w);
        }
    }

    /// The tangent that ends at θ* + v on a Gaussian target with precision P; v itself without one.
    pub(super) fn lengthened(&self, v: &[f64]) -> Vec<f64> {
        let mut lengthened = v.to_vec();
        if self.preconditioner.is_some() {
            scale(arc_length_factor(self.strength * self.inner(v, v).sqrt()), &mut lengthened);
        }
        lengthened
    }
}

/// s(r)/r as a function of x = ar: how much longer a geodesic on a Gaussian target is than straight.
pub fn arc_length_factor(x: f64) -> f64 {
    let x = x.abs();
    // asinh(x)/x = 1 − x²/6 + …: the quotient loses nothing but its value at 0.
    let mean_slope = if x > 0.0 { x.asinh() / x } else { 1.0 };
    0.5 * (x.hypot(1.0) + mean_slope)
}

pub(crate) fn check_strength(strength: f64) -> Result<()> {
    if strength.is_finite() && strength >= 0.0 {
        Ok(())
    } else {
        Err(Error::range("strength of the metric", strength, "finite and at least 0"))
    }
}
