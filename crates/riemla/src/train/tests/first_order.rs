//! Full-batch descent against closed forms and against the formulas written out.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::problems::{Function, Quadratic};
use crate::Control;
use crate::Error;
use crate::train::{Adam, GradientDescent, Schedule, TrainStatus, adam, gradient_descent};

fn constant(rate: f64, epochs: usize) -> GradientDescent {
    GradientDescent { learning_rate: Schedule::Constant(rate), epochs, ..Default::default() }
}

#[test]
fn gradient_descent_follows_the_closed_form_of_a_quadratic() {
    let (h, c) = ([1.0, 4.0], [2.0, -1.0]);
    let mut theta = [5.0, 5.0];
    let report =
        gradient_descent(&Quadratic::new(&h, &c), &mut theta, &constant(0.1, 25), Control::default())
            .unwrap();
    for j in 0..2 {
        let exact = c[j] + (1.0 - 0.1 * h[j]).powi(25) * (5.0 - c[j]);
        assert!((theta[j] - exact).abs() < 1e-13, "{} {exact}", theta[j]);
    }
    assert_eq!((report.status, report.iterations), (TrainStatus::IterationLimit, 25));
    assert_eq!((report.evaluations, report.history.len()), (26, 26));
    assert_eq!(report.value, *report.history.last().unwrap());
    assert!((report.gradient_norm - (theta[0] - 2.0).hypot(4.0 * (theta[1] + 1.0))).abs() < 1e-14);
}

#[test]
fn momentum_follows_the_formula_and_the_gradient_scale() {
    let config = GradientDescent { momentum: 0.9, gradient_scale: 0.25, ..constant(0.2, 7) };
    let mut theta = [1.0];
    gradient_descent(&Quadratic::new(&[3.0], &[0.0]), &mut theta, &config, Control::default()).unwrap();
    let (mut x, mut buffer) = (1.0f64, 0.0);
    for step in 0..7 {
        let g = 0.25 * 3.0 * x;
        buffer = if step == 0 { g } else { 0.9 * buffer + g };
        x -= 0.2 * buffer;
    }
    assert!((theta[0] - x).abs() < 1e-15, "{} {x}", theta[0]);
}

#[test]
fn adam_follows_the_formula_with_a_cosine_schedule() {
    let config = Adam {
        learning_rate: Schedule::Cosine { initial: 0.3 },
        beta1: 0.8,
        beta2: 0.95,
        epsilon: 1e-3,
        epochs: 6,
        gradient_scale: 0.5,
    };
    let mut theta = [1.0, -2.0];
    adam(&Quadratic::new(&[3.0, 0.1], &[0.0, 1.0]), &mut theta, &config, Control::default()).unwrap();
    for (j, (h, c, start)) in [(3.0, 0.0, 1.0), (0.1, 1.0, -2.0f64)].into_iter().enumerate() {
        let (mut x, mut m, mut s) = (start, 0.0, 0.0f64);
        for t in 1..=6 {
            let rate = 0.15 * (1.0 + (std::f64::consts::PI * (t - 1) as f64 / 6.0).cos());
            let g = 0.5 * h * (x - c);
            m = 0.8 * m + 0.2 * g;
            s = 0.95 * s + 0.05 * g * g;
            let (m_hat, s_hat) = (m / (1.0 - 0.8f64.powi(t)), s / (1.0 - 0.95f64.powi(t)));
            x -= rate * m_hat / (s_hat.sqrt() + 1e-3);
        }
        assert!((theta[j] - x).abs() < 1e-14, "{} {x}", theta[j]);
    }
}

#[test]
fn cosine_falls_from_the_initial_rate_towards_zero() {
    let schedule = Schedule::Cosine { initial: 2.0 };
    assert_eq!(schedule.at(0, 10), 2.0);
    assert!((schedule.at(5, 10) - 1.0).abs() < 1e-15);
    assert!((schedule.at(3, 9) - 1.5).abs() < 1e-15);
    assert!(schedule.at(10, 10).abs() < 1e-15);
    assert_eq!(Schedule::Constant(0.1).at(7, 10), 0.1);
}

