//! Geodesics on surfaces where they are known in closed form, for both integrators.

use riemla::Control;
use riemla::geometry::{ConstrainedLeapfrog, Geodesic, Integrator, Status, exponential_map};
use riemla::linalg::vector::{distance, dot, norm};
use riemla::objective::{Objective, TwiceDifferentiable};
use riemla::ode::DormandPrince;
use riemla::testing::{check_order, check_twice_differentiable};

/// L = 1 + ½k‖θ‖²: a parabola in one dimension, a paraboloid of revolution in more.
struct Bowl {
    k: f64,
    dim: usize,
}

impl Objective for Bowl {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&self, theta: &[f64]) -> f64 {
        1.0 + 0.5 * self.k * dot(theta, theta)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        for (g, t) in gradient.iter_mut().zip(theta) {
            *g = self.k * t;
        }
        self.value(theta)
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for Bowl {
    fn curvature_along(&self, _theta: &[f64], v: &[f64]) -> f64 {
        self.k * dot(v, v)
    }

    fn hvp(&self, _theta: &[f64], v: &[f64], out: &mut [f64]) {
        for (o, v) in out.iter_mut().zip(v) {
            *o = self.k * v;
        }
    }
}

/// Signed length of the curve (r, a·½kr²) from 0 to r.
fn arc_length(r: f64, a: f64, k: f64) -> f64 {
    let c = a * k;
    if c == 0.0 { r } else { 0.5 * (r * (1.0 + (c * r).powi(2)).sqrt() + (c * r).asinh() / c) }
}

/// The r at which the curve has length s.
fn at_length(s: f64, a: f64, k: f64) -> f64 {
    let mut r = s;
    for _ in 0..200 {
        let step = (arc_length(r, a, k) - s) / (1.0 + (a * k * r).powi(2)).sqrt();
        r -= step;
        if step.abs() <= 1e-16 * (1.0 + r.abs()) {
            break;
        }
    }
    r
}

/// Both integrators with tolerances so tight that the result does not depend on their tuning,
/// and the accuracy that can be asked of them.
fn integrators() -> [(Integrator, f64); 2] {
    let solver = DormandPrince { rtol: 1e-11, atol: 1e-12, ..Default::default() };
    let leapfrog = ConstrainedLeapfrog::with_tolerance(1e-9);
    [(Integrator::DormandPrince(solver), 1e-9), (Integrator::ConstrainedLeapfrog(leapfrog), 2e-5)]
}

/// Runs a geodesic, and checks that speed is constant and the loss within its bound.
fn follow(bowl: &Bowl, a: f64, integrator: &Integrator, start: &[f64], v: &[f64]) -> Geodesic {
    let geodesic = exponential_map(bowl, a, integrator, start, v, 0, Control::default()).unwrap();
    assert_eq!(geodesic.status, Status::Reached);
    assert_eq!(geodesic.t, 1.0);
    let speed = |theta: &[f64], v: &[f64]| (dot(v, v) + (a * bowl.k * dot(theta, v)).powi(2)).sqrt();
    let (before, after) = (speed(start, v), speed(&geodesic.end, &geodesic.velocity));
    assert!((after / before - 1.0).abs() < 1e-8, "speed {before} became {after}");
    assert!((geodesic.diagnostics.speed / before - 1.0).abs() < 1e-12);
    let rise = a * (bowl.value(&geodesic.end) - bowl.value(start)).abs();
    assert!(rise <= before * (1.0 + 1e-9), "rise {rise} above the length {before}");
    geodesic
}

#[test]
fn the_bowl_obeys_its_law() {
    check_twice_differentiable(&Bowl { k: 1.7, dim: 3 }, &[0.3, -1.0, 2.0], 1);
}

#[test]
fn in_one_dimension_the_geodesic_runs_along_the_curve() {
    for (integrator, accuracy) in integrators() {
        for (a, k) in [(1.0, 1.0), (1.0, 10.0), (0.1, 3.0), (5.0, 2.0)] {
            let bowl = Bowl { k, dim: 1 };
            // Away from the minimum, towards it, across it, from it.
            for (start, v) in [(0.5, 1.0), (1.0, -0.3), (1.0, -2.0), (0.0, -1.5), (-0.7, 2.5)] {
                let geodesic = follow(&bowl, a, &integrator, &[start], &[v]);
                let speed = (1.0 + (a * k * start).powi(2)).sqrt() * v;
                let exact = at_length(arc_length(start, a, k) + speed, a, k);
                let error = (geodesic.end[0] - exact).abs() / (1.0 + exact.abs());
                assert!(error < accuracy, "a {a}, k {k}, {start} {v:+}: off by {error:.2e}");
            }
        }
    }
}

#[test]
fn radial_geodesics_of_a_paraboloid_are_meridians() {
    let direction = [0.6, -0.8];
    for (integrator, accuracy) in integrators() {
        for (a, k, start, v) in [(1.0, 2.0, 0.0, 1.5), (0.5, 4.0, 1.0, -2.2), (2.0, 1.0, 0.4, 0.9)] {
            let bowl = Bowl { k, dim: 2 };
            let along = |r: f64| direction.map(|d| r * d);
            let geodesic = follow(&bowl, a, &integrator, &along(start), &along(v));
            let speed = (1.0 + (a * k * start).powi(2)).sqrt() * v;
            let exact = along(at_length(arc_length(start, a, k) + speed, a, k));
            let error = distance(&geodesic.end, &exact);
            assert!(error < 2.0 * accuracy, "a {a}, k {k}, {start} {v:+}: off by {error:.2e}");
        }
    }
}

#[test]
fn other_geodesics_of_a_paraboloid_keep_their_angular_momentum() {
    // Clairaut: r²·dφ/dt is constant on a surface of revolution.
    for (integrator, accuracy) in integrators() {
        for a in [0.2, 1.0, 3.0] {
            let bowl = Bowl { k: 1.5, dim: 2 };
            for (start, v) in
                [([1.0, 0.0], [0.3, 1.2]), ([0.5, -0.5], [-1.0, 0.2]), ([0.0, 1.0], [2.0, -2.0])]
            {
                let geodesic = follow(&bowl, a, &integrator, &start, &v);
                let momentum = |x: &[f64], v: &[f64]| x[0] * v[1] - x[1] * v[0];
                let (before, after) = (momentum(&start, &v), momentum(&geodesic.end, &geodesic.velocity));
                assert!((after - before).abs() < accuracy * before.abs().max(1.0), "{before} became {after}");
            }
        }
    }
}

#[test]
fn without_strength_the_geodesic_is_a_straight_line() {
    let bowl = Bowl { k: 3.0, dim: 2 };
    for (integrator, _) in integrators() {
        let geodesic = follow(&bowl, 0.0, &integrator, &[1.0, -2.0], &[0.5, 4.0]);
        assert!(distance(&geodesic.end, &[1.5, 2.0]) < 1e-12, "{:?}", geodesic.end);
        assert!(distance(&geodesic.velocity, &[0.5, 4.0]) < 1e-12, "{:?}", geodesic.velocity);
    }
}

#[test]
fn recorded_paths_are_evenly_spaced_in_time_and_meet_both_ends() {
    let (a, k) = (1.0, 2.0);
    for (integrator, accuracy) in integrators() {
        let bowl = Bowl { k, dim: 1 };
        let geodesic =
            exponential_map(&bowl, a, &integrator, &[0.5], &[1.0], 11, Control::default()).unwrap();
        assert_eq!(geodesic.path.len(), 11);
        let speed = (1.0 + (a * k * 0.5f64).powi(2)).sqrt();
        for (i, point) in geodesic.path.iter().enumerate() {
            assert!((point.t - 0.1 * i as f64).abs() < 1e-15);
            let exact = at_length(arc_length(0.5, a, k) + point.t * speed, a, k);
            assert!((point.theta[0] - exact).abs() < accuracy, "{} and {exact}", point.theta[0]);
        }
        assert_eq!(geodesic.path[10].theta, geodesic.end);
    }
}

/// Minus the log of a banana-shaped density: L = 10 + ½x² + ½b(y + x² − 1)².
///
/// The constant makes the height large against the rounding errors of the terms: with fixed
/// steps, the integrator solves its constraint to a few rounding errors of the height.
struct Banana {
    b: f64,
}

impl Objective for Banana {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let (x, d) = (theta[0], theta[1] + theta[0] * theta[0] - 1.0);
        10.0 + 0.5 * (x * x + self.b * d * d)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (x, d) = (theta[0], theta[1] + theta[0] * theta[0] - 1.0);
        gradient[0] = x + 2.0 * self.b * x * d;
        gradient[1] = self.b * d;
        self.value(theta)
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for Banana {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        let mut product = [0.0; 2];
        self.hvp(theta, v, &mut product);
        dot(&product, v)
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let (x, d) = (theta[0], theta[1] + theta[0] * theta[0] - 1.0);
        out[0] = (1.0 + 2.0 * self.b * (d + 2.0 * x * x)) * v[0] + 2.0 * self.b * x * v[1];
        out[1] = self.b * (2.0 * x * v[0] + v[1]);
    }
}

/// The leapfrog with `n` equal steps.
fn fixed(n: usize) -> Integrator {
    Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog { fixed_steps: Some(n), ..Default::default() })
}

