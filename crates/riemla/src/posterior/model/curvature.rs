//! How much every row of a network's data adds to the curvature of its loss.

use rayon::prelude::*;

use crate::Result;
use crate::nn::Trace;
use crate::objective::NetworkLoss;

/// (Jᵢv)ᵀΛᵢJᵢv of every row, averaged over the directions v. In parallel over blocks; sums are sequential.
pub(super) fn row_curvatures(
    loss: &NetworkLoss,
    center: &[f64],
    directions: &[Vec<f64>],
) -> Result<Vec<f64>> {
    let network = loss.network();
    crate::error::check_len("centre of the linearisation", network.dim(), center.len())?;
    directions.iter().try_for_each(|v| crate::error::check_len("direction", network.dim(), v.len()))?;
    let factor = loss.scale() / directions.len().max(1) as f64;
    let of_blocks: Vec<Vec<f64>> = loss
        .blocks()
        .par_iter()
        .map(|block| {
            let mut sums = vec![0.0; block.n];
            if directions.is_empty() {
                return sums;
            }
            let (mut values, mut tangents) = (Trace::new(network, block.n), Trace::new(network, block.n));
            network.forward(center, &block.x, &mut values);
            let mut product = vec![0.0; values.output().len()];
            let mut scratch = vec![0.0; product.len() + block.n];
            for v in directions {
                network.tangent(center, v, &block.x, &values, &mut tangents);
                let d = tangents.output();
                block.hessian_product(loss.rule(), values.output(), d, &mut product, &mut scratch);
                for (d, product) in d.chunks_exact(block.n).zip(product.chunks_exact(block.n)) {
                    sums.iter_mut()
                        .zip(d.iter().zip(product))
                        .for_each(|(sum, (d, p))| *sum += factor * d * p);
                }
            }
            sums
        })
        .collect();
    Ok(of_blocks.concat())
}
