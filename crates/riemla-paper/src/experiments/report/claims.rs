//! The paper's claims, each with yes or no and the numbers.

use std::cell::RefCell;

use super::super::{MethodName, PriorName, ResultRow, Setting};
use super::numbers::{Extent, Number, Numbers, Place, shown};
use riemla_workflow::report::{Section, Table, decimals};

const INTRO: &str = "Each claim is judged by the means alone: yes, no, or even (equal as printed), \
followed by the numbers compared. The column \"published\" judges the paper's own tables in the same way. \
Brackets give the seeds or draws of a verdict that rests on fewer than others in its row. The preset calibrated, the \
default of this program, was chosen on these sets: its columns are not independent of that choice \
(docs/results/confirmation.md has tables that played no part in it).";

/// Sets of the claims about the negative log-likelihood.
const SETS: [&str; 9] = [
    "banana",
    "vehicle",
    "glass",
    "ionosphere",
    "waveform",
    "australian",
    "breast_cancer",
    "mnist",
    "fashion_mnist",
];
const STRANGE: [(&str, &str); 6] = [
    ("mnist", "fashion_mnist"),
    ("mnist", "emnist"),
    ("mnist", "kmnist"),
    ("fashion_mnist", "mnist"),
    ("fashion_mnist", "emnist"),
    ("fashion_mnist", "kmnist"),
];

/// Where numbers are taken from.
type Source<'a> = dyn Fn(Place<'_>, MethodName) -> Option<Number> + 'a;

/// A verdict with its numbers; none where a number is missing.
type Verdict = Option<String>;

/// Yes if the first number is below the second, even if they are printed alike, and what is printed.
fn lower(first: f64, second: f64, why: &str) -> String {
    let even = format!("{first:.3}") == format!("{second:.3}");
    let answer = if even {
        "even"
    } else if first < second {
        "yes"
    } else {
        "no"
    };
    format!("{answer}: {why}")
}

/// The section of all claims that we have numbers for.
pub fn section(numbers: &Numbers<'_>) -> Section {
    let mut section = Section::new("The paper's claims", INTRO);
    let tables = [
        ("RIEM-LA has a lower NLL than LA and LIN-LA.", nll_claims(numbers)),
        (
            "RIEM-LA depends less on the prior than LIN-LA: NLL with the prior fixed minus NLL with the \
             prior optimised.",
            prior_claims(numbers),
        ),
        ("Batches help LIN-RIEM-LA (NLL).", batch_claims(numbers)),
        (
            "RIEM-LA recognises out-of-distribution images best (AUROC, among MAP, LA, LIN-LA and RIEM-LA).",
            ood_claims(numbers),
        ),
    ];
    for (caption, rows) in tables {
        let mut columns = vec!["published".to_string()];
        columns.extend(numbers.presets().iter().map(|preset| format!("ours, {}", preset.name())));
        section.table(Table::new("where", columns).rows(rows).caption(caption));
    }
    section.table(default_against_best(numbers));
    section
}

const AGAINST_BEST: &str = "The default of this program, RIEM-LA with the preset calibrated, which was chosen on these \
sets, compared with the lowest NLL published for the data set, of any method and prior. Where RIEM-LA with our preset paper is \
lower as well, other splits and initial weights explain a part of the difference. Gradients are per draw; \
\"at strength 1\" are those of the same draw with the preset converged, which solves the geodesics of the \
paper's metric accurately. For seconds see Timing.";

