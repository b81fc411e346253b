//! A table with a line per draw.

use std::io::Write as _;
use std::path::Path;

use riemla::posterior::{Draw, GeodesicSummary, PolishSummary};
use riemla_files::atomic::write_file;
use riemla_files::ours::DIAGNOSTICS_FILE;
use riemla_files::table::{Column, Values};

use super::error::Result;
use super::predict::{OutputFormat, Writer};

/// Columns of equal length, the first of them the numbers of the draws.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DrawTable {
    /// The columns.
    pub columns: Vec<Column>,
}

impl DrawTable {
    /// What the geodesics of draws did; empty cells for draws without.
    pub fn of_geodesics(draws: &[Draw]) -> Self {
        let geodesics = || draws.iter().map(|draw| draw.geodesic.as_ref());
        let mut table = Self::new(draws.iter().map(|draw| draw.index));
        table.words("status", geodesics().map(|g| g.map_or(String::new(), |g| g.status.to_string())));
        let mut numbers = |name: &'static str, of: fn(&GeodesicSummary) -> f64| {
            table.numbers(name, geodesics().map(|geodesic| geodesic.map(of)));
        };
        numbers("t", |g| g.t);
        numbers("attempts", |g| g.attempts as f64);
        numbers("gradients", |g| g.counters.gradients as f64);
        numbers("values", |g| g.counters.values as f64);
        numbers("steps", |g| g.counters.steps as f64);
        numbers("rejections", |g| g.counters.rejections as f64);
        numbers("speed", |g| g.diagnostics.speed);
        numbers("speed_drift", |g| g.diagnostics.speed_drift);
        numbers("speed_correction", |g| g.diagnostics.speed_correction);
        numbers("loss_start", |g| g.diagnostics.loss_start);
        numbers("loss_end", |g| g.diagnostics.loss_end);
        numbers("loss_bound", |g| g.diagnostics.loss_bound);
        if draws.iter().any(|draw| draw.polish.is_some()) {
            table.polish(draws);
        }
        table
    }

    /// What the chains that polished draws did.
    fn polish(&mut self, draws: &[Draw]) {
        let mut numbers = |name: &'static str, of: fn(&PolishSummary) -> f64| {
            self.numbers(name, draws.iter().map(|draw| draw.polish.as_ref().map(of)));
        };
        numbers("polish_gradients", |p| p.gradients as f64);
        numbers("polish_proposals", |p| p.proposals as f64);
        numbers("polish_accepted", |p| p.accepted as f64);
        numbers("polish_acceptance", |p| p.acceptance);
        numbers("polish_loss_half", |p| p.loss_half);
        numbers("polish_loss_end", |p| p.loss_end);
    }

    pub(super) fn new(indices: impl Iterator<Item = u64>) -> Self {
        let mut table = Self::default();
        table.numbers("draw", indices.map(|index| Some(index as f64)));
        table
    }

    pub(super) fn numbers(&mut self, name: &str, numbers: impl Iterator<Item = Option<f64>>) {
        let values = Values::Numbers(numbers.map(|number| number.unwrap_or(f64::NAN)).collect());
        self.columns.push(Column { name: name.into(), values });
    }

    pub(super) fn words(&mut self, name: &str, words: impl Iterator<Item = String>) {
        self.columns.push(Column { name: name.into(), values: Values::Strings(words.collect()) });
    }

    /// Writes it into the directory of a set; `draws` is how many lines it has.
    pub(super) fn write(&self, directory: &Path, draws: usize) -> Result<()> {
        let mut text = Vec::new();
        let mut writer = Writer::new(&mut text, OutputFormat::Csv);
        writer.write(&self.columns, draws)?;
        writer.finish()?;
        Ok(write_file(&directory.join(DIAGNOSTICS_FILE), |file| file.write_all(&text))?)
    }
}
