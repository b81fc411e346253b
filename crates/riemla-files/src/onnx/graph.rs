//! Walks the graph from the input to the output.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use riemla::objective::Likelihood;

use super::apply::State;
use super::branches::Finished;
use super::chain::{Chain, Data};
use super::constant::{Constant, Supply, is_real, type_name};
use super::messages::{Declared, Graph, Node};
use super::operation::{Operation, operation};
use super::values::Known;
use super::{ImportedNetwork, Problem, Problems};

/// Most operations that the output may depend on.
const MAX_NODES: usize = 10_000;

type Result<T> = std::result::Result<T, Problems>;

fn invalid<T>(problem: impl Into<String>) -> Result<T> {
    Err(Problem::Invalid(problem.into()).into())
}

/// How a node is called in messages.
fn label(node: &Node<'_>) -> String {
    let name = if node.name.is_empty() { node.outputs.first() } else { Some(&node.name) };
    format!("{} (`{}`)", node.operator, name.map_or("", |name| name.as_ref()))
}

/// The network of a graph.
pub fn import(graph: &Graph<'_>, directory: Option<PathBuf>, bytes: usize) -> Result<ImportedNetwork> {
    let producers = producers(graph)?;
    let output = match graph.outputs.as_slice() {
        [output] => output,
        all => return invalid(format!("it has {} outputs, one is needed", all.len())),
    };
    let nodes = needed_nodes(graph, &producers, &output.name)?;
    let uses = uses(graph, &nodes, &output.name);
    let operations = operations(graph, nodes)?;
    let (input, dims, batch) = input(graph)?;
    let (chain, data) = Chain::new(&dims)?;
    let mut state = State { chain, supply: Supply::new(directory, bytes), batch };
    let data = Data { sole: uses.get(input).is_none_or(|n| *n == 1), ..data };
    let mut known: HashMap<&str, Known> = HashMap::from([(input, Known::Data(data))]);
    let initializers: HashMap<&str, _> =
        graph.initializers.iter().map(|tensor| (tensor.name.as_ref(), tensor)).collect();
    for (index, operation) in operations {
        let node = &graph.nodes[index];
        let at = |problem: Problem| problem.at(&label(node));
        for name in node.inputs.iter().map(AsRef::as_ref) {
            if let (false, Some(tensor)) = (known.contains_key(name), initializers.get(name)) {
                known.insert(name, Known::Constant(Constant::decode(tensor, &mut state.supply).map_err(at)?));
            }
        }
        let inputs = inputs(node, index, &known, &producers, graph)?;
        let mut made = state.apply(&operation, &inputs).map_err(at)?;
        if let Some(name) = node.outputs.first() {
            if let (Known::Data(data), true) = (&mut made, uses.get(name.as_ref()).is_some_and(|n| *n > 1)) {
                *data = state.chain.shared(data).map_err(at)?;
            }
            known.insert(name, made);
        }
    }
    let Some(Known::Data(data)) = known.get(output.name.as_ref()) else {
        return invalid(format!("its output `{}` does not depend on its input", output.name));
    };
    finish(state.chain, data, &output.name)
}

/// How often each tensor is used.
fn uses<'g>(graph: &'g Graph<'_>, nodes: &[usize], output: &'g str) -> HashMap<&'g str, usize> {
    let mut uses = HashMap::from([(output, 1)]);
    for name in nodes.iter().flat_map(|index| &graph.nodes[*index].inputs) {
        *uses.entry(name.as_ref()).or_default() += 1;
    }
    uses
}

/// What the nodes do; all that cannot be imported, at once.
fn operations<'n, 'a>(graph: &'n Graph<'a>, nodes: Vec<usize>) -> Result<Vec<(usize, Operation<'n, 'a>)>> {
    let mut operations = Vec::with_capacity(nodes.len());
    let mut problems = Vec::new();
    for index in nodes {
        match operation(&graph.nodes[index]) {
            Ok(operation) => operations.push((index, operation)),
            Err(found) => {
                let label = label(&graph.nodes[index]);
                problems.extend(found.into_iter().map(|problem| format!("{label}: {problem}")));
            }
        }
    }
    if problems.is_empty() { Ok(operations) } else { Err(Problems::Unsupported(problems)) }
}

/// Which node makes each tensor, and as which of its outputs.
fn producers<'g>(graph: &'g Graph<'_>) -> Result<HashMap<&'g str, (usize, usize)>> {
    let mut producers = HashMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        for (number, name) in node.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if producers.insert(name.as_ref(), (index, number)).is_some() {
                return invalid(format!("two operations make tensor `{name}`"));
            }
        }
    }
    Ok(producers)
}

