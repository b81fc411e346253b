//! Draws on densities in the plane. They have no network, so that the rules for the strength are applied here.

use std::sync::atomic::Ordering;

use rayon::prelude::*;
use riemla::curvature::{DiagonalPrecision, Precision as _};
use riemla::geometry::{
    Geodesic, Integrator, Status, corrected_exponential_map_until, exponential_map_until,
};
use riemla::objective::Objective;
use riemla::posterior::{Method, MetricChoice, Statistic, Strength, growth_factor, virial_ratio};
use riemla::random::{Purpose, fill_normal, stream};

use super::density::Density;
use super::target::{Drawn, Target, Wanted};
use crate::experiments::{ExperimentError, MethodName, Result, Setting};

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

    /// The strength of a rule, by bisection if it is no number; the work is added to `drawn`.
    fn strength(
        &self,
        rule: Strength,
        wanted: &Wanted<'_>,
        metric: MetricChoice,
        drawn: &mut Drawn,
    ) -> Result<f64> {
        if let Some(strength) = rule.fixed() {
            return Ok(strength);
        }
        let (mut weak, mut strong) = (RANGE.0.ln(), RANGE.1.ln());
        for _ in 0..HALVINGS {
            let middle = 0.5 * (weak + strong);
            let geodesics = self.geodesics(wanted, metric, middle.exp())?;
            geodesics.iter().for_each(|geodesic| drawn.search += geodesic.counters);
            let too_weak = self.ratio(rule, &geodesics) > 1.0;
            *(if too_weak { &mut weak } else { &mut strong }) = middle;
        }
        Ok((0.5 * (weak + strong)).exp())
    }

    fn curved(&self, setting: Setting, wanted: &Wanted<'_>) -> Result<Option<Drawn>> {
        let mut drawn = Drawn::default();
        let config = setting.config(Method::RiemLa);
        let (metric, rule) = (config.metric, config.strength);
        // The Fisher metric and held-out rows belong to networks.
        if setting.is_preset() || metric == MetricChoice::Fisher || setting.needs_validation() {
            return Ok(None);
        }
        let strength = self.strength(rule, wanted, metric, &mut drawn)?;
        drawn.strength = Some(strength);
        let geodesics = self.geodesics(wanted, metric, strength)?;
        if rule.fixed().is_none() {
            drawn.rule_met = Some((self.ratio(rule, &geodesics) - 1.0).abs() < MET);
        }
        for geodesic in geodesics {
            drawn.counters += geodesic.counters;
            match geodesic.status {
                Status::Reached => drawn.thetas.push(geodesic.end),
                _ => drawn.failed += 1,
            }
        }
        Ok(Some(drawn))
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

    fn draws(&self, wanted: &Wanted<'_>) -> Result<Option<Drawn>> {
        match (wanted.contender.method, wanted.contender.setting) {
            (MethodName::La, _) => {
                let one = |index| self.straight(&self.tangent(wanted.seed, Purpose::Draw, index));
                Ok(Some(Drawn { thetas: (0..wanted.samples).map(one).collect(), ..Drawn::default() }))
            }
            (MethodName::RiemLa, Some(setting)) => self.curved(setting, wanted),
            _ => Ok(None),
        }
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
}
