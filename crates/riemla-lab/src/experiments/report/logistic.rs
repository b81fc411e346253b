//! The posterior of a logistic regression, which has two weights and can be seen.

use riemla::objective::Objective as _;

use super::super::{MethodName, Result, Setting};
use super::figures::Drawn;
use super::maps::{NODES, Window, map, nodes, points, window};
use crate::plot::{ConfidenceMap, Grid};

/// Heights of the posterior, relative to its top, at one, two and three deviations of a Gaussian.
const HEIGHTS: [f64; 3] = [0.606_5, 0.135_3, 0.011_1];
const INDEX: usize = 1;

/// The posterior with draws, the classifier of one draw, the average: per set of draws.
pub fn figures(drawn: &Drawn) -> Result<Vec<(String, String)>> {
    let mut figures = Vec::new();
    let plane = plane(drawn);
    for (setting, method, thetas) in drawn.sets.iter().filter(|set| set.1 != MethodName::Map) {
        figures.push((posterior(drawn, plane, *setting, *method, thetas)?, "posterior and draws".into()));
        let one = &thetas[INDEX.min(thetas.len() - 1)..][..1];
        for (thetas, what) in [(one, "one draw"), (thetas.as_slice(), "average over the draws")] {
            let window = window(drawn);
            let prediction = drawn.predict(*method, thetas, &nodes(window))?;
            let svg = map(&Drawn::title(*setting, *method), window, &prediction)?;
            figures.push((svg.data(points(drawn)).to_svg(), what.into()));
        }
    }
    Ok(figures)
}

/// A window of the two weights that holds the posterior and most straight draws.
fn plane(drawn: &Drawn) -> Window {
    let center = &drawn.laplace.theta;
    let spread = |axis: usize| {
        let straight = drawn.sets.iter().filter(|set| set.1 == MethodName::La);
        let far = straight.flat_map(|set| &set.2).map(|theta| (theta[axis] - center[axis]).abs());
        1.1 * far.fold(1.0, f64::max)
    };
    let side = |axis: usize| (center[axis] - spread(axis), center[axis] + spread(axis));
    (side(0), side(1))
}

fn posterior(
    drawn: &Drawn,
    plane: Window,
    setting: Setting,
    method: MethodName,
    thetas: &[Vec<f64>],
) -> Result<String> {
    let loss = drawn.laplace.loss(&drawn.fit.loss)?;
    let mut theta = drawn.laplace.theta.clone();
    let losses: Vec<f64> = nodes(plane)
        .chunks(2)
        .map(|w| {
            theta[..2].copy_from_slice(w);
            loss.value(&theta)
        })
        .collect();
    let lowest = losses.iter().copied().fold(f64::MAX, f64::min);
    // One hue, from clear to full: the "probability of class 1" never falls below a half.
    let heights = losses.iter().map(|l| 0.5 + 0.5 * (lowest - l).exp().max(1e-9)).collect();
    let grid = Grid::new(NODES, NODES, plane.0, plane.1, heights)?;
    let title = format!("posterior, {}", Drawn::title(setting, method));
    let dots = thetas.iter().map(|theta| (theta[0], theta[1], 0)).collect();
    let levels = HEIGHTS.map(|height| 0.5 + 0.5 * height);
    let map = ConfidenceMap::binary(title, grid).color_bar(None).contours(&levels);
    Ok(map.axes("first weight", "second weight").data(dots).to_svg())
}
