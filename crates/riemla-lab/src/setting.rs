//! How the geodesics of a posterior are run, in a few words: a preset, or a metric with a strength.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use riemla::posterior::{Method, MetricChoice, PosteriorConfig, Statistic, Strength};
use serde::{Deserialize, Serialize};

use crate::preset::Preset;

/// A preset, or a metric with its strength, solved by the integrator that suits it.
///
/// In files and on the command line it is its name: `calibrated`, `a=0.1`, `loss-rise`,
/// `preconditioned virial`, `fisher`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Setting {
    /// One of the presets.
    Preset(Preset),
    /// The metric of the loss, I + a²∇L∇Lᵀ, by the constrained leapfrog.
    Loss(Rule),
    /// The preconditioned metric P + a²∇L∇Lᵀ, by the constrained leapfrog.
    Preconditioned(Rule),
    /// The Fisher metric, which has no strength.
    Fisher,
}

/// A strength, or the rule that finds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// This number.
    Fixed(Number),
    /// The mean of the virial ratios is 1.
    Virial,
    /// Their median is 1.
    VirialMedian,
    /// The loss rises by K/2 on average.
    LossRise,
    /// That, or the virial ratio is 1 where the loss grows much faster than a quadratic.
    Typical,
    /// The smallest negative log-likelihood of held-out rows.
    HeldOut,
}

/// A number that was given: finite and not negative, so that it has an order.
#[derive(Debug, Clone, Copy)]
pub struct Number(f64);

impl Number {
    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        // Adding 0 turns −0 into 0, which it is not told from by its name.
        value.map(|value| Self(value + 0.0)).ok_or_else(|| format!("`{text}` is no number of at least 0"))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Rule {
    /// The rules that find a strength, in the order of tables.
    pub const RULES: [Self; 5] =
        [Self::Virial, Self::VirialMedian, Self::LossRise, Self::Typical, Self::HeldOut];

    /// The strength, or how it is found.
    pub fn strength(self) -> Strength {
        match self {
            Self::Fixed(number) => Strength::Fixed(number.0),
            Self::Virial => Strength::virial(),
            Self::VirialMedian => {
                Strength::Virial { pilots: Strength::virial().pilots(), statistic: Statistic::Median }
            }
            Self::LossRise => Strength::loss_rise(),
            Self::Typical => Strength::typical(),
            Self::HeldOut => Strength::held_out(),
        }
    }

    /// The given number, if it is one.
    pub fn fixed(self) -> Option<f64> {
        if let Self::Fixed(number) = self { Some(number.0) } else { None }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(number) => write!(f, "a={}", number.0),
            Self::Virial => f.write_str("virial"),
            Self::VirialMedian => f.write_str("virial-median"),
            Self::LossRise => f.write_str("loss-rise"),
            Self::Typical => f.write_str("typical"),
            Self::HeldOut => f.write_str("held-out"),
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(number) = text.strip_prefix("a=") {
            return number.parse().map(Self::Fixed).map_err(|error| format!("strength {text}: {error}"));
        }
        let found = Self::RULES.into_iter().find(|rule| rule.to_string() == text);
        found.ok_or_else(|| format!("there is no setting {text}; {KNOWN}"))
    }
}

const KNOWN: &str = "a setting is a preset (paper, converged, calibrated), a strength (a=0.1), a rule \
(virial, virial-median, loss-rise, typical, held-out), \"preconditioned\" before a strength or a rule, or fisher";

/// Before the rule of the preconditioned metric.
const PRECONDITIONED: &str = "preconditioned ";

impl Setting {
    /// Where draws do not follow geodesics.
    pub const ANY: Self = Self::Preset(Preset::Any);

    /// The name used everywhere.
    pub fn name(self) -> String {
        self.to_string()
    }

