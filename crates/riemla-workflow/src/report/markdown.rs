//! Reports as Markdown: text and tables on one page, figures on another with their drawings beside it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Block, Report, Section};
use crate::plot::{escape, standalone};

/// A page of figures in Markdown with the drawings that belong beside it.
#[derive(Debug, Clone, Default)]
pub struct Gallery {
    /// The page.
    pub markdown: String,
    /// Path of each drawing, from the page, and the drawing.
    pub drawings: Vec<(String, String)>,
}

impl Report {
    /// The report without its figures; sections of nothing but figures and their names are left out.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        let is_table = |block: &Block| matches!(block, Block::Table(_));
        let told = |section: &&Section| !section.has_figures() || section.blocks.iter().any(is_table);
        for section in self.sections.iter().filter(told) {
            let _ = write!(text, "\n## {}\n", section.title);
            if !section.intro.trim().is_empty() {
                let _ = write!(text, "\n{}\n", section.intro.trim());
            }
            for block in &section.blocks {
                match block {
                    Block::Text { text: paragraphs } => text += &format!("\n{paragraphs}\n"),
                    Block::Table(table) => text += &table.to_markdown(),
                    Block::Metadata { entries } => {
                        text.push('\n');
                        entries.iter().for_each(|(key, value)| text += &format!("- {key}: {value}\n"));
                    }
                    Block::Figures { .. } => {}
                }
            }
        }
        text
    }

    /// The figures that [`Report::to_markdown`] leaves out; none if there are no figures.
    pub fn gallery(&self, title: &str) -> Option<Gallery> {
        let mut gallery = Gallery { markdown: format!("# {title}\n"), ..Gallery::default() };
        // Counted over sections, for copies of an experiment share its title.
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for section in self.sections.iter().filter(|section| section.has_figures()) {
            let name = section.title.strip_prefix("Figures: ").unwrap_or(&section.title);
            let _ = write!(gallery.markdown, "\n## {name}\n\n{}\n", section.intro.trim());
            for block in &section.blocks {
                match block {
                    Block::Text { text } => gallery.markdown += &format!("\n{text}\n"),
                    Block::Table(_) | Block::Metadata { .. } => {}
                    Block::Figures { figures, .. } => {
                        gallery.markdown.push('\n');
                        for figure in figures {
                            let count = counts.entry(slug(name)).or_default();
                            *count += 1;
                            let path = format!("figures/{}-{count:02}.svg", slug(name));
                            let alt = if figure.caption.is_empty() { name } else { &figure.caption };
                            // The drawings have no size of their own; Markdown's images neither.
                            let alt = escape(alt);
                            gallery.markdown +=
                                &format!("<img src=\"{path}\" alt=\"{alt}\" width=\"320\">\n");
                            gallery.drawings.push((path, standalone(&figure.svg)));
                        }
                    }
                }
            }
        }
        (!gallery.drawings.is_empty()).then_some(gallery)
    }
}

/// A title as a part of file names: what stands before its first colon, in small letters and hyphens.
fn slug(title: &str) -> String {
    let start = title.split(':').next().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = start.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::*;

    fn report(sections: impl IntoIterator<Item = Section>) -> Report {
        let mut report = Report::new("Title");
        report.extend(sections);
        report
    }

    #[test]
    fn both_forms_hold_the_same_table() {
        let mut table = Table::new("method", ["nll"]).caption("A table.");
        table.row("la | x", ["0.700 ± 0.003"]);
        let mut section = Section::new("Numbers", "");
        section.table(table).grid(Vec::<(String, String)>::new()).metadata([("seed", "7")]);
        let report = report([section]);
        let text = report.to_markdown();
        assert!(text.contains("| method | nll |\n|---|---|\n| la \\| x | 0.700 ± 0.003 |"), "{text}");
        assert!(text.contains("- seed: 7\n"), "{text}");
        let page = report.to_html();
        assert!(page.contains("0.700\u{a0}±\u{a0}0.003") && page.contains("A table."));
    }

    #[test]
    fn a_gallery_has_every_figure_and_no_other_section() {
        let figure = |name: &str| ("<svg></svg>".to_string(), name.to_string());
        let mut maps = Section::new("Figures: Banana, in colour: maps", "What is seen.");
        maps.grid([figure("map"), figure("")]).text("prior fixed:");
        let mut copy = Section::new("Figures: Banana, in colour: a copy", "");
        copy.grid([figure("la")]);
        let mut other = Section::new("Words", "");
        other.text("Nothing to see.");
        let report = report([maps, copy, other.clone()]);
        let Gallery { markdown, drawings } = report.gallery("Figures").expect("figures");
        let paths: Vec<&str> = drawings.iter().map(|(path, _)| path.as_str()).collect();
        let wanted = [1, 2, 3].map(|n| format!("figures/banana-in-colour-0{n}.svg"));
        assert_eq!(paths, wanted);
        assert!(markdown.contains("<img src=\"figures/banana-in-colour-01.svg\" alt=\"map\""), "{markdown}");
        assert!(markdown.contains("What is seen.") && markdown.contains("prior fixed:"), "{markdown}");
        assert!(!markdown.contains("Words") && drawings[0].1.contains("<style>"));
        let words = report.to_markdown();
        assert!(words.contains("Nothing to see.") && !words.contains("What is seen."), "{words}");
        let mut words = Report::new("Title");
        assert!(words.add(other).gallery("Figures").is_none());
    }
}
