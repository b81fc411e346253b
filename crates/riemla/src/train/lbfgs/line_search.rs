//! Line search by bracketing a zero of the slope, with acceptance that survives rounding.
//!
//! A step t is accepted by the strong Wolfe conditions or, where the value differs from the
//! start's by less than its rounding error, by the approximate ones of Hager and Zhang (2005),
//! which look at slopes only. The bracket [low, high] keeps: the slope at `low` is negative and
//! its value not above the start's (up to rounding); at `high` the slope is not negative, or the
//! value is above, or outside the domain. So a minimum lies between, and no decision rests on a
//! difference of values that rounding could turn.

/// Share of the decrease promised by the slope that a step must deliver.
const DECREASE: f64 = 1e-4;
/// The slope must shrink at least to this share of the start's.
const CURVATURE: f64 = 0.9;
/// Bound for the slope in the approximate conditions: at most 1 − 2·0.1 of minus the start's.
const APPROXIMATE: f64 = 0.8;
/// Most evaluations per search.
const MAX_TRIALS: usize = 50;

/// A point on the line: step, value, slope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) t: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
}

impl Trial {
    fn is_finite(&self) -> bool {
        self.value.is_finite() && self.slope.is_finite()
    }
}

/// Finds an acceptable step from `origin` (t = 0, negative slope), starting with `first`.
///
/// The trial returned is the last that `along` was called for. `noise` is the absolute rounding
/// error of a value.
pub(super) fn search(
    along: &mut dyn FnMut(f64) -> Trial,
    origin: Trial,
    first: f64,
    noise: f64,
) -> Option<Trial> {
    let mut bracket = Bracket::new(origin, noise);
    let mut t = first;
    for _ in 0..MAX_TRIALS {
        let trial = along(t);
        if accepts(&origin, &trial, noise) {
            return Some(trial);
        }
        bracket.update(trial);
        match bracket.propose() {
            Some(next) => t = next,
            None => break,
        }
    }
    // No acceptable step, but perhaps one that goes down: on a line without end, for example.
    let low = bracket.low;
    (low.t > 0.0 && decreases(&origin, &low)).then(|| along(low.t))
}

fn decreases(origin: &Trial, trial: &Trial) -> bool {
    trial.value <= origin.value + DECREASE * trial.t * origin.slope
}

fn accepts(origin: &Trial, trial: &Trial, noise: f64) -> bool {
    if !trial.is_finite() {
        return false;
    }
    let steep = origin.slope.abs();
    let wolfe = decreases(origin, trial) && trial.slope.abs() <= CURVATURE * steep;
    let approximate = trial.value <= origin.value + noise
        && -CURVATURE * steep <= trial.slope
        && trial.slope <= APPROXIMATE * steep;
    wolfe || approximate
}

struct Bracket {
    low: Trial,
    /// The low end before this one, for extrapolation.
    previous: Trial,
    high: Option<Trial>,
    /// Highest value that counts as not above the start's.
    ceiling: f64,
    noise: f64,
    /// Widths after the last two updates: a bracket that does not shrink is halved.
    widths: [f64; 2],
}

impl Bracket {
    fn new(origin: Trial, noise: f64) -> Self {
        Self {
            low: origin,
            previous: origin,
            high: None,
            ceiling: origin.value + noise,
            noise,
            widths: [f64::INFINITY; 2],
        }
    }

    fn update(&mut self, trial: Trial) {
        if trial.is_finite() && trial.slope < 0.0 && trial.value <= self.ceiling {
            self.previous = std::mem::replace(&mut self.low, trial);
        } else {
            self.high = Some(trial);
        }
    }

    /// The next step to try; none when the bracket has no inside left.
    fn propose(&mut self) -> Option<f64> {
        let Some(high) = self.high else {
            return Some(self.beyond()).filter(|t| t.is_finite());
        };
        let width = high.t - self.low.t;
        if width <= 4.0 * f64::EPSILON * high.t {
            return None;
        }
        let lazy = width > 0.66 * self.widths[0];
        self.widths = [self.widths[1], width];
        let share = self.inside(&high, width) / width;
        let share = if lazy || share.is_nan() { 0.5 } else { share.clamp(0.1, 0.9) };
        Some(self.low.t + share * width)
    }

    /// A step beyond the low end: where the slope would vanish if it went on changing so.
    fn beyond(&self) -> f64 {
        let (low, previous) = (&self.low, &self.previous);
        let secant = low.t - low.slope * (low.t - previous.t) / (low.slope - previous.slope);
        let bends = low.slope > previous.slope;
        if bends { secant.clamp(2.0 * low.t, 10.0 * low.t) } else { 10.0 * low.t }
    }

    /// Distance from the low end to the expected minimum.
    fn inside(&self, high: &Trial, width: f64) -> f64 {
        let (low, rise) = (&self.low, high.value - self.low.value);
        if !high.is_finite() {
            // A wall: come well back from it the first time, then halve.
            if low.t > 0.0 { 0.5 * width } else { 0.1 * width }
        } else if high.slope < 0.0 {
            // Over a hill: the parabola through value and slope at low, value at high.
            -low.slope * width * width / (2.0 * (rise - low.slope * width))
        } else if 30.0 * self.noise > width * (high.slope - low.slope) {
            // Values drown in rounding: the zero of the slope by the secant.
            width * low.slope / (low.slope - high.slope)
        } else {
            let d = low.slope + high.slope - 3.0 * rise / width;
            let root = (d * d - low.slope * high.slope).sqrt();
            width * (1.0 - (high.slope + root - d) / (high.slope - low.slope + 2.0 * root))
        }
    }
}
