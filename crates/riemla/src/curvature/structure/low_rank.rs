//! A precision of low rank plus a diagonal: P = UΛUᵀ + D.

use super::parts::check_orthonormal;
use super::{NamedArray, Precision, PrecisionParts};
use crate::curvature::Structure;
use crate::linalg::Matrix;
use crate::linalg::dense::{add_product, set_product, view, view_mut};
use crate::linalg::factor::SymmetricEigen;
use crate::linalg::vector::{axpy, dot, norm, scale};
use crate::objective::Pool;
use crate::{Error, Result};

/// P = D^½ (I + WΓWᵀ) D^½ with orthonormal W: functions of P need no more than r products, whether
/// D is one number or differs between layers.
#[derive(Debug, Clone)]
pub struct LowRankPrecision {
    /// Diagonal of D^½.
    root: Vec<f64>,
    /// W, one column per kept eigenpair.
    w: Matrix,
    /// Γ.
    gamma: Vec<f64>,
    /// Wᵀx: products are made in integration loops, which should not allocate.
    inner: Pool<Vec<f64>>,
}

impl LowRankPrecision {
    /// UΛUᵀ + diag(prior), with orthonormal U (columns), Λ at least 0 and every prior above 0.
    pub fn new(values: &[f64], vectors: &Matrix, prior: &[f64]) -> Result<Self> {
        crate::error::check_len("prior on the chosen weights", vectors.rows(), prior.len())?;
        crate::error::check_len("eigenvalues of the low-rank curvature", vectors.cols(), values.len())?;
        if let Some(pivot) = prior.iter().position(|d| *d <= 0.0 || !d.is_finite()) {
            return Err(Error::NotPositiveDefinite {
                what: "the low-rank precision (curvature + prior)".into(),
                pivot,
                dim: prior.len(),
                value: prior[pivot],
                remedy: "give every weight a prior_precision above 0".into(),
            });
        }
        let root: Vec<f64> = prior.iter().map(|d| d.sqrt()).collect();
        // D^-½U = QR, so that D^-½UΛUᵀD^-½ = Q(RΛRᵀ)Qᵀ.
        let mut w = vectors.clone();
        let r = orthonormalize(&mut w, &root);
        let mut scaled = r.clone();
        values.iter().enumerate().for_each(|(j, v)| scale(*v, scaled.column_mut(j)));
        let mut small = Matrix::zeros(values.len(), values.len());
        set_product(small.view_mut(), scaled.view(), r.view().transpose());
        let eigen = SymmetricEigen::new("the low-rank curvature over the prior", &small)?;
        rotate(&mut w, &eigen.vectors);
        let gamma = eigen.values.into_iter().map(|g| g.max(0.0)).collect();
        Ok(Self { root, w, gamma, inner: Pool::default() })
    }

    pub(super) fn from_parts(parts: &PrecisionParts, rank: usize) -> Result<Self> {
        let root = &parts.array("root")?.values;
        let gamma = &parts.array_of("values", &[rank])?.values;
        let vectors = &parts.array_of("vectors", &[rank, root.len()])?.values;
        for (what, bad) in [
            ("entry of `root`", root.iter().find(|r| **r <= 0.0)),
            ("eigenvalue in `values`", gamma.iter().find(|g| **g < 0.0)),
        ] {
            bad.map_or(Ok(()), |v| Err(Error::range(what, v, "above 0 (eigenvalues: at least 0)")))?;
        }
        if root.is_empty() || rank > root.len() {
            let expected = format!("at most {} vectors, and at least one weight", root.len());
            return Err(Error::shape("array `vectors`", expected, rank));
        }
        let w = Matrix::from_columns(root.len(), rank, vectors.clone());
        check_orthonormal("vectors", &w)?;
        Ok(Self { root: root.clone(), w, gamma: gamma.clone(), inner: Pool::default() })
    }

    /// x ← x + W f(Γ) Wᵀx.
    fn add_low_rank(&self, x: &mut [f64], f: impl Fn(f64) -> f64) {
        let (k, r) = (self.w.rows(), self.gamma.len());
        self.inner.with(
            || vec![0.0; r],
            |inner| {
                set_product(view_mut(inner, r, 1), self.w.view().transpose(), view(x, k, 1));
                inner.iter_mut().zip(&self.gamma).for_each(|(c, g)| *c *= f(*g));
                add_product(view_mut(x, k, 1), 1.0, self.w.view(), view(inner, r, 1));
            },
        );
    }

