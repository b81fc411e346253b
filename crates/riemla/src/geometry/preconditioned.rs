//! The loss metric with a preconditioner, P + a²∇L∇Lᵀ, and tangents corrected for its length.
//!
//! In the coordinates u with θ = θ* + Su, SSᵀ = P⁻¹, it is the plain metric I + a²∇φ∇φᵀ of
//! φ(u) = L(θ* + Su), so every integrator works unchanged. On a Gaussian target with precision P the
//! geodesics from the mode are straight, and the one that ends at distance r has the length
//! s(r) = ½[r√(1+a²r²) + asinh(ar)/a]. A tangent z ~ N(0, I) lengthened to s(‖z‖) therefore ends at
//! z: Gaussian targets are exact at every strength. For other targets a·(L(θ) − L(θ*)) ≤ s(r) bounds
//! the rise of the loss, by about r²/2 once ar is large: what it would be on the Gaussian.

use std::sync::atomic::AtomicBool;

use super::{Geodesic, Integrator, Whitened, exponential_map_until};
use crate::Result;
use crate::curvature::Precision;
use crate::linalg::vector::{axpy, norm, scale};
use crate::objective::TwiceDifferentiable;

/// s(r)/r as a function of x = ar: how much longer a geodesic on a Gaussian target is than straight.
pub fn arc_length_factor(x: f64) -> f64 {
    let x = x.abs();
    // asinh(x)/x = 1 − x²/6 + …: the quotient loses nothing but its value at 0.
    let mean_slope = if x > 0.0 { x.asinh() / x } else { 1.0 };
    0.5 * (x.hypot(1.0) + mean_slope)
}

/// Follows the geodesic of P + a²∇L∇Lᵀ (a = `strength`) from `theta` with the corrected tangent of `v`
/// to t = 1: on a Gaussian target with mode `theta` and precision P it ends at θ + v.
pub fn corrected_exponential_map_until<O: TwiceDifferentiable + ?Sized>(
    objective: &O,
    (strength, precision): (f64, &dyn Precision),
    integrator: &Integrator,
    theta: &[f64],
    v: &[f64],
    path_points: usize,
    stop: Option<&AtomicBool>,
) -> Result<Geodesic> {
    super::check_strength(strength)?;
    crate::error::check_len("initial velocity", objective.dim(), v.len())?;
    let whitened = Whitened::new(objective, theta, precision)?;
    // z = S⁻¹v = SᵀPv.
    let mut z = vec![0.0; v.len()];
    precision.mul(v, &mut z);
    precision.sqrt_solve_transpose(&mut z);
    scale(arc_length_factor(strength * norm(&z)), &mut z);
    let origin = vec![0.0; theta.len()];
    let mut geodesic =
        exponential_map_until(&whitened, strength, integrator, &origin, &z, path_points, stop)?;
    precision.sqrt_solve(&mut geodesic.velocity);
    let ends = geodesic.path.iter_mut().map(|point| &mut point.theta);
    for u in ends.chain([&mut geodesic.end]) {
        precision.sqrt_solve(u);
        axpy(1.0, theta, u);
    }
    Ok(geodesic)
}
