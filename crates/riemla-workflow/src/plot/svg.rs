//! A small SVG writer: nested elements, escaped text, short numbers. It knows nothing of plots.

use std::fmt::Write;

/// An SVG document under construction. Elements are written in order; `open`ed ones nest.
pub(crate) struct Svg {
    out: String,
    open: Vec<&'static str>,
}

/// An element whose attributes are still being written; ended by one of its consuming methods.
#[must_use = "an element is only complete after end(), open(), text() or titled()"]
pub(crate) struct Element<'a> {
    svg: &'a mut Svg,
    tag: &'static str,
}

impl Svg {
    /// Starts a drawing of `width` × `height` user units, named `title` for screen readers.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut svg = Self { out: String::new(), open: Vec::new() };
        svg.element("svg")
            .attr("xmlns", "http://www.w3.org/2000/svg")
            .attr("class", "plot")
            .attr("role", "img")
            .attr("viewBox", &format!("0 0 {} {}", num(width), num(height)))
            .open();
        svg.element("title").text(title);
        svg
    }

    /// Starts an element; attributes follow by chaining.
    pub fn element(&mut self, tag: &'static str) -> Element<'_> {
        self.out.push('<');
        self.out.push_str(tag);
        Element { svg: self, tag }
    }

    /// Opens a group with a class.
    pub fn group(&mut self, class: &str) {
        self.element("g").attr("class", class).open();
    }

    /// Closes the innermost open element.
    pub fn close(&mut self) {
        if let Some(tag) = self.open.pop() {
            let _ = write!(self.out, "</{tag}>");
        }
    }

    /// Closes everything and hands out the text.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }

    /// A text at (x, y), aligned by the given class (`start`, `middle`, `end` and others of the
    /// style sheet).
    pub fn label(&mut self, x: f64, y: f64, class: &str, content: &str) {
        self.element("text").num("x", x).num("y", y).attr("class", class).text(content);
    }

    /// A straight line between two points.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.element("line")
            .attr("class", class)
            .num("x1", from.0)
            .num("y1", from.1)
            .num("x2", to.0)
            .num("y2", to.1)
            .end();
    }

    /// A rectangle, still open for more attributes.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) -> Element<'_> {
        self.element("rect").attr("class", class).place(x, y, width.max(0.0), height.max(0.0))
    }

    /// A path, still open for more attributes.
    pub fn path(&mut self, data: &str, class: &str) -> Element<'_> {
        self.element("path").attr("class", class).attr("d", data)
    }

    /// A picture stretched to a rectangle.
    pub fn image(&mut self, x: f64, y: f64, width: f64, height: f64, address: &str) {
        let image = self.element("image").place(x, y, width, height);
        image.attr("preserveAspectRatio", "none").attr("href", address).end();
    }
}

impl Element<'_> {
    /// Adds an attribute; the value is escaped.
    pub fn attr(self, name: &str, value: &str) -> Self {
        let _ = write!(self.svg.out, " {name}=\"{}\"", escape(value));
        self
    }

    /// Adds a numeric attribute with at most two decimals.
    pub fn num(self, name: &str, value: f64) -> Self {
        let _ = write!(self.svg.out, " {name}=\"{}\"", num(value));
        self
    }

    /// Adds the attributes of a rectangle.
    pub fn place(self, x: f64, y: f64, width: f64, height: f64) -> Self {
        self.num("x", x).num("y", y).num("width", width).num("height", height)
    }

    /// Ends an element without content.
    pub fn end(self) {
        self.svg.out.push_str("/>");
    }

    /// Leaves the element open: what follows is nested in it until `Svg::close`.
    pub fn open(self) {
        self.svg.out.push('>');
        self.svg.open.push(self.tag);
    }

    /// Ends the element with escaped text as its content.
    pub fn text(self, content: &str) {
        let _ = write!(self.svg.out, ">{}</{}>", escape(content), self.tag);
    }

    /// Ends the element with a hover tooltip.
    pub fn titled(self, tooltip: &str) {
        let _ = write!(self.svg.out, "><title>{}</title></{}>", escape(tooltip), self.tag);
    }
}

/// Path data through points: `M x,y L x,y …`, closed with `Z` on request.
pub(crate) fn path_data(points: impl IntoIterator<Item = (f64, f64)>, closed: bool) -> String {
    let mut data = String::new();
    for (x, y) in points {
        let command = if data.is_empty() { 'M' } else { 'L' };
        let _ = write!(data, "{command}{} {}", num(x), num(y));
    }
    if closed && !data.is_empty() {
        data.push('Z');
    }
    data
}

/// A coordinate with at most two decimals and no trailing zeros; non-finite becomes 0.
pub(crate) fn num(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// Escapes text for XML content and quoted attributes; drops characters XML does not allow.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(num(1.0), "1");
        assert_eq!(num(-0.001), "0");
        assert_eq!(num(100.0), "100");
        assert_eq!(num(2.345_67), "2.35");
        assert_eq!(num(f64::NAN), "0");
    }

    #[test]
    fn hostile_text_stays_text() {
        let mut svg = Svg::new(10.0, 10.0, "a<b & \"c\"\u{1}");
        svg.group("x\"y");
        svg.label(0.0, 0.0, "start", "<script>alert(1)</script>");
        let text = svg.finish();
        let parsed = roxmltree::Document::parse(&text).expect("well-formed");
        let title = parsed.descendants().find(|n| n.has_tag_name("title")).and_then(|n| n.text());
        assert_eq!(title, Some("a<b & \"c\""));
        assert!(!text.contains("<script"));
    }
}
