//! Curvature of the weights of one linear layer: Σₙ Λₙ ⊗ φₙφₙᵀ.
//!
//! With the layer's input extended by a 1 for its bias, φ, and the adjoint of its output for column j of
//! the factor S, g_j, a sample's gradients are g_j ⊗ φ. Their outer products share φφᵀ, so that one
//! weighted Gram matrix per pair of outputs is all there is to sum, with the weight Λ = Σⱼ g_jg_jᵀ:
//! as many times less work than the general path as there are outputs. The last layer is the usual case;
//! any subset within one linear layer is one.

use rayon::prelude::*;

use super::gram::PANEL_ROWS;
use super::kronecker::{LayerBlock, Source, block_shapes};
use super::outer::OuterProduct;
use super::structure::BlockShape;
use super::subset::SubsetRanges;
use crate::linalg::Matrix;
use crate::linalg::dense::{add_product, add_product_lower, view, view_mut};
use crate::nn::{Network, Patch};
use crate::objective::NetworkLoss;

/// The layer of a subset that lies in one linear layer.
pub(super) struct OneLayer {
    layer: usize,
    shape: BlockShape,
}

/// Inputs and weights Λ of one block of samples, samples contiguous.
struct Samples<'a> {
    n: usize,
    /// φ, inputs × n.
    inputs: &'a [f64],
    /// Λ's lower triangle column by column, pairs × n.
    weights: &'a [f64],
}

/// The pairs (o, o') with o ≥ o', in the order of a lower triangle's columns.
fn pairs(outputs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..outputs).flat_map(move |b| (b..outputs).map(move |a| (a, b)))
}

impl OneLayer {
    /// The layer, if the subset is within one that applies its weights once.
    pub(super) fn of(network: &Network, subset: &SubsetRanges) -> Option<Self> {
        match block_shapes(network, subset)[..] {
            [LayerBlock { layer, source: Source::Map { positions: 1, .. }, shape }] => {
                Some(Self { layer, shape })
            }
            _ => None,
        }
    }

    /// Calls `f` for every block of samples.
    fn for_each_block(
        &self,
        outer: OuterProduct,
        loss: &NetworkLoss,
        theta: &[f64],
        mut f: impl FnMut(Samples<'_>),
    ) {
        let (network, shape) = (loss.network(), self.shape);
        let (mut inputs, mut weights) = (Vec::new(), Vec::new());
        let columns = outer.columns(loss);
        let Some(layer) = network.layer(self.layer) else { return };
        outer.for_each_seed(loss, theta, |j, block, values, adjoint| {
            network.visit_adjoints(theta, &block.x, values, adjoint, self.layer, |l, at, g| {
                if l != self.layer {
                    return;
                }
                let n = at.n;
                if j == 0 {
                    inputs.clear();
                    inputs.resize(shape.inputs() * n, 1.0);
                    if shape.fan_in > 0 {
                        layer.patch(
                            n,
                            at.x,
                            Patch { group: 0, position: 0 },
                            &mut inputs[..shape.fan_in * n],
                        );
                    }
                    weights.clear();
                    weights.resize(shape.outputs * (shape.outputs + 1) / 2 * n, 0.0);
                }
                for ((a, b), weight) in pairs(shape.outputs).zip(weights.chunks_exact_mut(n)) {
                    let (a, b) = (&g[a * n..][..n], &g[b * n..][..n]);
                    weight.iter_mut().zip(a).zip(b).for_each(|((w, a), b)| *w += a * b);
                }
                if j + 1 == columns {
                    f(Samples { n, inputs: &inputs, weights: &weights });
                }
            });
        });
    }

    /// The full matrix (k × k), not scaled.
    pub(super) fn full(&self, outer: OuterProduct, loss: &NetworkLoss, theta: &[f64]) -> Matrix {
        let mut sum = WeightedGrams::new(self.shape);
        self.for_each_block(outer, loss, theta, |samples| sum.push(&samples));
        sum.finish()
    }

    /// The diagonal, not scaled.
    pub(super) fn diagonal(&self, outer: OuterProduct, loss: &NetworkLoss, theta: &[f64]) -> Vec<f64> {
        let shape = self.shape;
        let (inputs, outputs) = (shape.inputs(), shape.outputs);
        let mut sums = vec![0.0; inputs * outputs];
        let (mut squares, mut own) = (Vec::new(), Vec::new());
        self.for_each_block(outer, loss, theta, |Samples { n, inputs: phi, weights }| {
            squares.clear();
            squares.extend(phi.iter().map(|v| v * v));
            own.clear();
            let equal = pairs(outputs).zip(weights.chunks_exact(n)).filter(|((a, b), _)| a == b);
            equal.for_each(|(_, weight)| own.extend_from_slice(weight));
            let squares = view(&squares, n, inputs).transpose();
            add_product(view_mut(&mut sums, inputs, outputs), 1.0, squares, view(&own, n, outputs));
        });
        let mut diagonal = vec![0.0; sums.len()];
        for (o, column) in sums.chunks_exact(inputs).enumerate() {
            for (i, value) in column.iter().enumerate() {
                diagonal[place(shape, o, i)] = *value;
            }
        }
        diagonal
    }
}

/// Place of the weight from input `i` (the bias comes last) to output `o` in the subset.
fn place(shape: BlockShape, o: usize, i: usize) -> usize {
    if i < shape.fan_in { o * shape.fan_in + i } else { shape.fan_in * shape.outputs + o }
}

/// Sums of λφφᵀ, one per pair of outputs, in panels of samples; parallel over pairs, so the bits do not
/// depend on the number of threads.
struct WeightedGrams {
    shape: BlockShape,
    /// For each pair an inputs × inputs matrix, of which the lower triangle counts.
    sums: Vec<f64>,
    /// PANEL_ROWS × inputs and PANEL_ROWS × pairs, column-major.
    inputs: Vec<f64>,
    weights: Vec<f64>,
    filled: usize,
}

impl WeightedGrams {
    fn new(shape: BlockShape) -> Self {
        let (inputs, pairs) = (shape.inputs(), shape.outputs * (shape.outputs + 1) / 2);
        Self {
            shape,
            sums: vec![0.0; pairs * inputs * inputs],
            inputs: vec![0.0; PANEL_ROWS * inputs],
            weights: vec![0.0; PANEL_ROWS * pairs],
            filled: 0,
        }
    }

