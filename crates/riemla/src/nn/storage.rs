//! Which buffers a forward pass writes to: outputs that nobody will ask for again are overwritten.

use super::graph::{Node, Operation};
use super::layer::InPlace;

/// What a forward pass leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The output of every node.
    All,
    /// What derivatives need: a layer whose derivatives follow from its output overwrites its input.
    Derivatives,
    /// The network's output alone; a stack of layers needs two buffers.
    Output,
}

/// A buffer for the output of each node.
#[derive(Debug, Clone)]
pub(super) struct Storage {
    /// The buffer of each node.
    pub(super) place: Vec<usize>,
    /// Numbers per sample of each node's output.
    pub(super) widths: Vec<usize>,
    /// Numbers per sample of each buffer.
    pub(super) rooms: Vec<usize>,
}

impl Storage {
    pub(super) fn new(nodes: &[Node], keep: Keep) -> Self {
        let readers = Readers::new(nodes);
        let mut storage = Self {
            place: Vec::with_capacity(nodes.len()),
            widths: nodes.iter().map(|node| node.output.len()).collect(),
            rooms: Vec::new(),
        };
        // Buffers whose content some layer's derivatives need, and those that are free again.
        let (mut needed, mut free): (Vec<bool>, Vec<usize>) = (Vec::new(), Vec::new());
        for (l, node) in nodes.iter().enumerate() {
            let overwritten = match (keep, in_place(node)) {
                (Keep::Output, Some((from, _))) => readers.only(from, l).then(|| storage.place[from]),
                (Keep::Derivatives, Some((from, InPlace::Derivatives))) => {
                    let place = storage.place[from];
                    (readers.only(from, l) && !needed[place]).then_some(place)
                }
                _ => None,
            };
            let place = overwritten.or_else(|| free.pop()).unwrap_or_else(|| {
                storage.rooms.push(0);
                needed.push(false);
                storage.rooms.len() - 1
            });
            storage.place.push(place);
            storage.rooms[place] = storage.rooms[place].max(node.output.len());
            needed[place] |= node.layer().is_some_and(|layer| layer.needs_output());
            if keep == Keep::Output {
                let done = readers.last_read_by(l).map(|from| storage.place[from]);
                free.extend(done.filter(|&other| other != place));
            }
        }
        storage
    }

    /// Numbers per sample in all.
    pub(super) fn len(&self) -> usize {
        self.rooms.iter().sum()
    }
}

/// The node whose output a layer can overwrite, and what is possible then.
fn in_place(node: &Node) -> Option<(usize, InPlace)> {
    let Operation::Layer { layer, input } = &node.operation else { return None };
    let from = input.from?;
    Some((from, layer.in_place())).filter(|(_, possible)| *possible != InPlace::No)
}

/// Who reads the output of each node, in order.
struct Readers(Vec<Vec<usize>>);

impl Readers {
    fn new(nodes: &[Node]) -> Self {
        let mut readers = vec![Vec::new(); nodes.len()];
        for (l, node) in nodes.iter().enumerate() {
            for from in node.edges().iter().filter_map(|edge| edge.from) {
                readers[from].push(l);
            }
        }
        Self(readers)
    }

    /// Whether `reader` is the only one of node `from`.
    fn only(&self, from: usize, reader: usize) -> bool {
        self.0[from] == [reader]
    }

    /// The nodes that nobody reads after `reader`.
    fn last_read_by(&self, reader: usize) -> impl Iterator<Item = usize> {
        let done = move |readers: &Vec<usize>| readers.last() == Some(&reader);
        self.0.iter().enumerate().filter(move |(_, readers)| done(readers)).map(|(from, _)| from)
    }
}
