//! Reports as one HTML page. All text is escaped; drawings and tables, which escape their own, are taken as they are.

use super::{Block, Figure, Report, Section};
use crate::plot::{escape, style_sheet};

impl Report {
    /// The page as HTML, a file that needs no network.
    pub fn to_html(&self) -> String {
        let numbered = || (1..).zip(&self.sections);
        let link = |(number, section): (usize, &Section)| {
            let title = escape(&section.title);
            if title.is_empty() { title } else { format!("<a href=\"#section-{number}\">{title}</a>\n") }
        };
        let mut sections = String::new();
        if self.sections.len() > 2 {
            let links: String = numbered().map(link).collect();
            sections = format!("<nav aria-label=\"Sections\">\n{links}</nav>\n");
        }
        sections.extend(numbered().map(|(number, section)| section.to_html(number)));
        let css = style_sheet() + include_str!("page.css");
        // The sections last: their text may look like a place to fill.
        let page = include_str!("page.html").replace("{{ title }}", &escape(&self.title));
        page.replace("{{ css }}", &css).replace("{{ sections }}", &sections)
    }
}

impl Section {
    fn to_html(&self, number: usize) -> String {
        let intro = self.intro.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
        let intro: String = intro.map(|paragraph| element("p class=\"intro\"", paragraph.trim())).collect();
        let blocks: String = self.blocks.iter().map(Block::to_html).collect();
        let title = unless_empty("h2", &self.title);
        format!("<section id=\"section-{number}\">\n{title}{intro}{blocks}</section>\n")
    }
}

impl Block {
    fn to_html(&self) -> String {
        match self {
            Self::Text { text } => {
                text.split("\n\n").map(|paragraph| element("p", paragraph.trim())).collect()
            }
            Self::Figures { figures, small } => {
                let figures: String = figures.iter().map(Figure::to_html).collect();
                format!("<div class=\"figures{}\">\n{figures}</div>\n", if *small { " small" } else { "" })
            }
            Self::Table(table) => format!(
                "<figure class=\"table\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
                 aria-label=\"{}\">\n{}\n</div>\n{}</figure>\n",
                if table.caption.is_empty() { "Table".into() } else { escape(&table.caption) },
                table.to_html(),
                unless_empty("figcaption", &table.caption)
            ),
            Self::Metadata { entries } => {
                let entry = |(key, value): &(String, String)| {
                    format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(key), escape(value))
                };
                format!("<dl>\n{}</dl>\n", entries.iter().map(entry).collect::<String>())
            }
        }
    }
}

impl Figure {
    fn to_html(&self) -> String {
        let caption = unless_empty("figcaption", &self.caption);
        format!("<figure style=\"--w:{}px\">\n{}\n{caption}</figure>\n", self.width, self.svg)
    }
}

/// An element with text in it; `start` is its name, perhaps with attributes.
fn element(start: &str, text: &str) -> String {
    let name = start.split(' ').next().unwrap_or(start);
    format!("<{start}>{}</{name}>\n", escape(text))
}

fn unless_empty(name: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { element(name, text) }
}
