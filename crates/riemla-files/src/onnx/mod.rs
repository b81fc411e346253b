//! Networks and weights from ONNX files, as PyTorch and Keras (tf2onnx) export them.
//!
//! The graph must be made of layers that [`riemla::nn::LayerSpec`] has, one after another or in branches that are
//! added. What exporters add around them is removed where that changes nothing: shape arithmetic, Dropout, Identity, transposes
//! between the orders of axes of Keras and ours (the weights of the next linear layer are permuted
//! instead), activations written out as several operations. Anything else is an error that names every
//! operator and attribute in the way. Files are read by a reader of our own: see
//! docs/decisions/0011-onnx.md.

mod affine;
mod apply;
mod attributes;
mod branches;
mod chain;
mod constant;
mod dense;
mod external;
mod function;
mod graph;
mod layout;
mod messages;
mod operation;
mod rearrange;
mod values;
mod windows;
mod wire;

use std::path::{Path, PathBuf};

use riemla::nn::NetworkSpec;
use riemla::objective::Likelihood;

use crate::error::name;
use crate::open::read_file;
use crate::{Error, Result as FileResult};

/// Largest file that is read: more does not fit a protocol buffer.
const MAX_BYTES: u64 = 2 << 30;
/// Versions of the standard operators whose meaning is known here.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=26;

/// A network from an ONNX file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedNetwork {
    /// The network.
    pub network: NetworkSpec,
    /// Its weights, flat, in the order of the network's parameters.
    pub theta: Vec<f64>,
    /// What is different from the model in the file, in words for the user.
    pub notes: Vec<String>,
    /// The likelihood that belongs to a final Softmax, LogSoftmax or Sigmoid, if there was one.
    pub likelihood: Option<Likelihood>,
}

/// One reason why a graph cannot be imported.
#[derive(Debug)]
enum Problem {
    /// Correct, but more than riemla has.
    Unsupported(String),
    /// Not a correct graph.
    Invalid(String),
}

/// Reasons why a graph cannot be imported.
#[derive(Debug)]
enum Problems {
    Unsupported(Vec<String>),
    Invalid(String),
}

type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// Says where it is.
    fn at(self, place: &str) -> Problems {
        match self {
            Problem::Unsupported(problem) => Problems::Unsupported(vec![format!("{place}: {problem}")]),
            Problem::Invalid(problem) => Problems::Invalid(format!("{place}: {problem}")),
        }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Unsupported(problem) => Problems::Unsupported(vec![problem]),
            Problem::Invalid(problem) => Problems::Invalid(problem),
        }
    }
}

/// Reads a network from an ONNX file. Tensors in a second file are read if it is in the same
/// directory.
///
/// A final Softmax, LogSoftmax or (for one output) Sigmoid is left out, since likelihoods apply it;
/// `notes` and `likelihood` of the result say so.
pub fn import_onnx(path: &Path) -> FileResult<ImportedNetwork> {
    let file = name(path);
    let length = std::fs::metadata(path).map_err(Error::io(&file, "read it"))?.len();
    if length > MAX_BYTES {
        return Err(Error::TooLarge { file, limit: MAX_BYTES });
    }
    let directory = path.parent().map(|parent| match parent.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => parent.to_path_buf(),
    });
    import(&file, &read_file(path)?, directory)
}

/// As [`import_onnx`], from bytes under a name for messages. Tensors in a second file are refused.
pub fn import_onnx_bytes(file: &str, bytes: &[u8]) -> FileResult<ImportedNetwork> {
    import(file, bytes, None)
}

fn import(file: &str, bytes: &[u8], directory: Option<PathBuf>) -> FileResult<ImportedNetwork> {
    let invalid = |problem: &str| Error::format(file, "ONNX", problem);
    if bytes.is_empty() {
        return Err(Error::Empty { file: file.into(), expected: "an ONNX model was expected" });
    }
    let model = messages::model(bytes)
        .map_err(|wire::Malformed(problem)| invalid(&format!("{problem}; export or copy it again")))?;
    let graph = model.graph.ok_or_else(|| invalid("it has no graph; is it an ONNX model?"))?;
    match model.opset {
        Some(opset) if OPSETS.contains(&opset) => {}
        found => {
            let found = found.map_or("no version".into(), |found| format!("version {found}"));
            let (first, last) = (OPSETS.start(), OPSETS.end());
            let problem =
                format!("{found} of the standard operators (opset); export it with {first} to {last}");
            return Err(Error::Unsupported { file: file.into(), problems: vec![problem], supported: "" });
        }
    }
    let imported = graph::import(&graph, directory, bytes.len()).map_err(|problems| match problems {
        Problems::Unsupported(problems) => {
            Error::Unsupported { file: file.into(), problems, supported: operation::SUPPORTED }
        }
        Problems::Invalid(problem) => invalid(&problem),
    })?;
    let network = crate::spec::network(file, &imported.network)?;
    riemla::error::check_len("weights", network.dim(), imported.theta.len()).map_err(Error::content(file))?;
    Ok(imported)
}
