//! The laws of the contracts as reusable checks. They panic with the numbers when a law is broken.
//!
//! Call them in the tests of your own [`Objective`], [`Metric`], [`Precision`] or [`Layer`].

use crate::curvature::Precision;
use crate::geometry::Metric;
use crate::linalg::vector::{axpy, dot, norm};
use crate::nn::{At, Layer};
use crate::objective::{BlockTargets, Objective, OutputLoss, TwiceDifferentiable};
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

/// The law of a layer: adjoint identity, and all derivatives agree with finite differences.
///
/// `x` is an input block of `n` samples; for layers that are not smooth it should be away from
/// their kinks.
pub fn check_layer(layer: &dyn Layer, n: usize, params: &[f64], x: &[f64], seed: u64) {
    let mut rng = stream(seed, Purpose::Data, 9);
    let outputs = layer.output().len() * n;
    let forward = |params: &[f64], x: &[f64]| {
        let mut y = vec![f64::NAN; outputs];
        layer.forward(n, params, x, &mut y);
        y
    };
    let y = forward(params, x);
    let at = At { n, params, x, y: &y };
    let (v, dx) = (normals(&mut rng, params.len()), normals(&mut rng, x.len()));
    let d2x = normals(&mut rng, x.len());
    let (u, du) = (normals(&mut rng, outputs), normals(&mut rng, outputs));

    let mut dy = vec![f64::NAN; outputs];
    layer.tangent(at, &v, Some(&dx), &mut dy);
    let h = 1e-5;
    let by_difference = difference(|t| forward(&shifted(params, t, &v), &shifted(x, t, &dx)), h);
    assert_vectors("tangent", &dy, &by_difference, 1e-7, 1.0);

    let tangent_at = |t: f64| {
        let (params, x) = (shifted(params, t, &v), shifted(&shifted(x, t, &dx), t * t, &d2x));
        let y = forward(&params, &x);
        let mut out = vec![0.0; outputs];
        let velocity = shifted(&dx, 2.0 * t, &d2x);
        layer.tangent(At { n, params: &params, x: &x, y: &y }, &v, Some(&velocity), &mut out);
        out
    };
    let mut d2y = vec![f64::NAN; outputs];
    layer.second(at, &v, Some(&dx), Some(&d2x), &mut d2y);
    let half: Vec<f64> = difference(tangent_at, h).iter().map(|d| 0.5 * d).collect();
    assert_vectors("second Taylor coefficient", &d2y, &half, 1e-7, 1.0);

    let pull = |params: &[f64], x: &[f64], u: &[f64]| {
        let y = forward(params, x);
        let mut x_adjoint = vec![f64::NAN; x.len()];
        let mut gradient = vec![0.0; params.len()];
        layer.backward(At { n, params, x, y: &y }, u, Some(&mut x_adjoint), Some(&mut gradient));
        [x_adjoint, gradient].concat()
    };
    let pulled = pull(params, x, &u);
    let (left, right) = (dot(&u, &dy), dot(&pulled, &[dx.clone(), v.clone()].concat()));
    assert_vectors("adjoint identity <u, Jv> = <J'u, v>", &[left], &[right], 1e-11, 1.0);

    let mut dx_adjoint = vec![f64::NAN; x.len()];
    let mut d_gradient = vec![0.0; params.len()];
    layer.backward_tangent(at, &v, Some(&dx), &u, &du, Some(&mut dx_adjoint), &mut d_gradient);
    let moved = difference(|t| pull(&shifted(params, t, &v), &shifted(x, t, &dx), &shifted(&u, t, &du)), h);
    assert_vectors("tangent of the reverse pass", &[dx_adjoint, d_gradient].concat(), &moved, 1e-7, 1.0);

    let mut rows = vec![f64::NAN; params.len() * n];
    layer.per_sample_gradient(at, &u, &mut rows);
    let summed: Vec<f64> = rows.chunks_exact(n).map(|row| row.iter().sum()).collect();
    assert_vectors("sum of per-sample gradients", &summed, &pulled[x.len()..], 1e-11, 1.0);
    check_patches(layer, at);
}

