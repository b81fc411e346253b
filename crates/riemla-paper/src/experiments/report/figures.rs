//! Figures from saved draws: the first seed of every experiment that has any.

use std::collections::BTreeSet;
use std::path::Path;

use riemla::curvature::Laplace;
use riemla::predict::Prediction;
use riemla_files::samples::{SAMPLES_FILE, read_samples};

use super::super::config::{Figure, Problem};
use super::super::fit::{Fit, trained};
use super::super::layout::set_directory;
use super::super::rows::Rows;
use super::super::subject::Subject;
use super::super::{Experiment, MethodName, PriorName, Records, Result, Setting};
use super::{bands, logistic, maps};
use crate::datasets::DataDirs;
use riemla_workflow::report::Section;

/// Draws that a figure is made of, as in the paper.
const DRAWS: usize = 50;
/// The seed that is drawn.
const SEED: u64 = 0;

/// Where saved things are.
pub struct Saved<'a> {
    /// The output directory.
    pub out: &'a Path,
    /// The data.
    pub data: &'a DataDirs,
    /// What was run.
    pub records: &'a Records,
}

/// A trained problem with the draws of one prior.
pub struct Drawn {
    /// The problem.
    pub problem: Problem,
    /// Its rows.
    pub rows: Rows,
    /// Its weights.
    pub fit: Fit,
    /// The approximation.
    pub laplace: Laplace,
    /// The prior.
    pub prior: PriorName,
    /// Names, methods and draws of sets, in the order of tables.
    pub sets: Vec<(String, MethodName, Vec<Vec<f64>>)>,
}

impl Drawn {
    /// Predictions of one set of draws.
    pub fn predict(&self, method: MethodName, thetas: &[Vec<f64>], inputs: &[f64]) -> Result<Prediction> {
        let thetas = thetas.iter().take(DRAWS).cloned().collect();
        let predictor = self.fit.predictor(&self.laplace, method.is_linearized(), thetas)?;
        Ok(predictor.predict(inputs)?)
    }
}

/// The figures of an experiment; what cannot be drawn is said.
pub fn section(saved: &Saved<'_>, experiment: &Experiment) -> Option<Section> {
    if experiment.figure == Figure::None {
        return None;
    }
    let empty = Section::new(format!("Figures: {}", experiment.title), intro(experiment.figure));
    let mut section = empty.clone();
    if let Err(error) = draw(saved, experiment, &mut section) {
        section = empty;
        section.text(format!("Nothing can be drawn: {error}"));
    }
    Some(section)
}

fn draw(saved: &Saved<'_>, experiment: &Experiment, section: &mut Section) -> Result<()> {
    let mut all = Vec::new();
    for problem in &experiment.problems {
        for prior in PriorName::ALL {
            all.extend(load(saved, experiment, problem, prior)?);
        }
    }
    if experiment.figure == Figure::BatchSizes {
        return bands::batch_sizes(section, &all);
    }
    for drawn in &all {
        let prior = drawn.prior.name();
        section.text(format!("{}, prior {prior}:", drawn.problem.name)).grid(match experiment.figure {
            Figure::ConfidenceMaps => maps::maps(drawn)?,
            Figure::Logistic => logistic::figures(drawn)?,
            _ => bands::bands(drawn)?,
        });
    }
    Ok(())
}

/// The draws of a problem under a prior, if there are any.
fn load(
    saved: &Saved<'_>,
    experiment: &Experiment,
    problem: &Problem,
    prior: PriorName,
) -> Result<Option<Drawn>> {
    let mut sets = Vec::new();
    let known = [Setting::ANY].into_iter().chain(Setting::PRESETS);
    for setting in known.chain(experiment.settings.iter().copied()).collect::<BTreeSet<_>>() {
        for method in experiment.methods.iter().map(|entry| entry.method) {
            let key = Subject::Problem(problem).key(experiment, SEED, prior, setting, method);
            let set = set_directory(saved.out, &key);
            if saved.records.get(&key).is_some() && set.join(SAMPLES_FILE).is_file() {
                let draws = read_samples(&set)?.draws;
                let name =
                    if setting == Setting::ANY { method.to_string() } else { format!("{method}, {setting}") };
                sets.push((name, method, draws.into_iter().map(|draw| draw.theta).collect()));
            }
        }
    }
    if sets.is_empty() {
        return Ok(None);
    }
    let (rows, fit, laplace) = trained(problem, SEED, prior, saved.out, saved.data)?;
    Ok(Some(Drawn { problem: problem.clone(), rows, fit, laplace, prior, sets }))
}

fn intro(figure: Figure) -> &'static str {
    match figure {
        Figure::ConfidenceMaps => {
            "Colour is the predicted class, strong where the model is confident. The dots are the training \
             points, the thick line is the decision boundary. A good model is confident only near the \
             data."
        }
        Figure::Bands => {
            "Mean, two standard deviations of the function (inner band) and of a new observation (outer \
             band), some sampled functions as thin lines, and the training points. Curves are clipped at \
             the edges of the figure."
        }
        Figure::Logistic => {
            "The exact posterior over the two weights, with the draws; then the classifier of one draw, \
             and the average over all draws. The draws shown as single classifiers have the same tangent \
             vector."
        }
        Figure::BatchSizes => {
            "Sampled functions when every geodesic uses only B of the training points: functions of small \
             batches differ more."
        }
        Figure::None => "",
    }
}
