//! The report: sections of text, figures and tables as one HTML file that needs no network.

mod number;
mod table;
mod text;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use crate::plot::style_sheet;

pub use table::{Better, Cell, Column, Table};
pub use text::aligned;

/// A drawing and what is said about it.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    svg: String,
    caption: String,
    /// Natural width in pixels: figures grow and shrink around it, so that text keeps its size.
    width: f64,
}

impl Figure {
    fn new(svg: String, caption: String) -> Self {
        let view = svg.split_once("viewBox=\"").and_then(|(_, rest)| rest.split('"').next());
        let width = view.and_then(|v| v.split(' ').nth(2)?.parse().ok()).unwrap_or(320.0);
        Self { svg, caption, width }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Block {
    Text { text: String },
    Figures { figures: Vec<Figure>, small: bool },
    Table { html: String, caption: String },
    Metadata { entries: Vec<(String, String)> },
}

#[derive(Clone, Debug, Serialize)]
struct Section {
    title: String,
    intro: String,
    blocks: Vec<Block>,
}

/// A page under construction. Figures and tables go to the section begun last.
///
/// All text is escaped; only drawings are taken as they are, so hand in what the plots of
/// [`crate::plot`] return.
///
/// ```
/// use riemla_lab::report::{Better, Column, Report, Table};
///
/// let mut table = Table::new("method", vec![Column::new("NLL").better(Better::Lower)]);
/// table.row("la", vec![0.41.into()]).row("riem-la", vec![0.29.into()]);
/// let mut report = Report::new("Banana");
/// report
///     .metadata([("seed", "7"), ("prior precision", "1.0")])
///     .section("Scores", "Means over five splits.")
///     .table(&table, "Test scores.");
/// assert!(report.to_html().contains("riem-la"));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    title: String,
    sections: Vec<Section>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), sections: Vec::new() }
    }

    /// Begins a section. The introduction may be empty; a blank line begins a new paragraph.
    pub fn section(&mut self, title: impl Into<String>, intro: impl Into<String>) -> &mut Self {
        self.sections.push(Section { title: title.into(), intro: intro.into(), blocks: Vec::new() });
        self
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Text { text: text.into() })
    }

    /// Adds one figure.
    pub fn figure(&mut self, svg: impl Into<String>, caption: impl Into<String>) -> &mut Self {
        let figure = Figure::new(svg.into(), caption.into());
        self.push(Block::Figures { figures: vec![figure], small: false })
    }

    /// Adds small multiples side by side, wrapped to the width of the page.
    pub fn grid<S: Into<String>, C: Into<String>>(&mut self, figures: Vec<(S, C)>) -> &mut Self {
        let figure = |(svg, caption): (S, C)| Figure::new(svg.into(), caption.into());
        self.push(Block::Figures { figures: figures.into_iter().map(figure).collect(), small: true })
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table, caption: impl Into<String>) -> &mut Self {
        self.push(Block::Table { html: table.to_html(), caption: caption.into() })
    }

    /// Adds names and values: version, seed, settings, counters.
    pub fn metadata<K: Into<String>, V: Into<String>>(
        &mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self.push(Block::Metadata { entries })
    }

    fn push(&mut self, block: Block) -> &mut Self {
        if self.sections.is_empty() {
            self.section("", "");
        }
        if let Some(section) = self.sections.last_mut() {
            section.blocks.push(block);
        }
        self
    }

    /// The page as HTML.
    pub fn to_html(&self) -> String {
        #[derive(Serialize)]
        struct Page<'a> {
            #[serde(flatten)]
            report: &'a Report,
            css: String,
        }
        let css = style_sheet() + include_str!("page.css");
        let page = Page { report: self, css };
        // The name ends in .html: that switches escaping on.
        let rendered =
            Environment::new().render_named_str("page.html", include_str!("page.html"), Serde(&page));
        rendered.expect("the template is part of the program and covered by tests")
    }
}
