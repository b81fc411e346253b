//! The evaluation as a page.

use riemla::objective::{Likelihood, TargetKind};
use riemla::score::Interval;

use super::figures;
use super::result::{Evaluation, MethodResult, short};
use crate::likelihood::{noise_in_words, prior_in_words};
use crate::report::{Better, Cell, Column, Report, Section, Table};
use crate::scores::{kinds, proper};
use crate::workflow::error::Result;

/// The page: what to conclude first, then scores, pictures and settings.
pub fn report(evaluation: &Evaluation) -> Result<Report> {
    let mut report = Report::new(format!("Evaluation of {}", evaluation.posterior));
    let mut first = Section::new("Summary", "");
    first.text(summary(evaluation)).texts(evaluation.notes.iter().map(|note| format!("Note: {note}.")));
    report.extend([
        first,
        scores(evaluation),
        calibration(evaluation)?,
        doubt(evaluation),
        selective(evaluation),
        draws(evaluation),
        settings(evaluation),
    ]);
    Ok(report)
}

/// Who is best, and whether that could be chance.
fn summary(evaluation: &Evaluation) -> String {
    let score = |method: &&MethodResult| method.scores[1].estimate;
    let best = evaluation.methods.iter().min_by(|a, b| score(a).total_cmp(&score(b)));
    let (Some(best), Some(map)) = (best, evaluation.methods.first()) else { return String::new() };
    let (name, rows) = (proper(evaluation.kind()).name, evaluation.targets.len());
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
            "The lead of {:.4} ({percent:.0} % interval {least:.4} to {most:.4}) is larger than the choice \
             of test rows explains",
            -gain.estimate
        )
    } else {
        format!(
            "The lead of {:.4} may be due to chance: its {percent:.0} % interval, {least:.4} to {most:.4}, \
             contains 0; more test rows would settle it",
            -gain.estimate
        )
    }
}

/// Which method recognises one set of out-of-distribution data best.
fn recognised(evaluation: &Evaluation, which: usize) -> Option<String> {
    let area = |method: &MethodResult| method.ood.get(which).map_or(f64::NAN, |other| other.auroc.estimate);
    let best = evaluation.methods.iter().max_by(|a, b| area(a).total_cmp(&area(b)))?;
    let map = evaluation.methods.first()?;
    let name = short(&map.ood.get(which)?.name);
    Some(format!(
        "{} recognises the {} rows of {name} best: area under the ROC curve {:.3}, map {:.3} (1 is \
         perfect, 0.5 is chance).",
        best.name,
        map.ood[which].rows,
        area(best),
        area(map)
    ))
}

fn scores(evaluation: &Evaluation) -> Section {
    let meanings = kinds(evaluation.kind()).iter().map(|kind| format!("{}: {}", kind.name, kind.meaning));
    let percent = 100.0 * evaluation.bootstrap.level;
    let intro = format!(
        "± is half the {percent:.0} % bootstrap interval over the test rows. All methods are scored on the \
         same rows, so that differences are more precise than these intervals suggest: the last column has \
         the difference from map with its own interval. {}.",
        meanings.collect::<Vec<_>>().join("; ")
    );
    let mut columns = vec![Column::new("draws")];
    columns.extend(kinds(evaluation.kind()).iter().map(|kind| Column::new(kind.name).better(kind.better)));
    columns.push(Column::new(format!("{} − map's", proper(evaluation.kind()).name)).better(Better::Lower));
    let table = table_of(evaluation, columns, format!("Scores on {}.", evaluation.data), |method| {
        let mut cells = vec![Cell::Text(method.draws.to_string())];
        cells.extend(method.scores.iter().chain(&method.gain).map(estimate));
        cells
    });
    let mut section = Section::new("Scores", intro);
    per_target(evaluation).into_iter().fold(section.table(table), |section, table| section.table(table));
    section
}

/// The scores of each of several targets: one table each.
fn per_target(evaluation: &Evaluation) -> Vec<Table> {
    let several = evaluation.methods.iter().any(|method| !method.per_target.is_empty());
    let names = if several { evaluation.target_names() } else { Vec::new() };
    let table = |(k, name): (usize, &String)| {
        let columns = kinds(evaluation.kind()).iter().map(|kind| Column::new(kind.name).better(kind.better));
        table_of(evaluation, columns, format!("Scores of {name} alone."), |method| {
            let scores = method.per_target.get(k).into_iter().flatten();
            scores.map(|(_, value)| Cell::from(*value)).collect()
        })
    };
    names.iter().enumerate().map(table).collect()
}

/// A table with a row per method.
fn table_of(
    evaluation: &Evaluation,
    columns: impl IntoIterator<Item = Column>,
    caption: impl Into<String>,
    cells: impl Fn(&MethodResult) -> Vec<Cell>,
) -> Table {
    let mut table = Table::new("method", columns).caption(caption);
    for method in &evaluation.methods {
        table.row(&method.name, cells(method)).method(method.method);
    }
    table
}

fn estimate(interval: &Interval) -> Cell {
    Cell::Estimate(interval.estimate, 0.5 * (interval.high - interval.low))
}

