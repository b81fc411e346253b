//! Curvature times a vector without the matrix: tangent pass, factor in the outputs, reverse pass.

use rayon::prelude::*;

use super::Curvature;
use super::outer::{OuterProduct, Outputs};
use super::subset::SubsetRanges;
use crate::Result;
use crate::linalg::vector::{axpy, scale};
use crate::nn::{Adjoint, Trace};
use crate::objective::{NetworkLoss, Objective as _, Pool};

/// Numbers that kept activations may take in all (256 MB); beyond, products run forward again.
const KEPT_NUMBERS: usize = 32 * 1024 * 1024;
/// Groups of blocks that are summed on their own: fixed, so that the bits do not depend on the
/// number of threads.
pub(super) const GROUPS: usize = 4;

/// v ↦ Cv for the GGN or the empirical Fisher C at fixed weights, over a subset, without the prior.
pub struct CurvatureProduct<'a> {
    loss: &'a NetworkLoss,
    theta: &'a [f64],
    subset: &'a SubsetRanges,
    outer: OuterProduct,
    /// Activations of every block, or none if they would take too much room.
    kept: Vec<Trace>,
    /// Buffers of passes: fresh ones would be as much work for the system as a quarter of the passes.
    passes: Pool<Pass>,
}

/// Buffers for the passes over one block after another, of one thread.
struct Pass {
    /// Of blocks whose activations are not kept.
    values: Option<Trace>,
    tangents: Trace,
    adjoint: Adjoint,
    scratch: Vec<f64>,
}

impl<'a> CurvatureProduct<'a> {
    /// Products with the given curvature; the Hessian has its own
    /// ([`crate::objective::TwiceDifferentiable::hvp`]).
    pub fn new(
        loss: &'a NetworkLoss,
        theta: &'a [f64],
        curvature: Curvature,
        subset: &'a SubsetRanges,
    ) -> Result<Self> {
        crate::error::check_len("weights", loss.dim(), theta.len())?;
        let outer = OuterProduct::of(curvature, "low-rank")?;
        let mut product = Self { loss, theta, subset, outer, kept: Vec::new(), passes: Pool::default() };
        if loss.samples() * loss.network().trace_len() <= KEPT_NUMBERS {
            product.kept = (0..loss.blocks().len()).into_par_iter().map(|b| product.forward(b)).collect();
        }
        Ok(product)
    }

    fn forward(&self, b: usize) -> Trace {
        let block = &self.loss.blocks()[b];
        let mut values = Trace::of_values(self.loss.network(), block.n);
        self.loss.network().forward(self.theta, &block.x, &mut values);
        values
    }

    fn pass(&self) -> Pass {
        let network = self.loss.network();
        let largest = self.loss.blocks().iter().map(|block| block.n).max().unwrap_or(0);
        Pass {
            values: self.kept.is_empty().then(|| Trace::of_values(network, largest)),
            tangents: Trace::new(network, largest),
            adjoint: Adjoint::new(network, largest),
            scratch: vec![0.0; (network.outputs() + 1) * largest],
        }
    }

    /// Number of chosen weights.
    pub fn dim(&self) -> usize {
        self.subset.len()
    }

    /// The products with several vectors, stored one after the other.
    pub fn apply_many(&self, vectors: &[f64], out: &mut [f64]) {
        let k = self.dim();
        let enough = vectors.len() / k >= rayon::current_num_threads();
        vectors.par_chunks_exact(k).zip(out.par_chunks_exact_mut(k)).for_each(|(v, out)| {
            // One vector per core, or several cores for each: the sums are the same.
            if enough { self.apply_in_turn(v, out) } else { self.apply(v, out) }
        });
    }

    /// out ← Cv on the chosen weights, on all cores.
    pub fn apply(&self, v: &[f64], out: &mut [f64]) {
        let v = self.subset.scatter(v, self.theta.len());
        let parts: Vec<Vec<f64>> = (0..self.groups()).into_par_iter().map(|g| self.part(g, &v)).collect();
        self.add_up(parts, out);
    }

    /// The same on one core, with fewer sums in memory.
    fn apply_in_turn(&self, v: &[f64], out: &mut [f64]) {
        let v = self.subset.scatter(v, self.theta.len());
        self.add_up((0..self.groups()).map(|g| self.part(g, &v)), out);
    }

    fn groups(&self) -> usize {
        GROUPS.min(self.loss.blocks().len())
    }

    /// The sum over one group of blocks, on all weights.
    fn part(&self, g: usize, v: &[f64]) -> Vec<f64> {
        let (blocks, groups) = (self.loss.blocks().len(), self.groups());
        let mut sum = vec![0.0; self.theta.len()];
        let own = g * blocks / groups..(g + 1) * blocks / groups;
        self.passes.with(|| self.pass(), |pass| own.for_each(|b| self.add_block(b, v, pass, &mut sum)));
        sum
    }

    /// out ← the sum of the groups on the chosen weights, scaled like the loss.
    fn add_up(&self, parts: impl IntoIterator<Item = Vec<f64>>, out: &mut [f64]) {
        let mut parts = parts.into_iter();
        let mut total = parts.next().unwrap_or_else(|| vec![0.0; self.theta.len()]);
        parts.for_each(|part| axpy(1.0, &part, &mut total));
        for (o, k) in out.iter_mut().zip(self.subset.indices()) {
            *o = total[k];
        }
        scale(self.loss.scale(), out);
    }

    fn add_block(&self, b: usize, v: &[f64], pass: &mut Pass, sum: &mut [f64]) {
        let (network, block) = (self.loss.network(), &self.loss.blocks()[b]);
        let Pass { values: fresh, tangents, adjoint, scratch } = pass;
        let values = match (self.kept.get(b), fresh) {
            (Some(kept), _) => kept,
            (None, fresh) => {
                let fresh = fresh.get_or_insert_with(|| Trace::of_values(network, block.n));
                fresh.resize(block.n);
                network.forward(self.theta, &block.x, fresh);
                fresh
            }
        };
        tangents.resize(block.n);
        network.tangent(self.theta, v, &block.x, values, tangents);
        let at = Outputs { f: values.output(), block };
        let seed = adjoint.seed(network, block.n);
        self.outer.product(self.loss, at, tangents.output(), seed, scratch);
        network.backward(self.theta, &block.x, values, adjoint, sum);
    }
}

/// The GGN of all weights times `v`, without the prior.
pub fn ggn_vector_product(loss: &NetworkLoss, theta: &[f64], v: &[f64]) -> Result<Vec<f64>> {
    crate::error::check_len("vector", loss.dim(), v.len())?;
    let all = super::Subset::All.ranges(loss.network())?;
    let mut out = vec![0.0; v.len()];
    CurvatureProduct::new(loss, theta, Curvature::Ggn, &all)?.apply(v, &mut out);
    Ok(out)
}
