//! The numbers published in the paper's tables.

use super::report::numbers::{Number, Place};
use super::{MethodName, PriorName};

/// The tables as CSV: table, train_set, test_set, prior, method, score, mean, standard_error.
pub const PAPER_RESULTS: &str = include_str!("paper_results.csv");

/// One published number.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperRow {
    /// Label of the table in the paper's source.
    pub table: &'static str,
    /// Where it stands.
    pub at: Place<'static>,
    /// The method.
    pub method: MethodName,
    /// Mean over seeds, with its standard error.
    pub number: Number,
}

/// All published numbers.
pub fn paper_rows() -> Vec<PaperRow> {
    PAPER_RESULTS.lines().skip(1).filter_map(parse).collect()
}

fn parse(line: &'static str) -> Option<PaperRow> {
    let fields: Vec<&str> = line.split(',').collect();
    let [table, train_set, test_set, prior, method, score, mean, error] = fields.try_into().ok()?;
    Some(PaperRow {
        table,
        at: Place { train_set, test_set, prior: PriorName::named(prior)?, score },
        method: method.parse().ok()?,
        number: Number { mean: mean.parse().ok()?, error: Some(error.parse().ok()?) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        let rows = paper_rows();
        assert_eq!(rows.len(), 534);
        for row in &rows {
            assert!(MethodName::of_paper().any(|method| method == row.method), "{row:?}");
            assert!(PriorName::ALL.contains(&row.at.prior), "{row:?}");
        }
    }
}
