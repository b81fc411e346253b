//! Reports: sections of text, figures, tables and metadata, written as one HTML file or as Markdown.

mod html;
mod markdown;
mod number;
mod section;
mod table;
mod text;

pub use markdown::Gallery;
pub use number::decimals;
pub use section::{Block, Figure, Section};
pub use table::{Better, Cell, Column, Table};
pub use text::aligned;

/// A page under construction.
///
/// All text is escaped; only drawings are taken as they are, so hand in what the plots of
/// [`crate::plot`] return.
///
/// ```
/// use riemla_workflow::report::{Better, Column, Report, Section, Table};
///
/// let mut table = Table::new("method", [Column::new("NLL").better(Better::Lower)]).caption("Test scores.");
/// table.row("la", [0.41]).row("riem-la", [0.29]);
/// let mut scores = Section::new("Scores", "Means over five splits.");
/// scores.metadata([("seed", "7"), ("prior precision", "1.0")]).table(table);
/// let mut report = Report::new("Banana");
/// report.add(scores);
/// assert!(report.to_html().contains("riem-la"));
/// assert!(report.to_markdown().contains("| riem-la | 0.290 |"));
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    sections: Vec<Section>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), sections: Vec::new() }
    }

    /// Adds a section, unless it has no parts.
    pub fn add(&mut self, section: Section) -> &mut Self {
        self.sections.extend(Some(section).filter(|section| !section.is_empty()));
        self
    }

    /// Its heading.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }
}

/// Its sections, to make them part of another report.
impl IntoIterator for Report {
    type Item = Section;
    type IntoIter = std::vec::IntoIter<Section>;

    fn into_iter(self) -> Self::IntoIter {
        self.sections.into_iter()
    }
}

impl Extend<Section> for Report {
    fn extend<T: IntoIterator<Item = Section>>(&mut self, sections: T) {
        sections.into_iter().for_each(|section| {
            self.add(section);
        });
    }
}
