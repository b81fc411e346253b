//! Mini-batch training on least squares, whose solution is known.

use std::sync::atomic::{AtomicBool, Ordering};

use super::problems::LeastSquares;
use crate::Control;
use crate::Error;
use crate::linalg::vector::distance;
use crate::objective::Objective;
use crate::train::{
    GradientDescent, Lbfgs, MiniBatch, Rule, Schedule, Stochastic, TrainStatus, gradient_descent, lbfgs,
    minibatch,
};

fn config(rule: Rule, rate: f64, epochs: usize, batch_size: usize) -> MiniBatch {
    let learning_rate = Schedule::Cosine { initial: rate };
    MiniBatch { rule, learning_rate, epochs, batch_size, seed: 3, gradient_scale: 1.0 }
}

const SGD: Rule = Rule::Sgd { momentum: 0.9 };

fn solution(problem: &LeastSquares) -> [f64; 3] {
    let mut theta = [0.0; 3];
    let report = lbfgs(problem, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    assert_eq!(report.status, TrainStatus::Converged);
    theta
}

#[test]
fn both_rules_reach_the_solution_for_all_data() {
    let problem = LeastSquares::new(103, 0.1);
    let exact = solution(&problem);
    for (rule, rate) in [(Rule::Sgd { momentum: 0.5 }, 2e-3), (Rule::ADAM, 0.05)] {
        let mut theta = [0.0; 3];
        let report =
            minibatch(&problem, &mut theta, &config(rule, rate, 400, 10), Control::default()).unwrap();
        assert!(distance(&theta, &exact) < 2e-3, "{rule:?}: {theta:?} {exact:?}");
        let mut gradient = [0.0; 3];
        let value = problem.value_and_gradient(&theta, &mut gradient);
        assert!((report.value - value).abs() < 1e-12 * value);
        assert!((report.gradient_norm - crate::linalg::vector::norm(&gradient)).abs() < 1e-10);
        assert_eq!((report.evaluations, report.iterations), (401 * 11, 400));
        assert_eq!(report.history.len(), 400);
    }
}

#[test]
fn a_batch_of_all_data_is_full_batch_descent() {
    let problem = LeastSquares::new(40, 0.5);
    let (mut batch, mut full) = ([0.0; 3], [0.0; 3]);
    let config = MiniBatch { gradient_scale: 0.025, ..config(SGD, 0.1, 30, 40) };
    minibatch(&problem, &mut batch, &config, Control::default()).unwrap();
    let same = GradientDescent {
        learning_rate: config.learning_rate,
        epochs: 30,
        momentum: 0.9,
        gradient_scale: 0.025,
    };
    gradient_descent(&problem, &mut full, &same, Control::default()).unwrap();
    assert!(distance(&batch, &full) < 1e-12, "{batch:?} {full:?}");
}

#[test]
fn the_seed_alone_decides() {
    let problem = LeastSquares::new(50, 0.5);
    let run = |seed| {
        let mut theta = [0.0; 3];
        let config = MiniBatch { seed, ..config(SGD, 1e-3, 3, 7) };
        let report = minibatch(&problem, &mut theta, &config, Control::default()).unwrap();
        (theta, report)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn every_epoch_sees_all_data_once_in_a_new_order() {
    struct Spy(std::sync::Mutex<Vec<usize>>);
    impl Stochastic for Spy {
        fn len(&self) -> usize {
            23
        }
        fn weights(&self) -> usize {
            1
        }
        fn batch_value_and_gradient(&self, indices: &[usize], _: &[f64], gradient: &mut [f64]) -> f64 {
            self.0.lock().unwrap().extend(indices);
            gradient[0] = 0.0;
            0.0
        }
    }
    let spy = Spy(Default::default());
    minibatch(&spy, &mut [0.0], &config(SGD, 0.1, 2, 5), Control::default()).unwrap();
    let seen = spy.0.into_inner().unwrap();
    assert_ne!(seen[..23], seen[23..46]);
    for epoch in seen.chunks(23) {
        let mut sorted = epoch.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..23));
    }
}

#[test]
fn divergence_returns_to_a_finite_point() {
    let problem = LeastSquares::new(50, 0.5);
    let mut theta = [0.1; 3];
    let report = minibatch(&problem, &mut theta, &config(SGD, 10.0, 500, 10), Control::default()).unwrap();
    assert_eq!((report.status, theta), (TrainStatus::NonFinite, [0.1; 3]));
    assert!((report.value - problem.value(&theta)).abs() < 1e-12 * report.value);
}

#[test]
fn a_last_step_out_of_the_domain_is_noticed() {
    let problem = LeastSquares::new(50, 0.5);
    let mut theta = [0.1; 3];
    let report = minibatch(&problem, &mut theta, &config(SGD, 1e200, 1, 50), Control::default()).unwrap();
    assert_eq!((report.status, theta), (TrainStatus::NonFinite, [0.1; 3]));
    assert!(report.value.is_finite());
}

#[test]
fn the_observer_stops_after_an_epoch() {
    let problem = LeastSquares::new(50, 0.5);
    let mut theta = [0.0; 3];
    let stop = AtomicBool::new(false);
    let watch = |p: &crate::train::Progress| stop.store(p.iteration == 2, Ordering::Relaxed);
    let control = Control::default().stopping(&stop).observing(&watch);
    let report = minibatch(&problem, &mut theta, &config(SGD, 1e-3, 9, 10), control).unwrap();
    assert_eq!((report.status, report.iterations, report.history.len()), (TrainStatus::Stopped, 2, 2));
}

#[test]
fn batch_sizes_and_starts_are_checked() {
    let problem = LeastSquares::new(50, 0.5);
    for size in [0, 51] {
        let result = minibatch(&problem, &mut [0.0; 3], &config(SGD, 0.1, 1, size), Control::default());
        assert!(matches!(result, Err(Error::Range { what, .. }) if what == "batch_size"));
    }
    let negative = minibatch(&problem, &mut [0.0; 3], &config(SGD, -0.1, 1, 5), Control::default());
    assert!(matches!(negative, Err(Error::Range { .. })));
    let short = minibatch(&problem, &mut [0.0; 2], &config(SGD, 0.1, 1, 5), Control::default());
    assert!(matches!(short, Err(Error::Shape { .. })));
}
