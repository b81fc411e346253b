//! Pictures of the comparison: distances by method, and draws over densities.

use std::path::Path;

use riemla::objective::Objective as _;

use super::density::Density;
use super::record::{TruthRecord, read_draws};
use super::report::{main_distance, main_null, marked};
use crate::experiments::Result;
use crate::method::MethodName;
use crate::plot::{Axis, ConfidenceMap, Grid, Reference, Size, StripPlot};

/// What the pictures of densities show.
pub const INTRO: &str = "\
The density, with contours at one, two and three deviations of a Gaussian, and the first draws of each method.";

/// Under the plots of distances.
const CAPTION: &str = "pre.: preconditioned. The line is what exact draws would show.";

/// Nodes along a side.
const NODES: usize = 120;
/// Draws shown.
const SHOWN: usize = 200;
/// Heights of the density, relative to its top, at one, two and three deviations of a Gaussian.
const HEIGHTS: [f64; 3] = [0.606_5, 0.135_3, 0.011_1];

/// One plot per target: the distance of every method from the truth.
pub fn strips(records: &[TruthRecord], targets: &[String]) -> Vec<(String, String)> {
    let plot = |target: &String| {
        let here = || records.iter().filter(|record| record.target == *target);
        let what = if here().any(|r| r.distances.functions.is_some()) { "W1 of predictions" } else { "W1" };
        let mut plot = StripPlot::new(marked(records, target), Axis::log(what));
        for record in here() {
            if let Some(distance) = main_distance(record) {
                // Names longer than the margin would end in dots and look alike.
                let name = record.contender.to_string().replace("preconditioned", "pre.");
                plot = plot.group(name, vec![distance]);
            }
        }
        let methods = here().find(|record| record.contender.method != MethodName::Nuts);
        if let Some(null) = methods.and_then(main_null) {
            plot = plot.reference(Reference::vertical(null, "exact draws"));
        }
        (plot.size(Size::FIGURE).to_svg(), CAPTION.into())
    };
    targets.iter().map(plot).collect()
}

/// The draws of every method over a density.
pub fn plane(out: &Path, density: Density, records: &[TruthRecord]) -> Result<Vec<(String, String)>> {
    let mut figures = Vec::new();
    for record in records.iter().filter(|record| record.target == density.name()) {
        let draws = read_draws(out, &record.target, record.contender)?;
        // Chains lie one after the other: some of each.
        let step = (draws.len() / SHOWN).max(1);
        let dots = draws.iter().step_by(step).take(SHOWN).map(|draw| (draw[0], draw[1], 0)).collect();
        figures.push((picture(density, &record.contender.to_string(), dots)?, String::new()));
    }
    Ok(figures)
}

fn picture(density: Density, method: &str, dots: Vec<(f64, f64, usize)>) -> Result<String> {
    let [x, y] = density.window();
    let at = |(low, high): (f64, f64), i: usize| low + (high - low) * i as f64 / (NODES - 1) as f64;
    let nodes = (0..NODES).flat_map(|j| (0..NODES).map(move |i| [at(x, i), at(y, j)]));
    let top = density.value(&density.mode());
    // One hue, from clear to full: the "probability of class 1" never falls below a half.
    let heights = nodes.map(|node| 0.5 + 0.5 * (top - density.value(&node)).exp().max(1e-9)).collect();
    let grid = Grid::new(NODES, NODES, x, y, heights)?;
    let levels = HEIGHTS.map(|height| 0.5 + 0.5 * height);
    let [first, second] = density.axes();
    let map = ConfidenceMap::binary(format!("{}, {method}", density.name()), grid);
    Ok(map.color_bar(None).contours(&levels).axes(first, second).data(dots).to_svg())
}
