//! Every kind of plot, with good and with hopeless data, is well-formed SVG; reports load nothing.

use riemla::score::ReliabilityBin;
use riemla_workflow::plot::{
    Axis, BandChart, Chart, ColorBar, ConfidenceMap, Grid, Histogram, PlotError, Reference,
    ReliabilityDiagram, Series, Size, StripPlot, standalone,
};
use riemla_workflow::report::{Report, Section, Table};

const HOSTILE: &str = "<script>alert('x')</script> & \"quotes\"";

/// Every kind of plot made of one list of numbers.
fn every_plot(title: &str, values: &[f64]) -> Vec<String> {
    let points: Vec<(f64, f64)> = values.iter().copied().zip(values.iter().rev().copied()).collect();
    let axes = || (Axis::linear(title), Axis::log(title));
    let bin = |v: &f64| ReliabilityBin { lower: 0.0, upper: 1.0, count: 3, confidence: *v, accuracy: *v };
    let chart = |x: Axis, y: Axis| {
        Chart::new(title, x, y)
            .series(Series::line_points(title, points.clone()).errors(values))
            .series(Series::scatter("la", points.clone()).errors(values))
            .reference(Reference::horizontal(values.first().copied().unwrap_or(f64::NAN), title))
            .reference(Reference::vertical(values.last().copied().unwrap_or(f64::NAN), title))
            .reference(Reference::curve(points.clone(), title))
            .to_svg()
    };
    let band =
        BandChart::new(title, (Axis::linear(title), Axis::linear("y")), values.to_vec(), values.to_vec())
            .band(title, values)
            .band_between("short", vec![1.0], values.to_vec())
            .sample(values.to_vec())
            .data(points.clone());
    vec![
        chart(axes().0, axes().0),
        chart(axes().1, axes().1),
        band.to_svg(),
        Histogram::new(title, title).values(title, values.to_vec()).to_svg(),
        Histogram::new(title, title)
            .values("la", values.to_vec())
            .values("b", vec![])
            .range(1.0, 1.0)
            .to_svg(),
        StripPlot::new(title, Axis::linear(title)).group(title, values.to_vec()).group("", vec![]).to_svg(),
        ReliabilityDiagram::new(title, values.iter().map(bin).collect()).to_svg(),
    ]
}

fn maps(title: &str, f: impl Fn(f64, f64) -> f64) -> Result<Vec<String>, PlotError> {
    let grid = Grid::from_fn(12, 9, (-1.0, 1.0), (0.0, 3.0), &f)?;
    let rest = Grid::from_fn(12, 9, (-1.0, 1.0), (0.0, 3.0), |x, y| 1.0 - f(x, y))?;
    let data = vec![(0.0, 1.0, 0), (f64::NAN, 0.0, 1), (9.0, 1e300, 17)];
    let binary = ConfidenceMap::binary(title, grid.clone()).data(data.clone()).contours(&[0.2, f64::NAN]);
    let several = ConfidenceMap::multiclass(title, vec![grid, rest.clone(), rest])?.data(data).legend(true);
    Ok(vec![binary.axes(title, title).to_svg(), several.color_bar(Some(title)).to_svg()])
}

fn parse(svg: &str) -> roxmltree::Document<'_> {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}\n{svg}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    assert!(root.first_element_child().is_some_and(|c| c.has_tag_name("title") || c.has_tag_name("style")));
    for value in document.descendants().flat_map(|n| n.attributes()).map(|a| a.value()) {
        assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
    }
    document
}

#[test]
fn any_data_gives_well_formed_drawings() {
    let sets: [&[f64]; 9] = [
        &[],
        &[f64::NAN],
        &[f64::INFINITY, f64::NEG_INFINITY, f64::NAN],
        &[0.0],
        &[0.0, 0.0, 0.0],
        &[-1.0, -2.0],
        &[1e308, -1e308],
        &[1e-320, 1e-300, 0.5],
        &[0.2, f64::NAN, 0.7, 0.9, 1e16, 1e16 + 2.0],
    ];
    for values in sets {
        for svg in every_plot(HOSTILE, values) {
            parse(&svg);
            parse(&standalone(&svg));
        }
    }
}

