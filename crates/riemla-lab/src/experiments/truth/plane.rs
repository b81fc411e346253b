//! Draws on densities in the plane. They have no network, so that the rules for the strength are applied here.

use std::sync::atomic::Ordering;
use std::time::Instant;

use rayon::prelude::*;
use riemla::curvature::{DiagonalPrecision, Precision as _};
use riemla::geometry::{
    Counters, Geodesic, Integrator, Status, corrected_exponential_map_until, exponential_map_until,
};
use riemla::objective::Objective;
use riemla::posterior::{
    Draw, GeodesicSummary, Method, MetricChoice, PosteriorConfig, SearchStatus, Statistic, Strength,
    growth_factor, virial_ratio,
};
use riemla::random::{Purpose, fill_normal, stream};

use super::super::cell::{Drawn, Wanted, keep};
use super::super::record::{CellKey, ModelSummary};
use super::super::{ExperimentError, MethodName, Result, Setting};
use super::density::Density;
use super::distance::finite;
use super::target::Target;
use crate::setting::Entry;
use crate::strength::FoundStrength;

/// Range of strengths, and halvings of its logarithm: the strength is known to 0.01 %.
const RANGE: (f64, f64) = (1e-4, 1e2);
const HALVINGS: usize = 18;
/// A rule is met if its ratio is as close to 1; if not, no strength in the range does it.
const MET: f64 = 0.05;

/// A density with its mode.
pub struct Plane {
    density: Density,
    mode: [f64; 2],
    precision: DiagonalPrecision,
}

impl Plane {
    /// The target of a density.
    pub fn new(density: Density) -> Result<Self> {
        let precision = DiagonalPrecision::new(&density.precision(), &[0.0; 2])?;
        Ok(Self { density, mode: density.mode(), precision })
    }

    /// Whether a method can draw here: the Fisher metric, held-out rows and linearisations belong to networks.
    pub fn takes(entry: Entry) -> bool {
        match (entry.method, entry.setting) {
            (MethodName::La, _) => true,
            (MethodName::RiemLa, Some(setting)) => {
                !setting.is_preset()
                    && setting.metric() != MetricChoice::Fisher
                    && !setting.needs_validation()
            }
            _ => false,
        }
    }

    fn tangent(&self, seed: u64, purpose: Purpose, index: u64) -> Vec<f64> {
        let mut v = vec![0.0; 2];
        fill_normal(&mut stream(seed, purpose, index), &mut v);
        self.precision.sqrt_solve(&mut v);
        v
    }

    fn straight(&self, v: &[f64]) -> Vec<f64> {
        self.mode.iter().zip(v).map(|(center, v)| center + v).collect()
    }

    /// Geodesics of all draws at one strength. Planes are cheap: all draws are pilots.
    fn geodesics(&self, wanted: &Wanted<'_>, metric: MetricChoice, strength: f64) -> Result<Vec<Geodesic>> {
        let (density, mode) = (&self.density, &self.mode);
        let one = |index: u64| {
            let v = self.tangent(wanted.seed, Purpose::Draw, index);
            let (integrator, stop) = (Integrator::default(), Some(wanted.stop));
            if metric == MetricChoice::Loss {
                return exponential_map_until(density, strength, &integrator, mode, &v, 0, stop);
            }
            let metric = (strength, &self.precision as _);
            corrected_exponential_map_until(density, metric, &integrator, mode, &v, 0, stop)
        };
        let found = (0..wanted.samples).into_par_iter().map(one).collect::<riemla::Result<_>>()?;
        if wanted.stop.load(Ordering::Relaxed) { Err(ExperimentError::Interrupted) } else { Ok(found) }
    }

    /// What a rule wants to be 1; it falls with the strength. NaN if no geodesic ended, which is not above 1.
    fn ratio(&self, rule: Strength, geodesics: &[Geodesic]) -> f64 {
        let ends = geodesics.iter().filter(|geodesic| geodesic.status == Status::Reached);
        let lowest = self.density.value(&self.mode);
        // K/2 = 1.
        let rise = |end: &[f64]| self.density.value(end) - lowest;
        let virial = |end: &[f64]| virial_ratio(&self.density, &self.mode, &[end]);
        let (rises, virials): (Vec<f64>, Vec<f64>) =
            ends.map(|geodesic| (rise(&geodesic.end), virial(&geodesic.end))).unzip();
        let mean = |values: &[f64]| Statistic::Mean.of(values);
        match rule {
            Strength::LossRise { .. } => mean(&rises),
            Strength::Typical { .. } => {
                let growth: Vec<f64> =
                    virials.iter().zip(&rises).map(|(virial, rise)| virial / rise).collect();
                growth_factor(Statistic::Median.of(&growth)) * mean(&rises)
            }
            Strength::Virial { statistic, .. } => statistic.of(&virials),
            _ => mean(&virials),
        }
    }

