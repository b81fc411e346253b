//! How uncertain each predicted distribution is: entropy and largest probability per row.

use super::check::check_probabilities;
use super::top;
use crate::Result;

/// Entropy −Σ_c p_c log p_c of each row, in nats: N numbers from 0 (certain) to log C.
pub fn entropies(probabilities: &[f64], classes: usize) -> Result<Vec<f64>> {
    check_probabilities(probabilities, classes)?;
    let term = |p: &f64| if *p > 0.0 { -p * p.min(1.0).ln() } else { 0.0 };
    // Adding 0 turns the −0 of a certain row into 0.
    Ok(probabilities.chunks_exact(classes).map(|row| row.iter().map(term).sum::<f64>() + 0.0).collect())
}

/// Largest probability of each row: N numbers from 1/C to 1 (certain).
pub fn max_probabilities(probabilities: &[f64], classes: usize) -> Result<Vec<f64>> {
    check_probabilities(probabilities, classes)?;
    Ok(probabilities.chunks_exact(classes).map(|row| top(row).1.min(1.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_values() {
        let p = [1.0, 0.0, 0.0, 0.25, 0.25, 0.5];
        let h = entropies(&p, 3).unwrap();
        assert_eq!(h[0].to_bits(), 0f64.to_bits());
        assert!((h[1] - 1.5 * 2f64.ln()).abs() < 1e-15);
        let uniform = entropies(&[0.2; 5], 5).unwrap();
        assert!((uniform[0] - 5f64.ln()).abs() < 1e-15);
        assert_eq!(max_probabilities(&p, 3), Ok(vec![1.0, 0.5]));
    }

    #[test]
    fn mistakes_are_refused() {
        for error in [entropies(&[], 2), entropies(&[0.5, 0.4], 2), max_probabilities(&[0.5; 3], 2)] {
            assert!(error.is_err());
        }
    }
}
