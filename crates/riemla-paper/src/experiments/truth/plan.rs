//! What an experiment against the truth has besides methods and problems.

use riemla::reference::{Microcanonical, Nuts};
use serde::{Deserialize, Serialize};

use super::Density;
use riemla_workflow::method::MethodName;
use riemla_workflow::setting::Entry;

/// The `[truth]` of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TruthPlan {
    /// Members of an ensemble: each is a training.
    pub members: u64,
    /// The chains that are the truth of networks.
    pub chains: ChainPlan,
    /// Densities in the plane; their truth is exact.
    #[serde(default)]
    pub densities: Vec<Density>,
}

/// Markov chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainPlan {
    /// How many.
    pub chains: usize,
    /// Steps before the draws.
    pub warmup: u64,
    /// Draws of each.
    pub draws: usize,
}

impl ChainPlan {
    /// The settings of the sampler.
    pub fn nuts(&self) -> Nuts {
        Nuts { chains: self.chains, warmup: self.warmup, ..Nuts::default() }
    }

    /// The same of a rival that is not corrected.
    pub fn microcanonical(&self, step: f64) -> Microcanonical {
        Microcanonical { chains: self.chains, warmup: self.warmup, step, ..Microcanonical::default() }
    }
}

impl TruthPlan {
    /// Checks what it asks for, with so many draws of these methods.
    pub fn check(&self, samples: u64, methods: &[Entry]) -> Result<(), String> {
        self.chains.nuts().check().map_err(|error| error.to_string())?;
        if samples < 2 || self.members < 2 {
            return Err("samples and members must be at least 2: one draw has no spread".into());
        }
        let unfit = |entry: &&Entry| match entry.method {
            MethodName::La | MethodName::LinLa | MethodName::Swag | MethodName::Ensemble => false,
            MethodName::Mclmc => entry.setting.is_none(),
            method => !method.is_riemannian() || method.batched() || entry.setting.is_none(),
        };
        match methods.iter().find(unfit) {
            Some(entry) => Err(format!(
                "{entry} cannot be compared with the truth; possible are la, lin-la, swag, ensemble, mclmc \
                 with a step (mclmc step=0.1), and riem-la and lin-riem-la with a setting, as in riem-la virial"
            )),
            None => Ok(()),
        }
    }
}
