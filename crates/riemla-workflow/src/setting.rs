//! Settings by name: how the draws of a method are made, each a configuration of the library.

use std::fmt;
use std::str::FromStr;

use riemla::geometry::Integrator;
use riemla::ode::DormandPrince;
use riemla::posterior::{
    BatchLength, Method, MetricChoice, PosteriorConfig, Statistic, Strength, Unfinished,
};
use serde::{Deserialize, Serialize};

use polish_name::PolishName;

mod entry;
mod polish_name;

pub use entry::Entry;

/// A named configuration. In files and on the command line it is its name: `calibrated`, `a=0.1`,
/// `loss-rise`, `preconditioned virial`, `fisher`; with `polish=100` or `polish=auto` after it the draws are polished.
/// In the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Setting {
    /// Its place in [`KINDS`].
    kind: usize,
    /// The bits of its number, which is not negative, so that they have its order.
    number: u64,
    /// How draws are polished, if they are.
    polish: Option<PolishName>,
}

/// The configuration of a method with a number, where the name has one.
type Configure = fn(Method, f64) -> PosteriorConfig;

/// Names, and the configurations they stand for; a name that ends in `=` is followed by a number.
const KINDS: [(&str, Configure); 19] = [
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
    // The step size of microcanonical chains, which are none either.
    ("step=", |m, _| PosteriorConfig::paper(m)),
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
(virial, virial-median, loss-rise, typical, held-out), \"preconditioned\" before a strength or a rule, or fisher; \
after it may follow polish=100 or polish=auto";

impl Setting {
    /// Where draws do not follow geodesics.
    pub const ANY: Self = Self::plain(0);
    /// As the authors' code.
    pub const PAPER: Self = Self::plain(1);
    /// The same geodesics, solved.
    pub const CONVERGED: Self = Self::plain(2);
    /// The defaults of the library.
    pub const CALIBRATED: Self = Self::plain(3);
    /// The settings of one word that the paper's tables are made of.
    pub const PRESETS: [Self; 3] = [Self::PAPER, Self::CONVERGED, Self::CALIBRATED];

    /// Their names, with what they are in a line of help.
    pub const PRESET_HELP: [(&'static str, &'static str); 3] = [
        ("paper", "As the paper's code: Dormand-Prince at rtol 1e-6, atol 1e-3, strength 1"),
        ("converged", "The paper's geodesics, solved accurately"),
        (
            "calibrated",
            "Metric auto, with the strength at which the loss is as high as for typical exact draws",
        ),
    ];

    const fn plain(kind: usize) -> Self {
        Self { kind, number: 0, polish: None }
    }

    /// The name used everywhere.
    pub fn name(self) -> String {
        self.to_string()
    }

    fn number(self) -> f64 {
        f64::from_bits(self.number)
    }

    /// The configuration of a posterior.
    pub fn config(self, method: Method) -> PosteriorConfig {
        let polish = self.polish.map(PolishName::config);
        PosteriorConfig { polish, ..KINDS[self.kind].1(method, self.number()) }
    }

    /// Whether it is one of the presets, or none at all.
    pub fn is_preset(self) -> bool {
        self.kind <= Self::CALIBRATED.kind && self.polish.is_none()
    }

    /// Whether draws are polished.
    pub fn polishes(self) -> bool {
        self.polish.is_some()
    }

    /// The strength, if it is a number that the name gives.
    pub fn given_strength(self) -> Option<f64> {
        KINDS[self.kind].0.ends_with("a=").then(|| self.number())
    }

    /// The learning rate of SWAG, if it gives one.
    pub fn rate(self) -> Option<f64> {
        (KINDS[self.kind].0 == "rate=").then(|| self.number())
    }

    /// The step size of microcanonical chains, if it gives one.
    pub fn step(self) -> Option<f64> {
        (KINDS[self.kind].0 == "step=").then(|| self.number())
    }

    /// The metric of geodesics.
    pub fn metric(self) -> MetricChoice {
        self.config(Method::RiemLa).metric
    }

    /// How far draws on batches go: as in the paper, except that the defaults of the library are right on all rows.
    pub fn batch_length(self) -> BatchLength {
        if self.kind == Self::CALIBRATED.kind { BatchLength::Auto } else { BatchLength::Full }
    }

    /// Whether rows are needed that are neither trained nor tested on.
    pub fn needs_validation(self) -> bool {
        matches!(self.config(Method::RiemLa).strength, Strength::HeldOut { .. })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (KINDS[self.kind].0, self.polish) {
            (name, None) if name.ends_with('=') => write!(f, "{name}{}", self.number()),
            (name, None) => f.pad(name),
            (_, Some(polish)) if self.kind == Self::ANY.kind => write!(f, "{polish}"),
            (_, Some(polish)) => write!(f, "{} {polish}", Self { polish: None, ..*self }),
        }
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(polish) = text.strip_prefix("polish=") {
            return Ok(Self { polish: Some(polish.parse()?), ..Self::ANY });
        }
        if let Some((rest, polish)) = text.split_once(" polish=") {
            let setting = rest.parse::<Self>()?;
            return Ok(Self { polish: Some(polish.parse()?), ..setting });
        }
        let (word, number) = match text.split_once('=') {
            Some((word, number)) => (format!("{word}="), Some(number)),
            None => (text.to_string(), None),
        };
        let Some(kind) = KINDS.iter().position(|(name, _)| *name == word) else {
            return Err(format!("unknown setting {text}; {KNOWN}"));
        };
        let Some(number) = number else { return Ok(Self::plain(kind)) };
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        // Adding 0 turns −0 into 0, which it is not told from by its name.
        let value = value.map(|value| Self { number: (value + 0.0).to_bits(), ..Self::plain(kind) });
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
use written_as_text;

#[cfg(test)]
mod tests {
    use super::*;
    use riemla::posterior::Polish;

    #[test]
    fn names_come_back() {
        let names: Vec<&str> =
            "any|polish=50|paper|converged|calibrated|a=0.01|a=1|a=12.5|virial|virial-median|loss-rise|typical|\
            held-out|preconditioned a=0.1|preconditioned a=0.1 polish=20|preconditioned virial|\
            preconditioned virial polish=auto|preconditioned virial polish=100 leaps=3|preconditioned virial polish=100|\
            fisher|rate=0.1|step=0.1"
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
        assert_eq!([Setting::ANY, Setting::PAPER], [all[0], all[2]]);
        assert_eq!([Setting::CONVERGED, Setting::CALIBRATED], all[3..5]);
        assert_eq!(Setting::PRESET_HELP.map(|(name, _)| name), Setting::PRESETS.map(Setting::name));
        assert_eq!("a=0.10".parse::<Setting>(), "a=1e-1".parse());
        assert_eq!("a=-0".parse::<Setting>(), "a=0".parse());
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_there_is() {
        for bad in [
            "a=",
            "a=-1",
            "a=nan",
            "a=inf",
            "A=1",
            "",
            "viral",
            "fisher virial",
            "preconditioned ",
            "polish=0",
            "virial polish=0",
            "virial polish=5 mass=7",
            "virial polish=5 leaps=0",
            "virial polish=5 accept=0.7",
        ] {
            let error = bad.parse::<Setting>().expect_err(bad);
            assert!(error.contains("setting") || error.contains("polish"), "{error}");
        }
        assert!("viral".parse::<Setting>().expect_err("a typo").contains("loss-rise"));
    }

    #[test]
    fn settings_are_configurations_of_the_library() {
        let config = |name: &str| name.parse::<Setting>().expect("reads").config(Method::RiemLa);
        let converged = config("converged");
        assert_eq!(converged, PosteriorConfig::paper(Method::RiemLa));
        assert_eq!(config("a=1"), converged);
        let metric = MetricChoice::Preconditioned;
        assert_eq!(config("preconditioned typical"), PosteriorConfig { metric, ..config("calibrated") });
        assert_eq!(config("calibrated"), PosteriorConfig::new(Method::RiemLa));
        for rule in ["virial", "virial-median", "loss-rise", "typical", "held-out"] {
            let loss = config(rule);
            assert!(loss.strength.fixed().is_none());
            let metric = MetricChoice::Preconditioned;
            assert_eq!(config(&format!("preconditioned {rule}")), PosteriorConfig { metric, ..loss.clone() });
            assert_eq!(PosteriorConfig { strength: converged.strength, ..loss }, converged);
        }
        let polished = config("calibrated polish=70 leaps=4 accept=85%");
        let polish = Polish { leaps: 4, acceptance: 0.85, ..Polish::of(70) };
        assert_eq!(polished, PosteriorConfig { polish: Some(polish), ..config("calibrated") });
        assert!(Setting::PAPER.is_preset() && !"a=1".parse::<Setting>().expect("reads").is_preset());
        assert!("preconditioned held-out".parse::<Setting>().expect("reads").needs_validation());
    }
}
