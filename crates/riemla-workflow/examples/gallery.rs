//! Draws every kind of plot with made-up data: `cargo run --example gallery -- gallery.html`.

use std::path::PathBuf;

use riemla::score::ReliabilityBin;
use riemla_workflow::plot::{
    Axis, BandChart, Chart, ColorBar, ConfidenceMap, Grid, Histogram, PlotError, Reference,
    ReliabilityDiagram, Series, Size, StripPlot, Style,
};
use riemla_workflow::report::{Better, Cell, Column, Report, Section, Table};

const METHODS: [&str; 5] = ["map", "la", "lin-la", "riem-la", "lin-riem-la"];

/// Repeatable noise, about normal: the sum of four uniform numbers, centred.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        ((0..4).map(|_| self.uniform()).sum::<f64>() - 2.0) * 3f64.sqrt()
    }
}

fn moons(noise: &mut Noise) -> Vec<(f64, f64, usize)> {
    let point = |i: usize| {
        let t = std::f64::consts::PI * noise.uniform();
        let (x, y) =
            if i.is_multiple_of(2) { (t.cos() - 0.5, t.sin() - 0.2) } else { (0.5 - t.cos(), 0.2 - t.sin()) };
        (x + 0.12 * noise.normal(), y + 0.12 * noise.normal(), i % 2)
    };
    (0..200).map(point).collect()
}

/// A made-up prediction: confident near the data, less so far away for larger `doubt`.
fn probability(x: f64, y: f64, doubt: f64) -> f64 {
    let score = 4.0 * (-(y + 0.1 * x) + 0.9 * (1.9 * x).sin() * (-0.3 * x * x).exp());
    1.0 / (1.0 + (-score / (1.0 + doubt * (x * x + y * y)).sqrt()).exp())
}

fn maps(noise: &mut Noise) -> Result<Section, PlotError> {
    let data = moons(noise);
    let doubts = [0.0, 3.0, 1.5, 0.8, 0.5, 0.4];
    let names = METHODS.iter().copied().chain(["riem-la-batches"]);
    let map = |(name, doubt): (&str, f64)| {
        let grid = Grid::from_fn(100, 100, (-2.5, 2.5), (-2.0, 2.0), |x, y| probability(x, y, doubt))?;
        let map = ConfidenceMap::binary(name, grid).data(data.clone()).color_bar(None).contours(&[0.1, 0.9]);
        Ok((map.to_svg(), format!("Uncertainty {doubt} far from the data.")))
    };
    let figures = names.zip(doubts).map(map).collect::<Result<Vec<_>, PlotError>>()?;
    let intro = "Binary maps share one colour bar; the line is the decision boundary.";
    let mut section = Section::new("Confidence maps", intro);
    section.figure(ColorBar::binary("probability of class 1").to_svg(), "").grid(figures);
    section.grid([
        (three_classes(noise)?, "Three classes: hue is the predicted class."),
        (missing_corner()?, "A map with its own bar and a region without values (grey)."),
    ]);
    Ok(section)
}

fn three_classes(noise: &mut Noise) -> Result<String, PlotError> {
    let centres = [(-1.0, -0.6), (1.0, -0.6), (0.0, 1.1)];
    let weight = |k: usize, x: f64, y: f64| {
        let (a, b) = centres[k];
        (-1.2 * ((x - a).powi(2) + (y - b).powi(2))).exp() + 0.02
    };
    let share = |k: usize, x: f64, y: f64| weight(k, x, y) / (0..3).map(|j| weight(j, x, y)).sum::<f64>();
    let grid = |k: usize| Grid::from_fn(80, 80, (-2.5, 2.5), (-2.5, 2.5), |x, y| share(k, x, y));
    let grids = (0..3).map(grid).collect::<Result<Vec<_>, _>>()?;
    let point = |i: usize| {
        let (a, b) = centres[i % 3];
        (a + 0.4 * noise.normal(), b + 0.4 * noise.normal(), i % 3)
    };
    let data = (0..90).map(point).collect();
    Ok(ConfidenceMap::multiclass("three classes", grids)?.data(data).legend(true).axes("x₁", "x₂").to_svg())
}

fn missing_corner() -> Result<String, PlotError> {
    let value =
        |x: f64, y: f64| if x + y > 2.2 { f64::NAN } else { 1.0 / (1.0 + (3.0 * (1.0 - x.hypot(y))).exp()) };
    let grid = Grid::from_fn(60, 60, (-2.0, 2.0), (-2.0, 2.0), value)?;
    Ok(ConfidenceMap::binary("ring", grid).axes("x₁", "x₂").size(Size::new(320.0, 350.0)).to_svg())
}

