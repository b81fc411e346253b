//! Ours and the paper's numbers by name, and how far they are apart.

use super::super::paper::{PaperRow, paper_rows};
use super::super::{MethodName, PriorName, ResultRow, Setting};
use riemla_workflow::plot::Axis;

/// A mean with its standard error, and from how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// Mean over seeds.
    pub mean: f64,
    /// Its standard error; none for one seed.
    pub error: Option<f64>,
}

impl From<&ResultRow> for Number {
    fn from(row: &ResultRow) -> Self {
        Self { mean: row.mean, error: row.standard_error }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place<'a> {
    /// Trained on.
    pub train_set: &'a str,
    /// Tested on.
    pub test_set: &'a str,
    /// The prior.
    pub prior: PriorName,
    /// The score.
    pub score: &'a str,
}

impl<'a> Place<'a> {
    /// Where a row of ours stands.
    pub fn of(row: &'a ResultRow) -> Self {
        let ResultRow { train_set, test_set, prior, score, .. } = row;
        Self { train_set, test_set, prior: *prior, score }
    }

    /// Sets, prior and method of a row of ours, for rows of tables.
    pub fn posterior(row: &ResultRow) -> String {
        format!("{}, {}", Place::of(row).name(), row.method)
    }

    /// Its sets and prior, for rows of tables.
    pub fn name(&self) -> String {
        let Self { train_set, test_set, prior, .. } = self;
        let other = if train_set == test_set { String::new() } else { format!(" and {test_set}") };
        format!("{train_set}{other}, prior {}", prior.name())
    }
}

/// From how much a row comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Number of seeds.
    pub seeds: usize,
    /// Draws per posterior; none of the trained weights, which are not drawn.
    pub draws: Option<u64>,
}

impl Extent {
    /// That of a row.
    pub fn of(row: &ResultRow) -> Self {
        Self { seeds: row.seeds, draws: (row.method != MethodName::Map).then_some(row.samples) }
    }

    /// The most of everything.
    pub fn largest(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self { seeds: 0, draws: None }, |most, one| Self {
            seeds: most.seeds.max(one.seeds),
            draws: most.draws.max(one.draws),
        })
    }

    /// The least of everything, of what there is.
    pub fn smallest(all: impl Iterator<Item = Self>) -> Option<Self> {
        let draws = |a: Self, b: Self| a.draws.into_iter().chain(b.draws).min();
        all.reduce(|least, one| Self { seeds: least.seeds.min(one.seeds), draws: draws(least, one) })
    }

    /// What is said of one that has less than the `most` beside it.
    pub fn remark(self, most: Self) -> String {
        let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let seeds = (self.seeds < most.seeds).then(|| count(self.seeds as u64, "seed"));
        let draws = self.draws.filter(|_| self.draws < most.draws).map(|n| count(n, "draw"));
        let parts: Vec<String> = seeds.into_iter().chain(draws).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }
}

/// All numbers.
pub struct Numbers<'a> {
    /// Ours.
    pub rows: &'a [ResultRow],
    paper: Vec<PaperRow>,
}

impl<'a> Numbers<'a> {
    /// Ours, beside the paper's.
    pub fn new(rows: &'a [ResultRow]) -> Self {
        Self { rows, paper: paper_rows() }
    }

    /// Our row; methods without geodesics are the same in every preset.
    pub fn row(&self, at: Place<'_>, method: MethodName, preset: Setting) -> Option<&'a ResultRow> {
        let preset = if method.is_riemannian() { preset } else { Setting::ANY };
        self.rows.iter().find(|row| Place::of(row) == at && (row.method, row.setting) == (method, preset))
    }

    /// Our number.
    pub fn ours(&self, at: Place<'_>, method: MethodName, preset: Setting) -> Option<Number> {
        self.row(at, method, preset).map(Number::from)
    }

    /// The paper's number.
    pub fn published(&self, at: Place<'_>, method: MethodName) -> Option<Number> {
        self.paper.iter().find(|row| row.at == at && row.method == method).map(|row| row.number)
    }

    /// The presets that we have numbers of.
    pub fn presets(&self) -> Vec<Setting> {
        let has = |preset: &Setting| self.rows.iter().any(|row| row.setting == *preset);
        Setting::PRESETS.into_iter().filter(has).collect()
    }
}

/// Seeds of the paper's experiments.
fn published_seeds(train_set: &str) -> f64 {
    if train_set.contains("mnist") { 3.0 } else { 5.0 }
}

/// (ours − published) in standard errors of that difference. One seed of ours has the deviation that
/// the paper's seeds have.
pub fn distance(at: Place<'_>, ours: Number, published: Number) -> Option<f64> {
    let theirs = published.error?;
    let error = ours.error.unwrap_or(theirs * published_seeds(at.train_set).sqrt());
    let combined = error.hypot(theirs);
    (combined > 0.0).then(|| (ours.mean - published.mean) / combined)
}

/// The smallest and the largest number.
pub fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
}

