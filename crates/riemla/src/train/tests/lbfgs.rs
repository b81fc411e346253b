//! L-BFGS on hard problems, and near the limit of the arithmetic.

use std::sync::atomic::{AtomicBool, Ordering};

use super::problems::{Function, Quadratic, logistic, network, normals, rosenbrock};
use crate::Control;
use crate::Error;
use crate::linalg::vector::distance;
use crate::objective::Objective;
use crate::train::{Lbfgs, TrainReport, TrainStatus, lbfgs};

fn converge(objective: &dyn Objective, theta: &mut [f64], gradient_tolerance: f64) -> TrainReport {
    converge_with(Lbfgs { gradient_tolerance, ..Default::default() }, objective, theta)
}

fn converge_with(config: Lbfgs, objective: &dyn Objective, theta: &mut [f64]) -> TrainReport {
    let report = lbfgs(objective, theta, &config, Control::default()).unwrap();
    assert_eq!(report.status, TrainStatus::Converged, "{report:?}");
    let mut gradient = vec![0.0; theta.len()];
    assert_eq!(objective.value_and_gradient(theta, &mut gradient), report.value);
    assert!(crate::linalg::vector::norm(&gradient) <= config.gradient_tolerance);
    report
}

#[test]
fn rosenbrock_in_2_and_20_dimensions() {
    for (dim, budget) in [(2, 60), (20, 250)] {
        let mut theta: Vec<f64> = [-1.2, 1.0].repeat(dim / 2);
        let report = converge(&Function(dim, rosenbrock), &mut theta, 1e-11);
        assert!(distance(&theta, &vec![1.0; dim]) < 1e-9, "{theta:?}");
        assert!(report.evaluations < budget, "{dim}: {}", report.evaluations);
    }
}

#[test]
fn a_quadratic_of_condition_1e6() {
    let n = 50;
    let curvatures: Vec<f64> = (0..n).map(|j| 10f64.powf(6.0 * j as f64 / (n - 1) as f64)).collect();
    let centre = normals(n, 20);
    for (memory, budget) in [(20, 10_000), (100, 700)] {
        let mut theta = vec![0.0; n];
        let config = Lbfgs { memory, ..Default::default() };
        let report = converge_with(config, &Quadratic::new(&curvatures, &centre), &mut theta);
        assert!(distance(&theta, &centre) < 1e-8);
        assert!(report.evaluations < budget, "{memory}: {}", report.evaluations);
    }
}

#[test]
fn logistic_regression_to_1e_10() {
    let mut theta = vec![0.0; 10];
    let report = converge(&logistic(10), &mut theta, 1e-10);
    assert!(report.evaluations < 60, "{}", report.evaluations);
    let mut other = normals(10, 21);
    converge(&logistic(10), &mut other, 1e-10);
    assert!(distance(&theta, &other) < 1e-9);
}

#[test]
fn a_network_of_352_parameters_to_1e_7() {
    let mut theta: Vec<f64> = normals(352, 22).iter().map(|x| 0.3 * x).collect();
    let config = Lbfgs { memory: 100, gradient_tolerance: 1e-7, ..Default::default() };
    let report = converge_with(config, &network(), &mut theta);
    assert!((30.0..100.0).contains(&report.value), "{}", report.value);
    assert!(report.history.windows(2).all(|w| w[1] <= w[0] + 1e-10 * w[0]));
}

/// The value is 1e8 plus something small plus errors of 1e-6, far above the decrease of the last
/// steps, while the gradient is exact.
#[test]
fn converges_where_values_drown_in_rounding() {
    let quadratic = Quadratic::new(&[1.0, 30.0, 1000.0], &[0.3, -0.7, 0.1]);
    let noisy = Function(3, |theta: &[f64], gradient: &mut [f64]| {
        let value = quadratic.value_and_gradient(theta, gradient);
        1e8 + value + 1e-6 * (1e9 * (theta[0] + theta[1] + theta[2])).sin()
    });
    for start in [1.0, 1e-5] {
        let mut theta: Vec<f64> = quadratic.centre.iter().map(|c| c + start).collect();
        let report = converge(&noisy, &mut theta, 1e-11);
        assert!(report.evaluations < 60, "{}", report.evaluations);
    }
    let deaf = Lbfgs { value_noise: 0.0, gradient_tolerance: 1e-11, ..Default::default() };
    let report = lbfgs(&noisy, &mut [1.0; 3], &deaf, Control::default()).unwrap();
    assert_eq!(report.status, TrainStatus::NoProgress);
}

