//! What held-out rows promise about new ones: a threshold of confidence for a wanted error rate, and conformal sets and
//! intervals of a wanted coverage.

use riemla::data::{Dataset, Targets};
use riemla::predict::{Conformal, Prediction};
use riemla::score::{RiskPoint, threshold_for_rate};
use serde::Serialize;

use super::error::{Result, WorkflowError};
use super::members::Together;
use crate::scores::{Doubts, decoded_targets, losses};

/// What is wanted of new predictions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Wanted {
    /// Highest error rate of the predictions that are not withheld.
    pub max_error: Option<f64>,
    /// Coverage of conformal sets and intervals.
    pub conformal: Option<f64>,
}

impl Wanted {
    /// Whether anything is.
    pub fn is_something(self) -> bool {
        self != Self::default()
    }
}

/// What held-out rows say about one way to predict.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Guarantees {
    /// Predictions that are less sure are withheld.
    pub abstention: Option<RiskPoint>,
    /// Width of sets and intervals.
    pub conformal: Option<Conformal>,
}

impl Guarantees {
    /// Looks at the predictions for held-out rows, which must not have been used to choose anything else.
    pub fn fit(predictor: &Together, held_out: Option<&Dataset>, wanted: Wanted) -> Result<Self> {
        if !wanted.is_something() {
            return Ok(Self::default());
        }
        let Some(rows) = held_out else {
            return Err(WorkflowError::unfit(
                "an error rate (--max-error) and a coverage (--conformal) are promises by rows that were not trained \
                 on: give some with --validation, or hold out rows in training",
            ));
        };
        if predictor.mixed || predictor.temperature.is_some_and(|temperature| temperature.is_fitted()) {
            let reason = "the held-out rows were used to choose the temperature or the share of the trained weights and cannot also \
                          guarantee an error rate or a coverage: predict at --temperature 1";
            return Err(riemla::Error::Unsupported(reason.into()).into());
        }
        let prediction = predictor.predict(rows.inputs())?;
        let targets = decoded_targets(rows.targets(), predictor.scales());
        let threshold = |rate| match (&prediction, &targets) {
            (Prediction::Classes(_), Targets::Classes(_)) => {
                let doubts = Doubts::of(&prediction)?.confidence;
                Ok(threshold_for_rate(&losses(&prediction, &targets)?, &doubts, rate)?)
            }
            _ => Err(WorkflowError::unfit(
                "an error rate (--max-error) is for one class per row; numbers and counts have intervals (--conformal)",
            )),
        };
        let conformal = |level| Conformal::fit(&prediction, &targets, level);
        Ok(Self {
            abstention: wanted.max_error.map(threshold).transpose()?,
            conformal: wanted.conformal.map(conformal).transpose()?,
        })
    }

    /// Whether each row is withheld; none if nothing is.
    pub fn withheld(&self, prediction: &Prediction) -> Result<Option<Vec<bool>>> {
        let Some(point) = &self.abstention else { return Ok(None) };
        let doubts = Doubts::of(prediction)?.confidence;
        Ok(Some(doubts.iter().map(|doubt| *doubt > point.threshold).collect()))
    }

    /// What was found, for the user.
    pub fn notes(&self) -> Vec<String> {
        let abstention = self.abstention.map(|point| {
            format!(
                "predictions with a confidence below {:.4} are withheld: on the held-out rows {:.1} % remain, of which \
                 {:.1} % are wrong",
                1.0 - point.threshold,
                100.0 * point.coverage,
                100.0 * point.risk
            )
        });
        let conformal = self.conformal.map(|conformal| {
            format!(
                "conformal sets and intervals by {} held-out rows: {:.0} % of new rows of the same kind are inside",
                conformal.rows,
                100.0 * conformal.level
            )
        });
        abstention.into_iter().chain(conformal).collect()
    }
}
