//! Whether chains agree, and how many independent draws theirs are worth.
//!
//! R-hat and effective sample sizes after Vehtari, Gelman, Simpson, Carpenter and Bürkner,
//! "Rank-normalization, folding, and localization: an improved R-hat" (Bayesian Analysis, 2021), with
//! the autocorrelations cut off and made monotone after Geyer, as Stan and the R package `posterior` do.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_finite};
use crate::score::normal_quantile;

/// Above this R-hat chains disagree (Vehtari et al. 2021, section 4).
pub const R_HAT_LIMIT: f64 = 1.01;
/// Below this effective sample size R-hat and quantiles are not to be trusted: 50 per half chain of
/// four chains (Vehtari et al. 2021, section 4).
pub const ESS_LIMIT: f64 = 400.0;
/// Fewest draws per chain that can be judged.
pub const FEWEST_DRAWS: usize = 8;

/// Convergence of chains in one quantity. NaN where all draws are equal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Rank-normalised split R-hat, the larger of those of the draws and of their distances from the
    /// median: 1 if all half chains have the same distribution.
    pub r_hat: f64,
    /// Effective sample size of the rank-normalised draws: for means and medians.
    pub bulk_ess: f64,
    /// The smaller effective sample size of the 5 % and 95 % quantiles.
    pub tail_ess: f64,
}

impl Convergence {
    /// Looks at chains of one quantity, all of one length.
    pub fn of(chains: &[&[f64]]) -> Result<Self> {
        check(chains)?;
        let halves = split(chains);
        let all: Vec<f64> = halves.iter().flatten().copied().collect();
        let middle = quantile(&all, 0.5);
        let length = halves[0].len();
        let normal = in_rows(rank_normalized(&all), length);
        let folded: Vec<f64> = all.iter().map(|value| (value - middle).abs()).collect();
        let folded = in_rows(rank_normalized(&folded), length);
        let tail = |p: f64| {
            let bound = quantile(&all, p);
            let below = all.iter().map(|value| f64::from(u8::from(*value <= bound))).collect();
            effective_size(&in_rows(below, length))
        };
        Ok(Self {
            r_hat: larger(r_hat(&normal), r_hat(&folded)),
            bulk_ess: effective_size(&normal),
            tail_ess: -larger(-tail(0.05), -tail(0.95)),
        })
    }

    /// The worst of several quantities, each by itself; NaN if there are none.
    pub fn worst(of: impl IntoIterator<Item = Self>) -> Self {
        let none = Self { r_hat: f64::NAN, bulk_ess: f64::NAN, tail_ess: f64::NAN };
        of.into_iter().fold(none, |worst, next| Self {
            r_hat: larger(worst.r_hat, next.r_hat),
            bulk_ess: -larger(-worst.bulk_ess, -next.bulk_ess),
            tail_ess: -larger(-worst.tail_ess, -next.tail_ess),
        })
    }

    /// Whether R-hat and both effective sample sizes keep their limits.
    pub fn is_good(&self) -> bool {
        self.r_hat <= R_HAT_LIMIT && self.bulk_ess >= ESS_LIMIT && self.tail_ess >= ESS_LIMIT
    }

    /// R-hat and the effective sample sizes of bulk and tails as text, with enough digits that a reader who
    /// compares them with their limits comes to the same verdict as `is_good`.
    pub fn shown(&self) -> [String; 3] {
        let enough = |ess: f64| ess >= ESS_LIMIT;
        [
            shown(self.r_hat, 3, |r_hat| r_hat <= R_HAT_LIMIT),
            shown(self.bulk_ess, 0, enough),
            shown(self.tail_ess, 0, enough),
        ]
    }
}

/// A number with the fewest digits, at least `digits` after the point, that rounding does not carry over a limit.
fn shown(value: f64, digits: usize, good: impl Fn(f64) -> bool) -> String {
    let same = |text: &String| text.parse().is_ok_and(|rounded| good(rounded) == good(value));
    (digits..17).map(|digits| format!("{value:.digits$}")).find(same).unwrap_or_else(|| value.to_string())
}

/// The larger number; the other one if one is NaN.
fn larger(a: f64, b: f64) -> f64 {
    a.max(b)
}

