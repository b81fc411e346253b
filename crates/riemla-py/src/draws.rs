//! Sets of draws as a dictionary of arrays, from which the Python side makes its `Draws`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use riemla::posterior::Draw;
use riemla_files::table::Values;
use riemla_workflow::workflow::{DrawTable, Taken};

use crate::arrays::{flat, shaped};
use crate::settings;

/// The first draws that were asked for: a set on the disk may have more.
pub fn taken(py: Python<'_>, mut taken: Taken) -> PyResult<Bound<'_, PyDict>> {
    taken.draws.retain(|draw| draw.index < taken.asked);
    let result = PyDict::new(py);
    let count = taken.draws.len();
    theta(&result, taken.draws)?;
    result.set_item("diagnostics", table(py, taken.diagnosis.table.as_ref(), count)?)?;
    result.set_item("summary", settings::write(&taken.diagnosis.summary)?)?;
    result.set_item("warnings", taken.diagnosis.warnings)?;
    result.set_item("config", settings::write(&taken.config)?)?;
    result.set_item("seed", taken.seed)?;
    result.set_item("asked", taken.asked)?;
    result.set_item("stopped", taken.stopped)?;
    result.set_item("out_of_time", taken.out_of_time)?;
    result.set_item("seconds", taken.seconds)?;
    Ok(result)
}

/// Weights and numbers of draws.
pub fn theta(result: &Bound<'_, PyDict>, draws: Vec<Draw>) -> PyResult<()> {
    let py = result.py();
    let (count, dim) = (draws.len(), draws.first().map_or(0, |draw| draw.theta.len()));
    let indices: Vec<u64> = draws.iter().map(|draw| draw.index).collect();
    let mut all = Vec::with_capacity(count * dim);
    draws.into_iter().for_each(|draw| all.extend(draw.theta));
    result.set_item("theta", shaped(py, all, &[count, dim])?)?;
    result.set_item("index", indices)
}

/// A line per draw as columns.
pub fn table<'py>(py: Python<'py>, table: Option<&DrawTable>, rows: usize) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for column in table.iter().flat_map(|table| &table.columns).filter(|column| column.name != "draw") {
        match &column.values {
            Values::Numbers(numbers) => {
                let numbers = numbers.iter().take(rows).copied().collect();
                columns.set_item(&column.name, flat(py, numbers))?;
            }
            Values::Strings(words) => columns.set_item(&column.name, &words[..rows.min(words.len())])?,
        }
    }
    Ok(columns)
}
