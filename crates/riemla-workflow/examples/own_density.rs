//! A density of your own, from its definition to stored, calibrated draws that can be resumed.
//!
//! `cargo run --release -p riemla-files --example own_density -- draws.log`

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use riemla::Control;
use riemla::curvature::{Gaussian, HessianSearch};
use riemla::objective::Objective;
use riemla::posterior::{Draw, Method, Model, Posterior, PosteriorConfig, warnings};
use riemla_files::{Origin, RunInfo, SampleStore};

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

/// Draws up to `count`, each on the disk as soon as it is made; those in the log are not made again.
pub fn sample(log: &Path, seed: u64, count: u64) -> Result<Vec<Draw>, Box<dyn Error>> {
    let gaussian = Gaussian::at_minimum(&Banana, &[0.0, 0.0], HessianSearch::default(), Control::default())?;
    let gaussian = Arc::new(gaussian);
    let posterior = Posterior::new(Arc::new(Banana), gaussian.clone(), PosteriorConfig::new(Method::RiemLa))?;
    let origin = Origin::of_model(&"banana, width 0.5", &gaussian);
    let run = RunInfo::new(posterior.config().clone(), seed, 2, origin);
    let store = Mutex::new((SampleStore::open(log, &run)?, Ok(())));
    let locked = || store.lock().unwrap_or_else(PoisonError::into_inner);
    let missing = locked().0.missing(count);
    let keep = |draw: &Draw| {
        let (store, result) = &mut *locked();
        if result.is_ok() {
            *result = store.append(draw);
        }
    };
    let set = posterior.sample_indices(seed, &missing, Control::default().observing(&keep))?;
    for warning in warnings(&set, &posterior)? {
        eprintln!("warning: {warning}");
    }
    let (mut store, kept) = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    kept?;
    Ok(store.read_all()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let log = std::env::args().nth(1).unwrap_or_else(|| "draws.log".into());
    let draws = sample(Path::new(&log), 1, 100)?;
    let mean = |k: usize| draws.iter().map(|draw| draw.theta[k]).sum::<f64>() / draws.len() as f64;
    println!("{} draws in {log}; means {:.2} and {:.2} (exact: 0 and 1)", draws.len(), mean(0), mean(1));
    Ok(())
}
