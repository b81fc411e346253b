//! Weights of a network as one tensor per parameter, with the names of a PyTorch state dict.

mod matching;

use std::collections::BTreeMap;
use std::path::Path;

use riemla::nn::{Network, NetworkSpec, Parameter};

use crate::tensors::{TensorFile, TensorRef, write_tensors};
use crate::{Error, Result};

/// Weights from a state dict.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedWeights {
    /// The weights, flat, in the order of the network's parameters.
    pub theta: Vec<f64>,
    /// How tensors were matched with layers where their names are not those of `torch.nn.Sequential`.
    pub notes: Vec<String>,
}

/// Reads the weights of a network from a PyTorch state dict saved as safetensors.
///
/// Names are those of `torch.nn.Sequential` (`0.weight`, `0.bias`, `2.weight`, …), all of them
/// with the same prefix (`model.`, `net.0.`) or none; or any others (`fc1.weight`): then tensors are
/// matched with layers by their shapes, and by the numbers in their names where several layers have the same
/// shapes. Where that does not decide it, nothing is guessed. Running means and variances of batch
/// normalisations become part of the factors and shifts of scale layers.
/// F64, F32, F16 and BF16 are accepted. All mismatches are listed in one error.
pub fn import_state_dict(path: &Path, spec: &NetworkSpec) -> Result<ImportedWeights> {
    let file = TensorFile::open(path)?;
    let by_name = match read_state_dict(&file, spec) {
        Err(problems @ Error::Tensors { .. }) => problems,
        other => return other.map(|theta| ImportedWeights { theta, notes: Vec::new() }),
    };
    let network = crate::spec::network(file.name(), spec)?;
    let there = file.list()?;
    let names: Vec<&str> = there.keys().map(String::as_str).collect();
    let prefix = prefix_of(&names, network.parameters());
    let found = network.parameters().iter().filter(|p| there.contains_key(&format!("{prefix}{}", p.name)));
    // Where most names are right they say best what is wrong.
    let right = 2 * found.count() > network.parameters().len();
    match matching::by_shape(&file, spec, &network) {
        Err(Error::Tensors { .. }) if right => Err(by_name),
        matched => matched,
    }
}

/// Reads the weights of a network from a file in memory whose names are those of `torch.nn.Sequential`.
pub fn read_state_dict(file: &TensorFile, spec: &NetworkSpec) -> Result<Vec<f64>> {
    let network = crate::spec::network(file.name(), spec)?;
    let there = file.list()?;
    let names: Vec<&str> = there.keys().map(String::as_str).collect();
    let prefix = prefix_of(&names, network.parameters());
    let mut problems = Vec::new();
    // Only as long as the file turns out to have tensors for it.
    let mut theta = Vec::new();
    for parameter in network.parameters() {
        let full = format!("{prefix}{}", parameter.name);
        let Some((dtype, dims)) = there.get(&full) else {
            problems.push(format!("`{full}` {:?} is missing", parameter.dims));
            continue;
        };
        if *dims != parameter.dims {
            problems.push(format!("`{full}` has shape {dims:?}, the network needs {:?}", parameter.dims));
            continue;
        }
        match file.get_checked(&full, &parameter.dims) {
            Ok(values) => theta.extend(values),
            Err(Error::Dtype { accepted, .. }) => {
                problems.push(format!("`{full}` has type {dtype:?}; {accepted} can be read"));
            }
            Err(Error::Tensors { problems: found, .. }) => problems.extend(found),
            Err(other) => return Err(other),
        }
    }
    for (name, (_, dims)) in &there {
        let known = name.strip_prefix(&prefix).is_some_and(|rest| knows(network.parameters(), rest));
        if !known {
            problems.push(format!("`{name}` {dims:?} has no place in the network"));
        }
    }
    if problems.is_empty() { Ok(theta) } else { Err(Error::Tensors { file: file.name().into(), problems }) }
}

/// Writes the weights of a network so that PyTorch's `load_state_dict` takes them.
pub fn write_state_dict(path: &Path, network: &Network, theta: &[f64]) -> Result<()> {
    riemla::error::check_len("weights", network.dim(), theta.len())
        .map_err(Error::content(&crate::error::name(path)))?;
    let tensor = |p: &Parameter| TensorRef::new(&p.name, p.dims.clone(), &theta[p.range.clone()]);
    write_tensors(path, &network.parameters().iter().map(tensor).collect::<Vec<_>>())
}

fn knows(parameters: &[Parameter], name: &str) -> bool {
    parameters.iter().any(|parameter| parameter.name == name)
}

/// The prefix under which the most parameters are found; none if two are equally good.
fn prefix_of(names: &[&str], parameters: &[Parameter]) -> String {
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        for parameter in parameters {
            let prefix = name.strip_suffix(parameter.name.as_str());
            if let Some(prefix) = prefix.filter(|prefix| prefix.is_empty() || prefix.ends_with('.')) {
                *votes.entry(prefix).or_default() += 1;
            }
        }
    }
    let most = votes.values().copied().max().unwrap_or(0);
    let mut best = votes.iter().filter(|(_, count)| **count == most).map(|(prefix, _)| *prefix);
    match (best.next(), best.next()) {
        (Some(prefix), None) => prefix.to_string(),
        _ => String::new(),
    }
}
