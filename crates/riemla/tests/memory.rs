//! The memory estimate of each structure against the bytes that a fit really allocates.

mod models;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure, Subset, memory_estimate};
use riemla::nn::{Activation, Network};
use riemla::objective::{Likelihood, Objective};

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// One test alone in this file: another at the same time would disturb the count.
#[test]
fn estimates_are_right_and_full_fits_are_lean() {
    let large = models::mlp(&[200, 300, 20, 3], Activation::Tanh);
    let small = models::mlp(&[10, 50, 20, 3], Activation::Tanh);
    for (network, structure, subset) in [
        (&small, Structure::Full, Subset::All),
        (&large, Structure::Full, Subset::LastLayer),
        (&large, Structure::Diagonal, Subset::All),
        (&large, Structure::Kronecker, Subset::All),
        (&large, Structure::LowRank { rank: 5 }, Subset::All),
        (&large, Structure::LowRank { rank: 60 }, Subset::All),
    ] {
        let loss = models::loss(network, Likelihood::Categorical, 300, 1.0);
        let theta = network.initialize(1);
        loss.value_and_gradient(&theta, &mut vec![0.0; theta.len()]);
        let config = LaplaceConfig {
            structure,
            subset: subset.clone(),
            prior: PriorChoice::Keep,
            ..Default::default()
        };
        let before = NOW.load(Relaxed);
        PEAK.store(before, Relaxed);
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        let real = (PEAK.load(Relaxed) - before) as f64;
        let estimate = memory_estimate(structure, network, laplace.gaussian.subset()).unwrap() as f64;
        // Passes through the network take a few megabytes that are not the structure's.
        let passes = 4e6;
        let ratio = (estimate + passes) / (real + passes);
        println!("{structure:?} {subset:?}: estimate {estimate:.2e}, real {real:.2e}");
        assert!(
            (0.5..2.0).contains(&ratio),
            "{structure:?} {subset:?}: estimate {estimate:.2e}, real {real:.2e}"
        );
    }
    a_full_fit_holds_little_more_than_two_matrices(&small);
}

/// The curvature, and the copy of it that gives the eigenvalues for the evidence.
fn a_full_fit_holds_little_more_than_two_matrices(network: &Arc<Network>) {
    let loss = models::loss(network, Likelihood::Categorical, 300, 1.0);
    let theta = network.initialize(1);
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    Laplace::fit(&loss, &theta, &LaplaceConfig::default(), Control::default()).unwrap();
    let matrices = (PEAK.load(Relaxed) - before) as f64 / 8.0 / (network.dim() as f64).powi(2);
    assert!(matrices < 2.5, "{matrices:.2} K² numbers at the peak");
}
