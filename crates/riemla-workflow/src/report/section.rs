//! What a section of a report is made of.

use super::Table;

/// A drawing and what is said about it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The drawing.
    pub svg: String,
    /// What it shows; may be empty.
    pub caption: String,
    /// Natural width in pixels: figures grow and shrink around it, so that text keeps its size.
    pub(super) width: f64,
}

impl Figure {
    fn new(svg: String, caption: String) -> Self {
        let view = svg.split_once("viewBox=\"").and_then(|(_, rest)| rest.split('"').next());
        let width = view.and_then(|v| v.split(' ').nth(2)?.parse().ok()).unwrap_or(320.0);
        Self { svg, caption, width }
    }
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Paragraphs, with blank lines between them.
    Text {
        /// The text.
        text: String,
    },
    /// Drawings: one on its own, or small multiples side by side. In Markdown on a page of their own.
    Figures {
        /// The drawings.
        figures: Vec<Figure>,
        /// Side by side.
        small: bool,
    },
    /// A table.
    Table(Table),
    /// Names and values: version, seed, settings, counters.
    Metadata {
        /// Names and values.
        entries: Vec<(String, String)>,
    },
}

/// A titled part of a report.
#[derive(Clone, Debug)]
pub struct Section {
    pub(super) title: String,
    pub(super) intro: String,
    pub(super) blocks: Vec<Block>,
}

impl Section {
    /// A section without parts. The introduction may be empty; a blank line begins a new paragraph.
    pub fn new(title: impl Into<String>, intro: impl Into<String>) -> Self {
        Self { title: title.into(), intro: intro.into(), blocks: Vec::new() }
    }

    /// Whether it has no parts.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn has_figures(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Figures { .. }))
    }

    /// Adds a part, unless there is nothing in it.
    pub fn push(&mut self, block: Block) -> &mut Self {
        let empty = match &block {
            Block::Text { text } => text.is_empty(),
            Block::Figures { figures, .. } => figures.is_empty(),
            Block::Table(table) => table.is_empty(),
            Block::Metadata { entries } => entries.is_empty(),
        };
        self.blocks.extend(Some(block).filter(|_| !empty));
        self
    }

    /// Adds paragraphs.
    pub fn text(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Text { text: text.into() })
    }

    /// Adds paragraphs of several texts.
    pub fn texts<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) -> &mut Self {
        texts.into_iter().fold(self, |section, text| section.text(text))
    }

    /// Adds figures, one below the other.
    pub fn figures(&mut self, figures: impl IntoIterator<Item = (String, String)>) -> &mut Self {
        figures.into_iter().fold(self, |section, (svg, caption)| section.figure(svg, caption))
    }

    /// Adds one figure.
    pub fn figure(&mut self, svg: impl Into<String>, caption: impl Into<String>) -> &mut Self {
        let figures = vec![Figure::new(svg.into(), caption.into())];
        self.push(Block::Figures { figures, small: false })
    }

    /// Adds small multiples side by side, wrapped to the width of the page.
    pub fn grid<S: Into<String>, C: Into<String>>(
        &mut self,
        figures: impl IntoIterator<Item = (S, C)>,
    ) -> &mut Self {
        let figure = |(svg, caption): (S, C)| Figure::new(svg.into(), caption.into());
        self.push(Block::Figures { figures: figures.into_iter().map(figure).collect(), small: true })
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.push(Block::Table(table))
    }

    /// Adds names and values.
    pub fn metadata<K: Into<String>, V: Into<String>>(
        &mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self.push(Block::Metadata { entries })
    }
}
