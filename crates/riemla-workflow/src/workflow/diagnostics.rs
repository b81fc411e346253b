//! How draws look: a table with a line per draw, and warnings in words.

use std::path::Path;

use riemla::posterior::{Draw, Posterior, SampleSet, warnings};
use riemla_files::atomic::write_file;
use riemla_files::ours::DIAGNOSTICS_FILE;
use serde::Serialize;

use super::error::Result;
use super::samplers::ChainSummary;

/// What can be said about a set of draws.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    /// Numbers about all of them.
    pub summary: Summary,
    /// What is off, and what to do about it.
    pub warnings: Vec<String>,
}

/// Numbers about a set.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Strength of the metric.
    pub strength: Option<f64>,
    /// Mean of (θ − θ*)·∇L(θ) over the number of weights: 1 for draws from the posterior.
    pub virial_ratio: Option<f64>,
    /// Mean rise of the loss from θ*.
    pub loss_rise: Option<f64>,
    /// Gradients per draw.
    pub gradients: Option<f64>,
    /// Share of geodesics that did not reach their end.
    pub unfinished: Option<f64>,
    /// Draws that failed: no geodesic came to its end, or no training was possible.
    pub failed: usize,
    /// What Markov chains did and whether they agree.
    pub chains: Option<ChainSummary>,
}

impl Diagnosis {
    /// Looks at the draws of a posterior and writes a line about each.
    pub(super) fn of_geodesics(posterior: &Posterior, set: &SampleSet, directory: &Path) -> Result<Self> {
        let thetas = set.thetas();
        let method = posterior.config().method;
        let virial = if set.draws.len() > 1 { Some(posterior.virial_ratio(&thetas)?) } else { None };
        let geodesics: Vec<_> = set.draws.iter().filter_map(|draw| draw.geodesic.as_ref()).collect();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let some = |values: Vec<f64>| (!values.is_empty()).then(|| mean(values));
        let rise =
            |g: &&riemla::posterior::GeodesicSummary| g.diagnostics.loss_end - g.diagnostics.loss_start;
        let summary = Summary {
            strength: posterior.config().fixed_strength(),
            virial_ratio: virial,
            loss_rise: some(geodesics.iter().map(rise).collect()),
            gradients: some(geodesics.iter().map(|g| g.counters.gradients as f64).collect()),
            unfinished: method.is_riemannian().then(|| set.unfinished()),
            failed: set.failed.len(),
            chains: None,
        };
        let warnings = warnings(set, posterior)?.iter().map(ToString::to_string).collect();
        write_table(directory, HEAD, &set.draws.iter().map(line).collect::<String>())?;
        Ok(Self { summary, warnings })
    }
}

/// Writes the table of draws.
pub(super) fn write_table(directory: &Path, head: &str, lines: &str) -> Result<()> {
    Ok(write_file(&directory.join(DIAGNOSTICS_FILE), |writer| {
        use std::io::Write as _;
        writeln!(writer, "{head}")?;
        writer.write_all(lines.as_bytes())
    })?)
}

const HEAD: &str = "draw,status,t,attempts,gradients,values,steps,rejections,speed,speed_drift,\
                    speed_correction,loss_start,loss_end,loss_bound";

fn line(draw: &Draw) -> String {
    let Some(geodesic) = &draw.geodesic else { return format!("{}{}\n", draw.index, ",".repeat(13)) };
    let (c, d) = (&geodesic.counters, &geodesic.diagnostics);
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
        draw.index,
        geodesic.status,
        geodesic.t,
        geodesic.attempts,
        c.gradients,
        c.values,
        c.steps,
        c.rejections,
        d.speed,
        d.speed_drift,
        d.speed_correction,
        d.loss_start,
        d.loss_end,
        d.loss_bound
    )
}
