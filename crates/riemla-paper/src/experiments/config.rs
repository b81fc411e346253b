//! An experiment as a reader writes it: one TOML file, checked strictly.

use riemla::curvature::{Structure, Subset};
use riemla::objective::Likelihood;
use riemla::posterior::BatchPlan;
use serde::{Deserialize, Serialize};

use super::truth::{ChainPlan, TruthPlan};
use super::{NetworkChoice, PriorName, Setting};
use riemla_workflow::setting::Entry;

/// One table or figure of the paper, or a study on its problems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: String,
    /// Heading in the report.
    pub title: String,
    /// What it is, and where it departs from the original.
    pub about: String,
    /// What a full run takes.
    pub takes: Takes,
    /// What is drawn of it.
    #[serde(default)]
    pub figure: Figure,
    /// Number of seeds, from 0.
    pub seeds: u64,
    /// Draws per posterior.
    pub samples: u64,
    /// Bins of the calibration errors.
    #[serde(default = "ten")]
    pub bins: usize,
    /// Which posteriors.
    pub methods: Vec<Entry>,
    /// Under which priors.
    #[serde(default = "both")]
    pub priors: Vec<PriorName>,
    /// How geodesics are run: instead of the presets asked for, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Experiments whose problems (and draws) this one looks at in another way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<String>,
    /// Data sets that a model should find strange.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_distribution: Vec<String>,
    /// Approximations of the curvature: every problem once with each. Such an experiment scores its own test rows
    /// too where there are strange ones, and has a table of times and memory instead of the paper's tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approximations: Vec<Approximation>,
    /// A posterior whose draws would take longer, by an estimate, is not run: the report lists it. Training and fits are
    /// not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_cell_seconds: Option<f64>,
    /// Draws are held against the truth, not against the paper's numbers.
    pub truth: Option<TruthPlan>,
    /// A small version, to see that everything works.
    pub quick: Quick,
    /// Data, network and training, one each per row group of the table; what they leave out is in `[defaults]` of the
    /// file.
    #[serde(default)]
    pub problems: Vec<Problem>,
}

/// How much of the curvature is kept, of which weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approximation {
    /// Its name in results, after that of the problem.
    pub name: String,
    /// The structure.
    pub structure: Structure,
    /// The uncertain weights.
    #[serde(default)]
    pub subset: Subset,
}

/// What a full run takes, in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Takes {
    /// On one core, all presets and priors.
    pub time: String,
    /// At its largest.
    pub memory: String,
}

/// What is drawn of an experiment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Nothing.
    #[default]
    None,
    /// The posterior over two weights, and the classifiers.
    Logistic,
    /// Predictive bands over one input.
    Bands,
    /// Confidence over two inputs.
    ConfidenceMaps,
    /// Sampled functions by batch size.
    BatchSizes,
}

/// Data, network and training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Its name in results (the column `train_set`) and of its directories.
    pub name: String,
    /// The data set.
    pub data: String,
    /// Which rows are for what.
    pub split: Split,
    /// Whether inputs get mean 0 and deviation 1 over the training rows.
    #[serde(default)]
    pub standardize: bool,
    /// Sizes of the layers of a tanh network, a list of layers, or the name of one of `experiments/networks.toml`.
    #[serde(deserialize_with = "NetworkChoice::read")]
    pub network: NetworkChoice,
    /// What its outputs mean.
    pub likelihood: Likelihood,
    /// Which weights are uncertain.
    #[serde(default)]
    pub subset: Subset,
    /// How much of the curvature is kept.
    #[serde(default, skip_serializing_if = "is_full")]
    pub structure: Structure,
    /// How the weights are trained.
    pub training: Training,
    /// The fixed prior precision of the Laplace approximation.
    pub fixed_prior: f64,
    /// Batches of the methods that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchPlan>,
    /// Name under which the weights are kept; problems that train the same may share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<String>,
    /// Data sets that a model of this problem should find strange, if not those of the experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_distribution: Vec<String>,
}

impl Split {
    /// Whether some rows are for neither training nor test.
    pub fn has_validation(&self) -> bool {
        matches!(self, Self::Fractions { .. } | Self::InOrder { .. } | Self::Images { .. })
    }
}

/// Which rows are for training and which for the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Split {
    /// scikit-learn's `train_test_split`: a fraction for training, the rest halved into test and
    /// validation, all by `seed` (that of the run if absent).
    Fractions {
        /// Fraction for training.
        train: f64,
        /// Seed of the split.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u32>,
    },
    /// scikit-learn's `train_test_split`: a number of rows for training, the others for testing.
    Count {
        /// Rows for training.
        train: usize,
        /// Seed of the split.
        seed: u32,
    },
    /// The first rows for training, the last for the test, those between for validation.
    InOrder {
        /// Rows for training.
        train: usize,
        /// Rows for the test.
        test: usize,
    },
    /// Rows with inputs in a range for the test, all others for training.
    Gap {
        /// Lower end of the range.
        from: f64,
        /// Upper end.
        to: f64,
    },
    /// Images: so many per class for training, or all, so many of the test part for the test, the others of
    /// it for validation.
    Images {
        /// Per class; all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_class: Option<usize>,
        /// For the test.
        test: usize,
        /// Seed of the choice.
        seed: u64,
    },
    /// All rows for training, and for the test too.
    #[serde(rename = "all")]
    Everything {},
}

/// How the weights are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Which algorithm.
    pub optimizer: Optimizer,
    /// Step size, on the sum of the losses of the data in a step.
    #[serde(default)]
    pub learning_rate: f64,
    /// Whether the step size falls to 0 like a cosine.
    #[serde(default)]
    pub cosine: bool,
    /// Passes over the data.
    #[serde(default)]
    pub epochs: usize,
    /// Added to each step's gradient times the weights.
    pub weight_decay: f64,
    /// Data per step of `sgd`; should divide the number of training rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// First row limit of the data after the split: the rows that are really trained on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// Row limit of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_rows: Option<usize>,
}

/// Training algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// On all data.
    GradientDescent,
    /// On all data.
    Adam,
    /// On batches.
    Sgd,
    /// To the minimum.
    Lbfgs,
}

/// The small version of an experiment: what differs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Number of seeds.
    pub seeds: u64,
    /// Draws per posterior.
    pub samples: u64,
    /// Only these priors; all if absent.
    pub priors: Option<Vec<PriorName>>,
    /// Only these settings; all if absent.
    pub settings: Option<Vec<Setting>>,
    /// Only these problems; all if absent.
    pub problems: Option<Vec<String>>,
    /// Fewer epochs.
    pub epochs: Option<usize>,
    /// Fewer training rows.
    pub rows: Option<usize>,
    /// Fewer test rows.
    pub test_rows: Option<usize>,
    /// Smaller batches.
    pub batch_size: Option<usize>,
    /// Fewer members of ensembles.
    pub members: Option<u64>,
    /// Shorter chains.
    pub chains: Option<ChainPlan>,
}

fn is_full(structure: &Structure) -> bool {
    *structure == Structure::Full
}

fn ten() -> usize {
    10
}

fn both() -> Vec<PriorName> {
    PriorName::ALL.to_vec()
}
