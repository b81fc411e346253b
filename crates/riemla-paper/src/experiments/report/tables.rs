//! The paper's tables compared with our numbers.

use super::super::{Experiment, MethodName, PriorName, ResultRow, Setting};
use super::numbers::{Extent, Numbers, Place, distance, shown, shown_distance};
use super::unique;
use riemla_workflow::report::{Section, Table};

/// One section per experiment.
pub fn sections(numbers: &Numbers<'_>, experiments: &[Experiment]) -> Vec<Section> {
    let mut sections = Vec::new();
    for Experiment { name, title, about, .. } in experiments {
        let rows: Vec<&ResultRow> = numbers.rows.iter().filter(|row| row.experiment == *name).collect();
        let mut section = Section::new(title, about);
        for prior in PriorName::ALL {
            let sets = rows.iter().map(|row| (row.train_set.as_str(), row.test_set.as_str()));
            for (train_set, test_set) in unique(sets) {
                section.table(table(numbers, &rows, prior, train_set, test_set));
            }
        }
        sections.push(section);
    }
    sections
}

fn table(
    numbers: &Numbers<'_>,
    rows: &[&ResultRow],
    prior: PriorName,
    train_set: &str,
    test_set: &str,
) -> Table {
    let here: Vec<&&ResultRow> = rows
        .iter()
        .filter(|r| r.prior == prior && (r.train_set.as_str(), r.test_set.as_str()) == (train_set, test_set))
        .collect();
    let scores = unique(here.iter().map(|row| row.score.as_str()));
    let place = |score| Place { train_set, test_set, prior, score };
    let most = Extent::largest(here.iter().map(|row| Extent::of(row)));
    let mut table = Table::new("method", scores.iter().copied())
        .caption(caption(&here, most, prior, train_set, test_set));
    for method in MethodName::ALL {
        let presets: Vec<Setting> = match method.is_riemannian() {
            true => numbers.presets(),
            false => vec![Setting::ANY],
        };
        let mut compared = None;
        for preset in presets {
            let Some(row) = scores.iter().find_map(|s| numbers.row(place(s), method, preset)) else {
                continue;
            };
            let cells: Vec<_> = scores.iter().map(|s| numbers.ours(place(s), method, preset)).collect();
            let text = cells.iter().zip(&scores).map(|(n, s)| n.map_or(String::new(), |n| shown(s, n)));
            let name = match preset {
                Setting::ANY => method.name().to_string(),
                _ => format!("{}, {}", method.name(), preset.name()),
            };
            table.row(name + &Extent::of(row).remark(most), text);
            if [Setting::ANY, Setting::PAPER].contains(&preset) {
                compared = Some(cells);
            }
        }
        let published: Vec<_> = scores.iter().map(|s| numbers.published(place(s), method)).collect();
        let there = here.iter().any(|row| row.method == method);
        if !there || published.iter().all(Option::is_none) {
            continue;
        }
        let text = published.iter().zip(&scores).map(|(n, s)| n.map_or(String::new(), |n| shown(s, n)));
        table.row("↳ published", text);
        let Some(ours) = compared else { continue };
        let apart = ours.iter().zip(&published).zip(&scores).map(|((o, p), score)| {
            o.zip(*p).map_or(String::new(), |(o, p)| shown_distance(distance(place(score), o, p)))
        });
        table.row("↳ difference / error", apart);
    }
    table
}

fn caption(rows: &[&&ResultRow], most: Extent, prior: PriorName, train_set: &str, test_set: &str) -> String {
    let sets = if train_set == test_set {
        train_set.to_string()
    } else {
        format!("trained on {train_set}, out-of-distribution set {test_set}")
    };
    let draws = most.draws.map_or(String::new(), |n| format!(", draws per posterior: {n}"));
    let less = rows.iter().any(|row| !Extent::of(row).remark(most).is_empty());
    let less = if less { "; rows with fewer are marked" } else { "" };
    format!("{sets}, prior {}; seeds: {}{draws}{less}.", prior.name(), most.seeds)
}
