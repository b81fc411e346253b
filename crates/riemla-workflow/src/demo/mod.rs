//! The demonstration: from generated data to a report on all five posteriors, in seconds.
//!
//! [`run`] trains a small network on two noisy half circles, fits the Laplace approximation,
//! draws from every posterior with the same tangent vectors and scores the predictions. What it
//! returns is plain data ([`DemoResult`]); [`report`], [`picture`] and [`table`] turn it into
//! something to look at, and [`OutputDir`] keeps it without losing anybody's files.
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use riemla_workflow::demo::{DemoConfig, run, table};
//! use riemla_workflow::watch::Silent;
//!
//! let result = run(&DemoConfig::default(), &AtomicBool::new(false), &Silent)?;
//! println!("{}", table(&result));
//! # Ok::<(), riemla_workflow::demo::DemoError>(())
//! ```

mod config;
mod data;
mod error;
mod figures;
mod fit;
mod methods;
mod output;
mod picture;
mod report;
mod result;
mod table;
mod texts;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use riemla::posterior::Method;

pub use config::{DemoConfig, MOST_SAMPLES};
pub use error::{DemoError, OutputError};
pub use output::{Files, OutputDir};
pub use picture::picture;
pub use report::report;
pub use result::{
    DemoResult, DrawRecord, FailedDraw, Interruption, LaplaceSummary, Map, MethodResult, MethodTiming,
    MissingMethod, Scores, Timing, TrainingSummary,
};
pub use table::table;

use data::DemoData;
use fit::Model;

use crate::watch::Watch;

/// Runs the demonstration. Once `stop` is set no new draw is begun: what was drawn is still scored
/// and returned, with a note; [`DemoError::Interrupted`] if there is nothing to return.
///
/// Everything but `timing` depends on `config` alone, whatever the number of threads.
pub fn run(config: &DemoConfig, stop: &AtomicBool, watch: &dyn Watch) -> Result<DemoResult, DemoError> {
    config.check()?;
    let begun = Instant::now();
    let session = Session { config, data: DemoData::generate(config)?, stop, watch };
    let model = Model::fit(&session)?;
    let fit_seconds = begun.elapsed().as_secs_f64();
    let drawn = draw_all(&session, &model)?;
    let interrupted =
        if stop.load(Ordering::Relaxed) { Interruption::new(config, &drawn.methods) } else { None };
    Ok(DemoResult {
        schema: result::SCHEMA,
        schema_version: 1,
        version: env!("CARGO_PKG_VERSION"),
        config: config.clone(),
        interrupted,
        training: model.training,
        laplace: model.summary,
        methods: drawn.methods,
        missing: drawn.missing,
        timing: Timing {
            threads: rayon::current_num_threads(),
            fit_seconds,
            methods: drawn.timings,
            total_seconds: begun.elapsed().as_secs_f64(),
        },
        train: session.data.train_points(),
    })
}

/// What all parts of a demonstration share.
struct Session<'a> {
    config: &'a DemoConfig,
    data: DemoData,
    stop: &'a AtomicBool,
    watch: &'a dyn Watch,
}

#[derive(Default)]
struct Drawn {
    methods: Vec<MethodResult>,
    missing: Vec<MissingMethod>,
    timings: Vec<MethodTiming>,
}

/// All posteriors in turn; an error if none but the trained weights has a draw.
fn draw_all(session: &Session<'_>, model: &Model) -> Result<Drawn, DemoError> {
    let mut drawn = Drawn::default();
    for method in Method::ALL {
        let begun = Instant::now();
        match methods::run(session, model, method)? {
            Ok((result, seconds)) => {
                drawn.timings.push(MethodTiming::new(&result, seconds, begun.elapsed().as_secs_f64()));
                drawn.methods.push(result);
            }
            Err(reason) => drawn.missing.push(MissingMethod { method, reason }),
        }
    }
    if drawn.methods.iter().all(|m| m.method == Method::Map) {
        let reason = drawn.missing.into_iter().next().map(|missing| missing.reason);
        return Err(match reason.filter(|_| !session.stop.load(Ordering::Relaxed)) {
            Some(reason) => DemoError::NoDraw(reason),
            None => DemoError::Interrupted,
        });
    }
    Ok(drawn)
}
