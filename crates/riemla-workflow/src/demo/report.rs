//! The page: pictures, tables and settings of a demonstration.

use riemla::posterior::Method;

use super::figures;
use super::methods::MAP_DRAWS;
use super::texts;
use super::{DemoResult, MethodResult};
use crate::plot::{ColorBar, PlotError};
use crate::report::{Better, Cell, Column, Report, Section, Table};

/// The result as one HTML page that needs nothing else.
pub fn report(result: &DemoResult) -> Result<Report, PlotError> {
    let mut report = Report::new("riemla: uncertainty of a trained network, by five methods");
    let mut about = Section::new("", "");
    about.text(texts::ABOUT);
    about.texts(notes(result));
    let mut losses = Section::new("Loss of the draws", texts::LOSSES);
    losses.figure(figures::losses(result), texts::LOSSES_CAPTION);
    let mut numbers = Section::new("Scores", texts::SCORES);
    numbers.table(scores(result));
    let mut settings = Section::new("Settings and counters", "");
    settings.metadata(metadata(result));
    report.extend([about, maps(result)?, losses, numbers, reliability(result), geodesics(result), settings]);
    Ok(report)
}

/// What a reader must know before trusting the numbers.
fn notes(result: &DemoResult) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(interruption) = result.interrupted {
        let (draws, of) = (interruption.draws, interruption.of);
        notes.push(format!(
            "Note: interrupted after {draws} of {of} draws. Everything below uses these draws."
        ));
    }
    for missing in &result.missing {
        notes.push(format!("Note: there are no results for {}: {}.", missing.method, missing.reason));
    }
    for method in result.methods.iter().filter(|m| !m.failed.is_empty()) {
        let (failed, requested) = (method.failed.len(), method.requested);
        notes.push(format!(
            "Note: {failed} of {requested} draws of {} failed and are left out.",
            method.method
        ));
    }
    notes
}

fn maps(result: &DemoResult) -> Result<Section, PlotError> {
    let about =
        |m: Method| texts::METHODS.iter().find(|(name, _)| *name == m.name()).map_or("", |(_, text)| text);
    let mut panels = Vec::new();
    for method in &result.methods {
        panels.push((figures::confidence_map(result, method)?, about(method.method).to_string()));
    }
    if let Some(method) = result.method(Method::RiemLa) {
        let uncertainty = figures::uncertainty_map(result, method)?;
        panels.extend(uncertainty.map(|(svg, largest)| (svg, uncertainty_caption(largest))));
    }
    let mut section = Section::new("Confidence maps", texts::MAPS);
    section.figure(ColorBar::binary("probability of class 1").to_svg(), "").grid(panels);
    if result.config.samples > MAP_DRAWS as u64 {
        section.text(format!(
            "The maps use the first {MAP_DRAWS} draws of each method; everything else uses all draws."
        ));
    }
    Ok(section)
}

fn uncertainty_caption(largest: f64) -> String {
    format!(
        "The part of the uncertainty that more data would remove (mutual information of label and \
         weights). Full colour is {largest:.2} nats; the maximum is log 2 = 0.69."
    )
}

fn scores(result: &DemoResult) -> Table {
    let lower = |title| Column::new(title).better(Better::Lower).decimals(3);
    let higher = |title| Column::new(title).better(Better::Higher).decimals(3);
    let mut table = Table::new(
        "method",
        [
            higher("accuracy"),
            lower("NLL"),
            lower("Brier"),
            lower("ECE"),
            lower("MCE"),
            higher("AUROC far"),
            Column::new("confidence far").decimals(3),
            Column::new("gradients").decimals(0),
            Column::new("ms").decimals(2),
        ],
    )
    .caption(scores_caption(result));
    for method in &result.methods {
        let s = &method.scores;
        let scores = [s.accuracy, s.nll, s.brier, s.ece, s.mce, s.auroc_far, s.confidence_far];
        let costs = result.costs(method).map(|cost| cost.unwrap_or(f64::NAN));
        table.row(method.method.name(), scores.into_iter().chain(costs));
    }
    table
}

fn scores_caption(result: &DemoResult) -> String {
    format!(
        "{} test points and {} points on a ring around the data. ↑ higher is better, ↓ lower is better; \
         the best of each column is marked. Gradients and wall-clock milliseconds are per draw, on {}.",
        result.config.test_points,
        result.config.test_points,
        threads(result)
    )
}

fn threads(result: &DemoResult) -> String {
    let n = result.timing.threads;
    if n == 1 { "1 thread".into() } else { format!("{n} threads") }
}

