//! Predictions over one input: bands, and functions by batch size.

use riemla::posterior::BatchSize;
use riemla::predict::Prediction;

use super::super::rows::values;
use super::super::{MethodName, Result};
use super::figures::Drawn;
use super::numbers::range;
use riemla_workflow::plot::{Axis, BandChart, Chart, Series, Size, Style};
use riemla_workflow::report::Section;

const NODES: usize = 161;
/// Sampled functions shown.
const FUNCTIONS: usize = 8;

/// One chart per set of draws.
pub fn bands(drawn: &Drawn) -> Result<Vec<(String, String)>> {
    let chart = |(name, method, thetas): &(String, MethodName, Vec<Vec<f64>>)| {
        Ok((chart(drawn, name, *method, thetas)?, String::new()))
    };
    drawn.sets.iter().map(chart).collect()
}

/// Inputs from left to right, beyond the data on both sides.
fn inputs(drawn: &Drawn) -> Vec<f64> {
    let (low, high) = range(drawn.rows.train.inputs().iter().chain(drawn.rows.test.inputs()).copied());
    let margin = 0.25 * (high - low);
    let step = (high - low + 2.0 * margin) / (NODES - 1) as f64;
    (0..NODES).map(|i| low - margin + step * i as f64).collect()
}

fn chart(drawn: &Drawn, title: &str, method: MethodName, thetas: &[Vec<f64>]) -> Result<String> {
    let x = inputs(drawn);
    let Prediction::Values(p) = drawn.predict(method, thetas, &x)? else {
        return Err(riemla::Error::Unsupported("bands can be drawn only for regressions".into()).into());
    };
    let half = |variances: &[f64]| variances.iter().map(|v| 2.0 * v.sqrt()).collect::<Vec<_>>();
    let data: Vec<(f64, f64)> =
        drawn.rows.train.inputs().iter().copied().zip(values(&drawn.rows.train).iter().copied()).collect();
    let (low, high) = range(data.iter().map(|point| point.1));
    let room = 0.75 * (high - low);
    let axes = (Axis::linear("x"), Axis::linear("y").range(low - room, high + room));
    let mut chart = BandChart::new(title, axes, x.clone(), p.mean.clone())
        .band("observation", &half(&p.variance()))
        .band("function", &half(&p.epistemic_variance))
        .data(data)
        .size(Size::SMALL)
        .style(Style::method(method));
    for function in functions(drawn, method, thetas, &x)? {
        chart = chart.sample(function);
    }
    Ok(chart.to_svg())
}

/// The first few sampled functions; none for the trained weights alone.
fn functions(drawn: &Drawn, method: MethodName, thetas: &[Vec<f64>], x: &[f64]) -> Result<Vec<Vec<f64>>> {
    if thetas.len() < 2 {
        return Ok(Vec::new());
    }
    let first = thetas[..thetas.len().min(FUNCTIONS)].to_vec();
    let predictor = drawn.fit.predictor(&drawn.laplace, method.is_linearized(), first)?;
    Ok(predictor.outputs(x)?)
}

/// Functions by batch size, and how much they spread.
pub fn batch_sizes(section: &mut Section, all: &[Drawn]) -> Result<()> {
    for prior in super::super::PriorName::ALL {
        let here: Vec<&Drawn> = all.iter().filter(|drawn| drawn.prior == prior).collect();
        let mut figures = Vec::new();
        let mut spreads: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for drawn in &here {
            let size = match drawn.problem.batch.map(|batch| batch.size) {
                Some(BatchSize::Rows(size)) => size,
                Some(BatchSize::Auto) | None => drawn.rows.train.len(),
            };
            for (name, method, thetas) in &drawn.sets {
                figures.push((chart(drawn, &format!("{name}, B = {size}"), *method, thetas)?, String::new()));
                let prediction = drawn.predict(*method, thetas, drawn.rows.test.inputs())?;
                let variance = prediction.values().map_or(&[][..], |p| &p.epistemic_variance);
                let spread = variance.iter().map(|v| v.sqrt()).sum::<f64>() / variance.len() as f64;
                match spreads.iter_mut().find(|(known, _)| known == name) {
                    Some((_, points)) => points.push((size as f64, spread)),
                    None => spreads.push((name.clone(), vec![(size as f64, spread)])),
                }
            }
        }
        if figures.is_empty() {
            continue;
        }
        let mut summary = Chart::new(
            format!("spread of the functions, prior {}", prior.name()),
            Axis::log("batch size B"),
            Axis::log("mean standard deviation over draws"),
        );
        for (name, points) in spreads {
            summary = summary.series(Series::line_points(name, points));
        }
        let caption = "Standard deviation of the sampled functions, mean over the test inputs.";
        section.text(format!("Prior {}:", prior.name()));
        section.grid([(summary.to_svg(), caption)]).grid(figures);
    }
    Ok(())
}
