//! Which scores there are for each kind of targets.

use riemla::objective::TargetKind;
use riemla::predict::Prediction;
use riemla::score;

use super::coverage;
use crate::report::Better;

/// A score: its name, which end is good, what it says in a sentence, and how it is computed.
#[derive(Debug, Clone, Copy)]
pub struct ScoreKind {
    /// Its name in tables and files.
    pub name: &'static str,
    /// Which end is good.
    pub better: Better,
    /// What it says.
    pub meaning: &'static str,
    pub(super) of: Rule,
}

impl ScoreKind {
    const fn lower(name: &'static str, meaning: &'static str, of: Rule) -> Self {
        Self { name, better: Better::Lower, meaning, of }
    }

    const fn higher(name: &'static str, meaning: &'static str, of: Rule) -> Self {
        Self { name, better: Better::Higher, meaning, of }
    }

    const fn neither(name: &'static str, meaning: &'static str, of: Rule) -> Self {
        Self { name, better: Better::Neither, meaning, of }
    }
}

/// Of means, variances and targets.
type ValueScore = fn(&[f64], &[f64], &[f64]) -> riemla::Result<f64>;

/// Of probabilities (row-major), labels, their number and bins.
type LabelScore = fn(&[f64], &[f64], usize, usize) -> riemla::Result<f64>;

/// Of probabilities (row-major, number of classes), labels and bins; of means, variances and values; of rates, their
/// variances and counts; or of several labels.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Classes(fn(&[f64], usize, &[usize], usize) -> riemla::Result<f64>),
    Values(ValueScore),
    Counts(ValueScore),
    Labels(LabelScore),
}

const CLASS_SCORES: [ScoreKind; 5] = [
    ScoreKind::higher(
        "accuracy",
        "share of correct predictions",
        Rule::Classes(|p, classes, labels, _| score::accuracy(p, classes, labels)),
    ),
    ScoreKind::lower(
        "nll",
        "mean −log of the probability of the true class",
        Rule::Classes(|p, classes, labels, _| score::nll(p, classes, labels)),
    ),
    ScoreKind::lower(
        "brier",
        "squared error of all probabilities of a row, mean over rows",
        Rule::Classes(|p, classes, labels, _| score::brier(p, classes, labels)),
    ),
    ScoreKind::lower("ece", "gap between confidence and accuracy, mean over bins", Rule::Classes(score::ece)),
    ScoreKind::lower("mce", "the largest such gap", Rule::Classes(score::mce)),
];

const VALUE_SCORES: [ScoreKind; 4] = [
    ScoreKind::lower(
        "rmse",
        "root mean squared error of the predicted mean",
        Rule::Values(|mean, _, values| score::rmse(mean, values)),
    ),
    ScoreKind::lower(
        "nlpd",
        "mean −log of the predicted density at the true value",
        Rule::Values(score::nlpd),
    ),
    ScoreKind::lower(
        "crps",
        "distance of the predicted distribution from the true value",
        Rule::Values(score::crps),
    ),
    ScoreKind::neither(
        "coverage95",
        "share of true values inside the 95 % interval; ideal: 0.95",
        Rule::Values(|mean, variance, values| Ok(coverage(mean, variance, values, 0.95))),
    ),
];

const COUNT_SCORES: [ScoreKind; 4] = [
    ScoreKind::lower(
        "rmse",
        "root mean squared error of the predicted rate",
        Rule::Counts(|rate, _, counts| score::rmse(rate, counts)),
    ),
    ScoreKind::lower("nll", "mean −log of the probability of the true count", Rule::Counts(score::count_nll)),
    ScoreKind::lower(
        "deviance",
        "mean Poisson deviance of the predicted rate",
        Rule::Counts(|rate, _, counts| score::poisson_deviance(rate, counts)),
    ),
    ScoreKind::neither(
        "coverage95",
        "share of true counts inside the 95 % interval; ideal: 0.95, or more where counts are small, since \
                  intervals end at whole numbers",
        Rule::Counts(|rate, variance, counts| score::count_coverage(rate, variance, counts, 0.95)),
    ),
];

const LABEL_SCORES: [ScoreKind; 5] = [
    ScoreKind::higher(
        "accuracy",
        "share of correct labels, over rows and labels",
        Rule::Labels(|p, labels, _, _| score::label_accuracy(p, labels)),
    ),
    ScoreKind::lower(
        "nll",
        "mean −log of the probability of the true label",
        Rule::Labels(|p, labels, _, _| score::label_nll(p, labels)),
    ),
    ScoreKind::lower(
        "brier",
        "mean squared error of the probabilities",
        Rule::Labels(|p, labels, _, _| score::label_brier(p, labels)),
    ),
    ScoreKind::lower(
        "ece",
        "gap between confidence and accuracy, mean over bins",
        Rule::Labels(|p, labels, _, bins| score::label_ece(p, labels, bins)),
    ),
    ScoreKind::higher(
        "auroc",
        "area under the ROC curve of a label, mean over labels",
        Rule::Labels(|p, labels, width, _| score::macro_auroc(p, labels, width)),
    ),
];

/// The scores there are for targets of this kind.
pub fn kinds(kind: TargetKind) -> &'static [ScoreKind] {
    match kind {
        TargetKind::Classes => &CLASS_SCORES,
        TargetKind::Values => &VALUE_SCORES,
        TargetKind::Counts => &COUNT_SCORES,
        TargetKind::Labels => &LABEL_SCORES,
    }
}

/// The score that ranks methods: the log loss of classes, counts and labels, or of densities.
pub fn proper(kind: TargetKind) -> &'static ScoreKind {
    &kinds(kind)[1]
}

/// The kind of targets that a prediction is of.
pub fn kind_of(prediction: &Prediction) -> TargetKind {
    match prediction {
        Prediction::Classes(_) => TargetKind::Classes,
        Prediction::Values(_) => TargetKind::Values,
        Prediction::Counts(_) => TargetKind::Counts,
        Prediction::Labels(_) => TargetKind::Labels,
    }
}
