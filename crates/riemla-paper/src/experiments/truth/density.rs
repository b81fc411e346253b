//! Densities in the plane whose exact draws are known: a banana, and Neal's funnel.

use riemla::objective::{Objective, TwiceDifferentiable};
use riemla::posterior::Model;
use riemla::random::{Purpose, fill_normal, stream};
use serde::{Deserialize, Serialize};

/// Which density.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Density {
    /// x standard normal, y normal around x² with deviation 0.2.
    Banana,
    /// v normal with deviation 1.5, x normal with deviation exp(v/2). Neal's has deviation 3; with it
    /// the deviation of x cannot be measured from thousands of draws, and x would have no unit.
    Funnel,
}

/// Width of the banana.
const WIDTH: f64 = 0.2;
/// Deviation of the funnel's first coordinate.
const SPREAD: f64 = 1.5;

impl Density {
    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Banana => "banana density",
            Self::Funnel => "funnel",
        }
    }

    /// The names of the coordinates.
    pub fn axes(self) -> [&'static str; 2] {
        match self {
            Self::Banana => ["x", "y"],
            Self::Funnel => ["v", "x"],
        }
    }

    /// The mode: where the Laplace approximation sits. The funnel's is at v = −SPREAD²/2, down its neck.
    pub fn mode(self) -> [f64; 2] {
        match self {
            Self::Banana => [0.0, 0.0],
            Self::Funnel => [-0.5 * SPREAD * SPREAD, 0.0],
        }
    }

    /// A window that holds nearly all of the mass.
    pub fn window(self) -> [(f64, f64); 2] {
        match self {
            Self::Banana => [(-3.2, 3.2), (-1.5, 9.0)],
            Self::Funnel => [(-5.0, 5.0), (-7.0, 7.0)],
        }
    }

    /// Independent draws of the density itself.
    pub fn exact(self, seed: u64, count: u64) -> Vec<Vec<f64>> {
        let one = |index: u64| {
            let mut z = [0.0; 2];
            fill_normal(&mut stream(seed, Purpose::Data, index), &mut z);
            match self {
                Self::Banana => vec![z[0], z[0] * z[0] + WIDTH * z[1]],
                Self::Funnel => {
                    let v = SPREAD * z[0];
                    vec![v, (0.5 * v).exp() * z[1]]
                }
            }
        };
        (0..count).map(one).collect()
    }

    /// Second derivatives xx, xy, yy.
    fn hessian(self, theta: &[f64]) -> [f64; 3] {
        let (a, b) = (theta[0], theta[1]);
        match self {
            Self::Banana => {
                let p = 1.0 / (WIDTH * WIDTH);
                [1.0 - 2.0 * p * (b - a * a) + 4.0 * p * a * a, -2.0 * p * a, p]
            }
            Self::Funnel => {
                let p = (-a).exp();
                [1.0 / (SPREAD * SPREAD) + 0.5 * p * b * b, -p * b, p]
            }
        }
    }

    /// The precision of the Laplace approximation: the exact Hessian at the mode, which is diagonal for
    /// both densities.
    pub fn precision(self) -> [f64; 2] {
        let [xx, _, yy] = self.hessian(&self.mode());
        [xx, yy]
    }
}

impl Objective for Density {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let (a, b) = (theta[0], theta[1]);
        match self {
            Self::Banana => {
                let u = (b - a * a) / WIDTH;
                0.5 * (a * a + u * u)
            }
            // −log N(v; 0, SPREAD²) − log N(x; 0, eᵛ) without constants.
            Self::Funnel => 0.5 * (a * a / (SPREAD * SPREAD) + a + b * b * (-a).exp()),
        }
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (a, b) = (theta[0], theta[1]);
        match self {
            Self::Banana => {
                let pu = (b - a * a) / (WIDTH * WIDTH);
                gradient.copy_from_slice(&[a - 2.0 * a * pu, pu]);
            }
            Self::Funnel => {
                let p = (-a).exp();
                gradient.copy_from_slice(&[a / (SPREAD * SPREAD) + 0.5 - 0.5 * b * b * p, b * p]);
            }
        }
        self.value(theta)
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl Model for Density {}

impl TwiceDifferentiable for Density {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        let [xx, xy, yy] = self.hessian(theta);
        xx * v[0] * v[0] + 2.0 * xy * v[0] * v[1] + yy * v[1] * v[1]
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let [xx, xy, yy] = self.hessian(theta);
        out.copy_from_slice(&[xx * v[0] + xy * v[1], xy * v[0] + yy * v[1]]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::results::mean_and_error;
    use super::*;
    use riemla::posterior::virial_ratio;
    use riemla::testing::{check_objective, check_twice_differentiable};

    #[test]
    fn derivatives_agree_with_values_and_the_mode_is_one() {
        for density in [Density::Banana, Density::Funnel] {
            for theta in [[0.3, -0.4], [-1.2, 1.7]] {
                check_objective(&density, &theta, 3);
                check_twice_differentiable(&density, &theta, 3);
            }
            let mut gradient = [0.0; 2];
            density.value_and_gradient(&density.mode(), &mut gradient);
            assert!(gradient.iter().all(|g| g.abs() < 1e-12), "{density:?}: {gradient:?}");
        }
    }

    /// The virial identity ties the exact draws to the objective: its mean over n draws is within 4 of its
    /// standard errors (level 6e-5, fixed seed).
    #[test]
    fn exact_draws_are_those_of_the_objective() {
        for density in [Density::Banana, Density::Funnel] {
            let draws = density.exact(5, 4000);
            let each: Vec<f64> =
                draws.iter().map(|draw| virial_ratio(&density, &density.mode(), &[draw])).collect();
            let (mean, error) = mean_and_error(&each);
            let error = error.expect("several draws");
            assert!((mean - 1.0).abs() < 4.0 * error, "{density:?}: {mean} ± {error}");
            assert!(error < 0.1, "{density:?}: the test has power");
        }
    }
}
