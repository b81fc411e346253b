//! The examples run, and their own objectives obey the laws.

#[path = "../examples/banana_density.rs"]
#[allow(dead_code)] // `main` is for `cargo run --example`
mod banana_density;
#[path = "../examples/logistic_regression.rs"]
#[allow(dead_code)]
mod logistic_regression;

use banana_density::{Banana, VELOCITIES, geodesic, integrators};
use logistic_regression::{Logistic, compare};
use riemla::geometry::{Integrator, Status};
use riemla::testing::{assert_vectors, check_twice_differentiable};

#[test]
fn banana_obeys_the_law() {
    for theta in [[0.0, 0.0], [1.3, 0.7], [-0.4, 2.0]] {
        check_twice_differentiable(&Banana { width: 0.2 }, &theta, 1);
    }
}

#[test]
fn both_integrators_find_the_same_banana_geodesics() {
    let banana = Banana { width: 0.2 };
    for v in &VELOCITIES {
        let [leapfrog, dormand_prince] =
            integrators().map(|(_, integrator)| geodesic(&banana, &integrator, v, 0).unwrap());
        assert_eq!((leapfrog.status, dormand_prince.status), (Status::Reached, Status::Reached));
        assert_vectors("end points", &leapfrog.end, &dormand_prince.end, 1e-3, 0.0);
        let d = leapfrog.diagnostics;
        assert!((d.loss_end - d.loss_start).abs() <= d.loss_bound, "{d:?}");
    }
}

#[test]
fn the_recorded_path_starts_at_the_mode_and_ends_at_the_end() {
    let g = geodesic(&Banana { width: 0.2 }, &Integrator::default(), &[2.0, 0.0], 11).unwrap();
    let (first, last) = (&g.path[0], &g.path[10]);
    assert_eq!((g.path.len(), first.t, last.t), (11, 0.0, 1.0));
    assert_eq!(first.theta, [0.0, 0.0]);
    assert_vectors("end of the path", &last.theta, &g.end, 1e-12, 0.0);
}

#[test]
fn logistic_regression_obeys_the_law() {
    let model = Logistic::generate(20, 0.1, 1);
    for theta in [[0.0, 0.0], [2.0, 2.4], [-30.0, 50.0]] {
        check_twice_differentiable(&model, &theta, 2);
    }
}

#[test]
fn a_stronger_metric_gives_narrower_draws_and_all_geodesics_finish() {
    let rows = compare(Logistic::generate(20, 0.1, 1)).unwrap();
    // Exact, Laplace, then the strengths 1, 0.3, 0.1: from Laplace down the list, weaker is wider.
    for k in 0..2 {
        let spread: Vec<f64> = rows.iter().map(|row| row.deviation[k]).collect();
        assert!(spread[2] < spread[3] && spread[3] < spread[4] && spread[4] < spread[1], "{spread:?}");
    }
    for row in &rows[1..] {
        assert!(row.name.contains("(1000 of 1000)"), "{}", row.name);
    }
    let virial: Vec<f64> = rows[1..5].iter().filter_map(|row| row.virial).collect();
    assert!(virial[0] > virial[3] && virial[3] > virial[2] && virial[2] > virial[1], "{virial:?}");
}

#[test]
fn both_reports_are_complete() {
    let banana = banana_density::run().unwrap();
    assert_eq!(banana.lines().count(), 1 + 2 * VELOCITIES.len() + 3 + 11);
    assert_eq!(logistic_regression::run().unwrap().lines().count(), 7);
}
