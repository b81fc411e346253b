//! Colours, as names that the style sheet resolves for light and dark pages.
//!
//! Plots never hold a colour value for marks: they hold a [`Color`], written as a CSS variable.
//! The values below are variations of the Okabe–Ito set, told apart under the common forms of
//! colour blindness, with a darker form on white and a lighter form on dark pages.

use std::fmt::Write;

use crate::method::MethodName;

/// (CSS variable, on light pages, on dark pages). The only place where colour values live.
const VARIABLES: [(&str, &str, &str); 30] = [
    ("page", "#ffffff", "#14171c"),
    ("panel", "#fafbfc", "#1a1e25"),
    ("ink", "#1c2330", "#e6e9ee"),
    ("quiet", "#5b6573", "#a0a9b6"),
    ("rule", "#dfe3e8", "#323a45"),
    ("best", "#e3f3ea", "#173a2c"),
    ("map", "#6f7782", "#a3abb6"),
    ("la", "#c77700", "#f2a93b"),
    ("lin-la", "#b04a8b", "#e08cc0"),
    ("riem-la", "#0067a8", "#5cb8f0"),
    ("lin-riem-la", "#00805d", "#2ec79b"),
    ("riem-la-batches", "#4d9fd1", "#3f8fc4"),
    ("lin-riem-la-batches", "#3daf8e", "#1f9c79"),
    ("nuts", "#5a3fb5", "#b3a1ff"),
    ("mclmc", "#8d3fa8", "#d59bef"),
    ("swag", "#7d6b00", "#d6c24a"),
    ("ensemble", "#b5402d", "#ff8b73"),
    ("series-0", "#007c89", "#45c4d1"),
    ("series-1", "#8f5a2a", "#d3a06d"),
    ("series-2", "#3d4fa0", "#93a5f5"),
    ("series-3", "#5d7a00", "#a9cc3d"),
    ("series-4", "#8a4d66", "#d79bb3"),
    ("class-0", "#0067a8", "#4aa8e6"),
    ("class-1", "#cf6a00", "#f5a02e"),
    ("class-2", "#00805d", "#2ec79b"),
    ("class-3", "#b04a8b", "#e08cc0"),
    ("class-4", "#8a7a00", "#e0d04a"),
    ("class-5", "#c23b22", "#ff7a5c"),
    ("class-6", "#4b4fb8", "#9a9dff"),
    ("class-7", "#5f6b78", "#a9b3c0"),
];

/// Heat-map hues of the classes. One set for both themes: the map fades to transparent where a
/// model is unsure, so the page shows through and the image fits a light and a dark one.
pub(crate) const HEAT_HUES: [[u8; 3]; 8] = [
    [0x1f, 0x86, 0xcc],
    [0xe6, 0x8a, 0x10],
    [0x12, 0xa0, 0x7a],
    [0xc8, 0x62, 0xa3],
    [0xb3, 0xa0, 0x10],
    [0xd9, 0x55, 0x3a],
    [0x6e, 0x72, 0xd8],
    [0x80, 0x8c, 0x9a],
];

/// How many classes have colours of their own; further ones start again from the first.
pub(crate) const CLASSES: usize = HEAT_HUES.len();

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// The text colour.
    Ink,
    /// Secondary marks.
    Quiet,
    /// The i-th of several series without a fixed meaning.
    Series(usize),
    /// A class of a classification problem.
    Class(usize),
    /// A method: each has one colour, in all plots.
    Method(MethodName),
}

impl Color {
    /// The CSS value, e.g. `var(--riem-la)`.
    pub(crate) fn css(self) -> String {
        match self {
            Self::Ink => "var(--ink)".into(),
            Self::Quiet => "var(--quiet)".into(),
            Self::Series(i) => format!("var(--series-{})", i % SERIES),
            Self::Class(k) => format!("var(--class-{})", k % CLASSES),
            // The same weights with another temperature: no other method.
            Self::Method(MethodName::MapTemperature) => "var(--map)".into(),
            // The same posterior in closed form.
            Self::Method(MethodName::LinLaProbit) => "var(--lin-la)".into(),
            Self::Method(MethodName::Constant) => "var(--quiet)".into(),
            Self::Method(method) => format!("var(--{method})"),
        }
    }
}

/// Shape of the points of a series: a second cue next to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ▼
    Down,
    /// ✕
    Cross,
    /// ✚
    Plus,
}

/// Shapes that tell series of one colour apart.
const MARKERS: [Marker; 5] =
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Down];

/// How many series without a fixed meaning have colours of their own.
const SERIES: usize = 5;

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colour of lines, points and bands.
    pub color: Color,
    /// Shape of points.
    pub marker: Marker,
    /// Dashed lines and open points.
    pub dashed: bool,
}

