//! Tensors with any names matched with the layers of a network.
//!
//! A module of the file (`fc1`, with `fc1.weight` and `fc1.bias`) fits a layer if their tensors have the same
//! shapes. Where several modules fit several layers, the numbers in their names decide (`fc2` before `fc10`), as
//! long as the names are the same otherwise; safetensors files are sorted by name, so that their own order says
//! nothing. Names that all begin with a number of their own say the order of all tensors.

use std::collections::BTreeMap;

use riemla::nn::{LayerSpec, Network, NetworkSpec, Parameter};

use super::ImportedWeights;
use crate::tensors::TensorFile;
use crate::words::some;
use crate::{Error, Result};

/// Added to variances by PyTorch's batch normalisation unless it is told otherwise.
const EPSILON: f64 = 1e-5;

/// Names and shapes of the tensors of a module or layer, and whether it is a batch normalisation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    normalisation: bool,
    tensors: Vec<(String, Vec<usize>)>,
}

impl std::fmt::Display for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tensors: Vec<String> =
            self.tensors.iter().map(|(name, dims)| format!("{name} {dims:?}")).collect();
        f.write_str(&tensors.join(", "))
    }
}

/// A module of the file: its tensors by the last part of their names.
#[derive(Debug)]
struct Module {
    name: String,
    /// Full names and dimensions.
    tensors: BTreeMap<String, (String, Vec<usize>)>,
    /// Number that begins its first tensor's name, if all have such.
    place: Option<u64>,
}

/// A layer of the network.
struct Place<'a> {
    name: &'a str,
    signature: Signature,
    parameters: Vec<&'a Parameter>,
}

const COUNTER: &str = "num_batches_tracked";
const MEAN: &str = "running_mean";
const VARIANCE: &str = "running_var";

impl Module {
    fn normalisation(&self) -> bool {
        self.tensors.contains_key(MEAN) && self.tensors.contains_key(VARIANCE)
    }

    fn signature(&self) -> Signature {
        let own = |name: &str| ![MEAN, VARIANCE, COUNTER].contains(&name);
        let tensors = self.tensors.iter().filter(|(name, _)| own(name));
        let mut tensors: Vec<_> = tensors.map(|(name, (_, dims))| (name.clone(), dims.clone())).collect();
        let normalisation = self.normalisation();
        if let (true, Some((_, dims))) = (normalisation && tensors.is_empty(), self.tensors.get(MEAN)) {
            tensors = vec![("bias".into(), dims.clone()), ("weight".into(), dims.clone())];
        }
        Signature { normalisation, tensors }
    }

    /// The name without its numbers, and the numbers.
    fn numbered(&self) -> (String, Vec<u64>) {
        let (mut stem, mut numbers, mut digits) = (String::new(), Vec::new(), String::new());
        for c in self.name.chars().chain(['.']) {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            if !digits.is_empty() {
                stem.push('#');
                numbers.push(digits.parse().unwrap_or(u64::MAX));
                digits.clear();
            }
            stem.push(c);
        }
        (stem, numbers)
    }
}

/// The modules of a file.
fn modules(file: &TensorFile) -> Result<Vec<Module>> {
    let there = file.list()?;
    // `0007.conv.weight`: every tensor with a number of its own.
    let numbers =
        there.keys().map(|name| name.split_once('.').and_then(|(first, _)| first.parse::<u64>().ok()));
    let numbers: Option<Vec<u64>> = numbers.collect();
    let distinct = |numbers: &Vec<u64>| {
        numbers.iter().collect::<std::collections::BTreeSet<_>>().len() == numbers.len() && numbers.len() > 1
    };
    let ordered = numbers.filter(distinct);
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    for (i, (full, (_, dims))) in there.iter().enumerate() {
        let place = ordered.as_ref().map(|numbers| numbers[i]);
        let name = if place.is_some() { full.split_once('.').map_or("", |(_, rest)| rest) } else { full };
        let (module, last) = name.rsplit_once('.').unwrap_or(("", name));
        let module = modules.entry(module.to_string()).or_insert_with(|| Module {
            name: module.into(),
            tensors: BTreeMap::new(),
            place,
        });
        module.place = module.place.min(place);
        module.tensors.insert(last.into(), (full.clone(), dims.clone()));
    }
    Ok(modules.into_values().collect())
}

/// The layers of a network that have parameters.
fn places<'a>(spec: &NetworkSpec, network: &'a Network, normalisations: bool) -> Vec<Place<'a>> {
    let mut places: Vec<Place<'a>> = Vec::new();
    for parameter in network.parameters() {
        let (name, last) = parameter.name.rsplit_once('.').unwrap_or(("", &parameter.name));
        if places.last().is_none_or(|place| place.name != name) {
            let scale = matches!(layer(&spec.layers, name), Some(LayerSpec::Scale { .. }));
            let signature = Signature { normalisation: scale && normalisations, tensors: Vec::new() };
            places.push(Place { name, signature, parameters: Vec::new() });
        }
        if let Some(place) = places.last_mut() {
            place.parameters.push(parameter);
            place.signature.tensors.push((last.into(), parameter.dims.clone()));
            place.signature.tensors.sort();
        }
    }
    places
}

