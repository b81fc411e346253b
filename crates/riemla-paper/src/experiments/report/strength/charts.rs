//! Scores and virial ratios against the strength, with what the rules chose.

use riemla::posterior::MetricChoice;

use super::super::super::{MethodName, PriorName, ResultRow, Setting};
use super::super::numbers::axis;
use super::super::unique;
use super::lines::{Line, find, settings};
use riemla_workflow::plot::{Axis, Chart, Color, Marker, Reference, Series, Style};

const MARKERS: [Marker; 5] =
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Cross];

/// Two charts per problem and prior.
pub fn charts(lines: &[Line<'_>]) -> Vec<(String, String)> {
    let seen = unique(lines.iter().map(|line| (line.row.train_set.as_str(), line.row.prior)));
    let both = |(problem, prior): (&str, PriorName)| {
        let here = lines.iter().filter(|line| line.row.train_set == problem && line.row.prior == prior);
        let here: Vec<Line<'_>> = here.copied().collect();
        let title = format!("{problem}, prior {}", prior.name());
        [(scores(&title, &here), String::new()), (virials(&title, &here), String::new())]
    };
    seen.into_iter().flat_map(both).collect()
}

fn scores(title: &str, lines: &[Line<'_>]) -> String {
    let straight = lines.iter().map(|line| line.row).filter(|row| !row.method.is_riemannian());
    let axis = axis("test NLL", lines.iter().map(|line| line.row.mean));
    let mut chart = Chart::new(title, Axis::log("strength a"), axis);
    for row in straight {
        chart = chart.reference(Reference::horizontal(row.mean, row.method.name()));
    }
    with_series(chart, lines, |row| Some((row.mean, row.standard_error.unwrap_or(0.0)))).to_svg()
}

fn virials(title: &str, lines: &[Line<'_>]) -> String {
    let chart = Chart::new(title, Axis::log("strength a"), Axis::log("virial ratio"))
        .reference(Reference::horizontal(1.0, "exact draws"));
    with_series(chart, lines, |row| row.draws.virial_ratio.map(|ratio| (ratio, 0.0))).to_svg()
}

/// A line through the given strengths per method and metric, and a mark for each rule.
fn with_series(mut chart: Chart, lines: &[Line<'_>], y: impl Fn(&ResultRow) -> Option<(f64, f64)>) -> Chart {
    let (given, others) = settings(lines);
    let methods = || MethodName::ALL.into_iter().filter(|method| method.is_riemannian());
    let of = |method: MethodName, settings: &[Setting]| -> Vec<(f64, f64, f64)> {
        let Some(place) = lines.iter().map(Line::place).find(|place| place.2 == method) else {
            return Vec::new();
        };
        let point = |setting: &Setting| {
            let row = find(lines, place, *setting)?.row;
            y(row).zip(row.draws.strength).map(|((y, error), a)| (a, y, error))
        };
        settings.iter().filter_map(point).collect()
    };
    let mut metrics: Vec<MetricChoice> = given.iter().map(|setting| setting.metric()).collect();
    metrics.dedup();
    for metric in metrics {
        let given: Vec<Setting> = given.iter().copied().filter(|s| s.metric() == metric).collect();
        for method in methods() {
            let points = of(method, &given);
            if points.is_empty() {
                continue;
            }
            let of_loss = metric == MetricChoice::Loss;
            let name = if of_loss { method.name().into() } else { format!("{method}, preconditioned") };
            let style = Style { dashed: !of_loss, ..Style::method(method) };
            let errors: Vec<f64> = points.iter().map(|p| p.2).collect();
            let points = points.into_iter().map(|p| (p.0, p.1)).collect();
            chart = chart.series(Series::line(name, points).errors(&errors).style(style));
        }
    }
    for (i, setting) in others.iter().enumerate() {
        let points: Vec<_> = methods().flat_map(|method| of(method, &[*setting])).collect();
        let color = if i < MARKERS.len() { Color::Ink } else { Color::Quiet };
        let style = Style { color, marker: MARKERS[i % MARKERS.len()], dashed: false };
        let points: Vec<_> = points.into_iter().map(|p| (p.0, p.1)).collect();
        if !points.is_empty() {
            chart = chart.series(Series::scatter(setting.name(), points).style(style));
        }
    }
    chart
}
