//! The size of the first step, chosen from the scales of y, y' and a guess of y''.
//!
//! Hairer, Nørsett, Wanner, "Solving Ordinary Differential Equations I", section II.4, with the
//! constants of scipy's `select_initial_step`.

use super::Rhs;
use super::tableau::Workspace;

/// What the choice depends on.
pub(super) struct Setting {
    /// Start of the interval.
    pub t: f64,
    /// Length of the interval, above zero.
    pub length: f64,
    /// +1 forwards, −1 backwards.
    pub direction: f64,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
}

/// Unsigned size of the first step. Costs one evaluation; `work` must hold the derivative at `y`.
pub(super) fn initial_step(work: &mut Workspace, rhs: &mut Rhs<'_>, y: &[f64], s: &Setting) -> f64 {
    let scaled_rms = |values: &mut dyn Iterator<Item = f64>| {
        let squares = values.zip(y).map(|(v, y)| (v / (s.atol + y.abs() * s.rtol)).powi(2));
        (squares.sum::<f64>() / y.len() as f64).sqrt()
    };
    let d0 = scaled_rms(&mut y.iter().copied());
    let d1 = scaled_rms(&mut work.derivative().iter().copied());
    let h0 = if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * d0 / d1 };
    let h0 = h0.min(s.length);
    let (f0, f1) = work.euler(rhs, s.t, y, h0 * s.direction);
    let d2 = scaled_rms(&mut f0.iter().zip(f1).map(|(a, b)| b - a)) / h0;
    let h1 = if !d2.is_finite() {
        // h0 was too bold already (scipy would start with the smallest step there is).
        h0 * 1e-3
    } else if d1 <= 1e-15 && d2 <= 1e-15 {
        (h0 * 1e-3).max(1e-6)
    } else {
        (0.01 / d1.max(d2)).powf(0.2)
    };
    (100.0 * h0).min(h1).min(s.length)
}
