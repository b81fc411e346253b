//! The strength of a metric, searched for once and kept in a file: a resumed run does not search again.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use riemla::geometry::Counters;
use riemla::posterior::{Draw, Posterior, SearchStatus, Trial};
use riemla_files::json::write_json;
use serde::{Deserialize, Serialize};

/// The strength that a rule found, and what the search cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundStrength {
    /// The strength.
    pub strength: f64,
    /// How the search ended.
    pub status: SearchStatus,
    /// Virial ratio of the pilots there.
    pub virial_ratio: Option<f64>,
    /// What was tried: strength, and the ratio there unless it was not finite.
    pub trials: Vec<(f64, Option<f64>)>,
    /// What it cost.
    pub counters: Counters,
    /// Seconds it took.
    pub seconds: f64,
}

/// A posterior whose strength is a number.
pub struct Settled {
    /// The posterior.
    pub posterior: Posterior,
    /// How its strength was found, if by a rule.
    pub found: Option<FoundStrength>,
    /// The pilots of a search just made: draws 0, 1, … at this strength, with the bits that drawing them
    /// again would give.
    pub pilots: Vec<Draw>,
}

/// Applies the rule of a posterior, or reads from `file` what it found before. `Error::Stopped` if
/// `stop` was set before the search ended.
pub fn settle<E: From<riemla::Error> + From<riemla_files::Error>>(
    posterior: Posterior,
    seed: u64,
    file: &Path,
    stop: &AtomicBool,
) -> Result<Settled, E> {
    if !posterior.config().method.is_riemannian() || posterior.config().strength.fixed().is_some() {
        return Ok(Settled { posterior, found: None, pilots: Vec::new() });
    }
    if let Some(found) = read(file)? {
        let posterior = posterior.with_strength(found.strength)?;
        return Ok(Settled { posterior, found: Some(found), pilots: Vec::new() });
    }
    let begun = Instant::now();
    let Some(calibration) = posterior.calibration_until(seed, Some(stop))? else {
        return Ok(Settled { posterior, found: None, pilots: Vec::new() });
    };
    if calibration.status == SearchStatus::Stopped {
        return Err(riemla::Error::Stopped { what: "the strength was found".into() }.into());
    }
    let found = FoundStrength {
        strength: calibration.strength,
        status: calibration.status,
        virial_ratio: Some(calibration.virial_ratio).filter(|ratio| ratio.is_finite()),
        trials: calibration.trials.iter().map(tried).collect(),
        counters: calibration.counters,
        seconds: begun.elapsed().as_secs_f64(),
    };
    write_json(file, &found)?;
    let posterior = posterior.with_strength(found.strength)?;
    Ok(Settled { posterior, found: Some(found), pilots: calibration.draws.clone() })
}

fn tried(trial: &Trial) -> (f64, Option<f64>) {
    (trial.strength, Some(trial.value).filter(|value| value.is_finite()))
}

fn read(path: &Path) -> Result<Option<FoundStrength>, riemla_files::Error> {
    let file = path.display().to_string();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(riemla_files::Error::Io { file, action: "read it", source }),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| riemla_files::Error::Json {
        file,
        line: error.line(),
        column: error.column(),
        message: error.to_string(),
    })
}
