//! What a single entry of a table is: a number, a missing value, a number or time in a notation that is not
//! read, or text.

/// Words for "no value" in any column, in capital or small letters; an empty entry is one, too.
const MISSING: [&str; 6] = ["na", "n/a", "#n/a", "nan", "null", "?"];
/// Words for it among numbers only: in text they may be categories.
const MISSING_NUMBERS: [&str; 2] = ["none", "-"];

/// What an entry looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// No value.
    Missing,
    /// A number that can be read.
    Number,
    /// A number in a notation that is not read; and what to do about it.
    Almost(&'static str),
    /// A date, a time of day or a duration.
    Time,
    /// Anything else.
    Text,
}

impl Look {
    /// The look of an entry of a file whose numbers have a decimal comma or not.
    pub fn of(entry: &str, decimal_comma: bool) -> Self {
        if is_missing(entry) {
            Self::Missing
        } else if number(entry, decimal_comma).is_some() {
            Self::Number
        } else if let Some(remedy) = almost_a_number(entry) {
            Self::Almost(remedy)
        } else if is_time(entry) {
            Self::Time
        } else {
            Self::Text
        }
    }
}

/// Whether an entry of any column stands for "no value".
pub fn is_missing(entry: &str) -> bool {
    entry.is_empty() || is_one_of(entry, &MISSING)
}

/// Whether an entry among numbers stands for "no value".
pub fn is_missing_number(entry: &str) -> bool {
    is_missing(entry) || is_one_of(entry, &MISSING_NUMBERS)
}

fn is_one_of(entry: &str, words: &[&str]) -> bool {
    words.iter().any(|word| entry.eq_ignore_ascii_case(word))
}

/// The number that an entry is, infinities and NaN included.
pub fn number(entry: &str, decimal_comma: bool) -> Option<f64> {
    match (decimal_comma, entry.contains('.')) {
        (false, _) => entry.parse().ok(),
        (true, false) => entry.replacen(',', ".", 1).parse().ok(),
        (true, true) => None,
    }
}

/// What to do about an entry that a person would take for a number.
fn almost_a_number(entry: &str) -> Option<&'static str> {
    if is_hexadecimal(entry) {
        return Some("write hexadecimal numbers as decimal ones");
    }
    let bare = entry.trim_matches(|c: char| "$€£¥%".contains(c) || c.is_whitespace());
    let separators = [',', '_', '\'', ' ', '\u{a0}', '\u{202f}'];
    let digits: String = bare.chars().filter(|c| !separators.contains(c)).collect();
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    // Points may separate thousands if there is a decimal comma.
    let thousands = bare.contains(',') && digits.replace('.', "").parse::<f64>().is_ok();
    if !begins || (digits.parse::<f64>().is_err() && !thousands) {
        return None;
    }
    Some(if bare != entry {
        "write the number alone, without % or a currency sign"
    } else if bare.matches(',').count() == 1 && !bare.contains('.') {
        "if it has a decimal comma, add --decimal-comma; if it separates thousands, write the number without"
    } else {
        "write numbers without separators between the digits"
    })
}

fn is_hexadecimal(entry: &str) -> bool {
    let digits = entry.trim_start_matches(['+', '-']);
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or_default();
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether an entry is a date, a time of day, both, or a duration (of ISO 8601, or of pandas).
fn is_time(entry: &str) -> bool {
    let (first, rest) = entry.split_once(['T', ' ']).unwrap_or((entry, ""));
    let days = rest == "days" || rest.strip_prefix("days ").is_some_and(is_time_of_day);
    (is_date(first) && (rest.is_empty() || is_time_of_day(rest)))
        || (rest.is_empty() && is_time_of_day(first))
        || (days && first.parse::<i64>().is_ok())
        || is_duration(entry)
}

/// Year, month and day in any usual order; years have four digits.
fn is_date(text: &str) -> bool {
    let separator = ['-', '/', '.'].into_iter().find(|separator| text.matches(*separator).count() == 2);
    let Some(separator) = separator else { return false };
    let parts: Vec<&str> = text.split(separator).collect();
    let short = |part: &str| (1..=2).contains(&part.len()) && matches!(part.parse(), Ok(1..=31u32));
    let year = |part: &str| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    (year(parts[0]) && short(parts[1]) && short(parts[2]))
        || (short(parts[0]) && short(parts[1]) && year(parts[2]))
}

/// `12:30`, `12:30:05.25`, with a zone (`Z`, `+02:00`) or without.
fn is_time_of_day(text: &str) -> bool {
    let text = text.trim_end_matches('Z');
    let text = text.find(['+', '-']).filter(|at| *at > 0).map_or(text, |at| &text[..at]);
    let parts: Vec<&str> = text.split(':').collect();
    let below = |part: &str, end: u32| part.parse().is_ok_and(|n: u32| n < end);
    // Minutes and seconds have two digits: 16:9 is a ratio.
    let sixtieth = |part: &&str| {
        let whole = part.split('.').next().unwrap_or_default();
        whole.len() == 2 && below(whole, 61)
    };
    (2..=3).contains(&parts.len()) && below(parts[0], 25) && parts[1..].iter().all(sixtieth)
}

/// A duration of ISO 8601, such as `P1DT2H` or `-PT1.5S`.
fn is_duration(entry: &str) -> bool {
    let Some(rest) = entry.trim_start_matches('-').strip_prefix('P') else { return false };
    rest.contains(|c: char| c.is_ascii_digit())
        && rest.ends_with(|c: char| "YMWDHS".contains(c))
        && rest.chars().all(|c| c.is_ascii_digit() || "YMWDTHS.,".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(entries: &[&str], is: impl Fn(Look) -> bool) {
        for entry in entries {
            let look = Look::of(entry, false);
            assert!(is(look), "{entry}: {look:?}");
        }
    }

    #[test]
    fn entries_are_told_apart() {
        all(&["1", "-1.5", "+2e3", ".5", "5.", "inf"], |look| look == Look::Number);
        all(&["", "NA", "n/a", "NaN", "null", "NULL", "?", "#N/A"], |look| look == Look::Missing);
        let almost = ["0x10", "-0XfF", "1_000", "1,234.5", "1.234,5", "3,5", "1 000", "12%", "$5", "€ 1,000"];
        all(&almost, |look| matches!(look, Look::Almost(_)));
        let times = ["2024-01-31", "31.1.2024", "1/31/2024", "2024-01-31T12:00:00Z", "2024-01-31 12:00"];
        all(&times, |look| look == Look::Time);
        all(&["12:30", "23:59:59.5+02:00", "P1DT2H", "-PT1.5S", "3 days 01:00:00"], |look| {
            look == Look::Time
        });
        let text = ["none", "-", "red", "1a", "P", "PASS", "12 kg", "1.2.3", "a,b", ",", "16:9", "0x", "%"];
        all(&text, |look| look == Look::Text);
        assert!(is_missing_number("-") && is_missing_number("None") && !is_missing_number("0"));
    }

    #[test]
    fn a_decimal_comma_excludes_the_point() {
        assert_eq!(number("-3,5e1", true), Some(-35.0));
        assert_eq!((number("1.234,5", true), number("3.5", true), number("3,5", false)), (None, None, None));
        assert_eq!(
            Look::of("1.234,5", true),
            Look::Almost("write numbers without separators between the digits")
        );
    }
}
