//! Predictions as named columns.

use riemla::predict::{LabelPrediction, Prediction, RegressionPrediction};
use riemla::score::{count_interval, max_probabilities, normal_quantile, top_class};
use riemla_files::encoding::Target;
use riemla_files::table::{Column, Values};
use riemla_files::{Model, Table};

use super::PredictConfig;
use crate::workflow::error::Result;
use crate::workflow::guarantees::Guarantees;

fn numbers(name: impl Into<String>, values: Vec<f64>) -> Column {
    Column { name: name.into(), values: Values::Numbers(values) }
}

fn words(name: impl Into<String>, words: Vec<String>) -> Column {
    Column { name: name.into(), values: Values::Strings(words) }
}

/// The columns of a prediction.
pub(super) fn columns(prediction: &Prediction, model: &Model, config: &PredictConfig) -> Result<Vec<Column>> {
    let mut columns = match prediction {
        Prediction::Classes(_) => class_columns(prediction, model)?,
        Prediction::Values(p) => value_columns(p, model, normal_bounds(p, config.level)),
        Prediction::Counts(p) => value_columns(p, model, count_bounds(p, config.level)),
        Prediction::Labels(p) => label_columns(p, model),
    };
    columns.extend(promised(prediction, model, &config.guarantees)?);
    Ok(columns)
}

