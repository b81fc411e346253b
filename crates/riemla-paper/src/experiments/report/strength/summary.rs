//! Which rule wins where, from the numbers alone.

use super::super::super::Setting;
use super::super::Column;
use super::super::numbers::{self, Number, shown};
use super::lines::{Line, Place, find, places, settings};
use crate::experiments::results::{mean, mean_and_error};
use riemla_workflow::report::{Table, decimals};

/// What a setting is like over all places that have every setting.
pub struct Verdict {
    /// The setting.
    pub setting: Setting,
    /// Places where its NLL is the lowest of all that are no given numbers.
    pub wins: usize,
    /// NLL above the lowest of all settings, mean and error over places.
    pub excess: (f64, Option<f64>),
    /// The largest of these.
    pub worst: f64,
    /// Mean of |ln(virial ratio)|.
    pub virial: f64,
    /// Geometric mean of the gradients per draw.
    pub gradients: f64,
    /// Mean cost of the search in draws.
    pub search: Option<f64>,
    /// Searches that met their condition, and all.
    pub converged: (usize, usize),
}

/// Places with a number for every setting that is anywhere.
pub fn complete<'a>(lines: &[Line<'a>]) -> Vec<Place<'a>> {
    let (given, others) = settings(lines);
    let all: Vec<Setting> = given.into_iter().chain(others).collect();
    let full = |place: &Place<'_>| all.iter().all(|setting| find(lines, *place, *setting).is_some());
    places(lines).into_iter().filter(full).collect()
}

/// One verdict per setting, given numbers last.
pub fn verdicts(lines: &[Line<'_>], places: &[Place<'_>]) -> Vec<Verdict> {
    let (given, others) = settings(lines);
    if places.is_empty() {
        return Vec::new();
    }
    let judge = |&setting: &Setting| {
        let here: Vec<&Line<'_>> = places.iter().filter_map(|place| find(lines, *place, setting)).collect();
        let excess: Vec<f64> =
            here.iter().map(|line| line.row.mean - lowest(lines, line.place(), |_| true)).collect();
        let won = |line: &&&Line<'_>| {
            others.contains(&setting)
                && line.row.mean <= lowest(lines, line.place(), |other| others.contains(&other))
        };
        let virials =
            here.iter().filter_map(|line| line.row.draws.virial_ratio).map(|ratio| ratio.ln().abs());
        let gradients = here.iter().filter_map(|line| line.row.draws.gradients_per_sample).map(f64::ln);
        Verdict {
            setting,
            wins: here.iter().filter(won).count(),
            excess: mean_and_error(&excess),
            worst: excess.iter().copied().fold(0.0, f64::max),
            virial: mean(virials).unwrap_or(f64::NAN),
            gradients: mean(gradients).map_or(f64::NAN, f64::exp),
            search: mean(here.iter().filter_map(|line| line.search)),
            converged: here.iter().fold((0, 0), |(a, b), l| (a + l.converged.0, b + l.converged.1)),
        }
    };
    others.iter().chain(&given).map(judge).collect()
}

/// The lowest NLL of a place among some settings.
fn lowest(lines: &[Line<'_>], place: Place<'_>, among: impl Fn(Setting) -> bool) -> f64 {
    let here = lines.iter().filter(|line| line.place() == place && among(line.row.setting));
    here.map(|line| line.row.mean).fold(f64::INFINITY, f64::min)
}

/// The verdicts as a table.
pub fn table(verdicts: &[Verdict], places: usize) -> Table {
    let columns: [Column<&Verdict>; 7] = [
        ("wins", |v| if v.setting.given_strength().is_none() { v.wins.to_string() } else { "–".into() }),
        ("NLL above the lowest", |v| shown("nll", Number { mean: v.excess.0, error: v.excess.1 })),
        ("worst case", |v| format!("{:.3}", v.worst)),
        ("mean |ln virial ratio|", |v| format!("{:.2}", v.virial)),
        ("gradients per draw", |v| format!("{:.0}", v.gradients)),
        ("search, in draws", |v| decimals(v.search, 1)),
        ("converged", |v| match v.converged {
            (_, 0) => "–".into(),
            (met, all) => format!("{met} of {all}"),
        }),
    ];
    super::super::table("setting", &columns, verdicts.iter().map(|v| (v.setting.name(), v))).caption(format!(
        "Over {places} posteriors (problem, prior, method) that have all settings. Wins: lowest test NLL \
         among the rules. NLL above the lowest: of all settings, fixed strengths included. Gradients: \
         geometric mean. Converged: searches that met their condition."
    ))
}

/// The same in words.
pub fn words(verdicts: &[Verdict], places: usize) -> String {
    let rules = || verdicts.iter().filter(|v| v.setting.given_strength().is_none());
    let best = |score: &dyn Fn(&Verdict) -> f64| rules().min_by(|a, b| score(a).total_cmp(&score(b)));
    let Some((wins, mean)) = best(&|v| -(v.wins as f64)).zip(best(&|v| v.excess.0)) else {
        return String::new();
    };
    let (Some(worst), Some(virial)) = (best(&|v| v.worst), best(&|v| v.virial)) else {
        return String::new();
    };
    format!(
        "Lowest test NLL most often: {} ({} of {places}). Lowest on average: {} ({:+.3} above the lowest \
         of all settings). Smallest worst case: {} ({:+.3}). Virial ratio closest to 1: {}.",
        wins.setting, wins.wins, mean.setting, mean.excess.0, worst.setting, worst.worst, virial.setting
    )
}

/// The lowest NLL of each place: which rule has it, and which given number.
pub fn winners(lines: &[Line<'_>]) -> Table {
    let (given, others) = settings(lines);
    let best = |place: Place<'_>, among: &[Setting]| {
        let here = among.iter().filter_map(|setting| Some(find(lines, place, *setting)?.row));
        here.min_by(|a, b| a.mean.total_cmp(&b.mean))
            .map_or("–".into(), |row| format!("{}: {}", row.setting, shown("nll", row.into())))
    };
    let row = |&place: &Place<'_>| {
        let mut cells = vec![best(place, &others), best(place, &given)];
        cells.extend(others.iter().map(|setting| {
            let line = find(lines, place, *setting);
            line.map_or("–".into(), |line| shown("nll", Number { mean: line.row.mean, error: None }))
        }));
        let (problem, prior, method) = place;
        (format!("{problem}, prior {}, {method}", prior.name()), cells)
    };
    let mut columns = vec!["best rule".to_string(), "best fixed strength".into()];
    columns.extend(others.iter().map(|setting| setting.name()));
    Table::new("posterior", columns).rows(places(lines).iter().map(row)).caption("Test NLL by rule.")
}

/// All that the rules did.
pub fn details(lines: &[Line<'_>]) -> Table {
    let (_, others) = settings(lines);
    let columns: [Column<&Line<'_>>; 5] = [
        ("strength", |line| decimals(line.row.draws.strength, 4)),
        ("NLL", |line| shown("nll", line.row.into())),
        ("virial ratio", |line| decimals(line.row.draws.virial_ratio, 2)),
        ("gradients per draw", |line| decimals(line.row.draws.gradients_per_sample, 0)),
        ("search, in draws", |line| decimals(line.search, 1)),
    ];
    let name = |line: &Line<'_>| format!("{}, {}", numbers::Place::posterior(line.row), line.row.setting);
    let rules = lines.iter().filter(|line| others.contains(&line.row.setting));
    super::super::table("posterior and rule", &columns, rules.map(|line| (name(line), line))).caption(
        "Means over seeds. The cost of the search is in draws: its gradients divided by those of a draw at \
         the strength it found.",
    )
}
