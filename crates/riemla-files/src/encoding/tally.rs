//! What an encoding could not take as it stood, counted over all rows it was applied to.

use std::collections::BTreeMap;

/// Counts of missing and unknown values by column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    columns: BTreeMap<String, Counts>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counts {
    missing: usize,
    /// What became of missing values.
    made: &'static str,
    unknown: usize,
    /// The first unknown value, its line, and what became of it.
    first: Option<(String, u64, &'static str)>,
}

impl Tally {
    /// A missing value was replaced.
    pub(super) fn missing(&mut self, column: &str, made: &'static str) {
        let counts = self.counts(column);
        counts.missing += 1;
        counts.made = made;
    }

    /// A value without an input of its own.
    pub(super) fn unknown(&mut self, column: &str, value: &str, line: u64, taken_as: &'static str) {
        let counts = self.counts(column);
        counts.unknown += 1;
        counts.first.get_or_insert_with(|| (value.into(), line, taken_as));
    }

    fn counts(&mut self, column: &str) -> &mut Counts {
        self.columns.entry(column.into()).or_default()
    }

    /// A line per column and kind, for the user.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (column, counts) in &self.columns {
            if counts.missing > 0 {
                notes.push(format!(
                    "column `{column}`: {} {}",
                    values(counts.missing, "missing"),
                    counts.made
                ));
            }
            if let Some((value, line, taken_as)) = &counts.first {
                let counted = values(counts.unknown, "unknown");
                notes.push(format!(
                    "column `{column}`: {counted} treated as {taken_as}; the first is `{value}` in line {line}"
                ));
            }
        }
        notes
    }
}

fn values(count: usize, kind: &str) -> String {
    if count == 1 { format!("1 {kind} value") } else { format!("{count} {kind} values") }
}