/// The nodes that the output depends on, in the order of the file.
fn needed_nodes(
    graph: &Graph<'_>,
    producers: &HashMap<&str, (usize, usize)>,
    output: &str,
) -> Result<Vec<usize>> {
    let mut found = HashSet::new();
    let mut open = vec![output];
    while let Some(name) = open.pop() {
        if let Some((index, _)) = producers.get(name).filter(|(index, _)| found.insert(*index)) {
            open.extend(graph.nodes[*index].inputs.iter().map(AsRef::as_ref));
        }
    }
    if found.len() > MAX_NODES {
        return invalid(format!(
            "its output depends on {} operations, at most {MAX_NODES} can be",
            found.len()
        ));
    }
    let mut nodes: Vec<usize> = found.into_iter().collect();
    nodes.sort_unstable();
    Ok(nodes)
}

/// The one input that is not a constant: its name, the dimensions of a sample, and the size of the
/// batch if it is fixed.
fn input<'g>(graph: &'g Graph<'_>) -> Result<(&'g str, Vec<usize>, Option<i64>)> {
    let constants: HashSet<&str> = graph.initializers.iter().map(|tensor| tensor.name.as_ref()).collect();
    let free = graph.inputs.iter().filter(|input| !constants.contains(input.name.as_ref()));
    let free: Vec<&Declared<'_>> = free.collect();
    let [input] = free.as_slice() else {
        return invalid(format!("it has {} inputs, one is needed", free.len()));
    };
    let name = input.name.as_ref();
    if let Some(found) = input.data_type.filter(|found| !is_real(*found)) {
        let problem = format!("input `{name}` has type {}, real numbers are needed", type_name(found));
        return Err(Problem::Unsupported(problem).into());
    }
    let Some((batch, rest)) = input.dims.as_deref().and_then(|dims| dims.split_first()) else {
        return invalid(format!("input `{name}` has no shape; export it with one"));
    };
    let mut dims = Vec::with_capacity(rest.len());
    for (axis, size) in rest.iter().enumerate() {
        match size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0) {
            Some(size) => dims.push(size),
            None => {
                let axis = axis + 1;
                let problem = format!("input `{name}` has no fixed size along axis {axis}");
                return invalid(format!("{problem}; only the batch may vary: export it with fixed sizes"));
            }
        }
    }
    if !(1..=7).contains(&dims.len()) {
        return invalid(format!("input `{name}` has {} axes besides the batch", dims.len()));
    }
    Ok((name, dims, *batch))
}

/// What is known of a node's inputs.
fn inputs<'k>(
    node: &Node<'_>,
    index: usize,
    known: &'k HashMap<&str, Known>,
    producers: &HashMap<&str, (usize, usize)>,
    graph: &Graph<'_>,
) -> Result<Vec<Option<&'k Known>>> {
    let find = |name: &str| {
        if name.is_empty() {
            return Ok(None);
        }
        if let Some(found) = known.get(name) {
            return Ok(Some(found));
        }
        let label_here = label(node);
        match producers.get(name) {
            None => invalid(format!("{label_here} uses `{name}`, which nobody makes")),
            Some((from, number)) if *from < index && *number > 0 => {
                let from = label(&graph.nodes[*from]);
                let problem = format!("{label_here}: it uses `{name}`, a second output of {from}");
                Err(Problem::Unsupported(problem).into())
            }
            Some(_) => invalid(format!(
                "{label_here} uses `{name}` before it is made: the graph has a cycle or is out of order"
            )),
        }
    };
    node.inputs.iter().map(|name| find(name)).collect()
}

fn finish(chain: Chain, data: &Data, output: &str) -> Result<ImportedNetwork> {
    let ending = data.ending;
    let end = Data { ending: None, ..data.clone() };
    let Finished { network, theta, mut notes, sigmoid } =
        chain.finish(&end).map_err(|problem| problem.at(&format!("output `{output}`")))?;
    let (name, likelihood) = match ending {
        Some(name) => (name, Some(Likelihood::Categorical)),
        None if sigmoid => ("Sigmoid", Some(Likelihood::Bernoulli)),
        None => return Ok(ImportedNetwork { network, theta, notes, likelihood: None }),
    };
    let applies = if sigmoid { "Bernoulli" } else { "categorical" };
    notes.push(format!("the final {name} is left out: the {applies} likelihood applies it"));
    Ok(ImportedNetwork { network, theta, notes, likelihood })
}
