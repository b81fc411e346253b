//! Whether finished cells are still those of the data and weights that are there now.

use std::path::Path;

use riemla_files::identity::differences;
use riemla_files::{Digest, FittedTo, Model, Origin};

use super::record::{MadeFrom, RunRecord};
use super::rows::Rows;
use super::{Problem, Result, fit};

/// Inputs that a model should find strange, by name.
pub(super) type Strange = Vec<(String, Vec<f64>)>;

/// What the scores of a finished cell would depend on if it were run now, as far as that is known without fitting
/// again: rows, weights and data from elsewhere.
pub(super) struct Now<'a> {
    /// The rows of the problem under the seed.
    pub rows: &'a Rows,
    /// Data that a model should find strange, as in [`MadeFrom`].
    pub out_of_distribution: Vec<Digest>,
    /// The trained weights; none if they are not kept.
    pub weights: Option<Digest>,
}

impl<'a> Now<'a> {
    /// With the weights that are in the output directory.
    pub(super) fn new(
        out: &Path,
        problem: &Problem,
        rows: &'a Rows,
        strange: &[(String, Vec<f64>)],
        record: &RunRecord,
    ) -> Result<Self> {
        let place = fit::directory(out, problem, record.key.seed, record.key.prior);
        let weights = match place.is_dir() {
            true => Some(Digest::of_numbers([Model::read(&place)?.theta.as_slice()])),
            false => None,
        };
        Ok(Self { rows, out_of_distribution: digests(strange), weights })
    }

    /// What is different now from what a cell was made from.
    pub(super) fn differences(&self, then: &MadeFrom) -> Vec<String> {
        let Rows { train, test, validation } = self.rows;
        let now = MadeFrom {
            draws: Origin {
                weights: self.weights.clone().unwrap_or_else(|| then.draws.weights.clone()),
                data: Some(FittedTo::new(train, validation.as_ref())),
                ..then.draws.clone()
            },
            test: Some(Digest::of_data(test)),
            out_of_distribution: self.out_of_distribution.clone(),
        };
        differences(then, &now)
    }
}

/// The digests of inputs that a model should find strange.
pub(super) fn digests(strange: &[(String, Vec<f64>)]) -> Vec<Digest> {
    strange.iter().map(|(_, inputs)| Digest::of_numbers([inputs.as_slice()])).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use riemla::data::Dataset;
    use riemla::data::toy::two_moons;

    use super::*;

    fn of(seed: u64) -> Dataset {
        two_moons(20, 0.2, seed).expect("data")
    }

    fn weights(value: f64) -> Digest {
        Digest::of_numbers([&[value][..]])
    }

    #[test]
    fn whatever_changes_is_named() {
        let rows = Rows { train: Arc::new(of(1)), test: of(2), validation: Some(of(3)) };
        let then = MadeFrom {
            draws: Origin {
                riemla_version: "0.0.1".into(),
                network: weights(7.0),
                weights: weights(1.0),
                gaussian: weights(8.0),
                prior_precision: vec![1.0],
                likelihood: None,
                uncertain_weights: vec![[0, 1]],
                data: Some(FittedTo::new(&rows.train, rows.validation.as_ref())),
            },
            test: Some(Digest::of_data(&rows.test)),
            out_of_distribution: vec![weights(2.0)],
        };
        let now = |rows: &Rows, strange: f64, theta: Option<f64>| {
            let (out_of_distribution, weights) = (vec![weights(strange)], theta.map(weights));
            Now { rows, out_of_distribution, weights }.differences(&then).join("; ")
        };
        assert_eq!(now(&rows, 2.0, Some(1.0)), "");
        assert_eq!(now(&rows, 2.0, None), "", "weights that are not kept");
        assert_eq!(now(&rows, 2.0, Some(1.5)), "the trained weights differ");
        assert_eq!(now(&rows, 2.5, Some(1.0)), "the out-of-distribution data differ");
        let train = Rows { train: Arc::new(of(4)), ..rows.clone() };
        assert_eq!(now(&train, 2.0, Some(1.0)), "the values of the training data differ");
        let test = Rows { test: of(4), ..rows.clone() };
        assert_eq!(now(&test, 2.0, Some(1.0)), "the values of the test data differ");
        let validation = Rows { validation: Some(of(4)), ..rows };
        assert_eq!(now(&validation, 2.0, Some(1.0)), "the values of the held-out data differ");
    }
}
