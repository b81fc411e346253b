//! The demonstration: from generated data to a report on all five posteriors, in seconds.
//!
//! [`run`] trains a small network on two noisy half circles, fits the Laplace approximation,
//! draws from every posterior with the same tangent vectors and scores the predictions. What it
//! returns is plain data ([`DemoResult`]); [`report`], [`picture`] and [`table`] turn it into
//! something to look at, and [`OutputDir`] keeps it without losing anybody's files.
//!
//! ```no_run
//! use riemla_workflow::demo::{DemoConfig, run, table};
//! use riemla_workflow::watch::Session;
//!
//! let result = run(&DemoConfig::default(), Session::silent())?;
//! println!("{}", table(&result));
//! # Ok::<(), riemla_workflow::workflow::WorkflowError>(())
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

use std::time::Instant;

use riemla::posterior::Method;

pub use config::{DemoConfig, MOST_SAMPLES};
pub use error::OutputError;
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

use crate::watch::Session;
use crate::workflow::{Result, WorkflowError};

/// Runs the demonstration. Once the session is stopped no new draw is begun: what was drawn is still scored
/// and returned, with a note; [`WorkflowError::Interrupted`] if there is nothing to return.
///
/// Everything but `timing` depends on `config` alone, whatever the number of threads.
pub fn run(config: &DemoConfig, session: Session<'_>) -> Result<DemoResult> {
    config.check()?;
    let begun = Instant::now();
    let demo = Demo { config, data: DemoData::generate(config)?, session };
    let model = Model::fit(&demo)?;
    let fit_seconds = begun.elapsed().as_secs_f64();
    let drawn = draw_all(&demo, &model)?;
    let interrupted = if session.stopped() { Interruption::new(config, &drawn.methods) } else { None };
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
        train: demo.data.train_points(),
    })
}

/// What all parts of a demonstration share.
struct Demo<'a> {
    config: &'a DemoConfig,
    data: DemoData,
    session: Session<'a>,
}

#[derive(Default)]
struct Drawn {
    methods: Vec<MethodResult>,
    missing: Vec<MissingMethod>,
    timings: Vec<MethodTiming>,
}

/// All posteriors in turn; an error if none but the trained weights has a draw.
fn draw_all(demo: &Demo<'_>, model: &Model) -> Result<Drawn> {
    let mut drawn = Drawn::default();
    for method in Method::ALL {
        let begun = Instant::now();
        match methods::run(demo, model, method)? {
            Ok((result, seconds)) => {
                drawn.timings.push(MethodTiming::new(&result, seconds, begun.elapsed().as_secs_f64()));
                drawn.methods.push(result);
            }
            Err(reason) => drawn.missing.push(MissingMethod { method, reason }),
        }
    }
    if drawn.methods.iter().all(|m| m.method == Method::Map) {
        let reason = drawn.missing.into_iter().next().map(|missing| missing.reason);
        return Err(match reason.filter(|_| !demo.session.stopped()) {
            Some(reason) => WorkflowError::unfit(format!("no draw succeeded: {reason}")),
            None => WorkflowError::Interrupted,
        });
    }
    Ok(drawn)
}
