//! The strength at which a noisy ratio is 1.

use super::ratio::Estimate;
use super::search::{
    ENOUGH, ENOUGH_STRENGTH, HIGHEST, LARGEST_RATIO, LOWEST, MAX_TRIALS, MET, MET_ERRORS, NEAR, NEAR_RATIO,
    Next, Point, START, STEPS, SearchStatus, Tried, UNSURE, USUAL_RANGE, WIDTH_TOLERANCE,
};
use crate::Result;

/// The logarithm of a ratio is nearly a straight line in this power of 1/a, between trials.
const BEND: f64 = 2.0;

/// How many pilots a search may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// At every strength.
    pub few: usize,
    /// At most, near the root.
    pub all: usize,
    /// Geodesics at all strengths together, beyond which no pilots are added.
    pub geodesics: usize,
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Root {
    /// The strength, in natural ones.
    pub strength: f64,
    /// How the logarithm of the ratio changes there with that of the strength; none where it is not known.
    pub slope: Option<f64>,
    /// How the search ended.
    pub status: SearchStatus,
}

/// A strength at which `ratio(strength, pilots)` is 1. The ratio falls with the strength, with batches only up to some
/// strength; if it stays above 1, the strength where it is smallest. `None` from `ratio` stops.
pub(super) fn root(
    plan: Plan,
    mut ratio: impl FnMut(f64, usize) -> Result<Option<Estimate>>,
) -> Result<Root> {
    let mut table = Table { plan, columns: Vec::new(), step: STEPS.0 };
    loop {
        match table.next() {
            Action::Done(root) => return Ok(root),
            Action::Look(x, pilots) => match ratio(x.exp(), pilots)? {
                Some(estimate) => table.add(x, pilots, estimate),
                None => return Ok(table.best(SearchStatus::Stopped)),
            },
        }
    }
}

enum Action {
    /// More pilots at this logarithm of the strength, up to this number.
    Look(f64, usize),
    Done(Root),
}

/// What is known at one strength.
struct Column {
    x: f64,
    /// Logarithm of the ratio of the first few pilots, for growing numbers of them.
    logarithms: Vec<(usize, f64)>,
    /// Standard error of the last.
    error: f64,
}

impl Column {
    fn last(&self) -> (usize, f64) {
        self.logarithms.last().copied().unwrap_or_default()
    }

    /// Of the first `pilots` alone.
    fn of_first(&self, pilots: usize) -> f64 {
        self.logarithms.iter().find(|(n, _)| *n == pilots).map_or(self.last().1, |(_, y)| *y)
    }
}

struct Table {
    plan: Plan,
    /// In the order in which they were tried.
    columns: Vec<Column>,
    /// The next step towards a root outside of what was tried.
    step: f64,
}

/// Where the root should be.
#[derive(Clone, Copy)]
struct Guess {
    x: f64,
    /// A line through the trials around it, or closest to it.
    at: Point,
    slope: f64,
}

impl Guess {
    fn through(a: Point, b: Point) -> Self {
        let at = if a.1.abs() <= b.1.abs() { a } else { b };
        let slope = (b.1 - a.1) / (b.0 - a.0);
        Self { x: at.0 - at.1 / slope, at, slope }
    }

    /// Between two trials on different sides of the root: on the line in a^−which is how ratios bend. With the
    /// tangent there.
    fn between(a: Point, b: Point) -> Self {
        let bent = |x: f64| (-BEND * (x - a.0)).exp();
        let steepness = (b.1 - a.1) / (bent(b.0) - 1.0);
        let root = 1.0 - a.1 / steepness;
        let x = a.0 - root.ln() / BEND;
        Self { x, at: (x, 0.0), slope: -BEND * steepness * root }
    }

    /// Pulled towards the usual strengths, by as much as `error` leaves open.
    fn likely(self, error: f64) -> Self {
        let error = error.max(1e-9);
        let (line, usual) = ((self.slope / error).powi(2), USUAL_RANGE.powi(-2));
        let toward = (self.at.0 * self.slope - self.at.1) * self.slope / (error * error);
        let x = (toward + START.ln() * usual) / (line + usual);
        Self { x: x.clamp(LOWEST.ln(), HIGHEST.ln()), ..self }
    }
}