/// What held-out rows promise: whether the prediction is withheld, and sets and intervals.
fn promised(prediction: &Prediction, model: &Model, guarantees: &Guarantees) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    if let Some(withheld) = guarantees.withheld(prediction)? {
        columns.push(numbers("abstain", withheld.into_iter().map(f64::from).collect()));
    }
    let Some(conformal) = &guarantees.conformal else { return Ok(columns) };
    match prediction {
        Prediction::Classes(p) => {
            let names = class_names(model, p.classes);
            let sets: Vec<Vec<usize>> =
                p.probabilities.chunks_exact(p.classes).map(|row| conformal.set(row)).collect();
            let text =
                |set: &Vec<usize>| set.iter().map(|k| names[*k].as_str()).collect::<Vec<_>>().join("|");
            columns.push(words("set", sets.iter().map(text).collect()));
            columns.push(numbers("set_size", sets.iter().map(|set| set.len() as f64).collect()));
        }
        Prediction::Labels(_) => {}
        Prediction::Values(p) | Prediction::Counts(p) => {
            // A count is not below 0.
            let least = if matches!(prediction, Prediction::Counts(_)) { 0.0 } else { f64::NEG_INFINITY };
            let interval = |(mean, variance): (&f64, f64)| {
                let (low, high) = conformal.interval(*mean, variance);
                (low.max(least), high)
            };
            let bounds: Vec<(f64, f64)> = p.mean.iter().zip(p.variance()).map(interval).collect();
            for (k, suffix) in suffixes(model, p.outputs).into_iter().enumerate() {
                let (lower, upper) = bounds.iter().skip(k).step_by(p.outputs).copied().unzip();
                columns.push(numbers(format!("conformal_lower{suffix}"), lower));
                columns.push(numbers(format!("conformal_upper{suffix}"), upper));
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
        words("prediction", rows.clone().map(best).collect()),
        numbers("confidence", max_probabilities(&p.probabilities, p.classes)?),
        numbers("entropy", p.entropy.clone()),
    ];
    for (name, values) in [("aleatoric", &p.aleatoric), ("epistemic", &p.epistemic)] {
        columns.extend(values.as_ref().map(|values| numbers(name, values.clone())));
    }
    for (k, class) in names.iter().enumerate() {
        columns.push(numbers(format!("p_{class}"), rows.clone().map(|row| row[k]).collect()));
    }
    Ok(columns)
}

/// The central intervals of normal distributions.
fn normal_bounds(p: &RegressionPrediction, level: f64) -> Vec<(f64, f64)> {
    let z = normal_quantile(0.5 + 0.5 * level);
    let bounds = |(mean, variance): (&f64, f64)| (mean - z * variance.sqrt(), mean + z * variance.sqrt());
    p.mean.iter().zip(p.variance()).map(bounds).collect()
}

/// The central intervals of counts: whole numbers.
fn count_bounds(p: &RegressionPrediction, level: f64) -> Vec<(f64, f64)> {
    let rates = p.mean.iter().zip(&p.epistemic_variance);
    rates.map(|(rate, variance)| count_interval(level, *rate, *variance)).collect()
}

/// Mean (of counts the rate), standard deviation and interval of each target.
fn value_columns(p: &RegressionPrediction, model: &Model, bounds: Vec<(f64, f64)>) -> Vec<Column> {
    let variance = p.variance();
    let (lower, upper): (Vec<f64>, Vec<f64>) = bounds.into_iter().unzip();
    let mut columns = Vec::new();
    for (k, suffix) in suffixes(model, p.outputs).into_iter().enumerate() {
        let of = |values: &[f64]| values.iter().skip(k).step_by(p.outputs).copied().collect::<Vec<f64>>();
        let roots = |values: Vec<f64>| values.iter().map(|v| v.sqrt()).collect::<Vec<f64>>();
        for (name, values) in [
            ("mean", of(&p.mean)),
            ("std", roots(of(&variance))),
            ("lower", of(&lower)),
            ("upper", of(&upper)),
            ("epistemic_std", roots(of(&p.epistemic_variance))),
            ("aleatoric_std", roots(of(&p.aleatoric_variance))),
        ] {
            columns.push(numbers(format!("{name}{suffix}"), values));
        }
    }
    columns
}

/// The probability of every label, its value, and why unsure of it.
fn label_columns(p: &LabelPrediction, model: &Model) -> Vec<Column> {
    let mut columns = Vec::new();
    for (k, name) in target_names(model, p.labels).into_iter().enumerate() {
        let of = |values: &[f64]| values.iter().skip(k).step_by(p.labels).copied().collect::<Vec<f64>>();
        let probabilities = of(&p.probabilities);
        let [no, yes] = label_values(model, k);
        let value = |p: &f64| if *p > 0.5 { yes.clone() } else { no.clone() };
        columns.push(words(format!("prediction_{name}"), probabilities.iter().map(value).collect()));
        columns.push(numbers(format!("p_{name}"), probabilities));
        columns.push(numbers(format!("entropy_{name}"), of(&p.entropy)));
        for (part, values) in [("aleatoric", &p.aleatoric), ("epistemic", &p.epistemic)] {
            let column = |values: &Vec<f64>| numbers(format!("{part}_{name}"), of(values));
            columns.extend(values.as_ref().map(column));
        }
    }
    columns
}

/// What a label is called where it is 0, and where it is 1.
fn label_values(model: &Model, k: usize) -> [String; 2] {
    match model.encoding.as_ref().map(|encoding| &encoding.target) {
        Some(Target::Labels { columns }) => [columns[k].no.clone(), columns[k].yes.clone()],
        _ => ["0".into(), "1".into()],
    }
}

/// Names of several targets: those of their columns, or numbers.
pub fn target_names(model: &Model, targets: usize) -> Vec<String> {
    let known = model.encoding.as_ref().map(|encoding| encoding.target_columns());
    match known.filter(|known| known.len() == targets) {
        Some(known) => known.into_iter().map(str::to_string).collect(),
        None => (0..targets).map(|k| k.to_string()).collect(),
    }
}

/// What is added to the names of columns to tell targets apart; nothing for a single one.
fn suffixes(model: &Model, targets: usize) -> Vec<String> {
    match targets {
        1 => vec![String::new()],
        _ => target_names(model, targets).into_iter().map(|name| format!("_{name}")).collect(),
    }
}

/// Names of the classes; numbers if the model has none.
pub fn class_names(model: &Model, classes: usize) -> Vec<String> {
    let known = model.encoding.as_ref().and_then(|encoding| encoding.classes());
    known.map_or_else(|| (0..classes).map(|k| k.to_string()).collect(), <[String]>::to_vec)
}

/// Columns of the data to copy.
pub(super) fn kept(table: &Table, names: &[String]) -> Result<Vec<Column>> {
    names.iter().map(|name| Ok(table.column(name)?.clone())).collect()
}
