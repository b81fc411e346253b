//! Layers over all numbers of a sample: linear, and normalisation.

use riemla::nn::{LayerSpec, Shape};

use super::chain::{Chain, Data};
use super::constant::Constant;
use super::function::written;
use super::layout::{self, Axis};
use super::{Problem, Result};

impl Chain {
    /// y = Wx + b, W of shape (outputs, inputs).
    pub fn linear(&mut self, data: &Data, weights: &Constant, bias: Option<Vec<f64>>) -> Result<Data> {
        let (data, axis) = self.features(data)?;
        let inputs = layout::size(&axis);
        let &[outputs, expected] = weights.dims.as_slice() else {
            return Err(Problem::Unsupported(format!("`{}` is not a matrix", weights.origin)));
        };
        if inputs != expected || outputs == 0 {
            let problem = format!("{inputs} features, but `{}` has {expected}", weights.origin);
            return Err(Problem::Invalid(problem));
        }
        self.note_use(weights);
        let values = in_memory_order(weights.reals()?, &axis);
        let spec = LayerSpec::Linear { outputs, bias: bias.is_some() };
        self.weighted(spec, values, bias, &data, Shape::Features(outputs))
    }

    /// Normalises all numbers of a sample.
    pub fn normalize_sample(
        &mut self,
        data: &Data,
        epsilon: f64,
        factors: &Constant,
        shifts: Option<&Constant>,
    ) -> Result<Data> {
        let data = self.settle(data)?;
        let data = self.read(&data)?;
        let count = self.shape(&data).len();
        let axis = layout::reshape(&data.axes, &[count]).and_then(|mut axes| axes.pop()).unwrap_or_default();
        let mut ordered = |part: &Constant| {
            if part.reals()?.len() != count {
                let problem = format!("`{}` has dimensions {:?} for {count} numbers", part.origin, part.dims);
                return Err(Problem::Invalid(problem));
            }
            self.note_use(part);
            Ok(in_memory_order(part.reals()?, &axis))
        };
        let weights = ordered(factors)?;
        let bias = shifts.map_or_else(|| Ok(vec![0.0; count]), ordered)?;
        // Exporters write factors of 1 and no shifts where a model has none.
        let affine = weights.iter().any(|v| *v != 1.0) || bias.iter().any(|v| *v != 0.0);
        let (weights, bias) = if affine { (weights, Some(bias)) } else { (vec![], None) };
        let spec = LayerSpec::LayerNorm { epsilon: written(epsilon), affine };
        let normal = self.push(spec, weights, bias, data.from, self.shape(&data))?;
        Ok(Data { axes: data.axes, ..normal })
    }
}

/// Rows of numbers, one per entry of an axis, as they lie in memory.
pub(super) fn in_memory_order(values: &[f64], axis: &Axis) -> Vec<f64> {
    let mut ordered = values.to_vec();
    let width = layout::size(axis);
    if let Some(order) = layout::order(axis) {
        for (from, to) in values.chunks_exact(width).zip(ordered.chunks_exact_mut(width)) {
            order.iter().zip(from).for_each(|(place, value)| to[*place] = *value);
        }
    }
    ordered
}
