//! Options of `riemla sample` for the methods to compare with: nuts, swag and ensemble.

use clap::Args;
use riemla::reference::{Ensemble, Nuts, Reference, Swag};
use riemla::train::Recipe;
use riemla_workflow::workflow::{ChainSummary, MOST_WEIGHTS};

use super::shared::positive;
use riemla_cli::arguments::whole;

/// Settings of nuts, swag and ensemble.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for nuts, swag and ensemble")]
pub struct ReferenceArguments {
    /// nuts: number of chains [default: 4]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, 1000))]
    pub chains: Option<u64>,

    /// nuts: warm-up steps of each chain [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(50, 1_000_000))]
    pub warmup: Option<u64>,

    /// nuts: refuse models with more uncertain weights than this [default: 2000]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0, u64::MAX))]
    pub max_weights: Option<usize>,

    /// swag: learning rate of gradient descent on the mean loss [default: 0.01]
    #[arg(long, value_name = "RATE", value_parser = positive)]
    pub learning_rate: Option<f64>,

    /// swag: number of epochs; the weights are collected after each one [default: 100]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0, u64::MAX))]
    pub epochs: Option<usize>,

    /// swag: rows per step, at most half of all [default: 32]
    #[arg(long, value_name = "ROWS", value_parser = whole::<u64>(1, u64::MAX))]
    pub batch_size: Option<u64>,

    /// swag: number of the last collected weights that are used for the covariance [default: 20]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0, u64::MAX))]
    pub rank: Option<usize>,

    /// ensemble: maximum number of iterations of the last training stage [default: 2000]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0, u64::MAX))]
    pub iterations: Option<usize>,
}

impl ReferenceArguments {
    /// Uncertain weights up to which NUTS is run.
    pub fn most_weights(&self) -> usize {
        self.max_weights.unwrap_or(MOST_WEIGHTS)
    }

    /// A method with these settings.
    pub fn settings(&self, reference: Reference) -> Reference {
        match reference {
            Reference::Nuts(nuts) => Reference::Nuts(Nuts {
                chains: self.chains.map_or(nuts.chains, |chains| chains as usize),
                warmup: self.warmup.unwrap_or(nuts.warmup),
                ..nuts
            }),
            Reference::Swag(swag) => Reference::Swag(Swag {
                learning_rate: self.learning_rate.unwrap_or(swag.learning_rate),
                epochs: self.epochs.unwrap_or(swag.epochs),
                batch_size: self.batch_size.map_or(swag.batch_size, |rows| rows as usize),
                rank: self.rank.unwrap_or(swag.rank),
                ..swag
            }),
            Reference::Mclmc(settings) => Reference::Mclmc(settings),
            Reference::Ensemble(Ensemble { training }) => {
                let iterations = self.iterations.unwrap_or(training.iterations);
                Reference::Ensemble(Ensemble { training: Recipe { iterations, ..training } })
            }
        }
    }

    /// The first option that was given for another method than this one.
    pub fn misplaced(&self, method: &str) -> Option<(&'static str, &'static str)> {
        let given = [
            ("--chains", "nuts", self.chains.is_some()),
            ("--warmup", "nuts", self.warmup.is_some()),
            ("--max-weights", "nuts", self.max_weights.is_some()),
            ("--learning-rate", "swag", self.learning_rate.is_some()),
            ("--epochs", "swag", self.epochs.is_some()),
            ("--batch-size", "swag", self.batch_size.is_some()),
            ("--rank", "swag", self.rank.is_some()),
            ("--iterations", "ensemble", self.iterations.is_some()),
        ];
        let wrong = given.into_iter().find(|(_, of, given)| *given && *of != method);
        wrong.map(|(option, of, _)| (option, of))
    }
}

/// Lines about chains for the table of results.
pub fn chain_rows(chains: &ChainSummary) -> Vec<[String; 2]> {
    let mut rows = vec![["chains".to_string(), chains.chains.to_string()]];
    for (what, found) in
        [("predictions", chains.predictions), ("loss", chains.loss), ("weights", chains.weights)]
    {
        let Some(found) = found else { continue };
        let [r_hat, bulk, tail] = found.shown();
        rows.push([format!("R-hat of the {what}"), r_hat]);
        rows.push(["  effective sample size: bulk, tail".into(), format!("{bulk}, {tail}")]);
    }
    if let Some(record) = &chains.record {
        rows.push(["divergences".into(), record.divergences.to_string()]);
        rows.push(["acceptance, mean".into(), format!("{:.2}", record.acceptance)]);
        rows.push(["tree depth, mean".into(), format!("{:.1}", record.tree_depth)]);
    }
    rows
}
