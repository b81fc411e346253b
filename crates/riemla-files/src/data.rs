//! Encoded data kept with a posterior, so that draws need no other files: `data.safetensors`.

use std::path::Path;

use riemla::data::{Dataset, Targets};

use crate::error::name;
use crate::tensors::{TensorFile, TensorRef, write_tensors};
use crate::{Error, Result};

/// Name of the data in a posterior directory.
pub const DATA_FILE: &str = "data.safetensors";

/// The data of a fit, after encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingData {
    /// What the Gaussian was fitted to.
    pub train: Dataset,
    /// What was held out.
    pub validation: Option<Dataset>,
}

impl TrainingData {
    /// Writes the data as tensors.
    pub fn write(&self, path: &Path) -> Result<()> {
        let parts = [("train", Some(&self.train)), ("validation", self.validation.as_ref())];
        let parts: Vec<(&str, &Dataset, Vec<f64>)> =
            parts.into_iter().filter_map(|(name, data)| data.map(|d| (name, d, targets(d)))).collect();
        let mut tensors = Vec::new();
        for (name, data, targets) in &parts {
            let dims = vec![data.len(), data.features()];
            tensors.push(TensorRef::new(format!("{name}.inputs"), dims, data.inputs()));
            let (kind, dims) = match data.targets() {
                Targets::Classes(_) => ("labels", vec![data.len()]),
                Targets::Values { outputs, .. } => ("values", vec![data.len(), *outputs]),
            };
            tensors.push(TensorRef::new(format!("{name}.{kind}"), dims, targets));
            tensors.extend(
                data.weights()
                    .map(|weights| TensorRef::new(format!("{name}.weights"), vec![data.len()], weights)),
            );
        }
        write_tensors(path, &tensors)
    }

    /// Reads and checks them; `remedy` says what to do about damage.
    pub fn read(path: &Path, remedy: &'static str) -> Result<Self> {
        let file = TensorFile::open_ours(path, remedy)?;
        let there = file.list()?;
        let validation = there.contains_key("validation.inputs");
        Ok(Self {
            train: read_part(&file, "train")?,
            validation: validation.then(|| read_part(&file, "validation")).transpose()?,
        })
    }
}

/// CRC-32 of inputs and targets, to compare two sets of data.
pub fn crc32(data: &Dataset) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    data.inputs().iter().chain(&targets(data)).for_each(|value| crc.update(&value.to_le_bytes()));
    crc.finalize()
}

fn targets(data: &Dataset) -> Vec<f64> {
    match data.targets() {
        Targets::Classes(labels) => labels.iter().map(|label| *label as f64).collect(),
        Targets::Values { values, .. } => values.clone(),
    }
}

fn read_part(file: &TensorFile, part: &str) -> Result<Dataset> {
    let problem = |problem: String| Error::Tensors { file: file.name().into(), problems: vec![problem] };
    let inputs = file.get(&format!("{part}.inputs"))?;
    let [rows, features] = inputs.dims[..] else {
        return Err(problem(format!("`{part}.inputs` has shape {:?}, not rows × inputs", inputs.dims)));
    };
    let labels = format!("{part}.labels");
    let targets = if file.list()?.contains_key(&labels) {
        let values = file.get_checked(&labels, &[rows])?;
        let class =
            |value: &f64| (*value >= 0.0 && *value < 1e9 && value.fract() == 0.0).then_some(*value as usize);
        let classes: Option<Vec<usize>> = values.iter().map(class).collect();
        Targets::Classes(
            classes.ok_or_else(|| problem(format!("`{labels}` contains numbers that are not classes")))?,
        )
    } else {
        let values = file.get(&format!("{part}.values"))?;
        let outputs = values.dims.get(1).copied().unwrap_or(1);
        Targets::Values { values: values.values, outputs }
    };
    let weights = format!("{part}.weights");
    let weights = match file.list()?.contains_key(&weights) {
        true => Some(file.get_checked(&weights, &[rows])?),
        false => None,
    };
    let data = Dataset::new(inputs.values, features, targets);
    let weighted = data.and_then(|data| match weights {
        Some(weights) => data.with_weights(weights),
        None => Ok(data),
    });
    weighted.map_err(Error::content(&name(Path::new(file.name()))))
}
