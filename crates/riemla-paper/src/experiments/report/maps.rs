//! Confidence over two inputs.

use riemla::predict::Prediction;

use super::super::Result;
use super::figures::Drawn;
use super::numbers::range;
use riemla_workflow::plot::{ConfidenceMap, Grid, PlotError};

/// Nodes along a side.
pub const NODES: usize = 70;
/// How far the window reaches beyond the data, as in the paper.
const OFFSET: f64 = 2.0;

/// Ranges of the two inputs.
pub type Window = ((f64, f64), (f64, f64));

/// One map per set of draws.
pub fn maps(drawn: &Drawn) -> Result<Vec<(String, String)>> {
    let window = window(drawn);
    let points = points(drawn);
    let mut figures = Vec::new();
    for (name, method, thetas) in &drawn.sets {
        let prediction = drawn.predict(*method, thetas, &inputs(window))?;
        let map = map(name, window, &prediction)?;
        figures.push((map.data(points.clone()).to_svg(), String::new()));
    }
    Ok(figures)
}

/// A map of predictions at [`inputs`].
pub fn map(
    title: &str,
    (x, y): Window,
    prediction: &Prediction,
) -> std::result::Result<ConfidenceMap, PlotError> {
    let (probabilities, classes) =
        prediction.classes().map_or((&[][..], 1), |p| (&p.probabilities, p.classes));
    let grid = |class: usize| {
        let values = probabilities.chunks_exact(classes).map(|p| p[class]).collect();
        Grid::new(NODES, NODES, x, y, values)
    };
    if classes == 2 {
        return Ok(ConfidenceMap::binary(title, grid(1)?).color_bar(None).contours(&[0.1, 0.9]));
    }
    let grids = (0..classes).map(grid).collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(ConfidenceMap::multiclass(title, grids)?.color_bar(None).contours(&[0.9]))
}

/// The training points with their classes.
pub fn points(drawn: &Drawn) -> Vec<(f64, f64, usize)> {
    let labels = drawn.rows.train.labels().unwrap_or_default();
    drawn.rows.train.inputs().chunks(2).zip(labels).map(|(x, label)| (x[0], x[1], *label)).collect()
}

/// The range of the training points and some more.
pub fn window(drawn: &Drawn) -> Window {
    let side = |axis: usize| {
        let (low, high) = range(drawn.rows.train.inputs().iter().skip(axis).step_by(2).copied());
        (low - OFFSET, high + OFFSET)
    };
    (side(0), side(1))
}

/// Coordinates of the nodes.
pub fn inputs((x, y): Window) -> Vec<f64> {
    Grid::inputs(NODES, NODES, x, y)
}