    fn multiply_root(&self, x: &mut [f64]) {
        x.iter_mut().zip(&self.root).for_each(|(x, r)| *x *= r);
    }

    fn divide_root(&self, x: &mut [f64]) {
        x.iter_mut().zip(&self.root).for_each(|(x, r)| *x /= r);
    }
}

/// W ← Q of diag(root)⁻¹W = QR by Gram-Schmidt, twice for accuracy; returns R.
fn orthonormalize(w: &mut Matrix, root: &[f64]) -> Matrix {
    let (k, count) = (w.rows(), w.cols());
    let mut r = Matrix::zeros(count, count);
    for j in 0..count {
        let (before, rest) = w.as_mut_slice().split_at_mut(j * k);
        let column = &mut rest[..k];
        column.iter_mut().zip(root).for_each(|(c, root)| *c /= root);
        for _ in 0..2 {
            for (i, q) in before.chunks_exact(k).enumerate() {
                let c = dot(q, column);
                axpy(-c, q, column);
                r.column_mut(j)[i] += c;
            }
        }
        let length = norm(column);
        r.column_mut(j)[j] = length;
        scale(1.0 / length, column);
    }
    r
}

/// W ← WZ, panel by panel.
fn rotate(w: &mut Matrix, z: &Matrix) {
    const PANEL: usize = 4096;
    let (k, r) = (w.rows(), w.cols());
    for start in (0..k).step_by(PANEL) {
        let rows = PANEL.min(k - start);
        let mut panel = Matrix::zeros(rows, r);
        set_product(panel.view_mut(), w.view().subrows(start, rows), z.view());
        w.view_mut().subrows_mut(start, rows).copy_from(panel.view());
    }
}

impl Precision for LowRankPrecision {
    fn dim(&self) -> usize {
        self.root.len()
    }

    fn mul(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
        self.multiply_root(out);
        self.add_low_rank(out, |g| g);
        self.multiply_root(out);
    }

    fn solve(&self, x: &mut [f64]) {
        self.divide_root(x);
        self.add_low_rank(x, |g| -g / (1.0 + g));
        self.divide_root(x);
    }

    fn sqrt_solve(&self, x: &mut [f64]) {
        self.add_low_rank(x, |g| 1.0 / (1.0 + g).sqrt() - 1.0);
        self.divide_root(x);
    }

    fn sqrt_solve_transpose(&self, x: &mut [f64]) {
        self.divide_root(x);
        self.add_low_rank(x, |g| 1.0 / (1.0 + g).sqrt() - 1.0);
    }

    fn log_det(&self) -> f64 {
        let prior: f64 = self.root.iter().map(|r| 2.0 * r.ln()).sum();
        prior + self.gamma.iter().map(|g| g.ln_1p()).sum::<f64>()
    }

    /// With y = D^-½x: the part of y outside W counts in full, that along W by 1/(1 + Γ). A sum
    /// of squares, where Woodbury's formula would be a difference.
    fn inverse_quadratic(&self, x: &mut [f64], count: usize) -> Vec<f64> {
        let (k, r) = (self.dim(), self.gamma.len());
        let x = &mut x[..k * count];
        x.chunks_exact_mut(k).for_each(|row| self.divide_root(row));
        let mut inner = Matrix::zeros(r, count);
        set_product(inner.view_mut(), self.w.view().transpose(), view(x, k, count));
        add_product(view_mut(x, k, count), -1.0, self.w.view(), inner.view());
        let along = |i: usize| -> f64 {
            inner.column(i).iter().zip(&self.gamma).map(|(c, g)| c * c / (1.0 + g)).sum()
        };
        x.chunks_exact(k).enumerate().map(|(i, row)| dot(row, row) + along(i)).collect()
    }

    fn parts(&self) -> Option<PrecisionParts> {
        let (k, rank) = (self.dim(), self.gamma.len());
        let array = |name: &str, dims, values: &[f64]| NamedArray {
            name: name.into(),
            dims,
            values: values.to_vec(),
        };
        let arrays = vec![
            array("root", vec![k], &self.root),
            array("values", vec![rank], &self.gamma),
            array("vectors", vec![rank, k], self.w.as_slice()),
        ];
        Some(PrecisionParts { structure: Structure::LowRank { rank }, arrays })
    }
}