/// Ours, which is no claim of the paper, against its best.
fn default_against_best(numbers: &Numbers<'_>) -> Table {
    let best = |set: &str| {
        let all = PriorName::ALL.into_iter().flat_map(|prior| MethodName::ALL.map(|method| (prior, method)));
        let found = all.filter_map(|(prior, method)| {
            Some((numbers.published(nll(set, prior), method)?.mean, method, prior))
        });
        found.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let row = |prior: PriorName, set: &str| {
        let ours = numbers.row(nll(set, prior), MethodName::RiemLa, Setting::CALIBRATED)?;
        let (lowest, method, of) = best(set)?;
        let strong = numbers.row(nll(set, prior), MethodName::RiemLa, Setting::CONVERGED);
        let gradients =
            |row: Option<&ResultRow>| decimals(row.and_then(|row| row.draws.gradients_per_sample), 0);
        let lower = if ours.mean < lowest { "yes" } else { "no" };
        let cells = vec![
            format!("{lowest:.3} ({}, prior {})", method.name(), of.name()),
            format!("{lower}: {}", shown("nll", ours.into())),
            numbers
                .ours(nll(set, prior), MethodName::RiemLa, Setting::PAPER)
                .map_or("–".into(), |number| shown("nll", number)),
            ours.seeds.to_string(),
            gradients(Some(ours)),
            gradients(strong),
        ];
        Some((nll(set, prior).name(), cells))
    };
    let columns = ["best published", "lower?", "our preset paper", "seeds", "gradients", "at strength 1"];
    let rows = PriorName::ALL.iter().flat_map(|prior| SETS.iter().filter_map(|set| row(*prior, set)));
    Table::new("where", columns).rows(rows).caption(AGAINST_BEST)
}

/// One row: the paper's verdict, and ours per preset; none without any of ours.
fn row(
    numbers: &Numbers<'_>,
    name: String,
    judge: &dyn Fn(&Source<'_>) -> Verdict,
) -> Option<(String, Vec<String>)> {
    let ours = numbers.presets().into_iter().map(|preset| {
        let used = RefCell::new(Vec::new());
        let verdict = judge(&|at, method| {
            used.borrow_mut().extend(numbers.row(at, method, preset).map(Extent::of));
            numbers.ours(at, method, preset)
        })?;
        Some((verdict, used.into_inner()))
    });
    let ours: Vec<Option<(String, Vec<Extent>)>> = ours.collect();
    let most = Extent::largest(ours.iter().flatten().flat_map(|(_, used)| used.iter().copied()));
    let text = |verdict: &Verdict| verdict.clone().unwrap_or_else(|| "–".into());
    ours.iter().any(Option::is_some).then(|| {
        let mut cells = vec![text(&judge(&|at, method| numbers.published(at, method)))];
        let remarked = |(why, used): &(String, Vec<Extent>)| {
            let least = Extent::smallest(used.iter().copied());
            why.clone() + &least.map_or(String::new(), |least| least.remark(most))
        };
        cells.extend(ours.iter().map(|one| text(&one.as_ref().map(remarked))));
        (name, cells)
    })
}

fn nll(set: &str, prior: PriorName) -> Place<'_> {
    Place { train_set: set, test_set: set, prior, score: "nll" }
}

/// A row per prior and pair of sets that we have numbers for.
fn claims(
    numbers: &Numbers<'_>,
    score: &'static str,
    sets: &[(&'static str, &'static str)],
    judge: fn(Place<'_>, &Source<'_>) -> Verdict,
) -> Vec<(String, Vec<String>)> {
    let of_prior =
        |prior| sets.iter().map(move |&(train_set, test_set)| Place { train_set, test_set, prior, score });
    let places = PriorName::ALL.into_iter().flat_map(of_prior);
    places.filter_map(|at| row(numbers, at.name(), &|source| judge(at, source))).collect()
}

fn nll_claims(numbers: &Numbers<'_>) -> Vec<(String, Vec<String>)> {
    claims(numbers, "nll", &SETS.map(|set| (set, set)), |at, source| {
        let methods = [MethodName::RiemLa, MethodName::La, MethodName::LinLa];
        let [riemannian, la, linear] = methods.map(|method| source(at, method));
        let (riemannian, la, linear) = (riemannian?, la?, linear?);
        let why = [riemannian, la, linear].map(|n| shown("nll", Number { error: None, ..n }));
        let why = format!("{} versus {} and {}", why[0], why[1], why[2]);
        Some(lower(riemannian.mean, la.mean.min(linear.mean), &why))
    })
}

fn prior_claims(numbers: &Numbers<'_>) -> Vec<(String, Vec<String>)> {
    let judge = |set: &str, source: &Source<'_>| {
        let change = |method| {
            let [optimized, fixed] = PriorName::ALL.map(|prior| source(nll(set, prior), method));
            Some(fixed?.mean - optimized?.mean)
        };
        let (ours, linear) = (change(MethodName::RiemLa)?, change(MethodName::LinLa)?);
        Some(lower(ours.abs(), linear.abs(), &format!("{ours:+.3} versus {linear:+.3}")))
    };
    SETS.iter().filter_map(|set| row(numbers, (*set).into(), &|source| judge(set, source))).collect()
}

