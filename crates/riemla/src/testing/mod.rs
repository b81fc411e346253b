//! The laws of the contracts as reusable checks. They panic with the numbers when a law is broken.
//!
//! Call them in the tests of your own [`Objective`], [`Metric`] or [`Precision`].

#[cfg(test)]
mod layers;
#[cfg(test)]
mod likelihoods;

use crate::curvature::Precision;
use crate::geometry::Metric;
use crate::linalg::vector::{axpy, dot, norm};
use crate::objective::{Objective, TwiceDifferentiable};
use crate::random::{Purpose, Rng, fill_normal, stream};

fn normals(rng: &mut Rng, len: usize) -> Vec<f64> {
    let mut v = vec![0.0; len];
    fill_normal(rng, &mut v);
    v
}

fn shifted(x: &[f64], t: f64, d: &[f64]) -> Vec<f64> {
    let mut y = x.to_vec();
    axpy(t, d, &mut y);
    y
}

/// Panics unless the vectors agree relative to the larger one (and to `floor`).
#[track_caller]
pub fn assert_vectors(what: &str, a: &[f64], b: &[f64], tolerance: f64, floor: f64) {
    let size = norm(a).max(norm(b)).max(floor);
    let error = crate::linalg::vector::distance(a, b) / size;
    assert!(error <= tolerance, "{what}: relative difference {error:.3e} above {tolerance:.0e}");
}

/// Central difference (f(h) − f(−h))/2h of a vector function.
fn difference(f: impl Fn(f64) -> Vec<f64>, h: f64) -> Vec<f64> {
    let (plus, minus) = (f(h), f(-h));
    plus.iter().zip(&minus).map(|(p, m)| (p - m) / (2.0 * h)).collect()
}

/// The law of an objective at a point: value and gradient agree with each other, with finite
/// differences, and with what a probe says.
pub fn check_objective<O: Objective + ?Sized>(objective: &O, theta: &[f64], seed: u64) {
    let mut rng = stream(seed, Purpose::Data, 11);
    let v = normals(&mut rng, objective.dim());
    let mut gradient = vec![f64::NAN; objective.dim()];
    let value = objective.value_and_gradient(theta, &mut gradient);
    assert_vectors("value", &[objective.value(theta)], &[value], 1e-12, 1.0);
    let h = 1e-5 / norm(&v);
    let slope = difference(|t| vec![objective.value(&shifted(theta, t, &v))], h);
    assert_vectors("gradient", &[dot(&gradient, &v)], &slope, 1e-6, 1.0);
    let mut probe = objective.probe();
    let mut from_probe = vec![f64::NAN; objective.dim()];
    probe.set_line(theta, &v);
    let at = probe.value_on_line(0.1);
    assert_vectors("probe on a line", &[at], &[objective.value(&shifted(theta, 0.1, &v))], 1e-10, 1.0);
    assert_vectors("probe back at the base", &[probe.value_on_line(0.0)], &[value], 1e-12, 1.0);
    probe.gradient(&mut from_probe);
    assert_vectors("probe gradient", &from_probe, &gradient, 1e-11, 1e-6);
    assert_vectors("probe value", &[probe.value(theta)], &[value], 1e-12, 1.0);
    let mut gradient_at = vec![f64::NAN; objective.dim()];
    objective.value_and_gradient(&shifted(theta, 0.1, &v), &mut gradient_at);
    let both = probe.value_and_gradient_on_line(0.1, &mut from_probe);
    assert_vectors("probe, value with its gradient", &[both], &[at], 1e-12, 1.0);
    assert_vectors("probe, gradient with its value", &from_probe, &gradient_at, 1e-10, 1e-6);
    from_probe.fill(f64::NAN);
    probe.gradient(&mut from_probe);
    assert_vectors("probe, the same gradient again", &from_probe, &gradient_at, 1e-10, 1e-6);
}

