//! Tables: names of rows, aligned numbers, the best of each column marked; as HTML and as Markdown.

use std::fmt::Write;

use super::number::{column_decimals, fixed};
use crate::method::MethodName;
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

impl<T: Into<String>> From<T> for Column {
    fn from(title: T) -> Self {
        Self::new(title)
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

    /// In the words of a format: how it marks an error, and writes any text.
    fn written(&self, decimals: usize, (small, end): (&str, &str), text: impl Fn(&str) -> String) -> String {
        match self {
            Self::Number(value) => fixed(*value, decimals),
            Self::Estimate(value, error) => {
                format!("{} {small}± {}{end}", fixed(*value, decimals), fixed(*error, decimals))
            }
            Self::Text(words) => text(words),
            Self::Empty => String::new(),
        }
    }

    fn html(&self, decimals: usize) -> String {
        // Sentences may be broken into lines, a number and its error may not.
        let text = |text: &str| escape(&text.replace(" ± ", "\u{a0}±\u{a0}"));
        self.written(decimals, ("<small>", "</small>"), text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
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

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Rows with a name each. A row whose name begins with a method carries the method's colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    corner: String,
    columns: Vec<Column>,
    rows: Vec<(String, Vec<Cell>)>,
    /// Methods of rows whose names do not say them.
    methods: Vec<(usize, MethodName)>,
    pub(super) caption: String,
}

impl Table {
    /// An empty table; `corner` is the heading of the row names.
    pub fn new<C: Into<Column>>(corner: impl Into<String>, columns: impl IntoIterator<Item = C>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { corner: corner.into(), columns, rows: Vec::new(), methods: Vec::new(), caption: String::new() }
    }

    /// What it shows.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Names of the rows with their cells.
    pub fn named_rows(&self) -> &[(String, Vec<Cell>)] {
        &self.rows
    }

    /// The same with these rows.
    pub fn rows<N: Into<String>, C: Into<Cell>>(
        mut self,
        rows: impl IntoIterator<Item = (N, Vec<C>)>,
    ) -> Self {
        rows.into_iter().for_each(|(name, cells)| {
            self.row(name, cells);
        });
        self
    }

    /// Adds a row; missing cells are empty, surplus ones are left out.
    pub fn row<C: Into<Cell>>(
        &mut self,
        name: impl Into<String>,
        cells: impl IntoIterator<Item = C>,
    ) -> &mut Self {
        let mut cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), Cell::Empty);
        self.rows.push((name.into(), cells));
        self
    }

    /// The row that was added last is about this method, whatever its name.
    pub fn method(&mut self, method: MethodName) -> &mut Self {
        self.methods.extend(self.rows.len().checked_sub(1).map(|row| (row, method)));
        self
    }

    /// The colour of a row's method, as a dot before its name.
    fn key(&self, row: usize) -> String {
        let given = self.methods.iter().find(|(of, _)| *of == row).map(|(_, method)| *method);
        let color = |method| Style::method(method).color.css();
        let dot = |method| format!("<span class=\"dot-key\" style=\"--c:{}\"></span>", color(method));
        given.or_else(|| MethodName::leading(&self.rows[row].0)).map(dot).unwrap_or_default()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
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

    /// The table as Markdown, its caption above.
    pub(super) fn to_markdown(&self) -> String {
        let escape = |text: &str| text.replace('|', "\\|");
        let of = |cell: &Cell, i: usize| cell.written(self.decimals(i), ("", ""), escape);
        let caption = if self.caption.is_empty() { String::new() } else { format!("\n{}\n", self.caption) };
        let mut text = format!("{caption}\n| {} |", escape(&self.corner));
        self.columns.iter().for_each(|column| text += &format!(" {} |", escape(&column.title)));
        text += &format!("\n|{}\n", "---|".repeat(self.columns.len() + 1));
        for (name, cells) in &self.rows {
            text += &format!("| {} |", escape(name));
            text.extend(cells.iter().enumerate().map(|(i, cell)| format!(" {} |", of(cell, i))));
            text.push('\n');
        }
        text
    }

    /// The table as HTML, without its caption.
    pub(super) fn to_html(&self) -> String {
        let decimals: Vec<usize> = (0..self.columns.len()).map(|i| self.decimals(i)).collect();
        let best: Vec<_> = decimals.iter().enumerate().map(|(i, d)| self.best(i, *d)).collect();
        let mut html = format!("<table>{}<tbody>", self.head());
        for (row, (name, cells)) in self.rows.iter().enumerate() {
            let _ = write!(html, "<tr><th scope=\"row\">{}{}</th>", self.key(row), escape(name));
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
        let columns = [
            Column::new("NLL").better(Better::Lower),
            Column::new("accuracy").better(Better::Higher),
            Column::new("seconds"),
        ];
        let mut table = Table::new("method", columns);
        table
            .row("map", [Cell::from(f64::NAN), (0.91, 0.01).into(), 3.0.into()])
            .row("la", [Cell::from(0.41), (0.88, 0.02).into(), 5.0.into()])
            .row("riem-la", [Cell::from(0.29), (0.93, 0.01).into()]);
        assert_eq!(marked(&table.to_html()), ["0.290", "0.930 ± 0.010"]);
        assert!(table.to_markdown().contains("| la | 0.410 | 0.880 ± 0.020 | 5 |"));
    }

    #[test]
    fn rows_have_the_colour_of_their_method() {
        let mut table = Table::new("", ["a"]);
        table
            .row("riem-la, calibrated", [1.0])
            .row("mine", [1.0])
            .method(MethodName::Nuts)
            .row("other", [1.0]);
        let html = table.to_html();
        let keys: Vec<&str> = html.split("--c:").skip(1).filter_map(|part| part.split('"').next()).collect();
        assert_eq!(keys, ["var(--riem-la)", "var(--nuts)"]);
    }

    #[test]
    fn equal_numbers_are_marked_alike_and_text_is_escaped() {
        let mut table = Table::new("<i>", [Column::new("a & b").better(Better::Lower).decimals(2)]);
        table.row("x<y", [0.1001]).row("z", [0.1002]).row("w", ["<b>"]);
        let html = table.to_html();
        assert_eq!(marked(&html), ["0.10", "0.10"]);
        assert!(html.contains("&lt;i&gt;") && html.contains("x&lt;y") && html.contains("&lt;b&gt;"));
    }
}
