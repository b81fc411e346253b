//! One set and seed: train, fit, sample and evaluate as a user does, and what every method scored.

use std::path::{Path, PathBuf};
use std::time::Instant;

use riemla::curvature::{LaplaceConfig, PriorChoice, Subset};
use riemla::posterior::{Method, PosteriorConfig, Strength};
use riemla::reference::{Reference, Swag};
use riemla::score::Bootstrap;
use riemla_files::encoding::MissingValues;
use riemla_files::members::write_posteriors;
use riemla_files::{Existing, Model, OutputDirectory, RunConfig, SavedPosterior};
use riemla_workflow::method::MethodName;
use riemla_workflow::scores::kinds;
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::draws::{AT_TEMPERATURE, MIXED};
use riemla_workflow::workflow::guarantees::Wanted;
use riemla_workflow::workflow::members::{Weighting, sample_members, train_members};
use riemla_workflow::workflow::{
    ColumnChoices, EvaluateConfig, Evaluation, FOLDS, FitConfig, NetworkChoice, SampleConfig, TrainConfig,
    WorkflowError, evaluate, fit, sample,
};

use super::plan::{Plan, Set, Source};
use super::table::{Parts, split};
use super::{Key, Record, Scored};
use crate::datasets::DataDirs;
use crate::experiments::{ExperimentError, Result};

/// Draws of one network, and those that members share out.
const ALONE: &str = "riem-la";
const SHARED: &str = "shared";
/// The same without the chains that polish them, and without the temperature of their average.
const GEODESICS: &str = "riem-la, geodesics";
const AS_DRAWN: &str = "riem-la, as drawn";
/// Learning rates of SWAG, the first at which gradient descent does not diverge.
const SWAG_RATES: [f64; 4] = [0.1, 0.01, 1e-3, 1e-4];

/// Runs one cell in a directory of its own, which may be there from an interrupted run.
pub(super) fn run(
    plan: &Plan,
    key: &Key,
    data: &DataDirs,
    work: &Path,
    session: Session<'_>,
) -> Result<Record> {
    let (set, seed) = (plan.set(key)?, key.seed);
    let parts = split(plan, (set, seed), data, work)?;
    let (draws, members) = plan.sizes(set);
    let (clock, notes) = (Clock::default(), Vec::new());
    let mut cell = Cell { parts, draws, members, seed, work, session, clock, notes };
    let models = cell.train(set)?;
    cell.fit(&models)?;
    cell.sample()?;
    // Sets that were stopped are shorter than those of other cells.
    if session.stopped() {
        return Err(ExperimentError::Interrupted);
    }
    let methods = cell.collect()?;
    let Cell { parts, mut notes, .. } = cell;
    notes.sort();
    notes.dedup();
    let riemla_version = env!("CARGO_PKG_VERSION").into();
    let rows = parts.rows;
    Ok(Record { key: key.clone(), riemla_version, plan: plan.clone(), rows, methods, notes })
}

struct Cell<'a> {
    parts: Parts,
    draws: u64,
    members: usize,
    seed: u64,
    work: &'a Path,
    session: Session<'a>,
    clock: Clock,
    notes: Vec<String>,
}

