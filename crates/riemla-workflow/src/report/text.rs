//! Tables for a terminal.

use std::fmt::Write;

/// Rows of cells under each other: the first column to the left, the others to the right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |cell: Option<&String>| cell.map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> =
        (0..columns).map(|k| rows.iter().map(|row| length(row.get(k))).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (k, cell) in row.iter().enumerate() {
            let _ = match k {
                0 => write!(line, "{cell:<0$}", widths[0]),
                _ => write!(line, "  {cell:>0$}", widths[k]),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
