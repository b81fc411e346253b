//! Batches: which rows of the data one draw follows, and how much each of them counts.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{BatchLength, Model, Posterior};
use crate::data::{draw_batch, draw_by_probability, inclusion_probabilities};
use crate::random::{Purpose, Rng, stream};
use crate::{Error, Result};

/// A fresh random batch of the data for every draw (docs/decisions/0027-batches.md).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchPlan {
    /// Rows per batch.
    pub size: BatchSize,
    /// Which rows, and how much each counts.
    #[serde(default)]
    pub design: BatchDesign,
    /// How far the draws go towards the ends of their geodesics.
    #[serde(default, skip_serializing_if = "BatchLength::is_full")]
    pub length: BatchLength,
}

impl BatchPlan {
    /// Batches of a design, whose draws are the ends of their geodesics.
    pub fn new(size: impl Into<BatchSize>, design: BatchDesign) -> Self {
        Self { size: size.into(), design, length: BatchLength::Full }
    }
}

/// Rows per batch; in files a number, or the word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrWord", into = "NumberOrWord")]
pub enum BatchSize {
    /// This number.
    Rows(usize),
    /// As many as it takes for the rows of the largest leverage to hold [`AUTO_SHARE`] of the effective dimension.
    Auto,
}

/// How the rows of a batch are chosen. In files and on the command line it is its name: `uniform`, `stratified`,
/// `leverage` (or `leverage=0.75`).
///
/// The loss of a batch is that of all data on average over the draws, except that the counts of stratified batches are
/// rounded.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BatchDesign {
    /// A row is drawn with probability min(1, c(αℓᵢ/Σℓ + (1 − α)/N)), ℓᵢ its leverage ([`Posterior::leverages`]), and
    /// counts 1/probability times: rows that matter most are in every batch and count once, and none counts more than
    /// N/(B(1 − α)) times.
    Leverage {
        /// α, the share of the probabilities that follows the leverages, at least 0 and below 1.
        share: f64,
    },
    /// All rows are drawn at random, and count N/B times: the paper's batches.
    #[default]
    Uniform,
    /// The same, with the label frequencies of the data.
    Stratified,
}

/// Share of the probabilities that follows the leverages, unless set.
const SHARE: f64 = 0.5;
/// Share of the effective dimension that the rows of a batch hold whose size is not given.
pub const AUTO_SHARE: f64 = 0.9;
/// Tangents that a leverage is the mean over: it orders rows, and is known to a third.
const TANGENTS: u64 = 20;

impl BatchDesign {
    /// By leverage, with the share of [`Self::Leverage`] that the word alone stands for: 1/2.
    pub fn leverage() -> Self {
        Self::Leverage { share: SHARE }
    }
}

impl fmt::Display for BatchDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leverage { share } => write!(f, "leverage={share}"),
            Self::Uniform => f.pad("uniform"),
            Self::Stratified => f.pad("stratified"),
        }
    }
}

impl FromStr for BatchDesign {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown =
            || Error::range("batch design", text, "uniform, stratified, leverage or leverage=SHARE");
        match text.split_once('=') {
            None if text == "leverage" => Ok(Self::leverage()),
            None if text == "uniform" => Ok(Self::Uniform),
            None if text == "stratified" => Ok(Self::Stratified),
            Some(("leverage", share)) => {
                let share = share.parse().map_err(|_| unknown())?;
                check_share(share)?;
                Ok(Self::Leverage { share })
            }
            _ => Err(unknown()),
        }
    }
}

fn check_share(share: f64) -> Result<()> {
    if (0.0..1.0).contains(&share) {
        return Ok(());
    }
    Err(Error::range(
        "share of the leverages in a batch",
        share,
        "at least 0 and below 1: rows of no leverage must be seen as well",
    ))
}

