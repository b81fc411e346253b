//! How much the trained weights should count beside the average over draws, by rows that neither has seen.
//!
//! With few rows and classes that can be told apart, the posterior is wide: its average is less sure than the trained weights,
//! and rightly by its prior, but worse. The mixture (1 − w)·p̄ + w·p* has a log loss of at most that of the draws − log(1 − w)
//! and of at most that of the trained weights − log w, whatever the data.

use crate::error::check_len;
use crate::{Error, Result};

/// Pull towards the draws: as if half a row were predicted by them alone.
const HALF_A_ROW: f64 = 0.5;
/// Halvings of the bracket.
const BISECTIONS: usize = 60;

/// The w in [0, 1) that maximises Σ log((1 − w)·aᵢ + w·bᵢ) + ½ log(1 − w), which is concave.
///
/// `of_draws` and `of_trained` are the probabilities aᵢ and bᵢ of the true class of rows that neither has seen.
///
/// ```
/// // Three rows that only the trained weights predict, two that only draws do: w = 3 / (3 + 2 + ½).
/// let w = riemla::predict::trained_share(&[0.0, 0.0, 0.0, 1.0, 1.0], &[1.0, 1.0, 1.0, 0.0, 0.0])?;
/// assert!((w - 3.0 / 5.5).abs() < 1e-12);
/// # Ok::<(), riemla::Error>(())
/// ```
pub fn trained_share(of_draws: &[f64], of_trained: &[f64]) -> Result<f64> {
    check_len("probabilities of the trained weights", of_draws.len(), of_trained.len())?;
    if let Some(wrong) = of_draws.iter().chain(of_trained).find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(Error::range("probability", wrong, "from 0 to 1"));
    }
    let slope = |w: f64| {
        let term = |(a, b): (&f64, &f64)| (b - a) / ((1.0 - w) * a + w * b).max(f64::MIN_POSITIVE);
        of_draws.iter().zip(of_trained).map(term).sum::<f64>() - HALF_A_ROW / (1.0 - w)
    };
    if slope(0.0) <= 0.0 {
        return Ok(0.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if slope(middle) > 0.0 { low = middle } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::random::{Purpose, stream};

    fn objective(w: f64, a: &[f64], b: &[f64]) -> f64 {
        let rows = a.iter().zip(b).map(|(a, b)| ((1.0 - w) * a + w * b).ln());
        rows.sum::<f64>() + 0.5 * (1.0 - w).ln()
    }

    #[test]
    fn it_is_the_best_of_all() {
        for index in 0..50 {
            let mut rng = stream(3, Purpose::Data, index);
            let lean = index as f64 / 50.0;
            let a: Vec<f64> = (0..30).map(|_| rng.random_range(0.01..1.0)).collect();
            let b: Vec<f64> =
                a.iter().map(|a| (1.0 - lean) * a + lean * rng.random_range(0.01..1.0)).collect();
            let w = trained_share(&a, &b).unwrap();
            let best = objective(w, &a, &b);
            for other in (0..100).map(|k| f64::from(k) / 100.0) {
                assert!(objective(other, &a, &b) <= best + 1e-9, "{index}: {other} instead of {w}");
            }
        }
    }

    #[test]
    fn draws_keep_all_unless_rows_speak_against_them() {
        let half = [0.5; 20];
        assert_eq!(trained_share(&half, &half).unwrap(), 0.0);
        assert_eq!(trained_share(&half, &[0.4; 20]).unwrap(), 0.0);
        assert_eq!(trained_share(&[], &[]).unwrap(), 0.0);
        // Σ(b − a)/a = 0.4 is not worth half a row.
        assert_eq!(trained_share(&half, &[0.51; 20]).unwrap(), 0.0);
        let most = trained_share(&half, &[0.9; 20]).unwrap();
        assert!((0.9..1.0).contains(&most), "{most}");
        // A row that both rule out says nothing.
        assert_eq!(trained_share(&[0.0], &[0.0]).unwrap(), 0.0);
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        assert!(matches!(trained_share(&[0.5], &[]), Err(Error::Shape { .. })));
        assert!(matches!(trained_share(&[0.5], &[1.5]), Err(Error::Range { .. })));
        assert!(matches!(trained_share(&[f64::NAN], &[0.5]), Err(Error::Range { .. })));
    }
}
