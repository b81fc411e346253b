//! What a search for weights and prior finds, and what it costs: `cargo run --release -p riemla --example
//! prior_search_cost -- OUT.csv EFFORT NAME ROWS SEED FILE [LABELS]` adds a line to OUT.csv.
//!
//! EFFORT is `auto`, `thorough` or `sparing`. FILE is a table (CSV with a header, the class in its last column, 16
//! hidden units) or, with LABELS, images in the IDX format of MNIST, uncompressed, with a small convolutional network.
//! ROWS of them are trained on; of the others, up to 2000 are held out.

use std::io::Write as _;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{PriorFound, PriorSearch, PriorTrial, SearchEffort};
use riemla::data::{Dataset, split};
use riemla::nn::{Activation, LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::{Likelihood, NetworkLoss, Prior};

type Failure = Box<dyn std::error::Error>;

const HEADER: &str = "set,rows,weights,effort,seed,log_evidence,prior_precision,held_out_nll,status,gradient_norm,trials,\
gradients,row_visits,cpu_seconds\n";
/// Most rows that are held out.
const HELD_OUT: usize = 2000;
/// Units of the hidden layer for a table.
const HIDDEN: usize = 16;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, effort, name, rows, seed, file, labels @ ..] = arguments.as_slice() else {
        return Err("usage: prior_search_cost OUT.csv EFFORT NAME ROWS SEED FILE [LABELS]".into());
    };
    let (data, spec) = match labels.first() {
        Some(labels) => (images(file, labels)?, convolutional()),
        None => {
            let data = table(file)?;
            let sizes = [data.features(), HIDDEN, classes(&data)];
            (data, NetworkSpec::mlp(&sizes, Activation::Tanh))
        }
    };
    let rows = rows.parse::<usize>()?.min(data.len() - data.len() / 7);
    let parts = split(data.len(), &[rows, HELD_OUT.min(data.len() - rows)], 7)?;
    let network = Arc::new(Network::new(&spec)?);
    let loss_on = |rows: &[usize]| {
        let prior = Prior::isotropic(1.0, network.dim())?;
        NetworkLoss::new(network.clone(), data.select(rows)?, Likelihood::Categorical, prior)
    };
    let (loss, held_out) = (loss_on(&parts[0])?, loss_on(&parts[1])?);
    let settings = PriorSearch { effort: named(effort)?, seed: seed.parse()?, ..PriorSearch::default() };
    let before = cpu_seconds();
    let observe = |trial: &PriorTrial| show(trial, cpu_seconds() - before);
    let found = settings.run(&loss, Control::default().observing(&observe))?;
    let seconds = cpu_seconds() - before;
    let nll = -held_out.log_likelihood(&found.theta) / held_out.samples() as f64;
    let line = format!("{name},{rows},{},{effort},{seed},{}\n", network.dim(), numbers(&found, nll, seconds));
    let new = !std::path::Path::new(out).exists();
    let mut out = std::fs::OpenOptions::new().append(true).create(true).open(out)?;
    out.write_all(if new { HEADER.as_bytes() } else { b"" })?;
    out.write_all(line.as_bytes())?;
    print!("{line}");
    Ok(())
}

fn show(trial: &PriorTrial, seconds: f64) {
    let PriorTrial { number, expected, start, rows, prior_precision, gradients, .. } = trial;
    let evidence = trial.log_marginal_likelihood.unwrap_or(f64::NAN);
    eprintln!(
        "{number}/{expected} {start:?}, {rows} rows, {prior_precision:?}: {evidence:.2}, {gradients} gradients, {seconds:.1} s"
    );
}

/// The columns from `log_evidence` on.
fn numbers(found: &PriorFound, nll: f64, seconds: f64) -> String {
    let evidence = found.log_marginal_likelihood.unwrap_or(f64::NAN);
    let delta = found.loss.prior().scalar().unwrap_or(f64::NAN);
    let PriorFound { report, trials, gradients, row_visits, .. } = found;
    let (status, norm) = (report.status, report.gradient_norm);
    format!(
        "{evidence:.3},{delta:.5},{nll:.5},{status:?},{norm:.1e},{trials},{gradients},{row_visits},{seconds:.1}"
    )
}

