//! Geodesics against the independent reference: Dormand-Prince, the constrained leapfrog, scipy's counts.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Fixture, both};
use rayon::prelude::*;
use riemla::Control;
use riemla::geometry::{
    ConstrainedLeapfrog, Geodesic, Integrator, LossMetric, Metric as _, Status, exponential_map,
};
use riemla::linalg::vector::{distance, norm};
use riemla::objective::TwiceDifferentiable;
use riemla::ode::DormandPrince;

/// The four families of stored curves: prior and loss.
const FAMILIES: [(&str, bool); 4] = [("", false), ("", true), ("opt_", false), ("opt_", true)];

/// One stored curve at one scale.
#[derive(Clone, Copy)]
struct Case<'a> {
    fixture: &'a Fixture,
    objective: &'a (dyn TwiceDifferentiable + 'a),
    prefix: &'a str,
    kind: &'a str,
    tangent: usize,
    scale: usize,
}

impl Case<'_> {
    fn name(&self) -> String {
        format!("{} {}{}[{},{}]", self.fixture.name, self.prefix, self.kind, self.tangent, self.scale)
    }

    fn reference(&self) -> &[f64] {
        let k = self.fixture.network.dim();
        self.fixture.row(&format!("{}{}_end", self.prefix, self.kind), self.tangent * 5 + self.scale, k)
    }

    fn reference_error(&self) -> f64 {
        self.fixture.array(&format!("{}{}_err", self.prefix, self.kind))[self.tangent * 5 + self.scale]
    }

    fn run(&self, integrator: &Integrator) -> Geodesic {
        let f = self.fixture;
        let scale = f.array("scales")[self.scale];
        let tangent = f.row(&format!("{}V", self.prefix), self.tangent, f.network.dim());
        let v: Vec<f64> = tangent.iter().map(|v| scale * v).collect();
        let geodesic =
            exponential_map(self.objective, 1.0, integrator, f.array("theta"), &v, 0, Control::default())
                .unwrap();
        assert_eq!(geodesic.status, Status::Reached, "{}", self.name());
        geodesic
    }
}

/// Runs `check` on all stored curves at the given scales, in parallel.
fn for_all(scales: &[usize], check: impl Fn(Case<'_>) + Sync) {
    for fixture in &both() {
        for (prefix, linearized) in FAMILIES {
            let precision =
                fixture.scalar(&format!("prior_precision{}", if prefix.is_empty() { "" } else { "_opt" }));
            let objective: Box<dyn TwiceDifferentiable> = if linearized {
                Box::new(fixture.linearized(precision))
            } else {
                Box::new(fixture.loss(precision))
            };
            let kind = if linearized { "lin" } else { "geo" };
            let cases: Vec<(usize, usize)> =
                (0..5).flat_map(|i| scales.iter().map(move |&k| (i, k))).collect();
            let objective = &*objective;
            cases.into_par_iter().with_max_len(1).for_each(|(tangent, scale)| {
                check(Case { fixture, objective, prefix, kind, tangent, scale });
            });
        }
    }
}

#[test]
fn dormand_prince_meets_the_reference_at_every_scale() {
    // One curve of the 200 (snelson15 opt_geo, tangent 4, scale 1) amplifies errors so much that
    // rtol 1e-10 ends 1.9e-4 away where 7.3e-5 is allowed; scipy's RK45 ends at the same distance
    // (1.876e-4, and 2.5e-5 at rtol 1e-11). It has to meet the bound at the next tolerance.
    let repeated = AtomicUsize::new(0);
    for_all(&[4], |last| {
        if !meets_all_scales(last, 1e-10) {
            repeated.fetch_add(1, Ordering::Relaxed);
            assert!(meets_all_scales(last, 1e-11), "{} is off", last.name());
        }
    });
    assert!(repeated.into_inner() <= 1, "more than one curve needed rtol 1e-11");
}

/// Follows the curve through all stored scales: c(s) = Exp(sV), so one integration serves them all.
fn meets_all_scales(last: Case<'_>, rtol: f64) -> bool {
    let solver = DormandPrince { rtol, atol: 0.01 * rtol, ..DormandPrince::default() };
    let k = last.fixture.network.dim();
    let mut state = last.start();
    let mut time = 0.0;
    (0..5).all(|scale| {
        let case = Case { scale, ..last };
        let end = last.fixture.array("scales")[scale];
        case.integrate(&solver, (time, end), &mut state);
        time = end;
        let allowed = (1e-6 * norm(case.reference())).max(10.0 * case.reference_error());
        distance(&state[..k], case.reference()) <= allowed
    })
}

#[test]
fn constrained_leapfrog_converges_to_the_reference() {
    // Second order: a hundredth of the local tolerance (h³) is a step 4.6 times shorter and an end
    // error some 20 times smaller, where the curve itself does not amplify errors (scale 0.25).
    let leapfrog =
        |tolerance| Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(tolerance));
    for_all(&[0, 2], |case| {
        let start = case.fixture.array("theta");
        let length = distance(case.reference(), start);
        let error = |tolerance| distance(&case.run(&leapfrog(tolerance)).end, case.reference()) / length;
        let (coarse, fine) = (error(1e-8), error(1e-10));
        assert!(fine < 1e-4, "{}: relative error {fine:.2e} at tolerance 1e-10", case.name());
        assert!(fine < 0.2 * coarse || fine < 2e-6, "{}: {coarse:.2e} → {fine:.2e}", case.name());
    });
}

