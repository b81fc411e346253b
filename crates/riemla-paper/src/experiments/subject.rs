//! What the cells of an experiment are about: its problems, and densities.

use serde_json::{Value, json};

use super::record::CellKey;
use super::truth::{Density, Plane};
use super::{Experiment, MethodName, PriorName, Problem, Setting};

/// A problem, or a density.
pub enum Subject<'a> {
    /// Data, network and training.
    Problem(&'a Problem),
    /// A density in the plane.
    Density(Density),
}

impl<'a> Subject<'a> {
    /// All of an experiment, in order.
    pub fn all(experiment: &'a Experiment) -> Vec<Self> {
        let densities = experiment.truth.iter().flat_map(|plan| &plan.densities);
        let densities = densities.map(|density| Self::Density(*density));
        densities.chain(experiment.problems.iter().map(Self::Problem)).collect()
    }

    /// Its name in results.
    pub fn name(&self) -> &str {
        match self {
            Self::Problem(problem) => &problem.name,
            Self::Density(density) => density.name(),
        }
    }

    /// All that the numbers of its cells depend on, besides seed, method and number of draws.
    pub fn config(&self, experiment: &Experiment) -> Value {
        let own = match self {
            Self::Problem(problem) => json!(problem),
            Self::Density(density) => json!(density),
        };
        match &experiment.truth {
            Some(plan) => json!({ "target": own, "chains": plan.chains }),
            None => own,
        }
    }

    /// The key of a cell.
    pub fn key(
        &self,
        experiment: &Experiment,
        seed: u64,
        prior: PriorName,
        setting: Setting,
        method: MethodName,
    ) -> CellKey {
        let (experiment, problem) = (experiment.name.clone(), self.name().to_string());
        CellKey { experiment, problem, seed, prior, setting, method }
    }

    /// The cells of a seed and prior: methods without geodesics first, then geodesics setting by setting; the
    /// chains that are the truth before all others.
    pub fn pairs(&self, experiment: &Experiment, presets: &[Setting]) -> Vec<(Setting, MethodName)> {
        if experiment.truth.is_some() {
            let here = experiment.methods.iter().filter(|entry| match self {
                Self::Density(_) => Plane::takes(**entry),
                Self::Problem(problem) => {
                    problem.split.has_validation() || !entry.setting.is_some_and(Setting::needs_validation)
                }
            });
            let pairs = here.map(|entry| (entry.setting.unwrap_or(Setting::ANY), entry.method));
            return [(Setting::ANY, MethodName::Nuts)].into_iter().chain(pairs).collect();
        }
        let own = &experiment.settings;
        let validation = matches!(self, Self::Problem(problem) if problem.split.has_validation());
        let settings = if own.is_empty() { presets } else { own }.iter().copied();
        let settings = settings.filter(|setting| validation || !setting.needs_validation());
        let methods = || experiment.methods.iter().map(|entry| entry.method);
        let plain = methods().filter(|method| !method.is_riemannian()).map(|method| (Setting::ANY, method));
        let curved = move |setting: Setting| {
            // Draws on batches cannot be polished.
            let fits = move |method: &MethodName| !(setting.polishes() && method.batched());
            methods()
                .filter(|method| method.is_riemannian())
                .filter(fits)
                .map(move |method| (setting, method))
        };
        plain.chain(settings.flat_map(curved)).collect()
    }
}

/// Draws of a method: the trained weights are one point, and more draws would repeat it.
pub fn requested(experiment: &Experiment, method: MethodName) -> u64 {
    match (method, &experiment.truth) {
        (MethodName::Map | MethodName::MapTemperature, _) => 1,
        (MethodName::Nuts | MethodName::Mclmc, Some(plan)) => (plan.chains.chains * plan.chains.draws) as u64,
        (MethodName::Ensemble, Some(plan)) => plan.members,
        _ => experiment.samples,
    }
}
