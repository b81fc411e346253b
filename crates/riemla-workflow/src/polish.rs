//! Step size and length of the chains that polish draws, found once and kept in a file like the strength.

use std::path::Path;

use riemla::posterior::{PolishFound, Posterior};
use riemla_files::RunInfo;

use crate::of_run;
use crate::strength::{REMEDY, SettleControl};

/// The posterior with the step size and length that its pilots find, with a place to keep them: what was found before
/// in the same run is read from there. The strength of its metric must be settled. `Error::Stopped` if the session was stopped.
pub fn settle_polish<E: From<riemla::Error> + From<riemla_files::Error>>(
    posterior: Posterior,
    seed: u64,
    place: Option<(&Path, &RunInfo)>,
    control: SettleControl<'_>,
) -> Result<(Posterior, Option<PolishFound>), E> {
    let before = match place {
        Some((file, run)) => of_run::read::<PolishFound>(file, run, REMEDY)?,
        None => None,
    };
    let found = match before {
        Some(found) => Some(found),
        None => {
            let found = posterior.polish_found(seed, control.session.control())?;
            if let (Some(found), Some((file, run))) = (&found, place) {
                of_run::write(file, run, &**found)?;
            }
            found.map(|found| (*found).clone())
        }
    };
    let posterior = match &found {
        Some(found) => posterior.with_polish_found(found)?,
        None => posterior,
    };
    Ok((posterior, found))
}
