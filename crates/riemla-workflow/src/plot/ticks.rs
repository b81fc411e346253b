//! Axis ticks at round numbers, linear and logarithmic, and how numbers are written on axes.

/// The coordinate of a tick and its text. An empty label is a tick (and grid line) without text.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Position in data coordinates.
    pub at: f64,
    /// Text beside the axis.
    pub label: String,
}

/// Largest magnitude that is drawn. Beyond it differences overflow; such values count as missing.
pub(crate) const LARGEST: f64 = 1e150;

/// Largest number that a logarithmic axis does not show: zero, or as good as.
pub(crate) const SMALLEST: f64 = 1.0 / LARGEST;

/// True for numbers that can be placed on an axis.
pub(crate) fn drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < LARGEST
}

/// The smallest and largest drawable value, `None` where there is none.
pub(crate) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| drawable(*v)).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((lo, hi)) => Some((lo.min(v), hi.max(v))),
    })
}

/// A range of positive width around `lo..hi`: widens a single value, orders swapped ends.
pub(crate) fn widen(lo: f64, hi: f64) -> (f64, f64) {
    let (lo, hi) = (lo.min(hi), lo.max(hi));
    let size = lo.abs().max(hi.abs());
    if hi - lo > 1e-9 * size {
        (lo, hi)
    } else {
        let pad = if size > 0.0 { 0.1 * size } else { 1.0 };
        (lo - pad, hi + pad)
    }
}

/// The step 1, 2 or 5 × 10ᵏ that cuts `span` into about `target` pieces.
fn nice_step(span: f64, target: usize) -> f64 {
    let rough = span / target.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let digit = rough / power;
    let nice = [(1.5, 1.0), (3.5, 2.0), (7.5, 5.0)].iter().find(|(limit, _)| digit < *limit);
    nice.map_or(10.0, |(_, step)| *step) * power
}

/// Widens `lo..hi` to whole steps, so that the outermost ticks enclose the data.
pub(crate) fn nice_range(lo: f64, hi: f64, target: usize) -> (f64, f64) {
    let (lo, hi) = widen(lo, hi);
    let step = nice_step(hi - lo, target);
    ((lo / step + 1e-9).floor() * step, (hi / step - 1e-9).ceil() * step)
}

/// Round ticks inside `lo..=hi`, about `target` of them.
pub(crate) fn linear_ticks(lo: f64, hi: f64, target: usize) -> Vec<Tick> {
    let (lo, hi) = widen(lo, hi);
    let step = nice_step(hi - lo, target);
    let first = (lo / step - 1e-9).ceil();
    let count = ((hi / step + 1e-9).floor() - first).clamp(0.0, 100.0) as usize + 1;
    (0..count)
        .map(|i| (first + i as f64) * step)
        .map(|at| Tick { at, label: stepped_label(at, step) })
        .collect()
}

/// Widens positive `lo..hi` to decades, or to 1-2-5 steps when it spans less than four of them.
pub(crate) fn nice_log_range(lo: f64, hi: f64) -> (f64, f64) {
    let (lo, hi) = if hi / lo > 1.0 + 1e-9 { (lo, hi) } else { (lo / 2.0, hi * 2.0) };
    let (bottom, top) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let steps: &[f64] = if (hi / lo).log10() >= 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let marks = || (bottom..=top).flat_map(|k| steps.iter().map(move |s| s * 10f64.powi(k)));
    let below = marks().rfind(|m| *m <= lo * (1.0 + 1e-9));
    let above = marks().find(|m| *m >= hi * (1.0 - 1e-9));
    (below.unwrap_or(lo), above.unwrap_or(hi))
}

/// Ticks of a logarithmic axis: decades, thinned when many; with 2 and 5 between them when few,
/// labelled when very few.
pub(crate) fn log_ticks(lo: f64, hi: f64) -> Vec<Tick> {
    let (bottom, top) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let decades = (hi / lo).log10();
    let stride = (decades / 6.0).ceil().max(1.0) as i32;
    let steps: &[f64] = if decades < 3.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    (bottom..=top)
        .filter(|k| k.rem_euclid(stride) == 0)
        .flat_map(|k| steps.iter().map(move |s| (s * 10f64.powi(k), *s, k)))
        .filter(|(at, _, _)| (lo * (1.0 - 1e-9)..=hi * (1.0 + 1e-9)).contains(at))
        .map(|(at, s, k)| {
            let label = if s == 1.0 || decades < 2.0 { power_label(s, k) } else { String::new() };
            Tick { at, label }
        })
        .collect()
}