fn reliability(noise: &mut Noise) -> Section {
    let mut diagram = |name: &str, bend: f64| {
        let bin = |i: usize| {
            let confidence = 0.5 + 0.05 * (i as f64 + 0.5);
            let accuracy = (confidence - bend * (confidence - 0.5) + 0.02 * noise.normal()).clamp(0.0, 1.0);
            let (lower, upper) = (confidence - 0.025, confidence + 0.025);
            ReliabilityBin { lower, upper, count: 3 + 4 * i * i, confidence, accuracy }
        };
        ReliabilityDiagram::new(name, (0..10).map(bin).collect())
    };
    let diagrams = [diagram("map", 0.4), diagram("la", -0.3), diagram("riem-la", 0.05)];
    let intro = "Bars show the gap to the diagonal, the lower panel how many predictions.";
    let mut section = Section::new("Reliability", intro);
    section.grid(diagrams.iter().map(|d| (d.to_svg(), d.caption())));
    section
}

fn work_precision(section: &mut Section) {
    let curve = |scale: f64, order: f64| {
        (0..7).map(move |k| {
            let work = 40.0 * 2f64.powi(k);
            (work, scale * (work / 40.0).powf(-order))
        })
    };
    let chart = Chart::new(
        "Work and precision",
        Axis::log("gradient evaluations"),
        Axis::log("relative end-point error"),
    )
    .series(Series::line_points("Dormand–Prince 5(4)", curve(0.4, 4.2).collect()))
    .series(Series::line_points("constrained leapfrog", curve(0.02, 2.0).collect()))
    .reference(Reference::horizontal(1e-4, "Monte Carlo error"))
    .reference(Reference::curve(curve(0.006, 2.0).collect(), "order 2"));
    section.figure(chart.to_svg(), "Lines, logarithmic axes and reference lines.");
}

fn strength(section: &mut Section, noise: &mut Noise) {
    let mut chart = Chart::new("Score against strength", Axis::log("strength a"), Axis::linear("test NLL"));
    for (i, name) in METHODS.iter().copied().chain(["riem-la-batches", "lin-riem-la-batches"]).enumerate() {
        let a = (0..9).map(|k| 10f64.powf(-2.0 + 0.25 * k as f64));
        let points: Vec<_> = a
            .map(|a| {
                (
                    a,
                    0.3 + 0.05 * i as f64
                        + 0.04 * (a.ln() + 2.0).powi(2) / (i + 1) as f64
                        + 0.01 * noise.normal(),
                )
            })
            .collect();
        let errors: Vec<f64> = points.iter().map(|_| 0.01 + 0.01 * noise.uniform()).collect();
        chart = chart.series(Series::line_points(name, points).errors(&errors));
    }
    chart = chart.reference(Reference::vertical(0.21, "virial-calibrated"));
    section
        .figure(chart.size(Size::new(440.0, 350.0)).to_svg(), "Every method has one colour and one marker.");
}

fn scatter(section: &mut Section, noise: &mut Noise) {
    let mut cloud = |x: f64, y: f64, n: usize| -> Vec<(f64, f64)> {
        (0..n).map(|_| (x + noise.normal(), y * (0.5 * noise.normal()).exp())).collect()
    };
    let chart =
        Chart::new("Loss at the end of geodesics", Axis::linear("initial speed ‖v‖"), Axis::log("loss"))
            .series(Series::scatter("la", cloud(9.0, 400.0, 120)))
            .series(Series::scatter("riem-la", cloud(7.0, 40.0, 120)));
    section.figure(chart.to_svg(), "A scatter chart.");
}

