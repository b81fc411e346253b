//! Evenly spaced points along a curve from the steps of an integrator.

use super::PathPoint;

/// Interpolates (cubic Hermite) between steps at the times 0, 1/n, …, 1.
pub(super) struct PathRecorder {
    intervals: usize,
    points: Vec<PathPoint>,
    last: Option<(f64, Vec<f64>, Vec<f64>)>,
}

impl PathRecorder {
    /// Records `points` points (start and end included); nothing if fewer than 2.
    pub(super) fn new(points: usize) -> Self {
        Self { intervals: points.saturating_sub(1), points: Vec::with_capacity(points), last: None }
    }

    /// Tells of a step that ended at time `t`.
    pub(super) fn push(&mut self, t: f64, theta: &[f64], velocity: &[f64]) {
        if self.intervals == 0 {
            return;
        }
        let Some((t0, theta0, velocity0)) = &mut self.last else {
            self.points.push(PathPoint { t, theta: theta.to_vec() });
            self.last = Some((t, theta.to_vec(), velocity.to_vec()));
            return;
        };
        let h = t - *t0;
        while self.points.len() <= self.intervals {
            let wanted = self.points.len() as f64 / self.intervals as f64;
            if wanted > t {
                break;
            }
            let s = if h > 0.0 { (wanted - *t0) / h } else { 1.0 };
            let (s2, s3) = (s * s, s * s * s);
            let weights =
                [2.0 * s3 - 3.0 * s2 + 1.0, h * (s3 - 2.0 * s2 + s), 3.0 * s2 - 2.0 * s3, h * (s3 - s2)];
            let point = (0..theta.len())
                .map(|k| {
                    weights[0] * theta0[k]
                        + weights[1] * velocity0[k]
                        + weights[2] * theta[k]
                        + weights[3] * velocity[k]
                })
                .collect();
            self.points.push(PathPoint { t: wanted, theta: point });
        }
        *t0 = t;
        theta0.copy_from_slice(theta);
        velocity0.copy_from_slice(velocity);
    }

    /// The recorded points.
    pub(super) fn finish(self) -> Vec<PathPoint> {
        self.points
    }
}