fn reliability(result: &DemoResult) -> Section {
    let diagrams = result.methods.iter().map(figures::reliability);
    let mut section = Section::new("Reliability", texts::RELIABILITY);
    section.grid(diagrams.map(|d| (d.to_svg(), d.caption())));
    section
}

fn geodesics(result: &DemoResult) -> Section {
    let mut section = Section::new("Can the geodesics be trusted?", texts::GEODESICS);
    if !result.methods.iter().any(|m| m.method.is_riemannian()) {
        return section;
    }
    section.grid([
        (figures::speed_drift(result), texts::DRIFT),
        (figures::loss_rise(result), texts::RISE),
        (figures::evaluations(result), texts::COST),
    ]);
    let columns = ["draws", "attempts", "steps", "rejected steps", "values", "gradients"];
    let mut columns: Vec<Column> = columns.into_iter().map(|title| Column::new(title).decimals(0)).collect();
    columns.extend([Column::new("largest drift"), Column::new("virial ratio").decimals(3)]);
    let mut table = Table::new("method", columns).caption(virial_caption(result));
    for method in result.methods.iter().filter(|m| m.method != Method::Map) {
        table.row(method.method.name(), geodesic_cells(method));
    }
    section.table(table);
    section
}

fn geodesic_cells(method: &MethodResult) -> Vec<Cell> {
    let mut cells = vec![Cell::Number(method.draws as f64)];
    if let Some(c) = method.counters {
        let geodesics = || method.records.iter().filter_map(|r| r.geodesic);
        let attempts: usize = geodesics().map(|g| g.attempts).sum();
        let counts = [attempts, c.steps, c.rejections, c.values, c.gradients];
        cells.extend(counts.map(|n| Cell::Number(n as f64)));
        let drift = geodesics().map(|g| g.diagnostics.speed_drift).fold(0.0, f64::max);
        cells.push(Cell::Text(format!("{drift:.1e}")));
    } else {
        cells.extend([const { Cell::Empty }; 6]);
    }
    cells.push(method.virial_ratio.into());
    cells
}

fn virial_caption(result: &DemoResult) -> String {
    let found = result.method(Method::RiemLa).and_then(|m| Some((m.virial_ratio?, m.strength?)));
    let verdict = found.map(|(ratio, a)| {
        let reading = match ratio {
            _ if ratio < 0.9 => {
                "a smaller strength would let the draws move further from the trained weights"
            }
            _ if ratio > 1.1 => "a larger strength would keep the draws closer to the trained weights",
            _ => "about right",
        };
        format!(" Here riem-la has {ratio:.2} at strength {a:.3}: {reading}.")
    });
    format!("Totals over all draws. {}{}", texts::VIRIAL, verdict.unwrap_or_default())
}

/// The strength of each method with geodesics, and where it comes from.
fn strengths(result: &DemoResult) -> String {
    let each = result.methods.iter().filter_map(|m| Some(format!("{} {:.3}", m.method, m.strength?)));
    let each = each.collect::<Vec<_>>().join(", ");
    if result.config.strength.fixed().is_some() {
        each
    } else {
        format!("{each} (preconditioned metric; the loss of the first draws rises by K/2)")
    }
}

fn metadata(result: &DemoResult) -> Vec<(&'static str, String)> {
    let (config, laplace) = (&result.config, &result.laplace);
    let layers: Vec<String> = config.layers.iter().map(usize::to_string).collect();
    let gradients: usize = result.methods.iter().filter_map(|m| m.counters).map(|c| c.gradients).sum();
    vec![
        ("version", format!("riemla {}", result.version)),
        ("seed", config.seed.to_string()),
        ("draws per method", config.samples.to_string()),
        ("strength a of the metric", strengths(result)),
        ("training points", format!("{}, noise {}", config.train_points, config.noise)),
        ("network", format!("{}, tanh, K = {} weights", layers.join("-"), laplace.parameters)),
        ("curvature", "full generalised Gauss–Newton matrix".into()),
        ("integrator", "constrained leapfrog".into()),
        ("prior precision", format!("{:.4} (by marginal likelihood)", laplace.prior_precision)),
        (
            "log marginal likelihood",
            laplace.log_marginal_likelihood.map_or("–".into(), |l| format!("{l:.2}")),
        ),
        ("loss at the minimum", format!("{:.3}", result.training.loss)),
        ("gradient norm at the minimum", format!("{:.1e}", laplace.gradient_norm)),
        ("gradients of training", result.training.evaluations.to_string()),
        ("priors tried", laplace.prior_trials.to_string()),
        ("gradients of all geodesics", gradients.to_string()),
        ("time", format!("{:.1} s on {}", result.timing.total_seconds, threads(result))),
    ]
}