const BANANA: Banana = Banana { b: 3.0 };
const START: [f64; 2] = [0.4, 1.5];
const VELOCITY: [f64; 2] = [-1.1, 0.6];

#[test]
fn the_banana_obeys_its_law() {
    check_twice_differentiable(&BANANA, &START, 1);
}

#[test]
fn the_leapfrog_is_of_second_order() {
    let solver = DormandPrince { rtol: 1e-13, atol: 1e-14, ..Default::default() };
    let exact = exponential_map(
        &BANANA,
        1.0,
        &Integrator::DormandPrince(solver),
        &START,
        &VELOCITY,
        0,
        Control::default(),
    )
    .unwrap();
    let steps = [64, 96, 128, 192, 256, 384];
    let errors = steps.map(|n| {
        let end = exponential_map(&BANANA, 1.0, &fixed(n), &START, &VELOCITY, 0, Control::default()).unwrap();
        assert_eq!((end.status, end.counters.steps), (Status::Reached, n));
        distance(&end.end, &exact.end)
    });
    check_order(&steps.map(|n| 1.0 / n as f64), &errors, 2.0, 0.1);
}

/// With steps of its own choice the leapfrog takes the errors of second order off: as the tolerance falls, the
/// error falls with the third power of the mean step. Without either of the two corrections it is the second.
#[test]
fn adaptive_steps_are_of_third_order() {
    let solver = DormandPrince { rtol: 1e-13, atol: 1e-14, ..Default::default() };
    let follow = |integrator: &Integrator| {
        exponential_map(&BANANA, 1.0, integrator, &START, &VELOCITY, 0, Control::default()).unwrap()
    };
    let exact = follow(&Integrator::DormandPrince(solver));
    let ends = [3e-7, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9].map(|tolerance| {
        follow(&Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(tolerance)))
    });
    let steps = ends.each_ref().map(|end| 1.0 / end.counters.steps as f64);
    let errors = ends.each_ref().map(|end| distance(&end.end, &exact.end));
    check_order(&steps, &errors, 3.0, 0.4);
}

#[test]
fn the_leapfrog_runs_back_to_its_start() {
    // So few steps that the end itself is far from exact: what returns is the method's symmetry.
    for n in [16, 40, 100] {
        let there =
            exponential_map(&BANANA, 1.0, &fixed(n), &START, &VELOCITY, 0, Control::default()).unwrap();
        let back: Vec<f64> = there.velocity.iter().map(|v| -v).collect();
        let home =
            exponential_map(&BANANA, 1.0, &fixed(n), &there.end, &back, 0, Control::default()).unwrap();
        assert_eq!((there.status, home.status), (Status::Reached, Status::Reached), "{n} steps");
        assert!(distance(&there.end, &START) > 0.3 * norm(&VELOCITY));
        let missed = distance(&home.end, &START);
        assert!(missed < 1e-10, "{n} steps: missed the start by {missed:.2e}");
        let turned: Vec<f64> = home.velocity.iter().map(|v| -v).collect();
        assert!(distance(&turned, &VELOCITY) < 1e-10, "{n} steps: {turned:?}");
    }
}
