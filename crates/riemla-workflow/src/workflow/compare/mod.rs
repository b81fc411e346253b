//! Compares two sets of draws: weights, losses, outputs and scores.
//!
//! One of them is the reference (long chains, say), and gives the units. Each distance is shown with what
//! chance alone would show between sets of these sizes.

mod place;
mod report;
mod result;
mod side;

use std::path::PathBuf;

use riemla::compare::{marginals, standardized_energy, wasserstein_null};
use riemla::data::Dataset;
use riemla::nn::Network;
use riemla::score::Bootstrap;

use super::error::{Result, WorkflowError};
use super::input::DataFiles;
use crate::scores::{ScoreKind, Scorer, kind_of, kinds};
use crate::watch::Watch;

pub use place::Place;
pub use report::report;
pub use result::{Comparison, ScorePair};
pub use side::{LossSummary, Side, Spread};

use side::Loaded;

/// What is asked of a comparison.
#[derive(Debug, Clone)]
pub struct CompareConfig {
    /// The two sets, A and B: a path, and the name of the set if the path is a posterior directory.
    pub sets: [(PathBuf, Option<String>); 2],
    /// Which of them is the reference: 0 or 1.
    pub reference: usize,
    /// Data with targets, for scores and for the spread of outputs.
    pub data: Option<DataFiles>,
    /// Resamples and level of the intervals of differences.
    pub bootstrap: Bootstrap,
}

/// Compares two sets of draws.
pub fn compare(config: &CompareConfig, watch: &dyn Watch) -> Result<Comparison> {
    watch.begin("reading", 0);
    let load = |(path, name): &(PathBuf, Option<String>)| Loaded::read(Place::find(path, name.as_deref())?);
    let loaded = [load(&config.sets[0])?, load(&config.sets[1])?];
    check_comparable(&loaded)?;
    let reference = config.reference.min(1);
    let (own, theirs) = (loaded[1 - reference].thetas(), loaded[reference].thetas());
    watch.begin("comparing the weights", 0);
    let marginals = marginals(&own, &theirs)?;
    let wasserstein_null = wasserstein_null(&theirs, own.len())?;
    let energy = standardized_energy(&own, &theirs)?;
    watch.begin("comparing the losses and outputs", 0);
    let mut read = Vec::new();
    let test = config.data.as_ref().map(|files| test_data(&loaded, files, &mut read)).transpose()?;
    let (spread_rows, inputs) = spread_rows(&loaded, test.as_ref());
    let [a, b] = labels(&loaded);
    let sides = [loaded[0].measure(a, inputs[0])?, loaded[1].measure(b, inputs[1])?];
    watch.begin("scoring", 0);
    let scores = test.as_ref().map(|test| scores(&loaded, test, &config.bootstrap)).transpose()?;
    let mut notes = notes(&loaded, &sides, (&sides[1 - reference].label, marginals.only_in_draws));
    notes.extend(read);
    let data = config.data.as_ref().map(|files| files.data.display().to_string());
    let level = config.bootstrap.level;
    Ok(Comparison {
        sides,
        reference,
        marginals,
        wasserstein_null,
        energy,
        scores,
        data,
        spread_rows,
        level,
        notes,
    })
}

/// Different weights cannot be compared, nor can different meanings of the outputs.
fn check_comparable([a, b]: &[Loaded; 2]) -> Result<()> {
    let parameters = |side: &Loaded| -> Result<Vec<(String, Vec<usize>)>> {
        let network = Network::new(&side.saved.model.network)?;
        Ok(network.parameters().iter().map(|p| (p.name.clone(), p.dims.clone())).collect())
    };
    let (ours, theirs) = (parameters(a)?, parameters(b)?);
    let name = |side: &Loaded| side.place.posterior.display().to_string();
    let longest = ours.len().max(theirs.len());
    if let Some(k) = (0..longest).find(|k| ours.get(*k) != theirs.get(*k)) {
        let shown = |list: &[(String, Vec<usize>)]| {
            list.get(k).map_or("nothing".into(), |(name, dims)| format!("{name} {dims:?}"))
        };
        return Err(WorkflowError::unfit(format!(
            "the networks of {} and {} have different parameters: {} in the first, {} in the second; only \
             draws of networks of the same shape can be compared",
            name(a),
            name(b),
            shown(&ours),
            shown(&theirs)
        )));
    }
    let kind = |side: &Loaded| std::mem::discriminant(&side.saved.laplace.likelihood);
    if kind(a) != kind(b) {
        return Err(WorkflowError::unfit(format!(
            "the outputs of {} and {} mean different things ({:?} and {:?}): their draws cannot be compared",
            name(a),
            name(b),
            a.saved.laplace.likelihood,
            b.saved.laplace.likelihood
        )));
    }
    Ok(())
}

