//! The evaluation as a page.

use riemla::data::Targets;
use riemla::score::Interval;

use super::figures;
use super::result::{Evaluation, MethodResult, short};
use crate::report::{Better, Cell, Column, Report, Section, Table};
use crate::scores::{kinds, proper};
use crate::workflow::error::Result;

/// The page: what to conclude first, then scores, pictures and settings.
pub fn report(evaluation: &Evaluation) -> Result<Report> {
    let mut report = Report::new(format!("Evaluation of {}", evaluation.posterior));
    let mut first = Section::new("Summary", "");
    first.text(summary(evaluation));
    evaluation.notes.iter().for_each(|note| {
        first.text(format!("Note: {note}."));
    });
    report.extend([
        first,
        scores(evaluation),
        calibration(evaluation)?,
        doubt(evaluation),
        settings(evaluation),
    ]);
    Ok(report)
}

/// Who is best, and whether that could be chance.
fn summary(evaluation: &Evaluation) -> String {
    let score = |method: &&MethodResult| method.scores[1].estimate;
    let best = evaluation.methods.iter().min_by(|a, b| score(a).total_cmp(&score(b)));
    let (Some(best), Some(map)) = (best, evaluation.methods.first()) else { return String::new() };
    let (name, rows) = (proper(&evaluation.targets).name, evaluation.targets.len());
    let compared = match &best.gain {
        None => "the trained weights alone (map); no other method improves on them here".to_string(),
        Some(gain) => format!(
            "{}; the trained weights alone (map) have {:.4}. {}",
            best.name,
            score(&map),
            verdict(gain)
        ),
    };
    let head = format!(
        "{rows} rows of {}. The lowest {name}, {:.4}, has {compared}.",
        short(&evaluation.data),
        score(&best)
    );
    let others = (0..map.ood.len()).filter_map(|which| recognised(evaluation, which));
    std::iter::once(head).chain(others).collect::<Vec<_>>().join("\n\n")
}

/// Whether a lead over the trained weights could be chance.
fn verdict(gain: &Interval) -> String {
    let (percent, low, high) = (100.0 * gain.level, gain.low, gain.high);
    let (least, most) = (-high, -low);
    if high < 0.0 {
        format!(
            "The lead of {:.4} ({percent:.0} % interval {least:.4} to {most:.4}) is more than the choice of test rows explains",
            -gain.estimate
        )
    } else {
        format!(
            "The lead of {:.4} may be chance: its {percent:.0} % interval, {least:.4} to {most:.4}, holds 0; more test rows would tell",
            -gain.estimate
        )
    }
}

/// Who tells one kind of other data apart best.
fn recognised(evaluation: &Evaluation, which: usize) -> Option<String> {
    let area = |method: &MethodResult| method.ood.get(which).map_or(f64::NAN, |other| other.auroc.estimate);
    let best = evaluation.methods.iter().max_by(|a, b| area(a).total_cmp(&area(b)))?;
    let map = evaluation.methods.first()?;
    let name = short(&map.ood.get(which)?.name);
    Some(format!(
        "The {} rows of {name} are told apart best by {}: area under the ROC curve {:.3}, map {:.3} (1 is perfect, 0.5 is chance).",
        map.ood[which].rows,
        best.name,
        area(best),
        area(map)
    ))
}

