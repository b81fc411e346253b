//! The two ratios of a search as curves through the strengths that were tried, and where the larger of them is 1.

use super::search::{HIGHEST, LARGEST_RATIO, LOWEST, Point, START, Tried, USUAL_RANGE};

/// The ratio of the data; that of the whole is 0.
pub(super) const DATA: usize = 1;
/// Between trials the logarithm of the ratio of the whole is nearly a straight line in this power of 1/a; that of the data
/// in the logarithm of a.
const BEND: f64 = 2.0;
/// How the latter changes with that of the strength close to its root: between trials it bends down, so that lines through
/// them are too flat there.
pub(super) const DATA_SLOPE: f64 = -4.0;

/// The logarithms of the ratios at all strengths that were tried, sorted by the strength.
pub(super) struct Levels {
    pub each: [Tried; 2],
    pub larger: Tried,
    /// Standard errors, where they are known best.
    pub errors: [f64; 2],
}

impl Levels {
    /// The most likely root between two neighbours of which the larger ratio is on different sides.
    pub fn between(&self, at: usize) -> Guess {
        let ends = |ratio: usize| (self.each[ratio].0[at], self.each[ratio].0[at + 1]);
        let falls = self.larger.0[at].1 > 0.0;
        let crossing = |ratio: &usize| {
            let (a, b) = ends(*ratio);
            (a.1 > 0.0) != (b.1 > 0.0)
        };
        let guess = |ratio: usize| {
            let (a, b) = ends(ratio);
            Guess::between(ratio, a, b).likely(self.errors[ratio])
        };
        let order = |a: &Guess, b: &Guess| a.x.total_cmp(&b.x);
        let guesses = (0..2).filter(crossing).map(guess);
        let first = if falls { guesses.max_by(order) } else { guesses.min_by(order) };
        let guess = first.expect("the larger crosses, so one of them does");
        let slope = |ratio: usize| match (ratio, ends(ratio)) {
            (DATA, _) => DATA_SLOPE,
            (_, (a, b)) => bent_slope(a, b, guess.x),
        };
        Guess { slopes: slopes(ends, slope), ..guess }
    }

    /// On the lines through two neighbours, beyond the `end` of them: where the last of those that fall crosses, if the ratio
    /// that is larger at that end falls; else its own line, which does not lead to a root.
    pub fn through(&self, at: usize, end: usize) -> Guess {
        let ends = |ratio: usize| (self.each[ratio].0[at], self.each[ratio].0[at + 1]);
        let line = |ratio: usize| Guess::through(ratio, ends(ratio).0, ends(ratio).1);
        let larger = line(usize::from(self.each[DATA].0[end].1 > self.each[0].0[end].1));
        let falling = (0..2).map(line).filter(|guess| guess.slope < 0.0 && larger.slope < 0.0);
        let last = falling.max_by(|a, b| a.x.total_cmp(&b.x));
        let slope = |ratio: usize| if ratio == DATA { DATA_SLOPE } else { line(ratio).slope };
        Guess { slopes: slopes(ends, slope), ..last.unwrap_or(larger) }
    }
}

/// The slopes of both ratios, 0 where the trials around the root say only on which side of 1 one is.
fn slopes(ends: impl Fn(usize) -> (Point, Point), slope: impl Fn(usize) -> f64) -> [f64; 2] {
    [0, 1].map(|ratio| {
        let (a, b) = ends(ratio);
        if is_known(a.1) && is_known(b.1) { slope(ratio) } else { 0.0 }
    })
}

/// Whether the logarithm of a ratio says more than on which side of 1 it is.
pub(super) fn is_known(y: f64) -> bool {
    y.abs() < 0.99 * LARGEST_RATIO.ln()
}

/// The slope at `x` of the curve in a^−[`BEND`] through two trials.
fn bent_slope(a: Point, b: Point, x: f64) -> f64 {
    let bent = |x: f64| (-BEND * (x - a.0)).exp();
    -BEND * bent(x) * (b.1 - a.1) / (bent(b.0) - 1.0)
}

/// Where the root should be.
#[derive(Clone, Copy)]
pub(super) struct Guess {
    pub x: f64,
    /// Which ratio is 1 there.
    pub ratio: usize,
    /// A line through the trials around it, or closest to it.
    pub at: Point,
    pub slope: f64,
    /// The slopes of both ratios there.
    pub slopes: [f64; 2],
}

impl Guess {
    fn through(ratio: usize, a: Point, b: Point) -> Self {
        let at = if a.1.abs() <= b.1.abs() { a } else { b };
        let slope = (b.1 - a.1) / (b.0 - a.0);
        Self { x: at.0 - at.1 / slope, ratio, at, slope, slopes: [0.0; 2] }
    }

    /// Between two trials on different sides of the root: on the curve that the ratio nearly is, with the tangent there.
    fn between(ratio: usize, a: Point, b: Point) -> Self {
        if ratio == DATA {
            let line = Self::through(ratio, a, b);
            return Self { at: (line.x, 0.0), ..line };
        }
        let bent = |x: f64| (-BEND * (x - a.0)).exp();
        let root = 1.0 - a.1 * (bent(b.0) - 1.0) / (b.1 - a.1);
        let x = a.0 - root.ln() / BEND;
        Self { x, ratio, at: (x, 0.0), slope: bent_slope(a, b, x), slopes: [0.0; 2] }
    }

    /// Pulled towards the usual strengths, by as much as `error` leaves open.
    pub fn likely(self, error: f64) -> Self {
        let error = error.max(1e-9);
        let (line, usual) = ((self.slope / error).powi(2), USUAL_RANGE.powi(-2));
        let toward = (self.at.0 * self.slope - self.at.1) * self.slope / (error * error);
        let x = (toward + START.ln() * usual) / (line + usual);
        Self { x: x.clamp(LOWEST.ln(), HIGHEST.ln()), ..self }
    }
}
