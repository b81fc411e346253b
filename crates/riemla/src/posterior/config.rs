//! Which posterior, and how its geodesics are run.

use serde::{Deserialize, Serialize};

use super::{BatchPlan, Model, Polish, Strength};
use crate::curvature::SubsetRanges;
use crate::geometry::Integrator;
use crate::nn::Arithmetic;
use crate::objective::second_derivatives;
use crate::ode::DormandPrince;
use crate::{Error, Result};

/// The posteriors, by the names used on the command line and in result files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The trained weights, no uncertainty.
    Map,
    /// Laplace approximation.
    La,
    /// Laplace approximation, linearised predictions.
    LinLa,
    /// Riemannian Laplace approximation.
    #[default]
    RiemLa,
    /// Riemannian Laplace approximation of the linearised network.
    LinRiemLa,
}

impl Method {
    /// All methods, in the order of tables.
    pub const ALL: [Method; 5] = [Method::Map, Method::La, Method::LinLa, Method::RiemLa, Method::LinRiemLa];

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Method::Map => "map",
            Method::La => "la",
            Method::LinLa => "lin-la",
            Method::RiemLa => "riem-la",
            Method::LinRiemLa => "lin-riem-la",
        }
    }

    /// Whether draws follow geodesics.
    pub fn is_riemannian(self) -> bool {
        matches!(self, Method::RiemLa | Method::LinRiemLa)
    }

    /// Whether predictions (and the geodesics' loss) use the linearised network.
    pub fn is_linearized(self) -> bool {
        matches!(self, Method::LinLa | Method::LinRiemLa)
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = || Method::ALL.map(Method::name).join(", ");
        let found = Method::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| Error::range("method", name, format!("one of {}", known())))
    }
}

/// What to do with a geodesic that does not reach its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// Draw another tangent vector, up to this number of times, then fail.
    Redraw(usize),
    /// Keep the last point, with its status.
    Keep,
    /// Fail.
    Fail,
}

/// Which Riemannian metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricChoice {
    /// The Fisher metric for convex models (logistic regressions, last layers) of up to 2000 weights, else the
    /// preconditioned one; always that where a strength, an integrator or batches were chosen.
    #[default]
    Auto,
    /// I + a²∇L∇Lᵀ, the paper's.
    Loss,
    /// P + a²∇L∇Lᵀ with P the Laplace precision, and tangents lengthened so that Gaussian posteriors
    /// are exact at every strength.
    Preconditioned,
    /// The Fisher metric Σ JᵀΛJ + δ: no strength to choose, exact for Gaussian posteriors.
    Fisher,
}

/// Weights up to which the Fisher metric is taken where the metric is left open.
const MOST_FISHER_WEIGHTS: usize = 2000;

/// Choices of a posterior.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PosteriorConfig {
    /// Which posterior.
    pub method: Method,
    /// Which metric.
    pub metric: MetricChoice,
    /// Strength a of the metric I + a²∇L∇Lᵀ, or the rule that finds it.
    pub strength: Strength,
    /// How geodesics are integrated.
    pub integrator: Integrator,
    /// What to do with unfinished ones.
    pub unfinished: Unfinished,
    /// Batches for the Riemannian methods; all data if `None`.
    pub batch: Option<BatchPlan>,
    /// Short Markov chains from the draws, which bring them closer to the posterior; none if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polish: Option<Polish>,
    /// In which precision the products of evaluations are made: of the loss along geodesics and chains and of its
    /// derivatives, not of predictions. With `Double` the model is evaluated as it was given.
    #[serde(default, skip_serializing_if = "Arithmetic::is_double")]
    pub arithmetic: Arithmetic,
}

impl Default for Unfinished {
    fn default() -> Self {
        Self::Redraw(10)
    }
}

impl PosteriorConfig {
    /// The defaults for a method: the preconditioned metric at the strength at which the loss is as
    /// high as at typical draws (why: docs/decisions/0016-default-metric.md), constrained leapfrog, all data, up
    /// to 10 redraws; for convex models the Fisher metric (why: docs/decisions/0029-metric-auto.md).
    pub fn new(method: Method) -> Self {
        Self { method, ..Self::default() }
    }