impl TryFrom<String> for BatchDesign {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<BatchDesign> for String {
    fn from(design: BatchDesign) -> Self {
        design.to_string()
    }
}

impl From<usize> for BatchSize {
    fn from(rows: usize) -> Self {
        Self::Rows(rows)
    }
}

/// What a size is in files.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NumberOrWord {
    Number(usize),
    Word(String),
}

impl TryFrom<NumberOrWord> for BatchSize {
    type Error = Error;

    fn try_from(value: NumberOrWord) -> Result<Self> {
        match value {
            NumberOrWord::Number(rows) => Ok(Self::Rows(rows)),
            NumberOrWord::Word(word) if word == "auto" => Ok(Self::Auto),
            NumberOrWord::Word(word) => Err(Error::range("batch size", word, "a number of rows, or auto")),
        }
    }
}

impl From<BatchSize> for NumberOrWord {
    fn from(size: BatchSize) -> Self {
        match size {
            BatchSize::Rows(rows) => Self::Number(rows),
            BatchSize::Auto => Self::Word("auto".into()),
        }
    }
}

/// The leverages of a posterior's rows.
pub(super) struct Leverages {
    of_rows: Vec<f64>,
    /// All rows, the largest leverage first.
    order: Vec<usize>,
    /// The same within classes, one class after the other: the order in which rows are drawn.
    by_class: Vec<usize>,
}

impl Leverages {
    fn new(of_rows: Vec<f64>, labels: Option<&[usize]>) -> Self {
        let mut order: Vec<usize> = (0..of_rows.len()).collect();
        order.sort_by(|&a, &b| of_rows[b].total_cmp(&of_rows[a]).then(a.cmp(&b)));
        let mut by_class = order.clone();
        // A stable sort.
        by_class.sort_by_key(|&row| labels.map(|labels| labels[row]));
        Self { of_rows, order, by_class }
    }

    /// Rows of a batch and how much each counts. Neighbours in their order are rarely drawn together, so that a batch has
    /// the frequencies of the classes and, in each, the distribution of the leverages.
    fn batch(&self, share: f64, size: usize, rng: &mut Rng) -> Result<(Vec<usize>, Vec<f64>)> {
        let (total, all) = (self.of_rows.iter().sum::<f64>(), self.order.len() as f64);
        // Where no row has a leverage all are the same.
        let by_leverage = if total > 0.0 { share / total } else { 0.0 };
        let part = |row: &usize| by_leverage * self.of_rows[*row] + (1.0 - share) / all;
        let sizes: Vec<f64> = self.by_class.iter().map(part).collect();
        let probabilities = inclusion_probabilities(&sizes, size)?;
        let places = draw_by_probability(&probabilities, rng);
        let weights = places.iter().map(|&place| 1.0 / probabilities[place]).collect();
        Ok((places.into_iter().map(|place| self.by_class[place]).collect(), weights))
    }

    /// The fewest rows that hold a share of the sum; at least 1.
    fn rows_holding(&self, share: f64) -> usize {
        let total: f64 = self.of_rows.iter().sum();
        let mut held = 0.0;
        let missing = self.order.iter().take_while(|row| {
            held += self.of_rows[**row];
            held < share * total
        });
        (missing.count() + 1).min(self.order.len())
    }
}

impl Posterior {
    /// The leverage of every row: ℓᵢ = E(dᵢᵀΛᵢdᵢ) with dᵢ = Jᵢv, v from the Gaussian, Λᵢ the Hessian of the row's loss
    /// in its outputs; the mean over 20 tangents v, which are always the same. It is the share of the row in the
    /// curvature of the loss. With the full GGN the leverages add up to the effective dimension Σ λ/(λ + δ), and those
    /// of a linear regression are the diagonal of its hat matrix.
    pub fn leverages(&self) -> Result<&[f64]> {
        self.ranked().map(|leverages| leverages.of_rows.as_slice())
    }

