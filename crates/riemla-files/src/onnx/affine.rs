//! Scales and shifts, one per channel: part of the layer before or after where that is exact, otherwise a layer.

use riemla::nn::{LayerSpec, Shape};

use super::chain::{Built, Chain, Data, Part, dims};
use super::constant::Constant;
use super::dense::in_memory_order;
use super::function::{Binary, Found, find};
use super::layout::{self, Axis};
use super::{Problem, Result};

impl Chain {
    /// The axis of a layer's output that has an own bias per entry.
    pub(super) fn channel_axis(&self, data: &Data) -> Axis {
        let axes = layout::contiguous(&dims(self.shape(data)));
        axes.and_then(|axes| axes.into_iter().next()).unwrap_or_default()
    }

    /// The numbers of a constant if it has one per channel of a tensor.
    fn per_channel<'c>(&self, data: &Data, constant: &'c Constant) -> Result<Option<&'c [f64]>> {
        let channel = self.channel_axis(data);
        // The axis along which the constant varies, counted from the end as in broadcasting.
        let broad = (0..constant.dims.len()).filter(|i| constant.dims[*i] != 1).collect::<Vec<_>>();
        let axis = match broad.as_slice() {
            [] => data.axes.iter().position(|axis| *axis == channel),
            [i] => (data.axes.len() + i).checked_sub(constant.dims.len()),
            _ => None,
        };
        let fits =
            axis.is_some_and(|axis| data.axes[axis] == channel) && constant.dims.len() <= data.axes.len() + 1;
        let values = constant.reals()?;
        Ok((fits && values.len() == layout::size(&channel)).then_some(values))
    }

    /// A tensor and a constant with one number per channel; none if it has not, or if it is a single number,
    /// which may be part of an activation (unless it is the bias of a layer with one output).
    pub fn with_channels(
        &mut self,
        function: Binary,
        data: &Data,
        constant: &Constant,
        constant_first: bool,
    ) -> Result<Option<Data>> {
        self.check(data)?;
        if constant.scalar().is_some() {
            let bias = function == Binary::Add && self.changeable(data).is_some();
            let values = if bias { self.per_channel(data, constant)?.map(<[f64]>::to_vec) } else { None };
            let Some(values) = values else { return Ok(None) };
            self.note_use(constant);
            return self.scale(data, None, Some(values), "a bias").map(Some);
        }
        // The network's input is only an image once something reads it as one.
        let settled = self.settle(data)?;
        let data = self.flat(&settled)?;
        let Some(values) = self.per_channel(&data, constant)? else { return Ok(None) };
        let map = |f: fn(&f64) -> f64| Some(values.iter().map(f).collect::<Vec<f64>>());
        let (factors, shifts) = match (function, constant_first) {
            (Binary::Add, _) => (None, map(|v| *v)),
            (Binary::Subtract, false) => (None, map(|v| -v)),
            (Binary::Subtract, true) => (map(|_| -1.0), map(|v| *v)),
            (Binary::Multiply, _) => (map(|v| *v), None),
            (Binary::Divide, false) => (map(|v| 1.0 / v), None),
            _ => return Ok(None),
        };
        if factors.iter().flatten().any(|factor| !factor.is_finite()) {
            return Err(Problem::Invalid(format!("`{}` has zeros to divide by", constant.origin)));
        }
        self.note_use(constant);
        let what = if factors.is_some() { "a factor per channel" } else { "a bias" };
        self.scale(&data, factors, shifts, what).map(Some)
    }

    /// The layer before a tensor if its weights may be changed instead of the tensor.
    fn changeable(&self, data: &Data) -> Option<usize> {
        let from = data.from.filter(|_| data.sole && find(&data.samples) == Found::Identity)?;
        match &self.parts[from].part {
            Part::Layer {
                spec: LayerSpec::Linear { .. } | LayerSpec::Conv2d { .. } | LayerSpec::Scale { .. },
                ..
            } => Some(from),
            _ => None,
        }
    }

    /// Multiplies a tensor channel by channel and shifts it.
    pub(super) fn scale(
        &mut self,
        data: &Data,
        factors: Option<Vec<f64>>,
        shifts: Option<Vec<f64>>,
        what: &'static str,
    ) -> Result<Data> {
        if let Some(from) = self.changeable(data) {
            change(&mut self.parts[from], factors.as_deref(), shifts.as_deref());
            if what != "a bias" {
                *self.merged.entry(what).or_default() += 1;
            }
            return Ok(data.clone());
        }
        let data = self.settle(data)?;
        let data = self.read(&data)?;
        let channels = layout::size(&self.channel_axis(&data));
        let weights = factors.unwrap_or_else(|| vec![1.0; channels]);
        let spec = LayerSpec::Scale { bias: shifts.is_some() };
        let scaled = self.push(spec, weights, shifts, data.from, self.shape(&data))?;
        self.scales.extend(scaled.from.map(|part| (part, what)));
        Ok(Data { axes: data.axes, ..scaled })
    }

    /// (x − mean)·scale/√(variance + epsilon) + shift, channel by channel.
    pub fn normalize(&mut self, data: &Data, parts: [&Constant; 4], epsilon: f64) -> Result<Data> {
        let data = if self.changeable(data).is_some() { data.clone() } else { self.settle(data)? };
        let data = self.flat(&data)?;
        let channels = self.channel_axis(&data);
        let count = layout::size(&channels);
        // Features may be in another order than in memory.
        let axis = match (data.axes.as_slice(), self.shape(&data)) {
            ([axis], Shape::Features(_)) => Some(axis),
            ([axis, ..], Shape::Image { .. }) if *axis == channels => None,
            _ => {
                return Err(Problem::Unsupported(
                    "its channels are not the first axis after the batch".into(),
                ));
            }
        };
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
        let [factors, shifts] = [factors, shifts]
            .map(|values| axis.map_or(values.clone(), |axis| in_memory_order(&values, axis)));
        self.scale(&data, Some(factors), Some(shifts), "BatchNormalization")
    }

    /// Adds a linear or convolutional layer, and makes a scale right before it part of its weights.
    pub(super) fn weighted(
        &mut self,
        mut spec: LayerSpec,
        mut weights: Vec<f64>,
        mut bias: Option<Vec<f64>>,
        data: &Data,
        shape: Shape,
    ) -> Result<Data> {
        let mut from = data.from;
        if let Some((before, place)) = self.scale_before(data) {
            let Part::Layer { weights: factors, bias: shifts, from: source, .. } = &self.parts[before].part
            else {
                return Err(Problem::Invalid("a scale is not a layer".into()));
            };
            let padded = matches!(spec, LayerSpec::Conv2d { padding, .. } if padding != [0, 0]);
            let moved = shifts.as_ref().is_some_and(|shifts| shifts.iter().any(|shift| *shift != 0.0));
            if !(padded && moved) {
                absorb(&mut spec, &mut weights, &mut bias, &self.parts[before], factors, shifts.as_deref());
                from = *source;
                if let Some(flatten) = place {
                    let Part::Layer { from: below, .. } = &mut self.parts[flatten].part else {
                        return Err(Problem::Invalid("a flatten is not a layer".into()));
                    };
                    *below = from;
                    from = Some(flatten);
                }
                let what = self.scales.get(&before).copied().unwrap_or("a factor per channel");
                *self.merged.entry(what).or_default() += 1;
            }
        }
        self.push(spec, weights, bias, from, shape)
    }

    /// A scale that only the next layer reads, and the flatten between them if there is one.
    fn scale_before(&self, data: &Data) -> Option<(usize, Option<usize>)> {
        let last = data.from.filter(|_| data.sole)?;
        match &self.parts[last].part {
            Part::Layer { spec: LayerSpec::Scale { .. }, .. } => Some((last, None)),
            Part::Layer { spec: LayerSpec::Flatten, from: Some(before), .. } => {
                let scale =
                    matches!(self.parts[*before].part, Part::Layer { spec: LayerSpec::Scale { .. }, .. });
                scale.then_some((*before, Some(last)))
            }
            _ => None,
        }
    }
}

