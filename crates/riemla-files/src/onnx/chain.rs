//! The network that grows while the graph is walked: layers with their weights, and which feeds which.

use std::collections::BTreeMap;

use riemla::nn::{LayerSpec, Shape};

use super::constant::Constant;
use super::function::{Found, Samples, find, identity};
use super::layout::{self, Axis};
use super::{Problem, Result};

/// Most numbers in one sample between two layers.
const MAX_NUMBERS: usize = 1 << 32;

/// Most numbers of scales that are one number in the file.
const MAX_MADE: usize = 1 << 24;

/// A tensor that depends on the network's input, as a function of one layer's output.
#[derive(Debug, Clone)]
pub struct Data {
    /// The layer or sum that made it; none for the network's input.
    pub from: Option<usize>,
    /// Axes of one sample, the batch left out.
    pub axes: Vec<Axis>,
    /// What was done to each number since that layer.
    pub samples: Samples,
    /// The operation of a final Softmax or LogSoftmax.
    pub ending: Option<&'static str>,
    /// Whether nothing else uses the layer's output: only then may the layer's weights be changed.
    pub sole: bool,
}

/// What a part of the network does.
#[derive(Debug)]
pub(super) enum Part {
    Layer { spec: LayerSpec, weights: Vec<f64>, bias: Option<Vec<f64>>, from: Option<usize> },
    Sum { from: [Option<usize>; 2] },
}

/// A layer or sum.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) part: Part,
    pub(super) shape: Shape,
}

/// Layers so far.
#[derive(Debug)]
pub struct Chain {
    pub(super) input: Shape,
    /// How a layer has already read the input, if one has.
    input_axes: Option<Vec<Axis>>,
    pub(super) parts: Vec<Built>,
    used: Vec<std::rc::Rc<str>>,
    /// Numbers that may still be made up rather than read.
    allowance: usize,
    /// What the scale layers were.
    pub(super) scales: BTreeMap<usize, &'static str>,
    /// What became part of neighbouring weights, and how often.
    pub(super) merged: BTreeMap<&'static str, usize>,
    pub notes: Vec<String>,
}

pub(super) fn dims(shape: Shape) -> Vec<usize> {
    match shape {
        Shape::Features(n) => vec![n],
        Shape::Image { channels, height, width } => vec![channels, height, width],
    }
}

fn unsupported<T>(problem: impl Into<String>) -> Result<T> {
    Err(Problem::Unsupported(problem.into()))
}

impl Chain {
    /// A network that begins with samples of the given dimensions, and its input.
    pub fn new(dims: &[usize]) -> Result<(Self, Data)> {
        let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let Some(count) = count.filter(|count| (1..=MAX_NUMBERS).contains(count)) else {
            return Err(Problem::Invalid(format!("the input has impossible dimensions {dims:?}")));
        };
        let chain = Self {
            input: Shape::Features(count),
            input_axes: None,
            parts: Vec::new(),
            used: Vec::new(),
            allowance: MAX_MADE,
            scales: BTreeMap::new(),
            merged: BTreeMap::new(),
            notes: Vec::new(),
        };
        let axes = layout::contiguous(dims).unwrap_or_default();
        Ok((chain, Data { from: None, axes, samples: identity(), ending: None, sole: true }))
    }

    /// Checks that something can come after a tensor.
    pub fn check(&self, data: &Data) -> Result<()> {
        match data.ending {
            Some(name) => unsupported(format!("{name} can only be the last operation")),
            None => Ok(()),
        }
    }

    /// Shape of what the layer before a tensor made.
    pub(super) fn shape(&self, data: &Data) -> Shape {
        data.from.map_or(self.input, |from| self.parts[from].shape)
    }

    /// Makes what was done to each number a layer of its own.
    pub fn settle(&mut self, data: &Data) -> Result<Data> {
        self.check(data)?;
        let plain = Data { samples: identity(), ..data.clone() };
        match find(&data.samples) {
            Found::Identity => Ok(plain),
            Found::Activation(function) => {
                let plain = self.read(&plain)?;
                let (spec, shape) = (LayerSpec::Activation { function }, self.shape(&plain));
                let pushed = self.push(spec, vec![], None, plain.from, shape)?;
                Ok(Data { axes: plain.axes, ..pushed })
            }
            Found::Line { factor, shift } => {
                let plain = self.read(&plain)?;
                let channels = layout::size(&self.channel_axis(&plain));
                let left = self.allowance.checked_sub(2 * channels);
                self.allowance =
                    left.ok_or_else(|| Problem::Unsupported("its factors need too much memory".into()))?;
                let factors = (factor != 1.0).then(|| vec![factor; channels]);
                let shifts = (shift != 0.0).then(|| vec![shift; channels]);
                self.scale(&plain, factors, shifts, "a factor or shift")
            }
            Found::Unknown => unsupported(
                "the elementwise operations before it are not one of the activations that can be imported",
            ),
        }
    }

