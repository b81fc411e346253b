//! The confidence maps of all methods as one picture.

use std::fmt::Write;

use riemla::posterior::Method;

use super::DemoResult;
use super::figures::{confidence_map, uncertainty_map};
use crate::plot::{ColorBar, PlotError, standalone};

const COLUMNS: usize = 3;
const CELL: (f64, f64) = (320.0, 330.0);
const GAP: f64 = 14.0;
const BAR: (f64, f64) = (320.0, 54.0);

/// Small multiples in one SVG file that stands on its own.
pub fn picture(result: &DemoResult) -> Result<String, PlotError> {
    let mut cells =
        result.methods.iter().map(|m| confidence_map(result, m)).collect::<Result<Vec<_>, _>>()?;
    if let Some(riemannian) = result.method(Method::RiemLa) {
        cells.extend(uncertainty_map(result, riemannian)?.map(|(svg, _)| svg));
    }
    let rows = cells.len().div_ceil(COLUMNS);
    let width = COLUMNS as f64 * (CELL.0 + GAP) + GAP;
    let height = GAP + rows as f64 * (CELL.1 + GAP) + BAR.1;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" viewBox=\"0 0 {width} {height}\">\
         <title>Confidence of every method over the plane of inputs</title>"
    );
    for (i, cell) in cells.iter().enumerate() {
        let (column, row) = ((i % COLUMNS) as f64, (i / COLUMNS) as f64);
        let corner = (GAP + column * (CELL.0 + GAP), GAP + row * (CELL.1 + GAP));
        svg.push_str(&nested(cell, corner, CELL));
    }
    let bar = ColorBar::binary("probability of class 1").to_svg();
    let _ = write!(svg, "{}</svg>", nested(&bar, (0.5 * (width - BAR.0), height - BAR.1), BAR));
    Ok(standalone(&svg))
}

/// A drawing placed inside another. The class of drawings goes: it would stretch this one to the
/// whole width, and what it says about text and marks is inherited.
fn nested(svg: &str, (x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
    svg.replacen("class=\"plot\"", &place, 1)
}
