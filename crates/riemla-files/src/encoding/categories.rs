//! Which texts of a column become inputs of their own.

use std::collections::{BTreeMap, HashMap};

use super::tally::Tally;
use super::{EncodingOptions, Feature, MissingValues};
use crate::error::{Error, Result};
use crate::table::entry::is_missing;
use crate::table::{Table, Values};

/// Most inputs that one column of categories becomes; if there are more, the rarest share the last one.
pub const MOST_CATEGORIES: usize = 100;

/// Inputs for the categories of a column.
pub(super) fn fit(
    table: &Table,
    column: &str,
    options: &EncodingOptions,
    notes: &mut Vec<String>,
) -> Result<Feature> {
    let entries = text_of(table, column)?;
    // In a column that was declared to hold categories `NA` may be one.
    let declared = options.categorical.iter().any(|name| name == column);
    let is_gap = |entry: &str| if declared { entry.is_empty() } else { is_missing(entry) };
    let counts = count(entries.iter().filter(|entry| !is_gap(entry)));
    if counts.is_empty() {
        let problem = "all its values are missing; leave it out (--ignore)".into();
        return Err(Error::Column { file: table.file.clone(), column: column.into(), problem });
    }
    let categories = most_frequent(&counts);
    let other = categories.len() < counts.len();
    if other {
        notes.push(format!(
            "column `{column}`: text with {} different values; each of the {} most frequent becomes an \
             input, all others share one; leave the column out (--ignore {column}) if it holds names or \
             row numbers",
            counts.len(),
            categories.len(),
        ));
    }
    let gaps = entries.iter().any(|entry| is_gap(entry));
    let indicator = gaps && options.missing == MissingValues::Indicator;
    let fill = (options.missing != MissingValues::Error).then(|| {
        let rows = options.rows.iter().flatten().filter_map(|&row| entries.get(row));
        let trained = count(rows.filter(|entry| categories.contains(*entry)));
        let counts = if trained.is_empty() { &counts } else { &trained };
        by_frequency(counts).first().map_or_else(String::new, |name| name.to_string())
    });
    Ok(Feature::Categories { column: column.into(), categories, other, fill, indicator })
}

fn count<'a>(entries: impl Iterator<Item = &'a String>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    entries.for_each(|entry| *counts.entry(entry.as_str()).or_default() += 1);
    counts
}

/// The most frequent first; of equals by letters.
fn by_frequency<'a>(counts: &BTreeMap<&'a str, usize>) -> Vec<&'a str> {
    let mut names: Vec<&str> = counts.keys().copied().collect();
    names.sort_by_key(|name| std::cmp::Reverse(counts[name]));
    names
}

/// All names, or as many of the most frequent as leave room for one input of the others; sorted.
fn most_frequent(counts: &BTreeMap<&str, usize>) -> Vec<String> {
    let all = counts.len() <= MOST_CATEGORIES;
    let kept = if all { counts.len() } else { MOST_CATEGORIES - 1 };
    let mut names: Vec<String> = by_frequency(counts).into_iter().take(kept).map(str::to_string).collect();
    names.sort_unstable();
    names
}

/// All different names, sorted.
pub(super) fn sorted_names(values: &[String]) -> Vec<String> {
    let mut names: Vec<String> = values.to_vec();
    names.sort_unstable();
    names.dedup();
    names
}

/// Where the entries of a column have their inputs.
pub(super) struct Known<'a> {
    pub column: &'a str,
    pub places: HashMap<&'a str, usize>,
    /// The input of unknown categories, if there is one.
    pub other: Option<usize>,
    /// The input of missing values; none if they are errors.
    pub gap: Option<usize>,
    /// What that makes of missing values.
    pub made: &'static str,
}

impl Known<'_> {
    /// The input that is 1 for an entry; none for an unknown category without an input.
    pub fn place(
        &self,
        table: &Table,
        (row, entry): (usize, &str),
        tally: &mut Tally,
    ) -> Result<Option<usize>> {
        if let Some(&place) = self.places.get(entry) {
            return Ok(Some(place));
        }
        if is_missing(entry) {
            tally.missing(self.column, self.made);
            return self.gap.map(Some).ok_or_else(|| table.missing(self.column, row));
        }
        let taken_as = if self.other.is_some() { "other" } else { "none of the categories" };
        tally.unknown(self.column, entry, table.line(row), taken_as);
        Ok(self.other)
    }
}

/// The place of each name.
pub(super) fn places(names: &[String]) -> HashMap<&str, usize> {
    names.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect()
}

/// The entries of a column as text.
pub(super) fn text_of(table: &Table, column: &str) -> Result<Vec<String>> {
    Ok(match &table.column(column)?.values {
        Values::Strings(strings) => strings.clone(),
        Values::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
    })
}