    /// All settings of a posterior.
    pub fn config(self, method: Method) -> PosteriorConfig {
        match self {
            Self::Preset(preset) => preset.config(method),
            Self::Loss(rule) => {
                PosteriorConfig { strength: rule.strength(), ..Preset::Converged.config(method) }
            }
            Self::Preconditioned(rule) => {
                let metric = MetricChoice::Preconditioned;
                PosteriorConfig { metric, ..Self::Loss(rule).config(method) }
            }
            Self::Fisher => PosteriorConfig::fisher(method),
        }
    }

    /// The metric, in a word.
    pub fn metric_name(self) -> &'static str {
        match self {
            Self::Preset(_) | Self::Loss(_) => "loss",
            Self::Preconditioned(_) => "preconditioned",
            Self::Fisher => "fisher",
        }
    }

    /// Whether rows are needed that are neither trained nor tested on.
    pub fn needs_validation(self) -> bool {
        self.rule() == Some(Rule::HeldOut)
    }

    /// The strength or its rule, where the setting is made of one.
    pub fn rule(self) -> Option<Rule> {
        match self {
            Self::Loss(rule) | Self::Preconditioned(rule) => Some(rule),
            Self::Preset(_) | Self::Fisher => None,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset(preset) => f.write_str(preset.name()),
            Self::Loss(rule) => rule.fmt(f),
            Self::Preconditioned(rule) => write!(f, "{PRECONDITIONED}{rule}"),
            Self::Fisher => f.write_str("fisher"),
        }
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut presets = [Preset::Any].into_iter().chain(Preset::CHOICES);
        if let Some(rule) = text.strip_prefix(PRECONDITIONED) {
            return rule.parse().map(Self::Preconditioned);
        }
        match text {
            "fisher" => Ok(Self::Fisher),
            _ => match presets.find(|preset| preset.name() == text) {
                Some(preset) => Ok(Self::Preset(preset)),
                None => text.parse().map(Self::Loss),
            },
        }
    }
}

impl TryFrom<String> for Setting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Setting> for String {
    fn from(setting: Setting) -> Self {
        setting.to_string()
    }
}

impl From<Preset> for Setting {
    fn from(preset: Preset) -> Self {
        Self::Preset(preset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let names = ["any", "paper", "converged", "calibrated", "a=0.01", "a=1", "a=12.5"];
        let rules = ["virial", "virial-median", "loss-rise", "typical", "held-out"]
            .into_iter()
            .chain(["preconditioned a=0.1", "preconditioned virial", "fisher"])
            .collect::<Vec<_>>();
        let all: Vec<Setting> =
            names.iter().chain(&rules).map(|name| name.parse().expect("a setting")).collect();
        assert!(all.is_sorted(), "the order of tables: {all:?}");
        for (setting, name) in all.iter().zip(names.iter().chain(&rules)) {
            assert_eq!(setting.to_string(), *name);
            let json = serde_json::to_string(setting).expect("writes");
            assert_eq!(json, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Setting>(&json).expect("reads"), *setting);
        }
        assert_eq!("a=0.10".parse::<Setting>(), "a=1e-1".parse());
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_there_is() {
        for bad in ["a=", "a=-1", "a=nan", "a=inf", "A=1", "", "viral", "fisher virial", "preconditioned "] {
            let error = bad.parse::<Setting>().expect_err(bad);
            assert!(error.contains("setting") || error.contains("strength"), "{error}");
        }
        assert!("viral".parse::<Setting>().expect_err("a typo").contains("loss-rise"));
    }

    #[test]
    fn only_the_strength_differs_from_the_converged_preset() {
        let converged = Preset::Converged.config(Method::RiemLa);
        assert_eq!("a=1".parse::<Setting>().expect("reads").config(Method::RiemLa), converged);
        let calibrated = Preset::Calibrated.config(Method::LinRiemLa);
        assert_eq!(
            "preconditioned typical".parse::<Setting>().expect("reads").config(Method::LinRiemLa),
            calibrated
        );
        for rule in Rule::RULES {
            let config = Setting::Loss(rule).config(Method::RiemLa);
            assert!(config.strength.fixed().is_none());
            assert_eq!(PosteriorConfig { strength: converged.strength, ..config }, converged);
        }
    }
}