#[test]
fn exponential_map_by_dormand_prince_is_the_same_curve() {
    let solver = DormandPrince { rtol: 1e-8, atol: 1e-10, ..DormandPrince::default() };
    for_all(&[0, 1], |case| {
        let geodesic = case.run(&Integrator::DormandPrince(solver));
        let error = distance(&geodesic.end, case.reference());
        assert!(error <= 1e-6 * norm(case.reference()), "{}: off by {error:.2e}", case.name());
        assert!(geodesic.diagnostics.speed_drift < 1e-6, "{}: {:?}", case.name(), geodesic.diagnostics);
    });
}

#[test]
fn default_leapfrog_keeps_speed_and_loss() {
    for_all(&[0, 1, 2, 3, 4], |case| {
        let geodesic = case.run(&Integrator::default());
        let d = geodesic.diagnostics;
        let loss = case.objective.value(case.reference());
        // The speed is restored after every step; how far it was off says how well a step was solved.
        // Measured up to 1.2e-3.
        assert!(d.speed_correction > 0.0 && d.speed_correction < 2e-3, "{}: {d:?}", case.name());
        assert!(d.speed_drift < 1e-9, "{}: {d:?}", case.name());
        assert!((d.loss_end - loss).abs() < 0.01 * loss, "{}: {} for {loss}", case.name(), d.loss_end);
        assert!((d.loss_end - d.loss_start).abs() <= d.loss_bound * (1.0 + 1e-9), "{}: {d:?}", case.name());
        let stored = case.fixture.array(&format!("{}{}_speed2", case.prefix, case.kind))[case.tangent].sqrt();
        let speed = stored * case.fixture.array("scales")[case.scale];
        assert!((d.speed / speed - 1.0).abs() < 1e-9, "{}: speed {} for {speed}", case.name(), d.speed);
    });
}

