//! Dormand-Prince against scipy's RK45: the same evaluations, steps and end values.
//!
//! Goldens: `testdata/scipy_rk45.json`, written by `testdata/scipy_rk45.py` (versions inside).

use riemla::Control;
use riemla::ode::{DormandPrince, Status};
use serde::Deserialize;

#[derive(Deserialize)]
struct Goldens {
    runs: Vec<Golden>,
}

#[derive(Deserialize)]
struct Golden {
    problem: String,
    t0: f64,
    t1: f64,
    start: Vec<f64>,
    rtol: f64,
    atol: f64,
    first_step: Option<f64>,
    nfev: usize,
    steps: usize,
    rejections: usize,
    end: Vec<f64>,
}

fn exponential(_: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = -y[0];
}

fn forced(t: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = -2.0 * t * y[0] + t.cos();
}

fn lotka_volterra(_: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = 1.5 * y[0] - y[0] * y[1];
    dy[1] = y[0] * y[1] - 3.0 * y[1];
}

fn van_der_pol(_: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = y[1];
    dy[1] = 10.0 * (1.0 - y[0] * y[0]) * y[1] - y[0];
}

fn arenstorf(_: f64, y: &[f64], dy: &mut [f64]) {
    let mu = 0.012277471;
    let nu = 1.0 - mu;
    let a = (y[0] + mu) * (y[0] + mu) + y[1] * y[1];
    let b = (y[0] - nu) * (y[0] - nu) + y[1] * y[1];
    let (d1, d2) = (a * a.sqrt(), b * b.sqrt());
    dy[0] = y[2];
    dy[1] = y[3];
    dy[2] = y[0] + 2.0 * y[3] - nu * (y[0] + mu) / d1 - mu * (y[0] - nu) / d2;
    dy[3] = y[1] - 2.0 * y[2] - nu * y[1] / d1 - mu * y[1] / d2;
}

fn right_hand_side(name: &str) -> fn(f64, &[f64], &mut [f64]) {
    match name {
        "exponential" => exponential,
        "forced" => forced,
        "lotka_volterra" => lotka_volterra,
        "van_der_pol" => van_der_pol,
        "arenstorf" => arenstorf,
        other => panic!("no problem named {other}"),
    }
}

/// Relative tolerance of end values: rounding differs (order of sums, fused products), and the
/// Arenstorf orbit passes the moon so closely that it magnifies differences by 10⁶ and more.
fn tolerance(problem: &str) -> f64 {
    if problem == "arenstorf" { 1e-6 } else { 1e-11 }
}

#[test]
fn evaluations_steps_and_end_values_are_scipys() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/scipy_rk45.json");
    let goldens: Goldens = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(goldens.runs.len() >= 40);
    for g in goldens.runs {
        let label = format!("{} to {} at rtol {:e}, atol {:e}", g.problem, g.t1, g.rtol, g.atol);
        let solver =
            DormandPrince { rtol: g.rtol, atol: g.atol, first_step: g.first_step, ..Default::default() };
        let mut y = g.start.clone();
        let mut rhs = right_hand_side(&g.problem);
        let report = solver.solve(&mut rhs, g.t0, g.t1, &mut y, &mut |_, _, _| {}, Control::default());
        assert_eq!(report.status, Status::Reached, "{label}");
        let counts = (report.evaluations, report.steps, report.rejections);
        assert_eq!(counts, (g.nfev, g.steps, g.rejections), "{label}");
        for (mine, scipys) in y.iter().zip(&g.end) {
            let deviation = (mine - scipys).abs() / (1.0 + scipys.abs());
            assert!(deviation < tolerance(&g.problem), "{label}: {mine} and {scipys}, {deviation:e}");
        }
    }
}
