//! Writes a table of strengths found under several seeds: `cargo run --release -p riemla-paper --example strength_again --
//! OUT.csv WORK [SEEDS [PROBLEM…]]`. Weights are trained once and kept in the directory WORK.

use std::fmt::Write as _;
use std::path::Path;

use riemla::posterior::Strength;
use riemla_paper::datasets::DataDirs;
use riemla_paper::experiments::{PriorName, builtin, search_again};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, work, rest @ ..] = arguments.as_slice() else {
        anyhow::bail!("usage: strength_again OUT.csv WORK [SEEDS [PROBLEM…]]");
    };
    let seeds = rest.first().map_or(Ok(4), |seeds| seeds.parse())?;
    let wanted = |name: &str| rest.len() < 2 || rest[1..].iter().any(|problem| problem == name);
    let mut table = String::from(
        "problem,prior,training_seed,weights,seed,searched,status,search_in_draws,pilots,searched_ratio,searched_error,strength,ratio,error,rise,virial\n",
    );
    std::fs::create_dir_all(work)?;
    for experiment in ["banana", "pinwheel", "uci"] {
        for problem in builtin(experiment)?.problems.iter().filter(|problem| wanted(&problem.name)) {
            // Banana twice: two trainings on the same rows.
            for training in 0..if experiment == "banana" { 2 } else { 1 } {
                for prior in [PriorName::Optimized, PriorName::Fixed] {
                    let place = (Path::new(work), &DataDirs::new(None));
                    for row in search_again(problem, (prior, training), Strength::typical(), seeds, place)? {
                        let pilots: usize = row.found.trials.iter().map(|trial| trial.heights.len()).sum();
                        writeln!(
                            table,
                            "{},{},{training},{},{},{:.5},{},{:.2},{pilots},{:.4},{:.4},{:.5},{:.4},{:.4},{:.4},{:.4}",
                            problem.name,
                            prior.name(),
                            row.weights,
                            row.seed,
                            row.found.strength,
                            row.found.status,
                            row.cost,
                            row.first_ratio.0,
                            row.first_ratio.1,
                            row.strength,
                            row.ratio,
                            row.error,
                            row.rise,
                            row.virial
                        )?;
                        std::fs::write(file, &table)?;
                    }
                }
            }
        }
    }
    Ok(())
}
