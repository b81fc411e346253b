//! Settings by name: how the draws of a method are made, each a configuration of the library.

use std::fmt;
use std::str::FromStr;

use riemla::geometry::Integrator;
use riemla::ode::DormandPrince;
use riemla::posterior::{
    BatchDesign, Method, MetricChoice, PosteriorConfig, Statistic, Strength, Unfinished,
};
use serde::{Deserialize, Serialize};

use crate::method::MethodName;

/// A named configuration. In files and on the command line it is its name: `calibrated`, `a=0.1`,
/// `loss-rise`, `preconditioned virial`, `fisher`. In the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Setting {
    /// Its place in [`KINDS`].
    kind: usize,
    /// The bits of its number, which is not negative, so that they have its order.
    number: u64,
}

/// The configuration of a method with a number, where the name has one.
type Configure = fn(Method, f64) -> PosteriorConfig;

/// Names, and the configurations they stand for; a name that ends in `=` is followed by a number.
const KINDS: [(&str, Configure); 18] = [
    // For the methods without geodesics: the setting does not matter.
    ("any", |m, _| PosteriorConfig::paper(m)),
    // As the authors' code: Dormand-Prince, rtol 1e-6, atol 1e-3, strength 1, whatever comes out.
    ("paper", |m, _| published(m)),
    // The same geodesics, solved: constrained leapfrog, strength 1.
    ("converged", |m, _| PosteriorConfig::paper(m)),
    // The defaults of the library: preconditioned metric, at the strength at which the loss rises as for
    // exact draws.
    ("calibrated", |m, _| PosteriorConfig::new(m)),
    // The metric of the loss, I + a²∇L∇Lᵀ, by the constrained leapfrog.
    ("a=", |m, a| loss(m, Strength::Fixed(a))),
    ("virial", |m, _| loss(m, Strength::virial())),
    ("virial-median", |m, _| loss(m, virial_median())),
    ("loss-rise", |m, _| loss(m, Strength::loss_rise())),
    ("typical", |m, _| loss(m, Strength::typical())),
    ("held-out", |m, _| loss(m, Strength::held_out())),
    // The preconditioned metric P + a²∇L∇Lᵀ, by the constrained leapfrog.
    ("preconditioned a=", |m, a| preconditioned(m, Strength::Fixed(a))),
    ("preconditioned virial", |m, _| preconditioned(m, Strength::virial())),
    ("preconditioned virial-median", |m, _| preconditioned(m, virial_median())),
    ("preconditioned loss-rise", |m, _| preconditioned(m, Strength::loss_rise())),
    ("preconditioned typical", |m, _| preconditioned(m, Strength::typical())),
    ("preconditioned held-out", |m, _| preconditioned(m, Strength::held_out())),
    // The Fisher metric, which has no strength.
    ("fisher", |m, _| PosteriorConfig::fisher(m)),
    // The learning rate of SWAG, which is no posterior.
    ("rate=", |m, _| PosteriorConfig::paper(m)),
];

fn published(method: Method) -> PosteriorConfig {
    let solver = DormandPrince { rtol: 1e-6, atol: 1e-3, ..DormandPrince::default() };
    let integrator = Integrator::DormandPrince(solver);
    PosteriorConfig { integrator, unfinished: Unfinished::Keep, ..PosteriorConfig::paper(method) }
}

fn loss(method: Method, strength: Strength) -> PosteriorConfig {
    PosteriorConfig { strength, ..PosteriorConfig::paper(method) }
}

fn preconditioned(method: Method, strength: Strength) -> PosteriorConfig {
    PosteriorConfig { metric: MetricChoice::Preconditioned, ..loss(method, strength) }
}

fn virial_median() -> Strength {
    Strength::Virial { pilots: Strength::virial().pilots(), statistic: Statistic::Median }
}

const KNOWN: &str = "a setting is a preset (paper, converged, calibrated), a strength (a=0.1), a rule \
(virial, virial-median, loss-rise, typical, held-out), \"preconditioned\" before a strength or a rule, or fisher";

impl Setting {
    /// Where draws do not follow geodesics.
    pub const ANY: Self = Self { kind: 0, number: 0 };
    /// As the authors' code.
    pub const PAPER: Self = Self { kind: 1, number: 0 };
    /// The same geodesics, solved.
    pub const CONVERGED: Self = Self { kind: 2, number: 0 };
    /// The defaults of the library.
    pub const CALIBRATED: Self = Self { kind: 3, number: 0 };
    /// The settings of one word that the paper's tables are made of.
    pub const PRESETS: [Self; 3] = [Self::PAPER, Self::CONVERGED, Self::CALIBRATED];

    /// The name used everywhere.
    pub fn name(self) -> String {
        self.to_string()
    }

    fn number(self) -> f64 {
        f64::from_bits(self.number)
    }

    /// The configuration of a posterior.
    pub fn config(self, method: Method) -> PosteriorConfig {
        KINDS[self.kind].1(method, self.number())
    }

    /// Whether it is one of the presets, or none at all.
    pub fn is_preset(self) -> bool {
        self <= Self::CALIBRATED
    }

    /// The strength, if it is a number that the name gives.
    pub fn given_strength(self) -> Option<f64> {
        KINDS[self.kind].0.ends_with("a=").then(|| self.number())
    }

    /// The learning rate of SWAG, if it gives one.
    pub fn rate(self) -> Option<f64> {
        (KINDS[self.kind].0 == "rate=").then(|| self.number())
    }

    /// The metric of geodesics.
    pub fn metric(self) -> MetricChoice {
        self.config(Method::RiemLa).metric
    }

