//! The draws that a rule looks at: the first of the seed, the same tangents and batches at every strength.

use std::ops::Range;

use rayon::prelude::*;

use super::geodesics::DrawLoss;
use super::ratio::{Height, Ratios, ratios};
use super::{MetricChoice, Posterior, Strength};
use crate::curvature::Gaussian;
use crate::geometry::{Geodesic, Status};
use crate::linalg::vector::{dot, norm};
use crate::objective::{Objective, Prior, check_failure};
use crate::random::{Purpose, stream};
use crate::{Control, Result};

/// The draws that a rule looks at.
pub(super) struct Pilots<'a> {
    posterior: &'a Posterior,
    heights: Heights<'a>,
    pilots: Vec<Pilot>,
}

struct Pilot {
    v: Vec<f64>,
    /// The loss of its geodesic: that of all data, or of its batch.
    loss: DrawLoss,
}

impl<'a> Pilots<'a> {
    /// As draws are, or (`on_all_rows`) as draws would be without batches.
    pub fn new(posterior: &'a Posterior, seed: u64, on_all_rows: bool) -> Result<Self> {
        let pilot = |index| {
            let v = posterior.tangent(seed, index, 0);
            let loss =
                if on_all_rows { DrawLoss::on_all_rows() } else { posterior.draw_loss(seed, index)? };
            Ok(Pilot { v, loss })
        };
        let rule = posterior.config().strength;
        // Where the strength is a number there is only a length to find.
        let count = if rule.pilots() == 0 { Strength::virial().pilots() } else { rule.pilots() };
        let pilots = (0..count as u64).map(pilot).collect::<Result<_>>()?;
        Ok(Self { posterior, heights: Heights::new(posterior, rule)?, pilots })
    }

    pub fn len(&self) -> usize {
        self.pilots.len()
    }

    /// 2‖v‖/K on average, the length being that of the metric without its loss term: see `search`.
    pub fn natural_strength(&self) -> f64 {
        let k = self.posterior.gaussian().subset().len() as f64;
        let length = match self.posterior.config().metric {
            MetricChoice::Preconditioned => k.sqrt(),
            _ => self.pilots.iter().map(|pilot| norm(&pilot.v)).sum::<f64>() / self.pilots.len() as f64,
        };
        2.0 * length / k
    }

    /// Some of the pilot geodesics at one strength.
    pub fn run(&self, pilots: Range<usize>, strength: f64, control: Control<'_>) -> Result<Vec<Geodesic>> {
        let integrator = &self.posterior.config().integrator;
        let geodesic =
            |pilot: &Pilot| self.posterior.follow(&pilot.loss, strength, integrator, &pilot.v, 0, control);
        self.pilots[pilots].par_iter().with_max_len(1).map(geodesic).collect()
    }

    /// How high the pilots from `first` on lie at a factor of the way to their ends; none where a geodesic did not finish.
    /// A gradient each.
    pub fn heights(&self, first: usize, geodesics: &[Geodesic], factor: f64) -> Result<Vec<Option<Height>>> {
        let pairs = self.pilots[first..].iter().zip(geodesics);
        let height = |(pilot, geodesic): (&Pilot, &Geodesic)| {
            let reached = geodesic.status == Status::Reached;
            reached.then(|| self.heights.of(&pilot.v, &geodesic.end, factor))
        };
        let heights = pairs.map(height).collect();
        check_failure(self.heights.loss)?;
        Ok(heights)
    }

    /// What `rule` makes of heights.
    pub fn ratios(&self, rule: Strength, heights: &[Height]) -> Ratios {
        ratios(rule, self.posterior.gaussian().subset().len() as f64, heights)
    }
}

/// Measures how high draws lie.
pub(super) struct Heights<'a> {
    posterior: &'a Posterior,
    /// The loss of the posterior: on all data, of the weights that draws move on.
    loss: &'a dyn Objective,
    loss_start: f64,
    gradient: Vec<f64>,
    data: Option<DataPart<'a>>,
}

/// What is needed to tell the loss of the data from that of the prior.
struct DataPart<'a> {
    prior: &'a Prior,
    prior_start: f64,
    /// Λθ*.
    pull: Vec<f64>,
    /// γ = K − tr(ΛP⁻¹).
    determined: f64,
}

/// Tangents by whose average γ is known; these cost products with the precision only.
const TANGENTS: u64 = 60;

impl<'a> DataPart<'a> {
    /// None if the model does not tell its prior, or the data determine next to nothing.
    fn new(posterior: &'a Posterior) -> Option<Self> {
        let (prior, gaussian) = (posterior.moving.model().prior()?, posterior.moving.gaussian());
        let theta = gaussian.theta();
        let mut pull = vec![0.0; theta.len()];
        prior.add_product(theta, &mut pull);
        // Not the stream of the draws: γ is the same for all seeds.
        let of = |i| {
            let v = gaussian.draw_tangent(&mut stream(0, Purpose::Average, i));
            square(gaussian, &v) - prior.quadratic(&v)
        };
        let squares: Vec<f64> = (0..TANGENTS).into_par_iter().map(of).collect();
        let determined = squares.iter().sum::<f64>() / TANGENTS as f64;
        (determined >= 1.0).then(|| Self { prior, prior_start: prior.value(theta), pull, determined })
    }
}

/// vᵀPv.
fn square(gaussian: &Gaussian, v: &[f64]) -> f64 {
    let uncertain = gaussian.subset().gather(v);
    let mut product = vec![0.0; uncertain.len()];
    gaussian.precision().mul(&uncertain, &mut product);
    dot(&uncertain, &product)
}

impl<'a> Heights<'a> {
    /// For `rule`.
    pub fn new(posterior: &'a Posterior, rule: Strength) -> Result<Self> {
        let (loss, theta) = (posterior.moving_objective()?, posterior.moving.gaussian().theta());
        let mut gradient = vec![0.0; theta.len()];
        let loss_start = loss.value_and_gradient(theta, &mut gradient);
        check_failure(loss)?;
        let looks_at_data = matches!(rule, Strength::Typical { .. });
        let data = looks_at_data.then(|| DataPart::new(posterior)).flatten();
        Ok(Self { posterior, loss, loss_start, gradient, data })
    }

    /// Of the draw at a factor of the way to the end of the geodesic with tangent `v`.
    pub fn of(&self, v: &[f64], end: &[f64], factor: f64) -> Height {
        let moving = &self.posterior.moving;
        let end = self.posterior.shortened(end.to_vec(), factor);
        let (gaussian, v, end) = (moving.gaussian(), moving.part(v), moving.part(&end));
        let k = gaussian.subset().len() as f64;
        let slope = factor * dot(&self.gradient, v);
        let mut gradient = vec![0.0; end.len()];
        let rise = self.loss.value_and_gradient(end, &mut gradient) - self.loss_start;
        let virial = dot(&gradient, end) - dot(&gradient, gaussian.theta());
        let square = square(gaussian, v);
        let (data, data_tangent) = match &self.data {
            None => (0.0, 0.0),
            Some(DataPart { prior, prior_start, pull, determined }) => {
                let data_rise = rise - (prior.value(end) - prior_start);
                let data_slope = slope - factor * dot(pull, v);
                ((data_rise - data_slope) / (0.5 * determined), (square - prior.quadratic(v)) / determined)
            }
        };
        Height {
            rise: (rise - slope) / (0.5 * k),
            virial: (virial - slope) / k,
            tangent: square / k,
            data,
            data_tangent,
        }
    }
}
