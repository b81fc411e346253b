//! From a model and its data to a posterior.

use std::sync::Arc;

use riemla::curvature::{Curvature, Laplace, LaplaceConfig, Structure, Subset};
use riemla::data::Dataset;
use riemla::nn::Network;
use riemla::objective::{Likelihood, NetworkLoss, Objective as _, Prior};
use riemla::posterior::{NEWTON_SHARE, Warning};
use riemla_files::{Digest, FittedTo, Model, SavedPosterior, TrainingData};

use super::error::{Result, WorkflowError};
use super::input::DataFiles;
use super::memory::check_fit;
use crate::watch::Session;

/// What is asked of a fit.
#[derive(Debug, Clone)]
pub struct FitConfig {
    /// The data the model was trained on.
    pub data: DataFiles,
    /// Curvature, structure, subset, prior.
    pub laplace: LaplaceConfig,
    /// Whether a full structure may be kept as all of its eigenpairs, where these are few and the same Gaussian (docs/decisions/0039-few-eigenpairs.md).
    pub may_be_low_rank: bool,
    /// Bytes that may be used; no limit if none.
    pub memory: Option<u64>,
    /// Keep the encoded data in the posterior, so that geodesics need no other file.
    pub keep_data: bool,
    /// Fit to all rows of the data even if the model was not trained on them.
    pub other_data: bool,
}

/// A posterior and what was noticed on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The posterior.
    pub posterior: SavedPosterior,
    /// Rows it was fitted to, and rows held out as in training.
    pub rows: (usize, usize),
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Fits a Laplace approximation at the weights of a model.
///
/// Rows that training held out are held out again; other data are refused unless asked for.
pub fn fit(mut model: Model, config: &FitConfig, session: Session<'_>) -> Result<Fitted> {
    let network = Arc::new(Network::new(&model.network)?);
    let laplace = &config.laplace;
    // Rows decide only where few of them make another structure the cheaper one; else nothing is read in vain.
    if !config.may_be_low_rank {
        check_fit(&network, laplace.structure, &laplace.subset, config.memory)?;
    }
    session.watch.begin("reading the data", 0);
    let mut notes = Vec::new();
    let data = data_for_fit(&model, config, &mut notes)?;
    let cheaper = in_few_eigenpairs(laplace, &network, data.train.len(), model.likelihood);
    let laplace = if config.may_be_low_rank { &cheaper } else { laplace };
    let needed = check_fit(&network, laplace.structure, &laplace.subset, config.memory)?;
    session.watch.note(&format!("memory: about {}", super::memory::in_words(needed)));
    // So that later commands read them as well.
    if let (Some(encoding), Some(weights)) = (&mut model.encoding, &config.data.weights) {
        encoding.weights = Some(weights.clone());
    }
    let mut fitted = fit_on(model, data, laplace, config.memory, session)?;
    fitted.warnings.splice(0..0, notes);
    if !config.keep_data {
        fitted.posterior.data = None;
    }
    Ok(fitted)
}

/// So many times fewer eigenpairs than weights make them the cheaper form.
const FEWER: usize = 4;

/// The same choices, but of a full generalised Gauss-Newton matrix all eigenpairs that are not 0 where there are few rows: the same
/// Gaussian, whose products take rank × weights operations instead of weights².
pub(super) fn in_few_eigenpairs(
    config: &LaplaceConfig,
    network: &Network,
    rows: usize,
    likelihood: Likelihood,
) -> LaplaceConfig {
    // Probabilities add up to 1, so that one of the outputs says nothing new.
    let outputs = match likelihood {
        Likelihood::Categorical => network.outputs().saturating_sub(1),
        _ => network.outputs(),
    };
    let rank = rows.saturating_mul(outputs).max(1);
    let whole = config.structure == Structure::Full
        && config.curvature == Curvature::Ggn
        && config.subset == Subset::All;
    let few = rank.saturating_mul(FEWER) <= network.dim();
    let structure = if whole && few { Structure::LowRank { rank } } else { config.structure };
    LaplaceConfig { structure, ..config.clone() }
}

