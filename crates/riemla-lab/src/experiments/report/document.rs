//! What a report says, before it becomes HTML or Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::plot::{escape, standalone};
use crate::report::{Cell, Column, Report, Table};

/// A table of short texts.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    /// Heading of the row names.
    pub corner: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Name and cells of each row.
    pub rows: Vec<(String, Vec<String>)>,
    /// What it shows.
    pub caption: String,
}

/// A part of a section.
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A table.
    Table(TextTable),
    /// Drawings side by side, with captions. In Markdown on a page of their own.
    Figures(Vec<(String, String)>),
}

/// A titled part of the report.
pub struct Section {
    /// Heading.
    pub title: String,
    /// What it is about.
    pub intro: String,
    /// Its parts.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section without parts.
    pub fn new(title: impl Into<String>, intro: impl Into<String>) -> Self {
        Self { title: title.into(), intro: intro.into(), blocks: Vec::new() }
    }

    /// Adds a part, unless it is an empty table or no figures.
    pub fn push(&mut self, block: Block) {
        let empty = match &block {
            Block::Table(table) => table.rows.is_empty(),
            Block::Figures(figures) => figures.is_empty(),
            Block::Text(text) => text.is_empty(),
        };
        if !empty {
            self.blocks.push(block);
        }
    }
}

/// The page.
pub fn html(title: &str, sections: Vec<Section>) -> String {
    let mut report = Report::new(title);
    for section in sections {
        report.section(section.title, section.intro);
        for block in section.blocks {
            match block {
                Block::Text(text) => report.text(text),
                Block::Table(table) => report.table(&html_table(&table), table.caption.clone()),
                Block::Figures(figures) => report.grid(figures),
            };
        }
    }
    report.to_html()
}

fn html_table(table: &TextTable) -> Table {
    let columns = table.columns.iter().map(|title| Column::new(title.as_str())).collect();
    let mut html = Table::new(table.corner.as_str(), columns);
    for (name, cells) in &table.rows {
        // Sentences may be broken into lines, a number and its error may not.
        let cell = |cell: &String| Cell::Text(cell.replace(" ± ", "\u{a0}±\u{a0}"));
        html.row(name.as_str(), cells.iter().map(cell).collect());
    }
    html
}

/// The same as Markdown, without figures.
pub fn markdown(title: &str, sections: &[Section]) -> String {
    let mut text = format!("# {title}\n");
    for section in sections {
        let is_table = |block: &Block| matches!(block, Block::Table(_));
        if has_figures(section) && !section.blocks.iter().any(is_table) {
            continue;
        }
        let _ = write!(text, "\n## {}\n", section.title);
        if !section.intro.trim().is_empty() {
            let _ = write!(text, "\n{}\n", section.intro.trim());
        }
        for block in &section.blocks {
            match block {
                Block::Text(paragraph) => {
                    let _ = write!(text, "\n{paragraph}\n");
                }
                Block::Table(table) => text += &markdown_table(table),
                Block::Figures(_) => {}
            }
        }
    }
    text
}

/// A page of figures in Markdown with the drawings that belong beside it.
#[derive(Debug, Clone, Default)]
pub struct Gallery {
    /// The page.
    pub markdown: String,
    /// Path of each drawing, from the page, and the drawing.
    pub drawings: Vec<(String, String)>,
}

