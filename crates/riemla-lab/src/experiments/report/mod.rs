//! The report: from saved files alone, so that it can be made again without drawing.

use std::path::{Path, PathBuf};

use super::layout::write_text;
use super::{Records, Result, result_rows, results_csv};
use crate::datasets::DataDirs;

/// Writes `results.csv` and the report of a directory; returns where the report is.
pub fn write_report(out: &Path, _data: &DataDirs) -> Result<PathBuf> {
    let records = Records::open(out)?;
    let rows = result_rows(records.as_slice());
    write_text(&out.join("results.csv"), &results_csv(&rows))?;
    Ok(out.join("results.csv"))
}
