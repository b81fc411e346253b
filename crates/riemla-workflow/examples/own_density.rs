//! A density of your own, from its definition to stored, calibrated draws that can be resumed.
//!
//! `cargo run --release -p riemla-workflow --example own_density -- draws`

use std::path::Path;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{Gaussian, HessianSearch};
use riemla::objective::Objective;
use riemla::posterior::{Method, Model, PosteriorConfig};
use riemla_files::{Origin, RunConfig};
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::{Result, SampleConfig, Taken, sample_model};

/// −log density of x ~ N(0, 1), y | x ~ N(x², 0.5²), up to a constant.
pub struct Banana;

impl Objective for Banana {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, t: &[f64]) -> f64 {
        0.5 * t[0] * t[0] + 2.0 * (t[1] - t[0] * t[0]).powi(2)
    }

    fn value_and_gradient(&self, t: &[f64], gradient: &mut [f64]) -> f64 {
        let u = t[1] - t[0] * t[0];
        gradient.copy_from_slice(&[t[0] - 8.0 * u * t[0], 4.0 * u]);
        self.value(t)
    }
}

impl Model for Banana {}

/// Draws 0 to `count` − 1 in a directory, each on the disk as soon as it is made; those that are there are not made again.
pub fn sample(set: &Path, run: impl Into<RunConfig>, seed: u64, count: u64) -> Result<Taken> {
    let gaussian = Gaussian::at_minimum(&Banana, &[0.0, 0.0], HessianSearch::default(), Control::default())?;
    // Whatever tells this density from others.
    let origin = Origin::of_model(&"banana, width 0.5", &gaussian);
    let config = SampleConfig::new(run, count, seed);
    sample_model(Arc::new(Banana), Arc::new(gaussian), Some((set, origin)), &config, Session::silent())
}

fn main() -> Result<()> {
    let set = std::env::args().nth(1).unwrap_or_else(|| "draws".into());
    let taken = sample(Path::new(&set), PosteriorConfig::new(Method::RiemLa), 1, 100)?;
    taken.diagnosis.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let mean =
        |k: usize| taken.draws.iter().map(|draw| draw.theta[k]).sum::<f64>() / taken.draws.len() as f64;
    println!(
        "{} draws in {set}; means {:.2} and {:.2} (exact: 0 and 1)",
        taken.draws.len(),
        mean(0),
        mean(1)
    );
    Ok(())
}