#[test]
fn nothing_to_draw_is_said() {
    let count = |values: &[f64]| every_plot("t", values).iter().filter(|s| s.contains("no data")).count();
    assert_eq!(count(&[f64::NAN, f64::INFINITY]), 7);
    assert_eq!(count(&[]), 7);
    assert_eq!(count(&[0.2, 0.4, 0.9]), 0);
}

#[test]
fn maps_hold_an_image_a_boundary_and_points() -> Result<(), PlotError> {
    for svg in maps("t", |x, _| 0.5 + 0.4 * x)? {
        let document = parse(&svg);
        let count = |tag: &str| document.descendants().filter(|n| n.has_tag_name(tag)).count();
        assert_eq!(count("image"), 2, "map and colour bar");
        assert!(document.descendants().any(|n| n.attribute("class") == Some("contour")));
        assert!(count("circle") >= 1);
    }
    for svg in maps(HOSTILE, |x, y| if x > y { f64::NAN } else { 7.0 * x })? {
        parse(&svg);
    }
    assert!(maps("t", |_, _| f64::NAN)?.iter().all(|s| s.contains("no data")));
    parse(&ColorBar::binary(HOSTILE).to_svg());
    parse(&ColorBar::multiclass(20, "").to_svg());
    Ok(())
}

#[test]
fn grids_of_one_map_must_agree() -> Result<(), PlotError> {
    let grid = |n: usize| Grid::from_fn(n, 4, (0.0, 1.0), (0.0, 1.0), |x, _| x);
    let different = ConfidenceMap::multiclass("t", vec![grid(4)?, grid(4)?, grid(5)?]);
    assert_eq!(different.unwrap_err(), PlotError::GridsDiffer { index: 2, count: 3 });
    assert!(ConfidenceMap::multiclass("t", vec![]).is_err());
    Ok(())
}

#[test]
fn drawings_hold_no_colour_values() {
    for svg in every_plot("t", &[0.2, 0.4, 0.9]) {
        assert!(!svg.contains('#') && !svg.contains("rgb("), "colours come from the style sheet");
    }
}

#[test]
fn sizes_are_kept_sane() {
    for size in [Size::new(0.0, 0.0), Size::new(f64::NAN, -1.0), Size::new(1e9, 1e9)] {
        let chart = Chart::new(HOSTILE, Axis::linear("x"), Axis::linear("y")).size(size);
        parse(&chart.series(Series::line(HOSTILE, vec![(0.0, 1.0), (1.0, 2.0)])).to_svg());
    }
}

fn report() -> Report {
    let mut table = Table::new(HOSTILE, [HOSTILE]).caption(HOSTILE);
    table.row(HOSTILE, [HOSTILE]);
    let mut first = Section::new(HOSTILE, HOSTILE);
    first.metadata([(HOSTILE, HOSTILE)]).text(HOSTILE);
    first.figure(every_plot(HOSTILE, &[0.1, 0.9])[0].clone(), HOSTILE);
    first.grid(every_plot(HOSTILE, &[0.1, 0.9]).into_iter().map(|s| (s, HOSTILE)));
    first.table(table);
    let mut second = Section::new("b", "one\n\ntwo");
    second.text("three\n\nfour");
    let mut report = Report::new(HOSTILE);
    report.extend([first, second, Section::new("empty", "Left out.")]);
    report
}

#[test]
fn text_in_reports_is_escaped() {
    let html = report().to_html();
    assert!(!html.contains("<script"));
    assert!(html.contains("&lt;script&gt;"));
    for paragraph in ["one", "two", "three", "four"] {
        assert!(html.contains(&format!(">{paragraph}</p>")), "{paragraph}");
    }
    assert!(!html.contains("Left out."), "a section without parts");
}

#[test]
fn reports_load_nothing() {
    let html = report().to_html().replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for forbidden in ["http://", "https://", "src=", "<link", "@import", "url(", "<script"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn an_empty_report_is_a_page() {
    let html = Report::new("t").to_html();
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
}
