//! The picture that the report opens with: published numbers and ours, per data set and method.

use super::super::{Experiment, MethodName, PriorName, Setting};
use super::numbers::{Extent, Number, Numbers, Place, axis};
use super::unique;
use riemla_workflow::plot::{Dot, IntervalPlot, Marker};
use riemla_workflow::report::Section;

const INTRO: &str = "\
Negative log-likelihood of the test rows, lower is better; one colour per method. ○ published; ours: ● \
methods without geodesics, and geodesics as in the authors' code (preset paper); ■ the same geodesics \
solved accurately (converged); ◆ the default of this program (calibrated). Lines extend two standard \
errors to each side. Where the numbers differ by large factors the axis is logarithmic.";

/// Lines reach so many standard errors.
const ERRORS: f64 = 2.0;

/// One plot per data set and prior, in the order of experiments; of the sets that the paper has, if there are any.
pub fn section(numbers: &Numbers<'_>, experiments: &[Experiment]) -> Section {
    let mut section = Section::new("At a glance", INTRO);
    let places = places(numbers, experiments);
    let in_paper =
        |at: &&Place<'_>| MethodName::of_paper().any(|method| numbers.published(**at, method).is_some());
    let any = places.iter().any(|at| in_paper(&at));
    for prior in PriorName::ALL {
        let here = places.iter().filter(|at| at.prior == prior && (!any || in_paper(at)));
        let plots: Vec<_> = here.map(|at| (plot(numbers, *at), caption(numbers, *at))).collect();
        if !plots.is_empty() {
            section.text(format!("Prior {}:", prior.name())).grid(plots);
        }
    }
    section
}

/// Where log losses are.
fn places<'a>(numbers: &Numbers<'a>, experiments: &[Experiment]) -> Vec<Place<'a>> {
    let of = |experiment: &Experiment| {
        let name = experiment.name.clone();
        let rows =
            numbers.rows.iter().filter(move |row| row.experiment == name && row.train_set == row.test_set);
        rows.filter(|row| ["nll", "nlpd"].contains(&row.score.as_str())).map(Place::of)
    };
    unique(experiments.iter().flat_map(of))
}

fn plot(numbers: &Numbers<'_>, at: Place<'_>) -> String {
    let rows: Vec<(MethodName, Vec<Dot>)> =
        MethodName::of_paper().map(|method| (method, dots(numbers, at, method))).collect();
    let label = if at.score == "nll" { "test NLL" } else { "test NLPD" };
    let values = rows.iter().flat_map(|(_, dots)| dots.iter().map(|dot| dot.value));
    let plot = IntervalPlot::new(at.train_set, axis(label, values));
    rows.into_iter().fold(plot, |plot, (method, dots)| plot.row(method.name(), dots)).to_svg()
}

/// The published number, then ours in every preset.
fn dots(numbers: &Numbers<'_>, at: Place<'_>, method: MethodName) -> Vec<Dot> {
    let dot = |source: &str, number: Number, marker, filled| {
        let reach = ERRORS * number.error.unwrap_or(0.0);
        Dot { source: source.into(), value: number.mean, reach, marker, filled }
    };
    let published = numbers.published(at, method).map(|n| dot("published", n, Marker::Circle, false));
    let presets = if method.is_riemannian() { Setting::PRESETS.to_vec() } else { vec![Setting::ANY] };
    let ours = presets.into_iter().filter_map(|preset| {
        let marker = match preset {
            Setting::CONVERGED => Marker::Square,
            Setting::CALIBRATED => Marker::Diamond,
            _ => Marker::Circle,
        };
        let source = if preset == Setting::ANY { "ours".into() } else { format!("ours, {preset}") };
        Some(dot(&source, numbers.ours(at, method, preset)?, marker, true))
    });
    let ours: Vec<Dot> = ours.collect();
    // What was not run is in the tables.
    if ours.is_empty() { Vec::new() } else { published.into_iter().chain(ours).collect() }
}

/// From how much ours come.
fn caption(numbers: &Numbers<'_>, at: Place<'_>) -> String {
    let all: Vec<Extent> = numbers.rows.iter().filter(|row| Place::of(row) == at).map(Extent::of).collect();
    let most = Extent::largest(all.iter().copied());
    let fewer = all.iter().any(|extent| !extent.remark(most).is_empty());
    let fewer = if fewer { ", some with fewer" } else { "" };
    let draws = most.draws.map_or(String::new(), |draws| format!(", draws: {draws}"));
    format!("{}, prior {}. Our seeds: {}{draws}{fewer}.", at.train_set, at.prior.name(), most.seeds)
}

#[cfg(test)]
mod tests {
    use super::super::super::{ResultRow, builtin};
    use super::super::numbers::example;
    use super::*;
    use riemla_workflow::report::Report;

    #[test]
    fn every_method_has_its_numbers_of_all_sources() {
        let row = |method, setting, mean| ResultRow { method, setting, mean, ..example("banana") };
        let rows = [
            row(MethodName::La, Setting::ANY, 0.7),
            row(MethodName::RiemLa, Setting::PAPER, 0.29),
            row(MethodName::RiemLa, Setting::CALIBRATED, 0.28),
        ];
        let numbers = Numbers::new(&rows);
        let at = Place { train_set: "banana", test_set: "banana", prior: PriorName::Optimized, score: "nll" };
        let dots = dots(&numbers, at, MethodName::RiemLa);
        let sources: Vec<(&str, f64, bool)> =
            dots.iter().map(|dot| (dot.source.as_str(), dot.value, dot.filled)).collect();
        // Published: 0.287.
        let wanted =
            [("published", 0.287, false), ("ours, paper", 0.29, true), ("ours, calibrated", 0.28, true)];
        assert_eq!(sources, wanted);
        assert!((dots[1].reach - 0.002).abs() < 1e-12, "two errors of 0.001");
        assert!(super::dots(&numbers, at, MethodName::LinLa).is_empty(), "not run");
        let mut report = Report::new("t");
        report.add(section(&numbers, &[builtin("banana").expect("built in")]));
        let html = report.to_html();
        assert!(
            html.contains("riem-la, ours, calibrated: 0.28") && html.contains("var(--riem-la)"),
            "{html}"
        );
        assert!(!html.contains("lin-la, published"));
    }
}
