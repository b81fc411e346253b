//! Scores and cost by preset, timing, differences from the published numbers.

use super::super::{MethodName, PriorName, ResultRow, Setting};
use super::numbers::{Extent, Number, Numbers, Place, distance, shown, shown_distance};
use super::unique;
use riemla_workflow::plot::{Axis, Chart, Series};
use riemla_workflow::report::{Section, Table, decimals};

const INTRO: &str = "\
The presets share the trained weights and the tangent vectors; they differ in metric, strength and \
integrator.

paper: Dormand-Prince at rtol 1e-6, atol 1e-3, as in the released code, strength 1, and the status of the \
solver is ignored. The speed of a geodesic must stay constant; its drift shows that the equation is not \
solved accurately at these tolerances. converged: the same equation solved by the constrained leapfrog, \
which keeps the speed constant by construction. calibrated: the same integrator, the metric preconditioned \
by the Laplace approximation, and the strength at which the loss rises by half the number of weights, as \
for exact draws. A virial ratio below 1 means that draws stay too close to the trained weights, above 1 \
that they overshoot (their loss is too high); if it is negative, draws have left the basin of the trained \
weights.";

const SCORES: [&str; 3] = ["nll", "nlpd", "auroc"];

/// The presets side by side.
pub fn section(numbers: &Numbers<'_>) -> Section {
    let mut section = Section::new("Scores and cost by preset", INTRO);
    section.grid(charts(numbers)).table(table(numbers));
    section
}

fn main_rows<'a>(numbers: &Numbers<'a>) -> impl Iterator<Item = &'a ResultRow> {
    numbers.rows.iter().filter(|row| SCORES[..2].contains(&row.score.as_str()))
}