/// The same with data that are at hand, encoded already; they are kept in the posterior.
pub fn fit_on(
    model: Model,
    data: TrainingData,
    config: &LaplaceConfig,
    memory: Option<u64>,
    session: Session<'_>,
) -> Result<Fitted> {
    let network = Arc::new(Network::new(&model.network)?);
    check_fit(&network, config.structure, &config.subset, memory)?;
    session.watch.begin("Laplace approximation", 0);
    let prior = Prior::new(&model.prior_precision, &network)?;
    let loss = NetworkLoss::new(network, data.train.clone(), model.likelihood, prior)?;
    let laplace = match Laplace::fit(&loss, &model.theta, config, session.control()) {
        Err(riemla::Error::Stopped { .. }) => return Err(WorkflowError::Interrupted),
        fitted => fitted?,
    };
    if laplace.stopped {
        return Err(WorkflowError::Interrupted);
    }
    let rows = (data.train.len(), data.validation.as_ref().map_or(0, |data| data.len()));
    let warnings = no_minimum(&laplace, &loss)?.into_iter().collect();
    let fitted_to = FittedTo::from(&data);
    let posterior = SavedPosterior { model, config: config.clone(), laplace, data: Some(data), fitted_to };
    Ok(Fitted { posterior, rows, warnings })
}

/// Data for a fit, and what is known about them.
pub(super) enum KnownData {
    /// Those of the training, in the parts that it made of them.
    Same(TrainingData),
    /// All of them; nothing is known of the training.
    Unknown(TrainingData),
    /// All of them; training had others, as the text says.
    Other(TrainingData, String),
}

/// Reads data and compares them with those of the training.
pub(super) fn training_data(model: &Model, files: &DataFiles, notes: &mut Vec<String>) -> Result<KnownData> {
    let data = files.for_training(model, notes)?;
    // As in training: the weights of the classes are part of the loss.
    let weighted = |data: Dataset| match model
        .training
        .as_ref()
        .and_then(|training| training.class_weights.as_deref())
    {
        Some(weights) => data.with_class_weights(weights),
        None => Ok(data),
    };
    let known = model.training.as_ref().filter(|known| known.data.is_some() || known.held_out.is_some());
    let Some(training) = known else {
        return Ok(KnownData::Unknown(TrainingData { train: weighted(data)?, validation: None }));
    };
    let parts = match &training.held_out {
        Some(held_out) => held_out.split(&data),
        None => Some(TrainingData { train: data.clone(), validation: None }),
    };
    let parts = match parts {
        Some(TrainingData { train, validation }) => {
            Some(TrainingData { train: weighted(train)?, validation })
        }
        None => None,
    };
    // Without a digest the checksum of the held-out split has to do.
    let same = |parts: &TrainingData| {
        training.data.as_ref().is_none_or(|data| Digest::of_data(&parts.train) == *data)
    };
    if let Some(parts) = parts.filter(same) {
        return Ok(KnownData::Same(parts));
    }
    let (now, held_out) = (data.len(), training.held_out.map_or(0, |held_out| held_out.rows));
    let then = training.samples + held_out;
    let difference = if now == then {
        "as many rows, but other values".to_string()
    } else {
        format!("{now} rows instead of {then}")
    };
    let danger = match held_out {
        0 => String::new(),
        rows => format!(", and the {rows} rows that training held out cannot be told from the others"),
    };
    let difference = format!("{difference}{danger}");
    Ok(KnownData::Other(TrainingData { train: weighted(data)?, validation: None }, difference))
}

/// The data of a fit; data that the model was not trained on only if that is asked for.
fn data_for_fit(model: &Model, config: &FitConfig, notes: &mut Vec<String>) -> Result<TrainingData> {
    match training_data(model, &config.data, notes)? {
        KnownData::Same(data) | KnownData::Unknown(data) => Ok(data),
        KnownData::Other(data, difference) if config.other_data => {
            let file = config.data.data.display();
            notes.push(format!(
                "all rows of {file} are fitted to, but the model was trained on other data: {difference}"
            ));
            Ok(data)
        }
        KnownData::Other(_, difference) => Err(WorkflowError::unfit(format!(
            "{} is not what the model was trained on: {difference}; give the data of the training, train again, or fit \
             to all rows of these with --other-data",
            config.data.data.display()
        ))),
    }
}

