//! What a posterior can be built on: a loss with a gradient, and what else a model can do.

mod curvature;
mod moments;
mod network;
mod outputs;

use std::sync::Arc;

use crate::curvature::{Gaussian, SubsetRanges};
use crate::geometry::Metric;
use crate::objective::{Likelihood, Objective, Prior};
use crate::{Error, Result};

pub use network::NetworkOutputs;

/// A model: its [`Objective`] is the loss of all data with the prior, minus the log-density of the
/// posterior. Everything else is optional, and an error names what a method lacks.
///
/// | to have | implement |
/// |---|---|
/// | `map`, `la`, `riem-la`; both loss metrics, all rules for the strength but the held-out one | `impl Model for MyModel {}` |
/// | Dormand-Prince in place of the constrained leapfrog | [`Objective::second_derivatives`] |
/// | `lin-la`, `lin-riem-la` | [`Model::linearized`] |
/// | batches | [`Model::rows`], [`Model::on_rows`]; by leverage [`Model::row_curvatures`], stratified [`Model::labels`] |
/// | the Fisher metric | [`Model::fisher_metric`], and [`Model::is_convex_in`] for it to be the default |
/// | predictions, the held-out rule | [`Model::outputs`] |
/// | products in single precision | [`Model::multiplying_in_single`] |
/// | draws of some weights at the cost of the layers they are in | [`Model::tail`] |
/// | a strength that minds the data where most weights are left to the prior | [`Model::prior`] |
///
/// [`crate::objective::NetworkLoss`] has all of them.
pub trait Model: Objective {
    /// The loss with its outputs linearised at `center`.
    fn linearized(&self, center: &[f64]) -> Result<Box<dyn Objective>> {
        let _ = center;
        lacks("linearised outputs", "lin-la and lin-riem-la", "la or riem-la")
    }

    /// Number of rows that the loss sums over, if it can be restricted to some of them.
    fn rows(&self) -> Option<usize> {
        None
    }

    /// The class of every row, for batches that keep their frequencies.
    fn labels(&self) -> Option<&[usize]> {
        None
    }

    /// The loss on some rows, each counted with its weight: N/B in a batch of B rows drawn uniformly.
    fn on_rows(&self, rows: &[usize], weights: &[f64]) -> Result<Box<dyn Model>> {
        let _ = (rows, weights);
        lacks("rows to draw batches from", "batches", "all data")
    }

    /// The curvature of every row's loss along directions v of the weights, the outputs linearised at `center`:
    /// (Jᵢv)ᵀΛᵢJᵢv, averaged over the directions (0 if there are none).
    fn row_curvatures(&self, center: &[f64], directions: &[Vec<f64>]) -> Result<Vec<f64>> {
        let _ = (center, directions);
        lacks("curvatures of its rows", "batches by leverage", "uniform batches of a given size")
    }

    /// The Fisher metric on the uncertain weights of `gaussian`, the others held at its centre; of the outputs
    /// linearised there if asked for. The precision is that of the metric at the centre, or close to it.
    fn fisher_metric<'a>(&'a self, gaussian: &'a Gaussian, linearized: bool) -> Result<Box<dyn Metric + 'a>> {
        let _ = (gaussian, linearized);
        lacks("Fisher metric", "draws that follow it", "the preconditioned metric or the loss metric")
    }

    /// Whether the outputs are linear in the weights of `subset`, and the loss convex in the outputs, as in a
    /// logistic regression: [`super::MetricChoice::Auto`] then takes the Fisher metric.
    fn is_convex_in(&self, subset: &SubsetRanges) -> bool {
        let _ = subset;
        false
    }

    /// Outputs to predict with.
    fn outputs(&self) -> Option<Arc<dyn Outputs>> {
        None
    }

    /// The part of the loss that is not of the data: ½Σδθ², if it is known. Rules for the strength then look at the
    /// loss of the data too.
    fn prior(&self) -> Option<&Prior> {
        None
    }

    /// The same model with its matrix products in single precision, except for those of its outputs to predict with.
    fn multiplying_in_single(&self) -> Result<Box<dyn Model>> {
        lacks("products in single precision", "the arithmetic single", "the arithmetic double")
    }

    /// The loss as a function of its last weights, where those before the first of `subset` stay at those of `fixed`;
    /// none if that is no cheaper.
    fn tail(&self, fixed: &[f64], subset: &SubsetRanges) -> Result<Option<Tail>> {
        let _ = (fixed, subset);
        Ok(None)
    }

    /// A warning in words if the loss is not smooth.
    fn smoothness_warning(&self) -> Option<String> {
        None
    }
}

/// A model of the last weights of another one, the others held fixed.
pub struct Tail {
    /// Number of weights that are held fixed: the first ones.
    pub first: usize,
    /// The model of the others, with the values of the whole. Of its methods those are used that draws need.
    pub model: Box<dyn Model>,
}

/// Outputs of a model for new inputs, and the likelihood that turns them into a prediction.
pub trait Outputs: Send + Sync {
    /// Numbers per input row.
    fn input_len(&self) -> usize;

    /// Outputs per row.
    fn output_len(&self) -> usize;

    /// The likelihood of the targets given the outputs.
    fn likelihood(&self) -> Likelihood;

    /// Outputs of every draw for row-major inputs: per draw a row-major rows × outputs array.
    fn evaluate(&self, thetas: &[&[f64]], inputs: &[f64]) -> Result<Vec<Vec<f64>>>;

    /// The same for outputs linearised at `center`.
    fn evaluate_linearized(
        &self,
        center: &[f64],
        thetas: &[&[f64]],
        inputs: &[f64],
    ) -> Result<Vec<Vec<f64>>> {
        let _ = (center, thetas, inputs);
        lacks("linearised outputs", "predictions of lin-la and lin-riem-la", "la or riem-la")
    }

    /// Mean and variance of the linearised outputs under a Gaussian over the weights, row-major.
    fn linearized_moments(&self, gaussian: &Gaussian, inputs: &[f64]) -> Result<OutputMoments> {
        let _ = (gaussian, inputs);
        lacks("linearised outputs", "closed-form predictions", "predictions from draws")
    }
}

/// Mean and variance of outputs, row-major rows × outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputMoments {
    /// f(x; θ*).
    pub mean: Vec<f64>,
    /// Diagonal of J(x)P⁻¹J(x)ᵀ.
    pub variance: Vec<f64>,
}

fn lacks<T>(what: &str, user: &str, instead: &str) -> Result<T> {
    Err(Error::Unsupported(format!("this model has no {what}, needed for {user}; use {instead}")))
}
