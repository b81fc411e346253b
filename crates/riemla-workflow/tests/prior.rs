//! The search for the prior on real tables, against a grid of fixed precisions.

use riemla::curvature::PriorChoice;
use riemla::nn::Activation;
use riemla::objective::PriorPrecision;
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::{NetworkChoice, TrainConfig, train};

#[test]
fn never_a_nat_below_a_grid_of_fixed_precisions_on_real_tables() {
    let Some(directory) = riemla_repository::data_directory("the prior on real tables") else { return };
    for (name, hidden) in [("glass", 16), ("ionosphere", 8), ("australian", 16), ("breast_cancer", 16)] {
        let evidence = |prior: PriorChoice| {
            let config = TrainConfig {
                network: NetworkChoice::Hidden(vec![hidden], Activation::Tanh),
                prior,
                baselines: false,
                ..TrainConfig::new(directory.join(format!("{name}.csv")))
            };
            let trained = train(&config, Session::silent()).expect("trains");
            trained.log_marginal_likelihood.expect("an evidence")
        };
        let found = evidence(PriorChoice::Optimize);
        for delta in [30.0, 10.0, 3.0, 1.0, 0.3, 0.1] {
            let fixed = evidence(PriorChoice::Fixed(PriorPrecision::Scalar(delta)));
            assert!(found > fixed - 1.0, "{name}: {found} searched, but {fixed} at {delta}");
        }
    }
}