/// Names of sets; with their posteriors if that is what they differ in.
fn labels(loaded: &[Loaded; 2]) -> [String; 2] {
    let [a, b] = [&loaded[0].place, &loaded[1].place];
    if a.set != b.set {
        return [a.set.clone(), b.set.clone()];
    }
    [a, b].map(|place| format!("{} of {}", place.set, place.posterior.display()))
}

/// The given data for each model; read once if both read it alike, since a pipe cannot be read twice.
fn test_data([a, b]: &[Loaded; 2], files: &DataFiles, notes: &mut Vec<String>) -> Result<[Dataset; 2]> {
    let first = files.labelled(&a.saved.model, notes)?;
    let alike = a.saved.model.encoding == b.saved.model.encoding;
    let second = if alike { first.clone() } else { files.labelled(&b.saved.model, notes)? };
    if first.len() != second.len() {
        return Err(WorkflowError::unfit("the two models read different rows from the same data"));
    }
    Ok([first, second])
}

/// The rows that the spread of outputs is taken over, and what they are.
fn spread_rows<'a>(
    loaded: &'a [Loaded; 2],
    test: Option<&'a [Dataset; 2]>,
) -> (&'static str, [Option<&'a [f64]>; 2]) {
    if let Some([a, b]) = test {
        return ("the rows of the data", [Some(a.inputs()), Some(b.inputs())]);
    }
    match (&loaded[0].saved.data, &loaded[1].saved.data) {
        (Some(a), Some(b)) => ("the training rows", [Some(a.train.inputs()), Some(b.train.inputs())]),
        _ => ("", [None, None]),
    }
}

/// Every score of both, and the difference A − B on the same resamples.
fn scores([a, b]: &[Loaded; 2], test: &[Dataset; 2], bootstrap: &Bootstrap) -> Result<Vec<ScorePair>> {
    let (first, targets) = a.predict(&test[0])?;
    let (second, _) = b.predict(&test[1])?;
    let pair = |kind: &ScoreKind| {
        let scorer = Scorer::default();
        let values = [scorer.of(kind, &first, &targets)?, scorer.of(kind, &second, &targets)?];
        let difference = scorer.difference(kind, &first, &second, &targets, bootstrap)?;
        Ok(ScorePair { kind: *kind, values, difference })
    };
    kinds(kind_of(&first)).iter().map(pair).collect()
}

/// What the reader should know.
fn notes([a, b]: &[Loaded; 2], sides: &[Side; 2], (other, without_unit): (&str, usize)) -> Vec<String> {
    let mut notes = Vec::new();
    if a.is_paired_with(b) {
        notes.push(format!(
            "both sets have seed {}: their draws begin with the same tangent vectors, so that random \
             differences cancel and distances may be far below those by chance; sample one set with \
             another --seed to include them",
            a.seed
        ));
    }
    let (ours, theirs) = (&a.saved.laplace, &b.saved.laplace);
    if ours.prior != theirs.prior || ours.likelihood != theirs.likelihood {
        notes.push(
            "the posteriors have different priors or noise: loss rise, virial ratio and k-hat refer to \
             each posterior's own loss"
                .into(),
        );
    }
    if ours.gaussian.theta() != theirs.gaussian.theta() {
        notes.push(
            "the posteriors have different trained weights: distances include the distance between these, \
             and networks that differ only in the order of their units are far apart"
                .into(),
        );
    }
    if a.saved.data != b.saved.data {
        notes.push("the posteriors have different training data: each loss refers to its own data".into());
    }
    for side in sides.iter().filter(|side| side.loss.is_none()) {
        notes.push(format!("no losses of {}: its posterior was saved without its data", side.label));
    }
    if without_unit > 0 {
        notes.push(format!(
            "{without_unit} weights vary in {other} only: their distance has no unit and \
                 they are left out"
        ));
    }
    if sides.iter().any(|side| side.draws < riemla::posterior::FEW_DRAWS) {
        notes.push("few draws: distances are mostly due to chance; use 100 or more".into());
    }
    notes
}