fn batch_claims(numbers: &Numbers<'_>) -> Vec<(String, Vec<String>)> {
    claims(numbers, "nll", &["banana", "mnist", "fashion_mnist"].map(|set| (set, set)), |at, source| {
        let batches = source(at, MethodName::LinRiemLaBatches)?.mean;
        let all = source(at, MethodName::LinRiemLa)?.mean;
        Some(lower(batches, all, &format!("{batches:.3} versus {all:.3}")))
    })
}

fn ood_claims(numbers: &Numbers<'_>) -> Vec<(String, Vec<String>)> {
    claims(numbers, "auroc", &STRANGE, |at, source| {
        let ours = source(at, MethodName::RiemLa)?.mean;
        let others = [MethodName::Map, MethodName::La, MethodName::LinLa];
        let others = others.map(|method| source(at, method).map(|n| (n.mean, method)));
        let rival = others.into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(lower(rival.0, ours, &format!("{ours:.3} versus {:.3} ({})", rival.0, rival.1.name())))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::record::DrawSummary;
    use super::super::numbers::example;
    use super::*;
    use riemla_workflow::report::Cell;

    #[test]
    fn the_default_is_held_against_the_best_published_number() {
        let row = |setting: Setting, mean, gradients| ResultRow {
            mean,
            setting,
            draws: DrawSummary { gradients_per_sample: Some(gradients), ..DrawSummary::default() },
            ..example("banana")
        };
        for (mean, verdict) in [(0.28, "yes: 0.280 ± 0.001"), (0.29, "no: 0.290 ± 0.001")] {
            let rows = [row(Setting::CALIBRATED, mean, 100.0), row(Setting::CONVERGED, 0.31, 400.0)];
            let table = default_against_best(&Numbers::new(&rows));
            // The paper's lowest on banana is RIEM-LA with the prior fixed.
            let cells =
                ["0.285 (riem-la, prior fixed)", verdict, "–", "5", "100", "400"].map(Cell::from).to_vec();
            assert_eq!(table.named_rows(), [("banana, prior optimized".to_string(), cells)]);
        }
    }

    #[test]
    fn verdicts_say_when_they_are_close_and_when_they_rest_on_less() {
        let row = |setting: Setting, method, mean, seeds| ResultRow {
            mean,
            seeds,
            setting,
            method,
            ..example("banana")
        };
        let rows = [
            row(Setting::CALIBRATED, MethodName::LinRiemLa, 0.2864, 5),
            row(Setting::CALIBRATED, MethodName::LinRiemLaBatches, 0.2856, 5),
            row(Setting::CONVERGED, MethodName::LinRiemLa, 0.31, 1),
            row(Setting::CONVERGED, MethodName::LinRiemLaBatches, 0.32, 5),
        ];
        let claims = batch_claims(&Numbers::new(&rows));
        let cells =
            ["yes: 0.298 versus 0.415", "no: 0.320 versus 0.310 (1 seed)", "even: 0.286 versus 0.286"];
        assert_eq!(claims, [("banana, prior optimized".to_string(), cells.map(String::from).to_vec())]);
        // One column alone: less than the other method has.
        let claims = batch_claims(&Numbers::new(&rows[2..]));
        assert_eq!(claims[0].1[1], "no: 0.320 versus 0.310 (1 seed)");
    }
}
