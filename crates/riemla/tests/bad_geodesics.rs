//! Geodesics that cannot be followed end with a status; bad settings of them are errors.

use riemla::Control;
use riemla::Error;
use riemla::geometry::{ConstrainedLeapfrog, Geodesic, Integrator, Status, exponential_map};
use riemla::linalg::vector::{dot, norm};
use riemla::objective::{Objective, TwiceDifferentiable};
use riemla::ode::DormandPrince;

/// What an objective does where it is not nice.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// NaN everywhere.
    Nan,
    /// ½‖θ‖², but infinite (with a gradient of zero) outside the unit ball.
    Ball,
    /// −log(1 − ‖θ‖²): a barrier, NaN outside the unit ball.
    Barrier,
    /// exp(‖θ‖²): overflows a few units away.
    Exponential,
    /// A wall so steep that no step resolves it: 1e12·|x| smoothed over 1e-12.
    Wall,
}

struct Nasty(Kind);

impl Nasty {
    /// L as a function of s = ‖θ‖²: value, first and second derivative.
    fn of(&self, s: f64) -> (f64, f64, f64) {
        match self.0 {
            Kind::Nan => (f64::NAN, f64::NAN, f64::NAN),
            Kind::Ball if s > 1.0 => (f64::INFINITY, 0.0, 0.0),
            Kind::Ball => (0.5 * s, 0.5, 0.0),
            Kind::Barrier => {
                let rest = 1.0 - s;
                (-rest.ln(), 1.0 / rest, 1.0 / (rest * rest))
            }
            Kind::Exponential => (s.exp(), s.exp(), s.exp()),
            Kind::Wall => {
                let root = (s + 1e-24).sqrt();
                (1e12 * root, 0.5e12 / root, -0.25e12 / (root * root * root))
            }
        }
    }
}

impl Objective for Nasty {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.of(dot(theta, theta)).0
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (value, slope, _) = self.of(dot(theta, theta));
        for (g, t) in gradient.iter_mut().zip(theta) {
            *g = 2.0 * slope * t;
        }
        value
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for Nasty {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        let (_, slope, second) = self.of(dot(theta, theta));
        2.0 * slope * dot(v, v) + 4.0 * second * dot(theta, v).powi(2)
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let (_, slope, second) = self.of(dot(theta, theta));
        for ((o, t), w) in out.iter_mut().zip(theta).zip(v) {
            *o = 2.0 * slope * w + 4.0 * second * dot(theta, v) * t;
        }
    }
}

const STEPS: usize = 2000;

fn integrators() -> [Integrator; 3] {
    [
        Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog { max_steps: STEPS, ..Default::default() }),
        Integrator::DormandPrince(DormandPrince { max_steps: STEPS, ..Default::default() }),
        Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog { fixed_steps: Some(50), ..Default::default() }),
    ]
}

/// Runs a geodesic; whatever happens, its numbers are finite, and t is 1 exactly if it was reached.
fn run(kind: Kind, integrator: &Integrator, start: [f64; 2], v: [f64; 2]) -> Geodesic {
    let geodesic = exponential_map(&Nasty(kind), 1.0, integrator, &start, &v, 0, Control::default()).unwrap();
    assert_eq!(geodesic.t == 1.0, geodesic.status == Status::Reached, "{geodesic:?}");
    assert!((0.0..=1.0).contains(&geodesic.t), "{geodesic:?}");
    let finite = geodesic.end.iter().chain(&geodesic.velocity).all(|v| v.is_finite());
    assert!(finite, "{geodesic:?}");
    geodesic
}

#[test]
fn an_objective_that_is_nan_everywhere() {
    for integrator in integrators() {
        let geodesic = run(Kind::Nan, &integrator, [0.1, 0.2], [1.0, 0.0]);
        assert_eq!((geodesic.status, geodesic.t), (Status::NonFinite, 0.0), "{integrator:?}");
        assert_eq!(geodesic.end, [0.1, 0.2]);
    }
}

#[test]
fn an_objective_with_a_boundary_is_never_left() {
    for kind in [Kind::Ball, Kind::Barrier] {
        for integrator in integrators() {
            for v in [[3.0, 0.0], [0.5, 0.1], [-20.0, 5.0]] {
                let geodesic = run(kind, &integrator, [0.2, -0.1], v);
                assert!(norm(&geodesic.end) <= 1.0, "{integrator:?}: {geodesic:?}");
                assert!(Nasty(kind).value(&geodesic.end).is_finite());
            }
        }
    }
}

