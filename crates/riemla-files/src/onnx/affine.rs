//! Scales and shifts of a layer's outputs, which become part of its weights and bias.

use riemla::nn::{LayerSpec, Shape};

use super::chain::{Built, Chain, Data};
use super::constant::Constant;
use super::function::{Found, find};
use super::layout::{self, Axis};
use super::{Problem, Result};

impl Chain {
    /// The axis of the last layer's output that has an own bias per entry.
    fn channel_axis(&self) -> Axis {
        let axes = match self.shape {
            Shape::Features(n) => layout::contiguous(&[n]),
            Shape::Image { channels, height, width } => layout::contiguous(&[channels, height, width]),
        };
        axes.and_then(|axes| axes.into_iter().next()).unwrap_or_default()
    }

    /// Whether a tensor is the output of the last layer, with nothing done to its numbers.
    fn is_untouched(&self, data: &Data) -> bool {
        data.stage == self.stage && find(&data.samples) == Found::Identity
    }

    /// The numbers of a constant if it has one per output channel of the last layer, whose untouched
    /// output `data` is.
    fn per_channel<'c>(&self, data: &Data, constant: &'c Constant) -> Result<Option<&'c [f64]>> {
        let channel = self.channel_axis();
        // The axis along which the constant varies, counted from the end as in broadcasting.
        let broad = (0..constant.dims.len()).filter(|i| constant.dims[*i] != 1).collect::<Vec<_>>();
        let axis = match broad.as_slice() {
            [] => data.axes.iter().position(|axis| *axis == channel),
            [i] => (data.axes.len() + i).checked_sub(constant.dims.len()),
            _ => None,
        };
        let fits = axis.is_some_and(|axis| data.axes[axis] == channel)
            && constant.dims.len() <= data.axes.len() + 1
            && self.is_untouched(data);
        let values = constant.reals()?;
        Ok((fits && values.len() == layout::size(&channel)).then_some(values))
    }

    /// Multiplies the outputs of the last layer, channel by channel, and shifts them. None if it is not
    /// a layer with weights.
    fn scale_and_shift(&mut self, data: &Data, scale: Option<&[f64]>, shift: Option<&[f64]>) -> Option<Data> {
        let Built { spec, weights, bias } = self.layers.last_mut()?;
        let (LayerSpec::Linear { bias: has_bias, .. } | LayerSpec::Conv2d { bias: has_bias, .. }) = spec
        else {
            return None;
        };
        if let Some(scale) = scale {
            let row = weights.len() / scale.len().max(1);
            for (row, factor) in weights.chunks_mut(row.max(1)).zip(scale) {
                row.iter_mut().for_each(|weight| *weight *= factor);
            }
            bias.iter_mut().flatten().zip(scale).for_each(|(bias, factor)| *bias *= factor);
        }
        if let Some(shift) = shift {
            *has_bias = true;
            let bias = bias.get_or_insert_with(|| vec![0.0; shift.len()]);
            bias.iter_mut().zip(shift).for_each(|(bias, value)| *bias += value);
        }
        // Whoever uses the output as it was before is another branch.
        self.stage += 1;
        Some(Data { stage: self.stage, ..data.clone() })
    }

    /// Adds a constant to the bias of the last layer; none if it does not fit.
    pub fn add_bias(&mut self, data: &Data, added: &Constant) -> Result<Option<Data>> {
        let Some(values) = self.per_channel(data, added)? else { return Ok(None) };
        let sum = self.scale_and_shift(data, None, Some(values));
        if sum.is_some() {
            self.note_use(added);
        }
        Ok(sum)
    }

    /// Multiplies the weights of the last layer by one factor per channel; none if it does not fit. A
    /// single number is left alone: it may be part of an activation.
    pub fn multiply(&mut self, data: &Data, factors: &Constant) -> Result<Option<Data>> {
        let values = self.per_channel(data, factors)?.filter(|values| values.len() > 1);
        let Some(values) = values else { return Ok(None) };
        let product = self.scale_and_shift(data, Some(values), None);
        if product.is_some() {
            self.note_merged("a factor per channel");
        }
        Ok(product)
    }

    /// (x − mean)·scale/√(variance + epsilon) + shift, channel by channel.
    pub fn normalize(&mut self, data: &Data, parts: [&Constant; 4], epsilon: f64) -> Result<Data> {
        let first = data.axes.first().is_some_and(|axis| *axis == self.channel_axis());
        if !first || !self.is_untouched(data) {
            return Err(not_after_a_layer());
        }
        let count = layout::size(&self.channel_axis());
        let [scale, shift, mean, variance] = parts;
        for part in parts {
            if part.reals()?.len() != count {
                let problem =
                    format!("`{}` has dimensions {:?} for {count} channels", part.origin, part.dims);
                return Err(Problem::Invalid(problem));
            }
        }
        let deviations = variance.reals()?.iter().map(|variance| (variance + epsilon).sqrt());
        let factors: Vec<f64> =
            scale.reals()?.iter().zip(deviations).map(|(scale, std)| scale / std).collect();
        let centred = shift.reals()?.iter().zip(mean.reals()?).zip(&factors);
        let shifts: Vec<f64> = centred.map(|((shift, mean), factor)| shift - mean * factor).collect();
        if factors.iter().chain(&shifts).any(|value| !value.is_finite()) {
            return Err(Problem::Invalid(format!("variances `{}` are not above 0", variance.origin)));
        }
        let merged =
            self.scale_and_shift(data, Some(&factors), Some(&shifts)).ok_or_else(not_after_a_layer)?;
        self.note_merged("BatchNormalization");
        Ok(merged)
    }

    fn note_merged(&mut self, what: &str) {
        let layer = self.layers.len() - 1;
        self.notes.push(format!("{what} is merged into the weights of layer {layer}"));
    }
}

fn not_after_a_layer() -> Problem {
    let problem = "it does not directly follow a linear or convolutional layer, so that it cannot be merged";
    Problem::Unsupported(problem.into())
}
