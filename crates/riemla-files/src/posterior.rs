//! Posterior directories: a model, and the Gaussian around its weights.

use std::path::Path;

use riemla::curvature::{
    EigenReport, Gaussian, Laplace, LaplaceConfig, NamedArray, PrecisionParts, Structure,
};
use riemla::nn::Network;
use riemla::objective::{Likelihood, Prior, PriorPrecision};
use serde::{Deserialize, Serialize};

use crate::data::{DATA_FILE, TrainingData};
use crate::error::name;
use crate::identity::{Digest, FittedTo, Origin};
use crate::json::{FORMAT_VERSION, any_number, read_json, write_json};
use crate::model::{MODEL_FILE, Model};
use crate::output::{Existing, OutputDirectory};
use crate::spec::network;
use crate::tensors::{TensorFile, TensorRef, write_tensors};
use crate::{Error, Result};

/// Name of the description in a posterior directory.
pub const POSTERIOR_FILE: &str = "posterior.json";
/// Name of the tensors in a posterior directory.
pub const TENSORS_FILE: &str = "posterior.safetensors";

/// What to do about a damaged file of a posterior.
const REMEDY: &str = "copy the directory again, or create the posterior again with `riemla fit`";

/// `posterior.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PosteriorJson {
    format_version: u64,
    riemla_version: String,
    laplace: LaplaceConfig,
    structure: Structure,
    prior_precision: PriorPrecision,
    likelihood: Likelihood,
    log_marginal_likelihood: Option<f64>,
    #[serde(with = "any_number")]
    gradient_norm: f64,
    #[serde(default)]
    prior_settled: Option<bool>,
    refit_rounds: usize,
    #[serde(default)]
    refit_settled: Option<bool>,
    #[serde(default)]
    eigenpairs: Option<EigenReport>,
    /// The model in the same directory.
    model: Digest,
    /// The tensors in the same directory.
    gaussian: Digest,
    fitted_to: FittedTo,
}

/// A model with its fitted Laplace approximation.
#[derive(Debug, Clone)]
pub struct SavedPosterior {
    /// The trained model.
    pub model: Model,
    /// The choices of the fit.
    pub config: LaplaceConfig,
    /// The approximation, its draws having the same bits as before it was saved.
    pub laplace: Laplace,
    /// The data of the fit, unless they were left out.
    pub data: Option<TrainingData>,
    /// Which data these are, also if they were left out.
    pub fitted_to: FittedTo,
}

impl SavedPosterior {
    /// The prior used, as a user would write it.
    pub fn prior_precision(&self) -> PriorPrecision {
        match Network::new(&self.model.network) {
            Ok(network) => precision_of(&self.laplace.prior, &network),
            Err(_) => self.model.prior_precision.clone(),
        }
    }

    /// What draws from it depend on.
    pub fn origin(&self) -> Origin {
        Origin::new(&self.model.network, &self.laplace, self.fitted_to.clone())
    }

    /// Writes a posterior directory in one step: the model's files, and those of the Gaussian.
    pub fn write(&self, directory: &Path, existing: Existing) -> Result<()> {
        self.write_to(&OutputDirectory::claim(directory, existing, &[])?)
    }

    /// As [`SavedPosterior::write`], to a place that was claimed before.
    pub fn write_to(&self, output: &OutputDirectory) -> Result<()> {
        output.write(|temporary| self.write_into(temporary))
    }

    /// Writes the files into a directory that is there; the description last.
    pub(crate) fn write_into(&self, directory: &Path) -> Result<()> {
        let file = name(directory);
        let network = network(&file, &self.model.network)?;
        let parts = self.laplace.gaussian.precision().parts().ok_or_else(|| {
            let message = "this precision cannot be saved".to_string();
            Error::content(&file)(riemla::Error::Unsupported(message))
        })?;
        let json = PosteriorJson {
            format_version: FORMAT_VERSION,
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            laplace: self.config.clone(),
            structure: parts.structure,
            prior_precision: precision_of(&self.laplace.prior, &network),
            likelihood: self.laplace.likelihood,
            log_marginal_likelihood: self.laplace.log_marginal_likelihood,
            gradient_norm: self.laplace.gradient_norm,
            prior_settled: self.laplace.prior_settled,
            refit_rounds: self.laplace.refit_rounds,
            refit_settled: self.laplace.refit_settled,
            eigenpairs: self.laplace.eigenpairs,
            model: self.model.digest(),
            gaussian: gaussian_digest(self.laplace.gaussian.theta(), &parts.arrays),
            fitted_to: self.fitted_to.clone(),
        };
        let theta = self.laplace.gaussian.theta();
        let mut tensors = vec![TensorRef::new("theta", vec![theta.len()], theta)];
        for NamedArray { name, dims, values } in &parts.arrays {
            tensors.push(TensorRef::new(format!("precision.{name}"), dims.clone(), values));
        }
        self.model.write_into(directory)?;
        write_tensors(&directory.join(TENSORS_FILE), &tensors)?;
        if let Some(data) = &self.data {
            data.write(&directory.join(DATA_FILE))?;
        }
        write_json(&directory.join(POSTERIOR_FILE), &json)
    }

