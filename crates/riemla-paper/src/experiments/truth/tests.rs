//! The comparison with the truth, where the answer is known.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::super::cell::{Drawn, Wanted};
use super::super::fit;
use super::super::fitted::{Fitted, Ready};
use super::super::layout::set_directory;
use super::super::record::{CellKey, Records};
use super::super::rows::rows;
use super::super::{Entry, Experiment, PriorName, Request, Setting, builtin, run, write_report};
use super::chains;
use super::density::Density;
use super::distance::{Distances, Truth};
use super::plan::ChainPlan;
use super::plane::Plane;
use super::target::Target;
use crate::datasets::{DataDirs, load};
use riemla_workflow::watch::{Session, Silent};

static STOP: AtomicBool = AtomicBool::new(true);

fn key(entry: &str) -> CellKey {
    let Entry { method, setting } = entry.parse().expect("a method");
    CellKey {
        experiment: "truth".into(),
        problem: "p".into(),
        seed: 3,
        prior: PriorName::Given,
        setting: setting.unwrap_or(Setting::ANY),
        method,
    }
}

fn wanted<'a>(target: &'a dyn Target, set: &'a Path, samples: u64) -> Wanted<'a> {
    Wanted { set, seed: 3, samples, origin: &target.made_from().draws, session: Session::silent() }
}

fn drawn(target: &dyn Target, entry: &str, samples: u64) -> Drawn {
    let out = tempfile::tempdir().expect("a directory");
    let key = key(entry);
    target.draws(&key, &wanted(target, &set_directory(out.path(), &key), samples)).expect("draws")
}

fn thetas(drawn: &Drawn) -> Vec<&[f64]> {
    drawn.draws.iter().map(|draw| draw.theta.as_slice()).collect()
}

fn distances(plane: &Plane, truth: &Truth, thetas: &[&[f64]]) -> (f64, f64) {
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
        let (own, null) = distances(&plane, &truth, &super::distance::slices(&density.exact(2, 500)));
        assert!(own < 2.0 * null, "{density:?}: {own} against {null}");
        let (far, null) = distances(&plane, &truth, &thetas(&drawn(&plane, "la", 500)));
        assert!(far > 4.0 * null, "{density:?}: {far} against {null}");
    }
}

#[test]
fn rules_are_met_on_planes_or_it_is_said_that_they_are_not() {
    let plane = Plane::new(Density::Funnel).expect("a plane");
    let virial = drawn(&plane, "riem-la virial", 60);
    let found = virial.made.found.as_ref().expect("a search");
    assert_eq!(found.status, riemla::posterior::SearchStatus::Converged);
    // The strength lies between trials whose pilots are too high and too low; sixty draws of a funnel have another mean.
    let trials =
        |high: bool| found.trials.iter().filter(move |(_, ratio)| ratio.is_some_and(|r| (r > 1.0) == high));
    let (weak, strong) = (trials(true).map(|t| t.0), trials(false).map(|t| t.0));
    let (weakest, strongest) = (weak.fold(f64::MAX, f64::min), strong.fold(0.0, f64::max));
    assert!(weakest < found.strength && found.strength < strongest, "{found:?}");
    assert_eq!(virial.draws.len(), 60);
    let given = drawn(&plane, "riem-la a=1", 60);
    let given_gradients = given.gradients();
    assert_eq!((given.made.strength, given.made.found), (Some(1.0), None));
    // Polish begins at the same draws, and its gradients count.
    let polished = drawn(&plane, "riem-la a=1 polish=40", 60);
    assert!(polished.made.polish.is_some() && polished.search_gradients() > 0);
    assert!(
        polished.gradients() > given_gradients + 60 * 20,
        "{given_gradients} and {}",
        polished.gradients()
    );
    // Methods without a place here.
    let takes = |name: &str| Plane::takes(name.parse().expect("a method"));
    assert!(takes("la") && takes("riem-la a=1") && takes("riem-la preconditioned typical polish=9"));
    assert!(takes("mclmc step=0.1") && takes("la polish=10"));
    for name in ["lin-la", "riem-la fisher", "riem-la held-out", "lin-riem-la virial", "swag", "ensemble"] {
        assert!(!takes(name), "{name}");
    }
}

/// A logistic regression is log-concave: 4000 draws are plenty, 80 are not.
#[test]
fn chains_converge_on_a_logistic_regression_and_say_when_they_are_too_short() {
    let out = tempfile::tempdir().expect("a directory");
    let experiment = builtin("truth").expect("built in");
    let problem = &experiment.problems[0];
    let rows = rows(problem, &load(&problem.data, &DataDirs::new(None)).expect("data"), 3).expect("rows");
    let fit = fit::fit(out.path(), problem, &rows, 3, PriorName::Given, Session::silent()).expect("a fit");
    let ready = Ready { experiment: &experiment, problem, strange: Vec::new() };
    let target = Fitted::new(&ready, &rows, &fit, PriorName::Given).expect("an approximation");
    let set = set_directory(out.path(), &key("nuts"));
    let summary = |warmup, draws| {
        let plan = ChainPlan { chains: 4, warmup, draws };
        let drawn = chains::run(&target, &plan, None, &wanted(&target, &set, 2)).expect("chains");
        assert!(drawn.draws.len() == 4 * draws && drawn.gradients() > 4 * draws);
        drawn.chains.expect("a summary")
    };
    assert!(summary(500, 1000).converged, "{:?}", summary(500, 1000));
    assert!(!summary(50, 20).converged);
    // The rival that is not corrected has a summary, too.
    let plan = ChainPlan { chains: 4, warmup: 200, draws: 200 };
    let drawn = chains::run(&target, &plan, Some(0.2), &wanted(&target, &set, 2)).expect("chains");
    assert!(drawn.draws.len() == 800 && drawn.chains.is_some_and(|chains| chains.gradients > 800));
}