impl Style {
    /// The fixed look of a method, in all plots.
    pub fn method(method: MethodName) -> Self {
        let (marker, dashed) = match method {
            MethodName::Map => (Marker::Cross, false),
            MethodName::MapTemperature => (Marker::Cross, true),
            MethodName::La => (Marker::Square, false),
            MethodName::LinLa => (Marker::Triangle, false),
            MethodName::LinLaProbit => (Marker::Triangle, true),
            MethodName::Constant => (Marker::Plus, true),
            MethodName::RiemLa => (Marker::Circle, false),
            MethodName::RiemLaBatches => (Marker::Circle, true),
            MethodName::LinRiemLa => (Marker::Diamond, false),
            MethodName::LinRiemLaBatches => (Marker::Diamond, true),
            MethodName::Nuts => (Marker::Plus, false),
            MethodName::Mclmc => (Marker::Square, true),
            MethodName::Swag => (Marker::Down, false),
            MethodName::Ensemble => (Marker::Down, true),
        };
        Self { color: Color::Method(method), marker, dashed }
    }

    /// The look of the i-th of several series without a fixed meaning.
    pub fn series(i: usize) -> Self {
        Self { color: Color::Series(i), marker: MARKERS[i % SERIES], dashed: i % (2 * SERIES) >= SERIES }
    }

    /// The same colour in a look that is not among these: for several series of one method.
    pub(crate) fn unlike(self, taken: &[Self]) -> Self {
        let looks = [false, true].into_iter().flat_map(|dashed| MARKERS.map(|marker| (dashed, marker)));
        let others = looks.map(|(dashed, marker)| Self { marker, dashed, ..self });
        let first = [self, Self { dashed: !self.dashed, ..self }];
        first.into_iter().chain(others).find(|look| !taken.contains(look)).unwrap_or(self)
    }

    /// The look of the points of class `k`.
    pub fn class(k: usize) -> Self {
        Self { color: Color::Class(k), marker: Marker::Circle, dashed: false }
    }

    /// One colour, circles, solid.
    pub fn plain(color: Color) -> Self {
        Self { color, marker: Marker::Circle, dashed: false }
    }

    /// The look for a name: of the method it begins with, else of the i-th series.
    pub fn named(name: &str, i: usize) -> Self {
        MethodName::leading(name).map_or_else(|| Self::series(i), Self::method)
    }
}

/// The style sheet that plots need: colour variables for both themes and the rules of marks.
pub fn style_sheet() -> String {
    let block = |dark: bool| {
        VARIABLES.iter().fold(String::new(), |mut css, (name, light, night)| {
            let _ = write!(css, "--{name}:{};", if dark { night } else { light });
            css
        })
    };
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n{}",
        block(false),
        block(true),
        include_str!("style.css")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_distinct_colours_that_the_sheet_defines() {
        let sheet = style_sheet();
        let (mut seen, mut looks) = (Vec::new(), Vec::new());
        for method in MethodName::ALL {
            let style = Style::named(&format!("{method}, calibrated"), 0);
            assert_eq!(style, Style::method(method));
            let css = style.color.css();
            // Another way to predict with the same weights or the same posterior.
            let variant = matches!(method, MethodName::MapTemperature | MethodName::LinLaProbit);
            assert!(variant || !seen.contains(&css), "{method}: a colour of its own");
            assert!(!looks.contains(&(style.marker, style.dashed)), "{method}: a shape of its own");
            looks.push((style.marker, style.dashed));
            seen.push(css);
        }
        for i in 0..SERIES {
            let css = Style::named("hmc", i).color.css();
            assert!(!seen.contains(&css), "series {i} has no method's colour");
            seen.push(css);
        }
        for variable in seen.iter().map(|css| css.trim_start_matches("var(").trim_end_matches(')')) {
            assert!(sheet.contains(&format!("{variable}:#")), "{variable} is defined");
        }
    }

    #[test]
    fn series_of_one_method_share_its_colour_and_differ_in_shape() {
        let first = Style::method(MethodName::RiemLa);
        let mut looks = vec![first];
        for _ in 0..6 {
            looks.push(first.unlike(&looks));
        }
        assert!(looks.iter().all(|look| look.color == first.color));
        assert!((1..looks.len()).all(|i| !looks[..i].contains(&looks[i])), "{looks:?}");
    }

    /// WCAG asks for a contrast of 3 for graphics and 4.5 for text.
    #[test]
    fn contrast_suffices_in_both_themes() {
        for dark in [false, true] {
            let value = |(_, light, night): &(&str, &str, &str)| luminance(if dark { night } else { light });
            let page = value(&VARIABLES[0]);
            for entry in &VARIABLES[2..] {
                let least = match entry.0 {
                    "rule" | "best" => 1.0,
                    "ink" | "quiet" => 4.5,
                    name if name.ends_with("-batches") => 2.2,
                    _ => 3.0,
                };
                let (a, b) = (page.max(value(entry)), page.min(value(entry)));
                let contrast = (a + 0.05) / (b + 0.05);
                assert!(contrast >= least, "{} (dark: {dark}) has contrast {contrast:.2}", entry.0);
            }
        }
    }

    fn luminance(hex: &str) -> f64 {
        let channel = |i: usize| {
            let c = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).expect("hex colour")) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }
}
