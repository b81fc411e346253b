//! How much the outputs of a network differ between draws of its weights.

use super::Predictor;
use super::classification::probabilities_of;
use crate::objective::TargetKind;
use crate::{Error, Result};

/// Standard deviations over draws (unbiased variances), row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSpread {
    /// Of the outputs themselves (logits or means), rows × outputs.
    pub outputs: Vec<f64>,
    /// Of the probabilities, rows × classes or labels; none for real targets and counts.
    pub probabilities: Option<Vec<f64>>,
}

impl Predictor {
    /// The spread of the outputs over at least 2 draws. `inputs` is row-major.
    pub fn spread(&self, thetas: &[&[f64]], inputs: &[f64]) -> Result<OutputSpread> {
        if thetas.len() < 2 {
            return Err(Error::range("number of draws", thetas.len(), "at least 2 for a spread"));
        }
        let (likelihood, width) = (self.likelihood(), self.output_len());
        likelihood.check_outputs(width)?;
        let mut per_draw = self.outputs(thetas, inputs)?;
        let outputs = deviations(&per_draw);
        if likelihood.kind() == TargetKind::Labels {
            let sigmoid = |f: &mut f64| *f = 1.0 / (1.0 + (-*f).exp());
            per_draw.iter_mut().flatten().for_each(sigmoid);
            return Ok(OutputSpread { outputs, probabilities: Some(deviations(&per_draw)) });
        }
        let probabilities = likelihood.classes(width).map(|classes| {
            let of_draw = |draw: &Vec<f64>| {
                let rows = draw.chunks_exact(width);
                let mut all = vec![0.0; rows.len() * classes];
                rows.zip(all.chunks_exact_mut(classes)).for_each(|(f, p)| probabilities_of(f, likelihood, p));
                all
            };
            per_draw.iter_mut().for_each(|draw| *draw = of_draw(draw));
            deviations(&per_draw)
        });
        Ok(OutputSpread { outputs, probabilities })
    }
}

/// Standard deviation over draws of every entry.
fn deviations(draws: &[Vec<f64>]) -> Vec<f64> {
    let n = draws.len() as f64;
    let deviation = |k: usize| {
        let mean = draws.iter().map(|draw| draw[k]).sum::<f64>() / n;
        (draws.iter().map(|draw| (draw[k] - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
    };
    (0..draws[0].len()).map(deviation).collect()
}