fn table(numbers: &Numbers<'_>) -> Table {
    let mut rows = Vec::new();
    for row in main_rows(numbers).filter(|row| row.method.is_riemannian()) {
        let name = Place::posterior(row);
        let draws = &row.draws;
        let drift = draws
            .speed_drift
            .map_or("–".into(), |v| if v < 1e-3 { format!("{v:.0e}") } else { format!("{v:.2}") });
        let beside = |other: &&ResultRow| (&other.train_set, other.prior) == (&row.train_set, row.prior);
        let most = Extent::largest(main_rows(numbers).filter(beside).map(Extent::of));
        rows.push((
            name,
            vec![
                row.setting.name() + &Extent::of(row).remark(most),
                shown(&row.score, row.into()),
                decimals(draws.virial_ratio, 2),
                decimals(draws.strength, 3),
                drift,
                decimals(draws.unfinished_fraction.map(|f| 100.0 * f), 0) + " %",
                decimals(draws.gradients_per_sample, 0),
                decimals(draws.seconds_per_sample, 3),
            ],
        ));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let columns =
        ["preset", "NLL", "virial ratio", "strength", "speed drift", "unfinished", "gradients", "seconds"];
    let caption = "Means over seeds; gradients and seconds per draw, without the search for the strength.";
    Table::new("posterior", columns).rows(rows).caption(caption)
}

/// NLL by preset, one chart per training set and prior with at least two presets.
fn charts(numbers: &Numbers<'_>) -> Vec<(String, String)> {
    let presets = numbers.presets();
    let curved = main_rows(numbers).filter(|row| row.method.is_riemannian() && row.score == "nll");
    let sets = unique(curved.map(|row| row.train_set.as_str()));
    let mut charts = Vec::new();
    for set in sets {
        for prior in PriorName::ALL {
            let at = Place { train_set: set, test_set: set, prior, score: "nll" };
            let x = Axis::categories("", presets.iter().map(|preset| preset.name()));
            let mut chart = Chart::new(at.name(), x, Axis::linear("test NLL"));
            let mut most = 0;
            for method in MethodName::ALL.into_iter().filter(|method| method.is_riemannian()) {
                let found = |(i, preset): (usize, &Setting)| {
                    numbers.ours(at, method, *preset).map(|n| (i as f64, n.mean, n.error.unwrap_or(0.0)))
                };
                let points: Vec<_> = presets.iter().enumerate().filter_map(found).collect();
                most = most.max(points.len());
                let errors: Vec<f64> = points.iter().map(|p| p.2).collect();
                let points = points.iter().map(|p| (p.0, p.1)).collect();
                chart = chart.series(Series::line_points(method.name(), points).errors(&errors));
            }
            if most > 1 {
                charts.push((chart.to_svg(), String::new()));
            }
        }
    }
    charts
}

const TIMING: &str = "\
Seconds per draw on one thread, on the machine of this run, which also did other work. The search for the \
strength (preset calibrated) is done once per posterior and seed.";

/// What draws cost.
pub fn timing(numbers: &Numbers<'_>) -> Section {
    let presets = numbers.presets();
    let columns =
        presets.iter().flat_map(|preset| [format!("{}: seconds", preset.name()), "gradients".into()]);
    let mut table = Table::new("posterior", columns).caption("Means over seeds, per draw.");
    let mut seen = Vec::new();
    for row in main_rows(numbers).filter(|row| row.method.is_riemannian()) {
        let at = Place::of(row);
        let name = Place::posterior(row);
        if seen.contains(&name) {
            continue;
        }
        let cells = presets.iter().flat_map(|preset| {
            let draws = numbers.row(at, row.method, *preset).map(|row| &row.draws);
            [
                decimals(draws.and_then(|d| d.seconds_per_sample), 3),
                decimals(draws.and_then(|d| d.gradients_per_sample), 0),
            ]
        });
        table.row(name.clone(), cells);
        seen.push(name);
    }
    let mut section = Section::new("Timing", TIMING);
    section.table(table);
    section
}

const DISAGREE: &str = "\
Numbers of the preset paper (and of the methods without geodesics) that differ from the published ones by \
more than 3 standard errors of the difference. For all of them: the initial weights come from another \
random number generator; the seeds of the UCI splits and the choice of training images are not published; \
gradients here have double precision, in the original single precision. Where the published errors are \
small, small differences appear here: compare their sizes as well. Measurements of the reasons are in \
docs/decisions/0018-differences.md.";

/// What is known of the reason for a difference.
fn reason(numbers: &Numbers<'_>, row: &ResultRow, published: Number) -> String {
    let at = Place::of(row);
    let [optimized, fixed] = PriorName::ALL.map(|prior| numbers.published(Place { prior, ..at }, row.method));
    if row.method != MethodName::Map && optimized == fixed {
        return "the paper has the same digits for the other prior: probably copied".into();
    }
    if let Some(solved) =
        numbers.ours(at, row.method, Setting::CONVERGED).filter(|_| row.method.is_riemannian())
    {
        // The solver is a reason where another one moves the number by as much as half the difference.
        let moves = 2.0 * (row.mean - solved.mean).abs() >= (row.mean - published.mean).abs();
        let text = shown(&row.score, Number { error: None, ..solved });
        return format!(
            "{}: {text} when solved accurately",
            if moves { "it depends on the solver" } else { "unknown" }
        );
    }
    match (row.method, at.train_set, at.prior) {
        (MethodName::Map, "mnist", _) => "the choice of images, in part",
        (MethodName::La, "mnist", PriorName::Fixed) => "it depends on the number of draws",
        _ => "unknown",
    }
    .into()
}

/// Where we and the paper are apart.
pub fn disagreements(numbers: &Numbers<'_>) -> Section {
    let mut rows = Vec::new();
    let mut compared = [0usize; 2];
    for row in numbers.rows.iter().filter(|row| [Setting::ANY, Setting::PAPER].contains(&row.setting)) {
        let at = Place::of(row);
        // The trained network is the same under both priors and counts once.
        let optimized = Place { prior: PriorName::Optimized, ..at };
        if (row.method, row.prior) == (MethodName::Map, PriorName::Fixed)
            && numbers.row(optimized, row.method, Setting::ANY).is_some()
        {
            continue;
        }
        let ours = Number::from(row);
        let Some(published) = numbers.published(at, row.method) else { continue };
        let apart = distance(at, ours, published);
        let kind = usize::from(row.method.is_riemannian());
        compared[kind] += 1;
        if apart.is_none_or(|d| d.abs() <= 3.0) {
            continue;
        }
        let name = Place::posterior(row);
        let reason = reason(numbers, row, published);
        let (ours, published) = (shown(&row.score, ours), shown(&row.score, published));
        rows.push((name, vec![row.score.clone(), ours, published, shown_distance(apart), reason]));
    }
    let apart = |riemannian: bool| {
        let is = |name: &String| name.contains("riem-la") == riemannian;
        rows.iter().filter(|(name, _)| is(name)).count()
    };
    let text = format!(
        "More than 3 standard errors apart: {} of {} numbers of map, la and lin-la; {} of {} of the \
         methods with geodesics.",
        apart(false),
        compared[0],
        apart(true),
        compared[1]
    );
    let mut section = Section::new("Differences from the published numbers", DISAGREE);
    if compared == [0, 0] {
        return section;
    }
    let columns = ["score", "ours", "published", "difference / error", "reason"];
    section.text(text).table(Table::new("number", columns).rows(rows));
    section
}

#[cfg(test)]
mod tests {
    use super::super::numbers::example;
    use super::*;

    #[test]
    fn reasons_are_those_of_the_numbers() {
        let row = |set, method, score: &str, setting: Setting, mean| ResultRow {
            method,
            score: score.into(),
            mean,
            prior: PriorName::Fixed,
            setting,
            ..example(set)
        };
        let why = |row: &ResultRow, others: &[ResultRow]| {
            reason(&Numbers::new(others), row, Number { mean: 0.4, error: None })
        };
        let copied = row("ionosphere", MethodName::LinLa, "brier", Setting::ANY, 0.2);
        assert!(why(&copied, &[]).contains("same digits"));
        assert_eq!(why(&ResultRow { score: "nll".into(), ..copied }, &[]), "unknown");
        // The trained network has no other prior.
        assert_eq!(why(&row("ionosphere", MethodName::Map, "brier", Setting::ANY, 0.2), &[]), "unknown");
        let ours = row("banana", MethodName::RiemLa, "nll", Setting::PAPER, 0.3);
        assert_eq!(why(&ours, &[]), "unknown");
        for (mean, reason) in [
            (0.36, "it depends on the solver: 0.360 when solved accurately"),
            (0.31, "unknown: 0.310 when solved accurately"),
        ] {
            let solved = row("banana", MethodName::RiemLa, "nll", Setting::CONVERGED, mean);
            assert_eq!(why(&ours, &[solved]), reason);
        }
    }
}
