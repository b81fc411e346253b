//! What a file or directory is.

use std::path::{Path, PathBuf};

use riemla::nn::{Network, NetworkSpec};
use riemla_files::idx::read_idx;
use riemla_files::members::{MEMBERS_FILE, members_of};
use riemla_files::model::MODEL_FILE;
use riemla_files::posterior::POSTERIOR_FILE;
use riemla_files::samples::{SAMPLES_FILE, read_samples};
use riemla_files::table::{Column, Values};
use riemla_files::tensors::TensorFile;
use riemla_files::{
    Format, Model, ReadOptions, RunConfig, RunInfo, SavedPosterior, Shard, Source, import_onnx,
    read_model_spec, read_table,
};
use serde_json::{Value, json};

use super::diagnostics::mixed_processors;
use super::draws::set_names;
use super::error::{Result, WorkflowError};
use super::memory;
use super::sample::SAMPLES_DIRECTORY;
use super::samplers::ChainRecord;

/// A name and its value.
type Property = (&'static str, Value);

/// A description: what it is, and its properties in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// What it is, in words.
    pub kind: &'static str,
    /// Names and values.
    pub properties: Vec<(&'static str, Value)>,
}

impl Description {
    fn new(kind: &'static str, properties: Vec<Property>) -> Self {
        Self { kind, properties }
    }

    /// As one JSON object.
    pub fn to_json(&self) -> Value {
        let mut object = serde_json::Map::new();
        object.insert("kind".into(), self.kind.into());
        object.extend(self.properties.iter().map(|(name, value)| (name.to_string(), value.clone())));
        Value::Object(object)
    }
}

/// Finds out what is at a path; `options` say how data are read.
pub fn inspect(path: &Path, options: ReadOptions) -> Result<Description> {
    if path.is_dir() {
        return directory(path);
    }
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "onnx" => onnx(path),
        "safetensors" | "pt" | "pth" => tensors(path),
        "toml" => spec(path),
        "json"
            if path.file_name().is_some_and(|name| {
                [MODEL_FILE, POSTERIOR_FILE, SAMPLES_FILE, MEMBERS_FILE].iter().any(|n| name == *n)
            }) =>
        {
            directory(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))
        }
        "json" => spec(path),
        "log" => log(path),
        _ => data(path, options),
    }
}

fn directory(path: &Path) -> Result<Description> {
    if let Some(members) = members_of(path)? {
        let one = |member: &PathBuf| {
            directory(member).map(|found| json!({ "directory": member, "is": found.to_json() }))
        };
        let described = members.iter().map(one).collect::<Result<Vec<Value>>>()?;
        let count = json!(members.len());
        return Ok(Description::new("members", vec![("count", count), ("members", described.into())]));
    }
    if path.join(POSTERIOR_FILE).is_file() {
        return posterior(path);
    }
    if path.join(MODEL_FILE).is_file() {
        return Ok(Description::new("model", model(&Model::read(path)?)?));
    }
    if path.join(SAMPLES_FILE).is_file() {
        return samples(path);
    }
    let shards = shards(path)?;
    if !shards.is_empty() {
        return Ok(Description::new("draws of shards, not merged yet", vec![("shards", json!(shards))]));
    }
    Err(WorkflowError::NotA {
        path: path.into(),
        expected: "directory of a model, a posterior or draws",
        remedy: "`riemla train`, `riemla fit` and `riemla sample` create them",
    })
}

/// What all networks have, and their parameters.
fn network(spec: &NetworkSpec) -> Result<(Vec<Property>, Property)> {
    let network = Network::new(spec)?;
    let parameters: Vec<String> =
        network.parameters().iter().map(|p| format!("{} {:?}", p.name, p.dims)).collect();
    let properties = vec![
        ("input", json!(spec.input.to_string())),
        ("outputs", json!(network.outputs())),
        ("weights", json!(network.dim())),
    ];
    Ok((properties, ("parameters", json!(parameters))))
}

fn model(model: &Model) -> Result<Vec<Property>> {
    let (mut properties, parameters) = network(&model.network)?;
    properties.push(parameters);
    properties.push(("likelihood", json!(model.likelihood)));
    properties.push(("prior_precision", json!(model.prior_precision)));
    if let Some(encoding) = &model.encoding {
        properties.push(("features", json!(encoding.columns(false))));
        properties.push(("target", json!(encoding.target_columns().join(", "))));
        properties.extend(encoding.classes().map(|classes| ("classes", json!(classes))));
    }
    properties.extend(model.training.as_ref().map(|training| ("training", json!(training))));
    Ok(properties)
}

fn posterior(path: &Path) -> Result<Description> {
    let saved = SavedPosterior::read(path)?;
    let laplace = &saved.laplace;
    let mut properties = model(&saved.model)?;
    properties.retain(|(name, _)| !["likelihood", "prior_precision"].contains(name));
    properties.extend([
        ("uncertain_weights", json!(laplace.gaussian.subset().len())),
        ("curvature", json!(saved.config.curvature)),
        ("structure", json!(saved.config.structure)),
        ("likelihood", json!(laplace.likelihood)),
        ("prior_precision", json!(saved.prior_precision())),
        ("log_marginal_likelihood", json!(laplace.log_marginal_likelihood)),
        ("gradient_norm", json!(laplace.gradient_norm)),
        ("rows", json!(saved.data.as_ref().map(|data| data.train.len()))),
        (
            "held_out_rows",
            json!(saved.data.as_ref().and_then(|data| data.validation.as_ref()).map(|data| data.len())),
        ),
        ("draws", json!(set_names(path)?)),
    ]);
    let shards = all_shards(path)?;
    if !shards.is_empty() {
        properties.push(("shards", json!(shards)));
    }
    Ok(Description::new("posterior", properties))
}

