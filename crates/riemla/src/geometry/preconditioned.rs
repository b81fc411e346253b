//! The loss metric with a preconditioner, P + a²∇L∇Lᵀ, and tangents corrected for its length.
//!
//! In the coordinates u with θ = θ* + Su, SSᵀ = P⁻¹, it is the plain metric I + a²∇φ∇φᵀ of
//! φ(u) = L(θ* + Su), so every integrator works unchanged. On a Gaussian target with precision P the
//! geodesics from the mode are straight, and the one that ends at distance r has the length
//! s(r) = ½[r√(1+a²r²) + asinh(ar)/a]. A tangent z ~ N(0, I) lengthened to s(‖z‖) therefore ends at
//! z: Gaussian targets are exact at every strength. For other targets a·(L(θ) − L(θ*)) ≤ s(r) bounds
//! the rise of the loss, by about r²/2 once ar is large: what it would be on the Gaussian.

use super::{Geodesic, Whitened};
use crate::Result;
use crate::curvature::Precision;
use crate::linalg::vector::{norm, scale};

/// s(r)/r as a function of x = ar: how much longer a geodesic on a Gaussian target is than straight.
pub fn arc_length_factor(x: f64) -> f64 {
    let x = x.abs();
    // asinh(x)/x = 1 − x²/6 + …: the quotient loses nothing but its value at 0.
    let mean_slope = if x > 0.0 { x.asinh() / x } else { 1.0 };
    0.5 * (x.hypot(1.0) + mean_slope)
}

/// z = S⁻¹v = SᵀPv, lengthened so that the geodesic on a Gaussian target ends at z.
pub(super) fn corrected_tangent(strength: f64, precision: &dyn Precision, v: &[f64]) -> Result<Vec<f64>> {
    super::check_strength(strength)?;
    let mut z = vec![0.0; v.len()];
    precision.mul(v, &mut z);
    precision.sqrt_solve_transpose(&mut z);
    scale(arc_length_factor(strength * norm(&z)), &mut z);
    Ok(z)
}

impl Whitened<'_> {
    /// A geodesic in u as one in θ.
    pub(super) fn back(&self, geodesic: &mut Geodesic) {
        self.turn_in_place(&mut geodesic.velocity);
        let points = geodesic.path.iter_mut().map(|point| &mut point.theta);
        points.chain([&mut geodesic.end]).for_each(|u| self.place_in_place(u));
    }
}
