//! How draws look: numbers about all of them, a table with a line per draw, and warnings in words.

use std::collections::BTreeMap;

use riemla::posterior::{Draw, PolishReport, Posterior, SampleSet, warnings};
use serde::Serialize;

use super::draw_table::DrawTable;
use super::error::Result;
use super::samplers::ChainSummary;

/// What can be said about a set of draws.
#[derive(Debug, Clone, Default)]
pub struct Diagnosis {
    /// Numbers about all of them.
    pub summary: Summary,
    /// Numbers about each; none where a run that was cut short knows less than the files do.
    pub table: Option<DrawTable>,
    /// What is off, and what to do about it.
    pub warnings: Vec<String>,
}

/// Numbers about a set.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Strength of the metric.
    pub strength: Option<f64>,
    /// How far draws on batches go towards the ends of their geodesics; none without batches, or where they go to the end.
    pub length: Option<f64>,
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
    /// What the chains that polished the draws did.
    pub polish: Option<PolishReport>,
    /// What Markov chains did and whether they agree.
    pub chains: Option<ChainSummary>,
}

/// A warning if draws were taken on different kinds of processors.
pub(super) fn mixed_processors<'a>(draws: impl IntoIterator<Item = &'a Draw>) -> Option<String> {
    let mut kinds = BTreeMap::<&str, usize>::new();
    let known = draws.into_iter().filter(|draw| !draw.processor.is_empty());
    known.for_each(|draw| *kinds.entry(&draw.processor).or_default() += 1);
    let list: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} on {kind}")).collect();
    (list.len() > 1).then(|| {
        format!(
            "the draws were taken on different kinds of processors ({}): they are as good, but not the same bits as on \
             one kind, because kernels differ in the last bits and long geodesics amplify them",
            list.join("; ")
        )
    })
}

impl Diagnosis {
    /// Looks at the draws of a posterior.
    pub(super) fn of_geodesics(posterior: &Posterior, set: &SampleSet) -> Result<Self> {
        let thetas = set.thetas();
        let method = posterior.config().method;
        let virial = if set.draws.len() > 1 { Some(posterior.virial_ratio(&thetas)?) } else { None };
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let some = |values: Vec<f64>| (!values.is_empty()).then(|| mean(values));
        let end = |draw: &Draw| {
            let chain = draw.polish.map(|polish| polish.loss_end);
            chain.or(draw.geodesic.map(|g| g.diagnostics.loss_end))
        };
        let rise = |draw: &Draw| Some(end(draw)? - draw.geodesic?.diagnostics.loss_start);
        let gradients = |draw: &Draw| {
            let chain = draw.polish.map(|polish| polish.gradients);
            let geodesic = draw.geodesic.map(|g| g.counters.gradients);
            let some = chain.is_some() || geodesic.is_some();
            some.then(|| (chain.unwrap_or(0) + geodesic.unwrap_or(0)) as f64)
        };
        let batch = posterior.config().batch.filter(|plan| !plan.length.is_full());
        let length = batch.and_then(|plan| plan.length.factor());
        let rises = match length {
            // The loss of its batch at the end of the geodesic is not that of the draw.
            Some(_) if !thetas.is_empty() => posterior.loss_rises(&thetas)?,
            _ => set.draws.iter().filter_map(rise).collect(),
        };
        let summary = Summary {
            strength: posterior.config().fixed_strength(),
            length,
            virial_ratio: virial,
            loss_rise: some(rises),
            gradients: some(set.draws.iter().filter_map(gradients).collect()),
            unfinished: method.is_riemannian().then(|| set.unfinished()),
            failed: set.failed.len(),
            polish: PolishReport::of(&set.draws),
            chains: None,
        };
        let warnings = warnings(set, posterior)?.iter().map(ToString::to_string).collect();
        Ok(Self { summary, table: Some(DrawTable::of_geodesics(&set.draws)), warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_different_kinds_of_processors_are_a_warning() {
        let draw = |index, kind: &str| Draw { processor: kind.into(), ..Draw::new(index, vec![0.0], None) };
        let same: Vec<Draw> = (0..3).map(|index| draw(index, "x86_64 avx")).chain([draw(3, "")]).collect();
        assert_eq!(mixed_processors(&same), None, "a draw of an old file has no kind");
        let mixed: Vec<Draw> = same.into_iter().chain([draw(4, "aarch64")]).collect();
        let text = mixed_processors(&mixed).expect("a warning");
        assert!(text.contains("1 on aarch64; 3 on x86_64 avx"), "{text}");
    }
}
