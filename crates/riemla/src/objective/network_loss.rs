//! The loss of a network on data: scaled negative log-likelihood plus the prior's term.

use std::sync::Arc;

use super::blocks::{self, Block};
use super::chunks::Chunks;
use super::likelihood::{Likelihood, OutputLoss};
use super::network_passes::Workspace;
use super::network_probe::NetworkProbe;
use super::pool::Pool;
use super::{Objective, Prior, Probe, TwiceDifferentiable};
use crate::data::Dataset;
use crate::linalg::vector::scale;
use crate::nn::{Arithmetic, Network};
use crate::{Error, Result};

/// L(θ) = s·Σₙ −log p(yₙ | f(xₙ; θ)) + ½ Σ δ θ², without the likelihood's constants.
///
/// The sum runs over all data (s = 1), over a batch of B of N samples (s = N/B), or over rows with weights.
pub struct NetworkLoss {
    network: Arc<Network>,
    likelihood: Likelihood,
    rule: Box<dyn OutputLoss>,
    prior: Prior,
    data: Arc<Dataset>,
    blocks: Arc<[Block]>,
    scale: f64,
    /// Whether the sum runs over all data, in their order.
    all_rows: bool,
    chunks: Chunks,
    pool: Pool<Workspace>,
}

impl NetworkLoss {
    /// The loss on all of `data`.
    pub fn new(
        network: Arc<Network>,
        data: impl Into<Arc<Dataset>>,
        likelihood: Likelihood,
        prior: Prior,
    ) -> Result<Self> {
        let data = data.into();
        blocks::check(&network, &data, &likelihood)?;
        crate::error::check_len("prior's number of weights", network.dim(), prior.dim())?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let blocks = blocks::pack_blocks(&network, &data, &rows).into();
        Ok(Self { all_rows: true, ..Self::of_blocks(network, likelihood, prior, data, blocks, 1.0) })
    }

    /// The loss on the given rows, its likelihood scaled by N/B.
    pub fn on_rows(&self, rows: &[usize]) -> Result<Self> {
        let scale = self.data.len() as f64 / rows.len() as f64;
        self.on_weighted_rows(rows, &vec![scale; rows.len()])
    }

    /// The loss on the given rows, each counted with a weight (times its own, where the data have weights).
    pub fn on_weighted_rows(&self, rows: &[usize], weights: &[f64]) -> Result<Self> {
        let data = &self.data;
        if rows.is_empty() || rows.iter().any(|&row| row >= data.len()) {
            return Err(Error::range(
                "batch rows",
                format!("{} rows", rows.len()),
                format!("between 1 and {} rows, each below that", data.len()),
            ));
        }
        crate::error::check_len("weights of the batch's rows", rows.len(), weights.len())?;
        weights.iter().try_for_each(|w| crate::error::check_positive("weight of a batch's row", *w))?;
        let mut blocks = blocks::pack_blocks(&self.network, data, rows);
        // One factor for all is applied once, to the sum.
        let equal = weights.iter().all(|weight| *weight == weights[0]);
        if !equal {
            blocks::multiply_weights(&mut blocks, weights);
        }
        let scale = if equal { weights[0] } else { 1.0 };
        let (network, prior) = (self.network.clone(), self.prior.clone());
        Ok(Self::of_blocks(network, self.likelihood, prior, data.clone(), blocks.into(), scale))
    }

    /// The same data and network under another likelihood (noise) and prior.
    pub fn with(&self, likelihood: Likelihood, prior: Prior) -> Result<Self> {
        likelihood.check_outputs(self.network.outputs())?;
        if std::mem::discriminant(&likelihood) != std::mem::discriminant(&self.likelihood) {
            return Err(Error::Unsupported(
                "the kind of likelihood is fixed once the data are packed".into(),
            ));
        }
        crate::error::check_len("prior's number of weights", self.network.dim(), prior.dim())?;
        let (network, data, blocks) = (self.network.clone(), self.data.clone(), self.blocks.clone());
        let all_rows = self.all_rows;
        Ok(Self { all_rows, ..Self::of_blocks(network, likelihood, prior, data, blocks, self.scale) })
    }

    /// The same loss with the products of its network in the given precision.
    pub fn multiplying_in(&self, arithmetic: Arithmetic) -> Result<Self> {
        let network = Arc::new(Network::multiplying_in(self.network.spec(), arithmetic)?);
        let (prior, data, blocks) = (self.prior.clone(), self.data.clone(), self.blocks.clone());
        let all_rows = self.all_rows;
        Ok(Self { all_rows, ..Self::of_blocks(network, self.likelihood, prior, data, blocks, self.scale) })
    }

