//! Networks described by a file: TOML or JSON, and a check of sizes before anything is built.

use std::path::Path;

use riemla::nn::{LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::Likelihood;
use serde::Deserialize;

use crate::error::name;
use crate::open::read_file;
use crate::{Error, Result};

/// Largest description that is read.
const MAX_BYTES: u64 = 16 << 20;

/// A network described by a file, and what its outputs mean if the file says so.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSpec {
    /// The network.
    pub network: NetworkSpec,
    /// What its outputs mean.
    pub likelihood: Option<Likelihood>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecFile {
    input: Shape,
    layers: Vec<LayerSpec>,
    likelihood: Option<Likelihood>,
}

/// Reads a network from TOML, or from JSON (recognised by `{` at the start). Unknown fields are
/// refused, and the network is checked as a whole.
///
/// ```toml
/// input = { channels = 1, height = 8, width = 8 }   # or a number of features
/// layers = [
///     { type = "conv2d", channels = 4, kernel = [3, 3], padding = [1, 1] },
///     { type = "activation", function = "tanh" },
///     { type = "average-pool", kernel = [2, 2] },
///     { type = "flatten" },
///     { type = "linear", outputs = 10 },
/// ]
/// likelihood = { type = "categorical" }             # may be left out
/// ```
pub fn read_model_spec(path: &Path) -> Result<ModelSpec> {
    let file = name(path);
    let length = std::fs::metadata(path).map_err(Error::io(&file, "read it"))?.len();
    if length > MAX_BYTES {
        return Err(Error::TooLarge { file, limit: MAX_BYTES });
    }
    parse_model_spec(&file, &read_file(path)?)
}

/// As [`read_model_spec`], from bytes under a name for messages.
pub fn parse_model_spec(file: &str, bytes: &[u8]) -> Result<ModelSpec> {
    if bytes.trim_ascii().is_empty() {
        return Err(Error::Empty { file: file.into(), expected: "a network was expected" });
    }
    let SpecFile { input, layers, likelihood } = if bytes.trim_ascii_start().starts_with(b"{") {
        serde_json::from_slice(bytes).map_err(Error::json(file))?
    } else {
        let not_text = |_| Error::format(file, "TOML", "it is not UTF-8 text");
        let text = std::str::from_utf8(bytes).map_err(not_text)?;
        toml::from_str(text).map_err(|error| toml_error(file, text, &error))?
    };
    let spec = ModelSpec { network: NetworkSpec { input, layers }, likelihood };
    let outputs = network(file, &spec.network)?.outputs();
    if let Some(likelihood) = &spec.likelihood {
        likelihood.check_outputs(outputs).map_err(Error::content(file))?;
    }
    Ok(spec)
}

fn toml_error(file: &str, text: &str, error: &toml::de::Error) -> Error {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Error::Toml { file: file.into(), line, column, message: error.message().into() }
}

/// Largest number of weights, or of numbers between two layers, that a file may ask for.
const MAX_NUMBERS: f64 = (1u64 << 32) as f64;

/// Builds the network of a description that comes from a file.
pub(crate) fn network(file: &str, spec: &NetworkSpec) -> Result<Network> {
    if let Some(layer) = first_too_large(spec) {
        let requirement = format!("such that no layer has more than {MAX_NUMBERS} weights or outputs");
        return Err(Error::content(file)(riemla::Error::range("layer of the network", layer, requirement)));
    }
    Network::new(spec).map_err(Error::content(file))
}

/// The first layer that is too large to be built.
fn first_too_large(spec: &NetworkSpec) -> Option<usize> {
    let size = match spec.input {
        Shape::Features(n) => [n as f64, 1.0, 1.0],
        Shape::Image { channels, height, width } => [channels as f64, height as f64, width as f64],
    };
    let mut bounds = Bounds { size, weights: 0.0 };
    if bounds.too_large() {
        return Some(0);
    }
    spec.layers.iter().position(|layer| !bounds.pass(layer))
}

/// Upper bounds in floating point, which cannot overflow.
#[derive(Clone, Copy)]
struct Bounds {
    /// Channels, height and width; a vector has only channels.
    size: [f64; 3],
    /// Number of weights so far.
    weights: f64,
}

impl Bounds {
    fn too_large(&self) -> bool {
        self.weights > MAX_NUMBERS || self.size.iter().product::<f64>() > MAX_NUMBERS
    }

    /// Goes through a layer; false if it is too large.
    fn pass(&mut self, layer: &LayerSpec) -> bool {
        let small = |number: &usize| *number as f64 <= MAX_NUMBERS;
        match layer {
            LayerSpec::Linear { outputs, .. } => {
                self.weights += (self.size.iter().product::<f64>() + 1.0) * *outputs as f64;
                self.size = [*outputs as f64, 1.0, 1.0];
            }
            LayerSpec::Conv2d { channels, kernel, stride, padding, dilation, .. } => {
                let window = kernel[0] as f64 * kernel[1] as f64;
                self.weights += (self.size[0] * window + 1.0) * *channels as f64;
                let sides = [self.size[1] + 2.0 * padding[0] as f64, self.size[2] + 2.0 * padding[1] as f64];
                self.size = [*channels as f64, sides[0], sides[1]];
                if !stride.iter().chain(dilation).all(small) {
                    return false;
                }
            }
            LayerSpec::AveragePool { kernel, stride } | LayerSpec::MaxPool { kernel, stride } => {
                if !kernel.iter().chain(stride.iter().flatten()).all(small) {
                    return false;
                }
            }
            LayerSpec::LayerNorm { .. } | LayerSpec::Scale { .. } => {
                self.weights += 2.0 * self.size.iter().product::<f64>();
            }
            LayerSpec::Residual { body, shortcut } => {
                let mut other = Self { weights: 0.0, ..*self };
                if !(body.iter().all(|layer| self.pass(layer))
                    && shortcut.iter().all(|layer| other.pass(layer)))
                {
                    return false;
                }
                self.weights += other.weights;
            }
            LayerSpec::Flatten | LayerSpec::Identity | LayerSpec::Activation { .. } => {}
        }
        !self.too_large()
    }
}
