//! The drawings of an evaluation.

use riemla::data::Targets;
use riemla::objective::TargetKind;
use riemla::predict::Prediction;
use riemla::score::count_coverage;

use super::ood::doubts;
use super::result::{Evaluation, MethodResult, short};
use crate::method::MethodName;
use crate::plot::{Axis, Chart, Histogram, Reference, ReliabilityDiagram, Series, Style};
use crate::scores::{Scorer, coverage};

/// Points of a cloud: more are a blot.
const MOST_POINTS: usize = 300;

/// A drawing and its caption.
pub(super) type Figure = (String, String);

/// The methods that look at their inputs: a constant has one confidence and one entropy, which no drawing shows.
fn informed(evaluation: &Evaluation) -> impl Iterator<Item = &MethodResult> {
    evaluation.methods.iter().filter(|method| method.method != MethodName::Constant)
}

/// Confidence against accuracy of every method.
pub(super) fn reliability(evaluation: &Evaluation) -> riemla::Result<Vec<Figure>> {
    let diagram = |method: &MethodResult| {
        let bins = Scorer::default().reliability(&method.prediction, &evaluation.targets)?;
        let diagram = ReliabilityDiagram::new(&method.name, bins).style(Style::method(method.method));
        Ok((diagram.to_svg(), diagram.caption()))
    };
    let probable =
        |method: &&MethodResult| matches!(method.prediction, Prediction::Classes(_) | Prediction::Labels(_));
    informed(evaluation).filter(probable).map(diagram).collect()
}

/// How often intervals hold the truth, against how often they should.
pub(super) fn coverage_chart(evaluation: &Evaluation) -> Option<Figure> {
    let Targets::Values { values, .. } = &evaluation.targets else { return None };
    evaluation.methods.first()?.prediction.values()?;
    let x = Axis::linear("nominal coverage of the interval").range(0.0, 1.0);
    let y = Axis::linear("observed coverage").range(0.0, 1.0);
    let diagonal = Reference::curve(vec![(0.0, 0.0), (1.0, 1.0)], "right");
    let mut chart = Chart::new("Coverage of the intervals", x, y).reference(diagonal);
    for method in &evaluation.methods {
        let levels = (1..20).map(|i| f64::from(i) / 20.0).chain([0.99]);
        let points: Vec<(f64, f64)> = match &method.prediction {
            Prediction::Values(p) => {
                let variance = p.variance();
                levels.map(|level| (level, coverage(&p.mean, &variance, values, level))).collect()
            }
            Prediction::Counts(p) => {
                let of = |level| count_coverage(&p.mean, &p.epistemic_variance, values, level).ok();
                levels.filter_map(|level| Some((level, of(level)?))).collect()
            }
            Prediction::Classes(_) | Prediction::Labels(_) => continue,
        };
        chart = chart.series(Series::line(&method.name, points).style(Style::method(method.method)));
    }
    let caption = "Below the diagonal a method is overconfident, above it underconfident.";
    Some((chart.to_svg(), caption.into()))
}

/// Predicted against true values of the last method, a figure for each of several targets.
pub(super) fn predicted(evaluation: &Evaluation) -> Vec<Figure> {
    let names = evaluation.target_names();
    (0..names.len()).filter_map(|k| predicted_target(evaluation, k, &names)).collect()
}

fn predicted_target(evaluation: &Evaluation, k: usize, names: &[String]) -> Option<Figure> {
    let Targets::Values { values, outputs } = &evaluation.targets else { return None };
    let method = evaluation.methods.last()?;
    let p = method.prediction.values()?;
    let rows = values.len() / outputs;
    let stride = rows.div_ceil(MOST_POINTS).max(1);
    let entries = || (0..rows).step_by(stride).map(|row| row * outputs + k);
    let std: Vec<f64> = p.variance().iter().map(|variance| variance.sqrt()).collect();
    let of_target = values.iter().skip(k).step_by(*outputs);
    let (low, high) = of_target.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    let points = entries().map(|i| (values[i], p.mean[i])).collect();
    let errors: Vec<f64> = entries().map(|i| 1.96 * std[i]).collect();
    let (of, title) = match names.len() {
        1 => (String::new(), method.name.clone()),
        _ => (format!(" of {}", names[k]), format!("{}, {}", method.name, names[k])),
    };
    let bars = match evaluation.kind() {
        TargetKind::Counts => "± 1.96 standard deviations",
        _ => "their 95 % intervals",
    };
    let chart = Chart::new(title, Axis::linear("true value"), Axis::linear("predicted value"))
        .reference(Reference::curve(vec![(low, low), (high, high)], "equal"))
        .series(Series::scatter(&method.name, points).errors(&errors).style(Style::method(method.method)));
    Some((chart.to_svg(), format!("Predictions{of} of {} with {bars}.", method.name)))
}

