//! Named settings of the posteriors.

use riemla::geometry::Integrator;
use riemla::ode::DormandPrince;
use riemla::posterior::{Method, PosteriorConfig, Strength, Unfinished};

/// How geodesics are run, as one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// As the paper's code did: Dormand-Prince at rtol 1e-6 and atol 1e-3, strength 1, whatever the
    /// solver says of its success. Not converged; to compare with the paper.
    Paper,
    /// The paper's geodesics, solved: constrained leapfrog, strength 1.
    Converged,
    /// Constrained leapfrog at the strength that the virial identity asks for.
    Calibrated,
}

impl Preset {
    /// The settings for a method.
    pub fn config(self, method: Method) -> PosteriorConfig {
        let base = PosteriorConfig::new(method);
        match self {
            Self::Paper => {
                let solver = DormandPrince { rtol: 1e-6, atol: 1e-3, ..DormandPrince::default() };
                let integrator = Integrator::DormandPrince(solver);
                PosteriorConfig {
                    integrator,
                    strength: Strength::Fixed(1.0),
                    unfinished: Unfinished::Keep,
                    ..base
                }
            }
            Self::Converged => PosteriorConfig { strength: Strength::Fixed(1.0), ..base },
            Self::Calibrated => PosteriorConfig { strength: Strength::virial(), ..base },
        }
    }
}
