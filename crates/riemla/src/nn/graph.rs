//! The layers of a network in the order of computation, and which feeds which.
//!
//! A stack of layers is a list in which each node reads the one before. Sums of branches add nodes with
//! two inputs, and nodes that are read twice. The order of the list is one of computation and of the
//! parameters, so that "below node l" is "before it in the list".

use std::ops::Range;

use super::arithmetic::Arithmetic;
use super::layer::{self, Layer};
use super::network::{Parameter, bounded};
use super::spec::{LayerSpec, Shape};
use crate::{Error, Result};

/// What a node computes.
#[derive(Debug)]
pub(super) enum Operation {
    Layer { layer: Box<dyn Layer>, input: Edge },
    Sum { inputs: [Edge; 2] },
}

/// An input of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// The node it comes from; none for the network's input.
    pub(super) from: Option<usize>,
    /// Whether a reverse pass comes here first of all edges from there: it writes the adjoint to which the
    /// others add.
    pub(super) first: bool,
}

/// One layer or sum.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) operation: Operation,
    pub(super) output: Shape,
    /// Its parameters in the flat vector; empty without.
    pub(super) range: Range<usize>,
    /// Buffer of a reverse pass that holds the adjoint of its output.
    pub(super) slot: usize,
    /// Its place in the description, for example `2` or `3.body.0`, and what it is.
    pub(super) description: String,
}

impl Node {
    pub(super) fn layer(&self) -> Option<&dyn Layer> {
        match &self.operation {
            Operation::Layer { layer, .. } => Some(&**layer),
            Operation::Sum { .. } => None,
        }
    }

    pub(super) fn edges(&self) -> &[Edge] {
        match &self.operation {
            Operation::Layer { input, .. } => std::slice::from_ref(input),
            Operation::Sum { inputs } => inputs,
        }
    }

    fn edges_mut(&mut self) -> &mut [Edge] {
        match &mut self.operation {
            Operation::Layer { input, .. } => std::slice::from_mut(input),
            Operation::Sum { inputs } => inputs,
        }
    }
}

/// The nodes and parameters of a description.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) parameters: Vec<Parameter>,
    arithmetic: Arithmetic,
}

/// A tensor while the graph is built: the node that makes it (none for the network's input) and its shape.
#[derive(Clone, Copy)]
struct End {
    from: Option<usize>,
    shape: Shape,
}

impl Graph {
    pub(super) fn new(layers: &[LayerSpec], input: Shape, arithmetic: Arithmetic) -> Result<Self> {
        let mut graph = Self { arithmetic, ..Self::default() };
        graph.sequence(layers, "", End { from: None, shape: input })?;
        graph.plan_reverse();
        Ok(graph)
    }

    /// Number of parameters so far.
    fn dim(&self) -> usize {
        self.nodes.last().map_or(0, |node| node.range.end)
    }

    fn sequence(&mut self, layers: &[LayerSpec], prefix: &str, input: End) -> Result<End> {
        let mut end = input;
        for (index, spec) in layers.iter().enumerate() {
            let name = format!("{prefix}{index}");
            end = match layer::build(spec, end.shape, self.arithmetic)? {
                Some(layer) => self.push_layer(layer, format!("{name} ({spec:?})"), &name, end)?,
                None => self.sum(spec, &name, end)?,
            };
        }
        Ok(end)
    }

    fn push_layer(
        &mut self,
        layer: Box<dyn Layer>,
        description: String,
        name: &str,
        input: End,
    ) -> Result<End> {
        let start = self.dim();
        let mut offset = start;
        for (suffix, dims) in layer.parameters() {
            let range = offset..bounded(&dims)?.saturating_add(offset);
            offset = range.end;
            let (name, layer) = (format!("{name}.{suffix}"), self.nodes.len());
            self.parameters.push(Parameter { name, dims, range, layer });
        }
        let output = layer.output();
        output.check()?;
        let input = Edge { from: input.from, first: false };
        Ok(self.push(Operation::Layer { layer, input }, output, start..offset, description))
    }

    fn push(&mut self, operation: Operation, output: Shape, range: Range<usize>, description: String) -> End {
        self.nodes.push(Node { operation, output, range, slot: 0, description });
        End { from: Some(self.nodes.len() - 1), shape: output }
    }

    fn sum(&mut self, spec: &LayerSpec, name: &str, input: End) -> Result<End> {
        let LayerSpec::Residual { body, shortcut } = spec else {
            return Err(Error::Unsupported(format!("layer {name} ({spec:?}) is neither a layer nor a sum")));
        };
        if body.is_empty() {
            return Err(Error::range(format!("body of the sum {name}"), "empty", "at least one layer"));
        }
        let ends = [
            self.sequence(body, &format!("{name}.body."), input)?,
            self.sequence(shortcut, &format!("{name}.shortcut."), input)?,
        ];
        if ends[0].shape != ends[1].shape {
            let what = format!("output of the shortcut of the sum {name}");
            let expected = format!("{} as from its body", ends[0].shape);
            return Err(Error::shape(what, expected, ends[1].shape));
        }
        let inputs = ends.map(|end| Edge { from: end.from, first: false });
        let dim = self.dim();
        Ok(self.push(Operation::Sum { inputs }, ends[0].shape, dim..dim, format!("{name} (sum)")))
    }

    /// Gives each node a buffer for the adjoint of its output: held from the first edge that a reverse pass
    /// comes along until the node itself is done. Two buffers do for a stack of layers.
    fn plan_reverse(&mut self) {
        let mut slots: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut free: Vec<usize> = Vec::new();
        let mut count = 0;
        let mut take = |free: &mut Vec<usize>| {
            free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            })
        };
        for l in (0..self.nodes.len()).rev() {
            let own = slots[l].unwrap_or_else(|| take(&mut free));
            self.nodes[l].slot = own;
            for edge in self.nodes[l].edges_mut() {
                let Some(from) = edge.from else { continue };
                edge.first = slots[from].is_none();
                slots[from].get_or_insert_with(|| take(&mut free));
            }
            free.push(own);
        }
    }
}
