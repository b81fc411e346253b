//! What an approximate posterior is compared with: exact draws, and the usual baselines.
//!
//! | name | draw | exact |
//! |---|---|---|
//! | `nuts` | a step of a Markov chain for exp(−L) ([`nuts`]) | as the chains grow |
//! | `mclmc` | a step of a microcanonical Langevin chain ([`microcanonical`]) | no: biased by the size of its steps |
//! | `swag` | from a Gaussian with the moments of SGD's iterates ([`swag`]) | no |
//! | `ensemble` | the end of another training ([`Ensemble`]) | no |
//!
//! [`Convergence`] shows whether chains have converged.

mod chain;
mod convergence;
mod ensemble;
mod microcanonical;
mod nuts;
mod swag;

use serde::{Deserialize, Serialize};

pub use convergence::{Convergence, ESS_LIMIT, FEWEST_DRAWS, R_HAT_LIMIT};
pub use ensemble::{Ensemble, Member};
pub use microcanonical::{Microcanonical, microcanonical};
pub use nuts::{Chain, Chains, Nuts, NutsStep, Transition, nuts};
pub use swag::{Swag, SwagMoments, swag};

/// One of these methods with its settings, by the names of files and commands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum Reference {
    /// Markov chains.
    Nuts(Nuts),
    /// Microcanonical Langevin chains.
    Mclmc(Microcanonical),
    /// Moments of SGD.
    Swag(Swag),
    /// Trainings from fresh weights.
    Ensemble(Ensemble),
}

impl Reference {
    /// All names, in the order of tables.
    pub const NAMES: [&str; 4] = ["nuts", "mclmc", "swag", "ensemble"];

    /// The method of a name with its default settings.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "nuts" => Some(Self::Nuts(Nuts::default())),
            "mclmc" => Some(Self::Mclmc(Microcanonical::default())),
            "swag" => Some(Self::Swag(Swag::default())),
            "ensemble" => Some(Self::Ensemble(Ensemble::default())),
            _ => None,
        }
    }

    /// The name used everywhere.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Nuts(_) => "nuts",
            Self::Mclmc(_) => "mclmc",
            Self::Swag(_) => "swag",
            Self::Ensemble(_) => "ensemble",
        }
    }
}
