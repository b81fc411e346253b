//! The experiments that come with the program.

use std::path::Path;

use super::{Experiment, ExperimentError, Result};

/// Names and texts: the paper's, in its order, then studies of our own.
pub const BUILTIN: [(&str, &str); 18] = [
    ("logistic", include_str!("../../experiments/logistic.toml")),
    ("regression", include_str!("../../experiments/regression.toml")),
    ("regression-gap", include_str!("../../experiments/regression-gap.toml")),
    ("banana", include_str!("../../experiments/banana.toml")),
    ("pinwheel", include_str!("../../experiments/pinwheel.toml")),
    ("uci", include_str!("../../experiments/uci.toml")),
    ("mnist", include_str!("../../experiments/mnist.toml")),
    ("fashion-mnist", include_str!("../../experiments/fashion-mnist.toml")),
    ("ood", include_str!("../../experiments/ood.toml")),
    ("batches", include_str!("../../experiments/batches.toml")),
    ("strength", include_str!("../../experiments/strength.toml")),
    ("strength-mnist", include_str!("../../experiments/strength-mnist.toml")),
    ("truth", include_str!("../../experiments/truth.toml")),
    ("polish", include_str!("../../experiments/polish.toml")),
    ("convex", include_str!("../../experiments/convex.toml")),
    ("prior", include_str!("../../experiments/prior.toml")),
    ("prior-mnist", include_str!("../../experiments/prior-mnist.toml")),
    ("scale", include_str!("../../experiments/scale.toml")),
];

/// The names of the paper's experiments: those that leave the settings of geodesics to the presets, know no truth and
/// search no prior.
pub fn paper_experiments() -> Vec<&'static str> {
    let of_paper = |name: &&str| {
        builtin(name).is_ok_and(|e| {
            e.settings.is_empty() && e.truth.is_none() && !e.priors.iter().any(|p| p.comes_with_weights())
        })
    };
    BUILTIN.map(|(name, _)| name).into_iter().filter(of_paper).collect()
}

/// The experiment of a name.
pub fn builtin(name: &str) -> Result<Experiment> {
    match BUILTIN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Experiment::parse(&format!("experiments/{name}.toml"), text),
        None => {
            let known = BUILTIN.map(|(name, _)| name).join(", ");
            Err(ExperimentError::Unfit(format!(
                "unknown experiment {name}; the experiments are {known}, or give the path of a TOML file"
            )))
        }
    }
}

/// An experiment by name, or from a TOML file if the argument is a path.
pub fn open(name_or_path: &str) -> Result<Experiment> {
    let path = Path::new(name_or_path);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return builtin(name_or_path);
    }
    let text = std::fs::read_to_string(path).map_err(ExperimentError::io(path, "read it"))?;
    Experiment::parse(name_or_path, &text)
}

#[cfg(test)]
mod tests {
    use super::super::{NetworkChoice, Problem, Split};
    use super::*;

    #[test]
    fn all_are_valid_and_come_back_from_their_own_text() {
        for (name, _) in BUILTIN {
            for quick in [false, true] {
                let experiment = builtin(name).and_then(|e| e.resolve(quick)).expect("valid");
                assert_eq!(experiment.name, name);
                assert!(!experiment.problems.is_empty());
                assert_eq!(Experiment::parse(name, &experiment.to_toml()).expect("reads"), experiment);
            }
        }
    }

    #[test]
    fn problems_keep_what_they_say_and_inherit_the_rest() {
        let problems = builtin("scale").expect("built in").problems;
        let find = |name: &str| problems.iter().find(|problem| problem.name == name).expect("a problem");
        let images = |problem: &Problem| match problem.split {
            Split::Images { per_class, test, .. } => (per_class, test),
            _ => panic!("{:?}", problem.split),
        };
        let (few, all) = (find("cnn-1e4 5000"), find("cnn-1e4 60000"));
        assert_eq!((images(few), images(all)), ((Some(500), 8000), (None, 8000)));
        assert_eq!((&few.data, &few.training), (&all.data, &all.training));
        assert_eq!(few.network, all.network);
        assert!(matches!(few.network, NetworkChoice::Layers(_)), "found by its name");
    }

    #[test]
    fn unknown_keys_and_names_are_refused() {
        let text = BUILTIN[3].1.replace("seeds = 5", "seeds = 5\nsed = 3");
        let error = Experiment::parse("banana.toml", &text).expect_err("unknown key").to_string();
        assert!(error.contains("banana.toml") && error.contains("sed"), "{error}");
        let error = builtin("bananas").expect_err("unknown").to_string();
        assert!(error.contains("fashion-mnist"), "{error}");
        let text = BUILTIN[3].1.replace("weight_decay = 1e-2", "weight_decay = 1e-2\nmomentum = 0.9");
        assert!(Experiment::parse("banana.toml", &text).is_err());
    }
}
