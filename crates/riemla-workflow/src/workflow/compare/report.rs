//! The page of a comparison.

use riemla::score::Interval;

use super::result::{Comparison, ScorePair, reading};
use crate::plot::{Axis, Chart, Histogram, Reference, Series, Style};
use crate::report::{Report, Section, Table};

/// Points of a cloud: more are a blot.
const MOST_POINTS: usize = 2000;

/// The page: what to conclude first, then tables and pictures.
pub fn report(comparison: &Comparison) -> Report {
    let (other, reference) = (&comparison.other().label, &comparison.reference().label);
    let mut report = Report::new(format!("{other} compared with {reference}"));
    let mut first = Section::new("Summary", "");
    first.text(summary(comparison)).texts(comparison.notes.iter().map(|note| format!("Note: {note}.")));
    let rows = match comparison.spread_rows {
        "" => String::new(),
        rows => format!(" Standard deviations of outputs and probabilities are means over {rows}."),
    };
    let sides = comparison.side_rows().into_iter().map(|(name, values)| (name, values.to_vec()));
    let mut each = Section::new("Each set", EACH);
    each.table(
        Table::new("", comparison.headings()).rows(sides).caption(format!("Numbers of each set.{rows}")),
    );
    report.extend([first, each, weights(comparison)]);
    report.extend(comparison.scores.as_ref().map(|scores| differences(comparison, scores)));
    report.add(settings(comparison));
    report
}

const EACH: &str = "The mean rise of the loss above the trained weights is about half the number of \
    uncertain weights for draws of a posterior that is close to a Gaussian. The virial ratio is 1 for \
    exact draws of any posterior: below 1 draws stay too close to the trained weights, above 1 they \
    overshoot; if it is negative, they have left the basin of the trained weights.";

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
fn weights(comparison: &Comparison) -> Section {
    let (other, reference) = (&comparison.other().label, &comparison.reference().label);
    let intro = format!(
        "Distance of {other} from {reference}, in standard deviations of {reference}. Finite sets are \
         never equal: the last column is about the value for a second set of {reference}."
    );
    let mut rows = comparison.distance_rows().into_iter();
    let head = rows.next().unwrap_or_default();
    let mut table = Table::new("", head.into_iter().skip(1))
        .caption(format!("{} weights.", comparison.marginals.weights.len()));
    rows.for_each(|row| {
        let mut cells = row.into_iter();
        table.row(cells.next().unwrap_or_default(), cells);
    });
    let mut section = Section::new("Weights", intro);
    section.table(table);
    section.figure(
        deviations(comparison),
        "One point per weight. On the line the standard deviations are \
         equal.",
    );
    let mut histogram = Histogram::new("Distance per weight", "Wasserstein-1 in standard deviations")
        .values(other.as_str(), comparison.marginals.wasserstein.clone())
        .style(Style::named(comparison.other().method, 0));
    if let Some(null) = comparison.wasserstein_null {
        histogram = histogram.reference(Reference::vertical(null, "mean by chance"));
    }
    section.figure(histogram.to_svg(), "Wasserstein-1 distance of the marginals of each weight.");
    section
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
        .series(Series::scatter(other.as_str(), points).style(Style::named(comparison.other().method, 0)))
        .to_svg()
}

fn differences(comparison: &Comparison, scores: &[ScorePair]) -> Section {
    let percent = 100.0 * comparison.level;
    let data = comparison.data.as_deref().unwrap_or_default();
    let intro = format!(
        "On {data}. The difference has a {percent:.0} % bootstrap interval over the rows; if it contains \
         0, the difference may be due to chance."
    );
    let [a, b] = &comparison.sides;
    let columns = [a.label.as_str(), b.label.as_str(), "difference", "from", "to", "meaning"];
    let row = |ScorePair { kind, values, difference }: &ScorePair| {
        let Interval { estimate, low, high, .. } = *difference;
        let mut cells = [values[0], values[1], estimate, low, high].map(|v| format!("{v:.4}")).to_vec();
        cells.push(kind.meaning.into());
        (kind.name, cells)
    };
    let mut section = Section::new("Predictions", intro);
    section.table(Table::new("score", columns).rows(scores.iter().map(row)).caption("Predictive scores."));
    section
}

fn settings(comparison: &Comparison) -> Section {
    let place = |i: usize| {
        let place = &comparison.sides[i].place;
        format!("{} of {}", place.set, place.posterior.display())
    };
    let mut section = Section::new("Settings", "");
    section.metadata([
        ("riemla", env!("CARGO_PKG_VERSION").to_string()),
        ("A", place(0)),
        ("B", place(1)),
        ("reference", ["A", "B"][comparison.reference].to_string()),
        ("data", comparison.data.clone().unwrap_or_else(|| "none".into())),
    ]);
    section
}
