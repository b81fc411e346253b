//! The extension module `riemla._core`: arrays in, library, arrays out. Everything a user sees is in python/riemla.

mod arrays;
mod draws;
mod errors;
mod fitted;
mod function;
mod network;
mod objective;
mod precision;
mod prediction;
mod run;
mod sampling;
mod settings;
mod training;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::fitted::Fitted;
    #[pymodule_export]
    use super::function::Function;
    #[pymodule_export]
    use super::network::{Network, read_model};
    #[pymodule_export]
    use super::prediction::{at_temperature, count_intervals, fit_temperature, predict_outputs};
    #[pymodule_export]
    use super::run::provoke_defect;
    #[pymodule_export]
    use super::sampling::Drawer;
    #[pymodule_export]
    use super::settings::run_config;
    #[pymodule_export]
    use super::training::train;

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