impl Cell<'_> {
    fn train(&mut self, set: &Set) -> Result<Vec<Model>> {
        let defaults = TrainConfig::new("");
        let network = match &set.source {
            Source::Table { .. } => defaults.network.clone(),
            Source::Images(images) => NetworkChoice::Given(images.network.spec()),
        };
        let config = TrainConfig {
            data: self.parts.train.clone(),
            task: Some(set.task),
            columns: ColumnChoices { missing: MissingValues::Impute, ..ColumnChoices::default() },
            network,
            baselines: false,
            seed: self.seed + 1,
            ..defaults
        };
        let trained = train_members(&config, self.members, self.session)?;
        self.clock.lap("train");
        self.notes.extend(trained.iter().flat_map(|member| member.notes.clone()));
        Ok(trained.into_iter().map(|member| member.model).collect())
    }

    fn fit(&mut self, models: &[Model]) -> Result<()> {
        let fitted = |model: &Model, subset: Subset| -> Result<SavedPosterior> {
            let laplace = LaplaceConfig { prior: PriorChoice::Keep, subset, ..LaplaceConfig::default() };
            let data = self.parts.train.clone();
            let config = FitConfig {
                data,
                laplace,
                may_be_low_rank: true,
                memory: None,
                keep_data: true,
                other_data: false,
            };
            Ok(fit(model.clone(), &config, self.session)?.posterior)
        };
        let write = |name: &str, posteriors: &[SavedPosterior]| -> Result<()> {
            let output = OutputDirectory::claim(&self.work.join(name), Existing::Replace, &[])?;
            Ok(write_posteriors(posteriors, &output)?)
        };
        let posteriors = models.iter().map(|model| fitted(model, Subset::All)).collect::<Result<Vec<_>>>()?;
        write("posterior", &posteriors)?;
        self.clock.lap("fit");
        write("last-layer", &[fitted(&models[0], Subset::LastLayer)?])?;
        self.clock.lap("last layer");
        Ok(())
    }

    /// The posterior of the first network.
    fn first(&self) -> PathBuf {
        self.work.join(if self.members == 1 { "posterior" } else { "posterior/1" })
    }

    fn sample(&mut self) -> Result<()> {
        let (draws, seed) = (self.draws, self.seed);
        let named = |name: &str, run: RunConfig| SampleConfig {
            name: Some(name.into()),
            folds: Some(FOLDS),
            ..SampleConfig::new(run, draws, seed)
        };
        let config = PosteriorConfig::of_commands(Method::RiemLa);
        let by_default = RunConfig::Posterior(config.clone());
        let geodesics = PosteriorConfig { polish: None, ..config.clone() };
        let run = named(GEODESICS, RunConfig::Posterior(geodesics));
        let taken = sample(&self.first(), &run, self.session)?.taken;
        self.clock.lap("geodesics");
        // At the strength that was found: it is searched once. The default finds the same and pays for it too.
        let strength = taken.diagnosis.summary.strength.map_or(config.strength, Strength::Fixed);
        let run = named(ALONE, RunConfig::Posterior(PosteriorConfig { strength, ..config }));
        let taken = sample(&self.first(), &run, self.session)?.taken;
        self.clock.lap("riem-la");
        if self.members > 1 {
            let together = self.work.join("posterior");
            sample_members(&together, &named(SHARED, by_default), self.session)?;
            self.clock.lap("shared");
            self.swag(&together, named)?;
            self.clock.lap("swag");
        }
        self.notes.extend(taken.diagnosis.warnings);
        Ok(())
    }

    /// SWAG at the first rate at which gradient descent stays in the domain of the loss.
    fn swag(&mut self, together: &Path, named: impl Fn(&str, RunConfig) -> SampleConfig) -> Result<()> {
        for learning_rate in SWAG_RATES {
            let swag = Swag { learning_rate, ..Swag::default() };
            let run = named(MethodName::Swag.name(), Reference::Swag(swag).into());
            match sample_members(together, &run, self.session) {
                Err(error) if diverged(&error) => self.notes.push(format!("swag: {error}")),
                taken => return taken.map(drop).map_err(ExperimentError::from),
            }
            // What a rate that diverged has left is not mixed with that of the next.
            for member in 1..=self.members {
                let _ = std::fs::remove_dir_all(together.join(format!("{member}/samples/swag")));
            }
        }
        Ok(())
    }

    fn judged(&self, posterior: &Path) -> Result<Evaluation> {
        let config = EvaluateConfig {
            data: self.parts.test.clone(),
            ood: Vec::new(),
            validation: None,
            sets: Vec::new(),
            bootstrap: Bootstrap { resamples: 2, ..Bootstrap::default() },
            wanted: Wanted::default(),
            weighting: Weighting::Equal,
        };
        Ok(evaluate(posterior, &config, self.session.watch)?)
    }

    /// The methods of one network, then those of all members, each with the seconds it takes.
    fn collect(&self) -> Result<Vec<Scored>> {
        let alone = self.judged(&self.first())?;
        let single = ["map", "map-temperature", "la", "lin-la", "lin-la-temperature", GEODESICS, "swag"];
        let mut all: Vec<Scored> = single.iter().filter_map(|name| self.scored(&alone, name, name)).collect();
        let tempered = |name: &str| format!("{name}{AT_TEMPERATURE}");
        all.extend(self.scored(&alone, &tempered(ALONE), ALONE));
        all.extend(self.scored(&alone, ALONE, AS_DRAWN));
        all.extend(self.scored(&self.judged(&self.work.join("last-layer"))?, "lin-la", "lin-la, last layer"));
        if self.members > 1 {
            let together = self.judged(&self.work.join("posterior"))?;
            let temperature = tempered("map");
            for (from, kind) in [
                ("map", "map"),
                (temperature.as_str(), temperature.as_str()),
                ("lin-la", "lin-la"),
                (&tempered(SHARED), ALONE),
                ("swag", "swag"),
            ] {
                let (from, name) = (format!("{from}-members"), format!("{kind}-members"));
                all.extend(self.scored(&together, &from, &name));
            }
        }
        Ok(all)
    }

    fn scored(&self, evaluation: &Evaluation, from: &str, name: &str) -> Option<Scored> {
        let named = |wanted: &str| evaluation.methods.iter().find(|method| method.name == wanted);
        // Few held-out rows tell no temperature, and averages need none: then it is 1, and the trained weights may count.
        let or_else = |instead: &str| named(&from.replace(AT_TEMPERATURE, instead));
        let method = named(from).or_else(|| or_else(MIXED)).or_else(|| or_else(""))?;
        let scores = kinds(evaluation.likelihood.kind()).iter().zip(&method.scores);
        Some(Scored {
            method: name.into(),
            draws: method.draws,
            seconds: self.seconds(name),
            scores: scores.map(|(kind, interval)| (kind.name.to_string(), interval.estimate)).collect(),
        })
    }

    fn seconds(&self, name: &str) -> f64 {
        let (clock, share) = (&self.clock, 1.0 / self.members as f64);
        let (train, fit) = (clock.of(&["train"]), clock.of(&["fit"]));
        match name {
            "map" | "map-temperature" => share * train,
            "la" | "lin-la" | "lin-la-temperature" => share * (train + fit),
            GEODESICS => share * (train + fit) + clock.of(&["geodesics"]),
            ALONE | AS_DRAWN => share * (train + fit) + clock.of(&["geodesics", "riem-la"]),
            "lin-la, last layer" => share * train + clock.of(&["last layer"]),
            "swag" => share * (train + clock.of(&["swag"])),
            "map-members" | "map-temperature-members" => train,
            "lin-la-members" => train + fit,
            "riem-la-members" => train + fit + clock.of(&["shared"]),
            _ => train + clock.of(&["swag"]),
        }
    }
}