fn scores(evaluation: &Evaluation) -> Section {
    let meanings = kinds(&evaluation.targets).iter().map(|kind| format!("{}: {}", kind.name, kind.meaning));
    let percent = 100.0 * evaluation.bootstrap.level;
    let intro = format!(
        "± is half the {percent:.0} % bootstrap interval over the test rows. Methods see the same rows, so that \
         differences are sharper than these intervals suggest: the last column has the difference from map \
         with an interval of its own. {}.",
        meanings.collect::<Vec<_>>().join("; ")
    );
    let mut columns = vec![Column::new("draws")];
    columns.extend(kinds(&evaluation.targets).iter().map(|kind| Column::new(kind.name).better(kind.better)));
    columns.push(Column::new(format!("{} − map's", proper(&evaluation.targets).name)).better(Better::Lower));
    let mut table = Table::new("method", columns).caption(format!("Scores on {}.", evaluation.data));
    for method in &evaluation.methods {
        let mut cells = vec![Cell::Text(method.draws.to_string())];
        cells.extend(method.scores.iter().chain(&method.gain).map(estimate));
        cells.resize(kinds(&evaluation.targets).len() + 2, Cell::Empty);
        table.row(&method.name, cells).method(method.method);
    }
    let mut section = Section::new("Scores", intro);
    section.table(table);
    section
}

fn estimate(interval: &Interval) -> Cell {
    Cell::Estimate(interval.estimate, 0.5 * (interval.high - interval.low))
}

fn calibration(evaluation: &Evaluation) -> Result<Section> {
    let intro = match &evaluation.targets {
        Targets::Classes(_) => {
            "Of all predictions made with 80 % confidence, 80 % should be right. Bars below the diagonal: too sure."
        }
        Targets::Values { .. } => "Of all 80 % intervals, 80 % should hold the truth.",
    };
    let mut section = Section::new("Calibration", intro);
    section.grid(figures::reliability(evaluation)?);
    let of_values = [figures::coverage_chart(evaluation), figures::predicted(evaluation)];
    of_values.into_iter().flatten().for_each(|(svg, caption)| {
        section.figure(svg, caption);
    });
    Ok(section)
}

fn doubt(evaluation: &Evaluation) -> Section {
    let others = evaluation.methods.first().map_or(0, |method| method.ood.len());
    let intro = if others > 0 {
        "How unsure the predictions are of the test data, and of data of another kind, which should be far to the right."
    } else {
        "How unsure the predictions are. Data of another kind (--ood) would show whether they are recognised."
    };
    let mut section = Section::new("When not to trust a prediction", intro);
    section.grid(figures::uncertainty(evaluation));
    if others > 0 {
        (0..others).filter_map(|which| figures::roc(evaluation, which)).for_each(|(svg, caption)| {
            section.figure(svg, caption);
        });
        section.table(ood_table(evaluation));
    }
    section
}

fn ood_table(evaluation: &Evaluation) -> Table {
    let first = evaluation.methods.first().map_or(&[][..], |method| &method.ood);
    let mut columns = Vec::new();
    for other in first {
        let measure = if other.auroc_entropy.is_some() { "confidence" } else { "variance" };
        columns.push(Column::new(format!("{}, {measure}", short(&other.name))).better(Better::Higher));
        if other.auroc_entropy.is_some() {
            columns.push(Column::new(format!("{}, entropy", short(&other.name))).better(Better::Higher));
        }
    }
    let caption = "Area under the ROC curve: 1 is perfect, 0.5 is chance.";
    let mut table = Table::new("method", columns).caption(caption);
    for method in &evaluation.methods {
        let cells = method.ood.iter().flat_map(|other| [Some(&other.auroc), other.auroc_entropy.as_ref()]);
        table.row(&method.name, cells.flatten().map(estimate)).method(method.method);
    }
    table
}

fn settings(evaluation: &Evaluation) -> Section {
    let temperature = evaluation.temperature.map_or("none".into(), |t| format!("{:.4}", t.temperature));
    let bootstrap = &evaluation.bootstrap;
    let mut section = Section::new("Settings", "");
    section.metadata([
        ("riemla", env!("CARGO_PKG_VERSION").to_string()),
        ("posterior", evaluation.posterior.clone()),
        ("data", evaluation.data.clone()),
        ("weights", evaluation.model.theta.len().to_string()),
        ("temperature of map-temperature", temperature),
        ("bootstrap", format!("{} resamples, seed {}", bootstrap.resamples, bootstrap.seed)),
    ]);
    section
}