fn calibration(evaluation: &Evaluation) -> Result<Section> {
    let intro = match evaluation.kind() {
        TargetKind::Classes => {
            "Of all predictions made with 80 % confidence, 80 % should be correct. Bars below the diagonal \
             are overconfident."
        }
        TargetKind::Labels => {
            "Of all labels predicted with 80 % confidence, 80 % should be correct. Bars below the diagonal are \
             overconfident. All labels are counted together."
        }
        TargetKind::Values => "Of all 80 % intervals, 80 % should contain the true value.",
        TargetKind::Counts => {
            "Of all 80 % intervals, at least 80 % should contain the true count; more where counts are small, since \
             intervals end at whole numbers."
        }
    };
    let mut section = Section::new("Calibration", intro);
    section.grid(figures::reliability(evaluation)?);
    section.figures(figures::coverage_chart(evaluation)).figures(figures::predicted(evaluation));
    Ok(section)
}

fn doubt(evaluation: &Evaluation) -> Section {
    let others = evaluation.methods.first().map_or(0, |method| method.ood.len());
    let intro = if others > 0 {
        "Uncertainty of the predictions on the test data and on out-of-distribution data; the latter \
         should be far to the right."
    } else {
        "Uncertainty of the predictions. Out-of-distribution data (--ood) would show whether they are \
         recognised."
    };
    let mut section = Section::new("When not to trust a prediction", intro);
    section.grid(figures::uncertainty(evaluation));
    if others > 0 {
        section.figures((0..others).filter_map(|which| figures::roc(evaluation, which)));
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
    table_of(evaluation, columns, caption, |method| {
        let cells = method.ood.iter().flat_map(|other| [Some(&other.auroc), other.auroc_entropy.as_ref()]);
        cells.flatten().map(estimate).collect()
    })
}

/// What is gained by withholding predictions, and what conformal sets promise and hold.
fn selective(evaluation: &Evaluation) -> Section {
    let classes = evaluation.kind() == TargetKind::Classes;
    let mut section = Section::new(
        "Answering only when sure",
        "Rows are answered in the order of the confidence in them, the surest first. A method that knows what it does \
         not know has few errors among its surest answers: its curve rises late. The area under the curve (aurc, lower \
         is better) sums this up.",
    );
    section.figures(figures::risk_coverage(evaluation));
    let methods = || evaluation.methods.iter();
    let mut columns = vec![Column::new("aurc").better(Better::Lower)];
    let abstains = methods().any(|method| method.selective.abstention.is_some());
    let covers = methods().any(|method| method.selective.conformal.is_some());
    if abstains {
        columns.extend(["least confidence", "answered", "wrong among them"].map(Column::new));
    }
    if covers {
        columns.push(Column::new("conformal coverage"));
        columns.push(Column::new(if classes { "classes per set" } else { "width" }).better(Better::Lower));
    }
    let caption =
        "Thresholds and conformal sets come from the held-out rows; the shares are those of the test rows.";
    section.table(table_of(evaluation, columns, caption, |method| {
        let mut cells = vec![Cell::from(method.selective.aurc)];
        if abstains {
            let found = method.selective.abstention;
            cells.push(found.map(|found| found.least_confidence).into());
            cells.push(found.map(|found| found.answered).into());
            cells.push(found.and_then(|found| found.error_rate).into());
        }
        if covers {
            let found = method.selective.conformal;
            cells.extend([found.map(|found| found.coverage), found.map(|found| found.size)].map(Cell::from));
        }
        cells
    }));
    section
}

/// What is known about each set of draws, and what to know before trusting it.
fn draws(evaluation: &Evaluation) -> Section {
    let mut section = Section::new(
        "The draws",
        "A virial ratio of 1 and a rise of the loss of half the number of weights are those of exact draws.",
    );
    let known: Vec<_> =
        evaluation.methods.iter().filter_map(|method| Some((method, method.summary.as_ref()?))).collect();
    if known.is_empty() {
        return section;
    }
    let columns =
        ["draws", "strength", "virial ratio", "rise of the loss", "gradients per draw"].map(Column::new);
    let mut table = Table::new("set", columns.to_vec());
    for (method, summary) in &known {
        let numbers = [summary.strength, summary.virial_ratio, summary.loss_rise, summary.gradients];
        let draws = Cell::Text(summary.draws.to_string());
        table.row(&method.name, [draws].into_iter().chain(numbers.map(Cell::from))).method(method.method);
    }
    section.table(table);
    for (method, summary) in known {
        let about = |warning| format!("Warning about {}: {warning}.", method.name);
        section.texts(summary.warnings.iter().map(about));
    }
    section
}

fn settings(evaluation: &Evaluation) -> Section {
    let temperature = evaluation.temperature.map_or("none".into(), |t| format!("{:.4}", t.temperature));
    let bootstrap = &evaluation.bootstrap;
    let noise = match evaluation.likelihood {
        Likelihood::Heteroscedastic => "an output of the network".into(),
        likelihood => noise_in_words(likelihood).unwrap_or("none".into()),
    };
    let mut section = Section::new("Settings", "");
    section.metadata([
        ("riemla", env!("CARGO_PKG_VERSION").to_string()),
        ("posterior", evaluation.posterior.clone()),
        ("data", evaluation.data.clone()),
        ("weights", evaluation.model.theta.len().to_string()),
        ("prior precision", prior_in_words(&evaluation.prior_precision)),
        ("noise (of the encoded target)", noise),
        ("temperature of map-temperature", temperature),
        ("bootstrap", format!("{} resamples, seed {}", bootstrap.resamples, bootstrap.seed)),
    ]);
    section
}
