//! A trained problem under one seed and prior: its posteriors, their scores, what is written of them.

use std::sync::Arc;
use std::time::Instant;

use riemla::curvature::{Laplace, memory_estimate};
use riemla::data::Targets;
use riemla::objective::Likelihood;
use riemla::posterior::{BatchPlan, Posterior, PosteriorConfig};
use riemla::predict::{Prediction, fit_temperature};
use riemla_files::{Digest, FittedTo, Origin};

use super::bench::{Bench, Source, Verdict};
use super::cell::{self, Drawn, Wanted};
use super::config::Problem;
use super::finished::digests;
use super::fit::Fit;
use super::record::{CellKey, MadeFrom, ModelSummary, Score};
use super::rows::Rows;
use super::{Experiment, MethodName, PriorName, Result, Setting};
use riemla_workflow::scores::{Doubts, Scorer};
use riemla_workflow::workflow::TemperatureChoice;
use riemla_workflow::workflow::draws::AT_TEMPERATURE;
use riemla_workflow::workflow::guarantees::Wanted as Promised;
use riemla_workflow::workflow::members::Together;

/// A problem with its data, ready for seeds.
pub struct Ready<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The problem.
    pub problem: &'a Problem,
    /// Inputs of the data sets that a model should find strange.
    pub strange: Vec<(String, Vec<f64>)>,
}

/// The scores of the paper's tables: accuracy and calibration errors in per cent, Brier scores per class, and
/// of regressions the log loss before the error.
fn in_paper_units(
    prediction: &Prediction,
    targets: &Targets,
    bins: usize,
) -> riemla::Result<Vec<(&'static str, f64)>> {
    let mut scores = Scorer { bins }.all(prediction, targets)?;
    match prediction {
        Prediction::Classes(p) => scores.iter_mut().for_each(|(name, value)| match *name {
            "accuracy" | "ece" | "mce" => *value *= 100.0,
            "brier" => *value /= p.classes as f64,
            _ => {}
        }),
        Prediction::Values(_) => {
            scores.retain(|(name, _)| ["nlpd", "rmse"].contains(name));
            scores.sort_by_key(|(name, _)| *name);
        }
        // The paper has none of these.
        Prediction::Counts(_) | Prediction::Labels(_) => {}
    }
    Ok(scores)
}

/// A trained problem under one seed and prior.
pub struct Fitted<'a> {
    /// The problem.
    pub ready: &'a Ready<'a>,
    /// Its rows under this seed.
    pub rows: &'a Rows,
    /// Its weights.
    pub fit: &'a Fit,
    /// The approximation under this prior.
    pub laplace: Arc<Laplace>,
    /// What that took.
    pub fit_seconds: f64,
    /// What draws from it and their scores depend on.
    pub made_from: MadeFrom,
}

impl<'a> Fitted<'a> {
    /// Approximates the posterior of a trained network under a prior.
    pub fn new(ready: &'a Ready<'a>, rows: &'a Rows, fit: &'a Fit, prior: PriorName) -> Result<Self> {
        let clock = Instant::now();
        let laplace = fit.laplace(ready.problem, rows, prior)?;
        let fit_seconds = clock.elapsed().as_secs_f64();
        let data = FittedTo::new(&rows.train, rows.validation.as_ref());
        let made_from = MadeFrom {
            draws: Origin::new(fit.network.spec(), &laplace, data),
            test: Some(Digest::of_data(&rows.test)),
            out_of_distribution: digests(&ready.strange),
        };
        Ok(Self { ready, rows, fit, laplace: Arc::new(laplace), fit_seconds, made_from })
    }

    /// The posterior of a key.
    pub fn posterior(&self, key: &CellKey) -> Result<Posterior> {
        let Some(method) = key.method.posterior() else {
            return Err(riemla::Error::Unsupported(format!("{} is not a posterior", key.method)).into());
        };
        let plan = self.ready.problem.batch.filter(|_| key.method.batched());
        let batch = plan.map(|plan| with_length(plan, key.setting));
        let config = PosteriorConfig { batch, ..key.setting.config(method) };
        let posterior = Posterior::of_network(&self.fit.loss, &self.laplace, config)?;
        match &self.rows.validation {
            Some(rows) if key.setting.needs_validation() => Ok(posterior.with_held_out(rows.clone())?),
            _ => Ok(posterior),
        }
    }

    /// The scores of draws.
    fn scores(&self, key: &CellKey, thetas: Vec<Vec<f64>>) -> Result<Vec<Score>> {
        let Ready { experiment, problem, strange } = self.ready;
        let predictor = self.fit.predictor(&self.laplace, key.method.is_linearized(), thetas)?;
        let mut predictor = Together::from(predictor);
        if let (MethodName::MapTemperature, Some(rows)) = (key.method, &self.rows.validation) {
            let plain = predictor.predict(rows.inputs())?;
            predictor.temperature = Some(fit_temperature(&plain, rows.targets())?);
        }
        let test = predictor.predict(self.rows.test.inputs())?;
        let named = |name: &str, all: Vec<(&'static str, f64)>| -> Vec<Score> {
            let score =
                |(score, value): (&str, f64)| Score { test_set: name.into(), score: score.into(), value };
            all.into_iter().map(score).collect()
        };
        let mut scores = Vec::new();
        let study = !experiment.approximations.is_empty();
        if strange.is_empty() || study {
            let own = in_paper_units(&test, self.rows.test.targets(), experiment.bins)?;
            scores.extend(named(&problem.name, own));
        }
        if let (true, Some(rows)) = (study && predictor.is_average(), &self.rows.validation) {
            let tempered =
                TemperatureChoice::Auto.apply(predictor.clone(), Some(rows), Promised::default())?;
            let own = tempered.predict(self.rows.test.inputs())?;
            let own = in_paper_units(&own, self.rows.test.targets(), experiment.bins)?;
            scores.extend(named(&format!("{}{AT_TEMPERATURE}", problem.name), own));
        }
        let known = Doubts::of(&test)?;
        for (name, inputs) in strange {
            scores.extend(named(name, known.areas(&Doubts::of(&predictor.predict(inputs)?)?)?));
        }
        Ok(scores)
    }

