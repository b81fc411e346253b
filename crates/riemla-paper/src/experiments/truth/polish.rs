//! What polish does to the distance from the truth: a section of the report.

use super::against::PolishNumbers;
use super::report::{Line, marked};
use riemla_workflow::report::{Section, Table, decimals};

const INTRO: &str = "\
Every draw is the start of a Hamiltonian chain with Metropolis tests of about as many gradients as its name says; the \
distance is the W1 of predictions (densities: of coordinates) before and after. \"Exact\" is the distance that as many \
exact draws would show by chance. What is left is (after − exact)/(before − exact); a dash means that the draws before were no \
further from the truth than exact ones by more than a fifth, so that nothing can be seen. The drift is the mean change \
of the loss over the second halves of the chains, with its standard error: 0 for chains that have settled. The nested \
R-hat is that of ends grouped by their starts: large where a chain remembers its start, which does no harm where the \
starts are good.";

/// Draws before count as different from exact ones from this factor on.
const VISIBLE: f64 = 1.2;

/// The section, if draws were polished.
pub fn section(lines: &[Line<'_>]) -> Option<Section> {
    let rows: Vec<(String, Vec<String>)> = lines.iter().filter_map(|line| row(lines, line)).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = [
        "method",
        "before",
        "after",
        "exact",
        "left",
        "accepted",
        "drift of the loss",
        "nested R-hat",
        "step",
    ];
    let mut section = Section::new("Polished draws", INTRO);
    section.table(Table::new("target", columns).rows(rows));
    Some(section)
}

fn row(lines: &[Line<'_>], line: &Line<'_>) -> Option<(String, Vec<String>)> {
    let of = |number: fn(&PolishNumbers) -> Option<f64>| line.number(|t| t.polish.as_ref().and_then(number));
    of(|polish| Some(polish.step))?;
    let before =
        lines.iter().find(|other| other.target == line.target && other.entry == line.entry.without_polish());
    let (before, after, exact) = (before.and_then(Line::distance), line.distance(), line.null());
    let left = match (before, after, exact) {
        (Some(before), Some(after), Some(exact)) if before > VISIBLE * exact => {
            Some((after - exact) / (before - exact))
        }
        _ => None,
    };
    let drift = of(|polish| polish.drift).zip(of(|polish| polish.drift_error));
    let cells = vec![
        line.entry.to_string(),
        decimals(before, 3),
        decimals(after, 3),
        decimals(exact, 3),
        decimals(left, 2),
        decimals(of(|polish| Some(polish.acceptance)), 2),
        drift.map_or("–".into(), |(drift, error)| format!("{drift:.2} ± {error:.2}")),
        decimals(of(|polish| polish.nested_r_hat), 2),
        decimals(of(|polish| Some(polish.step)), 4),
    ];
    Some((marked(lines, line.target), cells))
}