#[test]
fn divergence_is_data_and_returns_to_the_best_point() {
    let mut theta = [1.0];
    let report = gradient_descent(
        &Quadratic::new(&[3.0], &[0.0]),
        &mut theta,
        &constant(1.0, 5000),
        Control::default(),
    )
    .unwrap();
    assert_eq!(report.status, TrainStatus::NonFinite);
    assert!(report.iterations < 5000);
    assert_eq!((theta[0], report.value, report.gradient_norm), (1.0, 1.5, 3.0));
}

#[test]
fn leaving_the_domain_keeps_the_best_point_and_a_bad_start_is_reported() {
    let root = Function(1, |theta: &[f64], gradient: &mut [f64]| {
        gradient[0] = 0.5 / theta[0].sqrt();
        theta[0].sqrt() // NaN below 0; no minimum inside the domain
    });
    let mut theta = [1.0];
    let report = gradient_descent(&root, &mut theta, &constant(0.5, 100), Control::default()).unwrap();
    assert_eq!(report.status, TrainStatus::NonFinite);
    assert!(theta[0] > 0.0 && theta[0] < 1.0 && report.value == theta[0].sqrt());
    let mut theta = [-1.0];
    let report = gradient_descent(&root, &mut theta, &constant(0.5, 100), Control::default()).unwrap();
    assert_eq!((report.status, report.iterations, theta[0]), (TrainStatus::NonFinite, 0, -1.0));
    assert!(report.value.is_nan() && report.history.is_empty());
}

#[test]
fn the_observer_stops_where_it_looks() {
    let (seen, stop) = (Mutex::new(vec![]), AtomicBool::new(false));
    let watch = |p: &crate::train::Progress| {
        seen.lock().unwrap().push(*p);
        stop.store(p.iteration == 3, Ordering::Relaxed);
    };
    let mut theta = [8.0];
    let control = Control::default().stopping(&stop).observing(&watch);
    let problem = Quadratic::new(&[1.0], &[0.0]);
    let report = gradient_descent(&problem, &mut theta, &constant(0.5, 100), control).unwrap();
    let seen = seen.into_inner().unwrap();
    assert_eq!((report.status, report.iterations, theta[0]), (TrainStatus::Stopped, 3, 1.0));
    assert_eq!(seen.len(), 4);
    assert_eq!((seen[3].value, seen[3].gradient_norm, seen[3].total), (0.5, 1.0, 100));
    assert_eq!(report.value, 0.5);
}

#[test]
fn no_epochs_leave_the_start_alone() {
    let mut theta = [8.0];
    let report =
        gradient_descent(&Quadratic::new(&[1.0], &[0.0]), &mut theta, &constant(0.5, 0), Control::default())
            .unwrap();
    assert_eq!((theta[0], report.value, report.evaluations), (8.0, 32.0, 1));
}

#[test]
fn mistakes_are_errors_that_name_the_setting() {
    let problem = Quadratic::new(&[1.0], &[0.0]);
    let named =
        |config: &GradientDescent| match gradient_descent(&problem, &mut [1.0], config, Control::default()) {
            Err(Error::Range { what, .. }) => what,
            other => panic!("{other:?}"),
        };
    assert_eq!(named(&constant(-0.1, 1)), "learning_rate");
    assert_eq!(named(&constant(f64::NAN, 1)), "learning_rate");
    assert_eq!(named(&GradientDescent { momentum: 1.0, ..constant(0.1, 1) }), "momentum");
    assert_eq!(named(&GradientDescent { gradient_scale: 0.0, ..constant(0.1, 1) }), "gradient_scale");
    let beta = adam(&problem, &mut [1.0], &Adam { beta2: 1.5, ..Default::default() }, Control::default());
    assert!(matches!(beta, Err(Error::Range { what, .. }) if what == "beta2"));
    let start = |theta: &mut [f64]| gradient_descent(&problem, theta, &constant(0.1, 1), Control::default());
    assert!(matches!(start(&mut [1.0, 2.0]), Err(Error::Shape { .. })));
    assert!(matches!(start(&mut [f64::NAN]), Err(Error::NotFinite { .. })));
}
