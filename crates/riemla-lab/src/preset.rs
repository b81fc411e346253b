//! Settings of geodesics in one word: the paper's, the paper's solved, and calibrated ones.

use riemla::geometry::{ConstrainedLeapfrog, Integrator};
use riemla::ode::DormandPrince;
use riemla::posterior::{Method, PosteriorConfig, Unfinished};
use serde::{Deserialize, Serialize};

/// How geodesics are integrated and how strong their metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// For the methods without geodesics: the preset does not matter.
    Any,
    /// As the authors' code: Dormand-Prince, rtol 1e-6, atol 1e-3, strength 1, whatever comes out.
    Paper,
    /// The same geodesics, solved: constrained leapfrog, strength 1.
    Converged,
    /// The defaults of the library: preconditioned metric, constrained leapfrog, the strength at which
    /// the loss rises as for exact draws.
    Calibrated,
}

impl Preset {
    /// Those that a user can choose.
    pub const CHOICES: [Self; 3] = [Self::Paper, Self::Converged, Self::Calibrated];

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Paper => "paper",
            Self::Converged => "converged",
            Self::Calibrated => "calibrated",
        }
    }

    /// How geodesics are integrated.
    pub fn integrator(self) -> Integrator {
        match self {
            Self::Paper => {
                let solver = DormandPrince { rtol: 1e-6, atol: 1e-3, ..DormandPrince::default() };
                Integrator::DormandPrince(solver)
            }
            _ => Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::default()),
        }
    }

    /// What happens to a geodesic that does not reach its end: the authors do not look.
    pub fn unfinished(self) -> Unfinished {
        if self == Self::Paper { Unfinished::Keep } else { Unfinished::Redraw(10) }
    }

    /// All settings of a posterior.
    pub fn config(self, method: Method) -> PosteriorConfig {
        let config = match self {
            Self::Calibrated => PosteriorConfig::new(method),
            _ => PosteriorConfig::paper(method),
        };
        PosteriorConfig { integrator: self.integrator(), unfinished: self.unfinished(), ..config }
    }
}
