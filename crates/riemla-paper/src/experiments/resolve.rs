//! From the text of an experiment to what is really run.

use super::config::{Approximation, Problem, Quick};
use super::{Estimate, Experiment, ExperimentError, MethodName, PriorName, Result, builtin};
use riemla_workflow::setting::Entry;

/// Whether a name can be one of files and of CSV fields.
fn is_name(name: &str) -> bool {
    name.starts_with(char::is_alphanumeric)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '=' | '.' | '+'))
}

/// The same with what its problems leave out.
fn with_defaults(mut experiment: toml::Table, defaults: Option<&toml::Table>) -> toml::Table {
    let problems = experiment.get_mut("problems").and_then(|problems| problems.as_array_mut());
    for problem in problems.into_iter().flatten().filter_map(|problem| problem.as_table_mut()) {
        for (key, value) in defaults.into_iter().flatten() {
            problem.entry(key).or_insert_with(|| value.clone());
        }
    }
    experiment
}

impl Experiment {
    /// Reads and checks the text of a TOML file; `file` is for messages.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let wrong = |error: toml::de::Error| ExperimentError::Config {
            file: file.into(),
            message: error.to_string(),
        };
        let mut table: toml::Table = toml::from_str(text).map_err(wrong)?;
        let experiment: Self = match table.remove("defaults") {
            Some(defaults) => with_defaults(table, defaults.as_table()).try_into().map_err(wrong)?,
            // From the text, so that messages name the line.
            None => toml::from_str(text).map_err(wrong)?,
        };
        experiment.check(file)?;
        Ok(experiment)
    }

    /// Checks what it asks for; `file` is for messages.
    pub fn check(&self, file: &str) -> Result<()> {
        self.mistakes().map_err(|message| ExperimentError::Config { file: file.into(), message })
    }

    /// Whether a posterior that takes so long is left out.
    pub(super) fn is_too_long(&self, estimate: Estimate) -> bool {
        self.longest_cell_seconds.is_some_and(|longest| estimate.seconds > longest)
    }

    /// The same as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("an experiment is made of what TOML knows")
    }

    fn mistakes(&self) -> std::result::Result<(), String> {
        if !self.problems.is_empty() && !self.uses.is_empty() {
            return Err("an experiment either defines [[problems]] or uses those of others, not both".into());
        }
        let densities = self.truth.as_ref().is_some_and(|plan| !plan.densities.is_empty());
        if self.problems.is_empty() && self.uses.is_empty() && !densities {
            return Err("it has no problems: add [[problems]]".into());
        }
        let names = self.problems.iter().map(|problem| ("the problem", &problem.name));
        for (what, name) in std::iter::once(("the experiment", &self.name)).chain(names) {
            if !is_name(name) {
                return Err(format!(
                    "{what} is called `{name}`: a name is used in paths and tables; it consists of \
                     letters, digits, spaces and any of - _ = . +, and begins with a letter or digit"
                ));
            }
        }
        self.check_methods()?;
        let Quick { seeds, samples, .. } = self.quick;
        for (what, number) in [
            ("seeds", self.seeds),
            ("samples", self.samples),
            ("quick.seeds", seeds),
            ("quick.samples", samples),
        ] {
            if number == 0 {
                return Err(format!("{what} must be at least 1"));
            }
        }
        let mut names: Vec<&str> = self.problems.iter().map(|problem| problem.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two problems are called {}", pair[0]));
        }
        let mut settings = self.settings.clone();
        settings.sort_unstable();
        if let Some(pair) = settings.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the setting {} is listed twice", pair[0]));
        }
        let batched = self.methods.iter().any(|entry| entry.method.batched());
        match self.problems.iter().find(|problem| batched && problem.batch.is_none()) {
            Some(problem) => Err(format!("problem {} has no batch, but a method needs one", problem.name)),
            None => Ok(()),
        }
    }

    fn check_methods(&self) -> std::result::Result<(), String> {
        if self.methods.is_empty() {
            return Err("it has no methods: add methods = [\"map\", \"la\", \"riem-la\"]".into());
        }
        if let Some(plan) = &self.truth {
            if self.priors != [PriorName::Given] || !self.settings.is_empty() {
                return Err("an experiment with a [truth] has priors = [\"given\"] and no settings".into());
            }
            return plan.check(self.samples.min(self.quick.samples), &self.methods);
        }
        if self.priors.contains(&PriorName::Given) {
            return Err("the prior `given` is for experiments with a [truth]".into());
        }
        let temperature =
            self.problems.iter().all(|p| p.split.has_validation()) && !self.approximations.is_empty();
        let known = |method: MethodName| {
            method.posterior().is_some() || (temperature && method == MethodName::MapTemperature)
        };
        let unfit = |entry: &&Entry| !known(entry.method) || entry.setting.is_some();
        match self.methods.iter().find(unfit) {
            Some(entry) => Err(format!(
                "{entry} is for experiments with a [truth]; the methods here are {}, and settings are \
                 listed in settings = [...]",
                MethodName::of_paper().map(MethodName::name).collect::<Vec<_>>().join(", ")
            )),
            None => Ok(()),
        }
    }

    /// With the problems of the experiments it uses, and in its small version if `quick`.
    pub fn resolve(mut self, quick: bool) -> Result<Self> {
        for name in std::mem::take(&mut self.uses) {
            self.problems.extend(builtin(&name)?.resolve(quick)?.problems);
        }
        for problem in &mut self.problems {
            let sets = &mut problem.out_of_distribution;
            sets.extend(self.out_of_distribution.iter().filter(|set| **set != problem.data).cloned());
        }
        self.out_of_distribution.clear();
        if quick {
            self.shrink();
        }
        self.approximate();
        Ok(self)
    }

    /// Every problem once with each approximation; the trained weights are shared. Those there are already stay.
    fn approximate(&mut self) {
        if self.approximations.is_empty() || self.problems.iter().any(|problem| problem.fit.is_some()) {
            return;
        }
        let with = |problem: &Problem| {
            let with = |Approximation { name, structure, subset }: &Approximation| Problem {
                name: format!("{} {name}", problem.name),
                fit: Some(problem.name.clone()),
                structure: *structure,
                subset: subset.clone(),
                ..problem.clone()
            };
            self.approximations.iter().map(with).collect::<Vec<Problem>>()
        };
        self.problems = self.problems.iter().flat_map(with).collect();
    }

    fn shrink(&mut self) {
        let quick = self.quick.clone();
        (self.seeds, self.samples) = (quick.seeds, quick.samples);
        if let Some(priors) = &quick.priors {
            self.priors.retain(|prior| priors.contains(prior));
        }
        if let Some(settings) = &quick.settings {
            self.settings.retain(|setting| settings.contains(setting));
        }
        if let Some(names) = &quick.problems {
            self.problems.retain(|problem| names.contains(&problem.name));
        }
        if let Some(plan) = &mut self.truth {
            plan.members = quick.members.unwrap_or(plan.members);
            plan.chains = quick.chains.unwrap_or(plan.chains);
        }
        for Problem { training, batch, .. } in &mut self.problems {
            training.epochs = quick.epochs.unwrap_or(training.epochs);
            training.rows = quick.rows.or(training.rows);
            training.test_rows = quick.test_rows.or(training.test_rows);
            if let (Some(batch), Some(size)) = (batch, quick.batch_size) {
                batch.size = size.into();
            }
        }
    }
}
