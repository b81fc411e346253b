//! The strength at which the larger of two noisy ratios is 1.
//!
//! The two fall with the strength at different rates, so that the larger has a kink where they cross. Between trials
//! each is a smooth curve: roots are sought on each, and the larger root is that of the larger.

use super::levels::{Guess, Levels, is_known};
use super::ratio::Ratios;
use super::search::{
    ENOUGH, ENOUGH_STRENGTH, HIGHEST, LARGEST_RATIO, LOWEST, MAX_TRIALS, MET, MET_ERRORS, NEAR, NEAR_RATIO,
    Next, Point, START, STEPS, SearchStatus, Tried, UNSURE, WIDTH_TOLERANCE,
};
use crate::Result;

/// How far the logarithms of the ratios fall at most with that of the strength, usually: by this the first step is made. The
/// loss of the data falls much faster, since the metric acts on what they determine.
const STEEPNESS: [f64; 2] = [1.0, 2.5];

/// How many pilots a search may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// At every strength.
    pub few: usize,
    /// At most, near the root.
    pub all: usize,
    /// Geodesics at all strengths together, beyond which no pilots are added to a strength.
    pub added_up_to: usize,
    /// Beyond which no other strength is tried.
    pub most: usize,
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Root {
    /// The strength, in natural ones.
    pub strength: f64,
    /// How the logarithm of each ratio changes there with that of the strength, 0 where one is not known; none where
    /// neither is.
    pub slopes: Option<[f64; 2]>,
    /// How the search ended.
    pub status: SearchStatus,
}