/// The law of patches: W·p_t + b at every position is the output.
fn check_patches(layer: &dyn Layer, at: At<'_>) {
    let Some(positions) = layer.positions() else { return };
    let (n, fan_in) = (at.n, layer.fan_in());
    let outputs = at.y.len() / (positions * n);
    let (weights, bias) = at.params.split_at(outputs * fan_in);
    let mut patch = vec![f64::NAN; fan_in * n];
    let mut rebuilt = vec![f64::NAN; at.y.len()];
    for t in 0..positions {
        layer.patch(n, at.x, t, &mut patch);
        for o in 0..outputs {
            let y = &mut rebuilt[(o * positions + t) * n..][..n];
            y.fill(bias.get(o).copied().unwrap_or(0.0));
            for (w, p) in weights[o * fan_in..][..fan_in].iter().zip(patch.chunks_exact(n)) {
                axpy(*w, p, y);
            }
        }
    }
    assert_vectors("output from patches", &rebuilt, at.y, 1e-12, 1.0);
}

/// The law of a likelihood: residual, Λ and the third product are its derivatives, and Λ = SSᵀ.
pub fn check_likelihood(rule: &dyn OutputLoss, n: usize, outputs: usize, targets: &BlockTargets, seed: u64) {
    let mut rng = stream(seed, Purpose::Data, 10);
    let f = normals(&mut rng, outputs * n);
    let d = normals(&mut rng, outputs * n);
    let mut scratch = vec![0.0; (outputs + 1) * n];
    let mut evaluate = |f: &[f64]| {
        let mut residual = vec![f64::NAN; f.len()];
        let loss = rule.loss(n, f, targets, &mut residual, &mut scratch);
        (loss, residual)
    };
    let h = 1e-5;
    let (plus, minus) = (evaluate(&shifted(&f, h, &d)), evaluate(&shifted(&f, -h, &d)));
    let residual = evaluate(&f).1;
    assert_vectors("residual", &[dot(&residual, &d)], &[(plus.0 - minus.0) / (2.0 * h)], 1e-7, 1.0);
    let mut product = vec![f64::NAN; f.len()];
    rule.hessian_product(n, &f, &d, &mut product, &mut scratch);
    let by_difference: Vec<f64> = plus.1.iter().zip(&minus.1).map(|(p, m)| (p - m) / (2.0 * h)).collect();
    assert_vectors("hessian_product", &product, &by_difference, 1e-7, 1.0);
    let mut product_at = |t: f64| {
        let mut product = vec![f64::NAN; f.len()];
        rule.hessian_product(n, &shifted(&f, t, &d), &d, &mut product, &mut scratch);
        product
    };
    let by_difference: Vec<f64> =
        product_at(h).iter().zip(&product_at(-h)).map(|(p, m)| (p - m) / (2.0 * h)).collect();
    let mut third = vec![f64::NAN; f.len()];
    rule.third_product(n, &f, &d, &mut third, &mut scratch);
    assert_vectors("third_product", &third, &by_difference, 1e-7, 1.0);
    // Σⱼ Sⱼ(Sⱼᵀd) per sample must be Λd.
    let mut rebuilt = vec![0.0; f.len()];
    let mut column = vec![f64::NAN; f.len()];
    for j in 0..rule.factor_columns(outputs) {
        rule.factor(n, &f, j, &mut column, &mut scratch);
        for i in 0..n {
            let inner: f64 = (0..outputs).map(|c| column[c * n + i] * d[c * n + i]).sum();
            (0..outputs).for_each(|c| rebuilt[c * n + i] += column[c * n + i] * inner);
        }
    }
    assert_vectors("Λ = SSᵀ", &rebuilt, &product, 1e-11, 1e-3);
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
