//! The drawings of the report.

use riemla::posterior::{GeodesicSummary, Method};

use super::data::{NODES, window};
use super::{DemoResult, MethodResult};
use crate::plot::{
    Axis, Chart, ConfidenceMap, Grid, PlotError, Reference, ReliabilityDiagram, Series, StripPlot,
};

/// Smallest drift that a logarithmic axis shows: what is below is rounding.
const SMALLEST_DRIFT: f64 = 1e-17;
/// Contour lines of confidence maps, besides the decision boundary.
const LEVELS: [f64; 2] = [0.1, 0.9];
/// Hues of class maps stand for classes; model uncertainty gets one that no class here has.
const UNCERTAINTY_HUE: usize = 3;

type Points = Vec<(f64, f64)>;

pub(super) fn confidence_map(result: &DemoResult, method: &MethodResult) -> Result<String, PlotError> {
    let (x, y) = window();
    let grid = Grid::new(NODES, NODES, x, y, method.map.probability.clone())?;
    let map = ConfidenceMap::binary(method.method.name(), grid).color_bar(None).contours(&LEVELS);
    Ok(map.data(result.train.clone()).to_svg())
}

/// Mutual information over the plane, and its largest value; none where draws all agree.
pub(super) fn uncertainty_map(
    result: &DemoResult,
    method: &MethodResult,
) -> Result<Option<(String, f64)>, PlotError> {
    let largest = method.map.epistemic.iter().copied().fold(0.0, f64::max);
    if largest < 1e-6 {
        return Ok(None);
    }
    let (x, y) = window();
    // A map of four "classes" of which only the last is ever ahead: one hue, from clear to full.
    let share = |k: usize, m: f64| {
        let lead = 0.25 + 0.75 * (m / largest).max(1e-9);
        if k == UNCERTAINTY_HUE { lead } else { (1.0 - lead) / UNCERTAINTY_HUE as f64 }
    };
    let grid =
        |k: usize| Grid::new(NODES, NODES, x, y, method.map.epistemic.iter().map(|m| share(k, *m)).collect());
    let grids = (0..=UNCERTAINTY_HUE).map(grid).collect::<Result<Vec<_>, _>>()?;
    let title = format!("{}: epistemic uncertainty", method.method);
    let map = ConfidenceMap::multiclass(title, grids)?.color_bar(None).data(result.train.clone());
    Ok(Some((map.to_svg(), largest)))
}

pub(super) fn reliability(method: &MethodResult) -> ReliabilityDiagram {
    ReliabilityDiagram::new(method.method.name(), method.reliability.clone())
}

/// The loss of every draw, each method judged by the network that makes its predictions.
pub(super) fn losses(result: &DemoResult) -> String {
    let minimum = result.training.loss;
    let gaussian = minimum + 0.5 * result.laplace.parameters as f64;
    let mut plot = StripPlot::new("Loss of every draw", Axis::log("loss at the drawn weights"))
        .reference(Reference::vertical(minimum, "minimum"))
        .reference(Reference::vertical(gaussian, "+ K/2"));
    for method in result.methods.iter().filter(|m| m.method != Method::Map) {
        plot = plot.group(method.method.name(), method.records.iter().map(|r| r.loss).collect());
    }
    plot.to_svg()
}

fn geodesics(method: &MethodResult) -> impl Iterator<Item = (u64, GeodesicSummary)> {
    method.records.iter().filter_map(|r| Some((r.index, r.geodesic?)))
}

/// A quantity of every geodesic of the result.
fn all(result: &DemoResult, quantity: impl Fn(&GeodesicSummary) -> f64) -> Vec<f64> {
    let riemannian = result.methods.iter().filter(|m| m.method.is_riemannian());
    riemannian.flat_map(geodesics).map(|(_, g)| quantity(&g)).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// One chart with a series of points per Riemannian method.
fn scatter(result: &DemoResult, chart: Chart, point: impl Fn(u64, &GeodesicSummary) -> (f64, f64)) -> String {
    let riemannian = result.methods.iter().filter(|m| m.method.is_riemannian());
    let chart = riemannian.fold(chart, |chart, method| {
        let points: Points = geodesics(method).map(|(i, g)| point(i, &g)).collect();
        chart.series(Series::scatter(method.method.name(), points))
    });
    chart.to_svg()
}

pub(super) fn speed_drift(result: &DemoResult) -> String {
    let drift = |g: &GeodesicSummary| g.diagnostics.speed_drift.max(SMALLEST_DRIFT);
    // Room above: rounding should look small, and a drift that is not rounding large.
    let top = (10.0 * largest(&all(result, drift))).max(1e-10);
    let y = Axis::log("relative drift of the speed").range(SMALLEST_DRIFT, top);
    scatter(result, Chart::new("Is the speed constant?", Axis::linear("draw"), y), |i, g| {
        (i as f64, drift(g))
    })
}

pub(super) fn loss_rise(result: &DemoResult) -> String {
    let rise = |g: &GeodesicSummary| (g.diagnostics.loss_end - g.diagnostics.loss_start).abs();
    let bounds = all(result, |g| g.diagnostics.loss_bound);
    let (lo, hi) = (bounds.iter().copied().fold(f64::MAX, f64::min), largest(&bounds));
    let margin = 0.05 * (hi - lo) + 0.01 * hi;
    let (lo, hi) = (lo - margin, hi + margin);
    let top = 1.05 * hi.max(largest(&all(result, rise)));
    let x = Axis::linear("bound (length of the geodesic divided by a)").range(lo, hi);
    let y = Axis::linear("rise of the loss").range(0.0, top);
    let chart = Chart::new("Does the loss stay below its bound?", x, y)
        .reference(Reference::curve(vec![(lo, lo), (hi, hi)], "bound"));
    scatter(result, chart, |_, g| (g.diagnostics.loss_bound, rise(g)))
}

pub(super) fn evaluations(result: &DemoResult) -> String {
    let gradients = |g: &GeodesicSummary| g.counters.gradients as f64;
    let y = Axis::linear("gradients").range(0.0, 1.1 * largest(&all(result, gradients)));
    let chart = Chart::new("Cost of a draw", Axis::linear("draw"), y);
    scatter(result, chart, |i, g| (i as f64, gradients(g)))
}
