//! Predictions of several networks taken together: the mixture of their predictive distributions.

use super::classification::entropy;
use super::{ClassPrediction, Prediction, RegressionPrediction};
use crate::error::check_len;
use crate::{Error, Result};

impl Prediction {
    /// The mixture of predictions for the same rows, with weights that need not add up to 1.
    ///
    /// Classes: the weighted mean of the probabilities. Values: mean and variance of the mixture; what the members
    /// disagree about is epistemic. One member with a positive weight comes back unchanged.
    pub fn mixture(members: &[Prediction], weights: &[f64]) -> Result<Self> {
        check_len("weights of members", members.len(), weights.len())?;
        if let Some(wrong) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            return Err(Error::range("weight of a member", wrong, "finite and at least 0"));
        }
        let total: f64 = weights.iter().sum();
        let counted: Vec<(&Prediction, f64)> = members
            .iter()
            .zip(weights.iter().map(|weight| weight / total))
            .filter(|(_, w)| *w > 0.0)
            .collect();
        match counted.as_slice() {
            [] => Err(Error::range("number of members with a positive weight", 0, "at least 1")),
            [(only, _)] => Ok((*only).clone()),
            [(Prediction::Classes(_), _), ..] => {
                let parts = all(&counted, Prediction::classes)?;
                Ok(Self::Classes(classes(&parts)?))
            }
            [(Prediction::Values(_), _), ..] => {
                let parts = all(&counted, Prediction::values)?;
                Ok(Self::Values(values(&parts)?))
            }
        }
    }
}

/// All members as one kind of prediction.
fn all<'a, T>(
    members: &[(&'a Prediction, f64)],
    kind: impl Fn(&'a Prediction) -> Option<&'a T>,
) -> Result<Vec<(&'a T, f64)>> {
    let of = |(prediction, weight): &(&'a Prediction, f64)| Some((kind(prediction)?, *weight));
    members.iter().map(of).collect::<Option<_>>().ok_or_else(|| {
        Error::Unsupported(
            "members that predict classes and members that predict values cannot be mixed".into(),
        )
    })
}

fn classes(members: &[(&ClassPrediction, f64)]) -> Result<ClassPrediction> {
    let (first, rows) = (members[0].0, members[0].0.entropy.len());
    let mut probabilities = vec![0.0; first.probabilities.len()];
    // In closed form a member has only its whole entropy, which is no part of the mixture's.
    let mut aleatoric = Some(vec![0.0; rows]);
    for (member, weight) in members {
        check_len("classes of a member", first.classes, member.classes)?;
        check_len("rows of a member", rows, member.entropy.len())?;
        add(*weight, &member.probabilities, &mut probabilities);
        match (&mut aleatoric, &member.aleatoric) {
            (Some(sum), Some(part)) => add(*weight, part, sum),
            _ => aleatoric = None,
        }
    }
    let total: Vec<f64> = probabilities.chunks_exact(first.classes).map(entropy).collect();
    let rest = |a: &Vec<f64>| total.iter().zip(a).map(|(t, a)| (t - a).max(0.0)).collect();
    let epistemic = aleatoric.as_ref().map(rest);
    Ok(ClassPrediction { classes: first.classes, probabilities, entropy: total, aleatoric, epistemic })
}

fn values(members: &[(&RegressionPrediction, f64)]) -> Result<RegressionPrediction> {
    let (first, len) = (members[0].0, members[0].0.mean.len());
    let (mut mean, mut noise, mut spread) = (vec![0.0; len], vec![0.0; len], vec![0.0; len]);
    for (member, weight) in members {
        check_len("outputs of a member", first.outputs, member.outputs)?;
        check_len("predictions of a member", len, member.mean.len())?;
        add(*weight, &member.mean, &mut mean);
        add(*weight, &member.aleatoric_variance, &mut noise);
        add(*weight, &member.epistemic_variance, &mut spread);
    }
    for (member, weight) in members {
        for ((spread, mean), own) in spread.iter_mut().zip(&mean).zip(&member.mean) {
            *spread += weight * (own - mean) * (own - mean);
        }
    }
    Ok(RegressionPrediction {
        outputs: first.outputs,
        mean,
        epistemic_variance: spread,
        aleatoric_variance: noise,
    })
}

fn add(weight: f64, part: &[f64], sum: &mut [f64]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += weight * part);
}
