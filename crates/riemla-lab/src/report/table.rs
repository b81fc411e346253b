//! Tables of scores: aligned numbers, the best of each column marked.

use std::fmt::Write;

use super::number::{column_decimals, fixed};
use crate::plot::{Style, escape};

/// Which end of a column is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Small numbers: losses, errors, times.
    Lower,
    /// Large numbers: accuracies.
    Higher,
    /// Neither: nothing is marked.
    Neither,
}

/// A column: its heading, which end is good, and optionally its digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    title: String,
    better: Better,
    decimals: Option<usize>,
}

impl Column {
    /// A column that marks nothing and chooses its digits from the numbers.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), better: Better::Neither, decimals: None }
    }

    /// Marks the best number.
    pub fn better(mut self, better: Better) -> Self {
        self.better = better;
        self
    }

    /// A fixed number of decimals.
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = Some(decimals.min(12));
        self
    }
}

/// The content of one place.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number; NaN is shown as a dash.
    Number(f64),
    /// A mean and its standard error.
    Estimate(f64, f64),
    /// Any text.
    Text(String),
    /// Nothing.
    Empty,
}

impl Cell {
    fn value(&self) -> Option<f64> {
        match self {
            Self::Number(value) | Self::Estimate(value, _) => Some(*value).filter(|v| v.is_finite()),
            Self::Text(_) | Self::Empty => None,
        }
    }

    fn error(&self) -> Option<f64> {
        if let Self::Estimate(_, error) = self { Some(*error) } else { None }
    }

    fn html(&self, decimals: usize) -> String {
        match self {
            Self::Number(value) => fixed(*value, decimals),
            Self::Estimate(value, error) => {
                format!("{} <small>± {}</small>", fixed(*value, decimals), fixed(*error, decimals))
            }
            Self::Text(text) => escape(text),
            Self::Empty => String::new(),
        }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<(f64, f64)> for Cell {
    fn from((value, error): (f64, f64)) -> Self {
        Self::Estimate(value, error)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// Rows with a name each. A row named like a method carries the method's colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    corner: String,
    columns: Vec<Column>,
    rows: Vec<(String, Vec<Cell>)>,
}

impl Table {
    /// An empty table; `corner` is the heading of the row names.
    pub fn new(corner: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { corner: corner.into(), columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, surplus ones are left out.
    pub fn row(&mut self, name: impl Into<String>, mut cells: Vec<Cell>) -> &mut Self {
        cells.resize(self.columns.len(), Cell::Empty);
        self.rows.push((name.into(), cells));
        self
    }

    fn column(&self, index: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().map(move |(_, cells)| &cells[index])
    }

    fn decimals(&self, index: usize) -> usize {
        let values: Vec<f64> = self.column(index).filter_map(Cell::value).collect();
        let errors: Vec<f64> = self.column(index).filter_map(Cell::error).collect();
        let whole = errors.is_empty() && values.iter().all(|v| v.fract() == 0.0);
        self.columns[index].decimals.unwrap_or(if whole { 0 } else { column_decimals(&values, &errors) })
    }

    /// The best value of a column as it is shown, so that what looks equal is marked alike.
    fn best(&self, index: usize, decimals: usize) -> Option<String> {
        let values = self.column(index).filter_map(Cell::value);
        let best = match self.columns[index].better {
            Better::Lower => values.min_by(f64::total_cmp),
            Better::Higher => values.max_by(f64::total_cmp),
            Better::Neither => None,
        };
        best.filter(|_| self.rows.len() > 1).map(|v| fixed(v, decimals))
    }

    fn head(&self) -> String {
        let mut html = format!("<thead><tr><th scope=\"col\">{}</th>", escape(&self.corner));
        for (index, column) in self.columns.iter().enumerate() {
            let texts = self.column(index).all(|cell| matches!(cell, Cell::Text(_) | Cell::Empty));
            let class = if texts { " class=\"text\"" } else { "" };
            let hint = match column.better {
                Better::Lower => " <span class=\"hint\" title=\"lower is better\">↓</span>",
                Better::Higher => " <span class=\"hint\" title=\"higher is better\">↑</span>",
                Better::Neither => "",
            };
            let _ = write!(html, "<th scope=\"col\"{class}>{}{hint}</th>", escape(&column.title));
        }
        html + "</tr></thead>"
    }

    /// The table as HTML.
    pub fn to_html(&self) -> String {
        if self.rows.is_empty() {
            return "<p>no data</p>".into();
        }
        let decimals: Vec<usize> = (0..self.columns.len()).map(|i| self.decimals(i)).collect();
        let best: Vec<_> = decimals.iter().enumerate().map(|(i, d)| self.best(i, *d)).collect();
        let mut html = format!("<table>{}<tbody>", self.head());
        for (name, cells) in &self.rows {
            let _ = write!(html, "<tr><th scope=\"row\">{}{}</th>", method_key(name), escape(name));
            for (i, cell) in cells.iter().enumerate() {
                let shown = cell.value().map(|v| fixed(v, decimals[i]));
                let class = match cell {
                    Cell::Text(_) => " class=\"text\"",
                    _ if shown.is_some() && shown == best[i] => " class=\"best\"",
                    _ => "",
                };
                let _ = write!(html, "<td{class}>{}</td>", cell.html(decimals[i]));
            }
            html.push_str("</tr>");
        }
        html + "</tbody></table>"
    }
}

fn method_key(name: &str) -> String {
    let key = |style: Style| format!("<span class=\"dot-key\" style=\"--c:{}\"></span>", style.color.css());
    Style::method(name).map(key).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(html: &str) -> Vec<String> {
        let root = format!("<root>{html}</root>");
        let document = roxmltree::Document::parse(&root).expect("well-formed");
        let best = document.descendants().filter(|n| n.attribute("class") == Some("best"));
        best.map(|n| n.descendants().filter_map(|d| d.text().filter(|_| d.is_text())).collect()).collect()
    }

    #[test]
    fn the_best_of_each_column_is_marked() {
        let columns = vec![
            Column::new("NLL").better(Better::Lower),
            Column::new("accuracy").better(Better::Higher),
            Column::new("seconds"),
        ];
        let mut table = Table::new("method", columns);
        table
            .row("map", vec![f64::NAN.into(), (0.91, 0.01).into(), 3.0.into()])
            .row("la", vec![0.41.into(), (0.88, 0.02).into(), 5.0.into()])
            .row("riem-la", vec![0.29.into(), (0.93, 0.01).into()]);
        assert_eq!(marked(&table.to_html()), ["0.290", "0.930 ± 0.010"]);
    }

    #[test]
    fn equal_numbers_are_marked_alike_and_text_is_escaped() {
        let mut table = Table::new("<i>", vec![Column::new("a & b").better(Better::Lower).decimals(2)]);
        table.row("x<y", vec![0.1001.into()]).row("z", vec![0.1002.into()]).row("w", vec!["<b>".into()]);
        let html = table.to_html();
        assert_eq!(marked(&html), ["0.10", "0.10"]);
        assert!(html.contains("&lt;i&gt;") && html.contains("x&lt;y") && html.contains("&lt;b&gt;"));
    }

    #[test]
    fn an_empty_table_says_so() {
        assert!(Table::new("", vec![]).to_html().contains("no data"));
    }
}
