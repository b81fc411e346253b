//! Dormand-Prince with steps of equal size and no error control: for measuring the order.

use super::tableau::Workspace;
use super::{OdeReport, Rhs, Status};

/// Integrates y' = f(t, y) from `t0` to `t1` in `n` equal fifth-order steps.
///
/// `rhs(t, y, dy)` writes f into `dy`; `y` holds the state at `t0` on entry and at the report's
/// `t` on return. 1 + 6n evaluations. Stops before the first step that is not finite; with `n = 0`
/// nothing moves and the status is `StepLimit` (`Reached` if `t0 == t1`).
pub fn fixed_steps(rhs: &mut Rhs<'_>, t0: f64, t1: f64, n: usize, y: &mut [f64]) -> OdeReport {
    let mut work = Workspace::new(y.len());
    let mut report = OdeReport { status: Status::NonFinite, evaluations: 0, steps: 0, rejections: 0, t: t0 };
    let mut good = work.start(rhs, t0, y);
    while good && report.steps < n {
        let done = (report.steps + 1) as f64 / n as f64;
        let t = if report.steps + 1 == n { t1 } else { t0 + (t1 - t0) * done };
        good = work.trial(rhs, report.t, y, t - report.t);
        if good {
            work.accept(y);
            report.t = t;
            report.steps += 1;
        } else {
            report.rejections += 1;
        }
    }
    report.evaluations = work.evaluations;
    if good {
        report.status = if report.t == t1 { Status::Reached } else { Status::StepLimit };
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slope of log error over log n, by least squares.
    fn observed_order(rhs: fn(f64, &[f64], &mut [f64]), start: f64, t1: f64, end: f64) -> f64 {
        let points = [16, 24, 32, 48, 64, 96].map(|n| {
            let (mut y, mut rhs) = ([start], rhs);
            let report = fixed_steps(&mut rhs, 0.0, t1, n, &mut y);
            assert_eq!((report.status, report.evaluations), (Status::Reached, 1 + 6 * n));
            ((n as f64).ln(), (y[0] - end).abs().ln())
        });
        let count = points.len() as f64;
        let mean = points.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / count, m.1 + p.1 / count));
        let slope = points.iter().map(|p| (p.0 - mean.0) * (p.1 - mean.1)).sum::<f64>()
            / points.iter().map(|p| (p.0 - mean.0).powi(2)).sum::<f64>();
        -slope
    }

    #[test]
    fn observed_order_is_five() {
        // Solved by exp(sin t) and by 1/(1 + t²).
        let forced = observed_order(|t, y, dy| dy[0] = y[0] * t.cos(), 1.0, 3.0, 3f64.sin().exp());
        let nonlinear = observed_order(|t, y, dy| dy[0] = -2.0 * t * y[0] * y[0], 1.0, 1.0, 0.5);
        assert!((forced - 5.0).abs() < 0.15, "order {forced}");
        assert!((nonlinear - 5.0).abs() < 0.15, "order {nonlinear}");
    }

    #[test]
    fn stops_at_the_last_finite_point_and_without_steps() {
        let mut y = [0.0];
        let mut rhs = |t: f64, _: &[f64], dy: &mut [f64]| dy[0] = if t > 0.55 { f64::NAN } else { 1.0 };
        let report = fixed_steps(&mut rhs, 0.0, 1.0, 10, &mut y);
        assert_eq!((report.status, report.steps, report.rejections), (Status::NonFinite, 5, 1));
        assert!((y[0] - 0.5).abs() < 1e-15 && (report.t - 0.5).abs() < 1e-15);
        assert_eq!(fixed_steps(&mut rhs, 0.0, 0.5, 0, &mut y).status, Status::StepLimit);
        assert_eq!(fixed_steps(&mut rhs, 0.5, 0.5, 0, &mut y).status, Status::Reached);
    }
}