fn regression(noise: &mut Noise) -> Section {
    let x: Vec<f64> = (0..120).map(|i| -3.0 + 0.05 * i as f64).collect();
    let mean: Vec<f64> = x.iter().map(|x| (2.0 * x).sin() * (-0.1 * x * x).exp()).collect();
    let width: Vec<f64> = x.iter().map(|x| 0.1 + 0.25 * (x.abs() - 1.0).max(0.0)).collect();
    let data =
        (0..40).map(|_| 2.4 * noise.uniform() - 1.2).map(|x| (x, (2.0 * x).sin() * (-0.1 * x * x).exp()));
    let data: Vec<_> =
        data.collect::<Vec<_>>().into_iter().map(|(x, y)| (x, y + 0.1 * noise.normal())).collect();
    let twice: Vec<f64> = width.iter().map(|w| 2.0 * w).collect();
    let mut charts = Vec::new();
    for name in ["la", "riem-la"] {
        let axes = (Axis::linear("x"), Axis::linear("y"));
        let mut chart = BandChart::new(name, axes, x.clone(), mean.clone())
            .band("± 2σ", &twice)
            .band("± σ", &width)
            .data(data.clone())
            .style(Style::named(name, 0))
            .size(Size::new(400.0, 300.0));
        for _ in 0..6 {
            let (shift, bend) = (0.4 * noise.normal(), 0.2 * noise.normal());
            let sample = x.iter().zip(&mean).zip(&width);
            chart = chart.sample(sample.map(|((x, m), w)| m + w * (shift + bend * x)).collect());
        }
        charts.push((chart.to_svg(), "Mean, bands, sample curves and data."));
    }
    let mut section = Section::new("Regression", "");
    section.grid(charts);
    section
}

fn distributions(noise: &mut Noise) -> Section {
    let mut draw = |mean: f64, n: usize| (0..n).map(|_| mean + noise.normal()).collect::<Vec<f64>>();
    let one = Histogram::new("Virial ratio of samples", "ratio")
        .values("", draw(1.0, 800))
        .reference(Reference::vertical(1.0, "exact"));
    let two =
        Histogram::new("Two sets", "loss").values("la", draw(2.0, 500)).values("riem-la", draw(0.0, 2000));
    let strip = METHODS.iter().enumerate().fold(
        StripPlot::new("NLL of each split", Axis::linear("test NLL"))
            .reference(Reference::vertical(2.5, "chance")),
        |plot, (i, name)| plot.group(*name, draw(0.5 * i as f64, 30)),
    );
    let empty = Chart::new("A chart without data", Axis::linear("x"), Axis::log("y"))
        .series(Series::line("nothing", vec![(f64::NAN, 1.0), (1.0, f64::INFINITY)]));
    let mut section = Section::new("Distributions", "Histograms and strip plots.");
    section.grid([
        (one.to_svg(), "One set: counts."),
        (two.to_svg(), "Several sets: shares."),
        (strip.to_svg(), "Every number, with the medians."),
        (empty.to_svg(), "Nothing to draw."),
    ]);
    section
}

fn scores() -> Section {
    let columns = [
        Column::new("accuracy %").better(Better::Higher),
        Column::new("NLL").better(Better::Lower),
        Column::new("Brier").better(Better::Lower),
        Column::new("ECE %").better(Better::Lower),
        Column::new("gradients"),
        Column::new("seconds"),
    ];
    let caption = "Made-up scores. ↓ lower is better, ↑ higher is better.";
    let mut table = Table::new("method", columns).caption(caption);
    for (i, name) in METHODS.iter().copied().chain(["riem-la-batches", "lin-riem-la-batches"]).enumerate() {
        let (k, gradients) = (i as f64, if i < 3 { f64::NAN } else { 61_214.0 * i as f64 });
        let cells = [
            Cell::from((88.2 + 0.7 * k, 0.41)),
            (0.41 - 0.02 * k, 0.012).into(),
            (0.21 - 0.011 * k, 0.0042).into(),
            (9.4 - 1.3 * k).into(),
            gradients.into(),
            (0.02 * 3f64.powf(k)).into(),
        ];
        table.row(name, cells);
    }
    let intro = "Means over five splits ± standard errors; the best of each column is marked.";
    let mut section = Section::new("Scores", intro);
    section.table(table);
    section
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("usage: gallery <file.html>")?.into();
    let mut noise = Noise(7);
    let mut report = Report::new("Gallery of plots");
    let mut about = Section::new("", "");
    about.text("Every kind of plot with made-up data.").metadata([
        ("version", env!("CARGO_PKG_VERSION")),
        ("seed", "7"),
        ("integrator", "constrained leapfrog, tol 1e-5"),
        ("gradients", "61 214"),
    ]);
    report.extend([about, scores(), maps(&mut noise)?, reliability(&mut noise)]);
    let mut charts = Section::new("Charts", "");
    work_precision(&mut charts);
    strength(&mut charts, &mut noise);
    scatter(&mut charts, &mut noise);
    report.extend([charts, regression(&mut noise), distributions(&mut noise)]);
    std::fs::write(&path, report.to_html().as_bytes())?;
    Ok(())
}
