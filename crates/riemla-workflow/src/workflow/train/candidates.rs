//! The network: as it was asked for, or the best of a few.

use riemla::nn::{Activation, NetworkSpec};
use serde::Serialize;

use super::NetworkChoice;
use super::search::{Fitted, Run};
use crate::workflow::error::Result;

/// Sizes of the hidden layers that are compared: from a linear model to the largest.
pub const AUTO_HIDDEN: [&[usize]; 4] = [&[], &[16], &[50], &[50, 50]];

/// A network that was compared with others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// Sizes of its hidden layers.
    pub hidden: Vec<usize>,
    /// Number of its weights.
    pub weights: usize,
    /// Log marginal likelihood; none if it could not be computed.
    pub log_marginal_likelihood: Option<f64>,
    /// Log loss on the held-out rows; none if there are none.
    pub held_out: Option<f64>,
    /// Whether it was chosen.
    pub chosen: bool,
}

impl Tried {
    /// Its name, as `--hidden` takes it.
    pub fn name(&self) -> String {
        in_words(&self.hidden)
    }
}

fn in_words(hidden: &[usize]) -> String {
    if hidden.is_empty() {
        return "none".into();
    }
    hidden.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// The chosen network, the others, and the linear model if it was among them.
pub(super) struct Best {
    pub(super) fitted: Fitted,
    pub(super) tried: Vec<Tried>,
    pub(super) linear: Option<Fitted>,
}

/// A network with hidden layers of these sizes.
pub(super) fn mlp(features: usize, hidden: &[usize], outputs: usize, activation: Activation) -> NetworkSpec {
    let sizes: Vec<usize> =
        std::iter::once(features).chain(hidden.iter().copied()).chain([outputs]).collect();
    NetworkSpec::mlp(&sizes, activation)
}

impl Run<'_> {
    /// Trains the network that was asked for, or all that are to be compared.
    pub(super) fn best_network(&mut self) -> Result<Best> {
        let config = self.config;
        let features = self.prepared.data.train.features();
        let one = |fitted| Ok(Best { fitted, tried: Vec::new(), linear: None });
        match &config.network {
            NetworkChoice::Given(spec) => {
                self.settle_the_way(spec)?;
                one(self.fit("training the network", spec)?)
            }
            NetworkChoice::Hidden(hidden, activation) => {
                let spec = mlp(features, hidden, self.outputs, *activation);
                self.settle_the_way(&spec)?;
                one(self.fit("training the network", &spec)?)
            }
            NetworkChoice::Auto(activation) => self.compare(*activation),
        }
    }

    fn compare(&mut self, activation: Activation) -> Result<Best> {
        let features = self.prepared.data.train.features();
        if let Some(largest) = AUTO_HIDDEN.last() {
            self.settle_the_way(&mlp(features, largest, self.outputs, activation))?;
        }
        let mut all: Vec<(Fitted, Tried)> = Vec::new();
        for hidden in AUTO_HIDDEN {
            if self.stopped() && !all.is_empty() {
                let rest = "the networks that were not tried yet are not compared";
                self.notes.push(format!("interrupted: {rest}"));
                break;
            }
            let name = format!("training, hidden {}", in_words(hidden));
            let fitted = self.fit(&name, &mlp(features, hidden, self.outputs, activation))?;
            let held_out = self.part_scores(&fitted)?.get(1).and_then(|part| Some(part.scores.get(1)?.1));
            let tried = Tried {
                hidden: hidden.to_vec(),
                weights: fitted.theta.len(),
                log_marginal_likelihood: fitted.log_marginal_likelihood,
                held_out,
                chosen: false,
            };
            all.push((fitted, tried));
        }
        let tried: Vec<&Tried> = all.iter().map(|(_, tried)| tried).collect();
        let held_out_rows = self.prepared.data.validation.as_ref().map_or(0, |rows| rows.len());
        let chosen = choose(&tried, held_out_rows);
        all[chosen].1.chosen = true;
        let (mut fits, tried): (Vec<Fitted>, Vec<Tried>) = all.into_iter().unzip();
        let fitted = fits.swap_remove(chosen);
        let linear = if chosen == 0 || fits.is_empty() { None } else { Some(fits.swap_remove(0)) };
        Ok(Best { fitted, tried, linear })
    }
}

/// The largest log marginal likelihood of all rows, log p(rows trained on) + log p(rows held out | trained on), the
/// second by the network itself. Held-out rows alone are too few to choose by: their log loss picked the largest
/// network where a linear one had the larger evidence (docs/decisions/0034-default-network.md).
fn choose(tried: &[&Tried], held_out_rows: usize) -> usize {
    let loss = |tried: &Tried| {
        let held_out = tried.held_out.map_or(0.0, |loss| loss * held_out_rows as f64);
        tried.log_marginal_likelihood.map_or(f64::INFINITY, |evidence| held_out - evidence)
    };
    (0..tried.len()).min_by(|a, b| loss(tried[*a]).total_cmp(&loss(tried[*b]))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(evidence: Option<f64>, held_out: Option<f64>) -> Tried {
        let hidden = Vec::new();
        Tried { hidden, weights: 1, log_marginal_likelihood: evidence, held_out, chosen: false }
    }

    fn chosen(all: &[(Option<f64>, Option<f64>)], rows: usize) -> usize {
        let all: Vec<Tried> = all.iter().map(|(evidence, held_out)| tried(*evidence, *held_out)).collect();
        choose(&all.iter().collect::<Vec<_>>(), rows)
    }

    #[test]
    fn evidence_and_held_out_rows_add_up() {
        let all = [(Some(-290.0), Some(1.10)), (Some(-295.0), Some(1.00))];
        assert_eq!(chosen(&all, 40), 0, "4 of held-out rows against 5 of evidence");
        assert_eq!(chosen(&all, 60), 1, "6 against 5");
        assert_eq!(chosen(&[(Some(-3.0), None), (Some(-2.0), None)], 0), 1);
        assert_eq!(chosen(&[(Some(-2.0), None), (Some(-2.0), None)], 0), 0, "the smallest of equals");
        assert_eq!(
            chosen(&[(None, Some(0.1)), (Some(-9.0), Some(9.0))], 5),
            1,
            "what has no evidence is the last"
        );
    }
}
