//! Solving G x = b with G = s·AᵀA + δ: dense, through the dual, or by conjugate gradients, with or without a factor
//! that all systems share.

use serde::{Deserialize, Serialize};

use super::{FisherMetric, Point};
use crate::curvature::Precision;
use crate::linalg::Matrix;
use crate::linalg::dense::add_gram_lower;
use crate::linalg::factor::Cholesky;
use crate::linalg::vector::{axpy, dot, scale};
use crate::nn::Adjoint;

/// How G x = b is solved; all give the same up to rounding times the condition of G.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FisherSolve {
    /// Cholesky of G: K×K.
    Dense,
    /// Cholesky of 1/s + AδⁱAᵀ with δⁱ the inverse prior (Woodbury): (N·C)×(N·C).
    Dual,
    /// Conjugate gradients with products Gv: nothing is stored but vectors.
    ConjugateGradients,
    /// The same, preconditioned with a precision that is close to G ([`FisherMetric::sharing`]): a few iterations.
    Shared,
}

/// Largest matrix that is factorised.
const LARGEST: usize = 2000;
/// Relative residual of conjugate gradients.
const TOLERANCE: f64 = 1e-12;
const MAX_ITERATIONS: usize = 2000;
/// Weights from which on a shared factor is quicker than one of each system.
pub(super) const SHARED_FROM: usize = 128;
/// Relative residual there, in the norm of the preconditioner: far below the tolerance of the geodesics.
const SHARED_TOLERANCE: f64 = 1e-9;

impl FisherSolve {
    /// The cheapest for `k` weights and `rows` rows of A.
    pub(super) fn choose(k: usize, rows: usize, prior: &[f64]) -> Self {
        let dual = prior.iter().all(|p| *p > 0.0);
        match (k.min(LARGEST + 1), rows) {
            (k, rows) if rows < k && rows <= LARGEST && dual => FisherSolve::Dual,
            (k, _) if k <= LARGEST => FisherSolve::Dense,
            _ => FisherSolve::ConjugateGradients,
        }
    }
}

impl FisherMetric<'_> {
    /// b ← G⁻¹b; false if that fails.
    pub(super) fn solve_in_place(&self, point: &Point, b: &mut [f64]) -> bool {
        match self.solve {
            FisherSolve::Dense => self.solve_dense(point, b),
            FisherSolve::Dual => self.solve_dual(point, b),
            FisherSolve::ConjugateGradients => self.solve_conjugate_gradients(point, b, TOLERANCE, None),
            FisherSolve::Shared => self.solve_conjugate_gradients(point, b, SHARED_TOLERANCE, self.shared),
        }
    }

    /// Calls `f(n, rows)` for every block of samples and column of the factor of Λ: `rows` is an
    /// n × k part of A, samples contiguous.
    fn for_each_factor(&self, point: &Point, mut f: impl FnMut(usize, &[f64])) {
        let network = self.loss.network();
        let mut rows = Vec::new();
        for (b, block) in self.loss.blocks().iter().enumerate() {
            let n = block.n;
            let mut adjoint = Adjoint::new(network, n);
            let mut scratch = self.scratch(n);
            rows.resize(n * self.subset.len(), 0.0);
            for j in 0..self.loss.rule().factor_columns(network.outputs()) {
                let seed = adjoint.seed(network, n);
                block.factor(self.loss.rule(), &point.outputs[b], j, seed, &mut scratch);
                let subset = self.subset.as_slice();
                let values = &point.values[b];
                network.per_sample_gradient(&point.at, &block.x, values, &mut adjoint, subset, &mut rows);
                f(n, &rows);
            }
        }
    }

    fn solve_dense(&self, point: &Point, b: &mut [f64]) -> bool {
        let k = self.subset.len();
        let mut g = Matrix::zeros(k, k);
        self.for_each_factor(point, |n, rows| {
            add_gram_lower(g.view_mut(), crate::linalg::dense::view(rows, n, k));
        });
        scale(self.loss.scale(), g.as_mut_slice());
        g.add_diagonal(self.prior.iter().copied());
        let Ok(factor) = Cholesky::new("the Fisher metric", "", &g) else { return false };
        factor.solve_lower(b);
        factor.solve_upper(b);
        true
    }

    /// (D + s·AᵀA)⁻¹b = D⁻¹(b − Aᵀ(1/s + A D⁻¹Aᵀ)⁻¹ A D⁻¹b).
    fn solve_dual(&self, point: &Point, b: &mut [f64]) -> bool {
        let k = self.subset.len();
        let mut parts: Vec<(usize, Vec<f64>)> = Vec::new();
        self.for_each_factor(point, |n, rows| parts.push((n, rows.to_vec())));
        let total: usize = parts.iter().map(|(n, _)| n).sum();
        // Aᵀ with its rows scaled by D^(−½), one column per row of A.
        let mut whitened = Matrix::zeros(k, total);
        let mut column = 0;
        for (n, rows) in &parts {
            for i in 0..*n {
                for (j, w) in whitened.column_mut(column + i).iter_mut().enumerate() {
                    *w = rows[j * n + i] / self.prior[j].sqrt();
                }
            }
            column += n;
        }
        let mut gram = Matrix::zeros(total, total);
        add_gram_lower(gram.view_mut(), whitened.view());
        gram.add_diagonal(std::iter::repeat_n(1.0 / self.loss.scale(), total));
        let Ok(factor) = Cholesky::new("the dual of the Fisher metric", "", &gram) else { return false };
        b.iter_mut().zip(&self.prior).for_each(|(b, p)| *b /= p.sqrt());
        let mut dual: Vec<f64> = (0..total).map(|i| dot(whitened.column(i), b)).collect();
        factor.solve_lower(&mut dual);
        factor.solve_upper(&mut dual);
        dual.iter().enumerate().for_each(|(i, d)| axpy(-d, whitened.column(i), b));
        b.iter_mut().zip(&self.prior).for_each(|(b, p)| *b /= p.sqrt());
        true
    }

    /// Conjugate gradients from 0 to a small relative residual.
    fn solve_conjugate_gradients(
        &self,
        point: &Point,
        b: &mut [f64],
        tolerance: f64,
        preconditioner: Option<&dyn Precision>,
    ) -> bool {
        let conditioned = |residual: &[f64], out: &mut [f64]| {
            out.copy_from_slice(residual);
            if let Some(precision) = preconditioner {
                precision.solve(out);
            }
        };
        let (mut x, mut residual) = (vec![0.0; b.len()], b.to_vec());
        let mut z = vec![0.0; b.len()];
        conditioned(&residual, &mut z);
        let mut direction = z.clone();
        let size = dot(&residual, &z);
        let mut square = size;
        for _ in 0..MAX_ITERATIONS {
            if square <= tolerance * tolerance * size {
                b.copy_from_slice(&x);
                return true;
            }
            if !square.is_finite() {
                return false;
            }
            let product = self.product(point, &direction);
            let step = square / dot(&direction, &product);
            axpy(step, &direction, &mut x);
            axpy(-step, &product, &mut residual);
            conditioned(&residual, &mut z);
            let next = dot(&residual, &z);
            scale(next / square, &mut direction);
            axpy(1.0, &z, &mut direction);
            square = next;
        }
        false
    }
}
