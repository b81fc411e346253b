//! The page of a comparison.

use riemla::score::Interval;

use super::result::{Comparison, ScorePair, reading};
use crate::plot::{Axis, Chart, Histogram, Reference, Series};
use crate::report::{Cell, Column, Report, Table};

/// Points of a cloud: more are a blot.
const MOST_POINTS: usize = 2000;

/// The page: what to conclude first, then tables and pictures.
pub fn report(comparison: &Comparison) -> Report {
    let (other, reference) = (&comparison.other().label, &comparison.reference().label);
    let mut report = Report::new(format!("{other} beside {reference}"));
    report.section("Summary", summary(comparison));
    comparison.notes.iter().for_each(|note| {
        report.text(format!("Note: {note}."));
    });
    report.section("Each set", EACH);
    let mut table = Table::new("", comparison.headings().map(Column::new).to_vec());
    for (name, values) in comparison.side_rows() {
        table.row(name, values.map(Cell::Text).to_vec());
    }
    let rows = match comparison.spread_rows {
        "" => String::new(),
        rows => format!(" Standard deviations of outputs and probabilities are means over {rows}."),
    };
    report.table(&table, format!("Numbers of each set.{rows}"));
    weights(&mut report, comparison);
    if let Some(scores) = &comparison.scores {
        differences(&mut report, comparison, scores);
    }
    settings(&mut report, comparison);
    report
}

const EACH: &str = "The mean rise of the loss above the trained weights is about half the number of uncertain \
    weights for draws of a posterior that is close to a Gaussian. The virial ratio is 1 for exact draws of any \
    posterior: below 1 they are too close to the trained weights, above 1 too far out.";

fn summary(comparison: &Comparison) -> String {
    let of_side = |side: &super::Side| {
        let importance = side.importance.as_ref()?;
        Some(format!("k-hat of {} is {:.2}, {}.", side.label, importance.shape, reading(importance)))
    };
    let mut sentences = vec![comparison.summary()];
    sentences.extend(comparison.sides.iter().filter_map(of_side));
    sentences.join("\n\n")
}

/// Distances in the weights, as a table and as pictures.
fn weights(report: &mut Report, comparison: &Comparison) {
    let (other, reference) = (&comparison.other().label, &comparison.reference().label);
    let intro = format!(
        "How far {other} is from {reference}, in standard deviations of {reference}. Finite sets are never \
         equal: the last column is about what a second set of {reference} would show."
    );
    report.section("Weights", intro);
    let mut rows = comparison.distance_rows().into_iter();
    let head = rows.next().unwrap_or_default();
    let mut table = Table::new("", head.into_iter().skip(1).map(Column::new).collect());
    rows.for_each(|row| {
        let mut cells = row.into_iter();
        let name = cells.next().unwrap_or_default();
        table.row(name, cells.map(Cell::Text).collect());
    });
    report.table(&table, format!("{} weights.", comparison.marginals.weights.len()));
    report.figure(deviations(comparison), "One point per weight. On the line both sets are equally wide.");
    let mut histogram = Histogram::new("Distance per weight", "Wasserstein-1 in standard deviations")
        .values(other.as_str(), comparison.marginals.wasserstein.clone());
    if let Some(null) = comparison.wasserstein_null {
        histogram = histogram.reference(Reference::vertical(null, "mean by chance"));
    }
    report.figure(histogram.to_svg(), "How far the marginal of each weight has to be moved.");
}

/// Marginal standard deviations against each other.
fn deviations(comparison: &Comparison) -> String {
    let marginals = &comparison.marginals;
    let stride = marginals.weights.len().div_ceil(MOST_POINTS).max(1);
    let pairs = marginals.reference_deviation.iter().copied().zip(marginals.deviation.iter().copied());
    let points: Vec<(f64, f64)> = pairs.step_by(stride).collect();
    let ends = points.iter().fold((f64::MAX, 0.0f64), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
    let (other, reference) = (&comparison.other().label, &comparison.reference().label);
    let axis = |name: &str| Axis::log(format!("standard deviation, {name}"));
    Chart::new("Standard deviation of every weight", axis(reference), axis(other))
        .reference(Reference::curve(vec![(ends.0, ends.0), (ends.1, ends.1)], "equal"))
        .series(Series::scatter(other.as_str(), points))
        .to_svg()
}

fn differences(report: &mut Report, comparison: &Comparison, scores: &[ScorePair]) {
    let percent = 100.0 * comparison.level;
    let data = comparison.data.as_deref().unwrap_or_default();
    let intro = format!(
        "On {data}. The difference has a {percent:.0} % bootstrap interval over the rows; with 0 inside it may be chance."
    );
    report.section("Predictions", intro);
    let [a, b] = &comparison.sides;
    let mut columns = [&a.label, &b.label].map(Column::new).to_vec();
    columns.extend(["difference", "from", "to"].map(Column::new));
    columns.push(Column::new("meaning"));
    let mut table = Table::new("score", columns);
    for ScorePair { kind, values, difference } in scores {
        let Interval { estimate, low, high, .. } = *difference;
        let mut cells: Vec<Cell> =
            [values[0], values[1], estimate, low, high].map(|v| Cell::Text(format!("{v:.4}"))).to_vec();
        cells.push(kind.meaning.into());
        table.row(kind.name, cells);
    }
    report.table(&table, "Predictive scores.");
}

fn settings(report: &mut Report, comparison: &Comparison) {
    let place = |i: usize| {
        let place = &comparison.sides[i].place;
        format!("{} of {}", place.set, place.posterior.display())
    };
    report.section("Settings", "");
    report.metadata([
        ("riemla", env!("CARGO_PKG_VERSION").to_string()),
        ("A", place(0)),
        ("B", place(1)),
        ("reference", ["A", "B"][comparison.reference].to_string()),
        ("data", comparison.data.clone().unwrap_or_else(|| "none".into())),
    ]);
}