#[test]
fn walls_of_the_domain_are_stepped_back_from() {
    for outside in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // Σ cⱼxⱼ − log xⱼ on x > 0, with its minimum at 1/c.
        let barrier = Function(3, move |x: &[f64], gradient: &mut [f64]| {
            let mut value = 0.0;
            for (j, c) in [1e-2, 1.0, 1e2].into_iter().enumerate() {
                gradient[j] = c - 1.0 / x[j];
                value += if x[j] > 0.0 { c * x[j] - x[j].ln() } else { outside };
            }
            value
        });
        let mut theta = [1e-3, 50.0, 3.0];
        converge(&barrier, &mut theta, 1e-10);
        for (x, exact) in theta.iter().zip([100.0, 1.0, 0.01]) {
            assert!((x / exact - 1.0).abs() < 1e-5, "{theta:?}");
        }
        let mut theta = [-1.0, 1.0, 1.0];
        let report = lbfgs(&barrier, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
        assert_eq!((report.status, theta), (TrainStatus::NonFinite, [-1.0, 1.0, 1.0]));
    }
}

#[test]
fn functions_without_a_minimum_end_with_a_status() {
    let line = Function(1, |theta: &[f64], gradient: &mut [f64]| {
        gradient[0] = -1.0;
        -theta[0]
    });
    let mut theta = [0.0];
    let config = Lbfgs { max_iterations: 20, ..Default::default() };
    let report = lbfgs(&line, &mut theta, &config, Control::default()).unwrap();
    assert_ne!(report.status, TrainStatus::Converged);
    assert!(theta[0].is_finite() && theta[0] > 1.0 && report.value == -theta[0]);
}

#[test]
fn a_gradient_of_the_wrong_sign_is_no_progress() {
    let wrong = Function(2, |theta: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[-theta[0], -theta[1]]);
        0.5 * (theta[0] * theta[0] + theta[1] * theta[1])
    });
    let mut theta = [1.0, 2.0];
    let report = lbfgs(&wrong, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    assert_eq!((report.status, theta), (TrainStatus::NoProgress, [1.0, 2.0]));
}

#[test]
fn limits_and_the_observer_stop_the_run() {
    let problem = Function(2, rosenbrock);
    let config = Lbfgs { max_iterations: 4, ..Default::default() };
    let mut theta = [-1.2, 1.0];
    let report = lbfgs(&problem, &mut theta, &config, Control::default()).unwrap();
    assert_eq!((report.status, report.iterations), (TrainStatus::IterationLimit, 4));
    let stop = AtomicBool::new(false);
    let watch = |p: &crate::train::Progress| stop.store(p.iteration == 2, Ordering::Relaxed);
    let control = Control::default().stopping(&stop).observing(&watch);
    let report = lbfgs(&problem, &mut [-1.2, 1.0], &config, control).unwrap();
    assert_eq!((report.status, report.iterations), (TrainStatus::Stopped, 2));
    let report = lbfgs(&problem, &mut [1.0, 1.0], &config, Control::default()).unwrap();
    assert_eq!((report.status, report.evaluations), (TrainStatus::Converged, 1));
}

#[test]
fn a_memory_of_one_pair_works_and_none_is_refused() {
    let problem = Function(2, rosenbrock);
    let config = Lbfgs { memory: 1, ..Default::default() };
    let report = lbfgs(&problem, &mut [-1.2, 1.0], &config, Control::default()).unwrap();
    assert_eq!(report.status, TrainStatus::Converged);
    for config in [
        Lbfgs { memory: 0, ..Default::default() },
        Lbfgs { gradient_tolerance: -1.0, ..Default::default() },
        Lbfgs { value_noise: f64::NAN, ..Default::default() },
    ] {
        let result = lbfgs(&problem, &mut [0.0; 2], &config, Control::default());
        assert!(matches!(result, Err(Error::Range { .. })));
    }
    let result = lbfgs(&problem, &mut [f64::INFINITY, 0.0], &config, Control::default());
    assert!(matches!(result, Err(Error::NotFinite { index: 0, .. })));
}