/// What a user should know about weights that are no minimum of the loss on the data of the fit.
fn no_minimum(laplace: &Laplace, loss: &NetworkLoss) -> Result<Option<String>> {
    let mut gradient = vec![0.0; laplace.gaussian.theta().len()];
    laplace.loss(loss)?.value_and_gradient(laplace.gaussian.theta(), &mut gradient);
    let gradient = laplace.gaussian.subset().gather(&gradient);
    let mut step = gradient.clone();
    laplace.gaussian.precision().solve(&mut step);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (decrement, scale) = (0.5 * product(&gradient, &step), 0.5 * gradient.len() as f64);
    let small = decrement <= (NEWTON_SHARE * scale).max(1.0);
    let gradient_norm = product(&gradient, &gradient).sqrt();
    Ok((!small).then(|| {
        let warning = Warning::NotAMinimum { decrement, scale, gradient_norm };
        format!("{warning}; are these the data that the model was trained on?")
    }))
}

#[cfg(test)]
mod tests {
    use riemla::Control;
    use riemla::curvature::PriorChoice;
    use riemla::data::toy::two_moons;
    use riemla::nn::{Activation, NetworkSpec};

    use super::*;

    /// Few rows, many weights: all eigenpairs give the same evidence and the same variances as the matrix.
    #[test]
    fn few_eigenpairs_are_the_same_gaussian() {
        let network = Arc::new(Network::new(&NetworkSpec::mlp(&[2, 20, 20, 2], Activation::Tanh)).unwrap());
        let mut data = two_moons(20, 0.2, 1).unwrap();
        // Equal rows: a lower rank than their number.
        data = data.select(&[(0..20).collect::<Vec<_>>(), (0..8).collect()].concat()).unwrap();
        let full = LaplaceConfig::default();
        let few = in_few_eigenpairs(&full, &network, data.len(), Likelihood::Categorical);
        assert_eq!(few.structure, Structure::LowRank { rank: 28 });
        assert_eq!(
            in_few_eigenpairs(&full, &network, 28, Likelihood::Bernoulli).structure,
            Structure::LowRank { rank: 56 }
        );
        assert_eq!(in_few_eigenpairs(&full, &network, 200, Likelihood::Categorical), full);
        let kron = LaplaceConfig { structure: Structure::Kronecker, ..full.clone() };
        assert_eq!(in_few_eigenpairs(&kron, &network, 28, Likelihood::Categorical), kron);
        let theta = network.initialize(3);
        let prior = Prior::isotropic(0.7, network.dim()).unwrap();
        let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior).unwrap();
        for choice in [PriorChoice::Keep, PriorChoice::Optimize, PriorChoice::OptimizePerLayer] {
            let fit = |config: &LaplaceConfig| {
                let config = LaplaceConfig { prior: choice.clone(), ..config.clone() };
                Laplace::fit(&loss, &theta, &config, Control::default()).unwrap()
            };
            let (a, b) = (fit(&full), fit(&few));
            let evidences = [&a, &b].map(|fit| fit.log_marginal_likelihood.unwrap());
            assert!((evidences[0] - evidences[1]).abs() < 1e-6, "{choice:?}: {evidences:?}");
            for direction in 0..5 {
                let mut solved = [&a, &b].map(|fit| {
                    let mut v: Vec<f64> =
                        (0..network.dim()).map(|k| ((k * 7 + direction) % 11) as f64 - 5.0).collect();
                    fit.gaussian.precision().solve(&mut v);
                    v
                });
                let [a, b] = &mut solved;
                let size = a.iter().map(|x| x * x).sum::<f64>().sqrt();
                let off = a.iter().zip(&*b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                assert!(off < 1e-6 * size, "{choice:?}: {off} of {size}");
            }
        }
    }
}
