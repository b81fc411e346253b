//! Runs the comparison: per target the truth, then every method that is not done yet.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use riemla::posterior::virial_ratio;
use serde_json::json;

use super::chains::{self, ChainSummary};
use super::distance::{Distances, Truth, finite, slices};
use super::network::NetworkTarget;
use super::plan::{PLAN_FILE, TruthPlan};
use super::plane::Plane;
use super::record::{TruthRecord, TruthRecords, read_draws, write_draws};
use super::target::{Drawn, Target, Wanted};
use crate::datasets::DataDirs;
use crate::experiments::layout::write_text;
use crate::experiments::{ExperimentError, Outcome, Result};
use crate::method::MethodName;
use crate::setting::Entry;
use crate::watch::Watch;

/// The chains.
const NUTS: Entry = Entry { method: MethodName::Nuts, setting: None };

/// Draws of a truth that is exact.
const EXACT_DRAWS: u64 = 4000;

/// What is to be run, and where.
#[derive(Debug, Clone)]
pub struct TruthRequest {
    /// What is compared.
    pub plan: TruthPlan,
    /// Where to write.
    pub out: PathBuf,
    /// Where the data are.
    pub data: DataDirs,
}

/// Runs all that is not done yet. The output directory must be there.
pub fn run(request: &TruthRequest, stop: &AtomicBool, watch: &dyn Watch) -> Result<Outcome> {
    let TruthRequest { plan, out, .. } = request;
    write_text(&out.join(PLAN_FILE), &plan.to_toml())?;
    let mut run =
        Run { request, stop, watch, records: TruthRecords::open(out)?, outcome: Outcome::default() };
    let targets = plan.densities.len() + plan.problems.len();
    watch.begin("truth", (targets * (plan.contenders.len() + 1)) as u64);
    for density in &plan.densities {
        let made_with = run.made_with(json!(density));
        let result = run.target(density.name(), made_with, || Ok(Box::new(Plane::new(*density)?)));
        run.keep_going(density.name(), result)?;
    }
    for problem in &plan.problems {
        let wanted = run.wanted(NUTS);
        let made_with = run.made_with(json!(problem));
        let new = || -> Result<Box<dyn Target>> {
            let place = (out.as_path(), &request.data);
            Ok(Box::new(NetworkTarget::new(problem, place, &wanted, watch)?))
        };
        let result = run.target(&problem.name, made_with, new);
        run.keep_going(&problem.name, result)?;
    }
    run.outcome.interrupted = stop.load(Ordering::Relaxed);
    Ok(run.outcome)
}