impl Table {
    fn add(&mut self, x: f64, pilots: usize, estimate: Estimate) {
        let (y, error) = estimate.logarithm(LARGEST_RATIO);
        let column = match self.columns.iter_mut().find(|column| column.x == x) {
            Some(column) => column,
            None => {
                self.columns.push(Column { x, logarithms: Vec::new(), error });
                self.columns.last_mut().expect("just pushed")
            }
        };
        column.logarithms.push((pilots, y));
        column.error = error;
    }

    /// The one with most pilots, the latest of several.
    fn base(&self) -> Option<&Column> {
        self.columns.iter().max_by_key(|column| column.last().0)
    }

    /// The logarithms of the ratios at all strengths as if all had the pilots of `base`: what the others add there
    /// they add everywhere, nearly.
    fn levels(&self, base: &Column) -> Tried {
        let mut tried = Tried::default();
        let limit = 0.99 * LARGEST_RATIO.ln();
        for column in &self.columns {
            let (pilots, y) = column.last();
            let shift = base.last().1 - base.of_first(pilots);
            let known = [y, base.last().1, base.of_first(pilots)].iter().all(|y| y.abs() < limit);
            tried.insert((column.x, if known { y + shift } else { y }));
        }
        tried
    }

    fn best(&self, status: SearchStatus) -> Root {
        let levels = self.base().map_or_else(Tried::default, |base| self.levels(base));
        Root { strength: levels.strength(f64::abs), slope: None, status }
    }

    fn next(&mut self) -> Action {
        let Plan { few, .. } = self.plan;
        let Some(base) = self.base() else { return Action::Look(START.ln(), few) };
        let (levels, error) = (self.levels(base), base.error);
        if let Some(action) = self.unsure() {
            return action;
        }
        if let Some((a, b)) = bracket(&levels) {
            let likely = Guess::between(a, b).likely(error);
            let width = (b.0 - a.0).abs();
            if width <= WIDTH_TOLERANCE {
                let strength = (0.5 * (a.0 + b.0)).exp();
                return Action::Done(Root { strength, slope: None, status: SearchStatus::Converged });
            }
            // Between a ratio that is too small and a larger one to the right there may be anything.
            let hit = a.1.abs().min(b.1.abs()) <= ENOUGH;
            let known = likely.slope < 0.0 || width <= NEAR || hit;
            return self.near(&levels, likely, error, NEAR_RATIO).filter(|_| known).unwrap_or_else(|| {
                let outside = !(a.0..=b.0).contains(&likely.x);
                let x = if outside || self.stalls(&levels, (a, b)) { 0.5 * (a.0 + b.0) } else { likely.x };
                self.look(x)
            });
        }
        if let [.., first, second] = &levels.0[..] {
            let ends = if second.1 > 0.0 { (*first, *second) } else { (levels.0[0], levels.0[1]) };
            let line = Guess::through(ends.0, ends.1);
            if line.slope < 0.0 {
                // Slightly further than the line says, so that the root lies between two trials.
                self.step = (1.1 * (line.x - line.at.0).abs()).clamp(self.step, STEPS.1);
            }
            let likely = line.likely(error);
            let close = MET.max(MET_ERRORS * error).min(NEAR_RATIO);
            if let Some(action) = self.near(&levels, likely, error, close).filter(|_| likely.slope < MET) {
                return action;
            }
        } else if let Some(action) = self.only(&levels, error) {
            return action;
        }
        self.outward(&levels)
    }

    /// Pilots of a new strength: more where a level needed many, since differences are then noisier too. A number that the
    /// base has looked at, so that they can be compared.
    fn few(&self) -> usize {
        let base = self.base().map_or(&[][..], |base| &base.logarithms);
        let most = base.last().map_or(0, |(pilots, _)| pilots / 2);
        base.iter()
            .map(|(pilots, _)| *pilots)
            .filter(|pilots| *pilots <= most)
            .fold(self.plan.few, usize::max)
    }

    /// More pilots at the last strength, if they do not tell on which side of the root it is: of small models few
    /// pilots say little.
    fn unsure(&self) -> Option<Action> {
        let column = self.columns.last()?;
        let unclear = column.error > UNSURE && column.last().1.abs() < MET_ERRORS * column.error;
        self.more(column.x).filter(|_| unclear)
    }