/// Multiplies the outputs of a layer, channel by channel, and shifts them.
fn change(built: &mut Built, factors: Option<&[f64]>, shifts: Option<&[f64]>) {
    let Part::Layer { spec, weights, bias, .. } = &mut built.part else { return };
    if let Some(factors) = factors {
        let row = weights.len() / factors.len().max(1);
        for (row, factor) in weights.chunks_mut(row.max(1)).zip(factors) {
            row.iter_mut().for_each(|weight| *weight *= factor);
        }
        bias.iter_mut().flatten().zip(factors).for_each(|(bias, factor)| *bias *= factor);
    }
    if let Some(shifts) = shifts {
        add_bias(spec, bias, shifts);
    }
}

fn add_bias(spec: &mut LayerSpec, bias: &mut Option<Vec<f64>>, shifts: &[f64]) {
    if let LayerSpec::Linear { bias, .. } | LayerSpec::Conv2d { bias, .. } | LayerSpec::Scale { bias } = spec
    {
        *bias = true;
    }
    let bias = bias.get_or_insert_with(|| vec![0.0; shifts.len()]);
    bias.iter_mut().zip(shifts).for_each(|(bias, value)| *bias += value);
}

/// W(Sx + t) + b = (WS)x + (Wt + b).
fn absorb(
    spec: &mut LayerSpec,
    weights: &mut [f64],
    bias: &mut Option<Vec<f64>>,
    scale: &Built,
    factors: &[f64],
    shifts: Option<&[f64]>,
) {
    // Weights of one output, and how many of them belong to one channel of the scale.
    let (outputs, run, groups) = match *spec {
        LayerSpec::Conv2d { channels, kernel, groups, .. } => (channels, kernel[0] * kernel[1], groups),
        LayerSpec::Linear { outputs, .. } => (outputs, scale.shape.len() / factors.len().max(1), 1),
        _ => return,
    };
    let row = weights.len() / outputs.max(1);
    let mut moved = vec![0.0; outputs];
    for (o, row) in weights.chunks_mut(row.max(1)).enumerate() {
        let first = o / (outputs / groups).max(1) * (factors.len() / groups);
        for (channel, run) in (first..).zip(row.chunks_mut(run.max(1))) {
            if let Some(shifts) = shifts {
                moved[o] += shifts[channel] * run.iter().sum::<f64>();
            }
            run.iter_mut().for_each(|weight| *weight *= factors[channel]);
        }
    }
    if shifts.is_some() {
        add_bias(spec, bias, &moved);
    }
}