/// The figures that [`markdown`] leaves out; none if there are no figures.
pub fn gallery(title: &str, sections: &[Section]) -> Option<Gallery> {
    let mut gallery = Gallery { markdown: format!("# {title}\n"), ..Gallery::default() };
    // Counted over sections, for copies of an experiment share its title.
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for section in sections.iter().filter(|section| has_figures(section)) {
        let name = section.title.strip_prefix("Figures: ").unwrap_or(&section.title);
        let _ = write!(gallery.markdown, "\n## {name}\n\n{}\n", section.intro.trim());
        for block in &section.blocks {
            match block {
                Block::Text(paragraph) => gallery.markdown += &format!("\n{paragraph}\n"),
                Block::Table(_) => {}
                Block::Figures(figures) => {
                    gallery.markdown.push('\n');
                    for (svg, caption) in figures {
                        let count = counts.entry(slug(name)).or_default();
                        *count += 1;
                        let path = format!("figures/{}-{count:02}.svg", slug(name));
                        let alt = if caption.is_empty() { name } else { caption };
                        // The drawings have no size of their own; Markdown's images neither.
                        let alt = escape(alt);
                        gallery.markdown += &format!("<img src=\"{path}\" alt=\"{alt}\" width=\"320\">\n");
                        gallery.drawings.push((path, standalone(svg)));
                    }
                }
            }
        }
    }
    (!gallery.drawings.is_empty()).then_some(gallery)
}

fn has_figures(section: &Section) -> bool {
    section.blocks.iter().any(|block| matches!(block, Block::Figures(_)))
}

/// A title as a part of file names: what stands before its first colon, in small letters and hyphens.
fn slug(title: &str) -> String {
    let start = title.split(':').next().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = start.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.join("-")
}

fn markdown_table(table: &TextTable) -> String {
    let escape = |cell: &str| cell.replace('|', "\\|");
    let caption = if table.caption.is_empty() { String::new() } else { format!("\n{}\n", table.caption) };
    let mut text = format!("{caption}\n| {} |", escape(&table.corner));
    table.columns.iter().for_each(|column| text += &format!(" {} |", escape(column)));
    text += &format!("\n|{}\n", "---|".repeat(table.columns.len() + 1));
    for (name, cells) in &table.rows {
        text += &format!("| {} |", escape(name));
        cells.iter().for_each(|cell| text += &format!(" {} |", escape(cell)));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_the_same_table() {
        let table = TextTable {
            corner: "method".into(),
            columns: vec!["nll".into()],
            rows: vec![("la | x".into(), vec!["0.700 ± 0.003".into()])],
            caption: "A table.".into(),
        };
        let mut section = Section::new("Numbers", "");
        section.push(Block::Table(table));
        section.push(Block::Figures(vec![]));
        let text = markdown("Title", std::slice::from_ref(&section));
        assert!(text.contains("| method | nll |\n|---|---|\n| la \\| x | 0.700 ± 0.003 |"), "{text}");
        let page = html("Title", vec![section]);
        assert!(page.contains("0.700\u{a0}±\u{a0}0.003") && page.contains("A table."));
    }

    #[test]
    fn a_gallery_has_every_figure_and_no_other_section() {
        let figure = |name: &str| ("<svg></svg>".to_string(), name.to_string());
        let mut maps = Section::new("Figures: Banana, in colour: maps", "What is seen.");
        maps.push(Block::Figures(vec![figure("map"), figure("")]));
        maps.push(Block::Text("prior fixed:".into()));
        let mut copy = Section::new("Figures: Banana, in colour: a copy", "");
        copy.push(Block::Figures(vec![figure("la")]));
        let other = Section::new("Words", "");
        let Gallery { markdown, drawings } = gallery("Title", &[maps, copy, other]).expect("figures");
        let paths: Vec<&str> = drawings.iter().map(|(path, _)| path.as_str()).collect();
        let wanted = [1, 2, 3].map(|n| format!("figures/banana-in-colour-0{n}.svg"));
        assert_eq!(paths, wanted);
        assert!(markdown.contains("<img src=\"figures/banana-in-colour-01.svg\" alt=\"map\""), "{markdown}");
        assert!(markdown.contains("What is seen.") && markdown.contains("prior fixed:"), "{markdown}");
        assert!(!markdown.contains("Words") && drawings[0].1.contains("<style>"));
        assert!(gallery("Title", &[Section::new("Words", "")]).is_none());
    }
}
