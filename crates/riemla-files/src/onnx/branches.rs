//! From layers that know their inputs to a description with nested branches.
//!
//! The tensor that both branches of a sum pass through last is the common ancestor of its inputs in the tree of
//! dominators: the parent of a layer is what it reads, the parent of a sum is that tensor. What lies between are
//! the two branches. A layer that would be in two branches at once means that branches cross, which sums of
//! branches cannot say.

use std::collections::HashSet;

use riemla::nn::{Activation, LayerSpec, NetworkSpec, Shape};

use super::chain::{Chain, Data, Part};
use super::layout;
use super::{Problem, Result};

/// Deepest nesting of branches.
const MAX_DEPTH: usize = 32;

/// The network of a graph.
pub struct Finished {
    pub network: NetworkSpec,
    pub theta: Vec<f64>,
    pub notes: Vec<String>,
    /// Whether a final sigmoid was left out.
    pub sigmoid: bool,
}

impl Chain {
    /// The network up to `data`.
    pub fn finish(mut self, data: &Data) -> Result<Finished> {
        let (data, axis) = self.features(data)?;
        if layout::order(&axis).is_some() {
            let problem =
                "the outputs are in another order than the last layer's; leave out the last Transpose";
            return Err(Problem::Unsupported(problem.into()));
        }
        let (end, sigmoid) = self.without_sigmoid(data.from);
        let tree = Tree::new(&self);
        let mut order = Order { tree: &tree, chain: &self, layers: Vec::new(), seen: HashSet::new() };
        let layers = order.path(end, None, 0)?;
        let order = order.layers;
        let scales = layers_of(&layers).filter(|spec| matches!(spec, LayerSpec::Scale { .. })).count();
        let mut theta = Vec::new();
        for part in order {
            if let Part::Layer { weights, bias, .. } = &self.parts[part].part {
                theta.extend(weights);
                theta.extend(bias.iter().flatten());
            }
        }
        for (what, count) in &self.merged {
            let times = if *count == 1 { String::new() } else { format!(" ({count} times)") };
            self.notes.push(format!("{what} is merged into the weights of the layer beside it{times}"));
        }
        if scales > 0 {
            self.notes.push(format!(
                "{scales} normalisations or factors stand between no two layers with weights: each became a scale layer"
            ));
        }
        let network = NetworkSpec { input: self.input, layers };
        Ok(Finished { network, theta, notes: self.notes, sigmoid })
    }

    /// The end without a final sigmoid of a network with one output, which the likelihood applies.
    fn without_sigmoid(&self, end: Option<usize>) -> (Option<usize>, bool) {
        let last = end.map(|end| &self.parts[end]);
        match last.map(|last| (&last.part, last.shape)) {
            Some((
                Part::Layer {
                    spec: LayerSpec::Activation { function: Activation::Sigmoid },
                    from: Some(before),
                    ..
                },
                Shape::Features(1),
            )) => (Some(*before), true),
            _ => (end, false),
        }
    }
}

/// All layers of a description, those in branches included.
fn layers_of(layers: &[LayerSpec]) -> Box<dyn Iterator<Item = &LayerSpec> + '_> {
    Box::new(layers.iter().flat_map(|layer| match layer {
        LayerSpec::Residual { body, shortcut } => Box::new(layers_of(body).chain(layers_of(shortcut))),
        other => Box::new(std::iter::once(other)) as Box<dyn Iterator<Item = &LayerSpec> + '_>,
    }))
}

/// The tree of dominators; none is the network's input.
struct Tree {
    parents: Vec<Option<usize>>,
    depths: Vec<usize>,
}

impl Tree {
    fn new(chain: &Chain) -> Self {
        let mut tree = Self { parents: Vec::new(), depths: Vec::new() };
        for built in &chain.parts {
            let parent = match built.part {
                Part::Layer { from, .. } => from,
                Part::Sum { from: [a, b] } => tree.common(a, b),
            };
            tree.depths.push(tree.depth(parent) + 1);
            tree.parents.push(parent);
        }
        tree
    }

    fn depth(&self, node: Option<usize>) -> usize {
        node.map_or(0, |node| self.depths[node])
    }

    fn common(&self, mut a: Option<usize>, mut b: Option<usize>) -> Option<usize> {
        while a != b {
            if self.depth(a) >= self.depth(b) {
                a = a.and_then(|a| self.parents[a]);
            } else {
                b = b.and_then(|b| self.parents[b]);
            }
        }
        a
    }
}

/// The layers in the order of the description.
struct Order<'a> {
    tree: &'a Tree,
    chain: &'a Chain,
    layers: Vec<usize>,
    seen: HashSet<usize>,
}

impl Order<'_> {
    /// The layers after `start` up to `end`, one after another.
    fn path(&mut self, end: Option<usize>, start: Option<usize>, depth: usize) -> Result<Vec<LayerSpec>> {
        if depth > MAX_DEPTH {
            let problem = format!("its branches are nested more than {MAX_DEPTH} times");
            return Err(Problem::Unsupported(problem));
        }
        let mut nodes = Vec::new();
        let mut node = end;
        while let Some(inner) = node.filter(|_| node != start) {
            nodes.push(inner);
            node = self.tree.parents[inner];
        }
        let mut layers = Vec::with_capacity(nodes.len());
        for node in nodes.into_iter().rev() {
            if !self.seen.insert(node) {
                let problem =
                    "branches cross: a layer belongs to two branches that do not begin or end together";
                return Err(Problem::Unsupported(problem.into()));
            }
            match &self.chain.parts[node].part {
                Part::Layer { spec, .. } => {
                    layers.push(spec.clone());
                    self.layers.push(node);
                }
                Part::Sum { from } => layers.push(self.sum(*from, self.tree.parents[node], depth)?),
            }
        }
        Ok(layers)
    }

    /// The branch with more layers is the body; the other one, which may be empty, the shortcut.
    fn sum(&mut self, from: [Option<usize>; 2], start: Option<usize>, depth: usize) -> Result<LayerSpec> {
        let length = |end: Option<usize>| self.tree.depth(end) - self.tree.depth(start);
        let [a, b] = from;
        let (long, short) = if length(a) >= length(b) { (a, b) } else { (b, a) };
        let body = self.path(long, start, depth + 1)?;
        let shortcut = self.path(short, start, depth + 1)?;
        if body.is_empty() {
            return Err(Problem::Unsupported("it adds a tensor to itself".into()));
        }
        Ok(LayerSpec::Residual { body, shortcut })
    }
}
