//! The posterior of a logistic regression, which has two weights and can be seen.

use riemla::objective::Objective as _;

use super::super::{MethodName, Result};
use super::figures::Drawn;
use super::maps::{NODES, Window, inputs, map, points, window};
use riemla_workflow::plot::{ConfidenceMap, Grid};

const INDEX: usize = 1;

/// The posterior with draws, the classifier of one draw, the average: per set of draws.
pub fn figures(drawn: &Drawn) -> Result<Vec<(String, String)>> {
    let mut figures = Vec::new();
    let plane = plane(drawn);
    for (name, method, thetas) in drawn.sets.iter().filter(|set| set.1 != MethodName::Map) {
        figures.push((posterior(drawn, plane, name, thetas)?, "posterior and draws".into()));
        let one = &thetas[INDEX.min(thetas.len() - 1)..][..1];
        for (thetas, what) in [(one, "one draw"), (thetas.as_slice(), "average over the draws")] {
            let window = window(drawn);
            let prediction = drawn.predict(*method, thetas, &inputs(window))?;
            let svg = map(name, window, &prediction)?;
            figures.push((svg.data(points(drawn)).to_svg(), what.into()));
        }
    }
    Ok(figures)
}

/// A window of the two weights that holds the posterior and most straight draws.
fn plane(drawn: &Drawn) -> Window {
    let center = drawn.laplace.gaussian.theta();
    let spread = |axis: usize| {
        let straight = drawn.sets.iter().filter(|set| set.1 == MethodName::La);
        let far = straight.flat_map(|set| &set.2).map(|theta| (theta[axis] - center[axis]).abs());
        1.1 * far.fold(1.0, f64::max)
    };
    let side = |axis: usize| (center[axis] - spread(axis), center[axis] + spread(axis));
    (side(0), side(1))
}

fn posterior(drawn: &Drawn, plane: Window, name: &str, thetas: &[Vec<f64>]) -> Result<String> {
    let loss = drawn.laplace.loss(&drawn.fit.loss)?;
    let mut theta = drawn.laplace.gaussian.theta().to_vec();
    let losses = Grid::from_fn(NODES, NODES, plane.0, plane.1, |a, b| {
        theta[..2].copy_from_slice(&[a, b]);
        loss.value(&theta)
    })?;
    let lowest = losses.values().iter().copied().fold(f64::MAX, f64::min);
    let heights = losses.with_values(losses.values().iter().map(|l| (lowest - l).exp()).collect());
    let dots = thetas.iter().map(|theta| (theta[0], theta[1], 0)).collect();
    let map = ConfidenceMap::density(format!("posterior, {name}"), heights);
    Ok(map.axes("first weight", "second weight").data(dots).to_svg())
}
