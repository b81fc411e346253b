//! Writes a table of batch designs: `cargo run --release -p riemla-paper --example batch_design -- OUT.csv WORK PLAN.toml`.
//! Weights are trained once and kept in the directory WORK; lines that are in OUT.csv already are not made again.
//!
//! One line per set, seed, prior, method and batch: the scores of the draws, how high they lie, what they cost.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use riemla::Control;
use riemla::curvature::Laplace;
use riemla::data::Targets;
use riemla::posterior::{BatchDesign, BatchLength, BatchPlan, BatchSize, Method, Posterior, PosteriorConfig};
use riemla::predict::Prediction;
use riemla_paper::datasets::DataDirs;
use riemla_paper::experiments::{Fit, PriorName, Problem, Rows, Setting, Split, builtin, trained};
use serde::Deserialize;

const HEADER: &str = "set,seed,prior,method,setting,batch,design,length,rows,draws,accuracy,nll,virial_ratio,strength,search,\
gradients_per_draw,row_gradients_per_draw,seconds_per_draw,shortened_by,shortened_nll\n";

/// What is measured.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    parts: Vec<Part>,
}

/// Some sets with the same designs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// The experiments of the paper that have the sets.
    experiment: String,
    /// The sets.
    sets: Vec<String>,
    /// Other images than those of the experiment; the name of the set then ends in `-other`.
    #[serde(default)]
    images: Option<Split>,
    seeds: Vec<u64>,
    priors: Vec<PriorName>,
    methods: Vec<Method>,
    /// How the strength is found: `calibrated`, or a given one as in `preconditioned a=0.1`.
    setting: Setting,
    /// Draws per posterior.
    draws: u64,
    /// Share of the rows in a batch; 1 for all, 0 for `auto`.
    shares: Vec<f64>,
    designs: Vec<BatchDesign>,
    /// `full`, and `auto` for draws that are shortened.
    #[serde(default = "full")]
    lengths: Vec<BatchLength>,
}

fn full() -> Vec<BatchLength> {
    vec![BatchLength::Full]
}

/// A trained set under one prior.
struct Trained {
    name: String,
    rows: Rows,
    fit: Fit,
    laplace: Laplace,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, work, plan] = arguments.as_slice() else {
        anyhow::bail!("usage: batch_design OUT.csv WORK PLAN.toml");
    };
    let plan: Plan = toml::from_str(&std::fs::read_to_string(plan)?)?;
    let mut table = std::fs::read_to_string(file).unwrap_or_else(|_| HEADER.into());
    std::fs::create_dir_all(work)?;
    for part in &plan.parts {
        let problems = builtin(&part.experiment)?.problems;
        for problem in problems.into_iter().filter(|problem| part.sets.contains(&problem.name)) {
            let problem = &part.with_images(problem);
            for (seed, prior) in part.seeds.iter().flat_map(|s| part.priors.iter().map(move |p| (*s, *p))) {
                let mut known = None;
                for (method, share, design, length) in part.cells() {
                    let batch = Some(share).filter(|share| *share < 1.0);
                    let batch_name = batch.map_or("all".into(), |share| match share {
                        0.0 => "auto".to_string(),
                        share => share.to_string(),
                    });
                    let design_name = batch.map_or("-,full".into(), |_| format!("{design},{length}"));
                    let key = format!(
                        "{},{seed},{},{method},{},{batch_name},{design_name},",
                        problem.name,
                        prior.name(),
                        part.setting
                    );
                    if table.contains(&format!("\n{key}")) {
                        continue;
                    }
                    if known.is_none() {
                        known = Some(train(problem, seed, prior, work)?);
                    }
                    let Some(trained) = &known else { continue };
                    let size = batch.map(|share| match share {
                        0.0 => BatchSize::Auto,
                        share => BatchSize::Rows((share * trained.rows.train.len() as f64) as usize),
                    });
                    let batch = size.map(|size| BatchPlan { size, design, length });
                    let config = PosteriorConfig { batch, ..part.setting.config(method) };
                    let numbers = trained.measure(config, seed, part.draws)?;
                    writeln!(table, "{key}{numbers}")?;
                    std::fs::write(file, &table)?;
                    eprintln!("{key}{numbers}");
                }
            }
        }
    }
    Ok(())
}

fn train(problem: &Problem, seed: u64, prior: PriorName, work: &str) -> anyhow::Result<Trained> {
    let clock = Instant::now();
    let (rows, fit, laplace) = trained(problem, seed, prior, Path::new(work), &DataDirs::new(None))?;
    let trained = Trained { name: problem.name.clone(), rows, fit, laplace };
    let nll = trained.scores(Method::Map, vec![trained.laplace.gaussian.theta().to_vec()])?.1;
    let seconds = clock.elapsed().as_secs_f64();
    eprintln!("{} seed {seed} {}: fitted in {seconds:.0} s, map {nll:.4}", trained.name, prior.name());
    Ok(trained)
}