    /// The strength of a rule, by bisection; none if it is a number. Whether it is met is seen from the draws.
    fn search(
        &self,
        rule: Strength,
        wanted: &Wanted<'_>,
        metric: MetricChoice,
    ) -> Result<Option<FoundStrength>> {
        if rule.fixed().is_some() {
            return Ok(None);
        }
        let begun = Instant::now();
        let (mut weak, mut strong) = (RANGE.0.ln(), RANGE.1.ln());
        let (mut trials, mut counters) = (Vec::new(), Counters::default());
        for _ in 0..HALVINGS {
            let middle = 0.5 * (weak + strong);
            let geodesics = self.geodesics(wanted, metric, middle.exp())?;
            geodesics.iter().for_each(|geodesic| counters += geodesic.counters);
            let ratio = self.ratio(rule, &geodesics);
            trials.push((middle.exp(), finite(ratio)));
            *(if ratio > 1.0 { &mut weak } else { &mut strong }) = middle;
        }
        let (strength, status) = ((0.5 * (weak + strong)).exp(), SearchStatus::Closest);
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Some(FoundStrength { strength, status, trials, counters, seconds }))
    }

    fn curved(&self, setting: Setting, wanted: &Wanted<'_>) -> Result<Drawn> {
        let PosteriorConfig { metric, strength: rule, .. } = setting.config(Method::RiemLa);
        let found = self.search(rule, wanted, metric)?;
        let strength = found.as_ref().map(|found| found.strength).or(rule.fixed());
        let mut drawn = Drawn { strength, found, ..Drawn::default() };
        let geodesics = self.geodesics(wanted, metric, strength.unwrap_or(1.0))?;
        if let Some(found) = drawn.found.as_mut().filter(|_| (self.ratio(rule, &geodesics) - 1.0).abs() < MET)
        {
            found.status = SearchStatus::Converged;
        }
        for (index, geodesic) in (0..).zip(geodesics) {
            wanted.watch.step();
            let Geodesic { end: theta, status, t, counters, diagnostics, .. } = geodesic;
            let summary = GeodesicSummary { status, t, counters, diagnostics, attempts: 1 };
            match status {
                Status::Reached => drawn.draws.push(Draw { index, theta, geodesic: Some(summary) }),
                status => drawn.failed.push((index, format!("its geodesic ended early: {status}"))),
            }
        }
        Ok(drawn)
    }
}

impl Target for Plane {
    fn objective(&self, _linearized: bool) -> Result<Box<dyn Objective + '_>> {
        Ok(Box::new(self.density))
    }

    fn center(&self) -> &[f64] {
        &self.mode
    }

    fn start(&self, seed: u64, index: u64) -> Vec<f64> {
        self.straight(&self.tangent(seed, Purpose::Start, index))
    }

    fn draws(&self, key: &CellKey, wanted: &Wanted<'_>) -> Result<Drawn> {
        let drawn = match key.method {
            MethodName::RiemLa => self.curved(key.setting, wanted)?,
            _ => {
                let one = |index| self.straight(&self.tangent(wanted.seed, Purpose::Draw, index));
                Drawn::of_gradients((0..wanted.samples).map(one).collect(), 0)
            }
        };
        let method = key.method.posterior().unwrap_or(Method::La);
        keep(wanted, key.setting.config(method).into(), &self.mode, drawn)
    }

    fn functions(&self, _thetas: &[&[f64]], _linearized: bool) -> Result<Option<Vec<Vec<f64>>>> {
        Ok(None)
    }

    fn score(&self, _thetas: &[&[f64]], _linearized: bool) -> Result<Option<f64>> {
        Ok(None)
    }

    fn exact(&self, seed: u64, count: u64) -> Option<Vec<Vec<f64>>> {
        Some(self.density.exact(seed, count))
    }

    fn model(&self) -> Option<ModelSummary> {
        None
    }
}
