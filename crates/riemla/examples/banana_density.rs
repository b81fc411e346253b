//! Geodesics on a density of your own: a banana in the plane.
//!
//! `cargo run --release -p riemla --example banana_density`

use std::fmt::Write as _;

use riemla::Control;
use riemla::geometry::{Geodesic, Integrator, exponential_map};
use riemla::objective::{Objective, TwiceDifferentiable};
use riemla::ode::DormandPrince;

/// −log density up to a constant: L(x, y) = x²/2 + u²/2w² with u = y − x², a valley along y = x².
pub struct Banana {
    /// Width w of the valley.
    pub width: f64,
}

impl Banana {
    /// Height above the valley floor, and 1/w².
    fn terms(&self, theta: &[f64]) -> (f64, f64) {
        (theta[1] - theta[0] * theta[0], 1.0 / (self.width * self.width))
    }
}

impl Objective for Banana {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let (u, p) = self.terms(theta);
        0.5 * (theta[0] * theta[0] + p * u * u)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (u, p) = self.terms(theta);
        gradient.copy_from_slice(&[theta[0] * (1.0 - 2.0 * p * u), p * u]);
        self.value(theta)
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for Banana {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        let mut product = [0.0; 2];
        self.hvp(theta, v, &mut product);
        v[0] * product[0] + v[1] * product[1]
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let (u, p) = self.terms(theta);
        let x = theta[0];
        let (xx, xy) = (1.0 - 2.0 * p * u + 4.0 * p * x * x, -2.0 * p * x);
        out.copy_from_slice(&[xx * v[0] + xy * v[1], xy * v[0] + p * v[1]]);
    }
}

/// Strength of the metric; 1 is the paper's.
pub const STRENGTH: f64 = 1.0;
/// Velocities at the mode, where the Laplace approximation has variances 1 and w².
pub const VELOCITIES: [[f64; 2]; 4] = [[1.0, 0.0], [2.0, 0.0], [-1.5, 0.2], [0.5, -0.3]];

/// Both integrators with their names; Dormand-Prince at tolerances that solve the equation.
pub fn integrators() -> [(&'static str, Integrator); 2] {
    let dormand_prince = DormandPrince { rtol: 1e-8, atol: 1e-10, ..DormandPrince::default() };
    [
        ("constrained leapfrog", Integrator::default()),
        ("Dormand-Prince", Integrator::DormandPrince(dormand_prince)),
    ]
}

/// The geodesic from the mode with velocity `v`, with `points` points along it.
pub fn geodesic(
    banana: &Banana,
    integrator: &Integrator,
    v: &[f64],
    points: usize,
) -> riemla::Result<Geodesic> {
    exponential_map(banana, STRENGTH, integrator, &[0.0, 0.0], v, points, Control::default())
}

/// The whole report.
pub fn run() -> riemla::Result<String> {
    let banana = Banana { width: 0.2 };
    let mut out = String::from(
        "velocity        integrator            status           end                 speed  drift     \
         loss: straight, geodesic (bound)  values  gradients\n",
    );
    for v in &VELOCITIES {
        for (name, integrator) in &integrators() {
            let g = geodesic(&banana, integrator, v, 0)?;
            let (d, c) = (g.diagnostics, g.counters);
            let _ = writeln!(
                out,
                "({:4.1}, {:4.1})    {name:20}  {:15}  ({:7.4}, {:7.4})  {:5.3}  {:.1e}  {:16.3}, {:8.3} ({:5.3})  {:6}  {:9}",
                v[0],
                v[1],
                g.status,
                g.end[0],
                g.end[1],
                d.speed,
                d.speed_drift,
                banana.value(v),
                d.loss_end,
                d.loss_bound,
                c.values,
                c.gradients,
            );
        }
    }
    out.push_str("\nThe geodesic with velocity (2, 0) as CSV:\nt,x,y,loss\n");
    for point in geodesic(&banana, &Integrator::default(), &[2.0, 0.0], 11)?.path {
        let (x, y) = (point.theta[0], point.theta[1]);
        let _ = writeln!(out, "{:.1},{x:.6},{y:.6},{:.6}", point.t, banana.value(&point.theta));
    }
    Ok(out)
}

fn main() -> riemla::Result<()> {
    print!("{}", run()?);
    Ok(())
}