#[test]
fn a_step_that_no_length_makes_finite_says_so() {
    // The ball is hit head on: every step, however short, ends in losses that are not finite.
    for integrator in integrators() {
        let geodesic = run(Kind::Ball, &integrator, [0.2, -0.1], [3.0, 0.0]);
        assert_eq!(geodesic.status, Status::NonFinite, "{integrator:?}");
    }
}

#[test]
fn without_velocity_a_geodesic_rests() {
    for integrator in integrators() {
        let geodesic = run(Kind::Ball, &integrator, [0.2, -0.1], [0.0, 0.0]);
        assert_eq!((geodesic.status, geodesic.t), (Status::Reached, 1.0), "{integrator:?}");
        assert_eq!(geodesic.end, [0.2, -0.1]);
    }
}

#[test]
fn the_start_outside_the_domain() {
    for kind in [Kind::Ball, Kind::Barrier] {
        for integrator in integrators() {
            let geodesic = run(kind, &integrator, [2.0, 0.0], [1.0, 0.0]);
            assert_eq!(geodesic.status, Status::NonFinite, "{integrator:?}");
        }
    }
}

#[test]
fn geodesics_that_diverge_or_stick() {
    for kind in [Kind::Exponential, Kind::Wall] {
        for integrator in integrators() {
            for v in [[1e3, 0.0], [1e150, 1e150], [1e-300, 0.0], [0.0, 0.0]] {
                run(kind, &integrator, [0.5, 0.1], v);
                run(kind, &integrator, [-1e-13, 0.0], v);
            }
        }
    }
}

#[test]
fn the_step_limit_is_a_status() {
    for integrator in [
        Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog { max_steps: 1, ..Default::default() }),
        Integrator::DormandPrince(DormandPrince { max_steps: 1, ..Default::default() }),
        Integrator::DormandPrince(DormandPrince { max_steps: 0, ..Default::default() }),
    ] {
        let geodesic = run(Kind::Barrier, &integrator, [0.2, -0.1], [3.0, 0.0]);
        assert_eq!(geodesic.status, Status::StepLimit, "{integrator:?}");
    }
}

#[test]
fn settings_outside_their_range_are_errors() {
    let map = |integrator: Integrator, a: f64, start: &[f64], v: &[f64]| {
        exponential_map(&Nasty(Kind::Exponential), a, &integrator, start, v, 0, Control::default())
            .map(|_| ())
    };
    let leapfrog = ConstrainedLeapfrog::default;
    let solver = DormandPrince::default;
    let mut settings = vec![
        Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog { max_steps: 0, ..leapfrog() }),
        Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog { fixed_steps: Some(0), ..leapfrog() }),
        Integrator::DormandPrince(DormandPrince { first_step: Some(0.0), ..solver() }),
    ];
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        settings.push(Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(bad)));
        settings.push(Integrator::DormandPrince(DormandPrince { rtol: bad, ..solver() }));
        settings.push(Integrator::DormandPrince(DormandPrince { atol: bad, ..solver() }));
    }
    settings.push(Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(0.0)));
    for setting in settings {
        let error = map(setting.clone(), 1.0, &[0.1, 0.1], &[1.0, 0.0]);
        assert!(matches!(error, Err(Error::Range { .. })), "{setting:?}: {error:?}");
    }
    for integrator in integrators() {
        for strength in [-1.0, f64::NAN, f64::INFINITY] {
            let error = map(integrator.clone(), strength, &[0.1, 0.1], &[1.0, 0.0]);
            assert!(matches!(error, Err(Error::Range { .. })), "{error:?}");
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let error = map(integrator.clone(), 1.0, &[0.1, 0.1], &[1.0, bad]);
            assert!(matches!(error, Err(Error::NotFinite { index: 1, .. })), "{error:?}");
            let error = map(integrator.clone(), 1.0, &[bad, 0.1], &[1.0, 0.0]);
            assert!(matches!(error, Err(Error::NotFinite { index: 0, .. })), "{error:?}");
        }
        let error = map(integrator.clone(), 1.0, &[0.1], &[1.0, 0.0]);
        assert!(matches!(error, Err(Error::Shape { .. })), "{error:?}");
        let error = map(integrator, 1.0, &[0.1, 0.1], &[1.0; 3]);
        assert!(matches!(error, Err(Error::Shape { .. })), "{error:?}");
    }
}