/// How unsure each method is, of known and of other data.
pub(super) fn uncertainty(evaluation: &Evaluation) -> Vec<Figure> {
    let label = match evaluation.kind() {
        TargetKind::Classes => "entropy of the prediction (nats)",
        TargetKind::Labels => "entropy of all labels (nats)",
        TargetKind::Values | TargetKind::Counts => "standard deviation of the prediction",
    };
    let all = evaluation.methods.iter().flat_map(|method| {
        let others = method.ood.iter().flat_map(|other| doubts(&other.prediction));
        doubts(&method.prediction).into_iter().chain(others)
    });
    let top = all.fold(1e-9, f64::max);
    let histogram = |method: &MethodResult| {
        let mut plot = Histogram::new(&method.name, label)
            .range(0.0, top)
            .values("test data", doubts(&method.prediction));
        for other in &method.ood {
            plot = plot.values(short(&other.name), doubts(&other.prediction));
        }
        (plot.to_svg(), String::new())
    };
    informed(evaluation).map(histogram).collect()
}

/// Some points of a curve, the last among them.
fn thinned<T>(curve: &[T]) -> impl Iterator<Item = &T> {
    curve.iter().step_by(curve.len().div_ceil(MOST_POINTS).max(1)).chain(curve.last())
}

/// Risk against coverage of every method.
pub(super) fn risk_coverage(evaluation: &Evaluation) -> Option<Figure> {
    let (shares, risk) = match evaluation.kind() {
        TargetKind::Classes => (true, "share of wrong answers"),
        TargetKind::Labels => (true, "share of wrong labels"),
        TargetKind::Values | TargetKind::Counts => (false, "root mean squared error"),
    };
    let x = Axis::linear("share of rows answered").range(0.0, 1.0);
    let mut chart = Chart::new("Errors among the surest answers", x, Axis::linear(risk));
    for method in informed(evaluation) {
        let curve = &method.selective.curve;
        // The first rows alone say nothing: one error is a rate of 1.
        let least = (10.0 / evaluation.targets.len() as f64).min(0.2);
        let points: Vec<(f64, f64)> = thinned(curve)
            .filter(|point| point.coverage >= least)
            .map(|point| (point.coverage, if shares { point.risk } else { point.risk.sqrt() }))
            .collect();
        chart = chart.series(Series::line(&method.name, points).style(Style::method(method.method)));
    }
    let caption = "Lower is better; on the right all rows are answered.";
    Some((chart.to_svg(), caption.into()))
}

/// The ROC curves of all methods for one kind of other data.
pub(super) fn roc(evaluation: &Evaluation, which: usize) -> Option<Figure> {
    let name = short(&evaluation.methods.first()?.ood.get(which)?.name);
    let x = Axis::linear("share of test data flagged").range(0.0, 1.0);
    let y = Axis::linear("share of out-of-distribution data flagged").range(0.0, 1.0);
    let mut chart = Chart::new(format!("Is {name} recognised?"), x, y)
        .reference(Reference::curve(vec![(0.0, 0.0), (1.0, 1.0)], "chance"));
    for method in informed(evaluation) {
        let Some(other) = method.ood.get(which) else { continue };
        let points = thinned(&other.curve).map(|p| (p.false_positive_rate, p.true_positive_rate)).collect();
        chart = chart.series(Series::line(&method.name, points).style(Style::method(method.method)));
    }
    Some((
        chart.to_svg(),
        "Rows with an uncertain prediction are flagged as out of distribution; the curve covers all \
         thresholds."
            .into(),
    ))
}
