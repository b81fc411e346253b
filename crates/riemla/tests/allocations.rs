//! Evaluations in a loop do not allocate: buffers are made once and used again.

mod common;
mod models;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure};
use riemla::geometry::{ConstrainedLeapfrog, Integrator, LossGeometry, Status, exponential_map};
use riemla::nn::{Activation, Arithmetic};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, TwiceDifferentiable};
use riemla::ode::DormandPrince;
use riemla::posterior::HamiltonianChain;
use riemla::random::{Purpose, stream};

thread_local! {
    /// Allocations of this thread: tests that run at the same time do not disturb each other.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(mut f: impl FnMut()) -> usize {
    let before = COUNT.with(Cell::get);
    f();
    COUNT.with(Cell::get) - before
}

/// Panics if `f` still allocates after two calls.
#[track_caller]
fn assert_none(what: &str, mut f: impl FnMut()) {
    f();
    f();
    let count = allocations(|| (0..3).for_each(|_| f()));
    assert_eq!(count, 0, "{what} allocates {} times per call", count as f64 / 3.0);
}

fn check(what: &str, objective: &dyn TwiceDifferentiable, theta: &[f64]) {
    let v = models::normals(1, theta.len());
    let mut out = vec![0.0; theta.len()];
    assert_none(&format!("{what}: value"), || {
        objective.value(theta);
    });
    assert_none(&format!("{what}: value_and_gradient"), || {
        objective.value_and_gradient(theta, &mut out);
    });
    assert_none(&format!("{what}: curvature_along"), || {
        objective.curvature_along(theta, &v);
    });
    assert_none(&format!("{what}: gradient_and_curvature"), || {
        objective.gradient_and_curvature(theta, &v, &mut out);
    });
    assert_none(&format!("{what}: hvp"), || objective.hvp(theta, &v, &mut out));
    let mut probe = objective.probe();
    assert_none(&format!("{what}: probe"), || {
        probe.value(theta);
        probe.set_line(theta, &v);
        probe.value_on_line(0.01);
        probe.value_on_line(-0.01);
        probe.gradient(&mut out);
        probe.value_and_gradient_on_line(0.02, &mut out);
    });
}

/// Checks a loss and its linearisation.
fn check_both(what: &str, make: impl Fn() -> NetworkLoss) {
    let loss = make();
    let theta = loss.network().initialize(1);
    check(what, &loss, &theta);
    check(&format!("linearised {what}"), &LinearizedLoss::new(make(), &theta).unwrap(), &theta);
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![0u8; 100]))), 1);
    assert_eq!(allocations(|| ()), 0);
}

#[test]
fn losses_and_probes_do_not_allocate() {
    check_both("banana", || common::banana().loss(0.02));
    check_both("snelson", || common::snelson().loss(0.5));
    let cnn = models::network(&models::small_cnn());
    check_both("small CNN", || models::loss(&cnn, Likelihood::Categorical, 50, 1.0));
    for (what, spec) in [("sums", models::residual_mlp()), ("sums of images", models::residual_cnn())] {
        let network = models::network(&spec);
        check_both(what, || models::loss(&network, Likelihood::Categorical, 50, 1.0));
    }
    // 3 blocks of unequal sizes; and matrix products of a size that is no longer small.
    let wide = models::mlp(&[3, 300, 2], Activation::Tanh);
    check_both("several blocks", || models::loss(&wide, Likelihood::Categorical, 250, 1.0));
    let deep = models::mlp(&[50, 200, 200, 10], Activation::Gelu);
    // So large that idle threads help. Then the thread pool allocates for the work it hands over: one thread here.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let large = || models::loss(&deep, Likelihood::Categorical, 1000, 1.0);
    pool.install(|| check_both("large layers", large));
    let single = || large().multiplying_in(Arithmetic::Single).unwrap();
    pool.install(|| check_both("large layers in single precision", single));
}

/// Allocations and steps of one geodesic, after a first one that fills the pools.
fn geodesic_cost<'a>(
    objective: &dyn TwiceDifferentiable,
    geometry: impl Into<LossGeometry<'a>> + Copy,
    (theta, v): (&[f64], &[f64]),
    integrator: &Integrator,
) -> (usize, usize) {
    let mut steps = 0;
    let mut run = || {
        let geodesic =
            exponential_map(objective, geometry, integrator, theta, v, 0, Control::default()).unwrap();
        assert_eq!(geodesic.status, Status::Reached);
        steps = geodesic.counters.steps;
    };
    run();
    let count = allocations(run);
    (count, steps)
}

/// Panics if a geodesic with more steps allocates more often.
fn check_steps<'a>(
    objective: &dyn TwiceDifferentiable,
    geometry: impl Into<LossGeometry<'a>> + Copy,
    theta: &[f64],
    length: f64,
) {
    let v: Vec<f64> = models::normals(2, theta.len()).iter().map(|e| length * e).collect();
    let leapfrog =
        |tolerance| Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(tolerance));
    let dormand_prince =
        |rtol| Integrator::DormandPrince(DormandPrince { rtol, atol: 1e-3 * rtol, ..Default::default() });
    for (loose, tight) in [(leapfrog(1e-3), leapfrog(1e-5)), (dormand_prince(1e-3), dormand_prince(1e-6))] {
        let (few, many) = (
            geodesic_cost(objective, geometry, (theta, &v), &loose),
            geodesic_cost(objective, geometry, (theta, &v), &tight),
        );
        assert!(many.1 > few.1, "{} and {} steps", few.1, many.1);
        assert_eq!(few.0, many.0, "{} and {} steps", few.1, many.1);
        assert!(few.0 < 60, "{} allocations", few.0);
    }
}

#[test]
fn allocations_of_a_geodesic_do_not_grow_with_its_steps() {
    let f = common::banana();
    let theta = f.array("theta");
    let (exact, linearized) = (f.loss(0.02), f.linearized(0.02));
    for objective in [&exact as &dyn TwiceDifferentiable, &linearized] {
        check_steps(objective, 1.0, theta, 0.05);
    }
}

/// The default metric: every step goes through the precision, in any structure.
#[test]
fn nor_with_a_preconditioner() {
    let network = models::mlp(&[2, 6, 2], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 20, 0.4);
    let theta = network.initialize(1);
    for structure in
        [Structure::Full, Structure::Diagonal, Structure::Kronecker, Structure::LowRank { rank: 5 }]
    {
        let config = LaplaceConfig { prior: PriorChoice::Keep, structure, ..Default::default() };
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        let preconditioner = Some(laplace.gaussian.precision());
        check_steps(&loss, LossGeometry { strength: 0.5, preconditioner }, &theta, 1.0);
    }
}

/// Proposals of the chains that polish draws, accepted and rejected, with the mass matrices there are.
#[test]
fn proposals_of_a_chain_do_not_allocate() {
    let network = models::mlp(&[2, 6, 2], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 20, 0.4);
    let theta = network.initialize(1);
    let mut rng = stream(1, Purpose::Polish, 0);
    for structure in
        [Structure::Full, Structure::Diagonal, Structure::Kronecker, Structure::LowRank { rank: 5 }]
    {
        let config = LaplaceConfig { prior: PriorChoice::Keep, structure, ..Default::default() };
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        for mass in [None, Some(laplace.gaussian.precision())] {
            let mut chain = HamiltonianChain::new(&loss, mass, &theta).unwrap();
            assert_none(&format!("a proposal, {structure:?}"), || {
                chain.transition(0.1, 3, &mut rng);
                chain.transition(100.0, 3, &mut rng);
            });
        }
    }
}
