//! The history of long runs, and the report as a record.

use std::sync::Mutex;

use super::problems::Quadratic;
use crate::Control;
use crate::train::{GradientDescent, Progress, Schedule, gradient_descent};

fn run(epochs: usize) -> (crate::train::TrainReport, Vec<f64>) {
    let config = GradientDescent { learning_rate: Schedule::Constant(1e-4), epochs, ..Default::default() };
    let all = Mutex::new(vec![]);
    let watch = |p: &Progress| all.lock().unwrap().push(p.value);
    let control = Control::default().observing(&watch);
    let report = gradient_descent(&Quadratic::new(&[1.0], &[0.0]), &mut [1.0], &config, control).unwrap();
    (report, all.into_inner().unwrap())
}

#[test]
fn a_long_history_is_thinned_evenly_and_keeps_both_ends() {
    for epochs in [0, 1, 998, 999, 1000, 1001, 4321, 10_000] {
        let (report, all) = run(epochs);
        let mut expected: Vec<f64> = all.iter().copied().step_by(report.history_stride).collect();
        if epochs % report.history_stride != 0 {
            expected.push(all[epochs]);
        }
        assert_eq!(report.history, expected, "{epochs} epochs");
        assert!(report.history.len() <= 1001);
        assert!(report.history.len() > 499.min(epochs), "{epochs}: {}", report.history.len());
    }
    assert_eq!(run(999).0.history_stride, 1);
    assert_eq!(run(1000).0.history_stride, 2);
}

#[test]
fn the_report_is_a_readable_record() {
    let json = serde_json::to_value(run(2).0).unwrap();
    assert_eq!(json["status"], "iteration_limit");
    assert_eq!(json["evaluations"], 3);
}