fn named(effort: &str) -> Result<SearchEffort, Failure> {
    Ok(match effort {
        "auto" => SearchEffort::Auto,
        "thorough" => SearchEffort::Thorough,
        "sparing" => SearchEffort::Sparing,
        other => return Err(format!("no effort {other}: auto, thorough or sparing").into()),
    })
}

fn classes(data: &Dataset) -> usize {
    1 + data.labels().unwrap_or_default().iter().max().copied().unwrap_or(0)
}

/// The network of the paper for images of 28 × 28 pixels: 1828 weights.
fn convolutional() -> NetworkSpec {
    let tanh = || LayerSpec::Activation { function: Activation::Tanh };
    let linear = |outputs| LayerSpec::Linear { outputs, bias: true };
    let convolution = || LayerSpec::Conv2d {
        channels: 4,
        kernel: [5, 5],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
        groups: 1,
        bias: true,
    };
    let pool = || LayerSpec::AveragePool { kernel: [2, 2], stride: None };
    let mut layers = vec![convolution(), tanh(), pool(), convolution(), tanh(), pool(), LayerSpec::Flatten];
    layers.extend([linear(16), tanh(), linear(10), tanh(), linear(10)]);
    NetworkSpec { input: Shape::Image { channels: 1, height: 28, width: 28 }, layers }
}

/// Numbers of an IDX file of bytes, and how many items they are.
fn idx(file: &str) -> Result<(Vec<u8>, usize), Failure> {
    let bytes = std::fs::read(file)?;
    let dimensions = usize::from(*bytes.get(3).ok_or("an empty file")?);
    let start = 4 + 4 * dimensions;
    let count =
        bytes.get(4..8).ok_or("no header")?.iter().fold(0, |sum, byte| 256 * sum + usize::from(*byte));
    Ok((bytes.get(start..).ok_or("no data")?.to_vec(), count))
}

fn images(file: &str, labels: &str) -> Result<Dataset, Failure> {
    let ((pixels, count), (labels, _)) = (idx(file)?, idx(labels)?);
    let inputs = pixels.iter().map(|pixel| f64::from(*pixel) / 255.0).collect();
    Ok(Dataset::classification(
        inputs,
        pixels.len() / count,
        labels.iter().map(|k| usize::from(*k)).collect(),
    )?)
}

/// A table with standardised columns.
fn table(file: &str) -> Result<Dataset, Failure> {
    let text = std::fs::read_to_string(file)?;
    let row =
        |line: &str| line.split(',').map(|field| field.trim().parse::<f64>()).collect::<Result<Vec<_>, _>>();
    let mut rows = text.lines().skip(1).map(row).collect::<Result<Vec<_>, _>>()?;
    let labels = rows.iter_mut().map(|row| row.pop().unwrap_or(0.0) as usize).collect();
    let (n, d) = (rows.len() as f64, rows.first().map_or(0, Vec::len));
    for column in 0..d {
        let mean = rows.iter().map(|row| row[column]).sum::<f64>() / n;
        let variance = rows.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / n;
        let scale = if variance > 0.0 { variance.sqrt().recip() } else { 1.0 };
        rows.iter_mut().for_each(|row| row[column] = scale * (row[column] - mean));
    }
    Ok(Dataset::classification(rows.concat(), d, labels)?)
}

/// Seconds of processors that this program took, where the system tells (Linux); else 0.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let field = |k: usize| after_name.split_whitespace().nth(k).and_then(|field| field.parse::<f64>().ok());
    // User and system time in hundredths.
    0.01 * (field(11).unwrap_or(0.0) + field(12).unwrap_or(0.0))
}