impl Part {
    fn with_images(&self, problem: Problem) -> Problem {
        let Some(split) = &self.images else { return problem };
        Problem { name: format!("{}-other", problem.name), split: split.clone(), ..problem }
    }

    /// Every method with all rows, and with every batch.
    fn cells(&self) -> Vec<(Method, f64, BatchDesign, BatchLength)> {
        let mut cells = Vec::new();
        for &method in &self.methods {
            for &share in &self.shares {
                let kinds = if share < 1.0 { usize::MAX } else { 1 };
                for design in self.designs.iter().take(kinds) {
                    let lengths = self.lengths.iter().take(kinds);
                    cells.extend(lengths.map(|length| (method, share, *design, *length)));
                }
            }
        }
        cells
    }
}

impl Trained {
    /// The columns from `rows` on.
    fn measure(&self, config: PosteriorConfig, seed: u64, draws: u64) -> anyhow::Result<String> {
        let method = config.method;
        let posterior = Posterior::of_network(&self.fit.loss, &self.laplace, config)?;
        let rows = posterior.batch_rows()?.unwrap_or(self.rows.train.len());
        let found = posterior.calibration(seed, &[], Control::default())?;
        let clock = Instant::now();
        let set = posterior.sample(seed, draws, Control::default())?;
        let count = set.draws.len() as f64;
        let seconds = clock.elapsed().as_secs_f64() / count;
        let (counters, all) = (set.counters(), self.rows.train.len());
        let gradients = counters.gradients as f64 / count;
        let on_all_rows = found.as_ref().map_or(0, |found| found.on_all_rows);
        let row_gradients = ((counters.gradients - on_all_rows) * rows + on_all_rows * all) as f64 / count;
        let (accuracy, nll) = self.scores(method, set.draws.iter().map(|d| d.theta.clone()).collect())?;
        let virial = posterior.virial_ratio(&set.thetas())?;
        let length = posterior.config().batch.map_or(BatchLength::Full, |plan| plan.length);
        let (factor, shortened) = match (length, &found) {
            (BatchLength::Auto, Some(found)) => {
                (found.length, set.draws.iter().map(|d| d.theta.clone()).collect())
            }
            _ => self.shortened(&posterior, &set.thetas(), virial)?,
        };
        let short_nll = if factor < 1.0 { self.scores(method, shortened)?.1 } else { nll };
        let given = posterior.config().strength.fixed().unwrap_or(f64::NAN);
        let (strength, status) =
            found.map_or((given, "-".into()), |f| (f.strength, f.status.to_string().replace(';', "")));
        Ok(format!(
            "{rows},{count},{accuracy:.5},{nll:.5},{virial:.4},{strength:.5},{status},{gradients:.1},{row_gradients:.0},{seconds:.3},{factor:.3},{short_nll:.5}"
        ))
    }

    /// The draws moved towards θ* until their virial ratio on all rows is 1, and the factor; as they are if it is
    /// at most 1.
    fn shortened(
        &self,
        posterior: &Posterior,
        thetas: &[&[f64]],
        virial: f64,
    ) -> anyhow::Result<(f64, Vec<Vec<f64>>)> {
        let center = self.laplace.gaussian.theta();
        let moved = |factor: f64| -> Vec<Vec<f64>> {
            let to = |theta: &&[f64]| center.iter().zip(*theta).map(|(c, t)| c + factor * (t - c)).collect();
            thetas.iter().map(to).collect()
        };
        if virial <= 1.0 {
            return Ok((1.0, moved(1.0)));
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..7 {
            let factor = 0.5 * (low + high);
            let short = moved(factor);
            let short: Vec<&[f64]> = short.iter().map(Vec::as_slice).collect();
            if posterior.virial_ratio(&short)? > 1.0 { high = factor } else { low = factor }
        }
        Ok((low, moved(low)))
    }

    /// Accuracy and NLL on the test rows.
    fn scores(&self, method: Method, thetas: Vec<Vec<f64>>) -> anyhow::Result<(f64, f64)> {
        let predictor = self.fit.predictor(&self.laplace, method.is_linearized(), thetas)?;
        let prediction = predictor.predict(self.rows.test.inputs())?;
        let (Prediction::Classes(p), Targets::Classes(labels)) = (&prediction, self.rows.test.targets())
        else {
            anyhow::bail!("{} has no classes", self.name);
        };
        let rows: Vec<&[f64]> = p.probabilities.chunks(p.classes).collect();
        let right = |(row, label): (&&[f64], &usize)| row.iter().all(|p| *p <= row[*label]);
        let pairs = || rows.iter().zip(labels);
        let n = labels.len() as f64;
        let accuracy = pairs().filter(|(row, label)| right((row, label))).count() as f64 / n;
        let nll = pairs().map(|(row, label)| -row[*label].max(f64::MIN_POSITIVE).ln()).sum::<f64>() / n;
        Ok((accuracy, nll))
    }
}
