//! Predictions of several networks taken together: the mixture of their predictive distributions.

use super::classification::entropy;
use super::{ClassPrediction, LabelPrediction, Prediction, RegressionPrediction};
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
            [(Prediction::Values(_), _), ..] => Ok(Self::Values(values(&all(&counted, numbers)?)?)),
            [(Prediction::Counts(_), _), ..] => Ok(Self::Counts(values(&all(&counted, rates)?)?)),
            [(Prediction::Labels(_), _), ..] => {
                let parts = all(&counted, Prediction::labels)?;
                Ok(Self::Labels(labels(&parts)?))
            }
        }
    }
}

/// Of real numbers, not of counts.
fn numbers(prediction: &Prediction) -> Option<&RegressionPrediction> {
    if let Prediction::Values(values) = prediction { Some(values) } else { None }
}

/// Of counts.
fn rates(prediction: &Prediction) -> Option<&RegressionPrediction> {
    if let Prediction::Counts(rates) = prediction { Some(rates) } else { None }
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
    let first = members[0].0;
    members
        .iter()
        .try_for_each(|(member, _)| check_len("classes of a member", first.classes, member.classes))?;
    let probabilities = average(members, |member| &member.probabilities)?;
    let total: Vec<f64> = probabilities.chunks_exact(first.classes).map(entropy).collect();
    let (aleatoric, epistemic) = parts(members, &total, |member| member.aleatoric.as_deref())?;
    Ok(ClassPrediction { classes: first.classes, probabilities, entropy: total, aleatoric, epistemic })
}

fn labels(members: &[(&LabelPrediction, f64)]) -> Result<LabelPrediction> {
    let first = members[0].0;
    members
        .iter()
        .try_for_each(|(member, _)| check_len("labels of a member", first.labels, member.labels))?;
    let probabilities = average(members, |member| &member.probabilities)?;
    let total: Vec<f64> = probabilities.iter().map(|p| entropy(&[*p, 1.0 - p])).collect();
    let (aleatoric, epistemic) = parts(members, &total, |member| member.aleatoric.as_deref())?;
    Ok(LabelPrediction { labels: first.labels, probabilities, entropy: total, aleatoric, epistemic })
}

/// Aleatoric and epistemic parts, where they are known.
type Parts = (Option<Vec<f64>>, Option<Vec<f64>>);

/// The two parts of an entropy. In closed form a member has only its whole entropy, which is no part of the mixture's.
fn parts<T>(members: &[(&T, f64)], total: &[f64], aleatoric: impl Fn(&T) -> Option<&[f64]>) -> Result<Parts> {
    let known = |(member, weight): &(&T, f64)| Some((aleatoric(member)?.to_vec(), *weight));
    let Some(known) = members.iter().map(known).collect::<Option<Vec<_>>>() else { return Ok((None, None)) };
    let known: Vec<(&Vec<f64>, f64)> = known.iter().map(|(part, weight)| (part, *weight)).collect();
    let aleatoric = average(&known, |part| part.as_slice())?;
    let epistemic = total.iter().zip(&aleatoric).map(|(t, a)| (t - a).max(0.0)).collect();
    Ok((Some(aleatoric), Some(epistemic)))
}

/// Weighted mean of arrays, which must be of one length.
fn average<T>(members: &[(&T, f64)], of: impl Fn(&T) -> &[f64]) -> Result<Vec<f64>> {
    let mut sum = vec![0.0; of(members[0].0).len()];
    for (member, weight) in members {
        check_len("predictions of a member", sum.len(), of(member).len())?;
        sum.iter_mut().zip(of(member)).for_each(|(sum, part)| *sum += weight * part);
    }
    Ok(sum)
}

fn values(members: &[(&RegressionPrediction, f64)]) -> Result<RegressionPrediction> {
    let first = members[0].0;
    members
        .iter()
        .try_for_each(|(member, _)| check_len("outputs of a member", first.outputs, member.outputs))?;
    let mean = average(members, |member| &member.mean)?;
    let aleatoric_variance = average(members, |member| &member.aleatoric_variance)?;
    let mut epistemic_variance = average(members, |member| &member.epistemic_variance)?;
    for (member, weight) in members {
        for ((spread, mean), own) in epistemic_variance.iter_mut().zip(&mean).zip(&member.mean) {
            *spread += weight * (own - mean) * (own - mean);
        }
    }
    Ok(RegressionPrediction { outputs: first.outputs, mean, epistemic_variance, aleatoric_variance })
}