    fn of_blocks(
        network: Arc<Network>,
        likelihood: Likelihood,
        prior: Prior,
        data: Arc<Dataset>,
        blocks: Arc<[Block]>,
        scale: f64,
    ) -> Self {
        let samples: usize = blocks.iter().map(|block| block.n).sum();
        let chunks = Chunks::new(blocks.len(), samples.saturating_mul(network.work()), network.dim());
        let rule = likelihood.rule();
        let pool = Pool::default();
        Self { network, likelihood, rule, prior, data, blocks, scale, all_rows: false, chunks, pool }
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// All the data it was made with, also where it sums over a batch of them.
    pub fn data(&self) -> &Arc<Dataset> {
        &self.data
    }

    /// The likelihood.
    pub fn likelihood(&self) -> Likelihood {
        self.likelihood
    }

    /// Its functions of the outputs.
    pub(crate) fn rule(&self) -> &dyn OutputLoss {
        &*self.rule
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The packed data.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Factor on the likelihood: N/B for a batch, 1 for all data and where the rows of a batch have weights.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Whether the sum runs over all data, in their order.
    pub(super) fn has_all_rows(&self) -> bool {
        self.all_rows
    }

    /// Number of samples the sum runs over.
    pub fn samples(&self) -> usize {
        self.blocks.iter().map(|block| block.n).sum()
    }

    /// Sum of the weights of these samples; their number if each counts once.
    pub fn total_weight(&self) -> f64 {
        let of_block = |block: &Block| match block.weights.is_empty() {
            true => block.n as f64,
            false => block.weights.iter().sum(),
        };
        self.blocks.iter().map(of_block).sum()
    }

    /// log p(y | θ) with all constants, scaled like the loss.
    pub fn log_likelihood(&self, theta: &[f64]) -> f64 {
        let constant: f64 = self.blocks.iter().map(|block| block.constant(&*self.rule)).sum();
        self.prior.value(theta) - self.value(theta) - self.scale * constant
    }

    /// Sums `term` over all blocks: it adds to a vector, which is `out` in the end, and returns numbers to add.
    pub(super) fn sum_blocks<const S: usize>(
        &self,
        out: &mut [f64],
        term: impl Fn(usize, &mut Workspace, &mut [f64]) -> [f64; S] + Sync,
    ) -> [f64; S] {
        self.chunks.sum(out, &|blocks, out| {
            self.pool.with(
                || self.workspace(),
                |workspace| {
                    let mut sums = [0.0; S];
                    for b in blocks {
                        let more = term(b, workspace, out);
                        sums.iter_mut().zip(more).for_each(|(s, m)| *s += m);
                    }
                    sums
                },
            )
        })
    }

    /// Adds what does not come from the data to a loss.
    pub(super) fn finish_value(&self, theta: &[f64], nll: f64) -> f64 {
        self.scale * nll + self.prior.value(theta)
    }

    /// Adds what does not come from the data to a gradient, or to a Hessian times `theta`.
    pub(super) fn finish_gradient(&self, theta: &[f64], gradient: &mut [f64]) {
        if self.scale != 1.0 {
            scale(self.scale, gradient);
        }
        self.prior.add_product(theta, gradient);
    }
}

impl Objective for NetworkLoss {
    fn dim(&self) -> usize {
        self.network.dim()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let [nll] = self.sum_blocks(&mut [], |b, w, _| [self.value_of_block(b, theta, w)]);
        self.finish_value(theta, nll)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let [nll] = self.sum_blocks(gradient, |b, w, gradient| {
            let nll = self.forward_block(b, theta, &mut w.state, &mut w.scratch);
            self.backward_block(b, theta, &w.state, &mut w.adjoint, gradient);
            [nll]
        });
        self.finish_gradient(theta, gradient);
        self.finish_value(theta, nll)
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        Box::new(NetworkProbe::new(self))
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for NetworkLoss {
    fn curvature_along(&self, theta: &[f64], v: &[f64]) -> f64 {
        let [total] = self.sum_blocks(&mut [], |b, w, _| {
            self.forward_block(b, theta, &mut w.state, &mut w.scratch);
            [self.curvature_of_block(b, theta, v, w)]
        });
        self.scale * total + self.prior.quadratic(v)
    }

    fn hvp(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        self.sum_blocks(out, |b, w, out| {
            self.forward_block(b, theta, &mut w.state, &mut w.scratch);
            self.hvp_of_block(b, theta, v, w, out);
            []
        });
        self.finish_gradient(v, out);
    }

    fn gradient_and_curvature(&self, theta: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        let [nll, total] = self.sum_blocks(gradient, |b, w, gradient| {
            let nll = self.forward_block(b, theta, &mut w.state, &mut w.scratch);
            let curvature = self.curvature_of_block(b, theta, v, w);
            self.backward_block(b, theta, &w.state, &mut w.adjoint, gradient);
            [nll, curvature]
        });
        self.finish_gradient(theta, gradient);
        let inside = nll.is_finite() && self.prior.value(theta).is_finite();
        if inside { self.scale * total + self.prior.quadratic(v) } else { f64::NAN }
    }
}