/// The layer with a name such as `2` or `3.body.0`.
fn layer<'a>(layers: &'a [LayerSpec], name: &str) -> Option<&'a LayerSpec> {
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let found = layers.get(first.parse::<usize>().ok()?)?;
    let (LayerSpec::Residual { body, shortcut }, Some((branch, rest))) = (found, rest.split_once('.')) else {
        return rest.is_empty().then_some(found);
    };
    layer(if branch == "body" { body } else { shortcut }, rest)
}

/// The weights of a network from tensors with any names.
pub(super) fn by_shape(file: &TensorFile, spec: &NetworkSpec, network: &Network) -> Result<ImportedWeights> {
    let modules = modules(file)?;
    let places = places(spec, network, modules.iter().any(Module::normalisation));
    let mut groups: BTreeMap<Signature, Vec<&Module>> = BTreeMap::new();
    for module in &modules {
        groups.entry(module.signature()).or_default().push(module);
    }
    let mut problems = Vec::new();
    for (signature, modules) in &mut groups {
        let needed = places.iter().filter(|place| place.signature == *signature).count();
        if modules.len() != needed {
            let names: Vec<String> = modules.iter().map(|module| format!("`{}`", module.name)).collect();
            let (names, kind) =
                (some(&names, 3), if signature.normalisation { " (batch normalisation)" } else { "" });
            problems.push(format!(
                "{names}{kind} with {signature}: the network has {needed} layers of these shapes"
            ));
        }
        problems.extend(sort(modules));
    }
    for place in places.iter().filter(|place| !groups.contains_key(&place.signature)) {
        problems.push(format!("nothing has the shapes of layer {}: {}", place.name, place.signature));
    }
    if !problems.is_empty() {
        return Err(Error::Tensors { file: file.name().into(), problems });
    }
    let mut theta = Vec::with_capacity(network.dim());
    let mut pairs = Vec::new();
    let mut normalised = 0;
    for place in &places {
        let Some(module) =
            groups.get_mut(&place.signature).filter(|group| !group.is_empty()).map(|g| g.remove(0))
        else {
            continue;
        };
        pairs.push(format!("{} → {}", module.name, place.name));
        normalised += usize::from(module.normalisation());
        theta.extend(values(file, module, place)?);
    }
    let mut notes = vec![format!("matched by shapes and the order of names: {}", some(&pairs, 12))];
    if normalised > 0 {
        notes.push(format!(
            "means and variances of {normalised} batch normalisations are part of the scale layers (epsilon {EPSILON})"
        ));
    }
    Ok(ImportedWeights { theta, notes })
}

/// Puts modules of the same shapes in order, or says why that cannot be done.
fn sort(modules: &mut [&Module]) -> Option<String> {
    if modules.iter().all(|module| module.place.is_some()) {
        modules.sort_by_key(|module| module.place);
        return None;
    }
    modules.sort_by_cached_key(|module| module.numbered());
    let other = modules.iter().find(|module| module.numbered().0 != modules[0].numbered().0)?;
    Some(format!(
        "`{}` and `{}` have the same shapes, and their names do not say which is first; save them with numbers: \
         save_file({{f\"{{i:04}}.{{k}}\": v.contiguous() for i, (k, v) in enumerate(model.state_dict().items())}}, \
         \"net.safetensors\")",
        modules[0].name, other.name
    ))
}

/// The numbers of a layer's parameters, one tensor after another.
fn values(file: &TensorFile, module: &Module, place: &Place<'_>) -> Result<Vec<f64>> {
    let tensor =
        |last: &str| module.tensors.get(last).map(|(full, dims)| file.get_checked(full, dims)).transpose();
    if !module.normalisation() {
        let mut all = Vec::new();
        for parameter in &place.parameters {
            let last = parameter.name.rsplit_once('.').map_or("", |(_, last)| last);
            all.extend(tensor(last)?.unwrap_or_default());
        }
        return Ok(all);
    }
    let (mean, variance) = (tensor(MEAN)?.unwrap_or_default(), tensor(VARIANCE)?.unwrap_or_default());
    if let Some(bad) = variance.iter().find(|v| **v < 0.0) {
        let problems = vec![format!("`{}.{VARIANCE}` holds {bad}, which is no variance", module.name)];
        return Err(Error::Tensors { file: file.name().into(), problems });
    }
    let factors = tensor("weight")?.unwrap_or_else(|| vec![1.0; mean.len()]);
    let shifts = tensor("bias")?.unwrap_or_else(|| vec![0.0; mean.len()]);
    let factors: Vec<f64> = factors.iter().zip(&variance).map(|(w, v)| w / (v + EPSILON).sqrt()).collect();
    let moved = shifts.iter().zip(&mean).zip(&factors).map(|((shift, mean), factor)| shift - mean * factor);
    Ok(factors.iter().copied().chain(moved).collect())
}
