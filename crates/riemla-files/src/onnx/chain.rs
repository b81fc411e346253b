//! The network that grows while the graph is walked: layers with their weights, one after another.

use riemla::nn::{Activation, LayerSpec, NetworkSpec, Shape};

use super::constant::Constant;
use super::function::{Found, Samples, find, identity};
use super::layout::{self, Axis};
use super::{Problem, Result};

/// Most numbers in one sample between two layers.
const MAX_NUMBERS: usize = 1 << 32;

/// A tensor that depends on the network's input, as a function of the last layer's output.
#[derive(Debug, Clone)]
pub struct Data {
    /// State of the chain that it belongs to: an older one means that the graph branches.
    pub stage: usize,
    /// Axes of one sample, the batch left out.
    pub axes: Vec<Axis>,
    /// What was done to each number since the last layer.
    pub samples: Samples,
    /// The operation of a final Softmax or LogSoftmax.
    pub ending: Option<&'static str>,
}

/// One layer with its weights.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) spec: LayerSpec,
    pub(super) weights: Vec<f64>,
    pub(super) bias: Option<Vec<f64>>,
}

/// Layers so far.
#[derive(Debug)]
pub struct Chain {
    pub(super) stage: usize,
    input: Shape,
    /// Shape of the last layer's output.
    pub(super) shape: Shape,
    /// Whether nothing but elementwise functions happened to the input.
    at_input: bool,
    pub(super) layers: Vec<Built>,
    used: Vec<std::rc::Rc<str>>,
    pub notes: Vec<String>,
}

impl Chain {
    /// A chain that begins with samples of the given dimensions, and its input.
    pub fn new(dims: &[usize]) -> Result<(Self, Data)> {
        let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let Some(count) = count.filter(|count| (1..=MAX_NUMBERS).contains(count)) else {
            return Err(Problem::Invalid(format!("the input has impossible dimensions {dims:?}")));
        };
        let shape = Shape::Features(count);
        let (layers, used, notes) = (Vec::new(), Vec::new(), Vec::new());
        let chain = Self { stage: 0, input: shape, shape, at_input: true, layers, used, notes };
        let axes = layout::contiguous(dims).unwrap_or_default();
        let data = Data { stage: 0, axes, samples: identity(), ending: None };
        Ok((chain, data))
    }

    /// Checks that a tensor is the present end of the chain.
    pub fn check(&self, data: &Data) -> Result<()> {
        if let Some(name) = data.ending {
            let problem = format!("{name} can only be the last operation");
            return Err(Problem::Unsupported(problem));
        }
        if data.stage == self.stage {
            return Ok(());
        }
        let problem = "the graph branches here (one of its inputs was already used by another layer); only \
                       layers one after another can be imported";
        Err(Problem::Unsupported(problem.into()))
    }

    /// Makes what was done to each number a layer of its own. The tensor is again the chain's end.
    pub fn settle(&mut self, data: &Data) -> Result<Data> {
        self.check(data)?;
        match find(&data.samples) {
            Found::Identity => {}
            Found::Activation(function) => {
                self.push(LayerSpec::Activation { function }, vec![], None);
            }
            Found::Unknown => {
                let problem = "the elementwise operations before it are not one of the activations that can \
                               be imported";
                return Err(Problem::Unsupported(problem.into()));
            }
        }
        Ok(Data { stage: self.stage, samples: identity(), ..data.clone() })
    }

    fn push(&mut self, spec: LayerSpec, weights: Vec<f64>, bias: Option<Vec<f64>>) {
        self.layers.push(Built { spec, weights, bias });
        self.stage += 1;
    }

    /// The end of the chain after a layer with an output of this shape.
    fn after(&mut self, shape: Shape) -> Result<Data> {
        let dims = match shape {
            Shape::Features(n) => vec![n],
            Shape::Image { channels, height, width } => vec![channels, height, width],
        };
        let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let axes = count.filter(|count| *count <= MAX_NUMBERS).and_then(|_| layout::contiguous(&dims));
        let axes = axes.ok_or_else(|| Problem::Invalid(format!("its output of {dims:?} is too large")))?;
        (self.shape, self.at_input) = (shape, false);
        Ok(Data { stage: self.stage, axes, samples: identity(), ending: None })
    }

