//! Writes a table of strengths found under several seeds: `cargo run --release -p riemla-paper --example strength_again --
//! OUT.csv WORK [SEEDS [PROBLEM…]]`. Weights are trained once and kept in the directory WORK.
//!
//! Whether a strength is found again: the search for it under several seeds of the draws, with the same trained weights,
//! and what finished draws say of it.

use std::path::Path;

use riemla::Control;
use riemla::posterior::{
    Calibration, JUDGES, Method, MetricChoice, Posterior, PosteriorConfig, SearchStatus, Strength,
};
use riemla_paper::datasets::DataDirs;
use riemla_paper::experiments::{PriorName, builtin, trained};

/// Finished draws that are measured.
const DRAWS: u64 = 40;

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
    let metric = MetricChoice::Preconditioned;
    let config =
        PosteriorConfig { metric, strength: Strength::typical(), ..PosteriorConfig::new(Method::RiemLa) };
    for experiment in ["banana", "pinwheel", "uci"] {
        for problem in builtin(experiment)?.problems.iter().filter(|problem| wanted(&problem.name)) {
            // Banana twice: two trainings on the same rows.
            for training in 0..if experiment == "banana" { 2 } else { 1 } {
                for prior in [PriorName::Optimized, PriorName::Fixed] {
                    let data = DataDirs::new(None);
                    let (_, fit, laplace) = trained(problem, training, prior, Path::new(work), &data)?;
                    for seed in 0..seeds {
                        let posterior = Posterior::of_network(&fit.loss, &laplace, config.clone())?;
                        let weights = laplace.gaussian.subset().len();
                        if let Some(numbers) = search(posterior, weights, seed)? {
                            let (name, prior) = (&problem.name, prior.name());
                            table += &format!("{name},{prior},{training},{weights},{seed},{numbers}\n");
                            std::fs::write(file, &table)?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// One search, and what finished draws say of it, as columns from `searched` on.
fn search(posterior: Posterior, weights: usize, seed: u64) -> riemla::Result<Option<String>> {
    let Some(found) = posterior.calibration(seed, &[], Control::default())? else { return Ok(None) };
    let posterior = posterior.with_strength(found.strength)?;
    let set = posterior.sample(seed, JUDGES, Control::default())?;
    // The ratio before the first draws had their last word, and the strength after it.
    let word = posterior.verdict(seed, &found, &set.draws)?;
    let (first_ratio, first_error) = word.map_or((f64::NAN, f64::NAN), |word| (word.ratio, word.error));
    let strength = word.and_then(|word| word.better).unwrap_or(found.strength);
    let posterior = posterior.with_strength(strength)?;
    let set = posterior.sample(seed, DRAWS, Control::default())?;
    // The cost of the search is in draws at the strength found.
    let per_draw = set.counters().gradients as f64 / set.draws.len() as f64;
    let cost = found.counters.gradients as f64 / per_draw;
    // Whatever the search ended with: this is to be seen.
    let slopes = Some(found.slopes.unwrap_or([-1.0; 2]));
    let judged = Calibration { slopes, status: SearchStatus::Converged, ..(*found).clone() };
    let verdict = posterior.verdict(seed, &judged, &set.draws)?;
    // What the rule wants to be 1; then the mean rise of the loss over K/2, without any control variate.
    let (ratio, error) = verdict.map_or((f64::NAN, f64::NAN), |verdict| (verdict.ratio, verdict.error));
    let rises = posterior.loss_rises(&set.thetas())?;
    let rise = rises.iter().sum::<f64>() / (rises.len() as f64 * 0.5 * weights as f64);
    let virial = posterior.virial_ratio(&set.thetas())?;
    let pilots: usize = found.trials.iter().map(|trial| trial.heights.len()).sum();
    Ok(Some(format!(
        "{:.5},{},{cost:.2},{pilots},{first_ratio:.4},{first_error:.4},{strength:.5},{ratio:.4},{error:.4},{rise:.4},{virial:.4}",
        found.strength, found.status
    )))
}