    /// A tensor that is used more than once: its activation is one layer for all who use it.
    pub fn shared(&mut self, data: &Data) -> Result<Data> {
        let data = match find(&data.samples) {
            Found::Activation(_) if data.ending.is_none() => self.settle(data)?,
            _ => data.clone(),
        };
        Ok(Data { sole: false, ..data })
    }

    /// Decides what the network's input is if a tensor is that input; other tensors stay as they are.
    pub(super) fn read(&mut self, data: &Data) -> Result<Data> {
        if data.from.is_some() {
            return Ok(data.clone());
        }
        if self.input_axes.as_ref().is_some_and(|axes| *axes != data.axes) {
            return unsupported("two layers read the network's input in different shapes");
        }
        self.input_axes = Some(data.axes.clone());
        let &[channels, height, width] = layout::sizes(&data.axes).as_slice() else {
            return Ok(data.clone());
        };
        // An image is what the layer sees, in whatever order the model takes it.
        let image = Shape::Image { channels, height, width };
        let axes = layout::contiguous(&dims(image)).unwrap_or_default();
        if self.input != image && axes != data.axes {
            self.notes.push(format!(
                "inputs are {image}s stored channel by channel; the model itself takes them in another order of axes"
            ));
        }
        self.input = image;
        Ok(Data { axes, ..data.clone() })
    }

    /// Adds a layer; the result is its output.
    pub(super) fn push(
        &mut self,
        spec: LayerSpec,
        weights: Vec<f64>,
        bias: Option<Vec<f64>>,
        from: Option<usize>,
        shape: Shape,
    ) -> Result<Data> {
        self.add(Part::Layer { spec, weights, bias, from }, shape)
    }

    fn add(&mut self, part: Part, shape: Shape) -> Result<Data> {
        let dims = dims(shape);
        let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let axes = count.filter(|count| *count <= MAX_NUMBERS).and_then(|_| layout::contiguous(&dims));
        let axes = axes.ok_or_else(|| Problem::Invalid(format!("its output of {dims:?} is too large")))?;
        self.parts.push(Built { part, shape });
        let from = Some(self.parts.len() - 1);
        Ok(Data { from, axes, samples: identity(), ending: None, sole: true })
    }

    /// The sum of two tensors.
    pub fn sum(&mut self, a: &Data, b: &Data) -> Result<Data> {
        let mut whole = |data: &Data| {
            let data = self.settle(data)?;
            self.read(&data)
        };
        let (a, b) = (whole(a)?, whole(b)?);
        let shape = self.shape(&a);
        if a.axes != b.axes || shape != self.shape(&b) {
            let (a, b) = (layout::sizes(&a.axes), layout::sizes(&b.axes));
            return unsupported(format!("it adds branches of {a:?} and {b:?} in different orders of axes"));
        }
        let sum = self.add(Part::Sum { from: [a.from, b.from] }, shape)?;
        Ok(Data { axes: a.axes, ..sum })
    }

    /// Channels, height and width of a tensor that must be an image, channel by channel.
    pub fn image(&mut self, data: &Data) -> Result<(Data, [usize; 3])> {
        let sizes = layout::sizes(&data.axes);
        let dims = <[usize; 3]>::try_from(sizes.as_slice()).map_err(|_| {
            Problem::Unsupported(format!("its input has {} axes besides the batch, not 3", sizes.len()))
        })?;
        let data = self.settle(data)?;
        let data = self.read(&data)?;
        let [channels, height, width] = dims;
        let stored = layout::contiguous(&dims).is_some_and(|axes| axes == data.axes);
        if self.shape(&data) != (Shape::Image { channels, height, width }) || !stored {
            return unsupported(format!(
                "its input is not the {} stored channel by channel",
                self.shape(&data)
            ));
        }
        Ok((data, dims))
    }

    /// A tensor that must be a vector, its number of features, and for each its place in memory if it is not in
    /// order.
    pub(super) fn features(&mut self, data: &Data) -> Result<(Data, Axis)> {
        let data = self.settle(data)?;
        let [axis] = data.axes.as_slice() else {
            let sizes = layout::sizes(&data.axes);
            return unsupported(format!(
                "its input has dimensions {sizes:?} besides the batch; flatten it before"
            ));
        };
        let axis = axis.clone();
        Ok((self.flat(&data)?, axis))
    }

    /// A settled tensor, with a flatten layer where it is the features of an image.
    pub(super) fn flat(&mut self, data: &Data) -> Result<Data> {
        let data = self.read(data)?;
        let (Shape::Image { .. }, [axis]) = (self.shape(&data), data.axes.as_slice()) else {
            return Ok(data);
        };
        let count = Shape::Features(layout::size(axis));
        let flat = self.push(LayerSpec::Flatten, vec![], None, data.from, count)?;
        Ok(Data { sole: data.sole, axes: data.axes, ..flat })
    }

    /// Weights of two layers that are one tensor in the file become independent.
    pub fn note_use(&mut self, constant: &Constant) {
        if self.used.contains(&constant.origin) {
            let name = &constant.origin;
            self.notes.push(format!("`{name}` is used by two layers; each got weights of its own"));
        } else {
            self.used.push(constant.origin.clone());
        }
    }
}
