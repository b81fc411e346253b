//! What a demonstration found, as plain data: the content of `results.json`.

use riemla::geometry::Counters;
use riemla::posterior::{GeodesicSummary, Method};
use riemla::score::ReliabilityBin;
use riemla::train::TrainStatus;
use serde::Serialize;

use super::DemoConfig;
use crate::scores::Doubts;
use crate::workflow::{Result, evaluate};

/// By which `results.json` is recognised.
pub(super) const SCHEMA: &str = "riemla-demo";

/// The result of a demonstration. All but `timing` follows from `config`.
#[derive(Debug, Clone, Serialize)]
pub struct DemoResult {
    /// Always `riemla-demo`.
    pub schema: &'static str,
    /// Raised when a field changes its meaning or goes away; new fields do not raise it.
    pub schema_version: u32,
    /// Version of the program.
    pub version: &'static str,
    /// Settings.
    pub config: DemoConfig,
    /// Whether draws are missing because a stop was asked for.
    pub interrupted: Option<Interruption>,
    /// How the minimum was found.
    pub training: TrainingSummary,
    /// The Gaussian at the minimum.
    pub laplace: LaplaceSummary,
    /// Posteriors with at least one draw, in the order of tables.
    pub methods: Vec<MethodResult>,
    /// Posteriors without a draw.
    pub missing: Vec<MissingMethod>,
    /// Times: the only part that differs between runs.
    pub timing: Timing,
    /// Training points (x, y, class).
    #[serde(skip)]
    pub train: Vec<(f64, f64, usize)>,
}

impl DemoResult {
    /// The result of one method.
    pub fn method(&self, method: Method) -> Option<&MethodResult> {
        self.methods.iter().find(|m| m.method == method)
    }

    /// Gradients and milliseconds per draw of a method, where they are known.
    pub(super) fn costs(&self, method: &MethodResult) -> [Option<f64>; 2] {
        let timing = self.timing.methods.iter().find(|timing| timing.method == method.method);
        let gradients = method.counters.map(|counters| counters.gradients as f64 / method.draws as f64);
        [gradients, timing.map(|timing| timing.milliseconds_per_draw)]
    }

    /// The result as JSON, with a line break at its end.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("plain data with text keys is always JSON") + "\n"
    }
}

/// How far an interrupted run came.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interruption {
    /// Draws made, of all uncertain methods together.
    pub draws: u64,
    /// Draws asked for.
    pub of: u64,
}

impl Interruption {
    /// None if the stop came too late to make a difference.
    pub(super) fn new(config: &DemoConfig, methods: &[MethodResult]) -> Option<Self> {
        let of = config.samples * (Method::ALL.len() as u64 - 1);
        let uncertain = methods.iter().filter(|m| m.method != Method::Map);
        let (draws, failed) = uncertain.fold((0, 0), |n, m| (n.0 + m.draws, n.1 + m.failed.len() as u64));
        (draws + failed < of).then_some(Self { draws, of })
    }
}

/// The minimum.
#[derive(Debug, Clone, Serialize)]
pub struct TrainingSummary {
    /// Loss L(θ*) under the chosen prior.
    pub loss: f64,
    /// ‖∇L(θ*)‖.
    pub gradient_norm: f64,
    /// Gradients spent, without those of refitting.
    pub evaluations: usize,
    /// How the last descent ended.
    pub status: TrainStatus,
}

/// The Laplace approximation.
#[derive(Debug, Clone, Serialize)]
pub struct LaplaceSummary {
    /// Number of weights K.
    pub parameters: usize,
    /// Prior precision that maximises the marginal likelihood.
    pub prior_precision: f64,
    /// Logarithm of the marginal likelihood.
    pub log_marginal_likelihood: Option<f64>,
    /// ‖∇L(θ*)‖ under that prior.
    pub gradient_norm: f64,
    /// Priors that were tried, for the network and a linear model.
    pub prior_trials: usize,
}

