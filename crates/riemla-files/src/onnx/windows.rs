//! Layers of windows over an image: convolution and pooling, also over the whole image.

use riemla::nn::{LayerSpec, Shape};

use super::apply::State;
use super::chain::Data;
use super::constant::Constant;
use super::layout;
use super::operation::{Convolution, Padding};
use super::values::position;
use super::{Problem, Result};

fn unsupported<T>(problem: impl Into<String>) -> Result<T> {
    Err(Problem::Unsupported(problem.into()))
}

impl State {
    pub(super) fn convolution(
        &mut self,
        data: &Data,
        weights: &Constant,
        bias: Option<&Constant>,
        settings: Convolution,
    ) -> Result<Data> {
        let Convolution { kernel: stated, stride, padding, dilation, groups } = settings;
        let &[channels, inputs, height, width] = weights.dims.as_slice() else {
            let dims = &weights.dims;
            return unsupported(format!(
                "`{}` has dimensions {dims:?}; only images have layers",
                weights.origin
            ));
        };
        let kernel = [height, width];
        let (data, image) = self.chain.image(data)?;
        let divided = image[0].is_multiple_of(groups) && channels.is_multiple_of(groups);
        if !divided
            || inputs != image[0] / groups
            || stated.is_some_and(|stated| stated != kernel)
            || channels == 0
        {
            let problem = format!(
                "`{}` has dimensions {:?}, its input {image:?}, with {groups} groups",
                weights.origin, weights.dims
            );
            return Err(Problem::Invalid(problem));
        }
        let extent =
            [0, 1].map(|axis| (kernel[axis].max(1) - 1).saturating_mul(dilation[axis]).saturating_add(1));
        let padding = [0, 1].map(|axis| pad(padding, axis, image[axis + 1], extent[axis], stride[axis]));
        let [Some(top), Some(left)] = padding else {
            return unsupported("auto_pad needs more padding on one side than on the other");
        };
        let size =
            [window(image[1], extent[0], stride[0], top), window(image[2], extent[1], stride[1], left)];
        let [Some(rows), Some(columns)] = size else {
            return Err(Problem::Invalid(format!("kernel {kernel:?} is larger than its input {image:?}")));
        };
        let bias = bias.map(|bias| self.bias(bias, channels, 1.0)).transpose()?;
        self.supply.take(weights.reals()?.len())?;
        let spec = LayerSpec::Conv2d {
            channels,
            kernel,
            stride,
            padding: [top, left],
            dilation,
            groups,
            bias: bias.is_some(),
        };
        self.chain.note_use(weights);
        let shape = Shape::Image { channels, height: rows, width: columns };
        self.chain.weighted(spec, weights.reals()?.to_vec(), bias, &data, shape)
    }

    pub(super) fn pool(
        &mut self,
        data: &Data,
        maximum: bool,
        (kernel, stride, padding, ceil): ([usize; 2], [usize; 2], Padding, bool),
    ) -> Result<Data> {
        let (data, image) = self.chain.image(data)?;
        let [channels, height, width] = image;
        let sides = [height, width];
        if (0..2).any(|axis| pad(padding, axis, sides[axis], kernel[axis], stride[axis]) != Some(0)) {
            return unsupported("auto_pad needs padding here, which pooling cannot have");
        }
        let size = [window(height, kernel[0], stride[0], 0), window(width, kernel[1], stride[1], 0)];
        let [Some(rows), Some(columns)] = size else {
            return Err(Problem::Invalid(format!("window {kernel:?} is larger than its input {image:?}")));
        };
        if ceil && (0..2).any(|axis| !(sides[axis] - kernel[axis]).is_multiple_of(stride[axis])) {
            return unsupported("ceil_mode adds incomplete windows here");
        }
        let stride = (stride != kernel).then_some(stride);
        let spec = if maximum {
            LayerSpec::MaxPool { kernel, stride }
        } else {
            LayerSpec::AveragePool { kernel, stride }
        };
        let shape = Shape::Image { channels, height: rows, width: columns };
        self.chain.push(spec, vec![], None, data.from, shape)
    }

    /// One window over the whole image.
    pub(super) fn pool_all(&mut self, data: &Data, maximum: bool, kernel: [usize; 2]) -> Result<Data> {
        self.pool(data, maximum, (kernel, kernel, Padding::Fixed([0, 0]), false))
    }

    /// Mean or maximum along axes, which must be height and width, in whatever order the axes are.
    pub(super) fn reduce(
        &mut self,
        data: &Data,
        maximum: bool,
        axes: Option<&[i64]>,
        keep: bool,
    ) -> Result<Data> {
        let rank = data.axes.len() + 1;
        let gone =
            |i: usize| axes.is_some_and(|axes| axes.iter().any(|axis| position(*axis, rank) == Some(i + 1)));
        let kept: Vec<usize> = (0..data.axes.len()).filter(|i| !gone(*i)).collect();
        let Shape::Image { channels, height, width } = self.chain.shape(data) else {
            return unsupported("it is not over height and width of an image");
        };
        let image = layout::contiguous(&[channels, height, width]).unwrap_or_default();
        let [channel] = kept.as_slice() else {
            return unsupported("it is not over height and width of an image");
        };
        let known = data.axes.len() == 3 && image.first() == data.axes.get(*channel);
        if !known || axes.is_none_or(|axes| axes.len() != 2) {
            return unsupported("it is not over height and width of an image");
        }
        let mut pooled = self.pool_all(&Data { axes: image, ..data.clone() }, maximum, [height, width])?;
        let along = pooled.axes.swap_remove(0);
        pooled.axes = if keep {
            (0..3).map(|i| if i == *channel { along.clone() } else { vec![] }).collect()
        } else {
            vec![along]
        };
        Ok(pooled)
    }
}

/// Padding on each side; none if the sides would differ.
fn pad(padding: Padding, axis: usize, size: usize, kernel: usize, stride: usize) -> Option<usize> {
    match padding {
        Padding::Fixed(pads) => Some(pads[axis]),
        Padding::Same => {
            let covered = (size.div_ceil(stride) - 1).checked_mul(stride)?.checked_add(kernel)?;
            let total = covered.saturating_sub(size);
            total.is_multiple_of(2).then_some(total / 2)
        }
    }
}

/// Number of windows; none if there is no room for one.
fn window(size: usize, kernel: usize, stride: usize, padding: usize) -> Option<usize> {
    let padded = padding.checked_mul(2)?.checked_add(size)?;
    Some(padded.checked_sub(kernel)? / stride + 1)
}
