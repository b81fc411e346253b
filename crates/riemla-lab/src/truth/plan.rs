//! What is compared with what: one TOML file, checked strictly.

use std::path::Path;

use riemla::reference::Nuts;
use serde::{Deserialize, Serialize};

use super::density::Density;
use crate::experiments::{ExperimentError, Problem, Result, Takes};
use crate::method::MethodName;
use crate::setting::Entry;

/// The text that comes with the program.
const BUILTIN: &str = include_str!("../../../../experiments/truth.toml");

/// What was run, in the output directory. Not among the experiments: it is no table of the paper.
pub const PLAN_FILE: &str = "truth.toml";

/// A comparison with the truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TruthPlan {
    /// Heading of the report.
    pub title: String,
    /// What it is.
    pub about: String,
    /// What a full run takes.
    pub takes: Takes,
    /// Seed of trainings, draws and chains.
    #[serde(default)]
    pub seed: u64,
    /// Draws per method.
    pub samples: u64,
    /// Members of an ensemble: each is a training.
    pub members: u64,
    /// The methods.
    pub contenders: Vec<Entry>,
    /// The chains that are the truth of networks.
    pub chains: ChainPlan,
    /// Densities in the plane; their truth is exact.
    #[serde(default)]
    pub densities: Vec<Density>,
    /// A small version, to see that everything works.
    pub quick: QuickTruth,
    /// Networks. The prior precision is `weight_decay`; they should be trained to a minimum.
    #[serde(default)]
    pub problems: Vec<Problem>,
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
}

/// What differs in the small version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickTruth {
    /// Draws per method.
    pub samples: u64,
    /// Members of an ensemble.
    pub members: u64,
    /// Chains.
    pub chains: ChainPlan,
    /// Only these networks.
    pub problems: Vec<String>,
}

impl TruthPlan {
    /// The one that comes with the program.
    pub fn builtin() -> Result<Self> {
        Self::parse("experiments/truth.toml", BUILTIN)
    }

    /// The plan of the word `truth`, or of the path of a TOML file that has `contenders`; none of others.
    pub fn open(word: &str) -> Result<Option<Self>> {
        if word == "truth" {
            return Self::builtin().map(Some);
        }
        let path = Path::new(word);
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path).map_err(ExperimentError::io(path, "read it"))?;
        let is_plan = text.lines().any(|line| line.trim_start().starts_with("contenders"));
        if is_plan { Self::parse(word, &text).map(Some) } else { Ok(None) }
    }

    /// Reads and checks a text; `file` is for messages.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let wrong = |message: String| ExperimentError::Config { file: file.into(), message };
        let plan: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        plan.chains.nuts().check()?;
        if plan.samples < 2 || plan.members < 2 {
            return Err(wrong("samples and members must be at least 2: one draw has no spread".into()));
        }
        let unfit = |entry: &&Entry| match entry.method {
            MethodName::La | MethodName::LinLa | MethodName::Swag | MethodName::Ensemble => false,
            method => !method.is_riemannian() || method.batched() || entry.setting.is_none(),
        };
        if let Some(entry) = plan.contenders.iter().find(unfit) {
            return Err(wrong(format!(
                "{entry} cannot be held against the truth; there are la, lin-la, swag, ensemble, and riem-la and \
                 lin-riem-la with a setting, as in riem-la virial"
            )));
        }
        Ok(plan)
    }

    /// The same as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan is made of what TOML knows")
    }

    /// The small version.
    pub fn shrunk(mut self) -> Self {
        let QuickTruth { samples, members, chains, problems } = self.quick.clone();
        (self.samples, self.members, self.chains) = (samples, members, chains);
        self.problems.retain(|problem| problems.contains(&problem.name));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_one_is_valid_and_comes_back_from_its_own_text() {
        for plan in [TruthPlan::builtin(), TruthPlan::builtin().map(TruthPlan::shrunk)] {
            let plan = plan.expect("valid");
            assert!(!plan.problems.is_empty() && !plan.densities.is_empty());
            assert_eq!(TruthPlan::parse("again", &plan.to_toml()).expect("reads"), plan);
        }
        let text = BUILTIN.replace("samples =", "sampels =");
        let error = TruthPlan::parse("truth.toml", &text).expect_err("a typo").to_string();
        assert!(error.contains("truth.toml") && error.contains("sampels"), "{error}");
    }
}
