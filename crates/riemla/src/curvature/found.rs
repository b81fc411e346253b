//! The precision of a Gaussian at a minimum of any objective: its Hessian there.
//!
//! Hessian-vector products come from the objective's second derivatives, or from differences of its
//! gradient. With up to [`HessianSearch::dense`] weights all columns are formed; beyond, Lanczos finds the
//! largest eigenpairs, and all other directions get the mean of the eigenvalues that are left, from
//! Hutchinson's estimate of the trace.

use std::sync::Arc;

use rand::RngExt as _;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::structure::{FullPrecision, LowRankPrecision, Precision};
use super::{Gaussian, hessian::symmetrize};
use crate::linalg::Matrix;
use crate::linalg::krylov::Krylov;
use crate::linalg::vector::{axpy, dot, norm};
use crate::objective::{Objective, check_failure};
use crate::random::{Purpose, stream};
use crate::{Control, Error, Result};

/// How the Hessian of an objective is turned into a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HessianSearch {
    /// Largest number of weights for which the whole matrix is formed.
    pub dense: usize,
    /// Eigenpairs that are kept beyond that.
    pub rank: usize,
}

impl Default for HessianSearch {
    fn default() -> Self {
        Self { dense: 2000, rank: 100 }
    }
}

/// Random signs for the trace of what Lanczos does not see: its standard error is then a few percent.
const TRACE_PROBES: u64 = 16;
/// Start vectors of Lanczos: the largest multiplicity of an eigenvalue that is surely found.
const BLOCK: usize = 4;
/// Step of the central differences, relative to the size of the weights: the cube root of the rounding.
const STEP: f64 = 6e-6;

impl Gaussian {
    /// N(θ*, H⁻¹) with H the Hessian of `objective` at `theta`, which must be a minimum.
    ///
    /// ```
    /// use riemla::Control;
    /// use riemla::curvature::{Gaussian, HessianSearch};
    /// use riemla::objective::Objective;
    ///
    /// struct Bowl; // L = 2θ₀² + θ₁²/2
    /// impl Objective for Bowl {
    ///     fn dim(&self) -> usize { 2 }
    ///     fn value(&self, t: &[f64]) -> f64 { 2.0 * t[0] * t[0] + 0.5 * t[1] * t[1] }
    ///     fn value_and_gradient(&self, t: &[f64], gradient: &mut [f64]) -> f64 {
    ///         gradient.copy_from_slice(&[4.0 * t[0], t[1]]);
    ///         self.value(t)
    ///     }
    /// }
    ///
    /// let gaussian = Gaussian::at_minimum(&Bowl, &[0.0, 0.0], HessianSearch::default(), Control::default())?;
    /// assert!((gaussian.precision().log_det() - 4f64.ln()).abs() < 1e-8);
    /// # Ok::<(), riemla::Error>(())
    /// ```
    pub fn at_minimum(
        objective: &dyn Objective,
        theta: &[f64],
        search: HessianSearch,
        control: Control<'_>,
    ) -> Result<Self> {
        crate::error::check_len("weights", objective.dim(), theta.len())?;
        crate::error::check_finite("weights", theta)?;
        if theta.is_empty() || search.rank == 0 {
            return Err(Error::range("number of weights and rank", 0, "at least 1"));
        }
        let hessian = Products { objective, theta, control };
        let precision: Arc<dyn Precision> =
            if theta.len() <= search.dense { hessian.dense()? } else { hessian.low_rank(search.rank)? };
        Self::new(theta.to_vec(), precision)
    }
}

/// Products with the Hessian at a point.
struct Products<'a> {
    objective: &'a dyn Objective,
    theta: &'a [f64],
    control: Control<'a>,
}

impl Products<'_> {
    /// out ← Hv.
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        if let Some(objective) = self.objective.second_derivatives() {
            return objective.hvp(self.theta, v, out);
        }
        let size = 1.0 + norm(self.theta) / (self.theta.len() as f64).sqrt();
        let h = STEP * size / norm(v).max(f64::MIN_POSITIVE);
        let gradient_at = |t: f64, out: &mut [f64]| {
            let mut point = self.theta.to_vec();
            axpy(t, v, &mut point);
            self.objective.value_and_gradient(&point, out);
        };
        let mut behind = vec![0.0; out.len()];
        gradient_at(-h, &mut behind);
        gradient_at(h, out);
        out.iter_mut().zip(&behind).for_each(|(ahead, behind)| *ahead = (*ahead - behind) / (2.0 * h));
    }

    fn check(&self) -> Result<()> {
        check_failure(self.objective)?;
        self.control.check("the Hessian was complete")
    }

    fn dense(&self) -> Result<Arc<dyn Precision>> {
        let k = self.theta.len();
        let columns: Vec<Vec<f64>> = (0..k)
            .into_par_iter()
            .map(|j| {
                self.check()?;
                let (mut unit, mut column) = (vec![0.0; k], vec![0.0; k]);
                unit[j] = 1.0;
                self.apply(&unit, &mut column);
                Ok(column)
            })
            .collect::<Result<_>>()?;
        self.check()?;
        let mut matrix = Matrix::from_columns(k, k, columns.concat());
        crate::error::check_finite("the Hessian at the weights", matrix.as_slice())?;
        symmetrize(&mut matrix);
        Ok(Arc::new(FullPrecision::of_hessian(&matrix)?))
    }

    fn low_rank(&self, rank: usize) -> Result<Arc<dyn Precision>> {
        let k = self.theta.len();
        let krylov = Krylov::new(rank.min(k - 1), BLOCK);
        let mut outcome = Ok(());
        let top = krylov.top_eigenpairs(k, |vectors, out| {
            for (v, out) in vectors.chunks_exact(k).zip(out.chunks_exact_mut(k)) {
                if outcome.is_ok() {
                    self.apply(v, out);
                    outcome = self.check();
                }
            }
        })?;
        outcome?;
        let rest = (self.trace()? - top.values.iter().sum::<f64>()) / (k - top.values.len()) as f64;
        if rest <= 0.0 || !rest.is_finite() {
            return Err(Error::NotPositiveDefinite {
                what: "the Hessian at the weights".into(),
                pivot: top.values.len(),
                dim: k,
                value: rest,
                remedy: "train to a minimum, or give a precision".into(),
            });
        }
        // P = U(Λ − ρ)Uᵀ + ρ; an eigenvalue below the mean of the others counts as that mean.
        let above: Vec<f64> = top.values.iter().map(|value| (value - rest).max(0.0)).collect();
        Ok(Arc::new(LowRankPrecision::new(&above, &top.vectors, &vec![rest; k])?))
    }

    /// tr H = E[zᵀHz] over random signs z.
    fn trace(&self) -> Result<f64> {
        let k = self.theta.len();
        let estimate = |probe: u64| {
            let mut rng = stream(0, Purpose::Start, probe);
            let z: Vec<f64> = (0..k).map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 }).collect();
            let mut product = vec![0.0; k];
            self.apply(&z, &mut product);
            self.check().map(|()| dot(&z, &product))
        };
        let sum: f64 = (0..TRACE_PROBES).map(estimate).sum::<Result<f64>>()?;
        Ok(sum / TRACE_PROBES as f64)
    }
}