/// A number written with the decimals its step needs.
fn stepped_label(value: f64, step: f64) -> String {
    let value = if value.abs() < 1e-9 * step { 0.0 } else { value };
    if value != 0.0 && (value.abs() >= 1e5 || step < 1e-4) {
        return scientific(value, 1 + digits_between(value, step));
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 8.0) as usize;
    minus(&format!("{value:.decimals$}"))
}

/// How many decimals of the mantissa distinguish neighbouring ticks.
fn digits_between(value: f64, step: f64) -> usize {
    (value.abs().log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize
}

/// `digit` × 10ᵏ: plain between 0.001 and 1000, else as a power of ten.
fn power_label(digit: f64, exponent: i32) -> String {
    if (-3..=3).contains(&exponent) {
        let decimals = (-exponent).max(0) as usize;
        return format!("{:.decimals$}", digit * 10f64.powi(exponent));
    }
    let power = format!("10{}", superscript(exponent));
    if digit == 1.0 { power } else { format!("{digit}×{power}") }
}

/// A number with about `digits` significant digits, for tooltips and annotations.
pub(crate) fn short(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return if value.is_nan() { "–".into() } else { minus(&format!("{value}")).replace("inf", "∞") };
    }
    let exponent = value.abs().log10().floor();
    if !(-4.0..6.0).contains(&exponent) {
        return scientific(value, digits);
    }
    let decimals = (digits as f64 - 1.0 - exponent).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    minus(text)
}

/// Mantissa × 10ᵏ with the given number of significant digits, trailing zeros dropped.
fn scientific(value: f64, digits: usize) -> String {
    let decimals = digits.saturating_sub(1);
    let text = format!("{value:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let power = format!("10{}", superscript(exponent.parse().unwrap_or(0)));
    match mantissa {
        "1" => power,
        "-1" => format!("−{power}"),
        other => format!("{}×{power}", minus(other)),
    }
}

/// Replaces the hyphen by a minus sign of the width of digits.
pub(crate) fn minus(text: &str) -> String {
    text.replace('-', "−")
}

fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    exponent.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_nice_and_cover_the_range() {
        for (lo, hi) in [(0.0, 1.0), (-3.2, 7.9), (1e-7, 3e-7), (1234.0, 98765.0), (5.0, 5.0), (0.0, 0.0)] {
            let (bottom, top) = nice_range(lo, hi, 5);
            assert!(bottom <= lo && top >= hi, "{bottom}..{top} covers {lo}..{hi}");
            let ticks = linear_ticks(bottom, top, 5);
            assert!((3..=12).contains(&ticks.len()), "{ticks:?}");
            let step = ticks[1].at - ticks[0].at;
            let digit = step / 10f64.powf((step.log10() + 1e-9).floor());
            assert!([1.0, 2.0, 5.0].iter().any(|d| (digit - d).abs() < 1e-6), "step {step}");
            assert!((ticks[0].at - bottom).abs() < 1e-6 * step);
            assert!((ticks[ticks.len() - 1].at - top).abs() < 1e-6 * step);
        }
    }

    #[test]
    fn labels_of_neighbouring_ticks_differ() {
        for (lo, hi) in [(0.0, 1e-6), (1.0, 1.001), (1e5, 1.2e5), (2e8, 2.0001e8), (-0.3, 0.3)] {
            let ticks = linear_ticks(lo, hi, 5);
            assert!(ticks.windows(2).all(|w| w[0].label != w[1].label), "{ticks:?}");
        }
    }

    #[test]
    fn log_ticks_cover_the_range() {
        for (lo, hi) in [(3e-7, 20.0), (0.4, 0.9), (1.0, 1e3), (2.0, 2.0), (1e-40, 1e60)] {
            let (bottom, top) = nice_log_range(lo, hi);
            assert!(bottom <= lo && top >= hi);
            let ticks = log_ticks(bottom, top);
            assert!((2..=12).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.iter().all(|t| t.at >= bottom * 0.999 && t.at <= top * 1.001));
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(short(0.123_456, 3), "0.123");
        assert_eq!(short(-2.0, 3), "−2");
        assert_eq!(short(1.5e-7, 3), "1.5×10⁻⁷");
        assert_eq!(short(120.0, 2), "120");
        assert_eq!(short(f64::NAN, 3), "–");
        assert_eq!(power_label(1.0, -5), "10⁻⁵");
        assert_eq!(power_label(2.0, -2), "0.02");
    }
}