    /// What `riemla sample` and Python draw by: the defaults, and draws of `riem-la` are polished.
    pub fn of_commands(method: Method) -> Self {
        Self { polish: (method == Method::RiemLa).then(Polish::default), ..Self::new(method) }
    }

    /// The paper's metric at strength 1, solved by the constrained leapfrog, otherwise the defaults.
    pub fn paper(method: Method) -> Self {
        Self { metric: MetricChoice::Loss, strength: Strength::Fixed(1.0), ..Self::new(method) }
    }

    /// A Riemannian method with the Fisher metric: Dormand-Prince at rtol 1e-4, otherwise the
    /// defaults. Its geodesics are smooth and take few steps.
    pub fn fisher(method: Method) -> Self {
        let solver = DormandPrince { rtol: 1e-4, atol: 1e-6, ..DormandPrince::default() };
        let integrator = Integrator::DormandPrince(solver);
        Self { metric: MetricChoice::Fisher, integrator, ..Self::paper(method) }
    }

    /// The strength of the metric, if it is a number: none for methods without geodesics, for rules,
    /// and for the Fisher metric, which has none.
    pub fn fixed_strength(&self) -> Option<f64> {
        let has_one = self.method.is_riemannian() && self.metric != MetricChoice::Fisher;
        self.strength.fixed().filter(|_| has_one)
    }

    /// With the metric that [`MetricChoice::Auto`] stands for.
    pub(super) fn settled(self, model: &dyn Model, subset: &SubsetRanges) -> Self {
        if self.metric != MetricChoice::Auto {
            return self;
        }
        let Self { method, unfinished, polish, arithmetic, .. } = self;
        let open = |config| Self { unfinished, polish, arithmetic, ..config };
        let usual = open(Self::new(method));
        let fisher = self == usual
            && method == Method::RiemLa
            && subset.len() <= MOST_FISHER_WEIGHTS
            && model.is_convex_in(subset);
        match fisher {
            true => open(Self::fisher(method)),
            false => Self { metric: MetricChoice::Preconditioned, ..self },
        }
    }

    /// Checks what the geodesics need.
    pub(super) fn validate_geodesics(&self, model: &dyn Model) -> Result<()> {
        self.strength.validate()?;
        self.integrator.validate()?;
        if self.metric != MetricChoice::Fisher {
            if let Integrator::DormandPrince(_) = self.integrator {
                second_derivatives(model, "Dormand-Prince")?;
            }
            return Ok(());
        }
        let message = if self.strength.fixed().is_none() {
            "the Fisher metric has no strength to calibrate; leave it fixed"
        } else if !matches!(self.integrator, Integrator::DormandPrince(_)) {
            "the constrained leapfrog supports only metrics of the loss; use dormand-prince with the \
             Fisher metric"
        } else {
            return Ok(());
        };
        Err(Error::Unsupported(message.into()))
    }

    /// Checks that there are evaluations whose arithmetic can be chosen.
    pub(super) fn validate_arithmetic(&self) -> Result<()> {
        if self.arithmetic == Arithmetic::Double || self.method.is_riemannian() || self.polish.is_some() {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "{} evaluates no loss: leave out the arithmetic, or polish its draws",
            self.method
        )))
    }

    /// Checks that draws can be polished.
    pub(super) fn validate_polish(&self) -> Result<()> {
        let Some(polish) = &self.polish else { return Ok(()) };
        if self.method == Method::Map {
            return Err(Error::Unsupported("map is a single point; there are no draws to polish".into()));
        }
        if self.batch.is_some() {
            let message = "draws that follow batches cannot be polished: the chains need the loss of all rows, which \
                           then costs more than the geodesics save; leave out the batch or the polish";
            return Err(Error::Unsupported(message.into()));
        }
        polish.validate()
    }
}