/// A strength at which the larger of `ratios(strength, pilots)` is 1. They fall with the strength, with batches only up to
/// some strength; if the larger stays above 1, the strength where it is smallest. `None` from `ratios` stops.
pub(super) fn root(plan: Plan, mut ratios: impl FnMut(f64, usize) -> Result<Option<Ratios>>) -> Result<Root> {
    let mut table = Table { plan, columns: Vec::new(), step: 0.0 };
    loop {
        match table.next() {
            Action::Done(root) => return Ok(root),
            Action::Look(x, pilots) => match ratios(x.exp(), pilots)? {
                Some(ratios) => table.add(x, pilots, ratios),
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
    /// Logarithms of the ratios of the first few pilots, for growing numbers of them.
    logarithms: Vec<(usize, [f64; 2])>,
    /// Standard errors of the last.
    errors: [f64; 2],
}

impl Column {
    fn pilots(&self) -> usize {
        self.logarithms.last().map_or(0, |(pilots, _)| *pilots)
    }

    fn last(&self) -> [f64; 2] {
        self.logarithms.last().map_or([0.0; 2], |(_, y)| *y)
    }

    /// Of the first `pilots` alone.
    fn of_first(&self, pilots: usize) -> [f64; 2] {
        self.logarithms.iter().find(|(n, _)| *n == pilots).map_or(self.last(), |(_, y)| *y)
    }

    /// The larger logarithm and its error.
    fn larger(&self) -> (f64, f64) {
        let ([whole, data], errors) = (self.last(), self.errors);
        if data > whole { (data, errors[1]) } else { (whole, errors[0]) }
    }
}

struct Table {
    plan: Plan,
    /// In the order in which they were tried.
    columns: Vec<Column>,
    /// The next step towards a root outside of what was tried.
    step: f64,
}

impl Table {
    fn add(&mut self, x: f64, pilots: usize, ratios: Ratios) {
        let [whole, data] = ratios.map(|estimate| estimate.logarithm(LARGEST_RATIO));
        let column = match self.columns.iter_mut().find(|column| column.x == x) {
            Some(column) => column,
            None => {
                self.columns.push(Column { x, logarithms: Vec::new(), errors: [0.0; 2] });
                self.columns.last_mut().expect("just pushed")
            }
        };
        column.logarithms.push((pilots, [whole.0, data.0]));
        column.errors = [whole.1, data.1];
    }

    /// The one with most pilots, the latest of several.
    fn base(&self) -> Option<&Column> {
        self.columns.iter().max_by_key(|column| column.pilots())
    }

    /// The logarithms of the ratios at all strengths as if all had the pilots of `base`: what the others add there
    /// they add everywhere, nearly.
    fn levels(&self, base: &Column) -> Levels {
        let mut levels = Levels { each: Default::default(), larger: Tried::default(), errors: base.errors };
        for column in &self.columns {
            let (few, many) = (base.of_first(column.pilots()), base.last());
            let y = [0, 1].map(|ratio| {
                let y = column.last()[ratio];
                let known = [y, many[ratio], few[ratio]].into_iter().all(is_known);
                if known { y + many[ratio] - few[ratio] } else { y }
            });
            levels.each.iter_mut().zip(y).for_each(|(tried, y)| tried.insert((column.x, y)));
            levels.larger.insert((column.x, y[0].max(y[1])));
        }
        levels
    }

    fn best(&self, status: SearchStatus) -> Root {
        let levels = self.base().map_or_else(Tried::default, |base| self.levels(base).larger);
        Root { strength: levels.strength(f64::abs), slopes: None, status }
    }

    fn next(&mut self) -> Action {
        let Plan { few, .. } = self.plan;
        let Some(base) = self.base() else { return Action::Look(START.ln(), few) };
        let levels = self.levels(base);
        if let Some(action) = self.unsure() {
            return action;
        }
        if let Some(at) = bracket(&levels.larger) {
            let likely = levels.between(at);
            let (a, b) = (levels.each[likely.ratio].0[at], levels.each[likely.ratio].0[at + 1]);
            let width = (b.0 - a.0).abs();
            if width <= WIDTH_TOLERANCE {
                let strength = (0.5 * (a.0 + b.0)).exp();
                return Action::Done(Root { strength, slopes: None, status: SearchStatus::Converged });
            }
            // Between a ratio that is too small and a larger one to the right there may be anything.
            let hit = a.1.abs().min(b.1.abs()) <= ENOUGH;
            let known = likely.slope < 0.0 || width <= NEAR || hit;
            return self.near(&levels, likely, NEAR_RATIO).filter(|_| known).unwrap_or_else(|| {
                let outside = !(a.0..=b.0).contains(&likely.x);
                let halve = outside || self.stalls(&levels.larger, (a, b));
                self.look(if halve { 0.5 * (a.0 + b.0) } else { likely.x })
            });
        }
        if let [.., _, second] = &levels.larger.0[..] {
            let last = levels.larger.0.len() - 1;
            let (at, end) = if second.1 > 0.0 { (last - 1, last) } else { (0, 0) };
            let line = levels.through(at, end);
            if line.slope < 0.0 {
                // Slightly further than the line says, so that the root lies between two trials.
                self.step = (1.1 * (line.x - line.at.0).abs()).clamp(self.step, STEPS.1);
            }
            let error = levels.errors[line.ratio];
            let likely = line.likely(error);
            let close = MET.max(MET_ERRORS * error).min(NEAR_RATIO);
            if let Some(action) = self.near(&levels, likely, close).filter(|_| likely.slope < MET) {
                return action;
            }
        } else if let Some(action) = self.only(&levels.larger) {
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
        let (larger, error) = column.larger();
        let unclear = error > UNSURE && larger.abs() < MET_ERRORS * error;
        self.more(column.x).filter(|_| unclear)
    }

    /// A new strength, unless there were too many.
    fn look(&self, x: f64) -> Action {
        let known = self.columns.iter().any(|column| column.x == x);
        if self.columns.len() >= MAX_TRIALS || known {
            return Action::Done(self.best(SearchStatus::TrialLimit));
        }
        if self.spent() + self.few() > self.plan.most {
            // Where the next trial would be, but not beyond those that were made.
            let tried = || self.columns.iter().map(|column| column.x);
            let (first, last) =
                (tried().fold(f64::INFINITY, f64::min), tried().fold(f64::NEG_INFINITY, f64::max));
            let (strength, status) = (x.max(first).min(last).exp(), SearchStatus::TrialLimit);
            return Action::Done(Root { strength, slopes: None, status });
        }
        Action::Look(x, self.few())
    }

    /// Geodesics so far.
    fn spent(&self) -> usize {
        self.columns.iter().map(Column::pilots).sum()
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
    fn near(&self, levels: &Levels, guess: Guess, close: f64) -> Option<Action> {
        let (tried, error) = (&levels.each[guess.ratio], levels.errors[guess.ratio]);
        let distance = |p: &&Point| (p.0 - guess.x).abs();
        let &(x, y) = tried.0.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        if distance(&&(x, y)) > NEAR || y.abs() > close {
            return None;
        }
        let enough = error <= ENOUGH || error <= ENOUGH_STRENGTH * guess.slope.abs();
        Some(self.more(x).filter(|_| !enough).unwrap_or_else(|| {
            let left = guess.at.1 + guess.slope * (guess.x - guess.at.0);
            let met = left.abs() <= MET.max(MET_ERRORS * error);
            let status = if met { SearchStatus::Converged } else { SearchStatus::Closest };
            Action::Done(Root { strength: guess.x.exp(), slopes: Some(guess.slopes), status })
        }))
    }

    /// More pilots at a strength that was tried, while there are any.
    fn more(&self, x: f64) -> Option<Action> {
        let column = self.columns.iter().find(|column| column.x == x)?;
        let now = column.pilots();
        let next = (2 * now).min(self.plan.all).min(now + self.plan.added_up_to.saturating_sub(self.spent()));
        (next > now).then_some(Action::Look(x, next))
    }

    /// With a single trial: whether its ratio is 1 for all that can be known.
    fn only(&self, levels: &Tried) -> Option<Action> {
        let (&[(x, y)], [column]) = (&levels.0[..], &self.columns[..]) else { return None };
        let (close, error) = (y.abs() <= ENOUGH, column.larger().1);
        let done = || Action::Done(Root { strength: x.exp(), slopes: None, status: SearchStatus::Converged });
        close.then(|| self.more(x).filter(|_| error > ENOUGH).unwrap_or_else(done))
    }

    /// Towards a root that is not between two trials yet.
    fn outward(&mut self, levels: &Levels) -> Action {
        let Levels { each: [whole, data], larger: levels, .. } = levels;
        let (lowest, highest) = (LOWEST.ln(), HIGHEST.ln());
        let limit = |strength, status| Action::Done(Root { strength, slopes: None, status });
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
        // If the ratio falls more slowly, the line through two trials says how far to go.
        let (end, sign) = if last.1 > 0.0 { (last, 1.0) } else { (first, -1.0) };
        let steepness = STEEPNESS[usize::from(data.at(end.0) > whole.at(end.0))];
        let step = (end.1.abs() / steepness).max(self.step).clamp(STEPS.0 / steepness.sqrt(), STEPS.1);
        self.step = step;
        self.look((end.0 + sign * step).clamp(lowest, highest))
    }
}

/// The first of neighbouring trials with the root between them: the weakest metric that becomes too strong, or else where
/// a ratio that was too small grows again.
fn bracket(levels: &Tried) -> Option<usize> {
    let at = |sides: fn(f64, f64) -> bool| levels.0.windows(2).position(|p| sides(p[0].1, p[1].1));
    at(|a, b| a > 0.0 && b <= 0.0).or_else(|| at(|a, b| a <= 0.0 && b > 0.0))
}

#[cfg(test)]
mod tests {
    use super::super::levels::{DATA, DATA_SLOPE};
    use super::super::ratio::Estimate;
    use super::super::search::MINIMUM_TOLERANCE;
    use super::*;

    const PLAN: Plan = Plan { few: 3, all: 24, added_up_to: 40, most: usize::MAX };

    /// Runs a search on known ratios; counts strengths and geodesics.
    fn run(plan: Plan, ratio: impl Fn(f64, usize) -> Estimate) -> (Root, usize, usize) {
        run_both(plan, |a, pilots| [ratio(a, pilots), Estimate::NONE])
    }

    /// The same with two ratios.
    fn run_both(plan: Plan, ratios: impl Fn(f64, usize) -> Ratios) -> (Root, usize, usize) {
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
            Ok(Some(ratios(a, pilots)))
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
                assert!(found.slopes.unwrap()[0] < -0.03 * power, "{found:?}");
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
            assert!((found.slopes.unwrap()[0] + 0.1 * wanted.powi(-2)).abs() < 1e-9, "{found:?}");
            assert!(trials <= 4, "{wanted}: {trials}");
        }
        for wanted in [0.05f64, 0.2, 0.5, 1.2] {
            let curve = |a: f64| (1.0 + 3.0 / a.sqrt()) / (1.0 + 3.0 / wanted.sqrt());
            let (found, trials) = exact(curve);
            assert!(curve(found.strength).ln().abs() < 0.06, "{wanted}: {found:?}");
            assert!(trials <= 5, "{wanted}: {trials}");
        }
    }

    /// The whole falls slowly and the data fast: where they cross the larger has a kink, and neither may spoil the root of
    /// the other. A line through trials on both sides of the kink was off by up to a factor of two.
    #[test]
    fn the_root_of_the_larger_is_the_larger_root() {
        let exactly = |value: f64| Estimate { value, error: 0.0 };
        for whole in [0.2f64, 0.3, 0.6] {
            for data in [0.25f64, 0.45, 0.65, 0.9] {
                let ratios = |a: f64| {
                    let slow = (0.02 * (a.powi(-2) - whole.powi(-2))).exp();
                    [exactly(slow), exactly((data / a).powi(4))]
                };
                let (found, trials, _) = run_both(PLAN, |a, _| ratios(a));
                let wanted = whole.max(data);
                assert_eq!(found.status, SearchStatus::Converged, "{whole} {data}: {found:?}");
                assert!((found.strength / wanted).ln().abs() < 0.05, "{whole} {data}: {found:?}");
                let slopes = found.slopes.unwrap();
                assert_eq!(slopes[DATA], DATA_SLOPE);
                let slope = -0.04 * found.strength.powi(-2);
                // Of the line through trials beside the root, or the tangent of the curve between them.
                assert!((slopes[0] / slope).ln().abs() < 0.5, "{whole} {data}: {slopes:?} {slope}");
                assert!(trials <= 6, "{whole} {data}: {trials}");
            }
        }
        // A whole that stays above 1 has no root because the data have one.
        let ratios = |a: f64| [exactly(1.4 * a.powf(0.02)), exactly((0.4 / a).powi(2))];
        let (found, ..) = run_both(PLAN, |a, _| ratios(a));
        assert_ne!(found.status, SearchStatus::Converged, "{found:?}");
        assert!(found.strength >= 0.4, "{found:?}");
        // Data that fall below their start say nothing, and leave the root to the whole.
        let ratios = |a: f64| {
            [exactly((0.05 * (a.powi(-2) - 4.0)).exp()), if a < 0.45 { exactly(1.2) } else { Estimate::NONE }]
        };
        let (found, ..) = run_both(PLAN, |a, _| ratios(a));
        assert!((found.strength / 0.5).ln().abs() < 0.03 && found.slopes.unwrap()[DATA] == 0.0, "{found:?}");
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
            assert!(trials <= 5 && geodesics <= PLAN.added_up_to + 24, "{off}: {trials} {geodesics}");
        }
    }

    #[test]
    fn pilots_are_added_up_to_what_they_may_cost() {
        for geodesics in [3, 9, 20, 100] {
            let plan = Plan { added_up_to: geodesics, ..PLAN };
            let ratio = |a: f64, _| Estimate { value: (0.5 / a).powf(0.5), error: 0.3 };
            let (found, trials, spent) = run(plan, ratio);
            assert_eq!(found.status, SearchStatus::Converged);
            assert!(spent <= geodesics.max(plan.few) + 12 * (trials - 1), "{geodesics}: {spent}");
            assert!(spent >= geodesics.min(24), "{geodesics}: {spent}");
        }
    }

    /// Of large networks: five draws and no more, between which the root is read off.
    #[test]
    fn a_search_that_may_cost_five_geodesics_costs_no_more() {
        let plan = Plan { few: 1, all: 24, added_up_to: 5, most: 5 };
        for wanted in [2e-3, 0.02, 0.1, 0.25, 0.5, 0.7, 1.8] {
            for power in [0.02, 0.1, 0.3, 1.0, 4.0] {
                for error in [0.0, 0.005, 0.02] {
                    let ratio = |a: f64, _| {
                        let value = (wanted / a).powf(power);
                        Estimate { value, error: error * value }
                    };
                    let (found, _, spent) = run(plan, ratio);
                    assert!(spent <= 5, "{wanted} {power} {error}: {spent}");
                    // Far roots of steep curves are not reached in five steps.
                    let far = wanted <= 0.02 && found.status == SearchStatus::TrialLimit;
                    let off = (found.strength / wanted).ln().abs();
                    assert!(far || off < 0.1 || power * off < 0.2, "{wanted} {power} {error}: {found:?}");
                }
            }
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