/// Beyond this ratio of the largest to the smallest number an axis is logarithmic.
const WIDE: f64 = 5.0;

/// The axis of these numbers.
pub fn axis(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
    let (low, high) = range(values);
    if low > 0.0 && high > WIDE * low { Axis::log(label) } else { Axis::linear(label) }
}

/// Digits after the point that a score is printed with.
fn decimals(score: &str) -> usize {
    match score {
        "accuracy" | "ece" | "mce" => 2,
        "brier" => 4,
        _ => 3,
    }
}

/// A number as the tables print it.
pub fn shown(score: &str, number: Number) -> String {
    let digits = decimals(score);
    match number.error {
        Some(error) => format!("{:.digits$} ± {error:.digits$}", number.mean),
        None => format!("{:.digits$}", number.mean),
    }
}

/// A distance as the tables print it.
pub fn shown_distance(distance: Option<f64>) -> String {
    distance.map_or("–".into(), |d| if d.abs() < 100.0 { format!("{d:+.1}") } else { format!("{d:+.0}") })
}

/// A row to be changed by tests: RIEM-LA on a set of the same name as its experiment.
#[cfg(test)]
pub fn example(set: &str) -> ResultRow {
    ResultRow {
        experiment: set.into(),
        study: false,
        table: set.into(),
        train_set: set.into(),
        test_set: set.into(),
        prior: PriorName::Optimized,
        method: MethodName::RiemLa,
        score: "nll".into(),
        mean: 0.3,
        standard_error: Some(0.001),
        setting: Setting::PAPER,
        seeds: 5,
        samples: 100,
        draws: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_in_errors_of_the_difference() {
        let at = Place { train_set: "banana", test_set: "banana", prior: PriorName::Fixed, score: "nll" };
        let number = |mean, error| Number { mean, error };
        assert_eq!(distance(at, number(5.0, Some(3.0)), number(0.0, Some(4.0))), Some(1.0));
        // One seed: √5 of their errors, together √6.
        let one = distance(at, number(1.0, None), number(0.0, Some(1.0))).expect("a number");
        assert!((one - 1.0 / 6f64.sqrt()).abs() < 1e-12);
        let numbers = Numbers::new(&[]);
        assert_eq!(numbers.published(at, MethodName::RiemLa), Some(number(0.285, Some(0.001))));
    }

    #[test]
    fn a_row_says_what_it_has_less_of() {
        let most = Extent { seeds: 3, draws: Some(25) };
        assert_eq!(most.remark(most), "");
        assert_eq!(Extent { seeds: 1, draws: Some(10) }.remark(most), " (1 seed, 10 draws)");
        assert_eq!(Extent { seeds: 3, draws: Some(1) }.remark(most), " (1 draw)");
        assert_eq!(Extent { seeds: 2, draws: None }.remark(most), " (2 seeds)");
        assert_eq!(Extent { seeds: 3, draws: None }.remark(most), "");
        let all = [Extent { seeds: 3, draws: Some(10) }, Extent { seeds: 1, draws: None }];
        assert_eq!(Extent::largest(all.into_iter()), Extent { seeds: 3, draws: Some(10) });
        assert_eq!(Extent::smallest(all.into_iter()), Some(Extent { seeds: 1, draws: Some(10) }));
    }
}
