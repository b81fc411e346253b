//! Experiments, plots and reports of riemla.
