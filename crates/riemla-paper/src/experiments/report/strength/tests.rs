//! The summary of a study, by numbers that can be checked by hand.

use super::super::super::{DrawSummary, PriorName, ResultRow};
use super::super::numbers::example;
use super::lines::Line;
use super::summary::{complete, details, table, verdicts, winners, words};
use riemla_workflow::report::Cell;

fn row(problem: &str, setting: &str, mean: f64, virial: f64) -> ResultRow {
    let (strength, virial_ratio, gradients_per_sample) = (Some(0.1), Some(virial), Some(100.0));
    ResultRow {
        prior: PriorName::Fixed,
        setting: setting.parse().expect("a setting"),
        mean,
        standard_error: None,
        draws: DrawSummary { strength, virial_ratio, gradients_per_sample, ..DrawSummary::default() },
        ..example(problem)
    }
}

/// Two problems with all settings and a third that lacks one.
fn rows() -> Vec<ResultRow> {
    vec![
        row("p", "a=0.1", 0.30, 2.0),
        row("p", "virial", 0.35, 1.0),
        row("p", "loss-rise", 0.32, 1.1),
        row("q", "a=0.1", 0.90, 2.0),
        row("q", "virial", 0.60, 1.0),
        row("q", "loss-rise", 0.64, 1.1),
        row("r", "a=0.1", 0.10, 2.0),
        row("r", "virial", 0.01, 1.0),
    ]
}

fn line(row: &ResultRow) -> Line<'_> {
    let rule = row.setting.given_strength().is_none();
    Line { row, search: rule.then_some(12.0), converged: if rule { (1, 2) } else { (0, 0) } }
}

#[test]
fn verdicts_count_only_what_has_all_settings() {
    let rows = rows();
    let lines: Vec<Line<'_>> = rows.iter().map(line).collect();
    let places = complete(&lines);
    assert_eq!(places.iter().map(|place| place.0).collect::<Vec<_>>(), ["p", "q"]);
    let verdicts = verdicts(&lines, &places);
    let names: Vec<String> = verdicts.iter().map(|v| v.setting.name()).collect();
    assert_eq!(names, ["virial", "loss-rise", "a=0.1"]);
    // Above the lowest, which a given number may have: 0.05 and 0; 0.02 and 0.04; 0 and 0.30.
    for (verdict, (wins, mean, worst)) in
        verdicts.iter().zip([(1, 0.025, 0.05), (1, 0.03, 0.04), (0, 0.15, 0.30)])
    {
        assert_eq!(verdict.wins, wins, "{}", verdict.setting);
        assert!((verdict.excess.0 - mean).abs() < 1e-12 && (verdict.worst - worst).abs() < 1e-12);
        assert!((verdict.gradients - 100.0).abs() < 1e-9);
    }
    assert!(verdicts[0].virial == 0.0 && (verdicts[2].virial - 2f64.ln()).abs() < 1e-12);
    assert_eq!((verdicts[0].converged, verdicts[2].search), ((2, 4), None));
    let said = words(&verdicts, places.len());
    assert!(said.contains("Lowest on average: virial (+0.025"), "{said}");
    assert!(said.contains("Smallest worst case: loss-rise (+0.040)"), "{said}");
    let table = table(&verdicts, 2);
    assert_eq!(table.named_rows()[2].1[0], "–".into(), "a given number does not compete");
}

#[test]
fn every_posterior_has_a_row_and_its_winner() {
    let rows = rows();
    let lines: Vec<Line<'_>> = rows.iter().map(line).collect();
    let winners = winners(&lines);
    let best: Vec<Cell> = winners.named_rows().iter().map(|(_, cells)| cells[0].clone()).collect();
    assert_eq!(best, ["loss-rise: 0.320", "virial: 0.600", "virial: 0.010"].map(Cell::from));
    assert_eq!(winners.named_rows()[2].1, ["virial: 0.010", "a=0.1: 0.100", "0.010", "–"].map(Cell::from));
    assert_eq!(details(&lines).named_rows().len(), 5, "rules only");
}