    /// Channels, height and width of a tensor that must be an image, channel by channel.
    pub fn image(&mut self, data: &Data) -> Result<[usize; 3]> {
        let data = self.settle(data)?;
        let sizes = layout::sizes(&data.axes);
        let dims = <[usize; 3]>::try_from(sizes.as_slice()).map_err(|_| {
            Problem::Unsupported(format!("its input has {} axes besides the batch, not 3", sizes.len()))
        })?;
        let [channels, height, width] = dims;
        let image = Shape::Image { channels, height, width };
        let stored = layout::contiguous(&dims).is_some_and(|axes| axes == data.axes);
        if self.at_input {
            // The network's input is what this layer sees, in whatever order the model takes it.
            (self.input, self.shape) = (image, image);
            if !stored {
                let note = format!(
                    "inputs are {image}s stored channel by channel; the model itself takes them in another \
                     order of axes"
                );
                self.notes.push(note);
            }
        } else if self.shape != image || !stored {
            let problem = format!("its input is not the {} stored channel by channel", self.shape);
            return Err(Problem::Unsupported(problem));
        }
        Ok(dims)
    }

    /// Number of features of a tensor that must be a vector, and for each its place in memory if
    /// it is not in order.
    fn features(&mut self, data: &Data) -> Result<(usize, Axis)> {
        let data = self.settle(data)?;
        let [axis] = data.axes.as_slice() else {
            let sizes = layout::sizes(&data.axes);
            let problem = format!("its input has dimensions {sizes:?} besides the batch; flatten it before");
            return Err(Problem::Unsupported(problem));
        };
        if let Shape::Image { .. } = self.shape {
            self.push(LayerSpec::Flatten, vec![], None);
        }
        Ok((layout::size(axis), axis.clone()))
    }

    /// y = Wx + b, W of shape (outputs, inputs).
    pub fn linear(&mut self, data: &Data, weights: &Constant, bias: Option<Vec<f64>>) -> Result<Data> {
        let (inputs, axis) = self.features(data)?;
        let &[outputs, expected] = weights.dims.as_slice() else {
            return Err(Problem::Unsupported(format!("`{}` is not a matrix", weights.origin)));
        };
        if inputs != expected || outputs == 0 {
            let problem = format!("{inputs} features, but `{}` has {expected}", weights.origin);
            return Err(Problem::Invalid(problem));
        }
        self.note_use(weights);
        let mut values = weights.reals()?.to_vec();
        if let Some(order) = layout::order(&axis) {
            for (from, to) in weights.reals()?.chunks_exact(inputs).zip(values.chunks_exact_mut(inputs)) {
                order.iter().zip(from).for_each(|(place, value)| to[*place] = *value);
            }
        }
        self.push(LayerSpec::Linear { outputs, bias: bias.is_some() }, values, bias);
        self.after(Shape::Features(outputs))
    }

    /// A layer of windows over an image with its output's shape.
    pub fn windows(
        &mut self,
        spec: LayerSpec,
        weights: Option<&Constant>,
        bias: Option<Vec<f64>>,
        output: [usize; 3],
    ) -> Result<Data> {
        let values = match weights {
            Some(weights) => {
                self.note_use(weights);
                weights.reals()?.to_vec()
            }
            None => vec![],
        };
        self.push(spec, values, bias);
        let [channels, height, width] = output;
        self.after(Shape::Image { channels, height, width })
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

    /// Removes a final sigmoid of a network with one output, which the likelihood applies.
    fn drop_sigmoid(&mut self) -> bool {
        let sigmoid = LayerSpec::Activation { function: Activation::Sigmoid };
        let last = self.layers.last().is_some_and(|layer| layer.spec == sigmoid);
        let drop = last && self.shape == Shape::Features(1) && self.layers.len() > 1;
        if drop {
            self.layers.pop();
        }
        drop
    }

    /// The network up to `data`, its weights, and whether a final sigmoid was left out.
    pub fn finish(mut self, data: &Data) -> Result<(NetworkSpec, Vec<f64>, Vec<String>, bool)> {
        let (_, axis) = self.features(data)?;
        if !matches!(axis.as_slice(), [] | [(_, 1)]) {
            let problem =
                "the outputs are in another order than the last layer's; leave out the last Transpose";
            return Err(Problem::Unsupported(problem.into()));
        }
        let dropped = self.drop_sigmoid();
        let mut theta = Vec::new();
        let mut layers = Vec::with_capacity(self.layers.len());
        for Built { spec, weights, bias } in self.layers {
            theta.extend(weights);
            theta.extend(bias.into_iter().flatten());
            layers.push(spec);
        }
        Ok((NetworkSpec { input: self.input, layers }, theta, self.notes, dropped))
    }
}
