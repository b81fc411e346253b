//! Buffers of passes, owned by the caller: what every layer made, and adjoints under way.

use super::graph::{Edge, Node, Operation};
use super::network::Network;
use super::storage::{Keep, Storage};
use crate::linalg::vector::axpy;

/// One Taylor coefficient of the layers' outputs: values, tangents or second coefficients.
#[derive(Debug, Clone)]
pub struct Trace {
    pub(super) n: usize,
    keep: Keep,
    storage: Storage,
    buffers: Vec<Vec<f64>>,
}

impl Trace {
    /// Buffers for `n` samples of the network: the outputs of all layers.
    pub fn new(network: &Network, n: usize) -> Self {
        Self::keeping(network, n, Keep::All)
    }

    /// Buffers for values alone, as little as derivatives can be taken from.
    pub fn of_values(network: &Network, n: usize) -> Self {
        Self::keeping(network, n, Keep::Derivatives)
    }

    /// Buffers for values of which only the network's output is wanted.
    pub fn of_output(network: &Network, n: usize) -> Self {
        Self::keeping(network, n, Keep::Output)
    }

    fn keeping(network: &Network, n: usize, keep: Keep) -> Self {
        let storage = Storage::new(&network.nodes, keep);
        let buffers = storage.rooms.iter().map(|room| vec![0.0; room * n]).collect();
        Self { n, keep, storage, buffers }
    }

    /// Changes the number of samples; allocates only beyond the largest number so far.
    pub fn resize(&mut self, n: usize) {
        self.n = n;
        for (buffer, room) in self.buffers.iter_mut().zip(&self.storage.rooms) {
            buffer.resize(room * n, 0.0);
        }
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The network's output, outputs × n with samples contiguous.
    pub fn output(&self) -> &[f64] {
        self.storage.place.len().checked_sub(1).map_or(&[], |last| self.output_of(last))
    }

    /// The output of a node, if it was kept.
    pub(super) fn output_of(&self, node: usize) -> &[f64] {
        &self.buffers[self.storage.place[node]][..self.storage.widths[node] * self.n]
    }

    /// What comes along an edge, given the network's input.
    pub(super) fn input<'a>(&'a self, edge: Edge, x: &'a [f64]) -> &'a [f64] {
        edge.from.map_or(x, |from| self.output_of(from))
    }

    /// Whether a node overwrites what comes along an edge.
    pub(super) fn overwrites(&self, node: usize, edge: Edge) -> bool {
        edge.from.is_some_and(|from| self.storage.place[from] == self.storage.place[node])
    }

    /// Whether the outputs of all nodes are there, as tangents need it.
    pub(super) fn keeps_all(&self) -> bool {
        self.keep == Keep::All
    }

    /// Whether derivatives can be taken at these values.
    pub(super) fn keeps_derivatives(&self) -> bool {
        self.keep != Keep::Output
    }

    /// Takes the buffer of a node's output out, to write to it while others are read.
    pub(super) fn take(&mut self, node: usize) -> Vec<f64> {
        std::mem::take(&mut self.buffers[self.storage.place[node]])
    }

    /// Puts it back.
    pub(super) fn put(&mut self, node: usize, buffer: Vec<f64>) {
        self.buffers[self.storage.place[node]] = buffer;
    }
}

/// Buffers of a reverse pass: adjoints of the outputs of those layers that are under way.
#[derive(Debug, Clone)]
pub struct Adjoint {
    slots: Vec<Vec<f64>>,
    /// An adjoint that is added to one which is there already.
    more: Vec<f64>,
}

impl Adjoint {
    /// Buffers for `n` samples of the network.
    pub fn new(network: &Network, n: usize) -> Self {
        let mut slots = Vec::new();
        let mut more = 0;
        for node in &network.nodes {
            if slots.len() <= node.slot {
                slots.resize(node.slot + 1, Vec::new());
            }
            let needed = node.output.len() * n;
            if slots[node.slot].len() < needed {
                slots[node.slot].resize(needed, 0.0);
            }
            if let Operation::Layer { input: Edge { from: Some(from), first: false }, .. } = node.operation {
                more = network.nodes[from].output.len().max(more);
            }
        }
        Self { slots, more: vec![0.0; more * n] }
    }

    /// The seed of the pass: adjoint of the network's output, outputs × n. It is used up.
    pub fn seed(&mut self, network: &Network, n: usize) -> &mut [f64] {
        match network.nodes.last() {
            Some(node) => &mut self.slots[node.slot][..node.output.len() * n],
            None => &mut [],
        }
    }

    /// The adjoint of a node's output, and where the one of its input goes; none if nobody asks for it.
    pub(super) fn step(
        &mut self,
        node: &Node,
        input: Option<Below<'_>>,
        n: usize,
    ) -> (&[f64], Option<&mut [f64]>) {
        let width = node.output.len() * n;
        let Some(Below { source, first }) = input else { return (&self.slots[node.slot][..width], None) };
        let below = source.output.len() * n;
        if !first {
            return (&self.slots[node.slot][..width], Some(&mut self.more[..below]));
        }
        let [above, to] = two(&mut self.slots, node.slot, source.slot);
        (&above[..width], Some(&mut to[..below]))
    }

    /// Ends a step: an adjoint that is not the first one of its node is added to it.
    pub(super) fn merge(&mut self, input: Option<Below<'_>>, n: usize) {
        if let Some(Below { source, first: false }) = input {
            let len = source.output.len() * n;
            axpy(1.0, &self.more[..len], &mut self.slots[source.slot][..len]);
        }
    }

    /// The step of a sum: the adjoint goes to each input as it is.
    pub(super) fn pass_on(&mut self, node: &Node, input: Option<Below<'_>>, n: usize) {
        let Some(Below { source, first }) = input else { return };
        let len = node.output.len() * n;
        let [above, to] = two(&mut self.slots, node.slot, source.slot);
        if first {
            to[..len].copy_from_slice(&above[..len])
        } else {
            axpy(1.0, &above[..len], &mut to[..len])
        }
    }
}

/// Two different buffers.
fn two(slots: &mut [Vec<f64>], a: usize, b: usize) -> [&mut [f64]; 2] {
    // A node's buffer is given back only after its inputs have theirs, so that they differ.
    slots.get_disjoint_mut([a, b]).map_or([&mut [], &mut []], |pair| pair.map(Vec::as_mut_slice))
}

/// The node an adjoint is wanted for.
#[derive(Clone, Copy)]
pub(super) struct Below<'a> {
    pub(super) source: &'a Node,
    pub(super) first: bool,
}
