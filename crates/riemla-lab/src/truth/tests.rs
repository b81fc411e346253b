//! The comparison with the truth, where the answer is known.

use std::sync::atomic::AtomicBool;

use super::chains;
use super::density::Density;
use super::distance::{Distances, Truth};
use super::network::NetworkTarget;
use super::plan::{ChainPlan, TruthPlan};
use super::plane::Plane;
use super::record::TruthRecords;
use super::run::{TruthRequest, run};
use super::target::{Target as _, Wanted};
use crate::datasets::DataDirs;
use crate::method::MethodName;
use crate::setting::Entry;
use crate::watch::Silent;

static GO: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(true);

fn wanted(contender: &str, samples: u64) -> Wanted<'static> {
    let contender = contender.parse().expect("a method");
    Wanted { contender, samples, members: 2, seed: 3, stop: &GO }
}

fn distances(plane: &Plane, truth: &Truth, thetas: &[Vec<f64>]) -> (f64, f64) {
    let Distances { weights, weights_null, .. } = truth.distances(plane, thetas, false).expect("distances");
    (weights.expect("a distance"), weights_null.expect("a null"))
}

/// Exact draws of another seed are about as far as the null says; the Laplace approximation, which does not
/// bend, is not. The factor 2 is three to four deviations of such a distance (fixed seeds).
#[test]
fn exact_draws_are_as_close_as_the_null_and_straight_ones_are_not() {
    for density in [Density::Banana, Density::Funnel] {
        let plane = Plane::new(density).expect("a plane");
        let truth = Truth::new(&plane, plane.exact(1, 4000).expect("exact")).expect("truth");
        let (own, null) = distances(&plane, &truth, &density.exact(2, 500));
        assert!(own < 2.0 * null, "{density:?}: {own} against {null}");
        let straight = plane.draws(&wanted("la", 500)).expect("draws").expect("la has a place here");
        let (far, null) = distances(&plane, &truth, &straight.thetas);
        assert!(far > 4.0 * null, "{density:?}: {far} against {null}");
    }
}

#[test]
fn rules_are_met_on_planes_or_it_is_said_that_they_are_not() {
    let plane = Plane::new(Density::Funnel).expect("a plane");
    let drawn = |name: &str| plane.draws(&wanted(name, 60)).expect("draws").expect("a place");
    let virial = drawn("riem-la virial");
    assert_eq!(virial.rule_met, Some(true));
    let thetas: Vec<&[f64]> = virial.thetas.iter().map(Vec::as_slice).collect();
    let ratio = riemla::posterior::virial_ratio(&Density::Funnel, &Density::Funnel.mode(), &thetas);
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(virial.search.gradients > virial.counters.gradients);
    let given = drawn("riem-la a=1");
    assert_eq!((given.strength, given.rule_met, given.search.gradients), (Some(1.0), None, 0));
    // Methods without a place here.
    for name in ["lin-la", "riem-la fisher", "riem-la held-out", "swag", "ensemble"] {
        assert!(plane.draws(&wanted(name, 4)).expect("no mistake").is_none(), "{name}");
    }
}

/// A logistic regression is log-concave: 2000 draws are plenty, 80 are not.
#[test]
fn chains_converge_on_a_logistic_regression_and_say_when_they_are_too_short() {
    let out = tempfile::tempdir().expect("a directory");
    let problem = TruthPlan::builtin().expect("built in").problems.remove(0);
    let (data, wanted) = (DataDirs::new(None), wanted("nuts", 2));
    let target = NetworkTarget::new(&problem, (out.path(), &data), &wanted, &Silent).expect("a target");
    let plan = |warmup, draws| ChainPlan { chains: 4, warmup, draws };
    let (drawn, summary) = chains::run(&target, &plan(500, 500), &wanted).expect("chains");
    assert!(summary.converged, "{summary:?}");
    assert!(drawn.thetas.len() == 2000 && drawn.counters.gradients > 2000);
    let (_, summary) = chains::run(&target, &plan(50, 20), &wanted).expect("chains");
    assert!(!summary.converged, "{summary:?}");
}

#[test]
fn a_stop_leaves_nothing_half_done_and_what_is_done_is_not_done_again() {
    let out = tempfile::tempdir().expect("a directory");
    let text = TruthPlan::builtin().expect("built in").shrunk().to_toml();
    let mut plan = TruthPlan::parse("plan", &text).expect("reads");
    plan.problems.truncate(1);
    plan.contenders = ["la", "riem-la virial"].map(|name| name.parse::<Entry>().expect("a method")).into();
    let request = TruthRequest { plan, out: out.path().into(), data: DataDirs::new(None) };
    let stopped = run(&request, &STOP, &Silent).expect("an outcome");
    assert!(stopped.interrupted);
    assert!(TruthRecords::open(out.path()).expect("opens").as_slice().is_empty());
    let read = || std::fs::read(out.path().join("truth.jsonl")).expect("records");
    let outcome = run(&request, &GO, &Silent).expect("an outcome");
    assert!(!outcome.interrupted && outcome.failures.is_empty(), "{:?}", outcome.failures);
    let first = read();
    let records = TruthRecords::open(out.path()).expect("opens");
    // Two densities and one network, with chains and two methods each.
    assert_eq!(records.as_slice().len(), 9);
    let logistic = records.get("logistic 2-D", MethodName::Nuts.into()).expect("a record");
    assert!(!logistic.exact_truth && logistic.distances.weights.is_none() && logistic.nll.is_some());
    run(&request, &GO, &Silent).expect("an outcome");
    assert_eq!(read(), first);
    // What is made of other settings is made again, and the others stay.
    let mut more = request.clone();
    more.plan.samples += 5;
    run(&more, &GO, &Silent).expect("an outcome");
    let records = TruthRecords::open(out.path()).expect("opens");
    let la = records.get("funnel", "la".parse().expect("a method")).expect("a record");
    assert_eq!((la.draws, records.as_slice().len()), (more.plan.samples, 9));
    let page = super::write_truth_report(out.path()).expect("a report");
    let html = std::fs::read_to_string(page).expect("a page");
    assert!(html.contains("riem-la virial") && html.contains("did not converge") && html.contains("<svg"));
}