/// The law of second derivatives: Hv is the derivative of the gradient, symmetric, and
/// consistent with vᵀHv.
pub fn check_twice_differentiable<O: TwiceDifferentiable + ?Sized>(objective: &O, theta: &[f64], seed: u64) {
    check_objective(objective, theta, seed);
    assert!(
        objective.second_derivatives().is_some(),
        "second_derivatives is None: nobody would find these derivatives; return Some(self)"
    );
    let mut rng = stream(seed, Purpose::Data, 12);
    let k = objective.dim();
    let (v, w) = (normals(&mut rng, k), normals(&mut rng, k));
    let product = |v: &[f64]| {
        let mut out = vec![f64::NAN; k];
        objective.hvp(theta, v, &mut out);
        out
    };
    let gradient = |t: f64| {
        let mut g = vec![0.0; k];
        objective.value_and_gradient(&shifted(theta, t, &v), &mut g);
        g
    };
    let (hv, hw) = (product(&v), product(&w));
    assert_vectors("Hv", &hv, &difference(gradient, 1e-5 / norm(&v)), 1e-6, 1.0);
    assert_vectors("symmetry of H", &[dot(&w, &hv)], &[dot(&v, &hw)], 1e-10, 1.0);
    assert_vectors("curvature_along", &[objective.curvature_along(theta, &v)], &[dot(&v, &hv)], 1e-10, 1.0);
    let mut g = vec![f64::NAN; k];
    let fused = objective.gradient_and_curvature(theta, &v, &mut g);
    assert_vectors("fused curvature", &[fused], &[dot(&v, &hv)], 1e-10, 1.0);
    assert_vectors("fused gradient", &g, &gradient(0.0), 1e-11, 1e-6);
}

/// The law of a precision, against its dense matrix built from `mul`.
pub fn check_precision(precision: &dyn Precision, seed: u64) {
    let mut rng = stream(seed, Purpose::Data, 13);
    let k = precision.dim();
    let x = normals(&mut rng, k);
    let mut px = vec![f64::NAN; k];
    precision.mul(&x, &mut px);
    let mut back = px.clone();
    precision.solve(&mut back);
    assert_vectors("solve(mul(x))", &back, &x, 1e-9, 1e-12);
    // SSᵀP = I: the columns of S, applied to the unit vectors.
    let mut rebuilt = vec![0.0; k];
    let mut log_det_dense = crate::linalg::Matrix::zeros(k, k);
    for j in 0..k {
        let mut unit = vec![0.0; k];
        unit[j] = 1.0;
        precision.mul(&unit, log_det_dense.column_mut(j));
        precision.sqrt_solve(&mut unit);
        axpy(dot(&unit, &px), &unit, &mut rebuilt);
    }
    assert_vectors("SSᵀPx = x", &rebuilt, &x, 1e-9, 1e-12);
    let mut through = px.clone();
    precision.sqrt_solve_transpose(&mut through);
    precision.sqrt_solve(&mut through);
    assert_vectors("S(Sᵀ(Px)) = x", &through, &x, 1e-9, 1e-12);
    let quadratic = precision.inverse_quadratic(&mut px.clone(), 1);
    assert_vectors("inverse_quadratic", &quadratic, &[dot(&px, &x)], 1e-9, 1e-12);
    match crate::linalg::factor::symmetric_eigenvalues("P", &log_det_dense) {
        Ok(values) => {
            let log_det: f64 = values.iter().map(|v| v.ln()).sum();
            assert_vectors("log_det", &[precision.log_det()], &[log_det], 1e-9, 1.0);
        }
        Err(error) => panic!("{error}"),
    }
}

/// The law of a metric: d/dt ⟨ċ, M(c)ċ⟩ = 0 along a curve with the metric's acceleration.
pub fn check_metric(metric: &dyn Metric, theta: &[f64], v: &[f64]) {
    let mut acceleration = vec![f64::NAN; metric.dim()];
    metric.acceleration(theta, v, &mut acceleration);
    let energy = |t: f64| {
        let position = shifted(&shifted(theta, t, v), 0.5 * t * t, &acceleration);
        let velocity = shifted(v, t, &acceleration);
        vec![metric.inner(&position, &velocity, &velocity)]
    };
    let start = energy(0.0)[0];
    let change = difference(energy, 1e-5)[0];
    assert!(change.abs() <= 1e-6 * start, "speed² {start:.3e} changes at rate {change:.3e}");
}

/// Panics unless errors fall with the step like `expected` (least-squares slope in log-log).
pub fn check_order(steps: &[f64], errors: &[f64], expected: f64, tolerance: f64) {
    let n = steps.len() as f64;
    let (x, y): (Vec<f64>, Vec<f64>) = steps.iter().zip(errors).map(|(h, e)| (h.ln(), e.ln())).unzip();
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let covariance: f64 = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum();
    let order = covariance / x.iter().map(|a| (a - mx) * (a - mx)).sum::<f64>();
    assert!(
        (order - expected).abs() <= tolerance,
        "observed order {order:.3}, expected {expected}: {errors:?}"
    );
}