/// What the shards of a set have drawn.
fn shards(set: &Path) -> Result<Vec<String>> {
    let line = |(shard, log): (Shard, std::path::PathBuf)| {
        let draws = riemla_files::samples::inspect_log(&log)?.draws;
        Ok(format!("{shard}: {draws} draws"))
    };
    riemla_files::samples::shard_logs(set)?.into_iter().map(line).collect()
}

/// The same for all sets of a posterior that have shards.
fn all_shards(posterior: &Path) -> Result<serde_json::Map<String, Value>> {
    let sets = posterior.join(SAMPLES_DIRECTORY);
    let mut found = serde_json::Map::new();
    let Ok(entries) = std::fs::read_dir(&sets) else { return Ok(found) };
    for entry in entries.flatten() {
        let shards = shards(&entry.path())?;
        if !shards.is_empty() {
            found.insert(entry.file_name().to_string_lossy().into_owned(), json!(shards));
        }
    }
    Ok(found)
}

fn samples(path: &Path) -> Result<Description> {
    let samples = read_samples(path)?;
    let mut properties = run(&samples.run, samples.draws.len());
    match &samples.run.config {
        RunConfig::Posterior(config) => properties.extend([
            ("strength", json!(config.strength)),
            ("metric", json!(config.metric)),
            ("integrator", json!(config.integrator)),
            ("batch", json!(config.batch)),
        ]),
        RunConfig::Reference(config) => properties.push(("settings", json!(config))),
    }
    if let Some(chains) = ChainRecord::read(path, &samples.run)? {
        properties.push(("chains", json!(chains)));
    }
    let processors: std::collections::BTreeSet<&str> =
        samples.draws.iter().map(|draw| draw.processor.as_str()).filter(|kind| !kind.is_empty()).collect();
    properties.push(("processors", json!(processors)));
    properties.extend(mixed_processors(&samples.draws).map(|warning| ("warning", json!(warning))));
    let shards = shards(path)?;
    if !shards.is_empty() {
        properties.push(("shards", json!(shards)));
    }
    Ok(Description::new("draws", properties))
}

fn onnx(path: &Path) -> Result<Description> {
    let found = match import_onnx(path) {
        Err(riemla_files::Error::Unsupported { problems, supported, .. }) => {
            let properties = vec![("in_the_way", json!(problems)), ("can_be_imported", json!(supported))];
            return Ok(Description::new("ONNX model that cannot be imported", properties));
        }
        found => found?,
    };
    let (mut properties, _) = network(&found.network)?;
    properties.extend([
        ("layers", json!(found.network.layers)),
        ("likelihood", json!(found.likelihood)),
        ("notes", json!(found.notes)),
    ]);
    Ok(Description::new("ONNX model that can be imported", properties))
}

fn tensors(path: &Path) -> Result<Description> {
    let list = TensorFile::open(path)?.list()?;
    let numbers: usize = list.values().map(|(_, dims)| dims.iter().product::<usize>()).sum();
    let tensors: Vec<String> =
        list.iter().map(|(name, (dtype, dims))| format!("{name} {dtype:?} {dims:?}")).collect();
    let properties = vec![("numbers", json!(numbers)), ("tensors", json!(tensors))];
    Ok(Description::new("tensors (safetensors)", properties))
}

fn spec(path: &Path) -> Result<Description> {
    let spec = read_model_spec(path)?;
    let (mut properties, parameters) = network(&spec.network)?;
    properties.extend([
        ("layers", json!(spec.network.layers)),
        parameters,
        ("likelihood", json!(spec.likelihood)),
    ]);
    Ok(Description::new("description of a network", properties))
}

fn log(path: &Path) -> Result<Description> {
    let found = riemla_files::samples::inspect_log(path)?;
    let mut properties = run(&found.run, found.draws);
    properties.push(("damaged_bytes", json!(found.damaged_bytes)));
    Ok(Description::new("log of draws", properties))
}

/// What finished and unfinished sets have.
fn run(run: &RunInfo, draws: usize) -> Vec<Property> {
    vec![
        ("method", json!(run.config.method())),
        ("draws", json!(draws)),
        ("weights", json!(run.dim)),
        ("seed", json!(run.seed)),
    ]
}

fn data(path: &Path, options: ReadOptions) -> Result<Description> {
    let format = Source::open(path, options)?.format();
    if format == Format::Idx {
        let idx = read_idx(path, options)?;
        let size = memory::in_words(idx.data.len() as u64);
        return Ok(Description::new(
            "images or labels (IDX)",
            vec![("shape", json!(idx.dims)), ("size", json!(size))],
        ));
    }
    let table = read_table(path, options)?;
    let kind = match format {
        Format::Npy => "table (NPY)",
        Format::Npz => "table (NPZ)",
        Format::Parquet => "table (Parquet)",
        _ => "table (CSV)",
    };
    let columns: Vec<String> = table.columns.iter().map(column).collect();
    let mut properties = vec![("rows", json!(table.rows)), ("columns", json!(columns))];
    let remarks = riemla_files::encoding::remarks(&table);
    if !remarks.is_empty() {
        properties.push(("remarks", json!(remarks)));
    }
    Ok(Description::new(kind, properties))
}

/// What a column holds, in words.
fn column(column: &Column) -> String {
    let name = &column.name;
    let missing = match column.missing() {
        0 => String::new(),
        count => format!(", {count} missing"),
    };
    match &column.values {
        Values::Numbers(numbers) => {
            let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
            format!("{name}: numbers from {low} to {high}{missing}")
        }
        Values::Strings(strings) => {
            let different: std::collections::BTreeSet<&String> = strings.iter().collect();
            format!("{name}: text, {} different{missing}", different.len())
        }
    }
}
