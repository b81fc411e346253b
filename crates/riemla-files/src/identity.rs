//! What a result depends on, so that a result of other inputs is never taken for one of these.

use riemla::curvature::{Gaussian, Laplace, NamedArray, Precision};
use riemla::data::{Dataset, Targets};
use riemla::nn::NetworkSpec;
use riemla::objective::Likelihood;
use riemla::random::{Purpose, fill_normal, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::{Error, Result, TrainingData};

/// Half of a SHA-256, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// Of numbers, bit by bit.
    pub fn of_numbers<'a>(numbers: impl IntoIterator<Item = &'a [f64]>) -> Self {
        let mut hash = Sha256::new();
        numbers.into_iter().for_each(|piece| add(&mut hash, piece));
        Self::finish(hash)
    }

    /// Of a value by its JSON.
    pub fn of_json(value: &impl Serialize) -> Self {
        let mut hash = Sha256::new();
        hash.update(serde_json::to_vec(value).unwrap_or_default());
        Self::finish(hash)
    }

    /// Of inputs and targets.
    pub fn of_data(data: &Dataset) -> Self {
        let mut hash = Sha256::new();
        hash.update((data.features() as u64).to_le_bytes());
        add(&mut hash, data.inputs());
        match data.targets() {
            Targets::Classes(labels) => labels.iter().for_each(|k| hash.update((*k as u64).to_le_bytes())),
            Targets::Values { values, .. } => add(&mut hash, values),
        }
        if let Some(weights) = data.weights() {
            hash.update("weights");
            add(&mut hash, weights);
        }
        Self::finish(hash)
    }

    /// Of the arrays that a precision consists of, in any order.
    pub(crate) fn of_arrays(arrays: &[NamedArray]) -> Self {
        let mut hash = Sha256::new();
        let mut sorted: Vec<&NamedArray> = arrays.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        for NamedArray { name, dims, values } in sorted {
            hash.update(format!("{name} {dims:?} "));
            add(&mut hash, values);
        }
        Self::finish(hash)
    }

    /// Of the arrays of a precision; if it does not say which it has, of its log-determinant and its products with
    /// fixed directions.
    fn of_precision(precision: &dyn Precision) -> Self {
        if let Some(parts) = precision.parts() {
            return Self::of_arrays(&parts.arrays);
        }
        let mut hash = Sha256::new();
        add(&mut hash, &[precision.dim() as f64, precision.log_det()]);
        let (mut direction, mut product) = (vec![0.0; precision.dim()], vec![0.0; precision.dim()]);
        for index in 0..DIRECTIONS {
            fill_normal(&mut stream(0, Purpose::Average, index), &mut direction);
            precision.mul(&direction, &mut product);
            add(&mut hash, &product);
        }
        Self::finish(hash)
    }

    fn finish(hash: Sha256) -> Self {
        Self(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Random directions in which a precision is looked at: one would tell it from others, two are for the unlikely.
const DIRECTIONS: u64 = 2;

fn add(hash: &mut Sha256, numbers: &[f64]) {
    for some in numbers.chunks(512) {
        let bytes: Vec<u8> = some.iter().flat_map(|number| number.to_le_bytes()).collect();
        hash.update(&bytes);
    }
}

/// The data of a fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedTo {
    /// Rows of the fit.
    pub rows: usize,
    /// Their inputs and targets.
    pub data: Digest,
    /// Rows held out of it.
    pub held_out_rows: usize,
    /// Their inputs and targets.
    pub held_out: Option<Digest>,
}

impl FittedTo {
    /// Of a data set and the rows held out.
    pub fn new(train: &Dataset, held_out: Option<&Dataset>) -> Self {
        Self {
            rows: train.len(),
            data: Digest::of_data(train),
            held_out_rows: held_out.map_or(0, Dataset::len),
            held_out: held_out.map(Digest::of_data),
        }
    }
}

impl From<&TrainingData> for FittedTo {
    fn from(data: &TrainingData) -> Self {
        Self::new(&data.train, data.validation.as_ref())
    }
}

/// Everything that draws depend on besides method, settings and seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The program that made them: another version may give other bits.
    pub riemla_version: String,
    /// The network, or what a user calls a model of their own.
    pub network: Digest,
    /// The trained weights.
    pub weights: Digest,
    /// The precision of the Gaussian around them.
    pub gaussian: Digest,
    /// The prior used, one precision or one per layer; none for user-defined models.
    pub prior_precision: Vec<f64>,
    /// The likelihood used, with its noise; none for user-defined models.
    pub likelihood: Option<Likelihood>,
    /// Places of the uncertain weights, each from and up to.
    pub uncertain_weights: Vec<[usize; 2]>,
    /// The data of the loss; none for models of the user's own.
    pub data: Option<FittedTo>,
}

