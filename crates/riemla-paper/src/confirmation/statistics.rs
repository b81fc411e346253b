//! Ranks over data sets, and whether differences between methods could be chance.

use riemla::random::{Purpose, fill_normal, stream};
use riemla::score::normal_cdf;

/// Mean ranks of methods over sets, and how far apart two must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Mean rank of each method, 1 the best; ties share theirs.
    pub ranks: Vec<f64>,
    /// The critical difference of two mean ranks at 5 % (Nemenyi).
    pub critical_difference: f64,
    /// p-value of the hypothesis that all methods are alike (Friedman).
    pub friedman_p: f64,
}

impl Ranking {
    /// From losses: a row per set, a column per method, lower is better.
    pub fn new(losses: &[Vec<f64>]) -> Option<Self> {
        let (n, k) = (losses.len(), losses.first()?.len());
        if k < 2 || losses.iter().any(|row| row.len() != k || row.iter().any(|loss| !loss.is_finite())) {
            return None;
        }
        let mut ranks = vec![0.0; k];
        for row in losses {
            ranks.iter_mut().zip(mid_ranks(row)).for_each(|(sum, rank)| *sum += rank / n as f64);
        }
        let (n, kf) = (n as f64, k as f64);
        let middle = 0.5 * (kf + 1.0);
        let spread: f64 = ranks.iter().map(|rank| (rank - middle).powi(2)).sum();
        let statistic = 12.0 * n / (kf * (kf + 1.0)) * spread;
        Some(Self {
            ranks,
            critical_difference: studentized_range(0.95, k) / 2f64.sqrt()
                * (kf * (kf + 1.0) / (6.0 * n)).sqrt(),
            friedman_p: chi_square_tail(statistic, k - 1),
        })
    }

    /// The methods from the best on.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ranks.len()).collect();
        order.sort_by(|a, b| self.ranks[*a].total_cmp(&self.ranks[*b]));
        order
    }
}

/// Ranks from 1; equal numbers share the mean of theirs.
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let below = |v: f64| values.iter().filter(|other| **other < v).count() as f64;
    let same = |v: f64| values.iter().filter(|other| **other == v).count() as f64;
    values.iter().map(|&v| below(v) + 0.5 * (same(v) + 1.0)).collect()
}

/// The exact two-sided p-value of Wilcoxon's signed-rank test: are paired differences centred at 0? Differences of 0 are
/// left out; 1 if nothing is left.
pub fn sign_rank_p(differences: &[f64]) -> f64 {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    // Twice the ranks are whole numbers, also with ties.
    let ranks: Vec<usize> = mid_ranks(&sizes).iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let total: usize = ranks.iter().sum();
    let positive: usize = kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    // Probability of every sum, each sign being equally likely.
    let mut chance = vec![0.0; total + 1];
    chance[0] = 1.0;
    for rank in &ranks {
        for sum in (0..=total).rev() {
            let with = if sum >= *rank { chance[sum - rank] } else { 0.0 };
            chance[sum] = 0.5 * (chance[sum] + with);
        }
    }
    let low: f64 = chance[..=positive.min(total - positive)].iter().sum();
    (2.0 * low).min(1.0)
}

/// The chance that the test finds a difference at a level, if differences over `sets` sets are normal with mean `effect`
/// in units of their standard deviation; by 4000 simulated confirmations.
pub fn power(sets: usize, effect: f64, level: f64) -> f64 {
    const REPEATS: usize = 4000;
    let mut normal = vec![0.0; sets];
    let mut rng = stream(0, Purpose::Data, sets as u64);
    let mut found = 0;
    for _ in 0..REPEATS {
        fill_normal(&mut rng, &mut normal);
        let shifted: Vec<f64> = normal.iter().map(|z| z + effect).collect();
        found += usize::from(sign_rank_p(&shifted) < level);
    }
    found as f64 / REPEATS as f64
}

/// The quantile of the range of k standard normal numbers, by bisection.
fn studentized_range(p: f64, k: usize) -> f64 {
    let cdf = |q: f64| {
        // k ∫ φ(z) [Φ(z) − Φ(z − q)]^(k−1) dz by the trapezoidal rule, which is exact here to rounding.
        let step = 0.01;
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let at = |z: f64| density(z) * (normal_cdf(z) - normal_cdf(z - q)).powi(k as i32 - 1);
        k as f64 * step * (-1000..=1000).map(|i| at(i as f64 * step)).sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// P(χ² ≥ x) with d degrees of freedom: closed forms from d = 1 and 2 upwards by twos.
fn chi_square_tail(x: f64, d: usize) -> f64 {
    let h = 0.5 * x;
    let (mut tail, mut term, mut at) = match d % 2 {
        0 => ((-h).exp(), (-h).exp(), 1.0),
        _ => (2.0 * normal_cdf(-x.sqrt()), 2.0 * (-h).exp() * (h / std::f64::consts::PI).sqrt(), 1.5),
    };
    let mut degrees = if d.is_multiple_of(2) { 2 } else { 1 };
    while degrees < d {
        if d.is_multiple_of(2) {
            term *= h / at;
        }
        tail += term;
        if d % 2 == 1 {
            term *= h / at;
        }
        (at, degrees) = (at + 1.0, degrees + 2);
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn quantiles_and_tails_are_those_of_the_tables() {
        // Tables of the studentised range with infinitely many degrees of freedom, and of χ².
        for (k, q) in [(2, 2.772), (3, 3.314), (5, 3.858), (10, 4.474)] {
            close(studentized_range(0.95, k), q, 1e-3);
        }
        for (d, x) in [(1, 3.841), (2, 5.991), (3, 7.815), (4, 9.488), (7, 14.067), (10, 18.307)] {
            close(chi_square_tail(x, d), 0.05, 1e-4);
        }
    }

    #[test]
    fn signed_ranks_have_their_exact_p_values() {
        // All five positive: 2/2⁵. scipy.stats.wilcoxon([1.5, 2, -0.5, 3, 4, -1], method="exact"): 0.15625.
        close(sign_rank_p(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.0625, 1e-15);
        close(sign_rank_p(&[1.5, 2.0, -0.5, 3.0, 4.0, -1.0]), 0.15625, 1e-15);
        close(sign_rank_p(&[1.0, -1.0]), 1.0, 1e-15);
        close(sign_rank_p(&[0.0, 0.0]), 1.0, 1e-15);
    }

    #[test]
    fn the_test_keeps_its_level_and_gains_power() {
        let level = power(15, 0.0, 0.01);
        assert!(level < 0.016, "{level}");
        assert!(power(15, 0.5, 0.01) < power(15, 1.0, 0.01));
    }

    #[test]
    fn the_best_everywhere_ranks_first_and_ties_are_shared() {
        let losses: Vec<Vec<f64>> = (0..12).map(|i| vec![1.0 + i as f64, 0.5, 1.0 + i as f64]).collect();
        let ranking = Ranking::new(&losses).expect("ranks");
        ranking.ranks.iter().zip([2.5, 1.0, 2.5]).for_each(|(rank, expected)| close(*rank, expected, 1e-12));
        assert!(ranking.friedman_p < 1e-3);
        close(ranking.critical_difference, 2.343 * (12.0f64 / 72.0).sqrt(), 1e-3);
        assert!(Ranking::new(&[vec![1.0, f64::NAN]]).is_none());
    }
}