    /// Reads and checks a posterior directory.
    pub fn read(directory: &Path) -> Result<Self> {
        let json: PosteriorJson = read_json(&directory.join(POSTERIOR_FILE), REMEDY)?;
        let model = Model::read_with(directory, REMEDY)?;
        let path = directory.join(TENSORS_FILE);
        let file = name(&path);
        let tensors = TensorFile::open_ours(&path, REMEDY)?;
        let network = network(&file, &model.network)?;
        let theta = tensors.get_checked("theta", &[network.dim()])?;
        let parts = PrecisionParts { structure: json.structure, arrays: precision_arrays(&tensors)? };
        let gaussian = gaussian_digest(&theta, &parts.arrays);
        let assemble = || {
            let prior = Prior::new(&json.prior_precision, &network)?;
            json.likelihood.check_outputs(network.outputs())?;
            let subset = json.laplace.subset.ranges(&network)?;
            let gaussian = Gaussian::on_subset(theta, subset, parts.assemble()?)?;
            Laplace::from_parts(gaussian, prior, json.likelihood)
        };
        let mut laplace = assemble().map_err(Error::content(&file))?;
        laplace.log_marginal_likelihood = json.log_marginal_likelihood;
        laplace.gradient_norm = json.gradient_norm;
        laplace.prior_settled = json.prior_settled;
        laplace.refit_rounds = json.refit_rounds;
        laplace.refit_settled = json.refit_settled;
        laplace.eigenpairs = json.eigenpairs;
        let path = directory.join(DATA_FILE);
        let data = path.exists().then(|| TrainingData::read(&path, REMEDY)).transpose()?;
        // Last: what makes no sense is reported as such.
        belongs(directory, MODEL_FILE, model.digest() == json.model)?;
        belongs(directory, TENSORS_FILE, gaussian == json.gaussian)?;
        belongs(
            directory,
            DATA_FILE,
            data.as_ref().is_none_or(|data| FittedTo::from(data) == json.fitted_to),
        )?;
        Ok(Self { model, config: json.laplace, laplace, data, fitted_to: json.fitted_to })
    }
}

/// Of all tensors of a posterior.
fn gaussian_digest(theta: &[f64], arrays: &[NamedArray]) -> Digest {
    Digest::of_json(&(Digest::of_numbers([theta]), Digest::of_arrays(arrays)))
}

/// An error unless a file of a posterior directory is that of the fit.
fn belongs(directory: &Path, file: &str, belongs: bool) -> Result<()> {
    if belongs {
        return Ok(());
    }
    Err(Error::Mismatch {
        file: name(&directory.join(POSTERIOR_FILE)),
        other: name(&directory.join(file)),
        problem: format!("it belongs to another fit; {REMEDY}"),
    })
}

fn precision_arrays(tensors: &TensorFile) -> Result<Vec<NamedArray>> {
    let list = tensors.list()?;
    let names = list.keys().filter_map(|full| Some((full, full.strip_prefix("precision.")?)));
    let array = |(full, name): (&String, &str)| {
        let tensor = tensors.get(full)?;
        Ok(NamedArray { name: name.into(), dims: tensor.dims, values: tensor.values })
    };
    names.map(array).collect()
}

/// The prior in the words of a user.
fn precision_of(prior: &Prior, network: &Network) -> PriorPrecision {
    match prior.scalar() {
        Some(value) => PriorPrecision::Scalar(value),
        None => {
            let diagonal = prior.diagonal();
            PriorPrecision::PerLayer(
                network.layer_ranges().iter().map(|range| diagonal[range.start]).collect(),
            )
        }
    }
}