    /// Whether rows are needed that are neither trained nor tested on.
    pub fn needs_validation(self) -> bool {
        matches!(self.config(Method::RiemLa).strength, Strength::HeldOut { .. })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KINDS[self.kind].0 {
            name if name.ends_with('=') => write!(f, "{name}{}", self.number()),
            name => f.pad(name),
        }
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, number) = match text.split_once('=') {
            Some((word, number)) => (format!("{word}="), Some(number)),
            None => (text.to_string(), None),
        };
        let Some(kind) = KINDS.iter().position(|(name, _)| *name == word) else {
            return Err(format!("unknown setting {text}; {KNOWN}"));
        };
        let Some(number) = number else { return Ok(Self { kind, number: 0 }) };
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        // Adding 0 turns −0 into 0, which it is not told from by its name.
        let value = value.map(|value| Self { kind, number: (value + 0.0).to_bits() });
        value.ok_or_else(|| format!("setting {text}: `{number}` is not a number of at least 0"))
    }
}

/// In files such a type is its text.
macro_rules! written_as_text {
    ($kind:ty) => {
        impl TryFrom<String> for $kind {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> Self {
                value.to_string()
            }
        }
    };
}

written_as_text!(Setting);
written_as_text!(Entry);

/// A method with its setting, in one line: `la`, `riem-la virial`, `swag rate=0.1`. Without a setting,
/// geodesics are run in all settings asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Entry {
    /// The method.
    pub method: MethodName,
    /// Its setting, if it is given.
    pub setting: Option<Setting>,
}

impl From<MethodName> for Entry {
    fn from(method: MethodName) -> Self {
        Self { method, setting: None }
    }
}

impl Entry {
    /// Its name, with the setting where that matters.
    pub fn of(method: MethodName, setting: Setting) -> Self {
        Self { method, setting: Some(setting).filter(|setting| *setting != Setting::ANY) }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setting {
            Some(setting) => write!(f, "{} {setting}", self.method),
            None => self.method.fmt(f),
        }
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(' ').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let method = word.parse::<MethodName>()?;
        let setting = rest.map(str::parse::<Setting>).transpose()?;
        let fits = |setting: Setting| match setting.rate() {
            Some(_) => method == MethodName::Swag,
            None => method.is_riemannian() && setting != Setting::ANY,
        };
        match setting.filter(|setting| !fits(*setting)) {
            Some(setting) => Err(format!(
                "{text}: {method} has no setting {setting}; methods with geodesics take a setting, as in \
                 `riem-la virial`, and swag a learning rate, as in `swag rate=0.1`"
            )),
            None => Ok(Self { method, setting }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let names: Vec<&str> =
            "any|paper|converged|calibrated|a=0.01|a=1|a=12.5|virial|virial-median|loss-rise|typical|\
            held-out|preconditioned a=0.1|preconditioned virial|fisher|rate=0.1"
                .split('|')
                .collect();
        let all: Vec<Setting> = names.iter().map(|name| name.parse().expect("a setting")).collect();
        assert!(all.is_sorted(), "the order of tables: {all:?}");
        for (setting, name) in all.iter().zip(&names) {
            assert_eq!(setting.to_string(), *name);
            let json = serde_json::to_string(setting).expect("writes");
            assert_eq!(json, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Setting>(&json).expect("reads"), *setting);
        }
        assert_eq!([Setting::ANY, Setting::PAPER, Setting::CONVERGED, Setting::CALIBRATED], all[..4]);
        assert_eq!("a=0.10".parse::<Setting>(), "a=1e-1".parse());
        assert_eq!("a=-0".parse::<Setting>(), "a=0".parse());
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_there_is() {
        for bad in ["a=", "a=-1", "a=nan", "a=inf", "A=1", "", "viral", "fisher virial", "preconditioned "] {
            let error = bad.parse::<Setting>().expect_err(bad);
            assert!(error.contains("setting"), "{error}");
        }
        assert!("viral".parse::<Setting>().expect_err("a typo").contains("loss-rise"));
    }

    #[test]
    fn settings_are_configurations_of_the_library() {
        let config = |name: &str| name.parse::<Setting>().expect("reads").config(Method::RiemLa);
        let converged = config("converged");
        assert_eq!(converged, PosteriorConfig::paper(Method::RiemLa));
        assert_eq!(config("a=1"), converged);
        assert_eq!(config("preconditioned typical"), config("calibrated"));
        assert_eq!(config("calibrated"), PosteriorConfig::new(Method::RiemLa));
        for rule in ["virial", "virial-median", "loss-rise", "typical", "held-out"] {
            let loss = config(rule);
            assert!(loss.strength.fixed().is_none());
            let metric = MetricChoice::Preconditioned;
            assert_eq!(config(&format!("preconditioned {rule}")), PosteriorConfig { metric, ..loss.clone() });
            assert_eq!(PosteriorConfig { strength: converged.strength, ..loss }, converged);
        }
        assert!(Setting::PAPER.is_preset() && !"a=1".parse::<Setting>().expect("reads").is_preset());
        assert!("preconditioned held-out".parse::<Setting>().expect("reads").needs_validation());
    }

    #[test]
    fn entries_come_back_and_others_are_refused() {
        let good =
            "la|lin-la|riem-la|riem-la a=0.5|lin-riem-la preconditioned virial|nuts|swag|swag rate=0.1";
        for name in good.split('|') {
            assert_eq!(name.parse::<Entry>().expect(name).to_string(), name);
        }
        let bad = "hmc|la virial|nuts 3|swag 3|swag rate=x|swag virial|riem-la rate=1|riem-la viral|";
        for name in bad.split('|') {
            assert!(name.parse::<Entry>().is_err(), "{name}");
        }
    }
}