/// One posterior.
#[derive(Debug, Clone, Serialize)]
pub struct MethodResult {
    /// Which.
    pub method: Method,
    /// Draws asked for.
    pub requested: u64,
    /// Draws made.
    pub draws: u64,
    /// Scores on the test points and on points far from the data.
    pub scores: Scores,
    /// Confidence against accuracy on the test points.
    pub reliability: Vec<ReliabilityBin>,
    /// Mean of (θ − θ*)·∇L(θ)/K; 1 for draws from exp(−L). None for the trained weights alone.
    pub virial_ratio: Option<f64>,
    /// Strength of the metric, found or given; none without geodesics.
    pub strength: Option<f64>,
    /// Work of all geodesics.
    pub counters: Option<Counters>,
    /// Draws whose geodesics did not reach their end.
    pub failed: Vec<FailedDraw>,
    /// Every draw.
    pub records: Vec<DrawRecord>,
    /// Predictions over the plane.
    #[serde(skip)]
    pub map: Map,
}

/// Scores of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scores {
    /// Share of right predictions.
    pub accuracy: f64,
    /// Mean of −log p(label).
    pub nll: f64,
    /// Mean squared error of the probabilities, summed over classes.
    pub brier: f64,
    /// Expected calibration error.
    pub ece: f64,
    /// Maximal calibration error.
    pub mce: f64,
    /// Probability that a point far away is less confident than a test point.
    pub auroc_far: f64,
    /// Mean largest probability on test points.
    pub confidence_test: f64,
    /// Mean largest probability on points far away.
    pub confidence_far: f64,
}

impl Scores {
    /// Those of an evaluation of classes, with the points far away as its other data.
    pub(super) fn of(found: &evaluate::MethodResult) -> Result<Self> {
        let [accuracy, nll, brier, ece, mce] = std::array::from_fn(|k| found.scores[k].estimate);
        let far = &found.ood[0];
        let confidence = |prediction| -> Result<f64> {
            let doubts = Doubts::of(prediction)?.confidence;
            Ok(1.0 - doubts.iter().sum::<f64>() / doubts.len() as f64)
        };
        Ok(Self {
            accuracy,
            nll,
            brier,
            ece,
            mce,
            auroc_far: far.auroc.estimate,
            confidence_test: confidence(&found.prediction)?,
            confidence_far: confidence(&far.prediction)?,
        })
    }
}

/// One draw without its weights.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DrawRecord {
    /// Number of the draw; equal numbers have the same tangent vector in every method, unless
    /// their geodesic took more than one attempt.
    pub index: u64,
    /// Loss at the drawn weights, of the network that makes the predictions.
    pub loss: f64,
    /// What the geodesic did.
    pub geodesic: Option<GeodesicSummary>,
}

/// A draw that could not be made.
#[derive(Debug, Clone, Serialize)]
pub struct FailedDraw {
    /// Number of the draw.
    pub index: u64,
    /// Why.
    pub reason: String,
}

/// A posterior without a draw.
#[derive(Debug, Clone, Serialize)]
pub struct MissingMethod {
    /// Which.
    pub method: Method,
    /// Why.
    pub reason: String,
}

/// Predictions at the nodes of the window.
#[derive(Debug, Clone, Default)]
pub struct Map {
    /// Probability of class 1.
    pub probability: Vec<f64>,
    /// Mutual information of label and weights, in nats.
    pub epistemic: Vec<f64>,
}

/// Wall-clock times.
#[derive(Debug, Clone, Serialize)]
pub struct Timing {
    /// Threads in use.
    pub threads: usize,
    /// Training and Laplace approximation.
    pub fit_seconds: f64,
    /// Drawing and predicting.
    pub methods: Vec<MethodTiming>,
    /// Everything.
    pub total_seconds: f64,
}

/// Wall-clock times of one method.
#[derive(Debug, Clone, Serialize)]
pub struct MethodTiming {
    /// Which.
    pub method: Method,
    /// Drawing, all threads at work.
    pub drawing_seconds: f64,
    /// The same per draw, in milliseconds.
    pub milliseconds_per_draw: f64,
    /// Drawing and predicting.
    pub total_seconds: f64,
}

impl MethodTiming {
    pub(super) fn new(result: &MethodResult, drawing_seconds: f64, total_seconds: f64) -> Self {
        let milliseconds_per_draw = 1e3 * drawing_seconds / result.draws.max(1) as f64;
        Self { method: result.method, drawing_seconds, milliseconds_per_draw, total_seconds }
    }
}