struct Run<'a> {
    request: &'a TruthRequest,
    stop: &'a AtomicBool,
    watch: &'a dyn Watch,
    records: TruthRecords,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    fn wanted(&self, contender: Entry) -> Wanted<'a> {
        let TruthPlan { samples, members, seed, .. } = self.request.plan;
        Wanted { contender, samples, members, seed, stop: self.stop }
    }

    /// All that numbers of a target depend on.
    fn made_with(&self, target: serde_json::Value) -> serde_json::Value {
        let TruthPlan { samples, members, seed, chains, .. } = &self.request.plan;
        json!({ "target": target, "seed": seed, "samples": samples, "members": members, "chains": chains })
    }

    /// A failure of one part is written down and does not stop the others.
    fn keep_going(&mut self, what: &str, result: Result<()>) -> Result<()> {
        match result {
            Ok(()) | Err(ExperimentError::Interrupted) => Ok(()),
            Err(error @ ExperimentError::File(_)) => Err(error),
            Err(error) => {
                self.watch.note(&format!("{what}: {error}"));
                self.outcome.failures.push(format!("{what}: {error}"));
                Ok(())
            }
        }
    }

    fn is_done(&self, name: &str, contender: Entry, made_with: &serde_json::Value) -> bool {
        self.records.get(name, contender).is_some_and(|record| record.made_with == *made_with)
    }

    fn target(
        &mut self,
        name: &str,
        made_with: serde_json::Value,
        new: impl FnOnce() -> Result<Box<dyn Target>>,
    ) -> Result<()> {
        let contenders: Vec<Entry> =
            self.request.plan.contenders.iter().copied().filter(|c| c.method != MethodName::Nuts).collect();
        let all = || [NUTS].into_iter().chain(contenders.iter().copied());
        if self.stop.load(Ordering::Relaxed) {
            return Err(ExperimentError::Interrupted);
        }
        if all().all(|contender| self.is_done(name, contender, &made_with)) {
            all().for_each(|_| self.watch.step());
            return Ok(());
        }
        let target = new()?;
        let place = Place { name, target: &*target, made_with: &made_with };
        let truth = self.truth(&place)?;
        for contender in contenders {
            if self.stop.load(Ordering::Relaxed) {
                return Err(ExperimentError::Interrupted);
            }
            if !self.is_done(name, contender, &made_with) {
                let result = self.contender(&place, &truth, contender);
                self.keep_going(&format!("{name}, {contender}"), result)?;
            }
            self.watch.step();
        }
        Ok(())
    }

    /// The truth: exact draws, or those of chains, which are run in any case.
    fn truth(&mut self, place: &Place<'_>) -> Result<Truth> {
        let wanted = self.wanted(NUTS);
        let exact = place.target.exact(wanted.seed, EXACT_DRAWS);
        let out = &self.request.out;
        if self.is_done(place.name, NUTS, place.made_with) {
            self.watch.step();
            let draws = exact.map_or_else(|| read_draws(out, place.name, NUTS), Ok)?;
            return Truth::new(place.target, draws);
        }
        let (drawn, summary) = chains::run(place.target, &self.request.plan.chains, &wanted)?;
        write_draws(out, place.name, NUTS, &drawn.thetas)?;
        let is_exact = exact.is_some();
        let truth = Truth::new(place.target, exact.unwrap_or_else(|| drawn.thetas.clone()))?;
        let distances = truth.distances(place.target, &drawn.thetas, false)?;
        // Chains that are the truth themselves have no distance from it.
        let distances = match is_exact {
            true => distances,
            false => Distances { weights: None, functions: None, deviation_ratio: None, ..distances },
        };
        self.put(place, NUTS, is_exact, drawn, distances, Some(summary))?;
        self.watch.step();
        Ok(truth)
    }

    fn contender(&mut self, place: &Place<'_>, truth: &Truth, contender: Entry) -> Result<()> {
        let Some(drawn) = place.target.draws(&self.wanted(contender))? else { return Ok(()) };
        if drawn.thetas.len() < 2 {
            let what = format!("{}, {contender}", place.name);
            let reason = format!("{} of {} draws failed", drawn.failed, self.request.plan.samples);
            return Err(ExperimentError::NoDraw { what, reason });
        }
        let distances = truth.distances(place.target, &drawn.thetas, contender.method.is_linearized())?;
        write_draws(&self.request.out, place.name, contender, &drawn.thetas)?;
        let exact = self.records.get(place.name, NUTS).is_some_and(|record| record.exact_truth);
        self.put(place, contender, exact, drawn, distances, None)
    }

    fn put(
        &mut self,
        place: &Place<'_>,
        contender: Entry,
        exact_truth: bool,
        drawn: Drawn,
        distances: Distances,
        chains: Option<ChainSummary>,
    ) -> Result<()> {
        let record = place.record(contender, exact_truth, drawn, distances, chains)?;
        let text =
            |name: &str, value: Option<f64>| value.map_or(String::new(), |v| format!(", {name} {v:.3}"));
        self.watch.note(&format!(
            "{}, {contender}: {} draws{}{}{}",
            place.name,
            record.draws,
            text("W1", distances.weights),
            text("W1 of predictions", distances.functions),
            text("virial ratio", record.virial_ratio),
        ));
        self.records.put(record)
    }
}

/// A target under way.
struct Place<'a> {
    name: &'a str,
    target: &'a dyn Target,
    made_with: &'a serde_json::Value,
}

impl Place<'_> {
    fn record(
        &self,
        contender: Entry,
        exact_truth: bool,
        drawn: Drawn,
        distances: Distances,
        chains: Option<ChainSummary>,
    ) -> Result<TruthRecord> {
        let thetas = slices(&drawn.thetas);
        let (center, linearized) = (self.target.center(), contender.method.is_linearized());
        let objective = self.target.objective(linearized)?;
        let (n, half) = (thetas.len() as f64, 0.5 * center.len() as f64);
        let lowest = objective.value(center);
        let rise = thetas.iter().map(|theta| objective.value(theta) - lowest).sum::<f64>() / (n * half);
        let all = (drawn.counters.gradients + drawn.search.gradients) as f64;
        let warmup = chains.map_or(0, |chains| chains.warmup_gradients) as f64;
        let effective = chains.map_or(Some(n), |chains| chains.bulk_ess);
        Ok(TruthRecord {
            target: self.name.into(),
            contender,
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            made_with: self.made_with.clone(),
            dim: center.len(),
            exact_truth,
            draws: thetas.len() as u64,
            failed: drawn.failed,
            strength: drawn.strength,
            rule_met: drawn.rule_met,
            distances,
            virial_ratio: finite(virial_ratio(&*objective, center, &thetas)),
            loss_rise: finite(rise),
            nll: self.target.score(&thetas, linearized)?,
            counters: drawn.counters,
            search: drawn.search,
            gradients_per_draw: finite((drawn.counters.gradients as f64 - warmup) / n),
            gradients_per_effective_draw: effective.and_then(|effective| finite(all / effective)),
            chains,
        })
    }
}