    /// They are found once. Two threads may do the same work, but none waits inside a pool.
    fn ranked(&self) -> Result<&Leverages> {
        if let Some(found) = self.leverages.get() {
            return Ok(found);
        }
        let gaussian = self.moving.gaussian();
        let tangent = |i| gaussian.draw_tangent(&mut stream(0, Purpose::Leverage, i));
        let tangents: Vec<Vec<f64>> = (0..TANGENTS).into_par_iter().map(tangent).collect();
        let of_rows = self.moving.model().row_curvatures(gaussian.theta(), &tangents)?;
        crate::error::check_finite("leverages of the rows", &of_rows)?;
        Ok(self.leverages.get_or_init(|| Leverages::new(of_rows, self.model.labels())))
    }

    /// Rows of every draw's batch; none without batches.
    pub fn batch_rows(&self) -> Result<Option<usize>> {
        match self.config.batch.map(|plan| plan.size) {
            None => Ok(None),
            Some(BatchSize::Rows(rows)) => Ok(Some(rows)),
            Some(BatchSize::Auto) => Ok(Some(self.ranked()?.rows_holding(AUTO_SHARE))),
        }
    }

    /// The loss on the batch of draw `index`; none if the draw follows all data.
    pub(super) fn batch(&self, seed: u64, index: u64) -> Result<Option<Box<dyn Model>>> {
        let (Some(plan), Some(size)) = (self.config.batch, self.batch_rows()?) else { return Ok(None) };
        let all = rows_of(&*self.model)?;
        if size == all {
            return Ok(None);
        }
        let mut rng = stream(seed, Purpose::Batch, index);
        let (rows, weights) = match plan.design {
            BatchDesign::Leverage { share } => self.ranked()?.batch(share, size, &mut rng)?,
            BatchDesign::Uniform | BatchDesign::Stratified => {
                let rows = draw_batch(all, plan.design.labels(&*self.model)?, size, &mut rng)?;
                let weights = vec![all as f64 / size as f64; size];
                (rows, weights)
            }
        };
        self.moving.model().on_rows(&rows, &weights).map(Some)
    }

    /// Finds what the batches of all draws share, with all cores, before the draws are shared out.
    pub(super) fn prepare_batches(&self) -> Result<()> {
        match self.config.batch {
            Some(
                BatchPlan { design: BatchDesign::Leverage { .. }, .. }
                | BatchPlan { size: BatchSize::Auto, .. },
            ) => self.ranked().map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Reports what batches need and the model lacks, before the first draw.
    pub(super) fn check_batch(&self, plan: BatchPlan) -> Result<()> {
        let all = rows_of(&*self.model)?;
        self.model.on_rows(&[0], &[all as f64])?;
        if let BatchSize::Rows(rows) = plan.size
            && !(1..=all).contains(&rows)
        {
            return Err(Error::range("batch size", rows, format!("between 1 and the {all} rows")));
        }
        plan.design.labels(&*self.model)?;
        plan.length.validate()?;
        let leverage = matches!(plan.design, BatchDesign::Leverage { .. });
        if let BatchDesign::Leverage { share } = plan.design {
            check_share(share)?;
        }
        if leverage || plan.size == BatchSize::Auto {
            self.model.row_curvatures(self.gaussian.theta(), &[])?;
        }
        Ok(())
    }
}

impl BatchDesign {
    /// The labels whose frequencies are kept.
    fn labels(self, model: &dyn Model) -> Result<Option<&[usize]>> {
        match (self, model.labels()) {
            (Self::Stratified, None) => {
                let message = "stratified batches need class labels; use uniform batches for regression";
                Err(Error::Unsupported(message.into()))
            }
            (Self::Stratified, labels) => Ok(labels),
            _ => Ok(None),
        }
    }
}

fn rows_of(model: &dyn Model) -> Result<usize> {
    match model.rows() {
        Some(rows) => Ok(rows),
        // Its error says what it lacks.
        None => model.on_rows(&[], &[]).map(|_| 0),
    }
}
