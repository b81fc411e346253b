//! One table and seed: train, fit, sample and evaluate as a user does, and what every method scored.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use riemla::curvature::{LaplaceConfig, PriorChoice, Subset};
use riemla::posterior::Method;
use riemla::reference::Reference;
use riemla::score::Bootstrap;
use riemla_files::encoding::MissingValues;
use riemla_files::members::write_posteriors;
use riemla_files::{Existing, Model, OutputDirectory, SavedPosterior};
use riemla_workflow::method::MethodName;
use riemla_workflow::scores::kinds;
use riemla_workflow::setting::Setting;
use riemla_workflow::watch::Silent;
use riemla_workflow::workflow::guarantees::Wanted;
use riemla_workflow::workflow::members::{Weighting, sample_members, train_members};
use riemla_workflow::workflow::{
    ColumnChoices, DataFiles, EvaluateConfig, Evaluation, FitConfig, SampleConfig, TrainConfig, evaluate,
    fit, sample,
};

use super::plan::{Plan, Set};
use super::table::split;
use super::{Record, Scored};
use crate::datasets::DataDirs;
use crate::experiments::Result;

/// Draws of one network, and those that members share out.
const ALONE: &str = "riem-la";
const SHARED: &str = "shared";

/// Runs one cell in a directory of its own, which may be there from an interrupted run.
pub(super) fn run(
    plan: &Plan,
    (set, seed): (&Set, u64),
    data: &DataDirs,
    work: &Path,
    stop: &AtomicBool,
) -> Result<Record> {
    let rows = split(plan, (set, seed), data, work)?;
    let files =
        |name: &str| DataFiles { target: Some(set.target.clone()), ..DataFiles::new(work.join(name)) };
    let mut clock = Clock::default();
    let config = TrainConfig {
        data: files("train.csv"),
        task: Some(set.task),
        columns: ColumnChoices { missing: MissingValues::Impute, ..ColumnChoices::default() },
        baselines: false,
        seed: seed + 1,
        ..TrainConfig::new("")
    };
    let trained = train_members(&config, plan.members, stop, &Silent)?;
    clock.lap("train");
    let mut notes: Vec<String> = trained.iter().flat_map(|member| member.notes.clone()).collect();
    let models: Vec<Model> = trained.into_iter().map(|member| member.model).collect();
    let fitted = |model: &Model, subset: Subset| -> Result<SavedPosterior> {
        let laplace = LaplaceConfig { prior: PriorChoice::Keep, subset, ..LaplaceConfig::default() };
        let config =
            FitConfig { data: files("train.csv"), laplace, memory: None, keep_data: true, other_data: false };
        Ok(fit(model.clone(), &config, stop, &Silent)?.posterior)
    };
    let write = |name: &str, posteriors: &[SavedPosterior]| -> Result<()> {
        let output = OutputDirectory::claim(&work.join(name), Existing::Replace, &[])?;
        Ok(write_posteriors(posteriors, &output)?)
    };
    let posteriors = models.iter().map(|model| fitted(model, Subset::All)).collect::<Result<Vec<_>>>()?;
    write("posterior", &posteriors)?;
    clock.lap("fit");
    write("last-layer", &[fitted(&models[0], Subset::LastLayer)?])?;
    clock.lap("last layer");
    let (together, first) = (work.join("posterior"), work.join("posterior/1"));
    let named = |name: &str, run: riemla_files::RunConfig| SampleConfig {
        name: Some(name.into()),
        ..SampleConfig::new(run, plan.draws, seed)
    };
    let geodesics = || riemla_files::RunConfig::Posterior(Setting::CALIBRATED.config(Method::RiemLa));
    notes.extend(sample(&first, &named(ALONE, geodesics()), stop, &Silent)?.taken.diagnosis.warnings);
    clock.lap("riem-la");
    sample_members(&together, &named(SHARED, geodesics()), stop, &Silent)?;
    clock.lap("shared");
    if let Some(swag) = Reference::named(MethodName::Swag.name()) {
        sample_members(&together, &named(MethodName::Swag.name(), swag.into()), stop, &Silent)?;
    }
    clock.lap("swag");
    let judged = |name: &str| -> Result<Evaluation> {
        let config = EvaluateConfig {
            data: files("test.csv"),
            ood: Vec::new(),
            validation: None,
            sets: Vec::new(),
            bootstrap: Bootstrap { resamples: 2, ..Bootstrap::default() },
            wanted: Wanted::default(),
            weighting: Weighting::Equal,
        };
        Ok(evaluate(&work.join(name), &config, &Silent)?)
    };
    let methods =
        collected(plan, &clock, &judged("posterior/1")?, &judged("posterior")?, &judged("last-layer")?);
    notes.sort();
    notes.dedup();
    let riemla_version = env!("CARGO_PKG_VERSION").into();
    Ok(Record { set: set.name.clone(), seed, riemla_version, plan: plan.clone(), rows, methods, notes })
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

/// The methods of one network, then those of all members, each with the seconds it takes.
fn collected(
    plan: &Plan,
    clock: &Clock,
    alone: &Evaluation,
    together: &Evaluation,
    last_layer: &Evaluation,
) -> Vec<Scored> {
    let share = 1.0 / plan.members as f64;
    let train = clock.of(&["train"]);
    let fit = clock.of(&["fit"]);
    let seconds = |name: &str| match name {
        "map" | "map-temperature" => share * train,
        "la" | "lin-la" => share * (train + fit),
        ALONE => share * (train + fit) + clock.of(&["riem-la"]),
        "lin-la, last layer" => share * train + clock.of(&["last layer"]),
        "swag" => share * (train + clock.of(&["swag"])),
        "map-members" | "map-temperature-members" => train,
        "lin-la-members" => train + fit,
        "riem-la-members" => train + fit + clock.of(&["shared"]),
        _ => train + clock.of(&["swag"]),
    };
    let wanted = |evaluation: &Evaluation, from: &str, name: &str| {
        let method = evaluation.methods.iter().find(|method| method.name == from)?;
        let scores = kinds(evaluation.likelihood.kind()).iter().zip(&method.scores);
        Some(Scored {
            method: name.into(),
            draws: method.draws,
            seconds: seconds(name),
            scores: scores.map(|(kind, interval)| (kind.name.to_string(), interval.estimate)).collect(),
        })
    };
    let single = ["map", "map-temperature", "la", "lin-la", ALONE, "swag"].map(|name| (alone, name, name));
    let members = [
        (together, "map-members", "map-members"),
        (together, "map-temperature-members", "map-temperature-members"),
        (together, "lin-la-members", "lin-la-members"),
        (together, "shared-members", "riem-la-members"),
        (together, "swag-members", "swag-members"),
    ];
    let last = [(last_layer, "lin-la", "lin-la, last layer")];
    let all = single.into_iter().chain(last).chain(members);
    all.filter_map(|(evaluation, from, name)| wanted(evaluation, from, name)).collect()
}

/// One line for logs.
pub(super) fn line(record: &Record) -> String {
    let scores: Vec<String> = record
        .methods
        .iter()
        .filter_map(|scored| Some(format!("{} {:.3}", scored.method, scored.log_loss()?)))
        .collect();
    format!("{}, seed {}: {}", record.set, record.seed, scores.join(", "))
}
