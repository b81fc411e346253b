//! How many digits a column of numbers is shown with.

use crate::plot::{minus, short};

/// Decimals that show three significant digits of typical sizes, or two of the typical error,
/// so that a column has one number of decimals and its points line up.
pub(crate) fn column_decimals(values: &[f64], errors: &[f64]) -> usize {
    let decimals = |size: f64, digits: f64| (digits - 1.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    if let Some(error) = median_size(errors) {
        return decimals(error, 2.0);
    }
    median_size(values).map_or(0, |size| decimals(size, 3.0))
}

fn median_size(values: &[f64]) -> Option<f64> {
    let mut sizes: Vec<f64> = values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied()
}

/// A number with the decimals of its column; powers of ten where those cannot show it.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let size = value.abs();
    let lost = value != 0.0 && size < 0.05 * 10f64.powi(-(decimals as i32));
    if !value.is_finite() || lost || size >= 1e7 {
        return short(value, 3);
    }
    minus(&grouped(&format!("{value:.decimals$}")))
}

/// A number with this many decimals; a dash for none.
pub fn decimals(value: Option<f64>, decimals: usize) -> String {
    value.map_or("–".into(), |value| format!("{value:.decimals$}"))
}

/// Separates thousands by narrow spaces in numbers of five digits and more.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-').len();
    if digits < 5 {
        return text.into();
    }
    let separate = |(i, c): (usize, char)| {
        let left = whole.len() - i;
        let gap = (left.is_multiple_of(3) && left < digits).then_some('\u{202f}');
        gap.into_iter().chain([c])
    };
    whole.chars().enumerate().flat_map(separate).chain(rest.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_fit_the_column() {
        assert_eq!(column_decimals(&[0.2731, 0.3119, 0.4007], &[]), 3);
        assert_eq!(column_decimals(&[123.4, 99.1, 250.0], &[]), 0);
        assert_eq!(column_decimals(&[0.27, 0.31], &[0.012, 0.034]), 3);
        assert_eq!(column_decimals(&[91.2, 93.0], &[0.8, 1.1]), 1);
        assert_eq!(column_decimals(&[f64::NAN], &[]), 0);
        assert_eq!(column_decimals(&[], &[]), 0);
    }

    #[test]
    fn numbers_out_of_proportion_stay_readable() {
        assert_eq!(fixed(-0.5, 2), "−0.50");
        assert_eq!(fixed(-123_456.7, 1), "−123\u{202f}456.7");
        assert_eq!(fixed(1234.0, 0), "1234");
        assert_eq!(fixed(3.2e-9, 3), "3.2×10⁻⁹");
        assert_eq!(fixed(f64::NAN, 3), "–");
        assert_eq!(fixed(1e30, 1), "10³⁰");
    }
}
