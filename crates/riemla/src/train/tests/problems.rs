//! Problems with known solutions.

use crate::objective::Objective;

/// Σ hⱼ(θⱼ − cⱼ)²/2.
pub(super) struct Quadratic {
    pub(super) curvatures: Vec<f64>,
    pub(super) centre: Vec<f64>,
}

impl Quadratic {
    pub(super) fn new(curvatures: &[f64], centre: &[f64]) -> Self {
        Self { curvatures: curvatures.to_vec(), centre: centre.to_vec() }
    }
}

/// A function from (θ, gradient to write) to the value, as an objective.
pub(super) struct Function<F>(pub(super) usize, pub(super) F);

impl<F: Fn(&[f64], &mut [f64]) -> f64 + Sync> Objective for Function<F> {
    fn dim(&self) -> usize {
        self.0
    }
    fn value(&self, theta: &[f64]) -> f64 {
        (self.1)(theta, &mut vec![0.0; self.0])
    }
    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        (self.1)(theta, gradient)
    }
}

impl Objective for Quadratic {
    fn dim(&self) -> usize {
        self.centre.len()
    }
    fn value(&self, theta: &[f64]) -> f64 {
        self.value_and_gradient(theta, &mut vec![0.0; theta.len()])
    }
    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for j in 0..theta.len() {
            let x = theta[j] - self.centre[j];
            gradient[j] = self.curvatures[j] * x;
            sum += 0.5 * self.curvatures[j] * x * x;
        }
        sum
    }
}
