//! Reading arguments: what all commands of both programs take, and the kinds of values.

use anyhow::Context as _;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Parser};
use riemla::posterior::Strength;
use riemla_files::Shard;
use riemla_workflow::setting::Setting;
use riemla_workflow::workflow::environment;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Worker threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = whole::<usize>(1, 1024))]
    pub threads: Option<usize>,

    /// Print no progress bars and notes to stderr
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

impl Common {
    /// Starts as many worker threads as asked for. Call once.
    pub fn start_threads(&self) -> anyhow::Result<()> {
        let Some(threads) = self.threads else { return Ok(()) };
        let started = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        started.context(Failure::new("cannot start the threads", "ask for fewer with --threads"))
    }
}

/// Reads the command line. A negative number is a value, so that the message says what is wrong with it,
/// not that there is no option `-1`.
pub fn read<P: Parser>() -> P {
    let numbers =
        |arg: Arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg };
    let command = P::command().mut_args(numbers).mut_subcommands(|command| command.mut_args(numbers));
    P::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

/// Reads a whole number in a range.
pub fn whole<N>(least: u64, most: u64) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: TryFrom<u64> + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| match most {
            u64::MAX => format!("must be a whole number, at least {least}"),
            most => format!("must be a whole number, at least {least} and at most {most}"),
        })
    }
}

/// Reads one of the words by which files know a type; the words that are taken, perhaps with help.
pub fn named<T>(words: impl IntoIterator<Item = impl Into<PossibleValue>>) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| serde_json::from_value(word.into()))
}

/// Reads the name of a preset.
pub fn preset() -> impl TypedValueParser<Value = Setting> {
    named(Setting::PRESET_HELP.map(|(name, help)| PossibleValue::new(name).help(help)))
}

/// Reads a number that fits; `must` says what must be.
pub fn number(text: &str, fits: impl Fn(f64) -> bool, must: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && fits(*number));
    number.ok_or_else(|| format!("must be {must}"))
}

/// Which of several processes that share work this one is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShardArgument {
    /// By the environment.
    Auto,
    /// As given.
    Given(Shard),
}

/// Reads K/N, or auto.
pub fn shard(text: &str) -> Result<ShardArgument, String> {
    if text == "auto" { Ok(ShardArgument::Auto) } else { text.parse().map(ShardArgument::Given) }
}

impl ShardArgument {
    /// The shard; an error if no launcher has set its variables.
    pub fn resolve(self) -> anyhow::Result<Shard> {
        match self {
            Self::Given(shard) => Ok(shard),
            Self::Auto => Ok(environment::shard(|name| std::env::var(name).ok())?.0),
        }
    }
}

/// A strength of the metric, or the rule that finds it.
pub fn strength(text: &str) -> Result<Strength, String> {
    if text == "auto" {
        return Ok(Strength::typical());
    }
    number(text, |a| a > 0.0, "a number above 0, or auto").map(Strength::Fixed)
}
