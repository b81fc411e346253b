//! Pictures of the comparison: distances by method, and draws over densities.

use std::path::Path;

use riemla::objective::Objective as _;
use riemla_files::samples::read_samples;

use super::super::layout::set_directory;
use super::super::{MethodName, Result};
use super::density::Density;
use super::report::{Line, marked};
use riemla_workflow::plot::{Axis, ConfidenceMap, Grid, Reference, Size, StripPlot};

/// What the pictures of densities show.
pub const INTRO: &str = "\
The density, with contours at one, two and three standard deviations of a Gaussian, and the first draws of \
each method.";

/// Under the plots of distances.
const CAPTION: &str = "pre.: preconditioned. The line is the distance of exact draws.";

/// Nodes along a side.
const NODES: usize = 120;
/// Draws shown.
const SHOWN: usize = 200;

/// One plot per target: the distance of every method from the truth.
pub fn strips(lines: &[Line<'_>], targets: &[&str]) -> Vec<(String, String)> {
    let plot = |target: &&str| {
        let here = || lines.iter().filter(|line| line.target == *target);
        let of_functions = here().any(|line| line.number(|t| t.distances.functions).is_some());
        let mut plot = StripPlot::new(
            marked(lines, target),
            Axis::log(if of_functions { "W1 of predictions" } else { "W1" }),
        );
        for line in here() {
            if let Some(distance) = line.distance() {
                // Names longer than the margin would end in dots and look alike.
                let name = line.entry.to_string().replace("preconditioned", "pre.");
                plot = plot.group(name, vec![distance]);
            }
        }
        let methods = here().find(|line| line.entry.method != MethodName::Nuts);
        if let Some(null) = methods.and_then(Line::null) {
            plot = plot.reference(Reference::vertical(null, "exact draws"));
        }
        (plot.size(Size::FIGURE).to_svg(), CAPTION.into())
    };
    targets.iter().map(plot).collect()
}

/// The draws of every method over a density.
pub fn plane(out: &Path, density: Density, lines: &[Line<'_>]) -> Result<Vec<(String, String)>> {
    let mut figures = Vec::new();
    for line in lines.iter().filter(|line| line.target == density.name()) {
        let Some(key) = line.records.first().map(|record| &record.key) else { continue };
        let draws = read_samples(&set_directory(out, key))?.draws;
        // Chains lie one after the other: some of each.
        let step = (draws.len() / SHOWN).max(1);
        let dots = draws.iter().step_by(step).take(SHOWN).map(|draw| (draw.theta[0], draw.theta[1], 0));
        figures.push((picture(density, &line.entry.to_string(), dots.collect())?, String::new()));
    }
    Ok(figures)
}

fn picture(density: Density, method: &str, dots: Vec<(f64, f64, usize)>) -> Result<String> {
    let [x, y] = density.window();
    let top = density.value(&density.mode());
    let grid = Grid::from_fn(NODES, NODES, x, y, |a, b| (top - density.value(&[a, b])).exp())?;
    let [first, second] = density.axes();
    let map = ConfidenceMap::density(format!("{}, {method}", density.name()), grid);
    Ok(map.axes(first, second).data(dots).to_svg())
}
