//! A network: layers over one flat parameter vector in PyTorch's order, with names.

use std::ops::Range;

use rand::RngExt as _;

use super::layer::{self, Layer};
use super::spec::{NetworkSpec, Shape};
use crate::random::{Purpose, stream};
use crate::{Error, Result};

/// One parameter tensor: its place in the flat vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name as in the state dict of `torch.nn.Sequential`, for example `"2.weight"`.
    pub name: String,
    /// Dimensions; the entries are row-major.
    pub dims: Vec<usize>,
    /// Entries of the flat vector.
    pub range: Range<usize>,
    /// Index of the layer that owns it.
    pub layer: usize,
}

/// A stack of layers. Owns no parameters.
#[derive(Debug)]
pub struct Network {
    spec: NetworkSpec,
    pub(super) layers: Vec<Box<dyn Layer>>,
    /// Range of each layer's parameters in the flat vector; empty for layers without.
    pub(super) ranges: Vec<Range<usize>>,
    parameters: Vec<Parameter>,
}

/// The product of sizes, if it is one that memory could hold.
pub(super) fn bounded(sizes: &[usize]) -> Result<usize> {
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    let allowed = product.filter(|&product| product <= 1 << 40);
    allowed.ok_or_else(|| Error::range("size of a tensor", format!("{sizes:?}"), "at most 2^40 numbers"))
}

impl Network {
    /// Builds and checks the network that `spec` describes.
    pub fn new(spec: &NetworkSpec) -> Result<Self> {
        spec.input.check()?;
        if spec.input.is_empty() {
            return Err(Error::range("input size", spec.input, "at least 1"));
        }
        let mut network =
            Self { spec: spec.clone(), layers: Vec::new(), ranges: Vec::new(), parameters: Vec::new() };
        let mut shape = spec.input;
        let mut offset = 0;
        for (index, layer_spec) in spec.layers.iter().enumerate() {
            let layer = layer::build(layer_spec, shape)?;
            let start = offset;
            for (suffix, dims) in layer.parameters() {
                let range = offset..bounded(&dims)?.saturating_add(offset);
                offset = range.end;
                network.parameters.push(Parameter {
                    name: format!("{index}.{suffix}"),
                    dims,
                    range,
                    layer: index,
                });
            }
            shape = layer.output();
            shape.check()?;
            network.ranges.push(start..offset);
            network.layers.push(layer);
        }
        if offset == 0 {
            return Err(Error::range("number of parameters", 0, "at least 1: add a linear or conv2d layer"));
        }
        if let Shape::Image { .. } = shape {
            return Err(Error::shape(
                "output of the network",
                "features (end with flatten or linear)",
                shape,
            ));
        }
        Ok(network)
    }

    /// The description this network was built from.
    pub fn spec(&self) -> &NetworkSpec {
        &self.spec
    }

    /// Number of parameters K.
    pub fn dim(&self) -> usize {
        self.ranges.last().map_or(0, |range| range.end)
    }

    /// Numbers per input sample.
    pub fn inputs(&self) -> usize {
        self.spec.input.len()
    }

    /// Numbers per output sample.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.output().len())
    }

    /// All parameter tensors, in the order of the flat vector.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Parameters of the last layer that has any.
    pub fn last_layer(&self) -> Range<usize> {
        self.ranges.iter().rev().find(|range| !range.is_empty()).cloned().unwrap_or(0..0)
    }

    /// Parameters of each layer that has any, in order.
    pub fn layer_ranges(&self) -> Vec<Range<usize>> {
        self.ranges.iter().filter(|range| !range.is_empty()).cloned().collect()
    }

    /// Every layer with the range of its parameters, empty for layers without.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (&dyn Layer, Range<usize>)> {
        self.layers.iter().map(|layer| &**layer).zip(self.ranges.iter().cloned())
    }

    /// Index of the first layer with parameters: below it nothing depends on them.
    pub(super) fn first_parametric(&self) -> usize {
        self.ranges.iter().position(|range| !range.is_empty()).unwrap_or(0)
    }

    /// Numbers kept per sample by a forward pass.
    pub fn trace_len(&self) -> usize {
        self.layers.iter().map(|layer| layer.output().len()).sum()
    }

    /// A warning in words if the loss is not smooth in the parameters (ReLU, maximum pooling).
    pub fn smoothness_warning(&self) -> Option<String> {
        let rough = self.layers.iter().position(|layer| !layer.is_smooth())?;
        Some(format!(
            "layer {rough} ({:?}) is not smooth: the Riemannian metric is built from the gradient of the loss, \
             which jumps there; geodesics need smaller steps and second derivatives miss the jumps. \
             Prefer tanh, softplus, gelu or silu, and average pooling.",
            self.spec.layers[rough]
        ))
    }

    /// Initial weights: every weight and bias uniform in ±1/√fan_in, as in PyTorch.
    pub fn initialize(&self, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, Purpose::Initialization, 0);
        let mut theta = vec![0.0; self.dim()];
        for (layer, range) in self.layers.iter().zip(&self.ranges) {
            let bound = 1.0 / (layer.fan_in() as f64).sqrt();
            for v in &mut theta[range.clone()] {
                *v = rng.random_range(-bound..bound);
            }
        }
        theta
    }
}
