//! Plots: numbers in, SVG text out. No files, no fonts, no fixed colours.
//!
//! A plot is assembled from orthogonal parts: [`Axis`] (what a direction shows), a panel (where
//! it lies), marks, and a legend. Colours are CSS variables, so one drawing fits light and dark
//! pages; [`style_sheet`] defines them. Data that is missing (NaN, infinite) is left out, and a
//! plot without data says so.
//!
//! ```
//! use riemla_workflow::plot::{Axis, Chart, Reference, Series};
//!
//! let svg = Chart::new("virial ratio", Axis::log("strength a"), Axis::linear("ratio"))
//!     .series(Series::line_points("riem-la", vec![(0.1, 1.9), (0.3, 1.1), (1.0, 0.4)]).errors(&[0.1, 0.1, 0.05]))
//!     .reference(Reference::horizontal(1.0, "exact posterior"))
//!     .to_svg();
//! assert!(svg.starts_with("<svg"));
//! ```

/// Methods of a plot under construction: `field: Type` replaces a part, `name: Type => list` adds to several.
macro_rules! builder {
    ($($(#[$docs:meta])* $name:ident: $type:ty $(=> $list:ident)?;)*) => {
        $($(#[$docs])*
        pub fn $name(mut self, $name: $type) -> Self {
            builder!(@put self, $name $(, $list)?);
            self
        })*
    };
    (@put $self:ident, $name:ident) => { $self.$name = $name };
    (@put $self:ident, $name:ident, $list:ident) => { $self.$list.push($name) };
}

mod axis;
mod band;
mod chart;
mod color_bar;
mod confidence_map;
mod contour;
mod grid;
mod histogram;
mod interval;
mod legend;
mod marks;
mod palette;
mod panel;
mod raster;
mod reliability;
mod strip;
mod svg;
mod ticks;

pub use axis::Axis;
pub use band::BandChart;
pub use chart::{Chart, Series};
pub use color_bar::ColorBar;
pub use confidence_map::ConfidenceMap;
pub use contour::{Polyline, contour};
pub use grid::{Grid, PlotError};
pub use histogram::Histogram;
pub use interval::{Dot, IntervalPlot};
pub use marks::Reference;
pub use palette::{Color, Marker, Style, style_sheet};
pub use panel::Size;
pub use reliability::ReliabilityDiagram;
pub use strip::StripPlot;

pub(crate) use svg::escape;
pub(crate) use ticks::{minus, short};

/// A plot as a file of its own: the same drawing with the style sheet inside.
pub fn standalone(svg: &str) -> String {
    match svg.split_once('>') {
        Some((head, rest)) => format!("{head}><style>{}</style>{rest}", escape(&style_sheet())),
        None => String::new(),
    }
}