    fn push(&mut self, samples: &Samples<'_>) {
        let n = samples.n;
        let mut done = 0;
        while done < n {
            let take = (n - done).min(PANEL_ROWS - self.filled);
            let rows = self.filled..self.filled + take;
            for (panel, from) in [(&mut self.inputs, samples.inputs), (&mut self.weights, samples.weights)] {
                for (to, from) in panel.chunks_exact_mut(PANEL_ROWS).zip(from.chunks_exact(n)) {
                    to[rows.clone()].copy_from_slice(&from[done..done + take]);
                }
            }
            done += take;
            self.filled += take;
            if self.filled == PANEL_ROWS {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        let (inputs, filled) = (self.shape.inputs(), self.filled);
        let panel = &self.inputs;
        let phi = view(panel, PANEL_ROWS, inputs).subrows(0, filled);
        let weights = self.weights.par_chunks_exact(PANEL_ROWS);
        let sums = self.sums.par_chunks_exact_mut(inputs * inputs);
        sums.zip(weights).for_each_init(
            || vec![0.0; PANEL_ROWS * inputs],
            |weighted, (sum, weights)| {
                for (to, from) in weighted.chunks_exact_mut(PANEL_ROWS).zip(panel.chunks_exact(PANEL_ROWS)) {
                    let both = to.iter_mut().zip(from).zip(weights).take(filled);
                    both.for_each(|((to, from), weight)| *to = from * weight);
                }
                let weighted = view(weighted, PANEL_ROWS, inputs).subrows(0, filled);
                add_product_lower(view_mut(sum, inputs, inputs), weighted.transpose(), phi);
            },
        );
        self.filled = 0;
    }

    /// The sums in the order of the weights.
    fn finish(mut self) -> Matrix {
        self.flush();
        let (shape, inputs) = (self.shape, self.shape.inputs());
        let k = inputs * shape.outputs;
        let mut matrix = Matrix::zeros(k, k);
        let entries = matrix.as_mut_slice();
        for ((a, b), sum) in pairs(shape.outputs).zip(self.sums.chunks_exact(inputs * inputs)) {
            for j in 0..inputs {
                for i in j..inputs {
                    let value = sum[j * inputs + i];
                    // Λ and φφᵀ are both symmetric: one sum has four places.
                    for ((o, i), (p, j)) in [((a, i), (b, j)), ((b, i), (a, j))] {
                        let (row, column) = (place(shape, o, i), place(shape, p, j));
                        entries[column * k + row] = value;
                        entries[row * k + column] = value;
                    }
                }
            }
        }
        matrix
    }
}