fn request(out: &Path, experiment: Experiment) -> Request {
    let (presets, priors) = (Vec::new(), PriorName::ALL.to_vec());
    let (experiments, data) = (vec![experiment], DataDirs::new(None));
    Request { experiments, quick: true, presets, priors, out: out.into(), data, shard: None }
}

#[test]
fn a_stop_leaves_nothing_half_done_and_what_is_done_is_not_done_again() {
    let out = tempfile::tempdir().expect("a directory");
    let mut experiment = builtin("truth").and_then(|e| e.resolve(true)).expect("built in");
    experiment.problems.truncate(1);
    experiment.methods = ["la", "riem-la virial"].map(|name| name.parse().expect("a method")).into();
    let mut request = request(out.path(), experiment);
    let stopped = run(&request, Session::new(&STOP, &Silent)).expect("an outcome");
    assert!(stopped.interrupted);
    assert!(Records::open(out.path()).expect("opens").as_slice().is_empty());
    let read = || std::fs::read(out.path().join("runs.jsonl")).expect("records");
    let outcome = run(&request, Session::silent()).expect("an outcome");
    assert!(!outcome.interrupted && outcome.failures.is_empty(), "{:?}", outcome.failures);
    let first = read();
    let records = Records::open(out.path()).expect("opens");
    // Two densities and one network, with chains and two methods each.
    assert_eq!(records.as_slice().len(), 9);
    let of = |problem: &str, entry: &str| CellKey { problem: problem.into(), seed: 0, ..key(entry) };
    let logistic = records.get(&of("logistic 2-D", "nuts")).expect("a record");
    let truth = logistic.truth.expect("numbers");
    assert!(!truth.exact_truth && truth.distances.weights.is_none() && truth.nll.is_some());
    run(&request, Session::silent()).expect("an outcome");
    assert_eq!(read(), first);
    // What is made of other settings is made again, and the others stay.
    request.experiments[0].samples += 5;
    run(&request, Session::silent()).expect("an outcome");
    let records = Records::open(out.path()).expect("opens");
    let la = records.get(&of("funnel", "la")).expect("a record");
    assert_eq!((la.samples, records.as_slice().len()), (request.experiments[0].samples, 9));
    // Distances depend on the chains: with others all of a target are made again.
    let distances = |records: &Records| {
        let numbers = records.get(&of("logistic 2-D", "la")).and_then(|record| record.truth);
        numbers.expect("numbers").distances
    };
    let before = distances(&records);
    request.experiments[0].truth.iter_mut().for_each(|plan| plan.chains.warmup += 50);
    run(&request, Session::silent()).expect("an outcome");
    assert_ne!(distances(&Records::open(out.path()).expect("opens")), before);
    // Several seeds are averaged, and the numbers are no tables of the paper.
    request.experiments[0].seeds = 2;
    run(&request, Session::silent()).expect("an outcome");
    let page = write_report(out.path(), &request.data).expect("a report");
    let html = std::fs::read_to_string(page).expect("a page");
    for part in ["Closest methods", "riem-la virial", "did not converge", "<svg"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("The paper's claims") && !out.path().join("results.md").exists());
    let csv = std::fs::read_to_string(out.path().join("truth.csv")).expect("a table");
    let draws = 2 * request.experiments[0].samples;
    assert!(csv.lines().any(|line| line.starts_with(&format!("funnel,la,2,{draws},0,"))), "{csv}");
}

#[test]
fn mistakes_in_the_file_are_named() {
    let good = builtin("truth").expect("built in").to_toml();
    for (from, to, part) in [
        ("samples = 200", "sampels = 200", "sampels"),
        ("members = 10", "members = 1", "at least 2"),
        ("\"given\"", "\"fixed\"", "given"),
        ("\"la\"", "\"map\"", "map cannot be compared with the truth"),
        ("\"riem-la a=1\"", "\"riem-la\"", "riem-la cannot"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = Experiment::parse("truth.toml", &good.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains("truth.toml") && error.contains(part), "{to}: {error}");
    }
    let banana = builtin("banana").expect("built in").to_toml().replacen("\"la\"", "\"nuts\"", 1);
    let error = Experiment::parse("banana.toml", &banana).expect_err("not a posterior").to_string();
    assert!(error.contains("nuts is for experiments with a [truth]"), "{error}");
}
