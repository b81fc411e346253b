//! A network: a graph of layers over one flat parameter vector in PyTorch's order, with names.

use std::ops::Range;

use rand::RngExt as _;

use super::arithmetic::Arithmetic;
use super::graph::{Graph, Node};
use super::layer::Layer;
use super::spec::{LayerSpec, NetworkSpec, Shape};
use super::storage::{Keep, Storage};
use crate::random::{Purpose, stream};
use crate::{Error, Result};

/// One parameter tensor: its place in the flat vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name as in the state dict of `torch.nn.Sequential`, for example `"2.weight"`; inside a sum of
    /// branches for example `"3.body.0.weight"`.
    pub name: String,
    /// Dimensions; the entries are row-major.
    pub dims: Vec<usize>,
    /// Entries of the flat vector.
    pub range: Range<usize>,
    /// Index of the layer that owns it, in the order of computation.
    pub layer: usize,
}

/// Multiplications that take about as long as the activation of one number.
const ELEMENTWISE: usize = 10;

/// Layers one after another, with sums of branches. Owns no parameters.
#[derive(Debug)]
pub struct Network {
    spec: NetworkSpec,
    arithmetic: Arithmetic,
    pub(super) nodes: Vec<Node>,
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
        Self::multiplying_in(spec, Arithmetic::Double)
    }

    /// The same, with products in the given precision.
    pub fn multiplying_in(spec: &NetworkSpec, arithmetic: Arithmetic) -> Result<Self> {
        spec.input.check()?;
        if spec.input.is_empty() {
            return Err(Error::range("input size", spec.input, "at least 1"));
        }
        let network = Self::part(spec.clone(), arithmetic)?;
        if network.dim() == 0 {
            return Err(Error::range("number of parameters", 0, "at least 1: add a linear or conv2d layer"));
        }
        if let Some(shape @ Shape::Image { .. }) = network.nodes.last().map(|node| node.output) {
            return Err(Error::shape(
                "output of the network",
                "features (end with flatten or linear)",
                shape,
            ));
        }
        Ok(network)
    }

    /// A network that may have no parameters, and an image as its output.
    fn part(spec: NetworkSpec, arithmetic: Arithmetic) -> Result<Self> {
        let Graph { nodes, parameters, .. } = Graph::new(&spec.layers, spec.input, arithmetic)?;
        Ok(Self { spec, arithmetic, nodes, parameters })
    }

    /// The network in two: the layers before the one that has parameter `first`, and the others. None if those before
    /// it have no parameters. A sum of branches is not cut.
    pub(crate) fn split(&self, first: usize) -> Result<Option<(Self, Self)>> {
        let NetworkSpec { input, layers } = &self.spec;
        for cut in (1..layers.len()).rev() {
            let head =
                Self::part(NetworkSpec { input: *input, layers: layers[..cut].to_vec() }, self.arithmetic)?;
            let Some(node) = head.nodes.last().filter(|_| head.dim() <= first) else { continue };
            if head.dim() == 0 {
                break;
            }
            let tail = NetworkSpec { input: node.output, layers: layers[cut..].to_vec() };
            let tail = Self::part(tail, self.arithmetic)?;
            return Ok(Some((head, tail)));
        }
        Ok(None)
    }

    /// The description this network was built from.
    pub fn spec(&self) -> &NetworkSpec {
        &self.spec
    }

    /// In which precision its products are made.
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// Number of parameters K.
    pub fn dim(&self) -> usize {
        self.nodes.last().map_or(0, |node| node.range.end)
    }

    /// Numbers per input sample.
    pub fn inputs(&self) -> usize {
        self.spec.input.len()
    }

    /// Numbers per output sample.
    pub fn outputs(&self) -> usize {
        self.nodes.last().map_or(0, |node| node.output.len())
    }

    /// All parameter tensors, in the order of the flat vector.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Parameters of the last layer that has any.
    pub fn last_layer(&self) -> Range<usize> {
        self.layer_ranges().pop().unwrap_or(0..0)
    }

    /// Parameters of the layer that gives the outputs, if they are linear in them; else none.
    pub fn output_layer(&self) -> Range<usize> {
        let linear = self.spec.layers.last().is_some_and(|layer| matches!(layer, LayerSpec::Linear { .. }));
        if linear { self.nodes.last().map_or(0..0, |node| node.range.clone()) } else { 0..0 }
    }

    /// Parameters of each layer that has any, in order.
    pub fn layer_ranges(&self) -> Vec<Range<usize>> {
        self.nodes.iter().map(|node| node.range.clone()).filter(|range| !range.is_empty()).collect()
    }

    /// The layer with this index in the order of computation; none for a sum.
    pub(crate) fn layer(&self, index: usize) -> Option<&dyn Layer> {
        self.nodes.get(index).and_then(Node::layer)
    }

    /// Index of the first layer with parameters: before it nothing depends on them.
    pub(super) fn first_parametric(&self) -> usize {
        self.nodes.iter().position(|node| !node.range.is_empty()).unwrap_or(0)
    }

    /// Numbers per sample that a forward pass keeps for derivatives, see [`super::Trace::of_values`].
    pub fn trace_len(&self) -> usize {
        Storage::new(&self.nodes, Keep::Derivatives).len()
    }

    /// Cost of a forward pass per sample, in multiplications or what takes as long.
    pub(crate) fn work(&self) -> usize {
        let of_node = |node: &Node| {
            let positions = node.layer().and_then(Layer::positions).map_or(1, |positions| positions.count);
            let products = node.range.len().saturating_mul(positions);
            products.saturating_add(ELEMENTWISE * node.output.len())
        };
        self.nodes.iter().map(of_node).fold(0, usize::saturating_add)
    }

    /// A warning in words if the loss is not smooth in the parameters (ReLU, maximum pooling).
    pub fn smoothness_warning(&self) -> Option<String> {
        let rough = self.nodes.iter().find(|node| node.layer().is_some_and(|layer| !layer.is_smooth()))?;
        Some(format!(
            "layer {} is not smooth: the Riemannian metric is built from the gradient of the loss, \
             which jumps there; geodesics need smaller steps and second derivatives miss the jumps. \
             Prefer tanh, softplus, gelu or silu, and average pooling.",
            rough.description
        ))
    }

    /// Initial weights as in PyTorch: every weight and bias uniform in ±1/√fan_in; factors of
    /// normalisations 1, their shifts 0.
    pub fn initialize(&self, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, Purpose::Initialization, 0);
        let mut theta = vec![0.0; self.dim()];
        for node in &self.nodes {
            let Some(layer) = node.layer() else { continue };
            let own = &mut theta[node.range.clone()];
            if let Some(start) = layer.start() {
                own.copy_from_slice(&start);
                continue;
            }
            let bound = 1.0 / (layer.fan_in() as f64).sqrt();
            own.iter_mut().for_each(|v| *v = rng.random_range(-bound..bound));
        }
        theta
    }
}
