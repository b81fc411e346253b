//! Predictions as named columns.

use riemla::predict::Prediction;
use riemla::score::{max_probabilities, normal_quantile, top_class};
use riemla_files::table::Values;
use riemla_files::{Model, Table};

use super::PredictConfig;
use crate::workflow::error::Result;
use crate::workflow::guarantees::Guarantees;

/// A column of the output.
pub(super) struct Column {
    pub name: String,
    pub values: Values,
}

impl Column {
    fn numbers(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values: Values::Numbers(values) }
    }
}

/// The columns of a prediction.
pub(super) fn columns(prediction: &Prediction, model: &Model, config: &PredictConfig) -> Result<Vec<Column>> {
    let mut columns = match prediction {
        Prediction::Classes(_) => class_columns(prediction, model)?,
        Prediction::Values(_) => value_columns(prediction, config.level),
    };
    columns.extend(promised(prediction, model, &config.guarantees)?);
    Ok(columns)
}

/// What held-out rows promise: whether the prediction is withheld, and sets and intervals.
fn promised(prediction: &Prediction, model: &Model, guarantees: &Guarantees) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    if let Some(withheld) = guarantees.withheld(prediction)? {
        columns.push(Column::numbers("abstain", withheld.into_iter().map(f64::from).collect()));
    }
    let Some(conformal) = &guarantees.conformal else { return Ok(columns) };
    match prediction {
        Prediction::Classes(p) => {
            let names = class_names(model, p.classes);
            let sets: Vec<Vec<usize>> =
                p.probabilities.chunks_exact(p.classes).map(|row| conformal.set(row)).collect();
            let text =
                |set: &Vec<usize>| set.iter().map(|k| names[*k].as_str()).collect::<Vec<_>>().join("|");
            let texts = Values::Strings(sets.iter().map(text).collect());
            columns.push(Column { name: "set".into(), values: texts });
            columns.push(Column::numbers("set_size", sets.iter().map(|set| set.len() as f64).collect()));
        }
        Prediction::Values(p) => {
            let bounds: Vec<(f64, f64)> = p
                .mean
                .iter()
                .zip(p.variance())
                .map(|(mean, variance)| conformal.interval(*mean, variance))
                .collect();
            for k in 0..p.outputs {
                let suffix = if p.outputs > 1 { format!("_{k}") } else { String::new() };
                let of = || bounds.iter().skip(k).step_by(p.outputs);
                columns.push(Column::numbers(
                    format!("conformal_lower{suffix}"),
                    of().map(|bound| bound.0).collect(),
                ));
                columns.push(Column::numbers(
                    format!("conformal_upper{suffix}"),
                    of().map(|bound| bound.1).collect(),
                ));
            }
        }
    }
    Ok(columns)
}

/// The class, how sure of it, why unsure, and the probability of every class.
fn class_columns(prediction: &Prediction, model: &Model) -> Result<Vec<Column>> {
    let Some(p) = prediction.classes() else { return Ok(Vec::new()) };
    let names = class_names(model, p.classes);
    let best = |row: &[f64]| names[top_class(row)].clone();
    let rows = p.probabilities.chunks_exact(p.classes);
    let mut columns = vec![
        Column { name: "prediction".into(), values: Values::Strings(rows.clone().map(best).collect()) },
        Column::numbers("confidence", max_probabilities(&p.probabilities, p.classes)?),
        Column::numbers("entropy", p.entropy.clone()),
    ];
    for (name, values) in [("aleatoric", &p.aleatoric), ("epistemic", &p.epistemic)] {
        columns.extend(values.as_ref().map(|values| Column::numbers(name, values.clone())));
    }
    for (k, class) in names.iter().enumerate() {
        columns.push(Column::numbers(format!("p_{class}"), rows.clone().map(|row| row[k]).collect()));
    }
    Ok(columns)
}

/// Mean, standard deviation and interval of each output.
fn value_columns(prediction: &Prediction, level: f64) -> Vec<Column> {
    let Some(p) = prediction.values() else { return Vec::new() };
    let z = normal_quantile(0.5 + 0.5 * level);
    let variance = p.variance();
    let mut columns = Vec::new();
    for k in 0..p.outputs {
        let suffix = if p.outputs > 1 { format!("_{k}") } else { String::new() };
        let of = |values: &[f64]| values.iter().skip(k).step_by(p.outputs).copied().collect::<Vec<f64>>();
        let roots = |values: Vec<f64>| values.iter().map(|v| v.sqrt()).collect::<Vec<f64>>();
        let (mean, std) = (of(&p.mean), roots(of(&variance)));
        let bound = |sign: f64| mean.iter().zip(&std).map(|(m, s)| m + sign * z * s).collect::<Vec<f64>>();
        let (lower, upper) = (bound(-1.0), bound(1.0));
        for (name, values) in [
            ("mean", mean),
            ("std", std),
            ("lower", lower),
            ("upper", upper),
            ("epistemic_std", roots(of(&p.epistemic_variance))),
            ("aleatoric_std", roots(of(&p.aleatoric_variance))),
        ] {
            columns.push(Column::numbers(format!("{name}{suffix}"), values));
        }
    }
    columns
}

/// Names of the classes; numbers if the model has none.
pub fn class_names(model: &Model, classes: usize) -> Vec<String> {
    let known = model.encoding.as_ref().and_then(|encoding| encoding.classes());
    known.map_or_else(|| (0..classes).map(|k| k.to_string()).collect(), <[String]>::to_vec)
}

/// Columns of the data to copy.
pub(super) fn kept(table: &Table, names: &[String]) -> Result<Vec<Column>> {
    let column = |name: &String| {
        let values = table.column(name)?.values.clone();
        Ok(Column { name: name.clone(), values })
    };
    names.iter().map(column).collect()
}
