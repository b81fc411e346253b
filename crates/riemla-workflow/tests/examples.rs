//! The example of a density of one's own runs, resumes, and notices what has changed; so do its chains of NUTS.

#[path = "../examples/own_density.rs"]
#[allow(dead_code)] // `main` is for `cargo run --example`
mod own_density;

use own_density::{Banana, sample};
use riemla::posterior::{Method, PosteriorConfig};
use riemla::reference::{Nuts, Reference, Swag};
use riemla::testing::check_objective;
use riemla_workflow::workflow::Taken;

fn riem_la() -> PosteriorConfig {
    PosteriorConfig::new(Method::RiemLa)
}

#[test]
fn a_density_of_ones_own_is_drawn_stored_and_resumed() {
    check_objective(&Banana, &[0.7, -0.2], 1);
    let folder = tempfile::tempdir().expect("a directory");
    let [set, other] = ["draws", "other"].map(|name| folder.path().join(name));
    let few = sample(&set, riem_la(), 1, 8).expect("draws");
    assert_eq!((few.draws.len(), few.new), (8, 8));
    assert!(few.diagnosis.summary.strength.is_some_and(|strength| strength > 0.0), "it is calibrated");
    let again = sample(&set, riem_la(), 1, 8).expect("draws");
    assert_eq!((again.draws, again.new), (few.draws.clone(), 0));
    let more = sample(&set, riem_la(), 1, 30).expect("draws");
    assert_eq!((more.draws.len(), more.new, &more.draws[..8]), (30, 22, &few.draws[..]));
    assert_eq!(sample(&other, riem_la(), 1, 30).expect("draws").draws, more.draws);
    let error = sample(&set, riem_la(), 2, 8).expect_err("another seed").to_string();
    assert!(error.contains("seed was 1, but is 2 now"), "{error}");
}

/// x is standard normal, y has mean 1: 4 chains of 500 draws against their Monte Carlo errors at about 4 of them.
#[test]
fn chains_of_a_density_of_ones_own_are_stored_and_go_on() {
    let folder = tempfile::tempdir().expect("a directory");
    let set = folder.path().join("nuts");
    let nuts = || Reference::Nuts(Nuts { warmup: 500, ..Nuts::default() });
    let few = sample(&set, nuts(), 1, 100).expect("draws");
    let all = sample(&set, nuts(), 1, 2000).expect("draws");
    assert_eq!((all.draws.len(), &all.draws[..100]), (2000, &few.draws[..]));
    let mean = |k: usize| all.draws.iter().map(|draw| draw.theta[k]).sum::<f64>() / 2000.0;
    assert!(mean(0).abs() < 0.2 && (mean(1) - 1.0).abs() < 0.25, "{} {}", mean(0), mean(1));
    let chains = all.diagnosis.summary.chains.clone().expect("chains");
    let weights = chains.weights.expect("their convergence");
    assert!(chains.predictions.is_none() && weights.r_hat < 1.05, "{weights:?}");
    // Without predictions the weights are judged.
    let warned =
        |draws: &Taken| draws.diagnosis.warnings.iter().any(|text| text.contains("R-hat of the weights"));
    assert_eq!(warned(&all), !weights.is_good());
    assert!(warned(&few), "{:?}", few.diagnosis.warnings);
    assert!(all.diagnosis.summary.virial_ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 0.2));
    // What the chains did is known without running them again, and is refused if it is of another run.
    let again = sample(&set, nuts(), 1, 2000).expect("draws");
    assert_eq!((again.new, again.diagnosis.summary.chains), (0, Some(chains)));
    let other = folder.path().join("other");
    sample(&other, nuts(), 2, 2000).expect("draws");
    std::fs::copy(set.join("chains.json"), other.join("chains.json")).expect("copies");
    let error = sample(&other, nuts(), 2, 2000).expect_err("chains of another seed").to_string();
    assert!(error.contains("chains.json") && error.contains("seed was 1, but is 2 now"), "{error}");
    let error = sample(&other, Reference::Swag(Swag::default()), 1, 5).expect_err("no network").to_string();
    assert!(error.contains("swag trains a network") && error.contains("nuts"), "{error}");
}