impl Origin {
    /// Of a network, the Gaussian at its weights, and the data both were fitted to.
    pub fn new(network: &NetworkSpec, laplace: &Laplace, data: FittedTo) -> Self {
        Self {
            prior_precision: laplace.prior.precisions().collect(),
            likelihood: Some(laplace.likelihood),
            data: Some(data),
            ..Self::of_model(network, &laplace.gaussian)
        }
    }

    /// Of a user-defined model and the Gaussian at its weights. `model` is whatever distinguishes it from others:
    /// a name with a version, its settings, a digest of its data.
    pub fn of_model(model: &impl Serialize, gaussian: &Gaussian) -> Self {
        let ranges = gaussian.subset().as_slice().iter();
        Self {
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            network: Digest::of_json(model),
            weights: Digest::of_numbers([gaussian.theta()]),
            gaussian: Digest::of_precision(gaussian.precision()),
            prior_precision: Vec::new(),
            likelihood: None,
            uncertain_weights: ranges.map(|range| [range.start, range.end]).collect(),
            data: None,
        }
    }
}

/// An error that says what is different, unless what was `found` in a file is what is `expected`.
pub fn expect<T: Serialize>(file: &str, found: &T, expected: &T) -> Result<()> {
    let differences = differences(found, expected);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::Mismatch {
        file: file.into(),
        other: "this run".into(),
        problem: format!(
            "{}; use the same inputs and settings, or write elsewhere (--name or --out)",
            differences.join("; ")
        ),
    })
}

/// What is different now from what was found, in words; nothing if both are the same.
pub fn differences(found: &impl Serialize, now: &impl Serialize) -> Vec<String> {
    let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
    let mut differences = Vec::new();
    compare("", &json(serde_json::to_value(found)), &json(serde_json::to_value(now)), &mut differences);
    differences
}

fn compare(at: &str, found: &Value, now: &Value, differences: &mut Vec<String>) {
    match (found.as_object(), now.as_object()) {
        // A setting that one of them does not have is one that is not used.
        (Some(a), Some(b)) if not_shared(a, b) <= 1 => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                let of = |object: &Map<String, Value>| object.get(key).cloned().unwrap_or_default();
                compare(&at, &of(a), &of(b), differences);
            }
        }
        _ if found == now => {}
        _ => differences.push(match digested(at) {
            Some(what) => format!("{what} differ"),
            None => {
                let at = at.trim_start_matches("depends_on.");
                let [found, now] = [found, now].map(|value| match value {
                    Value::Null => "not set".into(),
                    value => value.to_string(),
                });
                format!("{at} was {found}, but is {now} now")
            }
        }),
    }
}

/// How many keys only one of them has.
fn not_shared(a: &Map<String, Value>, b: &Map<String, Value>) -> usize {
    let only =
        |a: &Map<String, Value>, b: &Map<String, Value>| a.keys().filter(|key| !b.contains_key(*key)).count();
    only(a, b) + only(b, a)
}

/// What a digest stands for; two digests side by side tell a reader nothing.
fn digested(at: &str) -> Option<&'static str> {
    let at = at.rsplit_once("depends_on.").map_or(at, |(_, rest)| rest);
    Some(match at.trim_start_matches("draws.") {
        "network" => "the layers of the network",
        "weights" => "the trained weights",
        "gaussian" => "the curvatures of the Laplace approximation",
        "data.data" | "trained_on" => "the values of the training data",
        "data.held_out" => "the values of the held-out data",
        "test" => "the values of the test data",
        "out_of_distribution" => "the out-of-distribution data",
        _ => return None,
    })
}
