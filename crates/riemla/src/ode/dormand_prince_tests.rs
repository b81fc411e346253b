//! Behaviour of the step control. Comparison with scipy is in `tests/ode_scipy.rs`.

use super::*;
use crate::Control;
use std::f64::consts::PI;

fn oscillator(_: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = y[1];
    dy[1] = -y[0];
}

fn quiet(_: f64, _: &[f64], _: &[f64]) {}

#[test]
fn backward_integration_undoes_forward_integration() {
    let solver = DormandPrince { rtol: 1e-10, atol: 1e-12, ..Default::default() };
    let mut y = [1.0, 0.0];
    let there = solver.solve(&mut oscillator, 0.0, PI / 2.0, &mut y, &mut quiet, Control::default());
    assert_eq!((there.status, there.t), (Status::Reached, PI / 2.0));
    assert!(y[0].abs() < 1e-9 && (y[1] + 1.0).abs() < 1e-9, "{y:?}");
    let back = solver.solve(&mut oscillator, PI / 2.0, 0.0, &mut y, &mut quiet, Control::default());
    assert_eq!((back.status, back.t), (Status::Reached, 0.0));
    assert!((y[0] - 1.0).abs() < 1e-9 && y[1].abs() < 1e-9, "{y:?}");
}

#[test]
fn the_observer_sees_the_start_and_every_accepted_step() {
    let mut seen: Vec<(f64, Vec<f64>)> = Vec::new();
    let mut y = [0.0, 1.0];
    let mut observer = |t: f64, y: &[f64], dy: &[f64]| {
        assert_eq!((dy[0], dy[1]), (y[1], -y[0]));
        seen.push((t, y.to_vec()));
    };
    let report =
        DormandPrince::default().solve(&mut oscillator, 0.0, 6.0, &mut y, &mut observer, Control::default());
    assert_eq!(seen.len(), report.steps + 1);
    assert_eq!(seen[0], (0.0, vec![0.0, 1.0]));
    assert_eq!(seen[report.steps], (6.0, y.to_vec()));
    assert!(seen.windows(2).all(|w| w[0].0 < w[1].0));
}

#[test]
fn the_step_limit_counts_trials_and_leaves_the_last_point() {
    let mut y = [1.0, 0.0];
    let mut last = f64::NAN;
    let solver = DormandPrince { max_steps: 5, rtol: 1e-8, atol: 1e-8, first_step: None };
    let report =
        solver.solve(&mut oscillator, 0.0, 100.0, &mut y, &mut |t, _, _| last = t, Control::default());
    assert_eq!(report.status, Status::StepLimit);
    assert_eq!(report.steps + report.rejections, 5);
    assert_eq!((report.evaluations, report.t), (2 + 6 * 5, last));
    assert!((y[0] - last.cos()).abs() < 1e-6);
}

#[test]
fn a_blow_up_ends_with_a_step_too_small() {
    // y' = y², y(0) = 1 is 1/(1 − t): infinite at 1, but finite at every representable time.
    let mut y = [1.0];
    let mut rhs = |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = y[0] * y[0];
    let report = DormandPrince::default().solve(&mut rhs, 0.0, 2.0, &mut y, &mut quiet, Control::default());
    assert_eq!(report.status, Status::StepTooSmall);
    assert!((report.t - 1.0).abs() < 1e-2 && y[0].is_finite(), "{report:?} {y:?}");
}

#[test]
fn the_edge_of_the_domain_ends_with_non_finite_at_the_last_good_point() {
    // y = sin t up to a wall at t = 0.7, beyond which there is nothing.
    let mut y = [0.0];
    let mut rhs = |t: f64, _: &[f64], dy: &mut [f64]| dy[0] = if t > 0.7 { f64::NAN } else { t.cos() };
    let report = DormandPrince::default().solve(&mut rhs, 0.0, 1.0, &mut y, &mut quiet, Control::default());
    assert_eq!(report.status, Status::NonFinite);
    assert!(report.t <= 0.7 && report.t > 0.7 - 1e-12, "{report:?}");
    assert!((y[0] - report.t.sin()).abs() < 1e-4);
}

#[test]
fn a_hole_that_smaller_steps_avoid_is_survived() {
    // Too bold a step leaves the domain y > 0 of the square root; small ones do not.
    let mut y = [1.0];
    let mut rhs = |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = -50.0 * y[0] * y[0].sqrt();
    let solver = DormandPrince { first_step: Some(1.0), ..Default::default() };
    let report = solver.solve(&mut rhs, 0.0, 1.0, &mut y, &mut quiet, Control::default());
    assert_eq!(report.status, Status::Reached);
    assert!(report.rejections > 0 && (y[0] - 1.0 / 26.0f64.powi(2)).abs() < 1e-5, "{y:?}");
}

#[test]
fn a_non_finite_start_is_reported_without_moving() {
    let mut y = [2.0];
    let mut calls = 0;
    let solver = DormandPrince::default();
    let mut observer = |_: f64, _: &[f64], _: &[f64]| calls += 1;
    let report = solver.solve(
        &mut |_, _, dy| dy[0] = f64::INFINITY,
        0.0,
        1.0,
        &mut y,
        &mut observer,
        Control::default(),
    );
    assert_eq!((report.status, report.t, report.evaluations), (Status::NonFinite, 0.0, 1));
    assert_eq!((y[0], calls), (2.0, 0));
    let report =
        solver.solve(&mut |_, _, dy| dy[0] = 1.0, f64::NAN, 1.0, &mut y, &mut quiet, Control::default());
    assert_eq!(report.status, Status::NonFinite);
}

#[test]
fn an_overflowing_state_is_not_accepted() {
    let mut y = [1.7e308];
    let solver = DormandPrince { first_step: Some(1.0), ..Default::default() };
    let report =
        solver.solve(&mut |_, _, dy| dy[0] = 1e308, 0.0, 1.0, &mut y, &mut quiet, Control::default());
    assert_eq!(report.status, Status::NonFinite);
    assert!(y[0].is_finite() && report.t < 1.0);
}

#[test]
fn empty_intervals_and_states_are_reached_at_once() {
    let mut y = [3.0];
    let report = DormandPrince::default().solve(
        &mut |_, _, dy| dy[0] = 1.0,
        2.0,
        2.0,
        &mut y,
        &mut quiet,
        Control::default(),
    );
    assert_eq!((report.status, report.t, report.evaluations), (Status::Reached, 2.0, 1));
    let report =
        DormandPrince::default().solve(&mut |_, _, _| {}, 0.0, 1.0, &mut [], &mut quiet, Control::default());
    assert_eq!((report.status, report.t), (Status::Reached, 1.0));
}

#[test]
fn settings_are_checked_and_read_with_defaults() {
    let good = DormandPrince::default();
    assert!(good.validate().is_ok());
    assert!(DormandPrince { rtol: -1.0, ..good }.validate().is_err());
    assert!(DormandPrince { atol: f64::NAN, ..good }.validate().is_err());
    assert!(DormandPrince { first_step: Some(0.0), ..good }.validate().is_err());
    let read: DormandPrince = serde_json::from_str("{\"rtol\": 1e-6}").unwrap();
    assert_eq!(read, DormandPrince { rtol: 1e-6, ..good });
    assert!(serde_json::from_str::<DormandPrince>("{\"rtool\": 1e-6}").is_err());
}
