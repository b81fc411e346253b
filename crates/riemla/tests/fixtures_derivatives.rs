//! Losses and their derivatives against the independent reference values, to 1e-9.

mod common;

use common::{assert_close, both};
use riemla::objective::{NetworkLoss, Objective, TwiceDifferentiable};

/// Value, gradient, vᵀHv and Hv of an objective, and the agreement of all ways to get them.
fn check(
    what: &str,
    objective: &dyn TwiceDifferentiable,
    theta: &[f64],
    v: &[f64],
    expected: (f64, &[f64], &[f64]),
) {
    let (value, gradient, hv) = expected;
    let mut g = vec![0.0; theta.len()];
    assert_close(&format!("{what} value"), &[objective.value(theta)], &[value], 1e-12);
    assert_close(&format!("{what} value"), &[objective.value_and_gradient(theta, &mut g)], &[value], 1e-12);
    assert_close(&format!("{what} gradient"), &g, gradient, 1e-9);
    let mut out = vec![0.0; theta.len()];
    objective.hvp(theta, v, &mut out);
    assert_close(&format!("{what} Hv"), &out, hv, 1e-9);
    let vhv: f64 = hv.iter().zip(v).map(|(a, b)| a * b).sum();
    assert_close(&format!("{what} vHv"), &[objective.curvature_along(theta, v)], &[vhv], 1e-9);
    assert_close(
        &format!("{what} fused vHv"),
        &[objective.gradient_and_curvature(theta, v, &mut g)],
        &[vhv],
        1e-9,
    );
    assert_close(&format!("{what} fused gradient"), &g, gradient, 1e-9);
    let mut probe = objective.probe();
    probe.set_line(theta, v);
    probe.value_on_line(0.3);
    assert_close(&format!("{what} probe"), &[probe.value_on_line(0.0)], &[value], 1e-12);
    probe.gradient(&mut g);
    assert_close(&format!("{what} probe gradient"), &g, gradient, 1e-9);
}

#[test]
fn loss_gradient_and_curvature() {
    for f in both() {
        let loss = f.loss(f.scalar("prior_precision"));
        let v = f.array("v");
        assert_close("loss", &[loss.value(f.array("theta"))], &[f.scalar("loss")], 1e-12);
        assert_close("log_lik", &[loss.log_likelihood(f.array("theta"))], &[f.scalar("log_lik")], 1e-12);
        assert_close("vHv at theta", &[loss.curvature_along(f.array("theta"), v)], &[f.scalar("vHv")], 1e-9);
        let expected = (f.scalar("loss_probe"), f.array("grad_probe"), f.array("Hv_probe"));
        check(f.name, &loss, f.array("theta_probe"), v, expected);
    }
}

#[test]
fn linearized_loss() {
    for f in both() {
        let loss = f.linearized(f.scalar("prior_precision"));
        let expected = (f.scalar("lin_loss_probe"), f.array("lin_grad_probe"), f.array("lin_Hv_probe"));
        check(&format!("{} linearised", f.name), &loss, f.array("theta_probe"), f.array("v"), expected);
    }
}

#[test]
fn batch_scaled_to_all_data() {
    for f in both() {
        let rows: Vec<usize> = f.array("sub_idx").iter().map(|&i| i as usize).collect();
        let prior = f.prior(f.scalar("prior_precision"));
        let loss = NetworkLoss::new(f.network.clone(), f.data.clone(), f.likelihood, prior)
            .and_then(|loss| loss.on_rows(&rows))
            .unwrap();
        assert!((loss.scale() - f.scalar("sub_scale")).abs() < 1e-15);
        let expected = (f.scalar("sub_loss_probe"), f.array("sub_grad_probe"), f.array("sub_Hv_probe"));
        check(&format!("{} batch", f.name), &loss, f.array("theta_probe"), f.array("v"), expected);
    }
}