/// scipy's evaluation counts, made by testdata/geodesic_counts.py.
fn scipy_counts() -> serde_json::Value {
    let path = common::root().join("testdata/geodesic_counts.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value
        .as_array()
        .map(|list| list.iter().filter_map(serde_json::Value::as_f64).collect())
        .unwrap_or_default()
}

impl Case<'_> {
    /// Position and velocity at the start of the stored curve.
    fn start(&self) -> Vec<f64> {
        let f = self.fixture;
        [f.array("theta"), f.row(&format!("{}V", self.prefix), self.tangent, f.network.dim())].concat()
    }

    /// Follows the geodesic equation by Dormand-Prince; returns the number of evaluations.
    fn integrate(&self, solver: &DormandPrince, (from, to): (f64, f64), state: &mut [f64]) -> f64 {
        let k = self.fixture.network.dim();
        let metric = LossMetric::new(self.objective, 1.0).unwrap();
        let mut rhs = |_: f64, y: &[f64], dy: &mut [f64]| {
            dy[..k].copy_from_slice(&y[k..]);
            metric.acceleration(&y[..k], &y[k..], &mut dy[k..]);
        };
        let report = solver.solve(&mut rhs, from, to, state, &mut |_, _, _| {}, Control::default());
        assert_eq!(report.status, Status::Reached);
        report.evaluations as f64
    }
}

#[test]
fn dormand_prince_counts_evaluations_like_scipy() {
    let counts = scipy_counts();
    let settings = [
        ("rtol1e-3_atol1e-6_t0.02", 1e-3, 1e-6, 0.02),
        ("rtol1e-6_atol1e-3_t0.02", 1e-6, 1e-3, 0.02),
        ("rtol1e-6_atol1e-6_t0.05", 1e-6, 1e-6, 0.05),
        ("rtol1e-8_atol1e-10_t0.25", 1e-8, 1e-10, 0.25),
    ];
    let compared = AtomicUsize::new(0);
    for_all(&[4], |case| {
        let family = &counts[case.fixture.name][format!("{}{}", case.prefix, case.kind)];
        for (name, rtol, atol, end) in settings {
            // Where a change of the tangent by 1e-13 changes scipy's own count, nobody can match it.
            if family["reproducible"][name][case.tangent] != true {
                continue;
            }
            let solver = DormandPrince { rtol, atol, ..DormandPrince::default() };
            let expected = numbers(&family[name])[case.tangent];
            let ours = case.integrate(&solver, (0.0, end), &mut case.start());
            assert!(
                (ours - expected).abs() <= 0.02 * expected,
                "{} {name}: {ours}, scipy {expected}",
                case.name()
            );
            compared.fetch_add(1, Ordering::Relaxed);
        }
    });
    let compared = compared.into_inner();
    assert!(compared >= 120, "only {compared} of 160 counts were comparable");
}

#[test]
fn whole_curves_cost_what_they_cost_scipy() {
    // To t = 1 at loose tolerances counts depend on rounding (see above), so the means over the
    // five tangents are compared with the range of scipy's own means under perturbations of 1e-13:
    // within 2 % of it on banana. On snelson15 single curves blow up at this tolerance (speed off by
    // up to 7000) and scipy's counts of one curve differ several-fold: only a factor of 3 is asked.
    let counts = scipy_counts();
    let ours = std::sync::Mutex::new(std::collections::BTreeMap::<(String, String), f64>::new());
    let solver = DormandPrince::default();
    for_all(&[4], |case| {
        let key = (case.fixture.name.to_string(), format!("{}{}", case.prefix, case.kind));
        let evaluations = case.integrate(&solver, (0.0, 1.0), &mut case.start());
        *ours.lock().unwrap().entry(key).or_default() += evaluations / 5.0;
    });
    for ((case, family), ours) in ours.into_inner().unwrap() {
        let stored = &counts[&case][&family];
        let mut means: Vec<f64> = vec![numbers(&stored["rtol1e-3_atol1e-6"]).iter().sum::<f64>() / 5.0];
        let perturbed = stored["nfev_perturbed"]["rtol1e-3_atol1e-6"].as_array().unwrap();
        means.extend(perturbed.iter().map(|row| numbers(row).iter().sum::<f64>() / 5.0));
        let (low, high) = means.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &m| (l.min(m), h.max(m)));
        let slack = if case == "banana" { 1.02 } else { 3.0 };
        assert!(ours >= low / slack && ours <= high * slack, "{case} {family}: {ours:.0}, scipy {means:?}");
    }
}
