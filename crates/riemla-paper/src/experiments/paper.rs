//! The numbers published in the paper's tables.

/// The tables as CSV: table, train_set, test_set, prior, method, score, mean, standard_error.
pub const PAPER_RESULTS: &str = include_str!("paper_results.csv");

/// One published number.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperRow {
    /// Label of the table in the paper's source.
    pub table: &'static str,
    /// Trained on.
    pub train_set: &'static str,
    /// Tested on.
    pub test_set: &'static str,
    /// `optimized` or `fixed`.
    pub prior: &'static str,
    /// Name of the method.
    pub method: &'static str,
    /// Name of the score.
    pub score: &'static str,
    /// Mean over seeds.
    pub mean: f64,
    /// Standard error of it.
    pub standard_error: f64,
}

/// All published numbers.
pub fn paper_rows() -> Vec<PaperRow> {
    PAPER_RESULTS.lines().skip(1).filter_map(parse).collect()
}

fn parse(line: &'static str) -> Option<PaperRow> {
    let mut fields = line.split(',');
    let mut next = || fields.next();
    Some(PaperRow {
        table: next()?,
        train_set: next()?,
        test_set: next()?,
        prior: next()?,
        method: next()?,
        score: next()?,
        mean: next()?.parse().ok()?,
        standard_error: next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{MethodName, PriorName};

    #[test]
    fn every_line_is_understood() {
        let rows = paper_rows();
        assert_eq!(rows.len(), 534);
        for row in &rows {
            assert!(MethodName::of_paper().any(|method| method.name() == row.method), "{row:?}");
            assert!(PriorName::ALL.iter().any(|prior| prior.name() == row.prior), "{row:?}");
        }
    }
}
