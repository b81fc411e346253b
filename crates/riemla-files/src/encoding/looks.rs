//! Columns of text that look like numbers or times: one odd entry must not make categories of a column of
//! numbers without a word.

use crate::error::Result;
use crate::table::entry::{Look, is_missing_number};
use crate::table::{Table, Values};

/// Nine of ten values make a column: then the odd ones are mistakes rather than categories.
const NEARLY_ALL: f64 = 0.9;
/// Values from which on a share says something; below, all must agree.
const FEW: usize = 10;

/// What the values of a text column look like.
#[derive(Default)]
struct Looks {
    /// Values that are not missing.
    there: usize,
    /// Those that look like numbers, readable or not.
    numbers: usize,
    /// Those that are dates, times or durations.
    times: usize,
    /// First row that is not a number, and how to make it one if it nearly is.
    odd: Option<(usize, Option<&'static str>)>,
    /// First row that is a time.
    time: Option<usize>,
}

impl Looks {
    fn of(table: &Table, entries: &[String]) -> Self {
        let mut looks = Self::default();
        for (row, entry) in entries.iter().enumerate().filter(|(_, entry)| !is_missing_number(entry)) {
            looks.there += 1;
            let remedy = match Look::of(entry, table.decimal_comma) {
                Look::Number => {
                    looks.numbers += 1;
                    continue;
                }
                Look::Almost(remedy) => {
                    looks.numbers += 1;
                    Some(remedy)
                }
                Look::Time => {
                    looks.times += 1;
                    looks.time.get_or_insert(row);
                    None
                }
                Look::Missing | Look::Text => None,
            };
            looks.odd.get_or_insert((row, remedy));
        }
        looks
    }

    fn nearly_all(&self, count: usize) -> bool {
        let enough = if self.there < FEW { 1.0 } else { NEARLY_ALL };
        count > 0 && count as f64 >= enough * self.there as f64
    }
}

/// What is strange about the columns of a table, for one who looks at it: text that looks like numbers or times.
pub fn remarks(table: &Table) -> Vec<String> {
    let mut remarks = Vec::new();
    for column in &table.columns {
        if let Err(error) = check(table, &column.name, &mut remarks) {
            remarks.push(error.to_string());
        }
    }
    remarks
}

/// Refuses a column of text that is nearly all numbers or times; notes one that is so in part.
pub(super) fn check(table: &Table, column: &str, notes: &mut Vec<String>) -> Result<()> {
    let Values::Strings(entries) = &table.column(column)?.values else { return Ok(()) };
    let looks = Looks::of(table, entries);
    let Looks { there, numbers, times, .. } = looks;
    let otherwise = format!(
        "or leave the column out (--ignore {column}), or treat it as categories (--categorical {column})"
    );
    if let (true, Some((row, remedy))) = (looks.nearly_all(numbers), looks.odd) {
        let remedy = remedy.unwrap_or("correct it");
        return Err(table.cell(
            column,
            row,
            format!(
                "`{}` cannot be read as a number, but {numbers} of {there} values of this column look like numbers: \
                 {remedy}, {otherwise}",
                entries[row]
            ),
        ));
    }
    if let (true, Some(row)) = (looks.nearly_all(times), looks.time) {
        return Err(table.cell(
            column,
            row,
            format!(
                "`{}` is a date, time or duration, like {times} of {there} values of this column: convert \
                 them to numbers, such as days since the first, {otherwise}",
                entries[row]
            ),
        ));
    }
    for (count, what) in [(numbers, "numbers"), (times, "dates or times")] {
        if count > 0 {
            let odd = looks.odd.map_or(String::new(), |(row, _)| {
                format!(
                    "; the first value that is not a number is `{}` in line {}",
                    entries[row],
                    table.line(row)
                )
            });
            notes.push(format!(
                "column `{column}` is treated as categories, although {count} of {there} values look like \
                 {what}{odd}"
            ));
        }
    }
    Ok(())
}