    /// The trained network and its approximation, in numbers.
    fn summary(&self) -> ModelSummary {
        let laplace = &self.laplace;
        let sigma_noise = match laplace.likelihood {
            Likelihood::Gaussian { sigma_noise } => Some(sigma_noise),
            _ => None,
        };
        let memory =
            memory_estimate(self.ready.problem.structure, &self.fit.network, laplace.gaussian.subset());
        ModelSummary {
            weights: laplace.gaussian.theta().len(),
            prior_precision: laplace.prior.scalar(),
            sigma_noise,
            log_marginal_likelihood: laplace.log_marginal_likelihood,
            gradient_norm: laplace.gradient_norm,
            training: self.fit.training.clone(),
            fit_seconds: Some(self.fit_seconds),
            fit_megabytes: memory.ok().map(|bytes| bytes as f64 / 1e6),
        }
    }
}

/// A file that says nothing of the length of draws on batches leaves it to the setting.
fn with_length(plan: BatchPlan, setting: Setting) -> BatchPlan {
    let length = if plan.length.is_full() { setting.batch_length() } else { plan.length };
    BatchPlan { length, ..plan }
}

impl Source for Fitted<'_> {
    fn draws(&self, key: &CellKey, wanted: &Wanted<'_>) -> Result<Drawn> {
        match key.method {
            MethodName::MapTemperature => Ok(Drawn::of_gradients(vec![self.fit.theta.clone()], 0)),
            MethodName::Swag => self.swag(key.setting.rate(), wanted),
            MethodName::Ensemble => self.ensemble(wanted),
            _ => cell::draws(self.posterior(key)?, wanted),
        }
    }

    fn model(&self) -> Option<ModelSummary> {
        Some(self.summary())
    }

    /// Measured on all rows; a batch takes the share that it has of them.
    fn gradient_seconds(&self, key: &CellKey) -> Result<Option<f64>> {
        let posterior = self.posterior(key)?;
        let rows = self.rows.train.len();
        let share = posterior.batch_rows()?.unwrap_or(rows) as f64 / rows as f64;
        let theta = posterior.gaussian().theta();
        let mut gradient = vec![0.0; theta.len()];
        let clock = Instant::now();
        posterior.model().value_and_gradient(theta, &mut gradient);
        Ok(Some(share * clock.elapsed().as_secs_f64()))
    }

    fn made_from(&self) -> &MadeFrom {
        &self.made_from
    }
}

impl Bench for Fitted<'_> {
    fn judge(&self, key: &CellKey, drawn: &Drawn) -> Result<Verdict> {
        let thetas: Vec<&[f64]> = drawn.draws.iter().map(|draw| draw.theta.as_slice()).collect();
        let uncertain = ![MethodName::Map, MethodName::MapTemperature].contains(&key.method);
        let ratio = || -> Result<f64> { Ok(self.posterior(key)?.virial_ratio(&thetas)?) };
        let virial_ratio = uncertain.then(ratio).transpose()?;
        let scores = self.scores(key, drawn.draws.iter().map(|draw| draw.theta.clone()).collect())?;
        Ok(Verdict { scores, virial_ratio, truth: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use riemla::posterior::{BatchDesign, BatchLength};
    use riemla::predict::{ClassPrediction, RegressionPrediction};

    #[test]
    fn batches_are_shortened_by_default_and_not_in_the_papers_presets() {
        let plan = BatchPlan::new(10, BatchDesign::Stratified);
        let lengths = Setting::PRESETS.map(|setting| with_length(plan, setting).length);
        assert_eq!(lengths, [BatchLength::Full, BatchLength::Full, BatchLength::Auto]);
        let given = BatchPlan { length: BatchLength::Factor(0.5), ..plan };
        assert_eq!(with_length(given, Setting::CALIBRATED), given);
    }

    #[test]
    fn scores_are_in_the_units_and_order_of_the_papers_tables() {
        let classes = Prediction::Classes(ClassPrediction {
            classes: 2,
            probabilities: vec![0.75, 0.25, 0.75, 0.25],
            entropy: Vec::new(),
            aleatoric: None,
            epistemic: None,
        });
        let scores = in_paper_units(&classes, &Targets::Classes(vec![0, 1]), 10).expect("scores");
        let names: Vec<&str> = scores.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["accuracy", "nll", "brier", "ece", "mce"]);
        // Half are right at a confidence of 75 %; squared errors 0.125 and 1.125, over two classes.
        for ((name, value), wanted) in
            scores.iter().zip([50.0, -0.5 * (0.75f64 * 0.25).ln(), 0.3125, 25.0, 25.0])
        {
            assert!((value - wanted).abs() < 1e-12, "{name}: {value} and not {wanted}");
        }
        let values = Prediction::Values(RegressionPrediction {
            outputs: 1,
            mean: vec![1.0],
            epistemic_variance: vec![0.5],
            aleatoric_variance: vec![0.5],
        });
        let targets = Targets::Values { values: vec![3.0], outputs: 1 };
        let scores = in_paper_units(&values, &targets, 10).expect("scores");
        assert_eq!(scores.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["nlpd", "rmse"]);
        assert!((scores[0].1 - 0.5 * (std::f64::consts::TAU.ln() + 4.0)).abs() < 1e-12 && scores[1].1 == 2.0);
    }
}