    /// A new strength, unless there were too many.
    fn look(&self, x: f64) -> Action {
        let known = self.columns.iter().any(|column| column.x == x);
        match self.columns.len() < MAX_TRIALS && !known {
            true => Action::Look(x, self.few()),
            false => Action::Done(self.best(SearchStatus::TrialLimit)),
        }
    }

    /// Whether the last trials all fell on one side of the root, or are no function of the strength: then halves are
    /// quicker than lines.
    fn stalls(&self, levels: &Tried, (a, b): (Point, Point)) -> bool {
        let beyond = |point: Point| point.1.abs() >= 0.9 * LARGEST_RATIO.ln();
        let side = |column: &Column| levels.0.iter().find(|p| p.0 == column.x).is_some_and(|p| p.1 > 0.0);
        let same = match &self.columns[..] {
            [.., first, second] if self.columns.len() > 2 => side(first) == side(second),
            _ => false,
        };
        beyond(a) || beyond(b) || same
    }

    /// If the root is close to a trial whose ratio is `close` to 1: the root, or more pilots there.
    fn near(&self, levels: &Tried, guess: Guess, error: f64, close: f64) -> Option<Action> {
        let distance = |p: &&Point| (p.0 - guess.x).abs();
        let &(x, y) = levels.0.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        if distance(&&(x, y)) > NEAR || y.abs() > close {
            return None;
        }
        let enough = error <= ENOUGH || error <= ENOUGH_STRENGTH * guess.slope.abs();
        Some(self.more(x).filter(|_| !enough).unwrap_or_else(|| {
            let left = guess.at.1 + guess.slope * (guess.x - guess.at.0);
            let met = left.abs() <= MET.max(MET_ERRORS * error);
            let status = if met { SearchStatus::Converged } else { SearchStatus::Closest };
            Action::Done(Root { strength: guess.x.exp(), slope: Some(guess.slope), status })
        }))
    }

    /// More pilots at a strength that was tried, while there are any.
    fn more(&self, x: f64) -> Option<Action> {
        let column = self.columns.iter().find(|column| column.x == x)?;
        let now = column.last().0;
        let spent: usize = self.columns.iter().map(|column| column.last().0).sum();
        let next = (2 * now).min(self.plan.all).min(now + self.plan.geodesics.saturating_sub(spent));
        (next > now).then_some(Action::Look(x, next))
    }

    /// With a single trial: whether its ratio is 1 for all that can be known.
    fn only(&self, levels: &Tried, error: f64) -> Option<Action> {
        let &[(x, y)] = &levels.0[..] else { return None };
        let close = y.abs() <= ENOUGH;
        let done = || Action::Done(Root { strength: x.exp(), slope: None, status: SearchStatus::Converged });
        close.then(|| self.more(x).filter(|_| error > ENOUGH).unwrap_or_else(done))
    }

    /// Towards a root that is not between two trials yet.
    fn outward(&mut self, levels: &Tried) -> Action {
        let (lowest, highest) = (LOWEST.ln(), HIGHEST.ln());
        let limit = |strength, status| Action::Done(Root { strength, slope: None, status });
        let (Some(&first), Some(&last)) = (levels.0.first(), levels.0.last()) else {
            return self.look(START.ln());
        };
        let rising = matches!(&levels.0[..], [.., a, b] if b.1 > a.1 + NEAR_RATIO);
        if last.1 > 0.0 && (last.0 >= highest || rising) {
            return match levels.descend(f64::abs) {
                Next::Try(x) => self.look(x),
                Next::Done(status @ SearchStatus::HighestStrength) => limit(HIGHEST, status),
                Next::Done(_) => Action::Done(self.best(SearchStatus::Closest)),
            };
        }
        if last.1 <= 0.0 && first.0 <= lowest {
            return limit(LOWEST, SearchStatus::LowestStrength);
        }
        // The ratio falls at most like 1/a; if it falls more slowly, the line through two trials says how far to go.
        let (end, sign) = if last.1 > 0.0 { (last, 1.0) } else { (first, -1.0) };
        let step = end.1.abs().clamp(self.step, STEPS.1);
        self.step = step;
        self.look((end.0 + sign * step).clamp(lowest, highest))
    }
}

/// Neighbouring trials with the root between them: the weakest metric that becomes too strong, or else where a ratio
/// that was too small grows again.
fn bracket(levels: &Tried) -> Option<(Point, Point)> {
    let pairs = || levels.0.windows(2).map(|pair| (pair[0], pair[1]));
    pairs().find(|(a, b)| a.1 > 0.0 && b.1 <= 0.0).or_else(|| pairs().find(|(a, b)| a.1 <= 0.0 && b.1 > 0.0))
}