fn check(chains: &[&[f64]]) -> Result<()> {
    let Some(first) = chains.first() else {
        return Err(Error::range("number of chains", 0, "at least 1"));
    };
    if first.len() < FEWEST_DRAWS {
        return Err(Error::range("draws per chain", first.len(), format!("at least {FEWEST_DRAWS}")));
    }
    for chain in chains {
        crate::error::check_len("length of a chain", first.len(), chain.len())?;
        check_finite("draws of a chain", chain)?;
    }
    Ok(())
}

/// Each chain in two halves; of an odd number the middle draw is left out.
fn split(chains: &[&[f64]]) -> Vec<Vec<f64>> {
    let half = chains[0].len() / 2;
    chains.iter().flat_map(|chain| [chain[..half].to_vec(), chain[chain.len() - half..].to_vec()]).collect()
}

fn in_rows(values: Vec<f64>, length: usize) -> Vec<Vec<f64>> {
    values.chunks(length).map(<[f64]>::to_vec).collect()
}

/// The p-quantile with linear interpolation, R's type 7.
fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = p * (sorted.len() - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + part * (sorted[high] - sorted[low])
}

/// Φ⁻¹((r − 3/8)/(S + 1/4)) of the rank r of each of S values; equal values share their mean rank.
fn rank_normalized(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut normal = vec![0.0; values.len()];
    let mut begin = 0;
    while begin < order.len() {
        let equal = order[begin..].iter().take_while(|&&i| values[i] == values[order[begin]]).count();
        let rank = begin as f64 + 0.5 * (equal as f64 + 1.0);
        let z = normal_quantile((rank - 0.375) / (values.len() as f64 + 0.25));
        order[begin..begin + equal].iter().for_each(|&i| normal[i] = z);
        begin += equal;
    }
    normal
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// Variances within (mean) and between (of the means) chains.
fn variances(chains: &[Vec<f64>]) -> (f64, f64) {
    let within: Vec<f64> = chains.iter().map(|chain| variance(chain)).collect();
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    (mean(&within), variance(&means))
}

fn r_hat(chains: &[Vec<f64>]) -> f64 {
    let n = chains[0].len() as f64;
    let (within, between) = variances(chains);
    (((n - 1.0) / n * within + between) / within).sqrt()
}

/// Autocorrelations of all chains together, one lag after the other.
struct Correlations {
    centered: Vec<Vec<f64>>,
    within: f64,
    total: f64,
}

impl Correlations {
    fn new(chains: &[Vec<f64>]) -> Self {
        let n = chains[0].len() as f64;
        let (within, between) = variances(chains);
        let centered = chains.iter().map(|chain| {
            let mean = mean(chain);
            chain.iter().map(|value| value - mean).collect()
        });
        Self { centered: centered.collect(), within, total: (n - 1.0) / n * within + between }
    }

    fn at(&self, lag: usize) -> f64 {
        let products = |chain: &Vec<f64>| {
            let pairs = chain.iter().zip(&chain[lag..]);
            pairs.map(|(a, b)| a * b).sum::<f64>() / chain.len() as f64
        };
        let covariance = self.centered.iter().map(products).sum::<f64>() / self.centered.len() as f64;
        1.0 - (self.within - covariance) / self.total
    }
}

/// Number of draws over the autocorrelation time.
fn effective_size(chains: &[Vec<f64>]) -> f64 {
    let length = chains[0].len();
    let draws = (chains.len() * length) as f64;
    let correlations = Correlations::new(chains);
    // Sums of neighbours (Geyer): positive up to the noise, and falling for a reversible chain.
    let mut time = -1.0;
    let (mut last, mut even, mut odd) = (f64::INFINITY, 1.0, correlations.at(1));
    let mut lag = 0;
    while even + odd > 0.0 && lag + 4 < length {
        last = (even + odd).min(last);
        time += 2.0 * last;
        lag += 2;
        (even, odd) = (correlations.at(lag), correlations.at(lag + 1));
    }
    // The first lag that was left out counts once: less variance for antithetic chains.
    time += even.max(0.0);
    if time.is_nan() { f64::NAN } else { draws / time.max(1.0 / draws.log10()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Rng, fill_normal, stream};

    /// Four chains x ← ρx + √(1−ρ²)z, stationary from the start.
    fn chains(rho: f64, length: usize, seed: u64) -> Vec<Vec<f64>> {
        let chain = |index| {
            let rng: &mut Rng = &mut stream(seed, Purpose::Data, index);
            let mut noise = vec![0.0; length];
            fill_normal(rng, &mut noise);
            for i in 1..length {
                noise[i] = rho * noise[i - 1] + (1.0 - rho * rho).sqrt() * noise[i];
            }
            noise
        };
        (0..4).map(chain).collect()
    }

    fn judged(chains: &[Vec<f64>]) -> Convergence {
        Convergence::of(&chains.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn printed_numbers_are_on_the_same_side_of_their_limits() {
        for (r_hat, ess, expected) in [
            (1.0101, 399.6, ["1.0101", "399.6", "399.6"]),
            (1.010_000_02, 399.999, ["1.01000002", "399.999", "399.999"]),
            (1.0099, 400.4, ["1.010", "400", "400"]),
            (1.25, 12.3, ["1.250", "12", "12"]),
            (f64::NAN, f64::NAN, ["NaN", "NaN", "NaN"]),
        ] {
            let found = Convergence { r_hat, bulk_ess: ess, tail_ess: ess };
            assert_eq!(found.shown(), expected);
        }
    }

    #[test]
    fn effective_sizes_are_those_of_an_autoregression() {
        // ESS = N(1−ρ)/(1+ρ). Its relative error here is below 4 % (standard deviation over
        // seeds); the bound is 4 of these: level 6e-5 per side and case.
        for (rho, seed) in [(0.0, 1), (0.3, 2), (0.6, 3), (0.9, 4), (-0.3, 5)] {
            let found = judged(&chains(rho, 5000, seed));
            let exact = 20_000.0 * (1.0 - rho) / (1.0 + rho);
            let error = found.bulk_ess / exact - 1.0;
            assert!(error.abs() < 0.16, "ρ = {rho}: {} for {exact}", found.bulk_ess);
            assert!(found.r_hat < R_HAT_LIMIT && found.r_hat >= 0.999, "{found:?}");
            assert!(found.is_good());
        }
    }

    #[test]
    fn tails_of_independent_draws_count_in_full() {
        let found = judged(&chains(0.0, 2000, 7));
        assert!((found.tail_ess / 8000.0 - 1.0).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn shifted_scaled_and_drifting_chains_are_noticed() {
        let good = chains(0.2, 1000, 11);
        assert!(judged(&good).r_hat < R_HAT_LIMIT);
        let mut shifted = good.clone();
        shifted[0].iter_mut().for_each(|value| *value += 1.5);
        assert!(judged(&shifted).r_hat > 1.1 && judged(&shifted).bulk_ess < 100.0, "{:?}", judged(&shifted));
        // The same mean, another width: only the folded draws show it.
        let mut wide = good.clone();
        wide[0].iter_mut().for_each(|value| *value *= 4.0);
        assert!(judged(&wide).r_hat > 1.1, "{:?}", judged(&wide));
        // All chains drift alike: only halves show it.
        let mut drifting = good;
        drifting.iter_mut().flatten().enumerate().for_each(|(i, value)| *value += (i % 1000) as f64 / 300.0);
        assert!(judged(&drifting).r_hat > 1.1, "{:?}", judged(&drifting));
    }

    #[test]
    fn only_ranks_matter() {
        let plain = chains(0.4, 500, 13);
        let heavy: Vec<Vec<f64>> = plain.iter().map(|c| c.iter().map(|v| v.powi(9)).collect()).collect();
        let (plain, heavy) = (judged(&plain), judged(&heavy));
        assert_eq!((plain.bulk_ess, plain.tail_ess), (heavy.bulk_ess, heavy.tail_ess));
    }

    #[test]
    fn what_cannot_be_judged_is_said() {
        assert!(Convergence::of(&[]).is_err());
        assert!(Convergence::of(&[&[1.0; 7]]).is_err());
        assert!(Convergence::of(&[&[1.0; 10], &[1.0; 9]]).is_err());
        assert!(Convergence::of(&[&[f64::NAN; 10]]).is_err());
        assert!(Convergence::of(&[&[1.0; 10], &[1.0; 10]]).unwrap().r_hat.is_nan());
        assert_eq!(Convergence::of(&[&[1.0; 10], &[2.0; 10]]).unwrap().r_hat, f64::INFINITY);
        assert!(!Convergence::worst([]).is_good());
    }
}