/// Whether gradient descent needs a smaller learning rate. Whatever else goes wrong, another rate does not help.
fn diverged(error: &WorkflowError) -> bool {
    matches!(error, WorkflowError::Library(riemla::Error::Range { what, .. }) if what == "learning_rate")
}

/// Seconds of the stages.
struct Clock {
    last: Instant,
    laps: Vec<(&'static str, f64)>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { last: Instant::now(), laps: Vec::new() }
    }
}

impl Clock {
    fn lap(&mut self, name: &'static str) {
        self.laps.push((name, self.last.elapsed().as_secs_f64()));
        self.last = Instant::now();
    }

    fn of(&self, names: &[&str]) -> f64 {
        self.laps.iter().filter(|(name, _)| names.contains(name)).map(|(_, seconds)| seconds).sum()
    }
}

/// One line for logs.
pub(super) fn line(record: &Record) -> String {
    let scores: Vec<String> = record
        .methods
        .iter()
        .filter_map(|scored| Some(format!("{} {:.3}", scored.method, scored.log_loss()?)))
        .collect();
    format!("{}: {}", record.key, scores.join(", "))
}

#[cfg(test)]
mod tests {
    use riemla::data::toy::two_moons;
    use riemla::nn::{Activation, Network, NetworkSpec};
    use riemla::objective::{Likelihood, NetworkLoss, Prior};
    use riemla::reference::swag;

    use super::*;

    #[test]
    fn only_a_rate_that_is_too_large_is_followed_by_the_next() {
        let network = std::sync::Arc::new(
            Network::new(&NetworkSpec::mlp(&[2, 4, 2], Activation::Relu)).expect("a network"),
        );
        let theta = network.initialize(1);
        let prior = Prior::isotropic(1.0, network.dim()).expect("a prior");
        let data = two_moons(20, 0.2, 1).expect("data");
        let loss = NetworkLoss::new(network, data, Likelihood::Categorical, prior).expect("a loss");
        let of = |settings: Swag, stop: bool| {
            let stop = std::sync::atomic::AtomicBool::new(stop);
            let control = riemla::Control::default().stopping(&stop);
            WorkflowError::from(swag(&loss, &theta, 1, &settings, control).expect_err("fails"))
        };
        let usual = Swag::default().for_rows(20);
        assert!(diverged(&of(Swag { learning_rate: 1e9, ..usual }, false)));
        assert!(!diverged(&of(Swag { rank: 1, ..usual }, false)));
        assert!(!diverged(&of(usual, true)));
        assert!(!diverged(&WorkflowError::Interrupted));
    }
}