#[cfg(test)]
mod tests {
    use super::super::search::MINIMUM_TOLERANCE;
    use super::*;

    const PLAN: Plan = Plan { few: 3, all: 24, geodesics: 40 };

    /// Runs a search on known ratios; counts strengths and geodesics.
    fn run(plan: Plan, ratio: impl Fn(f64, usize) -> Estimate) -> (Root, usize, usize) {
        let mut seen: Vec<(f64, usize)> = Vec::new();
        let root = root(plan, |a, pilots| {
            assert!((LOWEST * 0.999..HIGHEST * 1.001).contains(&a), "{a}");
            match seen.iter_mut().find(|(x, _)| *x == a) {
                Some((_, n)) => {
                    assert!(*n < pilots && pilots <= plan.all);
                    *n = pilots;
                }
                None => seen.push((a, pilots)),
            }
            Ok(Some(ratio(a, pilots)))
        })
        .unwrap();
        (root, seen.len(), seen.iter().map(|(_, n)| n).sum())
    }

    fn exact(f: impl Fn(f64) -> f64) -> (Root, usize) {
        let (root, trials, geodesics) = run(PLAN, |a, _| Estimate { value: f(a), error: 0.0 });
        assert_eq!(geodesics, PLAN.few * trials, "no more pilots where the ratio is known");
        (root, trials)
    }

    #[test]
    fn roots_of_falling_functions_are_found_in_few_trials() {
        for wanted in [2e-3, 0.02, 0.1, 0.25, 0.7, 1.8] {
            for power in [0.1f64, 0.3, 1.0, 3.0] {
                let (found, trials) = exact(|a| (wanted / a).powf(power));
                assert_eq!(found.status, SearchStatus::Converged);
                let ratio = (wanted / found.strength).powf(power);
                // Powers are no curves in 1/a²; draws that contradict the rule have the last word.
                assert!(ratio.ln().abs() < 0.1, "{wanted} {power}: {ratio} at {found:?}");
                assert!(found.slope.unwrap() < -0.03 * power, "{found:?}");
                assert!(trials <= 9, "{wanted} {power}: {trials} trials");
            }
            // A jump has no root: the place of the jump.
            let (found, _) = exact(|a| if a < wanted { f64::INFINITY } else { 0.0 });
            assert_eq!(found.status, SearchStatus::Converged);
            assert!((found.strength / wanted).ln().abs() <= WIDTH_TOLERANCE, "{wanted}: {found:?}");
        }
    }

    /// Between trials the logarithm of a ratio is taken for a line in 1/a²: such ratios have exact roots and slopes,
    /// others are 1 to 6 %.
    #[test]
    fn roots_between_trials_are_those_of_the_curve() {
        for wanted in [0.3f64, 0.5, 0.6, 0.9] {
            let (found, trials) = exact(|a| (0.05 * (a.powi(-2) - wanted.powi(-2))).exp());
            assert!((found.strength / wanted).ln().abs() < 1e-9, "{wanted}: {found:?}");
            assert!((found.slope.unwrap() + 0.1 * wanted.powi(-2)).abs() < 1e-9, "{found:?}");
            assert!(trials <= 4, "{wanted}: {trials}");
        }
        for wanted in [0.05f64, 0.2, 0.5, 1.2] {
            let curve = |a: f64| (1.0 + 3.0 / a.sqrt()) / (1.0 + 3.0 / wanted.sqrt());
            let (found, trials) = exact(curve);
            assert!(curve(found.strength).ln().abs() < 0.06, "{wanted}: {found:?}");
            assert!(trials <= 5, "{wanted}: {trials}");
        }
    }

    #[test]
    fn without_a_bracket_the_closest_is_taken_with_a_flag() {
        assert_eq!(exact(|_| 0.8).0.status, SearchStatus::LowestStrength);
        assert_eq!(exact(|_| 0.8).0.strength, LOWEST);
        assert_eq!(exact(|_| 1.4).0.strength, HIGHEST);
        assert_eq!(exact(|_| f64::INFINITY).0.status, SearchStatus::HighestStrength);
        let stopped = root(PLAN, |_, _| Ok(None)).unwrap();
        assert_eq!((stopped.strength, stopped.status), (START, SearchStatus::Stopped));
        let failed = crate::Error::Unsupported("the model failed".into());
        assert_eq!(root(PLAN, |_, _| Err(failed.clone())), Err(failed.clone()));
    }

