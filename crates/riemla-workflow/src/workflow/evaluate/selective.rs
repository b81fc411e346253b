//! Predictions that may be withheld, and sets and intervals with a promised coverage, on the test rows.

use riemla::data::{Dataset, Targets};
use riemla::predict::Prediction;
use riemla::score::{RiskPoint, aurc, risk_coverage};
use serde::Serialize;

use super::Source;
use crate::scores::{Doubts, losses};
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::guarantees::{Guarantees, Wanted};
use crate::workflow::members::Together;

/// What one method gains by knowing what it does not know.
#[derive(Debug, Clone, Serialize)]
pub struct Selective {
    /// Area under the risk-coverage curve: mean error (classes) or squared error (numbers) over all shares of kept rows.
    pub aurc: f64,
    /// The threshold that the held-out rows ask for, and what it does to the test rows.
    pub abstention: Option<Abstention>,
    /// Conformal sets and intervals.
    pub conformal: Option<Coverage>,
    /// The curve, for pictures.
    #[serde(skip)]
    pub curve: Vec<RiskPoint>,
}

/// Test rows under a threshold that was chosen on held-out rows.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Abstention {
    /// Smallest confidence that is accepted.
    pub least_confidence: f64,
    /// Share of the test rows that are answered.
    pub answered: f64,
    /// Share of wrong ones among them; none if there are none.
    pub error_rate: Option<f64>,
}

/// Conformal sets and intervals on the test rows.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Coverage {
    /// The promised coverage.
    pub level: f64,
    /// Share of the targets inside.
    pub coverage: f64,
    /// Mean number of classes in a set, or width of an interval.
    pub size: f64,
}

impl Selective {
    pub(super) fn new(
        source: &Source,
        held_out: Option<&Dataset>,
        wanted: Wanted,
        (prediction, targets): (&Prediction, &Targets),
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let losses = losses(prediction, targets)?;
        let doubts = Doubts::of(prediction)?.confidence;
        let guarantees = match source {
            Source::Weights(predictor) => possible(predictor, held_out, wanted, notes)?,
            Source::Constant { .. } => Guarantees::default(),
        };
        let abstention = guarantees.abstention.map(|point| {
            let kept: Vec<f64> =
                doubts.iter().zip(&losses).filter(|(d, _)| **d <= point.threshold).map(|(_, l)| *l).collect();
            Abstention {
                least_confidence: 1.0 - point.threshold,
                answered: kept.len() as f64 / losses.len() as f64,
                error_rate: (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64),
            }
        });
        let conformal = match guarantees.conformal {
            Some(conformal) => {
                let (coverage, size) = conformal.assess(prediction, targets)?;
                Some(Coverage { level: conformal.level, coverage, size })
            }
            None => None,
        };
        Ok(Self {
            aurc: aurc(&losses, &doubts)?,
            curve: risk_coverage(&losses, &doubts)?,
            abstention,
            conformal,
        })
    }
}

/// What the held-out rows can promise; what they cannot is a note, and the other methods are evaluated all the same.
fn possible(
    predictor: &Together,
    held_out: Option<&Dataset>,
    wanted: Wanted,
    notes: &mut Vec<String>,
) -> Result<Guarantees> {
    let mut found = Guarantees::default();
    for one in [Wanted { conformal: None, ..wanted }, Wanted { max_error: None, ..wanted }] {
        match Guarantees::fit(predictor, held_out, one) {
            Ok(fitted) => {
                found.abstention = found.abstention.or(fitted.abstention);
                found.conformal = found.conformal.or(fitted.conformal);
            }
            Err(WorkflowError::Library(riemla::Error::Unsupported(reason))) => notes.push(reason),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