    /// As with batches: beyond some strength a draw follows its batch ever more closely.
    #[test]
    fn a_ratio_that_rises_again_gives_its_lower_root_or_its_smallest() {
        for lowest in [0.01f64, 0.06, 0.2, 0.6] {
            for depth in [0.7f64, 1.2, 1.5, 5.0] {
                let valley = |a: f64| depth * (2.0 * (a / lowest).ln().abs() / 3.0).exp();
                let (found, trials) = exact(valley);
                let distance = (found.strength / lowest).ln();
                if depth < 1.0 {
                    assert_eq!(found.status, SearchStatus::Converged, "{lowest} {depth}: {found:?}");
                    assert!(valley(found.strength).ln().abs() <= 0.06, "{lowest} {depth}: {found:?}");
                } else {
                    assert_eq!(found.status, SearchStatus::Closest, "{lowest} {depth}: {found:?}");
                    assert!(distance.abs() <= MINIMUM_TOLERANCE, "{lowest} {depth}: {found:?}");
                }
                assert!(trials <= 12, "{lowest} {depth}: {trials} trials");
            }
        }
    }

    #[test]
    fn a_ratio_that_only_rises_has_a_root_too() {
        for wanted in [2e-3, 0.02, 0.1, 0.2] {
            for power in [0.3f64, 1.0] {
                let (found, trials) = exact(|a| (a / wanted).powf(power));
                assert_eq!(found.status, SearchStatus::Converged, "{wanted} {power}: {found:?}");
                assert!((found.strength / wanted).ln().abs() <= 0.1, "{wanted} {power}: {found:?}");
                assert!(trials <= 12, "{wanted} {power}: {trials} trials");
            }
        }
    }

    /// Pilots share what is chance in them: with few of them all levels are off by the same, and those added near the
    /// root put it right for all strengths.
    #[test]
    fn pilots_near_the_root_correct_all_levels() {
        for off in [0.85, 0.95, 1.1, 1.2] {
            let ratio = |a: f64, pilots: usize| Estimate {
                value: (0.6 / a).powf(0.15) * if pilots < 24 { off } else { 1.0 },
                error: 0.2 / (pilots as f64),
            };
            let (found, trials, geodesics) = run(PLAN, ratio);
            assert_eq!(found.status, SearchStatus::Converged);
            // No curve in 1/a², so not exact, but far closer than the levels of few pilots were.
            assert!((0.6 / found.strength).powf(0.15).ln().abs() < 0.05, "{off}: {found:?}");
            assert!(trials <= 5 && geodesics <= PLAN.geodesics + 24, "{off}: {trials} {geodesics}");
        }
    }

    #[test]
    fn pilots_are_added_up_to_what_they_may_cost() {
        for geodesics in [3, 9, 20, 100] {
            let plan = Plan { geodesics, ..PLAN };
            let ratio = |a: f64, _| Estimate { value: (0.5 / a).powf(0.5), error: 0.3 };
            let (found, trials, spent) = run(plan, ratio);
            assert_eq!(found.status, SearchStatus::Converged);
            assert!(spent <= geodesics.max(plan.few) + 12 * (trials - 1), "{geodesics}: {spent}");
            assert!(spent >= geodesics.min(24), "{geodesics}: {spent}");
        }
    }

    /// A ratio that does not depend on the strength leaves it where it usually is.
    #[test]
    fn strengths_that_pilots_do_not_determine_are_the_usual_ones() {
        for value in [0.9, 0.97, 1.0, 1.02, 1.1] {
            let (found, trials, _) =
                run(PLAN, |a, _| Estimate { value: value * a.powf(-0.002), error: 0.05 });
            assert_eq!(found.status, SearchStatus::Converged);
            assert!((found.strength / START).ln().abs() < 0.3, "{value}: {found:?}");
            assert!(trials <= 2);
        }
        // Unless it is off by more than chance explains.
        let (found, ..) = run(PLAN, |_, _| Estimate { value: 1.3, error: 0.01 });
        assert_eq!(found.status, SearchStatus::HighestStrength);
    }
}
